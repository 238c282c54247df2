//! Input that was read and not pushed, records gathered into batches.

use std::collections::VecDeque;

use super::Input;
use crate::{EventTime, Record, columns::RecordBatchBuilder};

/// Records that are gathered into one batch at most.
const MAX_GATHERED: usize = 4_096;

/// What waits to be pushed.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: VecDeque<Waiting>,
    /// Elements in it, each record of a batch counted.
    elements: usize,
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

    /// Whether a record is next.
    pub(super) fn has_record_next(&self) -> bool {
        matches!(self.waiting.front(), Some(Waiting::Records(..)))
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
        {
            return records.push(record);
        }
        let mut records = RecordBatchBuilder::default();
        records.push(record);
        self.waiting.push_back(Waiting::Records(records, 0));
    }

    /// What to push next: of records at most `room`, which is not 0.
    pub(super) fn next(&mut self, room: usize) -> Next {
        match self.waiting.front_mut() {
            None => Next::Nothing,
            Some(Waiting::Watermark(time)) => Next::Watermark(*time),
            Some(Waiting::Idle(idle)) => Next::Idle(*idle),
            // All of them go as they are, and come back where they are not taken.
            Some(Waiting::Records(records, 0)) if records.len() <= room => Next::Records(std::mem::take(records)),
            Some(Waiting::Records(records, first)) => {
                Next::Records(records.range(*first, room.min(records.len() - *first)))
            }
        }
    }

    /// The first `taken` of the records that [`Self::next`] gave were taken; `offered` are all of those.
    pub(super) fn took_records(&mut self, taken: usize, offered: RecordBatchBuilder) {
        self.elements -= taken;
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
