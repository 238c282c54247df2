//! Room, refusals and the end of the input.

/// Decides what one operator is offered, and when its loop may sleep.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Feeder {
    capacity: u32,
    /// What the operator had room for when it was last asked, less what it took since.
    room: u32,
    /// The room at which it took less than it was offered; more room lifts it.
    refused_at: Option<u32>,
    input: Input,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Input {
    Open,
    /// No more comes; what came may still wait.
    Exhausted,
    /// The operator knows.
    Ended,
}

/// What comes next of the input that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// Records, one or more.
    Records,
    /// A watermark or a status.
    Barrier,
}

impl Feeder {
    /// Creates the feeder of an operator that has room for `capacity` elements.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
        Self { capacity, room: capacity, refused_at: None, input: Input::Open }
    }

    /// Returns how many elements to offer now, at most; 0 if none.
    ///
    /// Tell [`Self::took_records`] or [`Self::took_barrier`] what came of the offer, and ask again.
    pub fn offer(&mut self, next: Option<Next>) -> u32 {
        match next {
            Some(_) if self.refused_at.is_some() => 0,
            // A barrier may need no room; the operator knows.
            Some(Next::Barrier) => 1,
            Some(Next::Records) => {
                if self.room == 0 {
                    self.refused_at = Some(0);
                }
                self.room
            }
            None => 0,
        }
    }

    /// Notes that the operator took the first `taken` of `offered` records.
    pub fn took_records(&mut self, taken: u32, offered: u32) {
        self.room = self.room.saturating_sub(taken);
        if taken < offered {
            self.refused_at = Some(self.room);
        }
    }

    /// Notes whether the operator took a watermark or a status.
    pub fn took_barrier(&mut self, is_taken: bool) {
        if is_taken {
            self.room = self.room.saturating_sub(1);
        } else {
            // One has no bytes: it is refused only if the operator has no room for anything, and tells so.
            self.room = 0;
            self.refused_at = Some(0);
        }
    }

    /// Notes that no more input comes.
    pub fn exhaust(&mut self) {
        if self.input == Input::Open {
            self.input = Input::Exhausted;
        }
    }

    /// Whether more input may come.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.input == Input::Open
    }

    /// Whether to tell the operator now that the input has ended, `has_input` being whether some waits.
    ///
    /// An operator whose input has ended retries no more. So records in flight come to their end first.
    #[must_use]
    pub fn should_end(&self, has_input: bool) -> bool {
        self.input == Input::Exhausted && !has_input && self.room >= self.capacity
    }

    /// Notes that the operator was told of the end of the input.
    pub fn ended(&mut self) {
        self.input = Input::Ended;
    }

    /// Notes the room that a poll told.
    pub fn polled(&mut self, room: u32) {
        self.refused_at = self.refused_at.filter(|&refused_at| room <= refused_at);
        self.room = room;
    }

    /// Whether another turn can do something now: so the loop must not sleep.
    ///
    /// `has_input` is whether input waits, `has_answers` whether the operator would take more answers if it were called,
    /// and `can_emit` whether outputs are ready and there is a place for them.
    #[must_use]
    pub fn goes_on(&self, has_input: bool, has_answers: bool, can_emit: bool) -> bool {
        let can_offer = has_input && self.refused_at.is_none();
        can_offer || has_answers || can_emit || self.should_end(has_input)
    }

    /// How many elements the operator had room for when it was last asked, less what it took since.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_offered_again_once_there_is_more_room() {
        let mut feeder = Feeder::new(10);
        assert_eq!(feeder.offer(Some(Next::Records)), 10);
        feeder.took_records(4, 6);
        assert_eq!(feeder.offer(Some(Next::Records)), 0, "the bytes of the next one are too many");
        assert!(!feeder.goes_on(true, false, false));
        feeder.polled(6);
        assert_eq!(feeder.offer(Some(Next::Records)), 0, "nothing has left");
        feeder.polled(7);
        assert!(feeder.goes_on(true, false, false));
        assert_eq!(feeder.offer(Some(Next::Records)), 7);
    }

    #[test]
    fn a_barrier_is_offered_without_room_and_then_waits_for_any() {
        let mut feeder = Feeder::new(3);
        feeder.polled(0);
        assert_eq!(feeder.offer(Some(Next::Barrier)), 1);
        feeder.took_barrier(false);
        assert_eq!(feeder.offer(Some(Next::Barrier)), 0);
        feeder.polled(1);
        assert_eq!(feeder.offer(Some(Next::Barrier)), 1);
        // The room that it knows may be old.
        feeder.took_barrier(false);
        feeder.polled(1);
        assert_eq!(feeder.offer(Some(Next::Barrier)), 1);
    }

    #[test]
    fn the_input_ends_when_all_has_left() {
        let mut feeder = Feeder::new(2);
        feeder.took_records(1, 1);
        feeder.exhaust();
        assert!(!feeder.should_end(false), "one is in flight");
        feeder.polled(2);
        assert!(!feeder.should_end(true), "some waits");
        assert!(feeder.should_end(false) && feeder.goes_on(false, false, false));
        feeder.ended();
        assert!(!feeder.should_end(false) && !feeder.goes_on(false, false, false));
    }
}
