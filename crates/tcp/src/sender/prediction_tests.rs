//! Header prediction changes nothing: connections over random paths send the same segments at the
//! same times with and without it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_cc::{CongestionControl, Selection, Variant, create};
use fairway_units::random::Stream;
use fairway_units::{Duration, Time};
use proptest::prelude::*;

use crate::preset::PRESETS;
use crate::{Config, EcnMode, Endpoint, Flags, Role, Segment, Stack, Transmit};

thread_local! {
    /// Whether the senders of this thread predict headers.
    static PREDICTS: Cell<bool> = const { Cell::new(true) };
    /// Acknowledgements that the senders of this thread have predicted.
    static PREDICTED: Cell<usize> = const { Cell::new(0) };
}

/// An acknowledgement was predicted.
pub(crate) fn count() {
    PREDICTED.set(PREDICTED.get() + 1);
}

pub(crate) fn predicts() -> bool {
    PREDICTS.get()
}

const ALGORITHMS: [&str; 5] = ["reno", "cubic", "vegas", "bbr", "tahoe"];
const END: Time = Time::from_nanos(20_000_000_000);

/// A path: shares of segments lost, late and marked, and the bytes of the transfer.
#[derive(Clone, Copy, Debug)]
struct Path {
    seed: u64,
    lost: f64,
    late: f64,
    marked: f64,
    bytes: u64,
}

fn algorithm(stack: &Stack, name: &str) -> Box<dyn CongestionControl> {
    let reno = if stack.window.cc_variant == Variant::Ns3_29 { "newreno" } else { "reno" };
    let made = |name: &str| {
        let selection = Selection { name: name.to_owned(), variant: None, params: Vec::new() };
        create(&selection, stack.window.cc_variant, &stack.init(name))
    };
    made(name).or_else(|_| made(reno)).expect("Reno")
}

fn endpoint(role: Role, stack: &Arc<Stack>, name: &str) -> Endpoint {
    Endpoint::new(Config {
        connection: 0,
        role,
        stack: Arc::clone(stack),
        cc: algorithm(stack, name),
        isn: 1_000,
        timestamp_offset: 7,
    })
}

/// All segments of a connection with their times, and the state of its sender at the end.
fn run(stack: &Arc<Stack>, name: &str, path: Path, predicts: bool) -> Vec<String> {
    PREDICTS.set(predicts);
    let mut ends = [endpoint(Role::Active, stack, name), endpoint(Role::Passive, stack, name)];
    let mut random = Stream::new(path.seed, "path");
    let mut travelling: BTreeMap<(Time, u32), (usize, Segment)> = BTreeMap::new();
    let mut transcript = Vec::new();
    let mut now = Time::ZERO;
    // What an end has written in the place of a segment that reached it.
    let mut answers = [None, None];
    ends[0].connect();
    ends[0].write(path.bytes);
    ends[0].close();
    while now < END {
        for (from, end) in ends.iter_mut().enumerate() {
            let mut transmit = Transmit::Segment;
            while transmit == Transmit::Segment {
                let mut segment = Segment::default();
                transmit = match answers[from].take() {
                    Some((transmit, answer)) => {
                        segment = answer;
                        transmit
                    }
                    None => end.transmit_into(&mut segment, now),
                };
                if transmit == Transmit::Nothing {
                    break;
                }
                transcript.push(format!("{now:?} {from} {segment:?}"));
                let late = Duration::from_micros(u64::from(random.unit() < path.late) * 7_000);
                let arrives = now + Duration::from_millis(20) + late;
                if segment.flags.has(Flags::ECT) && random.unit() < path.marked {
                    segment.flags = segment.flags.with(Flags::CE);
                }
                if random.unit() >= path.lost {
                    travelling.insert((arrives, transcript.len() as u32), (1 - from, segment));
                }
            }
        }
        let arrival = travelling.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let timeouts = [0, 1].map(|end| ends[end].poll_timeout());
        now = arrival.min(timeouts[0]).min(timeouts[1]).max(now);
        if arrival == now
            && let Some((_, (to, mut segment))) = travelling.pop_first()
        {
            match ends[to].answer(&mut segment, now) {
                Some(Transmit::Nothing) => {}
                Some(transmit) => answers[to] = Some((transmit, segment)),
                None => ends[to].handle_segment(&segment, now),
            }
        }
        for end in (0..2).filter(|end| timeouts[*end] <= now) {
            ends[end].handle_timeout(now);
        }
    }
    let sender = ends[0].sender();
    let windows = (sender.cwnd(), sender.ssthresh(), sender.pipe(), sender.una());
    transcript.push(format!("{windows:?} {:?} {:?}", sender.counters(), sender.srtt()));
    transcript
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn the_same_segments_with_and_without_prediction(
        preset in 0..PRESETS.len(),
        name in prop::sample::select(&ALGORITHMS[..]),
        ecn in prop::sample::select(&[EcnMode::Off, EcnMode::Classic, EcnMode::Accurate][..]),
        sack in prop::bool::ANY,
        (seed, bytes) in (any::<u64>(), 1_000u64..400_000),
        lost in prop::sample::select(&[0.0, 0.01, 0.05, 0.2][..]),
        late in prop::sample::select(&[0.0, 0.02, 0.2][..]),
        marked in prop::sample::select(&[0.0, 0.05][..]),
    ) {
        let stack = (PRESETS[preset].stack)().with(|s| {
            s.options.ecn = ecn;
            s.options.sack &= sack;
        });
        let path = Path { seed, lost, late, marked, bytes };
        let stack = Arc::new(stack);
        let slow = run(&stack, name, path, false);
        prop_assert_eq!(run(&stack, name, path, true), slow);
    }
}

#[test]
fn acknowledgements_are_predicted_after_a_loss_too() {
    for preset in PRESETS.iter().filter(|preset| preset.name != "ns3-3.29") {
        let stack = Arc::new((preset.stack)());
        let path = Path { seed: 1, lost: 0.001, late: 0.0, marked: 0.0, bytes: 4_000_000 };
        PREDICTED.set(0);
        let transcript = run(&stack, "reno", path, true);
        let is_from_sink = |line: &&String| line.split(' ').nth(1) == Some("1");
        let acknowledgements = transcript.iter().filter(is_from_sink).count();
        let counters = &transcript[transcript.len() - 1];
        assert!(!counters.contains("retransmissions: 0,"), "{}: nothing was lost", preset.name);
        // The rest comes in recovery, or tells of more than the next data.
        assert!(PREDICTED.get() > acknowledgements / 3, "{}: {counters}", preset.name);
    }
}
