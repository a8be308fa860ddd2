//! Both ends of a transfer under faults: a seed decides which of their threads takes the next step,
//! what the disk and the network do, how late it is, and when either end dies.
//!
//! The ends are those of the product, from [`send_from`] to the threads of a receiver's connections,
//! on the simulated clocks, locks, threads and sockets of [`tests::simulated`] and the simulated disk of
//! [`store`](crate::store). See also `store::crash_tests`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use fairway_units::random::Stream;

use crate::auth::Identity;
use crate::measure::{Meter, Subject};
use crate::recv::ReceiveOptions;
use crate::recv::tests::receiver::Receiver;
use crate::send::{Outcome, SendOptions, Streams, Striping, send_from};
use crate::store::{
    Disk, Faults, Limits, Options, PARTIAL_DIRECTORY, Store, set_smallest_block_bytes,
};
use crate::tests::simulated::network::{self, Cut, Death};
use crate::tests::simulated::{Chances, JoinLater, Simulation};
use crate::{Control, Error};

pub(super) const BLOCK_BYTES: u64 = 2048;
/// Transfers of `cargo test`; `make soak` runs more.
const CRASHES: u64 = 500;
/// Faults of a run, after which everything works.
const FAULTS: u64 = 12;
/// A sender that has died is forgotten after the silence that its receiver bears (30 s), the time in
/// which it may come again (90 s), and as much for what was under way.
const FORGOTTEN: Duration = Duration::from_secs(240);
/// A sign of life is due after a quarter of the silence that is borne; who was not woken wakes then.
const IDLE_S: f64 = 7.5;
const DAY: u64 = 86_400;
const HOLE: usize = 8192;

/// What is sent: a directory, or a single file, with all that its files ever were.
#[derive(Clone)]
pub(super) struct Tree {
    pub(super) path: PathBuf,
    pub(super) files: BTreeMap<String, Vec<Vec<u8>>>,
    directories: Vec<String>,
}

/// Sets the day on which a file or directory was changed. Not the time of this host: a sender tells it,
/// in as many bytes as it takes, and two changes may have it in common.
fn set_day(path: &Path, day: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(DAY * day);
    File::open(path).unwrap().set_modified(time).unwrap();
}

fn content(random: &mut Stream, bytes: u64) -> Vec<u8> {
    let seed = random.bits32() as u8;
    (0..bytes).map(|at| (at / 3) as u8 ^ (at >> 9) as u8 ^ seed).collect()
}

/// Writes a file; a large one has a hole, of whole pages and of whole blocks.
fn write_with_hole(path: &Path, data: &mut [u8]) {
    let file = File::create(path).unwrap();
    let hole = if data.len() > 3 * HOLE { HOLE..3 * HOLE } else { 0..0 };
    data[hole.clone()].fill(0);
    file.set_len(data.len() as u64).unwrap();
    file.write_all_at(&data[..hole.start], 0).unwrap();
    file.write_all_at(&data[hole.end..], hole.end as u64).unwrap();
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
            let mut data = content(&mut random, size);
            let path = at.join(format!("{top}{name}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_with_hole(&path, &mut data);
            tree.files.insert(format!("{top}{name}"), vec![data]);
        }
        if names.len() > 1 {
            fs::create_dir_all(at.join(format!("{top}/empty/inside"))).unwrap();
            tree.directories = vec![top.clone(), format!("{top}/empty/inside")];
        }
        tree.files.keys().for_each(|name| set_day(&at.join(name), 1));
        tree.set_day_of_directories();
        tree
    }

    /// Who gives a name to a file changes the directory that it is in.
    fn set_day_of_directories(&self) {
        let names = self.files.keys().chain(&self.directories);
        let all = names.flat_map(|name| Path::new(name).ancestors());
        let all = all.map(|name| self.path.parent().unwrap().join(name));
        all.filter(|path| path.is_dir()).for_each(|path| set_day(&path, 1));
    }

    /// Somebody writes a file: it grows, shrinks, is written anew or gives its name to another.
    fn change(&mut self, random: &mut Stream) {
        let chosen = random.below(self.files.len() as u64) as usize;
        let (name, versions) = self.files.iter_mut().nth(chosen).unwrap();
        let path = self.path.parent().unwrap().join(name);
        let now = versions.last().unwrap();
        let length = now.len() as u64;
        let next = match random.below(4) {
            0 => {
                let more = 1 + random.below(5000);
                [&now[..], &content(random, more)].concat()
            }
            1 => now[..random.below(length + 1) as usize].to_vec(),
            _ => content(random, length),
        };
        let mut file = if random.below(3) == 0 {
            let other = path.with_extension("new");
            let file = File::create(&other).unwrap();
            fs::rename(other, &path).unwrap();
            file
        } else {
            File::options().write(true).open(&path).unwrap()
        };
        file.set_len(next.len() as u64).unwrap();
        file.write_all(&next).unwrap();
        versions.push(next);
        set_day(&path, versions.len() as u64);
        self.set_day_of_directories();
    }
}

/// What stays the same for all runs.
pub(super) struct Ground {
    pub(super) directory: PathBuf,
    pub(super) trees: Vec<Tree>,
    pub(super) identity: Arc<Identity>,
    pub(super) meter: Meter,
}

/// What may happen in a run.
#[derive(Clone, Copy, Debug)]
struct Kinds {
    disk: bool,
    network: bool,
    receiver_dies: bool,
    sender_dies: bool,
    source: bool,
    clock: bool,
}

/// What has happened since the sender has begun.
#[derive(Clone, Copy, Debug, Default)]
struct Happened {
    disk: bool,
    connections: bool,
    source: bool,
    /// Time has passed in which nothing could.
    late: bool,
}

pub(super) type Ended = Arc<Mutex<Option<Result<Outcome, Error>>>>;

struct Sender {
    process: u32,
    thread: JoinLater,
    ended: Ended,
    control: Control,
    /// The version of each file when it began.
    versions: BTreeMap<String, usize>,
    happened: Happened,
    /// Connections that had been cut, and bytes that had been changed, when it began.
    faults: (u64, u64),
}

struct Receiving {
    process: u32,
    thread: JoinLater,
    /// There when it has opened its store.
    receiver: Arc<Mutex<Option<Receiver>>>,
}

struct World<'a> {
    ground: &'a Ground,
    simulation: Simulation,
    random: Stream,
    kinds: Kinds,
    disk: Disk,
    tree: Tree,
    send: SendOptions,
    receive: ReceiveOptions,
    sender: Option<Sender>,
    receiver: Option<Receiving>,
    processes: u32,
    faults_left: u64,
    /// The disk is, at times.
    is_slow: bool,
    /// What is there may be another version, or of a length that its sender does not know.
    may_replace: bool,
}

/// What follows from the seed alone: how threads are chosen.
pub(super) fn chances(random: &mut Stream) -> Chances {
    let mut one_of = |all: &[u64]| all[random.below(all.len() as u64) as usize];
    Chances {
        switch_one_in: one_of(&[1, 3, 10, 50]),
        spurious_one_in: one_of(&[10, 1000]),
        slow_one_in: one_of(&[4, 1_000_000]),
        step: Duration::from_nanos(one_of(&[100, 10_000, 300_000])),
    }
}

impl<'a> World<'a> {
    fn new(simulation: &Simulation, mut random: Stream, ground: &'a Ground) -> Self {
        let mut is = |of: u64| random.below(of) == 0;
        let kinds = Kinds {
            disk: is(3),
            network: is(2),
            receiver_dies: is(2),
            sender_dies: is(3),
            source: is(3),
            clock: is(3),
        };
        let is_encrypted = is(16);
        let faults_left = random.below(FAULTS + 1);
        let has_faults = faults_left > 0;
        let mut one_of = |all: &[f64]| all[random.below(all.len() as u64) as usize];
        let mut faults = Faults {
            short: one_of(&[0.0, 0.3]),
            interrupted: one_of(&[0.0, 0.1]),
            is_plain: one_of(&[0.0, 0.0, 1.0]) > 0.0,
            slow: one_of(&[0.0, 0.0, 0.01]),
            ..Faults::default()
        };
        let mut capacity = u64::MAX;
        if kinds.disk && has_faults {
            faults.sync_fails = one_of(&[0.0, 0.1]);
            faults.broken = one_of(&[0.0, 0.005]);
            faults.full = one_of(&[0.0, 0.005]);
            capacity = 10_000 + random.below(200_000);
        }
        let disk = Disk::new(random.bits64(), faults, capacity);
        let is_network = kinds.network && has_faults;
        simulation.set_network(network::Faults {
            capacity: [3000, 20_000, 1_000_000][random.below(3) as usize],
            is_short: random.below(2) == 0,
            cut_within: if is_network { [0, 400, 20_000][random.below(3) as usize] } else { 0 },
            changed_within: if is_network { [0, 0, 20_000][random.below(3) as usize] } else { 0 },
        });
        let number = random.below(ground.trees.len() as u64);
        let tree = match kinds.source {
            true => Tree::make(&ground.directory.join("changing"), number),
            false => ground.trees[number as usize].clone(),
        };
        let token = ground.identity.token().to_string();
        let mut send = SendOptions::new(&tree.path, "127.0.0.1", token);
        send.streams = Streams::Fixed(1 + random.below(3) as u32);
        send.chunk_bytes = Some(8192);
        send.plain = !is_encrypted;
        let is_stream = number.is_multiple_of(4) && !kinds.source && random.below(2) == 0;
        if is_stream {
            send.name = Some(format!("t{number}"));
            send.path = "-".into();
        } else if random.below(3) == 0 {
            send.striping = Striping::Static;
        }
        if random.below(8) == 0 {
            send.limit_bps = Some(1_000_000);
        }
        let mut receive = ReceiveOptions::new("out");
        receive.plain = !is_encrypted;
        World {
            ground,
            simulation: simulation.clone(),
            random,
            kinds,
            disk,
            tree,
            send,
            receive,
            sender: None,
            receiver: None,
            processes: 0,
            faults_left,
            is_slow: faults.slow > 0.0,
            may_replace: kinds.source || is_stream,
        }
    }

    fn chance(&mut self, of: u64) -> bool {
        self.random.below(of) == 0
    }

    fn new_process(&mut self) -> u32 {
        self.processes += 1;
        self.processes
    }

    /// One fault less to come; with the last one everything works.
    fn count_fault(&mut self) {
        self.faults_left = self.faults_left.saturating_sub(1);
        if self.faults_left == 0 {
            self.disk.mend();
            self.simulation.mend_network();
        }
    }

    /// Has whoever is not there begin.
    fn begin(&mut self) {
        if self.receiver.is_none() {
            let process = self.new_process();
            let (disk, receive) = (self.disk.clone(), self.receive.clone());
            let limits = Limits { spare_bytes: 0, ..Limits::default() };
            let options = Options { limits, overwrite: self.may_replace, ..Options::default() };
            let (meter, identity) = (self.ground.meter.clone(), Arc::clone(&self.ground.identity));
            let of = self.simulation.clone();
            let running = Arc::new(Mutex::new(None));
            let receiver = Arc::clone(&running);
            let thread = self.simulation.start_process(process, move || {
                // Whoever starts it again waits for a disk that works.
                let opened =
                    std::iter::repeat_with(|| Store::on(&disk, options)).find_map(Result::ok);
                let receiver = Receiver::new(&receive, opened.unwrap(), &meter);
                *running.lock().unwrap() = Some(receiver.clone());
                receiver.run(&of, &identity);
            });
            self.receiver = Some(Receiving { process, thread, receiver });
        }
        if let (None, Some(receiver)) = (&self.sender, &self.receiver) {
            // Its user waits for the receiver.
            while !self.simulation.listens(network::PORT) {
                self.simulation.pause(10, &receiver.thread);
            }
            let process = self.new_process();
            let (send, meter) = (self.send.clone(), self.ground.meter.clone());
            let is_stream = send.path.as_os_str() == "-";
            let input = is_stream.then(|| File::open(&self.tree.path).unwrap().into());
            let ended = Ended::default();
            let end = Arc::clone(&ended);
            let control = Control::new();
            let of = control.clone();
            let thread = self.simulation.start_process(process, move || {
                let sent = send_from(&send, input, &of, &meter);
                *end.lock().unwrap() = Some(sent);
            });
            let latest = |(name, all): (&String, &Vec<_>)| (name.clone(), all.len() - 1);
            let versions = self.tree.files.iter().map(latest).collect();
            // Its predecessor may not be known to be gone: the receiver is busy.
            let connections = process > 2;
            let happened = Happened { connections, ..Happened::default() };
            let faults = self.simulation.network_faults();
            self.sender =
                Some(Sender { process, thread, ended, control, versions, happened, faults });
        }
    }

    fn receiver_dies(&mut self) {
        let Some(Receiving { process, .. }) = self.receiver.take() else { return };
        let power_fails = self.chance(2);
        if power_fails {
            self.disk.lose_power();
        } else {
            self.disk.kill();
        }
        let is_silent = power_fails && self.chance(2);
        let how = if is_silent { Death::Silent } else { Death::Closed };
        self.simulation.disconnect(process, how);
        self.simulation.kill(process);
        if self.chance(3) {
            self.disk.evict();
        }
        self.set_clock();
        self.check_names();
        let away = [0, 0, 1, 20, 100][self.random.below(5) as usize];
        self.simulation.sleep(Duration::from_secs(away));
    }

    fn sender_dies(&mut self) {
        let Some(sender) = self.sender.take() else { return };
        let how = if self.chance(2) { Death::Silent } else { Death::Closed };
        self.simulation.disconnect(sender.process, how);
        self.simulation.kill(sender.process);
    }

    /// Sometimes the wall's clock is set, forwards or backwards.
    fn set_clock(&mut self) {
        if self.chance(8) {
            let days = self.random.below(60);
            self.simulation.set_wall_clock(Duration::from_secs(days * DAY));
        }
    }

    fn fault(&mut self) {
        if self.faults_left == 0 {
            return;
        }
        self.count_fault();
        let Kinds { network, receiver_dies, sender_dies, source, clock, .. } = self.kinds;
        let kinds = [network, receiver_dies, sender_dies, source, clock];
        let kinds: Vec<usize> = (0..5).filter(|kind| kinds[*kind]).collect();
        let Some(count) = (kinds.len() as u64).checked_sub(1) else { return };
        let kind = kinds[self.random.below(count + 1) as usize];
        let seconds = [1, 10, 40, 100][self.random.below(4) as usize];
        if let (0 | 1 | 4, Some(sender)) = (kind, &mut self.sender) {
            sender.happened.connections = true;
            sender.happened.late |= seconds > 10;
        }
        match kind {
            0 => match self.random.below(5) {
                0 => self.simulation.stall(Duration::from_secs(seconds)),
                1 => self.simulation.cut(Cut::Silent, true),
                2 => self.simulation.cut(Cut::Silent, false),
                3 => self.simulation.cut(Cut::Reset, true),
                _ => self.simulation.cut(Cut::Reset, false),
            },
            1 => self.receiver_dies(),
            2 => self.sender_dies(),
            3 => {
                self.tree.change(&mut self.random);
                if let Some(sender) = &mut self.sender {
                    sender.happened.source = true;
                }
            }
            _ => {
                self.simulation.oversleep(Duration::from_secs(seconds));
                self.set_clock();
            }
        }
    }

    fn run(&mut self) {
        loop {
            self.begin();
            let sender = self.sender.as_mut().expect("just begun");
            let faults = self.simulation.network_faults();
            let most = [100, 1000, 5000][self.random.below(3) as usize];
            let steps = match self.faults_left {
                0 => 10_000,
                _ => 1 + self.random.below(most),
            };
            sender.happened.disk |= self.kinds.disk && self.faults_left > 0;
            self.simulation.pause(steps, &sender.thread);
            sender.happened.connections |= self.simulation.network_faults() != faults;
            let ended = sender.ended.lock().unwrap().take();
            if std::env::var_os("FAIRWAY_CRASH_TRACE").is_some() {
                let (now, steps) = (self.simulation.now(), self.simulation.steps().0);
                let told = sender.control.take_events();
                eprintln!("{now:?} {steps} {:?} {told:?} {ended:?}", sender.happened);
                let receiver = self.receiver.as_ref().map(|it| it.receiver.lock().unwrap().clone());
                eprintln!("receiver: {:?}", receiver.flatten().map(|it| it.events()));
            }
            match ended {
                None => self.fault(),
                Some(Ok(outcome)) => return self.check_confirmed(&outcome),
                Some(Err(error)) => {
                    self.check_failure(&error);
                    self.sender = None;
                    self.count_fault();
                }
            }
        }
    }

    /// Nothing but what has happened is a reason to give up.
    fn check_failure(&self, error: &Error) {
        let said = error.to_string();
        let says = |all: &[&str]| all.iter().any(|why| said.contains(why));
        let sender = self.sender.as_ref().unwrap();
        let Happened { disk, connections, source, late } = sender.happened;
        // Three times the silence that it bears is its patience.
        let (cut, _) = self.simulation.network_faults();
        let is_often_cut = cut >= sender.faults.0 + 3;
        let is_told = match error {
            _ if says(&["I/O error", "os error 5", "is full"]) => disk,
            _ if says(&["look at its disk"]) => self.is_slow || late || is_often_cut,
            _ if says(&["changed while", "became shorter", "what the sender has"]) => source,
            // A disk that takes longer than its patience.
            _ if says(&["nothing has arrived for"]) => self.is_slow || connections,
            _ => connections,
        };
        assert!(is_told, "{said}");
    }

    fn check_names(&self) {
        for (path, found) in self.disk.files() {
            if !path.starts_with(PARTIAL_DIRECTORY) {
                let whole = self.tree.files.get(&path).map(Vec::as_slice).unwrap_or_default();
                assert!(whole.contains(&found), "{path} is not whole");
            }
        }
    }

    fn check_confirmed(&mut self, outcome: &Outcome) {
        let sender = self.sender.take().expect("it has ended");
        let check = |world: &Self| {
            for (name, versions) in &world.tree.files {
                let there = world.disk.read(name).unwrap_or_else(|| panic!("{name} is not there"));
                let sent = &versions[sender.versions[name]..];
                assert!(sent.contains(&there), "{name} is not what was sent");
                world.disk.is_durable(name, Some(&there), None).unwrap();
            }
            for name in &world.tree.directories {
                world.disk.is_durable(name, None, None).unwrap();
            }
        };
        check(self);
        let Happened { connections, .. } = sender.happened;
        if !connections {
            let counts = outcome.counts;
            assert_eq!((counts.replaced_sessions, counts.damaged_blocks), (0, 0));
            // A disk that takes longer than the silence that a sender bears is another thing.
            if !self.is_slow {
                assert_eq!((counts.replaced_connections, counts.resent_blocks), (0, 0));
                let waited = outcome.duration_s;
                assert!(waited < IDLE_S, "somebody was not woken: it took {waited} s");
            }
        }
        self.simulation.sleep(FORGOTTEN);
        if let Some(Receiving { process, receiver, .. }) = &self.receiver {
            let sessions = receiver.lock().unwrap().as_ref().map(Receiver::sessions);
            assert_eq!(sessions, Some(0), "a sender that is gone is remembered");
            // The first one and the monitor.
            assert_eq!(self.simulation.threads(*process), 2, "threads are left");
        }
        self.disk.lose_power();
        check(self);
        self.check_names();
    }
}

/// Runs a transfer until it is confirmed; its steps and their sum.
fn run(seed: u64, ground: &Ground) -> (u64, u64) {
    let mut random = Stream::new(seed, "transfer under crashes");
    let chances = chances(&mut random);
    Simulation::run(seed, chances, |simulation| {
        World::new(simulation, random, ground).run();
        simulation.steps()
    })
}

pub(super) fn ground(directory: &Path) -> Ground {
    set_smallest_block_bytes(BLOCK_BYTES);
    let subject = Subject::new("a test", "transfer", "transfer");
    Ground {
        directory: directory.to_owned(),
        trees: (0..24).map(|number| Tree::make(directory, number)).collect(),
        identity: Arc::new(Identity::new().unwrap()),
        meter: Meter::start(subject, &Control::new()).unwrap(),
    }
}

#[test]
fn what_a_sender_was_told_is_true_whatever_dies() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |given| given.parse().expect("a number"))
    };
    let (first, count) = (number("FAIRWAY_FIRST_CRASH", 0), number("FAIRWAY_CRASHES", CRASHES));
    let directory = tempfile::tempdir().unwrap();
    let ground = ground(directory.path());
    let began = Instant::now();
    let mut steps = 0;
    for seed in first..first + count {
        let run = catch_unwind(AssertUnwindSafe(|| run(seed, &ground)));
        steps += run.as_ref().map_or(0, |run| run.0);
        assert!(
            run.is_ok(),
            "seed {seed}; again: FAIRWAY_FIRST_CRASH={seed} FAIRWAY_CRASHES=1 cargo test --release \
             -p fairway-xfer --lib crash"
        );
    }
    println!("{count} transfers, {steps} steps in {:.1} s", began.elapsed().as_secs_f64());
}

#[test]
fn a_seed_decides_everything() {
    let directory = tempfile::tempdir().unwrap();
    let ground = ground(directory.path());
    for seed in 0..20 {
        assert_eq!(run(seed, &ground), run(seed, &ground), "seed {seed}");
    }
}
