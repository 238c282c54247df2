//! A cache as a list, the entry that was used last at its end.

use bytes::Bytes;
use lookaside_core::{CacheOptions, Instant, Rows};

#[derive(Debug, Clone, Default)]
pub(super) struct NaiveCache {
    entries: Vec<Entry>,
    pub(super) evictions: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    key: Bytes,
    rows: Rows,
    written: Instant,
    used: Instant,
}

impl Entry {
    fn bytes(&self) -> u64 {
        let rows = self.rows.as_slice();
        let several = if rows.len() > 1 { 32 * rows.len() as u64 } else { 0 };
        96 + several + self.key.len() as u64 + rows.iter().map(|row| row.len() as u64).sum::<u64>()
    }
}

impl NaiveCache {
    pub(super) fn get(&mut self, key: &Bytes, now: Instant, options: &CacheOptions) -> Option<Rows> {
        let place = self.entries.iter().position(|entry| entry.key == key)?;
        let mut entry = self.entries.remove(place);
        let after_write =
            if entry.rows.is_empty() { options.missing_expire_after_write } else { options.expire_after_write };
        let expired = |since: Instant, duration: Option<std::time::Duration>| {
            duration.is_some_and(|duration| now.0 >= since.0 + duration.as_nanos() as u64)
        };
        if expired(entry.written, after_write) || expired(entry.used, options.expire_after_access) {
            return None;
        }
        entry.used = now;
        let rows = entry.rows.clone();
        self.entries.push(entry);
        Some(rows)
    }

    pub(super) fn put(&mut self, key: &Bytes, rows: &Rows, now: Instant, options: &CacheOptions) {
        self.entries.retain(|entry| entry.key != key);
        let entry = Entry { key: key.clone(), rows: rows.clone(), written: now, used: now };
        let not_kept = rows.is_empty() && options.missing_expire_after_write.is_none();
        if not_kept || entry.bytes() > options.max_bytes {
            return;
        }
        while self.bytes() + entry.bytes() > options.max_bytes {
            self.entries.remove(0);
            self.evictions += 1;
        }
        self.entries.push(entry);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.entries.iter().map(Entry::bytes).sum()
    }
}
