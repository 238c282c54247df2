//! The lines that records in flight came from, to name the one whose lookup ended the run.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
};

/// The lines of the last records that were read, with a hash of their keys.
#[derive(Debug)]
pub(super) struct Lines {
    last: Mutex<Last>,
    /// How many are kept: as many as may be in flight and on their way there.
    kept: usize,
}

#[derive(Debug, Default)]
struct Last {
    lines: VecDeque<(u64, u64)>,
    /// How many records came before those.
    before: u64,
}

/// Records that may be on their way to the operator.
const ON_THEIR_WAY: usize = 16_384;

impl Lines {
    /// Lines for an operator of that capacity; none are kept where nothing asks for them.
    pub(super) fn new(capacity: usize, is_wanted: bool) -> Self {
        Self { last: Mutex::default(), kept: if is_wanted { capacity + ON_THEIR_WAY } else { 0 } }
    }

    pub(super) fn add(&self, key: Option<&[u8]>, line: u64) {
        if self.kept == 0 {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.lines.len() == self.kept {
            last.lines.pop_front();
            last.before += 1;
        }
        last.lines.push_back((hash(key), line));
    }

    /// The line of the record that `before` records of the stream came before.
    pub(super) fn of_place(&self, before: u64) -> Option<u64> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(before.checked_sub(last.before)?).ok()?;
        last.lines.get(place).map(|(_, line)| *line)
    }

    /// The lines of the records with that key that may still be in flight.
    pub(super) fn of_key(&self, key: Option<&[u8]>) -> Vec<u64> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = hash(key);
        last.lines.iter().filter(|(of, _)| *of == hash).map(|(_, line)| *line).collect()
    }
}

fn hash(key: Option<&[u8]>) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_place_and_by_key() {
        let lines = Lines::new(0, true);
        for number in 0..ON_THEIR_WAY as u64 + 10 {
            lines.add(Some(format!("k{}", number % 10_000).as_bytes()), number * 2);
        }
        assert_eq!(lines.of_place(9), None, "long gone");
        assert_eq!(lines.of_place(10), Some(20));
        assert_eq!(lines.of_key(Some(b"k11")), [22, 20_022]);
        assert!(lines.of_key(None).is_empty());
        let none = Lines::new(100, false);
        none.add(None, 1);
        assert_eq!(none.of_place(0), None);
    }
}
