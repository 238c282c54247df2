//! An allocator that counts, for programs that each test memory by themselves.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Counts what is live, and has no memory for more than a number of bytes at once.
pub(crate) struct Counting {
    live: AtomicUsize,
    /// The most bytes that it gives at once.
    pub(crate) most: AtomicUsize,
}

impl Counting {
    pub(crate) const fn new() -> Self {
        Self { live: AtomicUsize::new(0), most: AtomicUsize::new(usize::MAX) }
    }

    /// Returns how many bytes are live.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }
}

// SAFETY: each call goes on to the system's allocator as it is, or gives no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > self.most.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        self.live.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.live.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.dealloc(memory, layout) }
    }
}
