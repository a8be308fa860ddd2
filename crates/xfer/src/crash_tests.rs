//! Both ends of a transfer under faults, in one thread: a seed decides which end takes the next step,
//! what breaks, and when either dies.
//!
//! The ends are those of the product without their threads and sockets ([`send::driven`],
//! [`recv::driven`]); the receiver's disk is a simulated one. See also `store::crash_tests`.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fairway_random::Stream;

use crate::auth::Identity;
use crate::measure::{Meter, Subject};
use crate::recv::driven::{Block, Receiver, Talk};
use crate::send::Ended;
use crate::send::driven::Sender;
use crate::store::{
    Disk, Faults, Limits, Options, PARTIAL_DIRECTORY, Store, set_smallest_block_bytes,
};
use crate::wire::messages::{ToReceiver, ToSender};
use crate::{Control, Error, rt};

const BLOCK_BYTES: u64 = 2048;
/// Transfers of `cargo test`; `make soak` runs more.
const CRASHES: u64 = 500;
/// Deaths, cuts and refusals, after which everything works.
const FAULTS: u64 = 12;
/// Steps in which nothing happens before nothing ever will: there are fewer than ten to choose from.
const IDLE: u32 = 1000;
const STREAMS: u32 = 3;

/// What is sent: a directory, or a single file.
struct Tree {
    path: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    directories: Vec<String>,
}

impl Tree {
    fn make(at: &Path, number: u64) -> Self {
        let mut random = Stream::new(number, "tree");
        let top = format!("t{number}");
        let path = at.join(&top);
        let mut tree = Tree { path, files: BTreeMap::new(), directories: Vec::new() };
        let names: &[&str] = match number % 4 {
            0 => &[""],
            1 => &["/a", "/b/c", "/b/d/e"],
            2 => &["/a", "/b/c/d/e/f"],
            _ => &["/a", "/b", "/c", "/d", "/e", "/f/g", "/h", "/i", "/j", "/k", "/l", "/m/n/o"],
        };
        for name in names {
            let sizes = [0, 1, 700, BLOCK_BYTES, BLOCK_BYTES + 1, 9000, 30_001];
            let most = if names.len() > 4 { 4 } else { 7 };
            let size = sizes[random.below(most) as usize];
            let seed = random.bits32() as u8;
            let data: Vec<u8> =
                (0..size).map(|at| (at / 3) as u8 ^ (at >> 9) as u8 ^ seed).collect();
            let path = at.join(format!("{top}{name}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &data).unwrap();
            tree.files.insert(format!("{top}{name}"), data);
        }
        if names.len() > 1 {
            fs::create_dir_all(at.join(format!("{top}/empty/inside"))).unwrap();
            tree.directories = vec![top.clone(), format!("{top}/empty/inside")];
        }
        tree
    }
}

/// What stays the same for all runs.
struct Ground {
    trees: Vec<Tree>,
    token: String,
    meter: Meter,
}

struct World<'a> {
    ground: &'a Ground,
    tree: &'a Tree,
    random: Stream,
    disk: Disk,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    talk: Option<Talk>,
    to_receiver: VecDeque<ToReceiver>,
    to_sender: VecDeque<ToSender>,
    faults_left: u64,
    may_be_late: bool,
}

impl<'a> World<'a> {
    fn new(seed: u64, ground: &'a Ground) -> Self {
        let mut random = Stream::new(seed, "transfer under crashes");
        let mut one_of = |all: &[f64]| all[random.below(all.len() as u64) as usize];
        let faults = Faults {
            short: one_of(&[0.0, 0.3]),
            interrupted: one_of(&[0.0, 0.1]),
            sync_fails: one_of(&[0.0, 0.0, 0.1]),
            broken: one_of(&[0.0, 0.0, 0.005]),
            full: one_of(&[0.0, 0.0, 0.005]),
            is_plain: one_of(&[0.0, 0.0, 1.0]) > 0.0,
        };
        let disk = Disk::new(seed, faults, 10_000 + random.below(1_000_000));
        let tree = &ground.trees[random.below(ground.trees.len() as u64) as usize];
        let faults_left = random.below(FAULTS + 1);
        if faults_left == 0 {
            disk.mend();
        }
        World {
            ground,
            tree,
            random,
            disk,
            sender: None,
            receiver: None,
            talk: None,
            to_receiver: VecDeque::new(),
            to_sender: VecDeque::new(),
            faults_left,
            may_be_late: faults_left > 0,
        }
    }

    fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    /// One fault less to come; with the last one everything works.
    fn count_fault(&mut self) {
        self.faults_left = self.faults_left.saturating_sub(1);
        if self.faults_left == 0 {
            self.disk.mend();
        }
    }

    /// Of what was said before a connection broke, some is heard.
    fn cut(&mut self) {
        let heard = self.random.below(self.to_sender.len() as u64 + 1) as usize;
        if let Some(sender) = &self.sender {
            self.to_sender.drain(..heard).for_each(|word| sender.hear(word));
        }
        let heard = self.random.below(self.to_receiver.len() as u64 + 1) as usize;
        if let Some(talk) = self.talk.take() {
            if !self.disk.is_dead() {
                let all = self.to_receiver.drain(..heard);
                let _ = all.into_iter().try_for_each(|word| talk.hear(word).map(drop));
            }
            talk.end();
        }
        self.to_sender.clear();
        self.to_receiver.clear();
    }

    fn receiver_dies(&mut self) {
        self.to_receiver.clear();
        self.cut();
        self.receiver = None;
        if self.chance(2) {
            self.disk.kill();
        } else {
            self.disk.lose_power();
        }
        if self.chance(3) {
            self.disk.evict();
        }
        let days = if self.chance(8) { self.random.below(60) } else { 30 };
        rt::simulated::set_wall_clock(std::time::Duration::from_secs(days * 86_400));
        self.check_names();
        self.count_fault();
    }

    /// Has whoever is not there begin; whether that was anybody.
    fn begin(&mut self) -> bool {
        if self.sender.is_none() {
            let Ground { token, meter, .. } = self.ground;
            self.sender = Some(Sender::start(&self.tree.path, token, STREAMS, meter));
        }
        if self.receiver.is_none() {
            if self.faults_left > 0 {
                let most = [60, 300, 2000][self.random.below(3) as usize];
                self.disk.die_after(1 + self.random.below(most));
            }
            let limits = Limits { spare_bytes: 0, ..Limits::default() };
            match Store::on(&self.disk, Options { limits, ..Options::default() }) {
                Ok(store) => self.receiver = Some(Receiver::start(store, &self.ground.meter)),
                Err(error) => {
                    assert!(self.faults_left > 0, "{error}");
                    self.disk.kill();
                    self.count_fault();
                }
            }
            return true;
        }
        let (Some(receiver), Some(sender)) = (&self.receiver, &mut self.sender) else {
            return true;
        };
        if self.talk.is_some() {
            return false;
        }
        match receiver.begin(&sender.begin()) {
            Ok((talk, ToSender::Welcome { resumed, .. })) => {
                self.to_receiver.extend(sender.go_on(resumed));
                self.talk = Some(talk);
            }
            Ok(_) => unreachable!("it welcomes"),
            Err(busy) => panic!("{busy:?}"),
        }
        true
    }

    /// A step of one of the two ends; whether anything came of it.
    fn step(&mut self) -> Result<bool, Error> {
        if self.begin() {
            return Ok(true);
        }
        let (Some(sender), Some(talk)) = (&mut self.sender, &self.talk) else { return Ok(true) };
        match self.random.below(5 + u64::from(STREAMS)) {
            0 => {
                let words = sender.talk()?;
                let is_any = !words.is_empty();
                self.to_receiver.extend(words);
                Ok(is_any)
            }
            1 => {
                let Some(word) = self.to_receiver.pop_front() else { return Ok(false) };
                talk.hear(word).map(|_| true)
            }
            2 => Ok(talk.gather()),
            3 => {
                let words = talk.words();
                // A process that has died in between has said nothing.
                if self.disk.is_dead() {
                    return Ok(true);
                }
                let is_any = !words.is_empty();
                self.to_sender.extend(words);
                Ok(is_any)
            }
            4 => {
                let Some(word) = self.to_sender.pop_front() else { return Ok(false) };
                sender.hear(word);
                Ok(true)
            }
            stream => self.carry((stream - 5) as u32),
        }
    }

    fn carry(&mut self, lane: u32) -> Result<bool, Error> {
        let (Some(sender), Some(talk)) = (&mut self.sender, &self.talk) else { return Ok(true) };
        let Some(carried) = sender.carry(lane)? else { return Ok(false) };
        let mut content = carried.content;
        let mut arrives = content.len();
        if self.faults_left > 0 {
            match self.random.below(40) {
                0 => arrives = self.random.below(content.len() as u64) as usize,
                1 => content[arrives / 2] ^= 1,
                _ => {}
            }
        }
        let is_whole = arrives == content.len();
        let sum = is_whole.then_some(carried.sum);
        let block = Block { head: carried.head, content: &content[..arrives], sum };
        let is_taken = talk.take(carried.connection, &block);
        if !matches!(is_taken, Ok(true)) {
            sender.broken(lane);
        }
        Ok(true)
    }

    fn run(&mut self) {
        rt::simulated::set_wall_clock(std::time::Duration::from_secs(30 * 86_400));
        let mut idle = 0;
        loop {
            let went = self.step();
            if self.disk.is_dead() {
                self.receiver_dies();
            } else if went.is_err() || self.faults_left > 0 && self.chance(400) {
                self.cut();
                self.count_fault();
            } else if self.faults_left > 0 && self.chance(400) {
                // The sender dies.
                self.sender = None;
                self.cut();
                self.count_fault();
            }
            idle = if matches!(went, Ok(false)) { idle + 1 } else { 0 };
            assert!(idle < IDLE, "neither end goes on");
            match self.sender.as_ref().and_then(Sender::ended) {
                None => {}
                Some(Ended::Confirmed) => return self.check_confirmed(),
                Some(Ended::Broken(_)) => self.cut(),
                Some(Ended::Fatal(error)) => {
                    // What failed before the last fault may be told after it.
                    let is_late = self.faults_left == 0 && std::mem::take(&mut self.may_be_late);
                    assert!(self.faults_left > 0 || is_late, "{error}");
                    // Nothing but the disk is a reason to give up.
                    let said = error.to_string();
                    let is_of_disk = ["I/O error", "os error 5", "is full"];
                    assert!(is_of_disk.iter().any(|why| said.contains(why)), "{said}");
                    self.cut();
                    self.sender = None;
                    self.count_fault();
                }
            }
        }
    }

    fn check_names(&self) {
        for (path, found) in self.disk.files() {
            if !path.starts_with(PARTIAL_DIRECTORY) {
                assert_eq!(Some(&found), self.tree.files.get(&path), "{path} is not whole");
            }
        }
    }

    fn check_confirmed(&self) {
        for (name, data) in &self.tree.files {
            self.disk.is_durable(name, Some(data), None).unwrap();
        }
        for name in &self.tree.directories {
            self.disk.is_durable(name, None, None).unwrap();
        }
        self.disk.lose_power();
        self.check_names();
    }
}

#[test]
fn what_a_sender_was_told_is_true_whatever_dies() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |given| given.parse().expect("a number"))
    };
    let (first, count) = (number("FAIRWAY_FIRST_CRASH", 0), number("FAIRWAY_CRASHES", CRASHES));
    set_smallest_block_bytes(BLOCK_BYTES);
    let directory = tempfile::tempdir().unwrap();
    let subject = Subject::new("a test", "transfer", "transfer");
    let ground = Ground {
        trees: (0..24).map(|number| Tree::make(directory.path(), number)).collect(),
        token: Identity::new().unwrap().token().to_string(),
        meter: Meter::start(subject, &Control::new()).unwrap(),
    };
    let began = std::time::Instant::now();
    for seed in first..first + count {
        let run = catch_unwind(AssertUnwindSafe(|| World::new(seed, &ground).run()));
        assert!(
            run.is_ok(),
            "seed {seed}; again: FAIRWAY_FIRST_CRASH={seed} FAIRWAY_CRASHES=1 cargo test --release \
             -p fairway-xfer --lib crash_tests"
        );
    }
    println!("{count} transfers in {:.1} s", began.elapsed().as_secs_f64());
}
