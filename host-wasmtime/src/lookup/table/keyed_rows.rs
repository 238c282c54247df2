//! Rows laid end to end, each behind its key, and an index that leads to them.
//!
//! A table that is larger than the processor's caches costs a wait for memory at each step to a row. So the
//! index leads straight to an entry, and an entry holds all that there is to see: its key, its row, and where the next
//! row of its key is.

use std::{hash::BuildHasher, ops::Range};

use bytes::Bytes;
use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};
use lookaside_core::Rows;

/// Stands for no entry.
const NONE: u64 = u64::MAX;
/// Where the next entry is, and the lengths of key and row.
const HEADER: usize = 16;
/// Bytes of the columns after which memory is given back.
const GIVEN_BACK: usize = 16 << 20;

/// Rows on their way into a table, as columns.
#[derive(Default)]
pub(super) struct KeyedRowsBuilder {
    keys: Vec<u8>,
    key_ends: Vec<u64>,
    rows: Vec<u8>,
    row_ends: Vec<u64>,
}

impl KeyedRowsBuilder {
    /// Appends a row, which `write` writes behind whatever is in the list that it gets.
    pub(super) fn push_row(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.rows);
        self.row_ends.push(self.rows.len() as u64);
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.row_ends.len()
    }

    /// Appends the next row's key; one that is empty is never found.
    pub(super) fn push_key(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.keys);
        self.key_ends.push(self.keys.len() as u64);
    }

    /// The rows with their index. There is a key for each row.
    pub(super) fn build(mut self) -> KeyedRows {
        assert_eq!(self.key_ends.len(), self.row_ends.len(), "each row has a key");
        let mut index = Index { places: HashTable::with_capacity(self.len()), state: DefaultHashBuilder::default() };
        let mut entries = Vec::new();
        let mut findable = 0;
        // From the last row to the first, so that those of one key stand in the order of the file; and what was read
        // goes as its entry comes.
        while let Some((key, row)) = self.last() {
            if !self.keys[key.clone()].is_empty() {
                findable += 1;
                index.add(&mut entries, &self.keys[key.clone()], &self.rows[row.clone()]);
            }
            cut(&mut self.keys, key.start);
            cut(&mut self.rows, row.start);
        }
        entries.shrink_to_fit();
        KeyedRows { entries: entries.into(), index, findable }
    }

    /// Takes the last row out: where its key and it are.
    fn last(&mut self) -> Option<(Range<usize>, Range<usize>)> {
        let (key_end, row_end) = (self.key_ends.pop()?, self.row_ends.pop()?);
        let start = |ends: &[u64]| ends.last().map_or(0, |&end| end as usize);
        Some((start(&self.key_ends)..key_end as usize, start(&self.row_ends)..row_end as usize))
    }
}

/// Cuts a list off, and gives its memory back now and then.
fn cut(list: &mut Vec<u8>, length: usize) {
    list.truncate(length);
    if list.capacity() - length > GIVEN_BACK {
        list.shrink_to_fit();
    }
}

/// Rows in memory.
#[derive(Default)]
pub(super) struct KeyedRows {
    entries: Bytes,
    index: Index,
    findable: usize,
}

/// For each key, where the first entry of it is.
#[derive(Default)]
struct Index {
    places: HashTable<u64>,
    state: DefaultHashBuilder,
}

impl Index {
    /// Appends an entry, and has its key lead to it.
    fn add(&mut self, entries: &mut Vec<u8>, key: &[u8], row: &[u8]) {
        let place = entries.len() as u64;
        let hash_of = |&place: &u64| self.state.hash_one(Keyed::at(entries, place).key(entries));
        let is_key = |&place: &u64| Keyed::at(entries, place).key(entries) == key;
        let next = match self.places.entry(self.state.hash_one(key), is_key, hash_of) {
            Entry::Occupied(mut first) => std::mem::replace(first.get_mut(), place),
            Entry::Vacant(free) => {
                free.insert(place);
                NONE
            }
        };
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a row is below 4 GiB").to_le_bytes();
        entries.extend_from_slice(&next.to_le_bytes());
        entries.extend_from_slice(&length(key));
        entries.extend_from_slice(&length(row));
        entries.extend_from_slice(key);
        entries.extend_from_slice(row);
    }
}

/// An entry, read.
#[derive(Debug, Clone, Copy)]
struct Keyed {
    next: u64,
    /// Where the key begins, and how long it and the row behind it are.
    start: usize,
    key: usize,
    row: usize,
}

impl Keyed {
    fn at(entries: &[u8], place: u64) -> Self {
        let place = place as usize;
        let header: &[u8; HEADER] = entries[place..].first_chunk().expect("an entry has a header");
        let half = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("8 bytes"));
        let (next, lengths) = (half(&header[..8]), half(&header[8..]));
        Self { next, start: place + HEADER, key: lengths as u32 as usize, row: (lengths >> 32) as usize }
    }

    fn key(self, entries: &[u8]) -> &[u8] {
        &entries[self.start..self.start + self.key]
    }

    fn row(self) -> Range<usize> {
        let start = self.start + self.key;
        start..start + self.row
    }
}

/// What a key most likely leads to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate(Option<Keyed>);

impl KeyedRows {
    /// How many rows can be found.
    pub(super) fn len(&self) -> usize {
        self.findable
    }

    /// What to give [`Self::find`] for each of these keys.
    ///
    /// Memory answers many questions that are asked together in about the time of one, so each step is made for all keys
    /// before the next.
    pub(super) fn candidates<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Vec<Candidate> {
        let Index { places, state } = &self.index;
        let places: Vec<Option<u64>> = keys.map(|key| places.iter_hash(state.hash_one(key)).next().copied()).collect();
        places.into_iter().map(|place| Candidate(place.map(|place| Keyed::at(&self.entries, place)))).collect()
    }

    /// The rows of a key; none where it has none.
    pub(super) fn find(&self, key: &[u8], candidate: Candidate) -> Option<Rows> {
        let is_key = |entry: &Keyed| entry.key(&self.entries) == key;
        let first = candidate.0.filter(is_key).or_else(|| {
            let Index { places, state } = &self.index;
            let is_key = |&place: &u64| is_key(&Keyed::at(&self.entries, place));
            candidate
                .0
                .and_then(|_| places.find(state.hash_one(key), is_key))
                .map(|&place| Keyed::at(&self.entries, place))
        })?;
        let rows = std::iter::successors(Some(first), |entry| {
            (entry.next != NONE).then(|| Keyed::at(&self.entries, entry.next))
        });
        Some(rows.map(|entry| self.entries.slice(entry.row())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_keys_in_order() {
        let mut builder = KeyedRowsBuilder::default();
        for (key, row) in [("a", "1"), ("", "2"), ("b", "3"), ("a", "4"), ("a", "5")] {
            builder.push_key(|keys| keys.extend_from_slice(key.as_bytes()));
            builder.push_row(|rows| rows.extend_from_slice(row.as_bytes()));
        }
        let rows = builder.build();
        assert_eq!(rows.len(), 4);
        let find = |key: &[u8]| rows.find(key, rows.candidates([key].into_iter())[0]);
        assert_eq!(find(b"a"), Some(Rows::from_iter(["1".into(), "4".into(), "5".into()])));
        assert_eq!(find(b"b"), Some(Rows::from("3")));
        assert_eq!(find(b""), None);
        assert_eq!(find(b"c"), None);
    }

    #[test]
    fn each_of_many_keys_finds_its_own_row() {
        let mut builder = KeyedRowsBuilder::default();
        for number in 0..10_000 {
            builder.push_key(|keys| keys.extend_from_slice(format!("k{number}").as_bytes()));
            builder.push_row(|rows| rows.extend_from_slice(format!("row {number}").as_bytes()));
        }
        let rows = builder.build();
        let keys: Vec<String> = (0..20_000).map(|number| format!("k{number}")).collect();
        let candidates = rows.candidates(keys.iter().map(String::as_bytes));
        for (number, (key, candidate)) in keys.iter().zip(candidates).enumerate() {
            let expected = (number < 10_000).then(|| Rows::from(format!("row {number}")));
            assert_eq!(rows.find(key.as_bytes(), candidate), expected, "{key}");
        }
    }
}
