//! The program's memory: a first part that is only handed out, then `dlmalloc`, on pages that come in one piece.
//!
//! A fresh page costs a fault when it is first touched, several times what the page itself costs. A program that lives for
//! two milliseconds touches every page of the little it asks for, so small regions are asked for with their pages in them.
//!
//! Invariant: the lock is never held over a `clone`, and the code that runs after one does not come here.

use crate::linux::first::First;
use dlmalloc::{Allocator, Dlmalloc};
use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Up to here a region comes with its pages: the step in which the allocator asks.
const FILLED: usize = 64 << 10;

/// An allocator for the whole program: the first blocks one after the other, whatever does not fit there from `dlmalloc`.
pub struct Heap {
    first: First,
    rest: Mutex<Dlmalloc<Pages>>,
}

impl Heap {
    /// A heap that has asked for nothing yet.
    #[expect(clippy::new_without_default, reason = "only a static holds one, and a default is not const")]
    pub const fn new() -> Self {
        Self { first: First::new(), rest: Mutex::new(Dlmalloc::new_with_allocator(Pages)) }
    }

    fn rest(&self) -> MutexGuard<'_, Dlmalloc<Pages>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: a block belongs to whichever of the two handed it out, which its address tells, and every call about it goes there with
// the layout as it was given; neither allocates anything here itself.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = self.first.take(layout);
        if !block.is_null() {
            return block;
        }
        // SAFETY: the caller's promise is the allocator's own.
        unsafe { self.rest().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = self.first.take(layout);
        if !block.is_null() {
            // SAFETY: a block of this size was just handed out; it may have been somebody's before.
            unsafe { block.write_bytes(0, layout.size()) };
            return block;
        }
        // SAFETY: the caller's promise is the allocator's own.
        unsafe { self.rest().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if self.first.has(memory) {
            return self.first.give_back(memory, layout.size());
        }
        // SAFETY: the caller's promise is the allocator's own.
        unsafe { self.rest().free(memory, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.first.has(memory) {
            // SAFETY: the caller's promise is the allocator's own.
            return unsafe { self.rest().realloc(memory, layout.size(), layout.align(), size) };
        }
        if self.first.resize(memory, layout.size(), size) {
            return memory;
        }
        // SAFETY: the caller promises that the new size makes a layout; both blocks are as long as what is copied.
        unsafe {
            let larger = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !larger.is_null() {
                ptr::copy_nonoverlapping(memory, larger, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            larger
        }
    }
}

/// Where the regions come from.
struct Pages;

// SAFETY: regions are anonymous private mappings of their own, zeroed by the kernel, and are given back as they were taken.
unsafe impl Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let filled = if size <= FILLED { libc::MAP_POPULATE } else { 0 };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | filled;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let region =
            unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if region == libc::MAP_FAILED { (ptr::null_mut(), 0, 0) } else { (region.cast(), size, 0) }
    }

    fn remap(&self, region: *mut u8, old: usize, new: usize, can_move: bool) -> *mut u8 {
        let flags = if can_move { libc::MREMAP_MAYMOVE } else { 0 };
        // SAFETY: the allocator names a region that `alloc` gave out, and uses the answer in its place.
        let region = unsafe { libc::mremap(region.cast(), old, new, flags) };
        if region == libc::MAP_FAILED { ptr::null_mut() } else { region.cast() }
    }

    fn free_part(&self, region: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: the allocator gives back the end of a region that `alloc` gave out.
        unsafe { libc::munmap(region.add(new).cast(), old - new) == 0 }
    }

    fn free(&self, region: *mut u8, size: usize) -> bool {
        // SAFETY: the allocator gives back a region that `alloc` gave out.
        unsafe { libc::munmap(region.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_there_and_holds_what_is_put_in() {
        let heap = Heap::new();
        for (why, size, align) in [
            ("a little", 1, 1),
            ("nothing but a place", 3, 16),
            ("the longest of the first part", 16 << 10, 8),
            ("more than that", (16 << 10) + 1, 8),
            ("a page", 4096, 8),
            ("the last that comes with its pages", FILLED, 16),
            ("more than a step", FILLED + 1, 16),
            ("much", 8 << 20, 16),
            ("aligned to pages", 100, 4096),
        ] {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the layout is not empty, each block is used within its size and given back once.
            unsafe {
                let zeros = heap.alloc_zeroed(layout);
                assert!(!zeros.is_null() && zeros.addr().is_multiple_of(align), "{why}");
                assert!((0..size).all(|at| *zeros.add(at) == 0), "{why}: zeroed");
                zeros.write_bytes(7, size);
                let grown = heap.realloc(zeros, layout, size * 2);
                assert!(
                    !grown.is_null() && (0..size).all(|at| *grown.add(at) == 7),
                    "{why}: kept when it grows"
                );
                heap.dealloc(grown, Layout::from_size_align(size * 2, align).unwrap());
            }
        }
    }

    #[test]
    fn threads_share_it() {
        static HEAP: Heap = Heap::new();
        let rounds = |mark: u8| {
            for size in 1..2000 {
                let layout = Layout::from_size_align(size, 8).unwrap();
                // SAFETY: each block is used within its size and given back once, by the thread that asked.
                unsafe {
                    let block = HEAP.alloc(layout);
                    block.write_bytes(mark, size);
                    assert!((0..size).all(|at| *block.add(at) == mark), "nobody else writes here");
                    HEAP.dealloc(block, layout);
                }
            }
        };
        std::thread::scope(|scope| {
            for mark in 1..5 {
                scope.spawn(move || rounds(mark));
            }
        });
    }
}
