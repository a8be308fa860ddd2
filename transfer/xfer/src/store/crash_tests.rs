//! The store on a disk that fails and loses power: thousands of transfers, each of which is killed,
//! cut and begun again until it ends.
//!
//! What is drawn follows from a seed alone; a failure names the seed and the command that runs it
//! again. `FAIRWAY_CRASHES` and `FAIRWAY_FIRST_CRASH` choose how many are run and from which on.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fairway_units::random::Stream;

use super::*;
use crate::tests::simulated::set_wall_clock;

/// Two chunks of BLAKE3, four sectors.
const BLOCK_BYTES: u64 = 2048;
/// Transfers of `cargo test`; `make soak` runs more.
const CRASHES: u64 = 1000;
/// Attempts with faults; those after them must succeed at once.
const ATTEMPTS: u64 = 12;
const MODE: u32 = 0o640;
const MODIFIED: Modified = Modified { seconds: 1, nanos: 2 };

/// What one run is about.
struct Scene {
    random: Stream,
    disk: Disk,
    options: Options,
    /// What is sent, as it is now.
    sources: BTreeMap<&'static str, Vec<u8>>,
    directories: Vec<&'static str>,
    /// Whatever may stand under a name.
    whole: BTreeMap<&'static str, Vec<Vec<u8>>>,
}

/// Enough that two transfers have more than are synced one by one.
const NAMES: [&str; 22] = [
    "a", "b/d/e", "b/c", "f", "g/1", "h/1", "i/1", "j/1", "k/1", "l/1", "m/1", "n/1", "o/1", "p/1",
    "q/1", "s/1", "t/1", "u/1", "v/1", "w/1", "x/1", "y/1",
];
const DIRECTORIES: [&str; 4] = ["b", "b/d", "r", "r/s"];
const SIZES: [u64; 9] = [0, 1, 700, BLOCK_BYTES, BLOCK_BYTES + 1, 5000, 9000, 16384, 20001];

fn content(random: &mut Stream, bytes: u64) -> Vec<u8> {
    let seed = random.bits32() as u8;
    (0..bytes).map(|at| (at / 3) as u8 ^ (at >> 9) as u8 ^ seed).collect()
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut random = Stream::new(seed, "store under crashes");
        let mut one_of = |all: &[f64]| all[random.below(all.len() as u64) as usize];
        let faults = Faults {
            short: one_of(&[0.0, 0.3]),
            interrupted: one_of(&[0.0, 0.1]),
            sync_fails: one_of(&[0.0, 0.0, 0.2]),
            broken: one_of(&[0.0, 0.0, 0.01]),
            full: one_of(&[0.0, 0.0, 0.01]),
            is_plain: one_of(&[0.0, 0.0, 1.0]) > 0.0,
            slow: 0.0,
        };
        let capacity = 10_000 + random.below(400_000);
        let disk = Disk::new(seed, faults, capacity);
        let count = [1, 2, 4, NAMES.len()][random.below(4) as usize];
        let (mut sources, mut whole) = (BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
        for name in NAMES.iter().take(count) {
            let most = if count == NAMES.len() { 4 } else { SIZES.len() as u64 };
            let size = SIZES[random.below(most) as usize];
            let data = content(&mut random, size);
            whole.entry(*name).or_default().push(data.clone());
            sources.insert(*name, data);
        }
        let overwrite = random.below(2) == 1;
        if random.below(4) == 0 && (overwrite || random.below(2) == 0) {
            let same = sources["a"].clone();
            let there = if overwrite { content(&mut random, same.len() as u64) } else { same };
            disk.put("a", &there, MODIFIED);
            whole.entry("a").or_default().push(there);
        }
        let directories = DIRECTORIES[..random.below(5) as usize].to_vec();
        let limits = Limits { spare_bytes: 0, ..Limits::default() };
        let options = Options { limits, overwrite, ..Options::default() };
        Scene { random, disk, options, sources, directories, whole }
    }

    fn open(&self) -> Result<Store, Error> {
        Store::on(&self.disk, self.options)
    }

    /// Sends everything as a sender does, and has it confirmed.
    fn send(&mut self, store: &Store) -> Result<(), Error> {
        // As one transfer or as two at once.
        let first = store.delivery();
        let second = if self.random.below(2) == 0 { store.delivery() } else { first.clone() };
        for directory in &self.directories {
            first.directory(&Name::new(*directory)?, MODE | 0o100, Modified::default())?;
        }
        for (index, (name, data)) in self.sources.clone().into_iter().enumerate() {
            let modified = Some(MODIFIED);
            let name = Name::new(name)?;
            let entry =
                Entry { name, bytes: Some(data.len() as u64), mode: MODE, modified, hole_bytes: 0 };
            let incoming = if index % 2 == 0 { &first } else { &second }.begin(entry)?;
            self.fill(&incoming, &data)?;
            let digest = incoming.digest()?;
            assert_eq!(digest, *blake3::hash(&data).as_bytes(), "the receiver has what was sent");
            incoming.finish()?;
        }
        first.settle().and(second.settle())
    }

    fn fill(&mut self, incoming: &Incoming, data: &[u8]) -> Result<(), Error> {
        let blocks = incoming.blocks();
        let part = |index: u64| {
            let from = blocks.offset(index) as usize;
            &data[from..from + blocks.bytes(index) as usize]
        };
        let mut claims = BTreeMap::new();
        incoming.held(|index, sum| {
            claims.insert(index, sum);
            Ok(())
        })?;
        let missing = |index: &u64| claims.get(index) != Some(&blocks.sum(*index, part(*index)));
        let mut left: Vec<u64> = (0..blocks.count().unwrap_or(0)).filter(missing).collect();
        while !left.is_empty() {
            let chosen = self.random.below(left.len() as u64) as usize;
            let index = left[chosen];
            // Sometimes its connection breaks.
            let breaks = self.random.below(20) == 0;
            let most = if breaks { self.random.below(BLOCK_BYTES) } else { u64::MAX };
            let mut from = part(index).take(most);
            let mut writing = incoming.write(index)?;
            let bytes = part(index).len() as u64;
            match writing.receive(&mut from, bytes, &mut [0; 700]) {
                Ok(sum) => {
                    writing.done(&sum)?;
                    left.swap_remove(chosen);
                }
                Err(Stopped::Store(error)) => return Err(error),
                Err(Stopped::Connection(error)) => {
                    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
                }
            }
        }
        Ok(())
    }

    /// No name is another's, and none is of a file that is not whole.
    fn check_names(&self) {
        for (path, found) in self.disk.files() {
            if path.starts_with(PARTIAL_DIRECTORY) {
                continue;
            }
            let whole = self.whole.get(&path[..]).map(Vec::as_slice).unwrap_or_default();
            assert!(whole.contains(&found), "{path} is not a file that was ever sent");
        }
    }

    /// What a confirmation promises.
    fn check_confirmed(&self) {
        for (name, data) in &self.sources {
            let there = self.disk.read(name);
            assert_eq!(there.as_ref(), Some(data), "{name} is confirmed and is not there");
            self.disk.is_durable(name, Some(data), Some(MODE)).unwrap();
        }
        for name in &self.directories {
            self.disk.is_durable(name, None, None).unwrap();
        }
    }

    /// Time passes, and sometimes the clock is set, forwards or backwards.
    fn clock(&mut self) {
        let days = match self.random.below(8) {
            0 => self.random.below(60),
            _ => 30,
        };
        set_wall_clock(Duration::from_secs(days * SECONDS_PER_DAY + self.random.below(1000)));
    }

    fn run(&mut self) {
        self.clock();
        let mut store = None;
        for attempt in 0.. {
            let is_last = attempt >= ATTEMPTS;
            assert!(attempt < ATTEMPTS + 3, "it does not end");
            if is_last {
                store = None;
                self.disk.kill();
                self.disk.mend();
            } else {
                let most = [60, 250, 1500][self.random.below(3) as usize];
                self.disk.die_after(1 + self.random.below(most));
            }
            let begun = match store.take() {
                Some(store) => Ok(store),
                None => self.open(),
            };
            let sent = begun.and_then(|store| self.send(&store).map(|()| store));
            if std::env::var_os("FAIRWAY_CRASH_TRACE").is_some() {
                eprintln!("attempt {attempt}: {:?}", sent.as_ref().err());
            }
            self.check_names();
            match sent {
                Ok(_) => {
                    self.check_confirmed();
                    self.disk.lose_power();
                    self.check_names();
                    self.check_confirmed();
                    return;
                }
                Err(_) if self.disk.is_dead() => {
                    if self.random.below(2) == 0 {
                        self.disk.kill();
                    } else {
                        self.disk.lose_power();
                    }
                }
                Err(error) => {
                    // What could not be written before is told once, to whoever syncs next.
                    let is_late = attempt == ATTEMPTS && error.to_string().contains("I/O error");
                    assert!(!is_last || is_late, "{error}");
                    // The process goes on, or is started again.
                    match self.open() {
                        Ok(again) if self.random.below(2) == 0 => store = Some(again),
                        _ if self.random.below(2) == 0 => self.disk.kill(),
                        _ => self.disk.lose_power(),
                    }
                }
            }
            if self.random.below(4) == 0 {
                self.disk.evict();
            }
            self.check_names();
            self.clock();
            // Whoever starts it again may give --overwrite.
            self.options.overwrite |= store.is_none() && self.random.below(3) == 0;
            if self.options.overwrite && store.is_none() && self.random.below(2) == 0 {
                let data = self.sources.get_mut("a").unwrap();
                *data = content(&mut self.random, data.len() as u64);
                self.whole.get_mut("a").unwrap().push(data.clone());
            }
        }
    }
}

#[test]
fn what_is_confirmed_is_on_the_medium_whatever_dies() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |given| given.parse().expect("a number"))
    };
    let (first, count) = (number("FAIRWAY_FIRST_CRASH", 0), number("FAIRWAY_CRASHES", CRASHES));
    set_smallest_block_bytes(BLOCK_BYTES);
    let began = std::time::Instant::now();
    for seed in first..first + count {
        let run = catch_unwind(AssertUnwindSafe(|| Scene::new(seed).run()));
        assert!(
            run.is_ok(),
            "seed {seed}; again: FAIRWAY_FIRST_CRASH={seed} FAIRWAY_CRASHES=1 cargo test --release \
             -p fairway-xfer --lib crash"
        );
    }
    println!("{count} transfers in {:.1} s", began.elapsed().as_secs_f64());
}
