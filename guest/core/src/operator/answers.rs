//! Answers, and what becomes of them.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::{Operator, attempts::Failure};
use crate::{
    Answer, Instant, LookupError, OperatorError, Order, Outcome, Policy, RequestId, Verdict,
    columns::{AttemptEnd, CompletionBatch},
    finds::{Find, FoundRows},
    group::GroupState,
    hashed_key::HashedKey,
    positions::{Found, Position},
    slots::Slot,
};

impl Operator {
    /// Takes the answer to an attempt, and says what became of it.
    ///
    /// An answer that was there before its record's deadline stands, however late it is handed
    /// over, as long as [`Self::advance`] has not ended the record: hand over what has arrived
    /// first, then advance.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Spent`] once the operator failed.
    pub fn complete(&mut self, answer: Answer, now: Instant) -> Result<Verdict, OperatorError> {
        self.see(now);
        self.check()?;
        let result = answer.result.map(|rows| self.finds.keep_rows(&rows));
        Ok(self.take_answer(answer.id, answer.attempt, answer.arrival, result))
    }

    /// Takes a batch of answers, as [`Self::complete`] does: the quick way where there are many.
    ///
    /// # Errors
    ///
    /// As [`Self::complete`]; none of the answers is taken then.
    pub fn complete_all(&mut self, mut answers: CompletionBatch, now: Instant) -> Result<(), OperatorError> {
        self.see(now);
        self.check()?;
        if answers.is_empty() {
            return Ok(());
        }
        let rows = answers.take_rows();
        let bytes = rows.byte_len(0, rows.len()) as u64;
        let batch = self.finds.insert(rows, bytes);
        // One hold for each answer, and the first one until all are in.
        self.finds.keep(batch, answers.len() as u32);
        let mut unused = 1;
        let (mut place, mut row) = (0, 0);
        while place < answers.len() {
            let end = answers.end(place, row);
            let row_count = NonZeroU32::new(end.rows.len() as u32);
            let find = row_count.map(|count| FoundRows { batch, first: row as u32, count });
            let result = if end.is_failure { Err(answers.error(&end, &self.finds[batch])) } else { Ok(find) };
            let is_used = matches!(result, Ok(Some(_)));
            let mut count = 1;
            if let Some((slot, position, alike)) = self.answered_alike(&answers, &end) {
                count = alike;
                let slot = self.part(slot, position, count);
                self.counters.answers_accepted += u64::from(count);
                self.answered(slot, find, end.arrival);
                self.start_all();
            } else {
                self.take_answer(end.id, end.attempt, end.arrival, result);
            }
            unused += if is_used { 0 } else { count };
            place += count as usize;
            row += count as usize * end.rows.len();
        }
        self.finds.release(batch, unused);
        Ok(())
    }

    /// The records of one group for which as many rows were found and nothing is left to do, from one answer on: the group,
    /// the first one's position, and how many.
    fn answered_alike(&self, answers: &CompletionBatch, end: &AttemptEnd) -> Option<(Slot, Position, u32)> {
        let Found::Here(slot, position) = self.positions.find(end.id) else { return None };
        let group = &self.groups[slot];
        let is_last_attempt = !end.rows.is_empty()
            || (!self.options.retry.on.missing() && self.options.policy(Outcome::Missing) != Policy::Fail);
        let is_for_it_alone = matches!(group.state, GroupState::Running { flight: None });
        if !is_last_attempt || !is_for_it_alone {
            return None;
        }
        // Where others wait for keys, the next of a key starts before the next answer is looked at.
        let is_alone = self.options.order == Order::KeyOrdered && !self.keys.nobody_waits();
        let most = if is_alone { 1 } else { group.first + group.len() - position };
        let ids = self.positions.ids(position, most);
        let deadline = if self.now < group.deadline { Instant::NEVER } else { group.deadline };
        let count = answers.count_alike(end, ids, group.attempt, deadline);
        (count > 0).then_some((slot, position, count))
    }

    /// Takes one answer; what it found is held for it.
    fn take_answer(
        &mut self,
        id: RequestId,
        attempt: u32,
        arrival: Instant,
        result: Result<Find, LookupError>,
    ) -> Verdict {
        let arrival = arrival.min(self.now);
        let found = self.positions.find(id);
        let verdict = self.verdict(&found, attempt, arrival);
        match verdict {
            Verdict::Accepted => self.counters.answers_accepted += 1,
            Verdict::Stale => self.counters.answers_stale += 1,
            Verdict::Late => self.counters.answers_late += 1,
            Verdict::Unknown => self.counters.answers_unknown += 1,
        }
        match (verdict, found) {
            (Verdict::Accepted, Found::Here(slot, position))
                if matches!(self.groups[slot].state, GroupState::Running { flight: None }) =>
            {
                let slot = self.part(slot, position, 1);
                let kept = self.keep_result(result);
                self.apply(slot, &kept, arrival);
                self.let_go(kept);
                self.start_all();
                return verdict;
            }
            (Verdict::Accepted | Verdict::Late, Found::Here(slot, _)) => {
                self.apply_to_flight(slot, verdict, result, arrival);
                return verdict;
            }
            _ => {}
        }
        if let Ok(find) = result {
            self.finds.drop_find(find, 1);
        }
        verdict
    }

    fn verdict(&self, found: &Found, attempt: u32, arrival: Instant) -> Verdict {
        let group = match *found {
            Found::Never => return Verdict::Unknown,
            Found::Gone => return Verdict::Stale,
            Found::Here(slot, _) => &self.groups[slot],
        };
        if attempt == 0 || attempt > group.attempt {
            Verdict::Unknown
        } else if attempt < group.attempt || !matches!(group.state, GroupState::Running { .. }) {
            Verdict::Stale
        } else if arrival >= group.deadline {
            Verdict::Late
        } else {
            Verdict::Accepted
        }
    }

    /// Ends the lookup that `slot`'s record makes for others too, for it and for them.
    fn apply_to_flight(&mut self, slot: Slot, verdict: Verdict, result: Result<Find, LookupError>, arrival: Instant) {
        let followers = self.end_flight(slot, &result);
        let kept = self.keep_result(result);
        if verdict == Verdict::Accepted {
            self.apply(slot, &kept, arrival);
        }
        for id in followers {
            // One that has ended since has left the flight, and maybe its slot.
            if let Found::Here(slot, _) = self.positions.find(id)
                && matches!(self.groups[slot].state, GroupState::Sharing)
                && arrival < self.groups[slot].deadline
            {
                self.apply(slot, &kept, arrival);
            }
        }
        self.let_go(kept);
        self.start_all();
    }

    /// What an attempt came to, kept once for all records that it is for.
    fn keep_result(&mut self, result: Result<Find, LookupError>) -> Result<Find, Failure> {
        result.map_err(|error| self.keep_failure(error))
    }

    fn let_go(&mut self, kept: Result<Find, Failure>) {
        let find = kept.unwrap_or_else(|failure| failure.row);
        self.finds.drop_find(find, 1);
    }

    /// Where `slot`'s record made its lookup for others too: keeps what was found and gives them.
    fn end_flight(&mut self, slot: Slot, result: &Result<Find, LookupError>) -> Vec<RequestId> {
        let group = &mut self.groups[slot];
        let GroupState::Running { flight: Some(flight) } = group.state else { return Vec::new() };
        group.state = GroupState::Running { flight: None };
        if let (Some(cache), Ok(find)) = (&mut self.cache, result)
            && let Some(key) = self.batches.record(group.held).key
        {
            cache.put(&HashedKey::new(key), &self.finds.rows(*find), self.now);
        }
        self.flights.end(flight)
    }

    fn apply(&mut self, slot: Slot, result: &Result<Find, Failure>, arrival: Instant) {
        match result {
            Ok(find) => {
                let find = self.finds.share(*find);
                self.answered(slot, find, arrival);
            }
            Err(failure) => self.attempt_failed(slot, failure, arrival),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec::Vec};

    use super::*;
    use crate::{
        Options, PollState,
        columns::{CompletionBatchBuilder, OutputBatchBuilder, RecordBatchBuilder},
    };

    /// Answers all of a hundred records: each with as many rows as `row_count` says.
    fn left_behind(row_count: fn(usize) -> usize) -> (u64, u64) {
        let mut operator = Operator::open(Options::default(), Instant(0)).unwrap();
        let mut records = RecordBatchBuilder::default();
        (0..100).for_each(|number| records.push(&crate::Record::new(format!("{number}"), "a payload")));
        operator.push_records(records.build(), Instant(0)).unwrap();
        let mut answers = CompletionBatchBuilder::default();
        for (place, request) in operator.take_requests().build().rows().enumerate() {
            let rows = core::iter::repeat_n(&b"row"[..], row_count(place));
            answers.push_rows(request.id, request.attempt, Instant(0), rows);
        }
        operator.complete_all(answers.build(), Instant(0)).unwrap();
        operator.end_input(Instant(0)).unwrap();
        let mut outputs = OutputBatchBuilder::default();
        operator.next_outputs(&mut outputs, usize::MAX, usize::MAX).unwrap();
        let found: Vec<usize> = outputs.build().joined().map(|joined| joined.rows().len()).collect();
        assert_eq!(found, (0..100).map(row_count).collect::<Vec<_>>());
        assert_eq!(operator.poll_state(), PollState::Drained);
        (operator.batches.bytes(), operator.finds.bytes())
    }

    #[test]
    fn nothing_is_kept_of_a_batch_that_has_left() {
        assert_eq!(left_behind(|_| 1), (0, 0));
        assert_eq!(left_behind(|_| 0), (0, 0));
        assert_eq!(left_behind(|place| usize::from(place >= 30)), (0, 0));
        assert_eq!(left_behind(|place| place % 3), (0, 0));
    }
}
