//! The core as it is, without a component around it.

use lookaside_core::{
    EventTime, Instant, Operator, Options, Order, PollState,
    columns::{CompletionBatchBuilder, OutputBatchBuilder, RecordBatchBuilder},
};

use super::{
    Arguments,
    sink::{Arrived, Sink},
    source::{FOUND, Next, Source},
};

/// As the component is driven.
pub(super) fn immediate(arguments: &Arguments, options: &Options, records: u64) -> anyhow::Result<Arrived> {
    let mut operator = Operator::open(options.clone(), Instant(0))?;
    let mut source = Source::new(arguments, records);
    let mut sink = Sink::start(arguments, options.order != Order::Unordered, records);
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
        let requests = operator.take_requests().build();
        let mut answers = CompletionBatchBuilder::default();
        answers.reserve(requests.len(), requests.len() * FOUND.len());
        for request in requests.rows() {
            answers.push_rows(request.id, request.attempt, now, [&FOUND[..]]);
        }
        operator.complete_all(&answers.build(), now)?;
        operator.advance(now)?;
        let mut outputs = OutputBatchBuilder::default();
        operator.next_outputs(&mut outputs, usize::MAX, usize::MAX);
        sink.take(&outputs.build(), &source.made)?;
        if operator.poll_state() == PollState::Drained {
            return sink.finish(records);
        }
    }
}
