//! Senders whose receiver lies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fairway_units::random::Stream;

use super::{BLOCKS, FILES, Progress, each, not_a_message};
use crate::auth::{Identity, Purpose, Security, admit};
use crate::rt::spawn;
use crate::send::{SendOptions, Streams, send_from};
use crate::socket::Connection;
use crate::store::{Layout, Sum};
use crate::tests::crash::{BLOCK_BYTES, Ended, Ground, chances};
use crate::tests::simulated::{Simulation, network};
use crate::wire::messages::{DataHead, Kind, Run, ToReceiver, ToSender};
use crate::wire::{Channel, ControlReceiver, ControlSender};
use crate::{Control, Error};

const PATIENCE: Duration = Duration::from_secs(20);
/// Four times its patience holds a sender at most: once until it connects a last time, once for
/// that connection, twice for what is under way on it. The rest is for pauses between attempts and for
/// the last words.
const BOUND: Duration = Duration::from_secs(4 * 20 + 10);

/// A way to lie on a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// It says what is so.
    Honest,
    KeepAlive,
    Silent,
    Nothing,
    Same,
    Claims,
    Ready,
    Lost,
    Bad,
    Stored,
    Anything,
    Flood,
    Raw,
    Close,
    /// It does not know the transfer any more, time and again.
    Forget,
}

const MANNERS: [Manner; 14] = [
    Manner::KeepAlive,
    Manner::Silent,
    Manner::Nothing,
    Manner::Same,
    Manner::Claims,
    Manner::Ready,
    Manner::Lost,
    Manner::Bad,
    Manner::Stored,
    Manner::Anything,
    Manner::Flood,
    Manner::Raw,
    Manner::Close,
    Manner::Forget,
];

struct Liar {
    simulation: Simulation,
    identity: Arc<Identity>,
    security: Security,
    state: Mutex<State>,
}

struct State {
    random: Stream,
    /// Honest words that are left before it begins to lie.
    honest_left: u64,
    lies: Vec<Manner>,
    progress: Progress,
    /// Honest answers that are not said yet.
    truth: VecDeque<ToSender>,
    offered: BTreeMap<u32, u64>,
    arrived: BTreeSet<(u32, u32)>,
    connections: Vec<u32>,
    /// It does not read what is sent on its control connection; nor on the others, or slowly.
    is_deaf: bool,
    drips: bool,
    welcomes: u64,
}

impl State {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn sum(&mut self) -> Sum {
        [self.below(256) as u8; 32]
    }

    fn manner(&mut self) -> Manner {
        if self.honest_left > 0 {
            self.honest_left -= 1;
            return Manner::Honest;
        }
        let one = self.below(self.lies.len() as u64) as usize;
        self.lies[one]
    }

    fn lie(&mut self, manner: Manner) -> Option<ToSender> {
        let (file, block) =
            (self.below(u64::from(FILES)) as u32, self.below(u64::from(BLOCKS)) as u32);
        let why = String::from("a lie");
        Some(match manner {
            Manner::Honest => return self.truth.pop_front(),
            Manner::Nothing => ToSender::Arrived(vec![]),
            Manner::Same => ToSender::Arrived(vec![Run { file: 0, first: 0, count: 1 }]),
            Manner::Claims => ToSender::Claims { file, sums: vec![(block, self.sum())] },
            Manner::Ready => ToSender::Ready { file },
            Manner::Lost => {
                let open = self.connections.len() as u64;
                let chosen = self.below(open + 1) as usize;
                let connection = self.connections.get(chosen).copied().unwrap_or(7);
                ToSender::Lost { connection, why }
            }
            Manner::Bad => ToSender::Bad { file, block },
            Manner::Stored => ToSender::Stored { file },
            Manner::Anything | Manner::Flood => match self.below(40) {
                0 => ToSender::Confirmed { digest: self.sum() },
                1 => ToSender::Refused { why },
                2 => ToSender::Busy { why },
                3 => ToSender::Welcome { session: 0, streams: 1, resumed: true, patience_ms: 0 },
                4..12 => ToSender::Arrived(vec![Run { file, first: block, count: u32::MAX }]),
                kind => {
                    let all =
                        [Manner::Same, Manner::Claims, Manner::Ready, Manner::Bad, Manner::Lost];
                    return self.lie(all[kind as usize % 5]);
                }
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

    fn run(self: &Arc<Self>) {
        self.simulation.listen(network::PORT);
        loop {
            let socket = self.simulation.accept(network::PORT);
            let liar = Arc::clone(self);
            spawn("liar", move || drop(liar.meet(socket))).unwrap();
        }
    }

    fn meet(self: &Arc<Self>, socket: crate::rt::Socket) -> Result<(), Error> {
        let held = Control::new().hold(&socket).unwrap();
        // Sometimes it lets a connection wait before it greets.
        if self.state().honest_left == 0 && self.state().below(10) == 0 {
            self.pause(60_000);
        }
        let connection = Connection { socket, held };
        let (channel, purpose) = admit(connection, &self.identity, self.security, PATIENCE)?;
        match purpose {
            Purpose::Control => self.control(channel),
            Purpose::Data { stream, .. } => self.data(channel, stream),
            _ => Ok(()),
        }
    }

    fn control(self: &Arc<Self>, mut channel: Channel) -> Result<(), Error> {
        channel.set_patience(Duration::from_secs(600))?;
        let _: Option<ToReceiver> = channel.read_frame()?;
        let welcome = {
            let mut state = self.state();
            state.welcomes += 1;
            let forgets = state.lies.contains(&Manner::Forget) && state.honest_left == 0;
            let resumed = state.welcomes > 1 && !forgets;
            if !resumed {
                state.progress.forget();
                (state.offered, state.arrived) = Default::default();
                state.truth.clear();
                if state.lies == [Manner::Forget] {
                    state.honest_left = 12;
                }
            }
            ToSender::Welcome { session: 0, streams: 3, resumed, patience_ms: 5000 }
        };
        channel.write_frame(&welcome)?;
        let (sender, receiver) = channel.into_control();
        if !self.state().is_deaf {
            let liar = Arc::clone(self);
            spawn("hear", move || liar.hear(receiver))?;
        }
        self.talk(&sender)
    }

    fn talk(&self, sender: &ControlSender) -> Result<(), Error> {
        loop {
            let manner = self.state().manner();
            let repeats = if manner == Manner::Flood { 40 } else { 1 };
            for _ in 0..repeats {
                let said = self.state().lie(manner);
                match (manner, said) {
                    (_, Some(message)) => {
                        self.state().progress.of(self.simulation.now(), &message);
                        sender.send(&message)?;
                    }
                    (Manner::KeepAlive | Manner::Honest, None) => sender.keep_alive()?,
                    (Manner::Raw, _) => {
                        let mut random = Stream::new(self.state().random.bits64(), "raw");
                        not_a_message(&mut random, sender.socket(), self.security)?;
                    }
                    (Manner::Close | Manner::Forget, _) => return Ok(()),
                    _ => {}
                }
            }
            self.pause(if manner == Manner::Honest { 200 } else { 3000 });
        }
    }

    /// Learns what there is to be honest about.
    fn hear(&self, mut receiver: ControlReceiver) {
        while let Ok(Some(message)) = receiver.receive::<ToReceiver>() {
            let mut state = self.state();
            match message {
                ToReceiver::Offer { first, entries } => {
                    for (file, entry) in (first..).zip(entries) {
                        let bytes = match entry.kind {
                            Kind::File { bytes } => bytes.unwrap_or(0),
                            Kind::Directory => 0,
                        };
                        state.offered.insert(file, bytes.div_ceil(BLOCK_BYTES));
                        state.truth.push_back(ToSender::Ready { file });
                    }
                }
                ToReceiver::Finish { file, .. } => {
                    state.truth.push_back(ToSender::Stored { file });
                }
                ToReceiver::End { digest, .. } => {
                    state.truth.push_back(ToSender::Confirmed { digest });
                }
                _ => {}
            }
        }
    }

    fn data(&self, mut channel: Channel, number: u32) -> Result<(), Error> {
        channel.set_patience(Duration::from_secs(600))?;
        self.state().connections.push(number);
        let is_deaf = self.state().is_deaf && self.state().below(2) == 0;
        if is_deaf {
            self.pause(600_000);
            return Ok(());
        }
        if self.state().drips {
            let mut byte = [0];
            while channel.socket().read(&mut byte).is_ok_and(|count| count > 0) {
                self.pause(5000);
            }
            return Ok(());
        }
        while let Some(head) = channel.read_frame()? {
            let DataHead::Block { file, block, bytes, holes } = head else { continue };
            let layout = Layout::new(u64::from(bytes), holes).expect("a sender's holes");
            channel.read_payload(&mut vec![0; layout.data_bytes() as usize])?;
            let _: Option<Sum> = channel.read_frame()?;
            let mut state = self.state();
            if state.arrived.insert((file, block)) {
                let run = Run { file, first: block, count: 1 };
                state.truth.push_back(ToSender::Arrived(vec![run]));
            }
        }
        Ok(())
    }

    /// Whether it had all that it was offered.
    fn has_all(&self) -> bool {
        let state = self.state();
        let is_whole = |(file, blocks): (&u32, &u64)| {
            (0..*blocks as u32).all(|block| state.arrived.contains(&(*file, block)))
        };
        state.offered.iter().all(is_whole)
    }
}

fn run(seed: u64, ground: &Ground) {
    let mut random = Stream::new(seed, "a lying receiver");
    let chances = chances(&mut random);
    Simulation::run(seed, chances, |simulation| {
        simulation.set_network(network::Faults { capacity: 20_000, ..Default::default() });
        let tree = &ground.trees[random.below(ground.trees.len() as u64) as usize];
        let count = if random.below(3) == 0 { 3 } else { 1 };
        let lies = (0..count).map(|_| MANNERS[random.below(14) as usize]).collect();
        let is_plain = random.below(4) > 0;
        let state = State {
            honest_left: [0, 1, 5, 20, 60][random.below(5) as usize],
            lies,
            progress: Progress::default(),
            truth: VecDeque::new(),
            offered: BTreeMap::new(),
            arrived: BTreeSet::new(),
            connections: Vec::new(),
            is_deaf: random.below(4) == 0,
            drips: random.below(6) == 0,
            welcomes: 0,
            random: Stream::new(random.bits64(), "lies"),
        };
        let lies = format!("{:?} {} {}", state.lies, state.is_deaf, state.drips);
        let liar = Arc::new(Liar {
            simulation: simulation.clone(),
            identity: Arc::clone(&ground.identity),
            security: if is_plain { Security::Plain } else { Security::Encrypted },
            state: Mutex::new(state),
        });
        let running = Arc::clone(&liar);
        let receiver = simulation.start_process(1, move || running.run());
        while !simulation.listens(network::PORT) {
            simulation.pause(10, &receiver);
        }
        let token = ground.identity.token().to_string();
        let mut send = SendOptions::new(&tree.path, "127.0.0.1", token);
        send.streams = Streams::Fixed(1 + random.below(3) as u32);
        send.chunk_bytes = Some(8192);
        send.plain = is_plain;
        send.patience_s = Some(PATIENCE.as_secs_f64());
        send.timeout_s = Some([5.0, 30.0][random.below(2) as usize]);
        let ended = Ended::default();
        let (end, meter) = (Arc::clone(&ended), ground.meter.clone());
        let sender = simulation.start_process(2, move || {
            let sent = send_from(&send, None, &Control::new(), &meter);
            *end.lock().unwrap() = Some(sent);
        });
        while !sender.has_ended() {
            simulation.pause(1000, &sender);
            let latest = liar.state().progress.latest;
            let held = simulation.now().saturating_sub(latest);
            assert!(held < BOUND, "it is held for {held:?} by {lies}");
        }
        let sent = ended.lock().unwrap().take().expect("it has ended");
        assert!(sent.is_err() || liar.has_all(), "it believes {lies}");
        assert_eq!(simulation.threads(2), 0, "threads are left after {lies}: {sent:?}");
    });
}

#[test]
fn no_receiver_holds_a_sender_beyond_its_patience() {
    each("no_receiver_holds", run);
}
