//! Answers, and what becomes of them.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use super::{Operator, RecordState};
use crate::{
    Answer, Instant, LookupError, OperatorError, RequestId, Verdict,
    columns::{AttemptEnd, CompletionBatch},
    finds::{Find, FoundRows},
    hashed_key::HashedKey,
    slots::{Found, Slot},
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
    /// [`OperatorError::LookupFailed`] where a record ends as the policies do not allow,
    /// [`OperatorError::Spent`] once the operator failed.
    pub fn complete(&mut self, answer: Answer, now: Instant) -> Result<Verdict, OperatorError> {
        self.see(now);
        let result = answer.result.map(|rows| self.finds.keep_rows(&rows));
        self.take_answer(answer.id, answer.attempt, answer.arrival, result)
    }

    /// Takes a batch of answers, as [`Self::complete`] does: the quick way where there are many.
    ///
    /// # Errors
    ///
    /// As [`Self::complete`]; the answers after the one that failed the operator are not taken.
    pub fn complete_all(&mut self, answers: &CompletionBatch, now: Instant) -> Result<(), OperatorError> {
        self.see(now);
        self.check()?;
        if answers.is_empty() {
            return Ok(());
        }
        let bytes = answers.rows().byte_len(0, answers.rows().len()) as u64;
        let batch = self.finds.insert(answers.rows().clone(), bytes);
        // One hold for each answer, and the first one until all are in.
        self.finds.keep(batch, answers.len() as u32);
        let mut unused = 1;
        let mut taken = Ok(Verdict::Accepted);
        for end in answers.ends() {
            let AttemptEnd { id, attempt, arrival, ref rows, is_failure, .. } = end;
            if taken.is_err() {
                unused += 1;
                continue;
            }
            let count = NonZeroU32::new(rows.len() as u32);
            let result = match is_failure {
                false => Ok(count.map(|count| FoundRows { batch, first: rows.start as u32, count })),
                true => Err(answers.error(&end)),
            };
            unused += u32::from(is_failure || count.is_none());
            taken = self.take_answer(id, attempt, arrival, result);
        }
        self.finds.release(batch, unused);
        taken.map(drop)
    }

    /// Takes one answer; what it found is held for it.
    #[inline]
    fn take_answer(
        &mut self,
        id: RequestId,
        attempt: u32,
        arrival: Instant,
        result: Result<Find, LookupError>,
    ) -> Result<Verdict, OperatorError> {
        self.check()?;
        let arrival = arrival.min(self.now);
        let (verdict, slot) = self.verdict(id, attempt, arrival);
        match verdict {
            Verdict::Accepted => self.counters.answers_accepted += 1,
            Verdict::Stale => self.counters.answers_stale += 1,
            Verdict::Late => self.counters.answers_late += 1,
            Verdict::Unknown => self.counters.answers_unknown += 1,
        }
        let applied = match (verdict, slot) {
            (Verdict::Accepted, Some(slot))
                if matches!(self.records[slot].state, RecordState::Running { flight: None }) =>
            {
                return self.apply(slot, result, arrival).and_then(|()| self.start_all()).map(|()| verdict);
            }
            (Verdict::Accepted | Verdict::Late, Some(slot)) => self.apply_to_flight(slot, verdict, &result, arrival),
            _ => Ok(()),
        };
        if let Ok(find) = result {
            self.finds.drop_find(find);
        }
        applied.map(|()| verdict)
    }

    #[inline]
    fn verdict(&self, id: RequestId, attempt: u32, arrival: Instant) -> (Verdict, Option<Slot>) {
        let slot = match self.records.find(id) {
            Found::Never => return (Verdict::Unknown, None),
            Found::Gone => return (Verdict::Stale, None),
            Found::Here(slot) => slot,
        };
        let record = &self.records[slot];
        let verdict = if attempt == 0 || attempt > record.attempt {
            Verdict::Unknown
        } else if attempt < record.attempt || !matches!(record.state, RecordState::Running { .. }) {
            Verdict::Stale
        } else if arrival >= record.deadline {
            Verdict::Late
        } else {
            Verdict::Accepted
        };
        (verdict, Some(slot))
    }

    /// Ends the lookup that `slot`'s record makes for others too, for it and for them.
    fn apply_to_flight(
        &mut self,
        slot: Slot,
        verdict: Verdict,
        result: &Result<Find, LookupError>,
        arrival: Instant,
    ) -> Result<(), OperatorError> {
        let followers = self.end_flight(slot, result);
        if verdict == Verdict::Accepted {
            let shared = self.share(result);
            self.apply(slot, shared, arrival)?;
        }
        for id in followers {
            // One that has ended since has left the flight, and maybe its slot.
            if let Found::Here(slot) = self.records.find(id)
                && matches!(self.records[slot].state, RecordState::Sharing)
                && arrival < self.records[slot].deadline
            {
                let shared = self.share(result);
                self.apply(slot, shared, arrival)?;
            }
        }
        self.start_all()
    }

    fn share(&mut self, result: &Result<Find, LookupError>) -> Result<Find, LookupError> {
        match result {
            Ok(find) => Ok(self.finds.share(*find)),
            Err(error) => Err(error.clone()),
        }
    }

    /// Where `slot`'s record made its lookup for others too: keeps what was found and gives them.
    fn end_flight(&mut self, slot: Slot, result: &Result<Find, LookupError>) -> Vec<RequestId> {
        let record = &mut self.records[slot];
        let RecordState::Running { flight: Some(flight) } = record.state else { return Vec::new() };
        record.state = RecordState::Running { flight: None };
        if let (Some(cache), Ok(find)) = (&mut self.cache, result)
            && let Some(key) = self.batches.record(record.held).key
        {
            cache.put(&HashedKey::new(key), &self.finds.rows(*find), self.now);
        }
        self.flights.end(flight)
    }

    #[inline]
    fn apply(&mut self, slot: Slot, result: Result<Find, LookupError>, arrival: Instant) -> Result<(), OperatorError> {
        match result {
            Ok(find) => self.answered(slot, find, arrival),
            Err(error) => self.attempt_failed(slot, &error, arrival),
        }
    }
}
