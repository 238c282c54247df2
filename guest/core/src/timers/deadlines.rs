//! The deadlines of the records whose lookups run.
//!
//! One timeout for all, and instants that never go back: so deadlines rise in the order in which
//! they are set, and a queue orders them. Deadlines of records that are done stay in it for a
//! while; when they outnumber the others, all of them are swept out.

use alloc::collections::VecDeque;

use crate::{Instant, RequestId};

#[derive(Debug, Clone, Default)]
pub(crate) struct Deadlines {
    queue: VecDeque<(Instant, RequestId)>,
    /// Deadlines in the queue that still count.
    live: usize,
}

impl Deadlines {
    /// Sets a deadline, no earlier than those set before.
    pub(crate) fn set(&mut self, deadline: Instant, id: RequestId, is_live: impl Fn(RequestId) -> bool) {
        if self.queue.len() > 2 * self.live + 64 {
            self.queue.retain(|&(_, id)| is_live(id));
        }
        self.live += 1;
        self.queue.push_back((deadline, id));
    }

    /// Notes that one of the deadlines counts no more.
    pub(crate) fn one_less(&mut self) {
        self.live -= 1;
    }

    /// The next deadline that counts.
    pub(crate) fn next(&mut self, is_live: impl Fn(RequestId) -> bool) -> Option<(Instant, RequestId)> {
        while let Some(&(deadline, id)) = self.queue.front() {
            if is_live(id) {
                return Some((deadline, id));
            }
            self.queue.pop_front();
        }
        None
    }
}
