//! Receivers whose sender lies.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fairway_units::random::Stream;

use super::{FILES, Progress, each, not_a_message};
use crate::auth::{Purpose, Security, Token, greet};
use crate::recv::ReceiveOptions;
use crate::recv::tests::receiver::Receiver;
use crate::rt::spawn;
use crate::send::{SendOptions, Streams, send_from};
use crate::socket::{Wishes, connect};
use crate::store::{Blocks, Disk, Faults, Hole, Limits, Options, PARTIAL_DIRECTORY, Store, Sum};
use crate::tests::crash::{BLOCK_BYTES, Ground, chances};
use crate::tests::simulated::{Simulation, network};
use crate::wire::messages::{
    Begin, DataHead, Kind, Offered, ToReceiver, ToSender, connection_number,
};
use crate::wire::{Channel, ControlReceiver};
use crate::{Control, Error};

const PATIENCE: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(10);
const LINGER: Duration = Duration::from_secs(20);
/// A receiver's patience, the time in which the sender has to leave and that in which a monitor looks
/// again, and the linger of a connection that ends meanwhile.
const BOUND: Duration = Duration::from_secs(60 + 3 * 10 + 20);

/// A way to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Honest,
    KeepAlive,
    Silent,
    /// It offers the same entries again.
    Offers,
    Finish,
    Same,
    Anything,
    Flood,
    Raw,
    Close,
}

const LIES: [Manner; 9] = [
    Manner::KeepAlive,
    Manner::Silent,
    Manner::Offers,
    Manner::Finish,
    Manner::Same,
    Manner::Anything,
    Manner::Flood,
    Manner::Raw,
    Manner::Close,
];

struct Liar {
    simulation: Simulation,
    token: Token,
    security: Security,
    state: Mutex<State>,
    is_over: AtomicBool,
}

struct State {
    random: Stream,
    honest_left: u64,
    lies: Vec<Manner>,
    progress: Progress,
    next_entry: u32,
    /// Of its control connections.
    life: u64,
    /// Digests that it has told of files.
    digests: BTreeSet<Sum>,
    /// It does not read; it sends a byte at a time.
    is_deaf: bool,
    drips: bool,
}

impl State {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn sizes(file: u32) -> u64 {
        [0, 1, 700, BLOCK_BYTES + 1, 9000][file as usize % 5]
    }

    fn content(file: u32) -> Vec<u8> {
        (0..State::sizes(file)).map(|at| (at / 5) as u8 ^ file as u8).collect()
    }

    fn offer(&mut self, first: u32) -> ToReceiver {
        let offered = |file: u32| Offered {
            // Names that honest senders have, too.
            name: format!("t{}", 4 * (file % 6)).into(),
            kind: if file % 7 == 5 {
                Kind::Directory
            } else {
                Kind::File { bytes: (file % 7 != 6).then(|| State::sizes(file)) }
            },
            mode: 0o600,
            modified: None,
            hole_bytes: u64::from(file) * 1000,
        };
        let count = 1 + self.below(3) as u32;
        ToReceiver::Offer { first, entries: (first..first + count).map(offered).collect() }
    }

    fn finish(&mut self, file: u32) -> ToReceiver {
        let content = State::content(file);
        let digest = match self.below(4) {
            0 => [self.below(256) as u8; 32],
            _ => *blake3::hash(&content).as_bytes(),
        };
        self.digests.insert(digest);
        ToReceiver::Finish { file, digest }
    }

    fn say(&mut self, manner: Manner) -> Option<ToReceiver> {
        let file = self.below(u64::from(FILES)) as u32;
        Some(match manner {
            Manner::Honest if self.next_entry < FILES => self.offer(self.next_entry),
            Manner::Honest | Manner::Finish => self.finish(file),
            Manner::Offers => self.offer(0),
            Manner::Anything | Manner::Flood => match self.below(30) {
                0 => ToReceiver::End { entries: file, digest: [0; 32] },
                1 => ToReceiver::Length { file, bytes: self.below(9000) },
                2 => ToReceiver::Abandon { file },
                3 => ToReceiver::Offer { first: file, entries: vec![] },
                4..15 => self.offer(file),
                _ => self.finish(file),
            },
            _ => return None,
        })
    }
}

impl Liar {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn pause(&self, most_ms: u64) {
        let time = Duration::from_millis(1 + self.state().below(most_ms));
        Control::new().sleep(time);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn enter(&self, purpose: Purpose) -> Result<Channel, Error> {
        let address = format!("127.0.0.1:{}", network::PORT).parse().unwrap();
        let connection = connect(&[address], &Wishes::default(), PATIENCE, &Control::new())?;
        let channel = greet(connection, &self.token, self.security, &purpose, PATIENCE)?;
        channel.set_patience(10 * PATIENCE)?;
        Ok(channel)
    }

    /// Comes again and again with the same transfer, until the receiver has had enough.
    fn run(self: &Arc<Self>) {
        while !self.is_over() && self.simulation.now() < 2 * BOUND {
            let _ = self.control();
            let life = self.state().life;
            self.state().life = if life > 0 { life + 1 } else { 0 };
            self.pause(3000);
        }
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn control(self: &Arc<Self>) -> Result<(), Error> {
        let mut channel = self.enter(Purpose::Control)?;
        if self.state().lies == [Manner::KeepAlive] && self.state().honest_left == 0 {
            // It never begins.
            let (sender, _receiver) = channel.into_control();
            while sender.keep_alive().is_ok() {
                self.pause(2000);
            }
            return Ok(());
        }
        let begin =
            Begin { transfer: [7; 16], streams: 2, entries: 9, bytes: 1, patience_ms: 9000 };
        let began = self.simulation.now();
        channel.write_frame(&ToReceiver::Begin(begin))?;
        let Some(ToSender::Welcome { session, resumed, .. }) = channel.read_frame()? else {
            return Ok(());
        };
        if !resumed && self.state().life > 0 {
            // It was forgotten: that is all that is asked for.
            self.is_over.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let life = {
            let mut state = self.state();
            state.life += 1;
            if !resumed {
                state.progress.latest = began;
            }
            state.life
        };
        for lane in 0..2 {
            let liar = Arc::clone(self);
            spawn("pour", move || drop(liar.pour(session, lane, life)))?;
        }
        let (sender, receiver) = channel.into_control();
        if !self.state().is_deaf {
            let liar = Arc::clone(self);
            spawn("hear", move || liar.hear(receiver))?;
        }
        while !self.is_over() && self.simulation.now() < 2 * BOUND {
            let manner = self.manner();
            for _ in 0..if manner == Manner::Flood { 40 } else { 1 } {
                let said = self.state().say(manner);
                self.tell(said.as_ref());
                match (manner, said) {
                    (_, Some(message)) => sender.send(&message)?,
                    (Manner::KeepAlive | Manner::Same, None) => sender.keep_alive()?,
                    (Manner::Raw, None) => {
                        let mut random = Stream::new(self.state().random.bits64(), "raw");
                        not_a_message(&mut random, sender.socket(), self.security)?;
                    }
                    (Manner::Close, None) => return Ok(()),
                    _ => {}
                }
            }
            self.pause(if manner == Manner::Honest { 200 } else { 2000 });
        }
        Ok(())
    }

    fn manner(&self) -> Manner {
        let mut state = self.state();
        if state.honest_left > 0 {
            state.honest_left -= 1;
            return Manner::Honest;
        }
        let count = state.lies.len() as u64;
        let one = state.below(count) as usize;
        state.lies[one]
    }

    /// Notes what may be new to a receiver.
    fn tell(&self, said: Option<&ToReceiver>) {
        let (now, mut state) = (self.simulation.now(), self.state());
        match said {
            Some(ToReceiver::Offer { first, entries }) => {
                let end = *first + entries.len() as u32;
                if *first <= state.next_entry && end > state.next_entry {
                    state.next_entry = end;
                    state.progress.latest = now;
                }
            }
            Some(ToReceiver::Finish { file, .. }) => state.progress.say(now, 1, *file, 0..1),
            _ => {}
        }
    }

    fn hear(&self, mut receiver: ControlReceiver) {
        while let Ok(Some(_)) = receiver.receive::<ToSender>() {}
    }

    /// A data connection: blocks that are right, wrong, or none, and pieces of them.
    fn pour(&self, session: u64, lane: u32, life: u64) -> Result<(), Error> {
        let mut replaced = 0;
        while !self.is_over() && self.state().life == life {
            replaced += 1;
            let stream = connection_number(lane, replaced);
            let mut channel = self.enter(Purpose::Data { session, stream })?;
            let _ = self.blocks(&mut channel);
            self.pause(2000);
        }
        Ok(())
    }

    fn blocks(&self, channel: &mut Channel) -> Result<(), Error> {
        while !self.is_over() {
            let (file, index, kind, drips) = {
                let mut state = self.state();
                let same = state.honest_left == 0 && state.lies == [Manner::Same];
                let file = if same { 1 } else { state.below(u64::from(FILES)) as u32 };
                let index = if same { 0 } else { state.below(5) };
                let kind = if same { 9 } else { state.below(10) };
                (file, index, kind, state.drips && state.honest_left == 0)
            };
            let (content, blocks) = (State::content(file), Blocks::of(State::sizes(file)));
            if !blocks.has(index) || kind == 0 {
                channel.write_frame(&DataHead::Idle)?;
                self.pause(2000);
                continue;
            }
            let from = blocks.offset(index) as usize;
            let data = &content[from..from + blocks.bytes(index) as usize];
            let holes = if kind == 1 { vec![Hole { at: 5, bytes: u32::MAX }] } else { vec![] };
            let told = if kind == 2 { u32::MAX } else { data.len() as u32 };
            let block = index as u32;
            channel.write_frame(&DataHead::Block { file, block, bytes: told, holes })?;
            if drips {
                for byte in data {
                    channel.write_payload(&[*byte])?;
                    self.pause(9000);
                }
                // As slow as it was, it is the block.
            } else {
                channel.write_payload(data)?;
            }
            let sum = if kind == 3 { [0; 32] } else { blocks.sum(index, data) };
            self.state().progress.say(self.simulation.now(), 2, file, block..block + 1);
            channel.write_frame(&sum)?;
            let is_honest = self.state().honest_left > 0;
            self.pause(if is_honest { 200 } else { 4000 });
        }
        Ok(())
    }
}

fn run(seed: u64, ground: &Ground) {
    let mut random = Stream::new(seed, "a lying sender");
    let chances = chances(&mut random);
    Simulation::run(seed, chances, |simulation| {
        simulation.set_network(network::Faults { capacity: 20_000, ..Default::default() });
        let is_plain = random.below(4) > 0;
        let disk = Disk::new(random.bits64(), Faults::default(), u64::MAX);
        let mut receive = ReceiveOptions::new("out");
        receive.plain = is_plain;
        receive.patience_s = Some(PATIENCE.as_secs_f64());
        receive.timeout_s = Some(TIMEOUT.as_secs_f64());
        receive.linger_s = Some(LINGER.as_secs_f64());
        let (of, on, meter) = (simulation.clone(), disk.clone(), ground.meter.clone());
        let identity = Arc::clone(&ground.identity);
        let running = Arc::new(Mutex::new(None));
        let started = Arc::clone(&running);
        let receiving = simulation.start_process(1, move || {
            let limits = Limits { spare_bytes: 0, ..Limits::default() };
            // The honest sender's files have names that the liar's may have got.
            let options = Options { limits, overwrite: true, ..Options::default() };
            let receiver = Receiver::new(&receive, Store::on(&on, options).unwrap(), &meter);
            *started.lock().unwrap() = Some(receiver.clone());
            receiver.run(&of, &identity);
        });
        while !simulation.listens(network::PORT) {
            simulation.pause(10, &receiving);
        }
        let count = if random.below(3) == 0 { 3 } else { 1 };
        let state = State {
            honest_left: [0, 1, 5, 20, 60][random.below(5) as usize],
            lies: (0..count).map(|_| LIES[random.below(9) as usize]).collect(),
            progress: Progress::default(),
            next_entry: 0,
            life: 0,
            digests: BTreeSet::new(),
            is_deaf: random.below(4) == 0,
            drips: random.below(4) == 0,
            random: Stream::new(random.bits64(), "lies"),
        };
        let lies = format!("{:?} {} {}", state.lies, state.is_deaf, state.drips);
        let liar = Arc::new(Liar {
            simulation: simulation.clone(),
            token: ground.identity.token().clone(),
            security: if is_plain { Security::Plain } else { Security::Encrypted },
            state: Mutex::new(state),
            is_over: AtomicBool::new(false),
        });
        let running_liar = Arc::clone(&liar);
        let lying = simulation.start_process(2, move || running_liar.run());
        let sessions = || running.lock().unwrap().as_ref().map_or(0, Receiver::sessions);
        while !lying.has_ended() {
            simulation.pause(1000, &lying);
            assert!(simulation.now() < 5 * BOUND, "the liar does not end: {lies}");
            let latest = liar.state().progress.latest;
            let held = simulation.now().saturating_sub(latest);
            assert!(sessions() == 0 || held < BOUND, "it is held for {held:?} by {lies}");
        }
        simulation.disconnect(2, network::Death::Closed);
        simulation.kill(2);
        simulation.sleep(LINGER + 4 * TIMEOUT);
        assert_eq!(sessions(), 0, "a session is left of {lies}");
        // The first one and the monitor.
        assert_eq!(simulation.threads(1), 2, "threads are left of {lies}");

        let tree = &ground.trees[4 * random.below(6) as usize];
        let mut send =
            SendOptions::new(&tree.path, "127.0.0.1", ground.identity.token().to_string());
        (send.plain, send.streams) = (is_plain, Streams::Fixed(2));
        let (of, meter) = (Arc::new(Mutex::new(None)), ground.meter.clone());
        let ended = Arc::clone(&of);
        let sending = simulation.start_process(3, move || {
            *ended.lock().unwrap() = Some(send_from(&send, None, &Control::new(), &meter));
        });
        while !sending.has_ended() {
            simulation.pause(1000, &sending);
            assert!(simulation.now() < 10 * BOUND, "an honest sender is held after {lies}");
        }
        let sent = of.lock().unwrap().take().expect("it has ended");
        let is_directory_there = matches!(&sent, Err(Error::Refused(why)) if why.contains("there"));
        assert!(sent.is_ok() || is_directory_there, "after {lies}: {sent:?}");
        let digests = &liar.state().digests;
        for (path, found) in disk.files() {
            let is_sent = tree.files.get(&path).is_some_and(|all| all.contains(&found));
            let is_named = digests.contains(blake3::hash(&found).as_bytes());
            assert!(path.starts_with(PARTIAL_DIRECTORY) || is_sent || is_named, "{path}: {lies}");
        }
    });
}

#[test]
fn no_sender_holds_a_receiver_beyond_its_patience() {
    each("no_sender_holds", run);
}
