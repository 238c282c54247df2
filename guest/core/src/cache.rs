//! What was found before: least recently used first out, within a number of bytes.

use alloc::collections::BTreeMap;
use core::time::Duration;

use bytes::Bytes;

use crate::{
    Instant, Rows,
    hashed_key::HashedKey,
    slots::{Slot, Slots},
};

/// Bytes that an entry takes besides its key and its rows.
const ENTRY_BYTES: u64 = 96;
/// Bytes that each row of an entry takes besides itself, where there are several.
const ROW_BYTES: u64 = 32;

/// How long what was found is used again, and how much of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheOptions {
    /// Bytes of keys and rows at most, with 96 more per entry, and 32 more per row of an entry that has several.
    pub max_bytes: u64,
    /// From the answer on; none for as long as there is room.
    pub expire_after_write: Option<Duration>,
    /// From the last use on; none for as long as there is room.
    pub expire_after_access: Option<Duration>,
    /// For misses, from the answer on; none keeps no misses.
    pub missing_expire_after_write: Option<Duration>,
}

impl CacheOptions {
    /// Keeps so many bytes, found rows for as long as there is room and misses for 10 seconds.
    #[must_use]
    pub fn with_max_bytes(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            expire_after_write: None,
            expire_after_access: None,
            missing_expire_after_write: Some(Duration::from_secs(10)),
        }
    }
}

/// The rows with bytes of their own, in one piece.
fn copied(rows: &Rows) -> Rows {
    let all = Bytes::from(rows.as_slice().concat());
    let mut start = 0;
    let slice = |row: &Bytes| {
        start += row.len();
        all.slice(start - row.len()..start)
    };
    rows.as_slice().iter().map(slice).collect()
}

/// Answers by key. Failures are never among them.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    options: CacheOptions,
    by_key: BTreeMap<HashedKey, Slot>,
    entries: Slots<Entry>,
    /// The entry that was used last, and the one that was not used for longest.
    newest: Option<Slot>,
    oldest: Option<Slot>,
    bytes: u64,
    evictions: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    key: HashedKey,
    rows: Rows,
    expires: Instant,
    used: Instant,
    /// Its neighbours in the order of use.
    newer: Option<Slot>,
    older: Option<Slot>,
}

impl Entry {
    fn bytes(&self) -> u64 {
        let several = if let Rows::Many(rows) = &self.rows { rows.len() as u64 } else { 0 };
        self.key.key.len() as u64 + self.rows.held_bytes() + ENTRY_BYTES + ROW_BYTES * several
    }
}

impl Cache {
    pub(crate) fn new(options: CacheOptions) -> Self {
        let entries = Slots::new();
        Self { options, by_key: BTreeMap::new(), entries, newest: None, oldest: None, bytes: 0, evictions: 0 }
    }

    /// The rows that were found for `key`, none of them for a miss; nothing where it must be looked up.
    pub(crate) fn get(&mut self, key: &HashedKey, now: Instant) -> Option<Rows> {
        let slot = *self.by_key.get(key)?;
        let entry = &self.entries[slot];
        let idle_until = self.options.expire_after_access.map_or(Instant::NEVER, |idle| entry.used.after(idle));
        if now >= entry.expires.min(idle_until) {
            self.remove(slot);
            return None;
        }
        self.unlink(slot);
        self.entries[slot].used = now;
        self.link_newest(slot);
        Some(self.entries[slot].rows.clone())
    }

    /// Keeps the answer to `key`, in place of an older one.
    pub(crate) fn put(&mut self, key: &HashedKey, rows: &Rows, now: Instant) {
        if let Some(&slot) = self.by_key.get(key) {
            self.remove(slot);
        }
        let expires = match (rows.is_empty(), self.options.missing_expire_after_write) {
            (true, None) => return,
            (true, Some(duration)) => now.after(duration),
            (false, _) => self.options.expire_after_write.map_or(Instant::NEVER, |duration| now.after(duration)),
        };
        // Copies: a slice would keep the whole batch that it came in.
        let key = key.copied();
        let rows = copied(rows);
        let entry = Entry { key, rows, expires, used: now, newer: None, older: None };
        let bytes = entry.bytes();
        if bytes > self.options.max_bytes {
            return;
        }
        while self.bytes + bytes > self.options.max_bytes {
            let Some(oldest) = self.oldest else { break };
            self.remove(oldest);
            self.evictions += 1;
        }
        self.bytes += bytes;
        let key = entry.key.clone();
        let slot = self.entries.insert(entry);
        self.by_key.insert(key, slot);
        self.link_newest(slot);
    }

    /// Entries that gave way for lack of room.
    pub(crate) fn evictions(&self) -> u64 {
        self.evictions
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn remove(&mut self, slot: Slot) {
        self.unlink(slot);
        let entry = self.entries.remove(slot);
        self.by_key.remove(&entry.key);
        self.bytes -= entry.bytes();
    }

    fn unlink(&mut self, slot: Slot) {
        let Entry { newer, older, .. } = self.entries[slot];
        match newer {
            Some(newer) => self.entries[newer].older = older,
            None => self.newest = older,
        }
        match older {
            Some(older) => self.entries[older].newer = newer,
            None => self.oldest = newer,
        }
    }

    fn link_newest(&mut self, slot: Slot) {
        let before = self.newest.replace(slot);
        let entry = &mut self.entries[slot];
        (entry.newer, entry.older) = (None, before);
        match before {
            Some(before) => self.entries[before].newer = Some(slot),
            None => self.oldest = Some(slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, vec::Vec};

    use super::*;

    /// Room for `entries` with keys and rows of one byte.
    fn cache(entries: u64) -> Cache {
        Cache::new(CacheOptions::with_max_bytes(entries * (ENTRY_BYTES + 2)))
    }

    fn put(cache: &mut Cache, key: &'static str, now: u64) {
        cache.put(&hashed(key), &Rows::from("r"), Instant(now));
    }

    fn hashed(key: &str) -> HashedKey {
        HashedKey::new(Bytes::copy_from_slice(key.as_bytes()))
    }

    fn kept(cache: &mut Cache, keys: &str, now: u64) -> String {
        keys.chars().filter(|key| cache.get(&hashed(&format!("{key}")), Instant(now)).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_gives_way() {
        let mut cache = cache(2);
        put(&mut cache, "a", 0);
        put(&mut cache, "b", 0);
        assert_eq!(kept(&mut cache, "a", 0), "a");
        put(&mut cache, "c", 0);
        assert_eq!(kept(&mut cache, "abc", 0), "ac");
        assert_eq!((cache.evictions(), cache.len(), cache.bytes()), (1, 2, 2 * (ENTRY_BYTES + 2)));
    }

    #[test]
    fn entries_expire_after_write_and_after_access() {
        let options = CacheOptions {
            expire_after_write: Some(Duration::from_nanos(10)),
            expire_after_access: Some(Duration::from_nanos(4)),
            ..CacheOptions::with_max_bytes(1_000)
        };
        let mut cache = Cache::new(options);
        put(&mut cache, "a", 0);
        put(&mut cache, "b", 0);
        assert_eq!(kept(&mut cache, "a", 3), "a");
        assert_eq!(kept(&mut cache, "ab", 4), "a", "b was not used for 4");
        assert_eq!(kept(&mut cache, "a", 7), "a");
        assert_eq!(kept(&mut cache, "a", 10), "", "however much it is used");
        assert_eq!((cache.len(), cache.bytes()), (0, 0));
    }

    #[test]
    fn an_entry_over_the_cap_is_not_kept_and_drives_nothing_out() {
        let mut cache = cache(1);
        put(&mut cache, "a", 0);
        cache.put(&hashed("b"), &Rows::One(Bytes::from(Vec::from([0; 99]))), Instant(0));
        assert_eq!(kept(&mut cache, "ab", 0), "a");
    }

    #[test]
    fn misses_are_kept_by_their_own_time() {
        let mut cache = cache(9);
        let key = hashed("a");
        cache.put(&key, &Rows::None, Instant(0));
        assert_eq!(cache.get(&key, Instant(9_999_999_999)), Some(Rows::None));
        assert_eq!(cache.get(&key, Instant(10_000_000_000)), None);
        let mut none =
            Cache::new(CacheOptions { missing_expire_after_write: None, ..CacheOptions::with_max_bytes(999) });
        none.put(&key, &Rows::None, Instant(0));
        assert_eq!(none.get(&key, Instant(0)), None);
    }
}
