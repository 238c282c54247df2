//! Bytes of answers on their way to an operator, within its cap.
//!
//! The operator counts what it holds, and takes no further record over its cap. What was asked for before still comes:
//! calls that bring answers wait here while the operator, its mailbox and other calls hold too much. Where all of them wait
//! and nothing in the operator can leave, the oldest goes on, so that no stream stands still.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// How many bytes may be on their way and inside. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something has become free, or a call may go on all the same.
    freed: Notify,
    /// All calls wait.
    stuck: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// None for no bound.
    limit: Option<u64>,
    /// What the operator and its mailbox held when it was last looked at.
    inside: u64,
    /// What has arrived in the mailbox since then.
    arrived: u64,
    /// Calls by age.
    calls: BTreeMap<u64, Call>,
    next: u64,
}

#[derive(Debug, Default)]
struct Call {
    bytes: u64,
    waits: bool,
    /// It goes on whatever is held.
    is_exempt: bool,
}

impl State {
    fn used(&self) -> u64 {
        self.inside + self.arrived + self.calls.values().map(|call| call.bytes).sum::<u64>()
    }

    /// Whether the call may hold so many bytes; what is alone may have any size.
    fn lets(&self, number: u64, bytes: u64) -> bool {
        let Some(limit) = self.limit else { return true };
        let own = &self.calls[&number];
        let others = self.used() - own.bytes;
        own.is_exempt || others == 0 || others + bytes <= limit
    }

    fn is_stuck(&self) -> bool {
        self.calls.values().all(|call| call.waits)
    }
}

impl Budget {
    /// Bounds it.
    pub(crate) fn set_limit(&self, limit: Option<u64>) {
        self.lock().limit = limit;
    }

    /// Whether there is a bound.
    pub(crate) fn is_bounded(&self) -> bool {
        self.lock().limit.is_some()
    }

    /// Notes what the operator and its mailbox hold now.
    pub(crate) fn set_inside(&self, bytes: u64) {
        let mut state = self.lock();
        (state.inside, state.arrived) = (bytes, 0);
        drop(state);
        self.shared.freed.notify_waiters();
    }

    /// Where all calls wait, lets the oldest go on. Call it when nothing in the operator can leave.
    pub(crate) fn relieve(&self) {
        let mut state = self.lock();
        if !state.is_stuck() {
            return;
        }
        if let Some(mut oldest) = state.calls.first_entry() {
            oldest.get_mut().is_exempt = true;
            drop(state);
            self.shared.freed.notify_waiters();
        }
    }

    /// Waits until all calls wait.
    pub(crate) async fn stuck(&self) {
        self.shared.stuck.notified().await;
    }

    /// A call that holds nothing yet.
    pub(crate) fn begin(&self) -> Reservation {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.calls.insert(number, Call::default());
        Reservation { budget: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes that a call holds, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Budget,
    number: u64,
}

impl Reservation {
    /// Holds at least so many bytes in all, once there is room for them.
    pub(crate) async fn hold(&self, bytes: u64) {
        let shared = &self.budget.shared;
        loop {
            let mut freed = pin!(shared.freed.notified());
            // What is freed from here on is not missed.
            freed.as_mut().enable();
            {
                let mut state = self.budget.lock();
                let lets = state.lets(self.number, bytes);
                let Some(call) = state.calls.get_mut(&self.number) else { return };
                if lets || bytes <= call.bytes {
                    call.bytes = call.bytes.max(bytes);
                    call.waits = false;
                    return;
                }
                call.waits = true;
                if state.is_stuck() {
                    shared.stuck.notify_one();
                }
            }
            freed.await;
        }
    }

    /// Its answers are in the mailbox: they count there from here on.
    pub(crate) fn arrived(self) {
        let mut state = self.budget.lock();
        let bytes = state.calls.get(&self.number).map_or(0, |call| call.bytes);
        state.arrived += bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.budget.lock();
        state.calls.remove(&self.number);
        let is_stuck = !state.calls.is_empty() && state.is_stuck();
        drop(state);
        self.budget.shared.freed.notify_waiters();
        if is_stuck {
            self.budget.shared.stuck.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn budget(limit: u64) -> Budget {
        let budget = Budget::default();
        budget.set_limit(Some(limit));
        budget
    }

    #[test]
    fn calls_wait_while_too_much_is_held() {
        let budget = budget(100);
        let (one, other) = (budget.begin(), budget.begin());
        assert!(one.hold(60).now_or_never().is_some());
        assert!(other.hold(50).now_or_never().is_none());
        assert!(other.hold(40).now_or_never().is_some());
        one.arrived();
        assert!(other.hold(50).now_or_never().is_none(), "what is in the mailbox counts");
        budget.set_inside(60);
        assert!(other.hold(50).now_or_never().is_none(), "and so does what is inside");
        budget.set_inside(0);
        assert!(other.hold(5_000).now_or_never().is_some(), "one that is alone may have any size");
    }

    #[test]
    fn where_all_wait_the_oldest_goes_on() {
        let budget = budget(100);
        budget.set_inside(100);
        let (one, other) = (budget.begin(), budget.begin());
        assert!(other.hold(1).now_or_never().is_none());
        assert!(budget.stuck().now_or_never().is_none(), "one has not begun to wait");
        budget.relieve();
        assert!(other.hold(1).now_or_never().is_none());
        assert!(one.hold(1).now_or_never().is_none());
        assert!(budget.stuck().now_or_never().is_some());
        budget.relieve();
        assert!(one.hold(1).now_or_never().is_some() && other.hold(1).now_or_never().is_none());
        drop(one);
        assert!(budget.stuck().now_or_never().is_some(), "the next one is the oldest");
    }

    #[test]
    fn without_a_bound_nothing_waits() {
        let budget = Budget::default();
        budget.set_inside(u64::MAX / 2);
        assert!(budget.begin().hold(1 << 40).now_or_never().is_some());
    }
}
