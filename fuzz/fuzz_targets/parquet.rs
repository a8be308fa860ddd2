//! Tables as Parquet files: bounded memory for any bytes, and the same table when written and read again.
#![no_main]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fairway_parquet::{Column, Values, read_within, write};

/// Memory that a file may ask for here.
const MOST_BYTES: usize = 4 << 20;
/// Bytes of memory for each of that: vectors double when they grow, and are copied to grow.
const SLACK: usize = 3;
/// Bytes of memory for each byte of metadata: a flag takes one there, and 40 as a field of a
/// structure whose vector grows.
const METADATA: usize = 120;

/// Counts the bytes that are in use.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does everything; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(USED.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: by the contract of `alloc`, which is the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: by the contract of `dealloc`: the memory is of `alloc` above, and so of the system.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let before = USED.load(Relaxed);
    PEAK.store(before, Relaxed);
    let found = read_within(bytes, MOST_BYTES);
    let taken = PEAK.load(Relaxed) - before;
    let allowed = SLACK * MOST_BYTES + METADATA * bytes.len() + (64 << 10);
    assert!(taken <= allowed, "{taken} bytes of memory for a file of {}", bytes.len());
    let Ok(columns) = found else { return };
    columns.iter().for_each(|column| check(column, columns[0].values.rows()));

    let written = write(&columns);
    let again = fairway_parquet::read(&written).expect("a table that was written can be read");
    assert_eq!(write(&again), written);
});

fn check(column: &Column, rows: usize) {
    assert_eq!(column.values.rows(), rows);
    let present = column.present.as_deref();
    assert!(present.is_none_or(|present| present.len() == rows && present.contains(&false)));
    if let Values::Text(codes, names) = &column.values {
        for (row, code) in codes.iter().enumerate() {
            let is_there = present.is_none_or(|present| present[row]);
            assert_eq!(usize::try_from(*code).is_ok_and(|code| code < names.len()), is_there);
        }
    }
}
