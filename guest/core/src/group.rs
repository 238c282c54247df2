//! Records that came one behind another and have had the same fate so far.

use alloc::{string::String, sync::Arc};

use crate::{
    Instant, Outcome,
    batches::{Batches, Held},
    finds::{Find, Finds},
    links::{Links, ListOf},
    positions::Position,
    queue::Segment,
    slots::Slot,
};

/// Records of a group.
pub(crate) type Count = u16;

/// Neighbours in a batch, from their admission to their leaving. One whose fate differs leaves its group and becomes one of its
/// own: what waits for its key, shares a lookup, or failed once, is a group of one.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// The first record; the others follow in the batch.
    pub(crate) held: Held,
    pub(crate) count: Count,
    /// The first record's; the others have the next ones.
    pub(crate) first: Position,
    /// Place in the stream of the first record; the others follow.
    pub(crate) arrival: u64,
    pub(crate) has_key: bool,
    /// Its last attempt was a miss, so a cached miss is no news to it.
    pub(crate) missed: bool,
    pub(crate) segment: Segment,
    /// Of the newest attempt, shared ones included; 0 before the first.
    pub(crate) attempt: u32,
    /// Lookups made for each record alone or for others too.
    pub(crate) lookups: u32,
    /// [`Instant::NEVER`] before the first attempt, and where nothing times out.
    pub(crate) deadline: Instant,
    /// In the list of deadlines.
    pub(crate) deadline_links: Links,
    /// In the list of what leaves in order.
    pub(crate) order_links: Links,
    /// What the last failed attempt said.
    pub(crate) last_error: LastError,
    pub(crate) state: GroupState,
}

/// A text that few groups have and many may share, in a pointer's bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastError(pub(crate) Option<Arc<String>>);

#[derive(Debug, Clone, Copy)]
pub(crate) enum GroupState {
    /// Key-ordered: an earlier record of its key is being looked up.
    Blocked,
    /// An attempt runs for each record.
    Running {
        /// Which it makes for others too.
        flight: Option<Slot>,
    },
    /// Another record's attempt for the same key runs.
    Sharing,
    /// The delay before the next attempt runs.
    Waiting,
    /// As many rows were found for each record, one record's after another's; `find` is the first one's.
    Done { outcome: Outcome, find: Find },
}

impl Group {
    /// Its neighbours in a list.
    pub(crate) fn links(&mut self, list: ListOf) -> &mut Links {
        match list {
            ListOf::Deadlines => &mut self.deadline_links,
            ListOf::Order => &mut self.order_links,
        }
    }

    /// How many records it has.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        u32::from(self.count)
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, GroupState::Done { .. })
    }

    /// What was found for the first record, once it is done.
    pub(crate) fn find(&self) -> Find {
        match self.state {
            GroupState::Done { find, .. } => find,
            _ => None,
        }
    }

    /// The bytes of the first `count` records, and of what was found for them.
    pub(crate) fn bytes(&self, count: u32, batches: &Batches, finds: &Finds) -> u64 {
        batches.held_bytes(self.held, count, self.has_key) + finds.held_bytes(self.find(), count)
    }

    /// The first `count` records by themselves; this is the rest from then on.
    pub(crate) fn take_first(&mut self, count: u32) -> Self {
        let first = Self { count: count as Count, ..self.clone() };
        self.skip_first(count);
        first
    }

    /// Is without its first `count` records from then on, which are not all.
    pub(crate) fn skip_first(&mut self, count: u32) {
        self.held.row += count;
        self.count -= count as Count;
        self.first += count;
        self.arrival += u64::from(count);
        if let GroupState::Done { find: Some(found), .. } = &mut self.state {
            found.first += count * found.count.get();
        }
    }
}
