//! The component in wasmtime, with lookups that end at once.

use lookaside::{
    EventTime, Instant, OperatorComponent, Options, Order, PollState,
    columns::{CompletionBatchBuilder, RecordBatchBuilder},
};

use super::{
    Arguments,
    sink::{Arrived, Sink},
    source::{FOUND, Next, Source},
};

/// Pushes as long as there is room, answers, and polls: what a host does that has its lookups at hand.
pub(super) fn immediate(arguments: &Arguments, options: &Options, records: u64) -> anyhow::Result<Arrived> {
    let mut operator = OperatorComponent::bundled()?.open(options, Instant(0))?;
    let mailbox = operator.mailbox().clone();
    let mut source = Source::new(arguments, records);
    let mut sink = Sink::start(arguments, options.order != Order::Unordered, records);
    let start = std::time::Instant::now();
    let mut room = options.capacity.get();
    let mut ended = false;
    loop {
        let now = Instant(start.elapsed().as_nanos() as u64);
        while room > 0 && !ended {
            match source.next(room.min(arguments.batch), RecordBatchBuilder::default()) {
                Next::Records(batch) => {
                    room -= operator.push_records(batch, now)? as u32;
                    if arguments.batch < u32::MAX {
                        break;
                    }
                }
                Next::Watermark(time) => {
                    operator.push_watermark(EventTime(time), now)?;
                    room -= 1;
                }
                Next::End => {
                    operator.end_input(now)?;
                    ended = true;
                }
            }
        }
        for requests in operator.take_request_batches() {
            let mut answers = CompletionBatchBuilder::default();
            answers.reserve(requests.len(), requests.len() * FOUND.len());
            for request in requests.rows() {
                answers.push_rows(request.id, request.attempt, now, [&FOUND[..]]);
            }
            mailbox.put_batch(answers);
        }
        let poll = operator.poll(u32::MAX, u32::MAX, now)?;
        sink.take(&poll.outputs, &source.made)?;
        room = poll.room;
        if poll.state == PollState::Drained {
            return sink.finish(records);
        }
    }
}
