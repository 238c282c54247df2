//! What several records in flight share, each of it kept until the last of them lets go.

use alloc::{boxed::Box, vec::Vec};

/// A position in [`Shared`].
pub(crate) type Share = u32;

/// Values with the number of their users.
#[derive(Debug, Clone)]
pub(crate) struct Shared<T> {
    values: Vec<Option<Kept<T>>>,
    free: Vec<Share>,
    /// Of all values together.
    bytes: u64,
}

#[derive(Debug, Clone)]
struct Kept<T> {
    users: u32,
    bytes: u64,
    /// Boxed, so that what is shared by one alone costs little besides itself.
    value: Box<T>,
}

impl<T> Shared<T> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), free: Vec::new(), bytes: 0 }
    }

    /// The bytes that all values take together.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps `value`, which takes so many bytes; its one user is the caller.
    pub(crate) fn insert(&mut self, value: T, bytes: u64) -> Share {
        self.bytes += bytes;
        let kept = Some(Kept { users: 1, bytes, value: Box::new(value) });
        if let Some(share) = self.free.pop() {
            self.values[share as usize] = kept;
            return share;
        }
        self.values.push(kept);
        (self.values.len() - 1) as Share
    }

    /// So many users more.
    pub(crate) fn keep(&mut self, share: Share, users: u32) {
        self.kept(share).users += users;
    }

    /// So many users fewer.
    pub(crate) fn release(&mut self, share: Share, users: u32) {
        let kept = self.kept(share);
        kept.users -= users;
        if kept.users == 0 {
            let bytes = kept.bytes;
            self.bytes -= bytes;
            self.values[share as usize] = None;
            self.free.push(share);
        }
    }

    /// The value, where these are all of its users; they let go of it then.
    pub(crate) fn take_from_all(&mut self, share: Share, users: u32) -> Option<T> {
        let all = self.kept(share).users;
        let kept = self.values[share as usize].take_if(|_| all == users)?;
        self.bytes -= kept.bytes;
        self.free.push(share);
        Some(*kept.value)
    }

    fn kept(&mut self, share: Share) -> &mut Kept<T> {
        self.values[share as usize].as_mut().expect("it has users")
    }
}

impl<T> core::ops::Index<Share> for Shared<T> {
    type Output = T;

    #[inline]
    fn index(&self, share: Share) -> &T {
        &self.values[share as usize].as_ref().expect("it has users").value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_until_its_last_user_lets_go() {
        let mut shared = Shared::new();
        let first = shared.insert('a', 3);
        shared.keep(first, 1);
        shared.release(first, 1);
        assert_eq!(shared[first], 'a');
        let second = shared.insert('b', 4);
        assert_eq!(shared.bytes(), 7);
        assert_ne!(first, second);
        shared.release(first, 1);
        assert_eq!(shared.bytes(), 4);
        assert_eq!(shared.insert('c', 1), first, "a free place is used again");
        shared.keep(first, 1);
        assert_eq!((shared.take_from_all(first, 1), shared.bytes()), (None, 5));
        assert_eq!((shared.take_from_all(first, 2), shared.bytes()), (Some('c'), 4));
    }
}
