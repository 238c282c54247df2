//! A column of byte strings.

use alloc::{format, vec::Vec};

use bytes::Bytes;

use super::Malformed;

/// Byte strings laid end to end; taking one out copies nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ByteStrings {
    ends: Vec<u32>,
    bytes: Bytes,
}

impl ByteStrings {
    /// The column of these `ends` in `bytes`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where an end goes back or the last one is not the end of `bytes`; `name` says which column.
    pub fn new(name: &str, ends: Vec<u32>, bytes: impl Into<Bytes>) -> Result<Self, Malformed> {
        let bytes = bytes.into();
        if !ends.is_sorted()
            && let Some(row) = ends.windows(2).position(|pair| pair[0] > pair[1])
        {
            let (end, next) = (ends[row], ends[row + 1]);
            return Err(Malformed(format!("column {name}: row {} ends at {next}, before row {row} at {end}", row + 1)));
        }
        let last = ends.last().copied().unwrap_or(0);
        if last as usize != bytes.len() {
            let length = bytes.len();
            return Err(Malformed(format!("column {name}: its rows end at {last} and it has {length} bytes")));
        }
        Ok(Self { ends, bytes })
    }

    /// The column of these `ends` in `bytes`, of which that is known that [`Self::new`] looks for.
    pub(crate) fn of(ends: Vec<u32>, bytes: Bytes) -> Self {
        Self { ends, bytes }
    }

    /// How many strings there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `row`.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Bytes {
        self.bytes.slice(self.start(row)..self.ends[row] as usize)
    }

    /// String `row`, where it is.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    #[inline]
    #[must_use]
    pub fn slice(&self, row: usize) -> &[u8] {
        &self.bytes[self.start(row)..self.ends[row] as usize]
    }

    /// The bytes of `count` strings from `first` on, all of which there are.
    #[inline]
    pub(crate) fn byte_len(&self, first: usize, count: usize) -> usize {
        if count == 0 { 0 } else { self.ends[first + count - 1] as usize - self.start(first) }
    }

    #[inline]
    fn start(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] as usize }
    }

    /// The first `rows` strings. Copies them where most of the column would be kept for nothing.
    #[must_use]
    pub fn first(&self, rows: usize) -> Self {
        if rows >= self.len() {
            return self.clone();
        }
        let ends = Vec::from(&self.ends[..rows]);
        let end = ends.last().copied().unwrap_or(0) as usize;
        let bytes = if end < self.bytes.len() / 2 {
            Bytes::copy_from_slice(&self.bytes[..end])
        } else {
            self.bytes.slice(..end)
        };
        Self { ends, bytes }
    }

    /// The column's two lists.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Bytes) {
        (self.ends, self.bytes)
    }
}

impl From<ByteStrings> for ByteStringsBuilder {
    /// Copies nothing where nobody else has the bytes.
    fn from(strings: ByteStrings) -> Self {
        Self { ends: strings.ends, bytes: strings.bytes.into() }
    }
}

/// A [`ByteStrings`] that grows.
#[derive(Debug, Clone, Default)]
pub struct ByteStringsBuilder {
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl ByteStringsBuilder {
    /// So many empty strings.
    #[must_use]
    pub fn empty_strings(count: usize) -> Self {
        Self { ends: alloc::vec![0; count], bytes: Vec::new() }
    }

    /// Appends one string.
    ///
    /// # Panics
    ///
    /// Where the column would pass 4 GiB.
    #[inline]
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(u32::try_from(self.bytes.len()).expect("a column is below 4 GiB"));
    }

    /// Appends `count` strings of another column, from `first` on, in one copy.
    ///
    /// # Panics
    ///
    /// Where there are not so many, or the column would pass 4 GiB.
    pub fn push_run(&mut self, strings: &ByteStrings, first: usize, count: usize) {
        if count == 0 {
            return;
        }
        let (start, ends) = (strings.start(first), &strings.ends[first..first + count]);
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&strings.bytes[start..ends[count - 1] as usize]);
        u32::try_from(self.bytes.len()).expect("a column is below 4 GiB");
        // Both are below 4 GiB, so that what wraps comes back.
        let moved = (before as u32).wrapping_sub(start as u32);
        let first = self.ends.len();
        self.ends.extend_from_slice(ends);
        if moved != 0 {
            self.ends[first..].iter_mut().for_each(|end| *end = end.wrapping_add(moved));
        }
    }

    /// `count` strings from `first` on, copied.
    ///
    /// # Panics
    ///
    /// Where there are not so many.
    #[must_use]
    pub fn range(&self, first: usize, count: usize) -> Self {
        let start = if first == 0 { 0 } else { self.ends[first - 1] };
        let ends = &self.ends[first..first + count];
        let end = ends.last().copied().unwrap_or(start);
        let bytes = Vec::from(&self.bytes[start as usize..end as usize]);
        Self { ends: ends.iter().map(|end| end - start).collect(), bytes }
    }

    /// Appends all strings of another column.
    ///
    /// # Panics
    ///
    /// Where the column would pass 4 GiB.
    pub fn append(&mut self, other: &Self) {
        let before = self.bytes.len() as u32;
        self.bytes.extend_from_slice(&other.bytes);
        u32::try_from(self.bytes.len()).expect("a column is below 4 GiB");
        self.ends.extend(other.ends.iter().map(|end| end + before));
    }

    /// Makes place for so many strings more, and so many bytes.
    #[inline]
    pub fn reserve(&mut self, strings: usize, bytes: usize) {
        self.ends.reserve(strings);
        self.bytes.reserve(bytes);
    }

    /// How many strings there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of string `row` and of all before it.
    ///
    /// # Panics
    ///
    /// Where there is no such string.
    #[must_use]
    pub fn end(&self, row: usize) -> usize {
        self.ends[row] as usize
    }

    /// String `row`, where it is.
    pub(crate) fn slice(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }

    /// The bytes of all of them together.
    #[inline]
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The column as it is.
    #[must_use]
    pub fn build(self) -> ByteStrings {
        ByteStrings { ends: self.ends, bytes: self.bytes.into() }
    }

    /// The column of what [`Self::into_parts`] gave.
    #[must_use]
    pub fn from_parts(ends: Vec<u32>, bytes: Vec<u8>) -> Self {
        Self { ends, bytes }
    }

    /// The column's two lists.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Vec<u8>) {
        (self.ends, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_as_they_went_in() {
        let mut builder = ByteStringsBuilder::default();
        for string in ["a", "", "bcd"] {
            builder.push(string.as_bytes());
        }
        let (ends, bytes) = builder.into_parts();
        let column = ByteStrings::new("keys", ends, bytes).unwrap();
        assert_eq!((column.get(0), column.get(1), column.get(2)), ("a".into(), "".into(), "bcd".into()));
        assert_eq!(column.first(2).len(), 2);
        assert_eq!(column.first(2).get(0), "a");
    }

    #[test]
    fn ends_that_disagree_with_the_bytes_are_refused() {
        for (ends, bytes) in
            [(&[2][..], "a"), (&[0], "a"), (&[], "a"), (&[1, 0], ""), (&[2, 1, 2], "ab"), (&[u32::MAX], "a")]
        {
            assert!(ByteStrings::new("keys", ends.into(), bytes).is_err(), "{ends:?} {bytes:?}");
        }
    }
}
