//! Counts allocated bytes, to measure the memory of one object.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

/// The system's allocator, which also counts the bytes in use.
pub(crate) struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Bytes in use.
pub(crate) fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

#[expect(
    unsafe_code,
    reason = "GlobalAlloc is unsafe; this one forwards every call"
)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}
