//! Every allocation refused once: the work ends with its right result, or in an error.
//!
//! `FAIRWAY_REFUSALS` says how many allocations of each piece of work are refused at the most, spread
//! evenly over it; `all` refuses each. The allocator counts for all threads, so this is no libtest.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Debug;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use fairway_analysis::{DetailOptions, Options, whole};
use fairway_resources::{RESERVE_BYTES, Reserve, Shortage};
use fairway_schema::Control;
use fairway_sim::run_captured;
use fairway_sweep::answer;
use fairway_units::Time;
use serde_json::{Value, json};

/// Allocations left until one is refused.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// The system's allocator, which refuses one request.
struct Refusing;

impl Refusing {
    fn is_due(&self) -> bool {
        LEFT.fetch_sub(1, Ordering::Relaxed) == 0
    }
}

// SAFETY: each request is passed on, or answered with null, which is a valid answer.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        if self.is_due() { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        if self.is_due() { ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: it came from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: it came from `System`; the caller's promises are passed on.
        if self.is_due() { ptr::null_mut() } else { unsafe { System.realloc(block, layout, size) } }
    }
}

#[global_allocator]
static MEMORY: Reserve<Refusing> = Reserve::beside(Refusing);

/// Allocations of each piece of work that are refused at the most.
const SAMPLE: usize = 250;

fn main() {
    let most = match std::env::var("FAIRWAY_REFUSALS").as_deref() {
        Ok("all") => usize::MAX,
        Ok(number) => number.parse().expect("a number, or all"),
        Err(_) => SAMPLE,
    };
    let document = experiment();
    tried("a run", most, || answer(&document, &Control::default()));
    tried("a captured run", most, || captured(&document));
    let capture = root().join("tests/captures/ethernet.pcap");
    let everything = || Options { identify: true, series: true, ..Options::default() };
    tried("an analysis", most, || analysed(&capture, everything()));
    let followed = DetailOptions {
        connections: vec![0],
        from: Time::ZERO,
        until: Time::from_nanos(u64::MAX),
        most_rows: 1000,
    };
    let followed = || Options { detail: Some(followed.clone()), ..Options::default() };
    tried("an analysis packet by packet", most, || analysed(&capture, followed()));
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn experiment() -> Value {
    json!({
        "title": "small",
        "duration": "1 s",
        "topology": {
            "kind": "dumbbell",
            "bottleneck": {
                "rate": "5 Mbit/s", "delay": "5 ms", "loss": { "probability": 0.01 },
                "queue": { "kind": "fq_codel", "limit": "50 packets" },
            },
        },
        "flow": [{ "cc": "cubic" }, { "cc": "bbr" }],
        "capture": { "at": "hosts" },
        "measure": { "window": ["0.2 s", "1 s"], "losses": true },
        "seed": 1,
    })
}

/// The captures of a run, file by file.
fn captured(document: &Value) -> Result<Vec<Vec<u8>>, String> {
    let catalogue = fairway_cc::Catalogue::default();
    let experiment = fairway_spec::from_document_with(document, &catalogue)
        .map_err(|error| format!("{error:?}"))?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    run_captured(&experiment, &Control::default(), place.path())
        .map_err(|error| error.to_string())?;
    let mut paths: Vec<_> = std::fs::read_dir(place.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    Ok(paths.iter().map(|path| std::fs::read(path).expect("a capture")).collect())
}

fn analysed(path: &Path, options: Options) -> Result<String, String> {
    let found = whole::analyse(path, "a capture", options, &Control::default())
        .map_err(|error| error.to_string())?;
    serde_json::to_string(&found).map_err(|error| error.to_string())
}

/// Refuses allocations of `work` in turn.
fn tried<T: PartialEq + Debug, E: Debug>(name: &str, most: usize, work: impl Fn() -> Result<T, E>) {
    // It forgets the last refusal. Tables that are made once are there afterwards.
    let healthy = Shortage::watch();
    let expected = work().expect("healthy work");
    LEFT.store(i64::MAX, Ordering::Relaxed);
    assert_eq!(work().expect("healthy work"), expected);
    let count = (i64::MAX - LEFT.swap(i64::MAX, Ordering::Relaxed)) as usize;
    drop(healthy);
    let (mut ended, mut largest, mut tries) = (0, 0, 0);
    for index in (0..count).step_by(count.div_ceil(most).max(1)) {
        tries += 1;
        let shortage = Shortage::watch();
        LEFT.store(index as i64, Ordering::Relaxed);
        let result = work();
        LEFT.store(i64::MAX, Ordering::Relaxed);
        match result {
            Ok(found) => assert_eq!(found, expected, "{name}: allocation {index}"),
            Err(error) => {
                assert!(shortage.was_met(), "{name}: allocation {index}: {error:?}");
                ended += 1;
            }
        }
        largest = largest.max(MEMORY.most_used());
        assert_eq!(MEMORY.blocks(), 0, "{name}: allocation {index} was not freed");
    }
    assert!(ended > 0, "{name}: no refusal has ended it");
    assert!(4 * largest <= RESERVE_BYTES, "{name}: {largest} bytes of the reserve were used");
    println!(
        "{name}: {tries} of {count} allocations refused, {ended} ended it; \
         at most {largest} bytes of the reserve used"
    );
}
