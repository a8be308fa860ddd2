//! The allocator: the system's, and a reserve for requests that the system refuses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::last_words;
use crate::shortage::{is_fallible, note_refusal};

/// Bytes of the reserve: four times the most that one refused allocation costs until the work stops
/// (`crates/sweep/tests/refused`). It costs address space, and no memory until it is used.
pub const RESERVE_BYTES: usize = 4 << 20;

/// The least alignment that is served, as malloc(3) has it on 64-bit machines.
const ALIGNMENT: usize = 16;

#[repr(C, align(4096))]
struct Memory(UnsafeCell<[u8; RESERVE_BYTES]>);

/// An allocator that serves what `A` refuses from a reserve, and ends the process in one line where
/// that is used up, too. Within [`crate::fallible`] a refusal is passed on.
///
/// The reserve is used from its beginning to its end, and again from the beginning once everything that
/// lay in it was freed.
pub struct Reserve<A = System> {
    inner: A,
    /// Blocks in use (upper half) and bytes used (lower half), which change together.
    state: AtomicU64,
    most_used: AtomicUsize,
    memory: Memory,
}

// SAFETY: `memory` is reached through blocks alone, and `take` gives no byte of it to two of them.
#[allow(unsafe_code)]
unsafe impl<A: Sync> Sync for Reserve<A> {}

impl Reserve {
    /// A reserve beside the system's allocator.
    #[must_use]
    pub const fn new() -> Self {
        Reserve::beside(System)
    }
}

impl Default for Reserve {
    fn default() -> Self {
        Reserve::new()
    }
}

impl<A> Reserve<A> {
    /// A reserve beside another allocator.
    pub const fn beside(inner: A) -> Self {
        Reserve {
            inner,
            state: AtomicU64::new(0),
            most_used: AtomicUsize::new(0),
            memory: Memory(UnsafeCell::new([0; RESERVE_BYTES])),
        }
    }

    /// Blocks of the reserve in use.
    pub fn blocks(&self) -> usize {
        (self.state.load(Ordering::Relaxed) >> 32) as usize
    }

    /// Bytes of the reserve that were ever used at a time.
    pub fn most_used(&self) -> usize {
        self.most_used.load(Ordering::Relaxed)
    }

    /// Bytes of the reserve used now.
    pub fn used(&self) -> usize {
        (self.state.load(Ordering::Relaxed) & u64::from(u32::MAX)) as usize
    }

    /// A block of the reserve; null if none is left.
    fn take(&self, layout: Layout) -> *mut u8 {
        let base = self.memory.0.get().cast::<u8>();
        let align = layout.align().max(ALIGNMENT);
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let used = (state & u64::from(u32::MAX)) as usize;
            // By address, as an alignment may exceed the reserve's own.
            let padding = (base as usize + used).wrapping_neg() & (align - 1);
            let Some(end) = used.checked_add(padding).and_then(|at| at.checked_add(layout.size()))
            else {
                return ptr::null_mut();
            };
            if end > RESERVE_BYTES {
                return ptr::null_mut();
            }
            let next = ((state >> 32) + 1) << 32 | end as u64;
            // Acquire: whoever freed the block that lay here is through with it.
            match self.state.compare_exchange_weak(
                state,
                next,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.most_used.fetch_max(end, Ordering::Relaxed);
                    return base.wrapping_add(used + padding);
                }
                Err(found) => state = found,
            }
        }
    }

    fn give_back(&self) {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let blocks = (state >> 32) - 1;
            let next = if blocks == 0 { 0 } else { blocks << 32 | state & u64::from(u32::MAX) };
            match self.state.compare_exchange_weak(
                state,
                next,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(found) => state = found,
            }
        }
    }

    #[inline]
    fn holds(&self, block: *mut u8) -> bool {
        (block as usize).wrapping_sub(self.memory.0.get() as usize) < RESERVE_BYTES
    }

    #[cold]
    fn refused(&self, layout: Layout) -> *mut u8 {
        if is_fallible() {
            return ptr::null_mut();
        }
        note_refusal();
        let block = self.take(layout);
        if block.is_null() {
            last_words::out_of_memory(layout.size());
        }
        block
    }
}

// SAFETY: blocks come from `inner`, which is an allocator, or from `take`: there they are aligned, within
// `memory`, and disjoint while they are in use, as a byte is given again only once no block is in use.
// Each goes back to where it came from, as `holds` is true of no address outside of `memory`. No function
// unwinds.
#[allow(unsafe_code)]
unsafe impl<A: GlobalAlloc> GlobalAlloc for Reserve<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let block = unsafe { self.inner.alloc(layout) };
        if block.is_null() { self.refused(layout) } else { block }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = self.refused(layout);
        if !block.is_null() {
            // SAFETY: the block has `layout.size()` bytes, and nobody else has it.
            unsafe { ptr::write_bytes(block, 0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.holds(block) {
            self.give_back();
        } else {
            // SAFETY: it is none of the reserve, so it came from `inner`.
            unsafe { self.inner.dealloc(block, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_ours = self.holds(block);
        if !is_ours {
            // SAFETY: it is none of the reserve, so it came from `inner`.
            let moved = unsafe { self.inner.realloc(block, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises that `size` with this alignment is a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let moved = if is_ours {
            // SAFETY: as the caller promises, `size` is not zero.
            unsafe { self.alloc(wanted) }
        } else {
            self.refused(wanted)
        };
        if !moved.is_null() {
            // SAFETY: both blocks have that many bytes, and are two.
            unsafe { ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
            // SAFETY: nobody has the old block any more.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allocator that has nothing.
    struct Nothing;

    // SAFETY: null is a valid answer, and it has no block that could be freed.
    #[allow(unsafe_code)]
    unsafe impl GlobalAlloc for Nothing {
        unsafe fn alloc(&self, _: Layout) -> *mut u8 {
            ptr::null_mut()
        }

        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {
            unreachable!("it gave no block");
        }
    }

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    /// Fills a block of that size.
    #[allow(unsafe_code)]
    fn fill(block: *mut u8, size: usize, byte: u8) {
        // SAFETY: callers have such a block, alone.
        unsafe { ptr::write_bytes(block, byte, size) }
    }

    /// Whether a block is filled so.
    #[allow(unsafe_code)]
    fn is_full(block: *mut u8, size: usize, byte: u8) -> bool {
        // SAFETY: callers have such a block, alone, and have filled it.
        unsafe { std::slice::from_raw_parts(block, size) }.iter().all(|&one| one == byte)
    }

    #[allow(unsafe_code)]
    fn free(reserve: &Reserve<Nothing>, block: *mut u8, layout: Layout) {
        // SAFETY: callers have got it with this layout, and free it once.
        unsafe { reserve.dealloc(block, layout) }
    }

    #[test]
    fn blocks_are_aligned_disjoint_and_used_again_once_all_are_free() {
        static RESERVE: Reserve<Nothing> = Reserve::beside(Nothing);
        let reserve = &RESERVE;
        let sizes = [1, 16, 17, 4096, 3, 10_000];
        for align in [1, 8, 64, 4096, 8192] {
            let blocks = sizes.map(|size| reserve.refused(layout(size, align)));
            for (index, (&block, size)) in blocks.iter().zip(sizes).enumerate() {
                assert_eq!(block as usize % align, 0);
                fill(block, size, index as u8);
            }
            assert_eq!(reserve.blocks(), sizes.len());
            for (index, (&block, size)) in blocks.iter().zip(sizes).enumerate() {
                assert!(is_full(block, size, index as u8));
                free(reserve, block, layout(size, align));
            }
            assert_eq!((reserve.blocks(), reserve.used()), (0, 0));
        }
    }

    #[test]
    #[allow(unsafe_code)]
    fn a_block_that_grows_keeps_its_bytes_and_zeroed_ones_are_zero() {
        static RESERVE: Reserve<Nothing> = Reserve::beside(Nothing);
        let reserve = &RESERVE;
        let dirty = reserve.refused(layout(64, 1));
        fill(dirty, 64, 0xff);
        // SAFETY: it is a block with this layout, which is not used any more.
        let grown = unsafe { reserve.realloc(dirty, layout(64, 1), 128) };
        assert!(is_full(grown, 64, 0xff));
        free(reserve, grown, layout(128, 1));
        assert_eq!(reserve.blocks(), 0);
        // SAFETY: the layout has a size.
        let zeroed = unsafe { reserve.alloc_zeroed(layout(64, 1)) };
        assert!(is_full(zeroed, 64, 0));
        free(reserve, zeroed, layout(64, 1));
    }

    #[test]
    fn a_refusal_is_passed_on_to_who_handles_it() {
        static RESERVE: Reserve<Nothing> = Reserve::beside(Nothing);
        let reserve = &RESERVE;
        crate::fallible(|| {
            assert!(reserve.refused(layout(8, 8)).is_null());
            crate::fallible(|| ());
            assert!(reserve.refused(layout(8, 8)).is_null());
        });
        assert!(reserve.holds(reserve.refused(layout(8, 8))));
    }

    #[test]
    fn threads_share_the_reserve() {
        static RESERVE: Reserve<Nothing> = Reserve::beside(Nothing);
        let reserve = &RESERVE;
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                scope.spawn(move || {
                    for size in (1..200).chain(1..200) {
                        let block = reserve.take(layout(size, 8));
                        assert!(!block.is_null());
                        fill(block, size, thread);
                        std::thread::yield_now();
                        assert!(is_full(block, size, thread));
                        reserve.give_back();
                    }
                });
            }
        });
        assert_eq!((reserve.blocks(), reserve.used()), (0, 0));
    }
}
