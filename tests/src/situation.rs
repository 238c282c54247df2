//! Situations that an exploration has seen, told apart by how they are written.

use std::{
    fmt::{self, Write as _},
    hash::{DefaultHasher, Hasher},
};

/// Returns a number of a situation as it is written: equal ones have equal numbers.
pub(crate) fn hash(written: fmt::Arguments<'_>) -> u64 {
    let mut hasher = Hashed(DefaultHasher::new());
    hasher.write_fmt(written).expect("hashing does not fail");
    hasher.0.finish()
}

/// Hashes a text as it is written.
struct Hashed(DefaultHasher);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
