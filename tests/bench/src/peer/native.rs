//! The core as it is, without a component around it.

use std::{collections::VecDeque, time::Duration};

use lookaside_core::{
    EventTime, Instant, Operator, Options, Order, PollState, RequestId,
    columns::{CompletionBatchBuilder, OutputBatchBuilder, RecordBatchBuilder, RequestBatch},
};

use super::{
    Arguments, Workload,
    sink::{Arrived, Sink},
    source::{FOUND, Next, Source, number_in},
};

/// As the component is driven: one loop, in which lookups are a list of answers to come.
pub(super) fn run(arguments: &Arguments, options: &Options, records: u64) -> anyhow::Result<Arrived> {
    let options = Options { request_payload: arguments.workload == Workload::W3, ..options.clone() };
    let mut operator = Operator::open(options.clone(), Instant(0))?;
    let mut source = Source::new(arguments, records);
    let mut sink = Sink::start(arguments, options.order != Order::Unordered, records);
    let mut lookups = Lookups { workload: arguments.workload, to_come: <[VecDeque<ToCome>; 2]>::default() };
    let start = std::time::Instant::now();
    let mut ended = false;
    loop {
        let now = Instant(start.elapsed().as_nanos() as u64);
        while operator.room() > 0 && !ended {
            match source.next(operator.room().min(arguments.batch), RecordBatchBuilder::default()) {
                Next::Records(batch) => {
                    operator.push_records(batch.build(), now)?;
                    if arguments.batch < u32::MAX {
                        break;
                    }
                }
                Next::Watermark(time) => operator.push_watermark(EventTime(time), now)?,
                Next::End => {
                    operator.end_input(now)?;
                    ended = true;
                }
            }
        }
        let answers = lookups.answers(&operator.take_requests().build(), now);
        operator.complete_all(answers.build(), now)?;
        operator.advance(now)?;
        let mut outputs = OutputBatchBuilder::default();
        operator.next_outputs(&mut outputs, usize::MAX, usize::MAX)?;
        let outputs = outputs.build();
        sink.take(&outputs, &source.made)?;
        if operator.poll_state() == PollState::Drained {
            return sink.finish(records);
        }
        if outputs.is_empty()
            && let Some(due) = lookups.next_due()
        {
            std::thread::sleep(Duration::from_nanos(due.saturating_sub(start.elapsed().as_nanos() as u64)));
        }
    }
}

/// Lookups that run, those of each duration in the order in which they end.
struct Lookups {
    workload: Workload,
    to_come: [VecDeque<ToCome>; 2],
}

/// Answers that are there at an instant, to these attempts.
struct ToCome {
    due: u64,
    attempts: Vec<(RequestId, u32)>,
}

const MILLISECOND: u64 = 1_000_000;

impl Lookups {
    /// Begins these, and gives the answers that are there.
    fn answers(&mut self, requests: &RequestBatch, now: Instant) -> CompletionBatchBuilder {
        let mut answers = CompletionBatchBuilder::default();
        answers.reserve(requests.len(), requests.len() * FOUND.len());
        let mut answer = |id, attempt| answers.push_rows(id, attempt, now, [&FOUND[..]]);
        if self.workload == Workload::W1 {
            requests.rows().for_each(|request| answer(request.id, request.attempt));
            return answers;
        }
        let is_slow = |payload: Option<&[u8]>| payload.is_some_and(|payload| number_in(payload) % 100 == 99);
        let (slow, quick): (Vec<_>, Vec<_>) = (requests.rows())
            .map(|request| (is_slow(request.payload), (request.id, request.attempt)))
            .partition(|(is_slow, _)| *is_slow);
        let takes = if self.workload == Workload::W2 { [2, 50] } else { [1, 50] };
        for ((to_come, begun), takes) in self.to_come.iter_mut().zip([quick, slow]).zip(takes) {
            if !begun.is_empty() {
                let due = now.0 + takes * MILLISECOND;
                to_come.push_back(ToCome { due, attempts: begun.into_iter().map(|(_, attempt)| attempt).collect() });
            }
            while let Some(ToCome { attempts, .. }) = to_come.pop_front_if(|to_come| to_come.due <= now.0) {
                attempts.into_iter().for_each(|(id, attempt)| answer(id, attempt));
            }
        }
        answers
    }

    /// When the next answer is there.
    fn next_due(&self) -> Option<u64> {
        self.to_come.iter().filter_map(|to_come| to_come.front().map(|first| first.due)).min()
    }
}
