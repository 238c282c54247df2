//! Answers, and what becomes of them.

use alloc::vec::Vec;

use super::{Operator, RecordState};
use crate::{
    Answer, Instant, LookupError, OperatorError, RequestId, Rows, Verdict,
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
        self.check()?;
        let verdict = self.verdict(&answer);
        match verdict {
            Verdict::Accepted => self.counters.answers_accepted += 1,
            Verdict::Stale => self.counters.answers_stale += 1,
            Verdict::Late => self.counters.answers_late += 1,
            Verdict::Unknown => self.counters.answers_unknown += 1,
        }
        if let (Verdict::Accepted | Verdict::Late, Found::Here(slot)) = (verdict, self.records.find(answer.id)) {
            let followers = self.end_flight(slot, &answer.result);
            let arrival = answer.arrival.min(self.now);
            if verdict == Verdict::Accepted {
                self.apply(slot, &answer.result, arrival)?;
            }
            for id in followers {
                // One that has ended since has left the flight, and maybe its slot.
                if let Found::Here(slot) = self.records.find(id)
                    && matches!(self.records[slot].state, RecordState::Sharing)
                    && arrival < self.records[slot].deadline
                {
                    self.apply(slot, &answer.result, arrival)?;
                }
            }
            self.start_all()?;
        }
        Ok(verdict)
    }

    fn verdict(&self, answer: &Answer) -> Verdict {
        match self.records.find(answer.id) {
            Found::Never => Verdict::Unknown,
            Found::Gone => Verdict::Stale,
            Found::Here(slot) => {
                let record = &self.records[slot];
                if answer.attempt == 0 || answer.attempt > record.attempt {
                    Verdict::Unknown
                } else if answer.attempt < record.attempt || !matches!(record.state, RecordState::Running) {
                    Verdict::Stale
                } else if answer.arrival.min(self.now) >= record.deadline {
                    Verdict::Late
                } else {
                    Verdict::Accepted
                }
            }
        }
    }

    /// Where `slot`'s record made its lookup for others too: keeps what was found and gives them.
    fn end_flight(&mut self, slot: Slot, result: &Result<Rows, LookupError>) -> Vec<RequestId> {
        let record = &mut self.records[slot];
        let Some(flight) = record.flight.take() else { return Vec::new() };
        if let (Some(cache), Ok(rows), Some(key)) = (&mut self.cache, result, &record.record.key) {
            cache.put(key, rows, self.now);
        }
        self.flights.end(flight)
    }

    fn apply(&mut self, slot: Slot, result: &Result<Rows, LookupError>, arrival: Instant) -> Result<(), OperatorError> {
        match result {
            Ok(rows) => self.answered(slot, rows.clone(), arrival),
            Err(error) => self.attempt_failed(slot, error, arrival),
        }
    }
}
