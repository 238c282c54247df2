//! Answers on their way back.

use alloc::{format, vec::Vec};
use core::{ops::Range, time::Duration};

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
        let first_failure = count_equal(&statuses, 0);
        for (row, &status) in statuses.iter().enumerate().skip(first_failure).filter(|&(_, &status)| status > 0) {
            if status as usize > FAILURES.len() {
                return Err(Malformed(format!("answer {row} has status {status}; the greatest is {}", FAILURES.len())));
            }
            if row_counts[row] != 1 {
                let rows = row_counts[row];
                return Err(Malformed(format!("answer {row} is a failure with {rows} rows; its message is one row")));
            }
        }
        Ok(Self { ids, attempts, statuses, arrivals, row_counts, rows, retry_after })
    }

    /// How many answers there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The answers in order.
    pub fn iter(&self) -> impl Iterator<Item = Answer> {
        self.ends().map(|end| {
            let rows = end.rows.clone();
            Answer {
                id: end.id,
                attempt: end.attempt,
                arrival: end.arrival,
                result: match end.is_failure {
                    false => Ok(rows.map(|row| self.rows.get(row)).collect::<Rows>()),
                    true => Err(self.error(&end, &self.rows)),
                },
            }
        })
    }

    /// The answers in order, with the places of their rows.
    fn ends(&self) -> impl Iterator<Item = AttemptEnd> {
        let mut next = 0;
        (0..self.len()).map(move |place| {
            let end = self.end(place, next);
            next = end.rows.end;
            end
        })
    }

    /// The answer at `place`, whose rows begin at `row`.
    #[inline]
    pub(crate) fn end(&self, place: usize, row: usize) -> AttemptEnd {
        AttemptEnd {
            id: RequestId(self.ids[place]),
            attempt: self.attempts[place],
            arrival: Instant(self.arrivals[place]),
            rows: row..row + self.row_counts[place] as usize,
            place,
            is_failure: self.statuses[place] > 0,
        }
    }

    /// How many answers from `end` on are no failures, have as many rows as it has, arrived before `deadline`, and are those
    /// to attempt `attempt` of `ids`, one after another.
    pub(crate) fn count_alike(
        &self,
        end: &AttemptEnd,
        ids: impl ExactSizeIterator<Item = RequestId>,
        attempt: u32,
        deadline: Instant,
    ) -> u32 {
        let (first, row_count) = (end.place, end.rows.len() as u32);
        // Column by column: the loops are short, and most run to their ends. Where fates differ it is the rows that do most
        // often: they come first, so that no run has all answers behind it looked at.
        let most = ids.len().min(self.len() - first);
        let mut count = count_equal(&self.row_counts[first..first + most], row_count);
        let answers = self.ids[first..first + count].iter();
        count = answers.zip(ids).take_while(|(answer, id)| **answer == id.0).count();
        count = count_equal(&self.attempts[first..first + count], attempt);
        count = count_equal(&self.statuses[first..first + count], 0);
        if deadline < Instant::NEVER {
            let arrivals = self.arrivals[first..first + count].iter();
            count = arrivals.take_while(|&&arrival| arrival < deadline.0).count();
        }
        count as u32
    }

    /// What failed in an attempt that did; `rows` is the column of rows.
    pub(crate) fn error(&self, end: &AttemptEnd, rows: &ByteStrings) -> LookupError {
        LookupError {
            kind: FAILURES[self.statuses[end.place] as usize - 1],
            message: message_text(rows.slice(end.rows.start)),
            retry_after: Some(self.retry_after[end.place]).filter(|&wait| wait > 0).map(Duration::from_nanos),
        }
    }

    /// The column of rows, which is the caller's from then on.
    pub(crate) fn take_rows(&mut self) -> ByteStrings {
        core::mem::take(&mut self.rows)
    }
}

/// How many are equal to `value` before one is not.
fn count_equal<T: Copy + PartialEq>(column: &[T], value: T) -> usize {
    // Eight without a branch between them.
    let is_equal = |chunk: &&[T; 8]| chunk.iter().fold(true, |equal, &other| equal & (other == value));
    let equal = 8 * column.as_chunks().0.iter().take_while(is_equal).count();
    equal + column[equal..].iter().take_while(|&&other| other == value).count()
}

/// The end of one attempt, with its rows where they are.
pub(crate) struct AttemptEnd {
    pub(crate) id: RequestId,
    pub(crate) attempt: u32,
    pub(crate) arrival: Instant,
    pub(crate) rows: Range<usize>,
    pub(crate) is_failure: bool,
    place: usize,
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
        match &answer.result {
            Ok(rows) => {
                let rows = rows.as_slice().iter().map(|row| &row[..]);
                self.push_rows(answer.id, answer.attempt, answer.arrival, rows);
            }
            Err(error) => {
                self.ids.push(answer.id.0);
                self.attempts.push(answer.attempt);
                self.arrivals.push(answer.arrival.0);
                let status = FAILURES.iter().position(|kind| *kind == error.kind).map_or(0, |code| code + 1);
                self.statuses.push(status as u8);
                self.row_counts.push(1);
                self.rows.push(error.message.as_bytes());
                self.retry_after.push(error.retry_after.map_or(0, nanos));
            }
        }
    }

    /// Appends the answer `rows` to an attempt; none of them for a miss.
    #[inline]
    pub fn push_rows<'a>(
        &mut self,
        id: RequestId,
        attempt: u32,
        arrival: Instant,
        rows: impl IntoIterator<Item = &'a [u8]>,
    ) {
        self.ids.push(id.0);
        self.attempts.push(attempt);
        self.statuses.push(0);
        self.arrivals.push(arrival.0);
        let before = self.rows.len();
        rows.into_iter().for_each(|row| self.rows.push(row));
        self.row_counts.push((self.rows.len() - before) as u32);
        self.retry_after.push(0);
    }

    /// Appends the answers of another batch.
    pub fn append(&mut self, other: &Self) {
        self.ids.extend_from_slice(&other.ids);
        self.attempts.extend_from_slice(&other.attempts);
        self.statuses.extend_from_slice(&other.statuses);
        self.arrivals.extend_from_slice(&other.arrivals);
        self.row_counts.extend_from_slice(&other.row_counts);
        self.rows.append(&other.rows);
        self.retry_after.extend_from_slice(&other.retry_after);
    }

    /// Makes place for so many answers more, and so many bytes of rows.
    pub fn reserve(&mut self, answers: usize, bytes: usize) {
        self.ids.reserve(answers);
        self.attempts.reserve(answers);
        self.statuses.reserve(answers);
        self.arrivals.reserve(answers);
        self.row_counts.reserve(answers);
        self.rows.reserve(answers, bytes);
        self.retry_after.reserve(answers);
    }

    /// How many answers there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The batch as it is.
    #[must_use]
    pub fn build(self) -> CompletionBatch {
        CompletionBatch {
            ids: self.ids,
            attempts: self.attempts,
            statuses: self.statuses,
            arrivals: self.arrivals,
            row_counts: self.row_counts,
            rows: self.rows.build(),
            retry_after: self.retry_after,
        }
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
