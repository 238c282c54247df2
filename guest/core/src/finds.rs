//! What was found for the records in flight, as rows of the batches of answers that it came in.

use alloc::boxed::Box;

use crate::{
    Rows,
    columns::ByteStrings,
    shared::{Share, Shared},
};

/// What was found for a record.
#[derive(Debug, Clone)]
pub(crate) enum Find {
    Nothing,
    /// Rows of a batch of answers: at least one.
    Shared {
        batch: Share,
        first: u32,
        count: u32,
    },
    /// Rows that came alone, from the cache, or as a message.
    Own(Box<Rows>),
}

impl From<Rows> for Find {
    fn from(rows: Rows) -> Self {
        if rows.is_empty() { Self::Nothing } else { Self::Own(Box::new(rows)) }
    }
}

impl Find {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

/// The batches of which rows are in flight.
pub(crate) type Finds = Shared<ByteStrings>;

impl Finds {
    /// The same once more, for another record.
    pub(crate) fn share(&mut self, find: &Find) -> Find {
        if let Find::Shared { batch, .. } = find {
            self.keep(*batch, 1);
        }
        find.clone()
    }

    /// The rows by themselves; their bytes stay where they are.
    pub(crate) fn rows(&self, find: &Find) -> Rows {
        match find {
            Find::Nothing => Rows::None,
            Find::Own(rows) => (**rows).clone(),
            Find::Shared { batch, first, count } => {
                (*first..first + count).map(|row| self[*batch].get(row as usize)).collect()
            }
        }
    }

    /// The bytes of all rows together.
    #[inline]
    pub(crate) fn held_bytes(&self, find: &Find) -> u64 {
        match find {
            Find::Nothing => 0,
            Find::Own(rows) => rows.held_bytes(),
            Find::Shared { batch, first, count } => self[*batch].byte_len(*first as usize, *count as usize) as u64,
        }
    }

    /// The record that had it has left.
    #[inline]
    pub(crate) fn drop_find(&mut self, find: Find) {
        if let Find::Shared { batch, .. } = find {
            self.release(batch, 1);
        }
    }
}
