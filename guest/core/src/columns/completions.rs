//! Answers on their way back.

use alloc::{format, vec::Vec};
use core::time::Duration;

use super::{ByteStrings, ByteStringsBuilder, Malformed, counts_add_up, same_length};
use crate::{Answer, FailureKind, Instant, LookupError, RequestId, Rows, error::message_text, time::nanos};

/// The status code of each failure; 0 is an answer.
const FAILURES: [FailureKind; 4] =
    [FailureKind::Unavailable, FailureKind::Throttled, FailureKind::Rejected, FailureKind::Malformed];

/// Answers, as columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionBatch {
    ids: Vec<u64>,
    attempts: Vec<u32>,
    statuses: Vec<u8>,
    arrivals: Vec<u64>,
    row_counts: Vec<u32>,
    rows: ByteStrings,
    retry_after: Vec<u64>,
}

impl CompletionBatch {
    /// The batch of these columns.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where they do not fit together, or a status has no meaning.
    pub fn new(
        ids: Vec<u64>,
        attempts: Vec<u32>,
        statuses: Vec<u8>,
        arrivals: Vec<u64>,
        row_counts: Vec<u32>,
        rows: ByteStrings,
        retry_after: Vec<u64>,
    ) -> Result<Self, Malformed> {
        let answers = ids.len();
        same_length("attempts", attempts.len(), answers)?;
        same_length("statuses", statuses.len(), answers)?;
        same_length("arrivals", arrivals.len(), answers)?;
        same_length("row-counts", row_counts.len(), answers)?;
        same_length("retry-after", retry_after.len(), answers)?;
        counts_add_up(&row_counts, rows.len())?;
        for (row, &status) in statuses.iter().enumerate() {
            if status as usize > FAILURES.len() {
                return Err(Malformed(format!("answer {row} has status {status}; the greatest is {}", FAILURES.len())));
            }
            if status > 0 && row_counts[row] != 1 {
                let rows = row_counts[row];
                return Err(Malformed(format!("answer {row} is a failure with {rows} rows; its message is one row")));
            }
        }
        Ok(Self { ids, attempts, statuses, arrivals, row_counts, rows, retry_after })
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The answers in order.
    pub fn iter(&self) -> impl Iterator<Item = Answer> {
        let mut next = 0;
        (0..self.len()).map(move |row| {
            let first = next;
            next += self.row_counts[row] as usize;
            let result = match self.statuses[row] {
                0 => Ok((first..next).map(|row| self.rows.get(row)).collect::<Rows>()),
                failure => Err(LookupError {
                    kind: FAILURES[failure as usize - 1],
                    message: message_text(&self.rows.get(first)),
                    retry_after: Some(self.retry_after[row]).filter(|&wait| wait > 0).map(Duration::from_nanos),
                }),
            };
            Answer {
                id: RequestId(self.ids[row]),
                attempt: self.attempts[row],
                arrival: Instant(self.arrivals[row]),
                result,
            }
        })
    }
}

/// A [`CompletionBatch`] that grows. Its fields are the contract's columns.
#[derive(Debug, Clone, Default)]
pub struct CompletionBatchBuilder {
    /// As in the contract.
    pub ids: Vec<u64>,
    /// As in the contract.
    pub attempts: Vec<u32>,
    /// As in the contract.
    pub statuses: Vec<u8>,
    /// As in the contract.
    pub arrivals: Vec<u64>,
    /// As in the contract.
    pub row_counts: Vec<u32>,
    /// As in the contract.
    pub rows: ByteStringsBuilder,
    /// As in the contract.
    pub retry_after: Vec<u64>,
}

impl CompletionBatchBuilder {
    /// Appends one answer.
    pub fn push(&mut self, answer: &Answer) {
        self.ids.push(answer.id.0);
        self.attempts.push(answer.attempt);
        self.arrivals.push(answer.arrival.0);
        match &answer.result {
            Ok(rows) => {
                self.statuses.push(0);
                self.row_counts.push(rows.as_slice().len() as u32);
                rows.as_slice().iter().for_each(|row| self.rows.push(row));
                self.retry_after.push(0);
            }
            Err(error) => {
                let status = FAILURES.iter().position(|kind| *kind == error.kind).map_or(0, |code| code + 1);
                self.statuses.push(status as u8);
                self.row_counts.push(1);
                self.rows.push(error.message.as_bytes());
                self.retry_after.push(error.retry_after.map_or(0, nanos));
            }
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(builder: CompletionBatchBuilder) -> Result<CompletionBatch, Malformed> {
        let CompletionBatchBuilder { ids, attempts, statuses, arrivals, row_counts, rows, retry_after } = builder;
        CompletionBatch::new(ids, attempts, statuses, arrivals, row_counts, rows.build(), retry_after)
    }

    fn answers() -> [Answer; 3] {
        let answer = |id, result| Answer { id: RequestId(id), attempt: 2, arrival: Instant(9), result };
        let mut error = LookupError::new(FailureKind::Throttled, "slow down");
        error.retry_after = Some(Duration::from_secs(1));
        [answer(1, Ok(Rows::from_iter(["a".into(), "".into()]))), answer(2, Ok(Rows::None)), answer(3, Err(error))]
    }

    fn built() -> CompletionBatchBuilder {
        let mut builder = CompletionBatchBuilder::default();
        answers().iter().for_each(|answer| builder.push(answer));
        builder
    }

    #[test]
    fn answers_come_back_as_they_went_in() {
        let read: Vec<Answer> = batch(built()).unwrap().iter().collect();
        assert_eq!(read, answers());
    }

    #[test]
    fn columns_that_disagree_are_refused() {
        let broken: [fn(&mut CompletionBatchBuilder); 8] = [
            |b| b.ids.truncate(2),
            |b| b.attempts.truncate(2),
            |b| b.statuses[0] = 5,
            |b| b.arrivals.truncate(2),
            |b| b.row_counts[0] = 3,
            |b| b.row_counts[0] = u32::MAX,
            |b| b.retry_after.truncate(2),
            |b| b.statuses[0] = 1,
        ];
        for (number, break_it) in broken.iter().enumerate() {
            let mut builder = built();
            break_it(&mut builder);
            assert!(batch(builder).is_err(), "{number}");
        }
    }
}
