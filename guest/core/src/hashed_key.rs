//! Keys as the trees of this crate are ordered by them.
//!
//! Trees and not hash tables: keys come from the data, and nobody may choose them so that they collide. They are ordered
//! by a hash first, which tells most keys apart in one step; keys that share it cost a comparison of their bytes more.

use core::cmp::Ordering;

use bytes::Bytes;

/// Spreads small differences over all bits: the golden ratio's.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A key behind its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HashedKey {
    hash: u64,
    pub(crate) key: Bytes,
}

impl PartialOrd for HashedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HashedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.hash.cmp(&other.hash).then_with(|| self.key.cmp(&other.key))
    }
}

impl HashedKey {
    // Once, and not at each place that calls it: the component has to be small.
    #[inline(never)]
    pub(crate) fn new(key: Bytes) -> Self {
        let (words, rest) = key.as_chunks();
        let rest = rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let words = words.iter().map(|&word| u64::from_be_bytes(word)).chain([rest]);
        let hash = words.fold(key.len() as u64, |hash, word| (hash ^ word).wrapping_mul(MULTIPLIER).rotate_left(29));
        Self { hash, key }
    }

    /// The same with bytes of its own: a slice would keep the whole batch that it came in.
    pub(crate) fn copied(&self) -> Self {
        Self { hash: self.hash, key: Bytes::copy_from_slice(&self.key) }
    }
}
