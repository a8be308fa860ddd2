//! Two endpoints over a path, captured at both ends, and what the sender really did.

use fairway_analysis::report::DirectionReport;
use fairway_analysis::{Analyser, Options as Wanted};
use fairway_capture::packet::flags;
use fairway_capture::{Options, Packet, Tcp, Transport};
use fairway_cc::{Init, Phase, Selection, create};
use fairway_net::Packet as _;
use fairway_tcp::{Config, Endpoint, Flags, PRESETS, Recovery, Role, Segment, Stack};
use fairway_units::{Duration, Time};

/// Period of the samples of the sender's window.
const SAMPLE: Duration = Duration::from_millis(10);

/// What becomes of a segment with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It takes its turn in the queue.
    Pass,
    /// It is lost.
    Lose,
    /// It comes later.
    Delay(Duration),
}

/// A path, and the fate of the nth segment with data that leaves at a time.
pub struct Path {
    pub rate_bps: u64,
    pub one_way: Duration,
    pub queue_packets: usize,
    pub fate: Box<dyn FnMut(u64, Time) -> Fate>,
}

/// The sender's window at a time.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub t_s: f64,
    pub cwnd_bytes: u64,
    pub is_slow_start: bool,
    pub phase: Phase,
}

/// What the sender did.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Retransmissions in recovery, after a timeout the first ones and the others, and outside of
    /// either, which are probes of the tail.
    pub recovery: u64,
    pub timeout: u64,
    pub after_timeout: u64,
    pub probe: u64,
    /// Bytes that the receiver had already.
    pub duplicate_bytes: u64,
    pub samples: Vec<Sample>,
}

/// What both captures say, and what was.
pub struct Outcome {
    pub sender: DirectionReport,
    pub receiver: DirectionReport,
    pub truth: Truth,
    pub mss: u64,
}

/// Random numbers for fates: a linear congruential generator (Knuth's MMIX), of which the upper
/// bits are used.
pub struct Dice(pub u64);

impl Dice {
    pub fn falls(&mut self, probability: f64) -> bool {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) < probability * (1u64 << 31) as f64
    }
}

struct Run {
    ends: [Endpoint; 2],
    /// On their way, by arrival; at the source, and at the sink.
    travelling: [Vec<(Time, Segment)>; 2],
    /// When each packet in the queue has left it.
    leaving: Vec<Time>,
    captures: [Analyser; 2],
    numbers: [u64; 2],
    data_segments: u64,
    highest: u64,
    timeouts: u64,
    /// Whether the sender may send again what three SACKs tell is lost before recovery begins (ns-3).
    repairs_early: bool,
    truth: Truth,
}

/// Sends `bytes` over `path` for at most `until`, by the stack and the algorithm of these names.
pub fn transfer(preset: &str, cc: &str, bytes: u64, until: Time, path: Path) -> Outcome {
    let preset = PRESETS.iter().find(|known| known.name == preset).expect("a preset");
    let stack = (preset.stack)();
    let mut run = Run::new(&stack, cc);
    run.ends[0].connect();
    run.ends[0].write(bytes);
    run.go(until, path);
    run.truth.duplicate_bytes = run.ends[1].receiver().duplicate_bytes();
    let [sender, receiver] = run.captures.map(|capture| {
        let mut report = capture.finish();
        let directions = &mut report.connections[0].directions;
        directions.swap_remove(0)
    });
    Outcome { sender, receiver, truth: run.truth, mss: u64::from(stack.options.mss) }
}

impl Run {
    fn new(stack: &Stack, cc: &str) -> Run {
        let selection = Selection { name: cc.to_owned(), variant: None, params: Vec::new() };
        let init = Init {
            mss: stack.options.mss,
            initial_window: u64::from(stack.window.initial_window) * u64::from(stack.options.mss),
            initial_ssthresh: stack
                .window
                .initial_ssthresh
                .map(|segments| u64::from(segments) * u64::from(stack.options.mss)),
            slow_start: None,
            seed: 1,
            coupling: None,
            abe: false,
        };
        let end = |role, isn| {
            let cc = create(&selection, stack.window.cc_variant, &init).expect("an algorithm");
            let stack = stack.clone().into();
            Endpoint::new(Config { connection: 0, role, stack, cc, isn, timestamp_offset: isn })
        };
        let capture = || Analyser::new(Wanted::default());
        Run {
            ends: [end(Role::Active, 1000), end(Role::Passive, 5000)],
            travelling: [Vec::new(), Vec::new()],
            leaving: Vec::new(),
            captures: [capture(), capture()],
            numbers: [0, 0],
            data_segments: 0,
            highest: 0,
            timeouts: 0,
            truth: Truth::default(),
            repairs_early: stack.losses.recovery == Recovery::Ns3,
        }
    }

    fn go(&mut self, until: Time, mut path: Path) {
        let (mut now, mut sample) = (Time::ZERO, Time::ZERO);
        while now < until {
            self.send_all(now, &mut path);
            let arrivals = self.travelling.iter().filter_map(|way| way.first());
            let arrival = arrivals.map(|(at, _)| *at).min().unwrap_or(Time::NEVER);
            let timeouts = self.ends.iter().map(Endpoint::poll_timeout).min();
            let next = arrival.min(timeouts.unwrap_or(Time::NEVER));
            while sample < next && sample < until {
                self.sample(sample);
                sample = sample + SAMPLE;
            }
            if next == Time::NEVER {
                break;
            }
            now = next.max(now);
            for end in 0..2 {
                while self.travelling[end].first().is_some_and(|(at, _)| *at <= now) {
                    let (_, segment) = self.travelling[end].remove(0);
                    self.capture(end, &segment, now);
                    self.ends[end].handle_segment(&segment, now);
                    self.send_all(now, &mut path);
                }
                if self.ends[end].poll_timeout() <= now {
                    self.ends[end].handle_timeout(now);
                }
            }
        }
    }

    fn send_all(&mut self, now: Time, path: &mut Path) {
        for end in 0..2 {
            loop {
                let phase = self.ends[0].phase();
                let Some(segment) = self.ends[end].poll_transmit(now) else { break };
                self.capture(end, &segment, now);
                if end == 1 {
                    insert(&mut self.travelling[0], now + path.one_way, segment);
                } else {
                    self.forward(segment, phase, now, path);
                }
            }
        }
    }

    fn forward(&mut self, segment: Segment, phase: Phase, now: Time, path: &mut Path) {
        let mut late = Duration::ZERO;
        if segment.payload_bytes > 0 {
            self.note_sent(&segment, phase);
            match (path.fate)(self.data_segments, now) {
                Fate::Pass => {}
                Fate::Lose => return,
                Fate::Delay(span) => late = span,
            }
        }
        self.leaving.retain(|at| *at > now);
        // One is in transmission; the others wait.
        if self.leaving.len() > path.queue_packets {
            return;
        }
        let begin = self.leaving.last().copied().unwrap_or(now).max(now);
        let nanos = u64::from(segment.wire_bytes()) * 8 * 1_000_000_000 / path.rate_bps;
        let left = begin + Duration::from_nanos(nanos);
        self.leaving.push(left);
        insert(&mut self.travelling[1], left + path.one_way + late, segment);
    }

    fn note_sent(&mut self, segment: &Segment, phase: Phase) {
        self.data_segments += 1;
        let end = segment.payload_offset + u64::from(segment.payload_bytes);
        if end > self.highest {
            self.highest = end;
            return;
        }
        let timeouts = self.ends[0].counters().timeouts;
        let has_expired = timeouts > std::mem::replace(&mut self.timeouts, timeouts);
        let truth = &mut self.truth;
        let count = match phase {
            _ if has_expired => &mut truth.timeout,
            Phase::Loss => &mut truth.after_timeout,
            Phase::Recovery => &mut truth.recovery,
            Phase::Disorder if self.repairs_early => &mut truth.recovery,
            Phase::Open | Phase::Disorder | Phase::Cwr => &mut truth.probe,
        };
        *count += 1;
    }

    fn sample(&mut self, at: Time) {
        let sender = self.ends[0].sender();
        self.truth.samples.push(Sample {
            t_s: at.as_secs_f64(),
            cwnd_bytes: sender.cwnd(),
            is_slow_start: sender.cwnd() < sender.ssthresh(),
            phase: sender.phase(),
        });
    }

    fn capture(&mut self, end: usize, segment: &Segment, at: Time) {
        self.numbers[end] += 1;
        let packet = packet(segment, self.numbers[end], at);
        self.captures[end].packet(&packet);
    }
}

fn insert(way: &mut Vec<(Time, Segment)>, at: Time, segment: Segment) {
    let index = way.partition_point(|(before, _)| *before <= at);
    way.insert(index, (at, segment));
}

fn packet(segment: &Segment, number: u64, at: Time) -> Packet {
    let ends = [([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 80).into()];
    let [source, destination] = if segment.forward { ends } else { [ends[1], ends[0]] };
    let ip_bytes = segment.wire_bytes();
    let syn = segment.flags.has(Flags::SYN);
    let bit = |flag, bit| if segment.flags.has(flag) { bit } else { 0 };
    let mut options = Options {
        mss: syn.then_some(segment.mss),
        window_scale: segment.flags.has(Flags::WINDOW_SCALE).then_some(segment.window_scale),
        sack_permitted: segment.flags.has(Flags::SACK_PERMITTED),
        timestamps: segment
            .flags
            .has(Flags::TIMESTAMP)
            .then_some((segment.ts_value, segment.ts_echo)),
        sack_count: segment.sack_count,
        bytes: (ip_bytes - 40 - segment.payload_bytes) as u8,
        ..Options::default()
    };
    for (block, known) in options.sack.iter_mut().zip(segment.sack_blocks()) {
        *block = (known.left.0, known.right.0);
    }
    Packet {
        number,
        at,
        interface: 0,
        source,
        destination,
        frame_bytes: ip_bytes + 14,
        ip_bytes,
        // The network makes no copies: each packet has a number of its own.
        ip_id: number as u16,
        ttl: 64,
        traffic_class: 0,
        transport: Transport::Tcp(Tcp {
            seq: segment.seq.0,
            ack: segment.ack.0,
            flags: bit(Flags::SYN, flags::SYN)
                | bit(Flags::ACK, flags::ACK)
                | bit(Flags::FIN, flags::FIN)
                | bit(Flags::PSH, flags::PSH),
            window: segment.window,
            payload_bytes: segment.payload_bytes,
            options,
            is_checksum_wrong: false,
        }),
        fate: Default::default(),
    }
}
