//! Input that was read and not pushed, records gathered into batches.

use std::collections::VecDeque;

use super::Input;
use crate::{
    EventTime, Record,
    columns::{ByteStringsBuilder, RecordBatchBuilder},
};

/// Records that are gathered into one batch at most.
const MAX_GATHERED: usize = 4_096;
/// Bytes of records that are gathered into one batch, or offered at once, at most; a single record may have more.
const MAX_OFFERED_BYTES: usize = 8 << 20;

/// What waits to be pushed.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: VecDeque<Waiting>,
    /// Elements in it, each record of a batch counted.
    elements: usize,
    /// Records to offer at once at most: where fewer were taken than were offered, the next offer is near what was.
    window: Window,
}

/// One thing to push.
#[derive(Debug)]
enum Waiting {
    /// Records, of which the first so many were pushed.
    Records(RecordBatchBuilder, usize),
    Watermark(EventTime),
    Idle(bool),
}

/// What is to be pushed next.
pub(super) enum Next {
    /// Records; [`Inbox::took_records`] has them back, with how many were taken.
    Records(RecordBatchBuilder),
    Watermark(EventTime),
    Idle(bool),
    Nothing,
}

impl Inbox {
    /// How many elements wait.
    pub(super) fn len(&self) -> usize {
        self.elements
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What [`Self::next`] gives, if it gives anything.
    pub(super) fn kind_of_next(&self) -> Option<lookaside_feeder::Next> {
        Some(match self.waiting.front()? {
            Waiting::Records(..) => lookaside_feeder::Next::Records,
            Waiting::Watermark(_) | Waiting::Idle(_) => lookaside_feeder::Next::Barrier,
        })
    }

    pub(super) fn extend(&mut self, chunk: Vec<Input>) {
        for input in chunk {
            match input {
                Input::Record(record) => self.gather(&record),
                Input::Records(records) if records.is_empty() => {}
                Input::Records(records) => {
                    self.elements += records.len();
                    self.waiting.push_back(Waiting::Records(records, 0));
                }
                Input::Watermark(time) => {
                    self.elements += 1;
                    self.waiting.push_back(Waiting::Watermark(time));
                }
                Input::Idle(idle) => {
                    self.elements += 1;
                    self.waiting.push_back(Waiting::Idle(idle));
                }
            }
        }
    }

    fn gather(&mut self, record: &Record) {
        self.elements += 1;
        if let Some(Waiting::Records(records, _)) = self.waiting.back_mut()
            && records.len() < MAX_GATHERED
            && byte_len(records) < MAX_OFFERED_BYTES
        {
            return records.push(record);
        }
        let mut records = RecordBatchBuilder::default();
        records.push(record);
        self.waiting.push_back(Waiting::Records(records, 0));
    }

    /// What to push next: of records at most `room`, which is not 0.
    pub(super) fn next(&mut self, room: usize) -> Next {
        let room = room.min(self.window.0);
        match self.waiting.front_mut() {
            None => Next::Nothing,
            Some(Waiting::Watermark(time)) => Next::Watermark(*time),
            Some(Waiting::Idle(idle)) => Next::Idle(*idle),
            // All of them go as they are, and come back where they are not taken.
            Some(Waiting::Records(records, 0)) if records.len() <= room && byte_len(records) <= MAX_OFFERED_BYTES => {
                Next::Records(std::mem::take(records))
            }
            Some(Waiting::Records(records, first)) => {
                let most = room.min(records.len() - *first);
                Next::Records(records.range(*first, within(records, *first, most)))
            }
        }
    }

    /// The first `taken` of the records that [`Self::next`] gave were taken; `offered` are all of those.
    pub(super) fn took_records(&mut self, taken: usize, offered: RecordBatchBuilder) {
        self.elements -= taken;
        self.window.note(taken, offered.len());
        let Some(Waiting::Records(records, first)) = self.waiting.front_mut() else { return };
        if records.is_empty() {
            *records = offered;
        }
        *first += taken;
        if *first == records.len() {
            self.waiting.pop_front();
        }
    }

    /// The watermark or status that [`Self::next`] gave was taken.
    pub(super) fn took_one(&mut self) {
        self.elements -= 1;
        self.waiting.pop_front();
    }
}

/// How many records to offer at once.
#[derive(Debug)]
struct Window(usize);

impl Default for Window {
    fn default() -> Self {
        Self(usize::MAX)
    }
}

impl Window {
    fn note(&mut self, taken: usize, offered: usize) {
        self.0 = if taken < offered { taken.max(1) * 2 } else { self.0.saturating_mul(2) };
    }
}

fn byte_len(records: &RecordBatchBuilder) -> usize {
    records.keys.byte_len()
        + records.order_keys.as_ref().map_or(0, |keys| keys.byte_len())
        + records.payloads.byte_len()
}

/// How many of at most `most` records from `first` on are offered at once, by their bytes; at least one.
fn within(records: &RecordBatchBuilder, first: usize, most: usize) -> usize {
    let end = |row: usize| {
        let ends = |column: &ByteStringsBuilder| row.checked_sub(1).map_or(0, |row| column.end(row));
        ends(&records.keys) + ends(&records.payloads) + records.order_keys.as_ref().map_or(0, ends)
    };
    let begin = end(first);
    if end(first + most) - begin <= MAX_OFFERED_BYTES {
        return most;
    }
    let rows: Vec<usize> = (first + 1..=first + most).collect();
    rows.partition_point(|&row| end(row) - begin <= MAX_OFFERED_BYTES).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(payloads: &[usize]) -> RecordBatchBuilder {
        let mut records = RecordBatchBuilder::default();
        payloads.iter().for_each(|&bytes| records.push(&Record::new("k", vec![b'x'; bytes])));
        records
    }

    #[test]
    fn offers_are_bounded_by_bytes_and_by_what_was_taken() {
        let mut inbox = Inbox::default();
        inbox.extend(vec![Input::Records(batch(&[3 << 20; 10]))]);
        let offered = |inbox: &mut Inbox| match inbox.next(1_000) {
            Next::Records(records) => records,
            _ => panic!("records wait"),
        };
        let records = offered(&mut inbox);
        assert_eq!(records.len(), 2, "two of 3 MiB are within 8 MiB");
        inbox.took_records(0, records);
        let records = offered(&mut inbox);
        assert_eq!(records.len(), 2, "one more than was taken may fit");
        inbox.took_records(1, records);
        let mut small = Inbox::default();
        small.extend(vec![Input::Records(batch(&[10; 1_000]))]);
        let all = offered(&mut small);
        assert_eq!(all.len(), 1_000, "all of them go as they are");
        small.took_records(3, all);
        let few = offered(&mut small);
        assert_eq!(few.len(), 6, "what is refused is not copied again and again");
        small.took_records(6, few);
        assert_eq!(offered(&mut small).len(), 12);
        let mut large = Inbox::default();
        large.extend(vec![Input::Records(batch(&[20 << 20]))]);
        assert_eq!(offered(&mut large).len(), 1, "one record may have any size");
    }
}
