//! The first memory of a program: handed out one block after the other, and hardly ever taken back.
//!
//! A program that lives for two milliseconds asks for some thousand blocks, most of them for as long as it lives. Looking
//! for a place that fits, and keeping what was given back in order, would cost it more than the memory is worth.
//!
//! Invariant: a block is handed out once, and again only after it was given back as the last one.

use std::alloc::Layout;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// How much there is.
const ALL: usize = 256 << 10;
/// How much is asked for with its pages at once.
const STEP: usize = 16 << 10;
/// Blocks beyond this belong elsewhere.
const LONGEST: usize = 16 << 10;

/// One region of memory.
pub(super) struct First {
    base: AtomicPtr<u8>,
    /// Bytes from the beginning that are handed out.
    used: AtomicUsize,
    /// Bytes from the beginning whose pages are there.
    filled: AtomicUsize,
}

impl First {
    /// Nothing is asked for yet.
    pub(super) const fn new() -> Self {
        Self { base: AtomicPtr::new(ptr::null_mut()), used: AtomicUsize::new(0), filled: AtomicUsize::new(0) }
    }

    /// A new block; null when there is no room for one.
    pub(super) fn take(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // Zero-sized blocks would share their address with the next one.
        if size == 0 || size > LONGEST || align > 16 {
            return ptr::null_mut();
        }
        let base = self.base();
        if base.is_null() {
            return base;
        }
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            // A layout's alignment is a power of two; to say so saves a division.
            let at = (used + (align - 1)) & !(align - 1);
            let end = at + size;
            if end > ALL {
                return ptr::null_mut();
            }
            match self.used.compare_exchange_weak(used, end, Ordering::AcqRel, Ordering::Relaxed) {
                Err(now) => used = now,
                Ok(_) => {
                    self.fill(base, end);
                    // SAFETY: `at` lies within the region, which is never given back.
                    return unsafe { base.add(at) };
                }
            }
        }
    }

    /// Whether `block` was handed out here.
    pub(super) fn has(&self, block: *mut u8) -> bool {
        let base = self.base.load(Ordering::Acquire).addr();
        base != 0 && block.addr().wrapping_sub(base) < ALL
    }

    /// Takes a block of `size` bytes back, if it was the last one.
    pub(super) fn give_back(&self, block: *mut u8, size: usize) {
        let _ = self.resize(block, size, 0);
    }

    /// Makes a block longer or shorter where it is; whether that could be done.
    pub(super) fn resize(&self, block: *mut u8, old: usize, new: usize) -> bool {
        let base = self.base.load(Ordering::Acquire);
        let at = block.addr() - base.addr();
        let end = at + new;
        if end > ALL || new > LONGEST {
            return false;
        }
        let moved = self.used.compare_exchange(at + old, end, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if moved {
            self.fill(base, end);
        }
        moved || new <= old
    }

    fn base(&self) -> *mut u8 {
        let base = self.base.load(Ordering::Acquire);
        if !base.is_null() {
            return base;
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let region =
            unsafe { libc::mmap(ptr::null_mut(), ALL, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if region == libc::MAP_FAILED {
            return ptr::null_mut();
        }
        match self.base.compare_exchange(base, region.cast(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => region.cast(),
            Err(other) => {
                // SAFETY: somebody else was first, and nobody knows this one.
                unsafe { libc::munmap(region, ALL) };
                other
            }
        }
    }

    /// Has the pages up to `end` brought in one piece; a kernel that cannot (before 5.14) brings them one by one.
    fn fill(&self, base: *mut u8, end: usize) {
        let filled = self.filled.load(Ordering::Relaxed);
        if end <= filled {
            return;
        }
        let until = end.next_multiple_of(STEP).min(ALL);
        if self.filled.compare_exchange(filled, until, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            // SAFETY: a part of our own region; asking for its pages changes nothing in it.
            unsafe { libc::madvise(base.add(filled).cast(), until - filled, libc::MADV_POPULATE_WRITE) };
        }
    }
}
