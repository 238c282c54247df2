//! What was found for the records in flight, as rows of the batches of answers that it came in.

use alloc::{string::ToString, vec::Vec};
use core::num::NonZeroU32;

use bytes::Bytes;

use crate::{
    Rows,
    columns::ByteStrings,
    shared::{Share, Shared},
};

/// Rows of a batch, which is held for whoever has this.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundRows {
    pub(crate) batch: Share,
    pub(crate) first: u32,
    /// Of one record.
    pub(crate) count: NonZeroU32,
}

/// What was found for a record.
pub(crate) type Find = Option<FoundRows>;

/// The batches of which rows are in flight.
pub(crate) type Finds = Shared<ByteStrings>;

impl Finds {
    /// Keeps rows that came alone, or from the cache.
    pub(crate) fn keep_rows(&mut self, rows: &Rows) -> Find {
        let rows = rows.as_slice();
        let count = NonZeroU32::new(rows.len() as u32)?;
        let mut end = 0;
        let ends = rows.iter().map(|row| {
            end += row.len() as u32;
            end
        });
        let ends: Vec<u32> = ends.collect();
        let bytes = match rows {
            [row] => row.clone(),
            rows => rows.concat().into(),
        };
        let batch = self.insert(ByteStrings::of(ends, bytes), u64::from(end));
        Some(FoundRows { batch, first: 0, count })
    }

    /// Keeps a message, which stands for a failure's row.
    pub(crate) fn keep_message(&mut self, message: &str) -> Find {
        self.keep_rows(&Rows::One(Bytes::from(message.to_string())))
    }

    /// The same once more, for another record.
    pub(crate) fn share(&mut self, find: Find) -> Find {
        if let Some(found) = find {
            self.keep(found.batch, 1);
        }
        find
    }

    /// The rows by themselves; their bytes stay where they are.
    pub(crate) fn rows(&self, find: Find) -> Rows {
        let Some(FoundRows { batch, first, count }) = find else { return Rows::None };
        (first..first + count.get()).map(|row| self[batch].get(row as usize)).collect()
    }

    /// The bytes of all rows of so many records together, of which this is the first one's. Each row of a record after its
    /// first counts four more, which is where it ends: a thousand rows of a byte are no kilobyte.
    pub(crate) fn held_bytes(&self, find: Find, records: u32) -> u64 {
        find.map_or(0, |FoundRows { batch, first, count }| {
            let bytes = self[batch].byte_len(first as usize, (count.get() * records) as usize) as u64;
            bytes + u64::from((count.get() - 1) * records) * size_of::<u32>() as u64
        })
    }

    /// So many records that had it have left.
    pub(crate) fn drop_find(&mut self, find: Find, records: u32) {
        if let Some(found) = find {
            self.release(found.batch, records);
        }
    }
}
