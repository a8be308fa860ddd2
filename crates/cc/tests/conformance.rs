//! What every algorithm owes its stack, in every variant it has. An algorithm is tested as soon
//! as it is in the registry.

use fairway_cc::probe::{MSS, Probe, Start};
use fairway_cc::{
    Algorithm, CcError, CongestionControl, Init, Phase, Selection, Signal, SlowStart, Variant,
    algorithms, create,
};
use fairway_units::Duration;

const MSS_BYTES: u64 = MSS as u64;

fn selection(algorithm: &Algorithm, variant: Variant) -> Selection {
    Selection { name: algorithm.name.to_owned(), variant: Some(variant), params: Vec::new() }
}

fn init() -> Init {
    Init {
        mss: MSS,
        initial_window: 10 * MSS_BYTES,
        initial_ssthresh: None,
        slow_start: None,
        seed: 1,
        coupling: None,
        abe: false,
    }
}

/// Every algorithm in every variant, with how to call it in a failure.
fn each() -> impl Iterator<Item = (String, &'static Algorithm, Variant)> {
    algorithms().iter().flat_map(|algorithm| {
        algorithm.variants.iter().map(move |variant| {
            (format!("{} ({})", algorithm.name, variant.name()), algorithm, *variant)
        })
    })
}

fn make(algorithm: &Algorithm, variant: Variant) -> Box<dyn CongestionControl> {
    create(&selection(algorithm, variant), variant, &init())
        .unwrap_or_else(|error| panic!("{}: {error}", algorithm.name))
}

fn probe(algorithm: &Algorithm, variant: Variant) -> Probe {
    let mut probe = Probe::of(make(algorithm, variant), Duration::from_millis(60));
    if !probe.cc.answers_loss() {
        // 20 Mbit/s: what follows a model of its path does not stop before it finds an end.
        probe.delivery_rate = Some(2.5e6);
    }
    probe
}

/// A probe whose windows are kept after every event.
struct Sender {
    probe: Probe,
    /// Congestion window and threshold.
    trace: Vec<(u64, u64)>,
}

impl Sender {
    fn new(cc: Box<dyn CongestionControl>) -> Self {
        Sender { probe: Probe::of(cc, Duration::from_millis(60)), trace: Vec::new() }
    }

    fn record(&mut self) {
        self.trace.push((self.probe.cc.cwnd(), self.probe.cc.ssthresh()));
    }

    /// Loss or mark, and the end of the episode.
    fn episode(&mut self, signal: Signal) {
        self.probe.congestion(signal);
        self.record();
        self.probe.ack(1);
        self.record();
        self.probe.recover();
        self.record();
    }
}

/// A number between 0 and `below`, the next of a fixed sequence (Knuth's MMIX multiplier).
fn next(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// A life of everything that can happen, the same for the same seed.
fn live(cc: Box<dyn CongestionControl>, seed: u64) -> Sender {
    let mut sender = Sender::new(cc);
    let mut state = seed;
    for _ in 0..4_000 {
        match next(&mut state, 400) {
            0 => sender.episode(Signal::Loss),
            1 => sender.episode(Signal::Ecn),
            2 => {
                sender.probe.rto();
                let flow = sender.probe.flow();
                sender.probe.cc.on_rto(false, &flow);
                sender.record();
                sender.probe.round();
                sender.probe.recover();
            }
            3 => {
                sender.probe.congestion(Signal::Loss);
                let flow = sender.probe.flow();
                sender.probe.cc.on_spurious(&flow);
                sender.probe.phase = Phase::Open;
            }
            4 => {
                let (idle, rto) = (Duration::from_secs(3), Duration::from_millis(260));
                sender.probe.now = sender.probe.now + idle;
                let flow = sender.probe.flow();
                sender.probe.cc.on_idle(idle, rto, 10 * u64::from(MSS), &flow);
            }
            5 => {
                let pause = Duration::from_secs(next(&mut state, 500));
                sender.probe.now = sender.probe.now + pause;
            }
            6 => sender.probe.rtt = Duration::from_micros(next(&mut state, 400_000)),
            7 => sender.probe.marked = next(&mut state, 3) as f64 / 2.0,
            8 => sender.probe.one_way_delay_ms = Some(next(&mut state, 1 << 32) as u32),
            9 => sender.probe.delivery_rate = Some(next(&mut state, 1_000_000_000) as f64),
            choice => {
                let rtt = sender.probe.rtt;
                sender.probe.rtt = rtt + Duration::from_micros(next(&mut state, 30_000));
                sender.probe.may_grow = choice % 10 != 7;
                sender.probe.ack(1 + (choice % 3) as u32);
                sender.probe.may_grow = true;
                sender.probe.rtt = rtt;
            }
        }
        sender.record();
    }
    sender
}

#[test]
fn the_window_is_finite_and_at_least_one_segment() {
    for (name, algorithm, variant) in each() {
        // ns-3.29 halves the window for a mark, to one segment at least (`TcpSocketBase::SendDataPacket`).
        let least = if variant == Variant::Ns3_29 { MSS_BYTES } else { 2 * MSS_BYTES };
        for seed in 0..5 {
            for (cwnd, ssthresh) in live(make(algorithm, variant), seed).trace {
                assert!(cwnd >= MSS_BYTES, "{name}, seed {seed}: window of {cwnd} bytes");
                assert!(cwnd < 1 << 40, "{name}, seed {seed}: window of {cwnd} bytes");
                assert!(ssthresh >= least, "{name}, seed {seed}: threshold of {ssthresh}");
            }
        }
    }
}

#[test]
fn a_reduction_never_leaves_a_larger_window() {
    for (name, algorithm, variant) in each() {
        // In ns-3.29 the window becomes the threshold, whatever that is (`TcpClassicRecovery`), and
        // Westwood+'s is what it measured.
        if (algorithm.name, variant) == ("westwood+", Variant::Ns3_29) {
            continue;
        }
        let mut probe = probe(algorithm, variant);
        for episode in 0..30 {
            for _ in 0..=episode % 7 {
                probe.round();
            }
            let before = probe.cwnd();
            probe.congestion(if episode % 3 == 2 { Signal::Ecn } else { Signal::Loss });
            // RFC 5681 keeps two segments however small the window was.
            let allowed = before.max(2);
            assert!(probe.cwnd() <= allowed, "{name}, episode {episode}: window grew");
            probe.recover();
            // What does not answer losses doubles on a path without a queue, for ever.
            if before > 2_000 && !probe.cc.answers_loss() {
                break;
            }
        }
    }
}

#[test]
fn a_timeout_leaves_one_segment() {
    for (name, algorithm, variant) in each() {
        let mut probe = probe(algorithm, variant);
        probe.rounds(5);
        probe.rto();
        assert_eq!(probe.cwnd(), 1, "{name}");
    }
}

#[test]
fn a_large_window_loses_something() {
    for (name, algorithm, variant) in each() {
        let mut probe = probe(algorithm, variant);
        probe.rounds(5);
        let before = probe.cwnd();
        if probe.cc.answers_loss() {
            probe.congestion(Signal::Loss);
            let ssthresh = probe.ssthresh().expect("a threshold after a loss");
            assert!(before > 30, "{name}: {before} segments after five rounds of slow start");
            assert!(ssthresh < before, "{name}: {before} segments kept whole");
        }
    }
}

#[test]
fn an_acknowledgement_that_may_not_grow_the_window_does_not() {
    for (name, algorithm, variant) in each() {
        let mut probe = probe(algorithm, variant);
        probe.round();
        probe.loss();
        if !probe.cc.answers_loss() {
            continue;
        }
        let before = probe.cwnd();
        probe.may_grow = false;
        for _ in 0..200 {
            probe.ack(1);
            assert!(probe.cwnd() <= before, "{name}");
        }
    }
}

#[test]
fn congestion_avoidance_grows_in_the_end() {
    for (name, algorithm, variant) in each() {
        let mut probe = probe(algorithm, variant);
        probe.rounds(4);
        probe.loss();
        if !probe.cc.answers_loss() {
            continue;
        }
        let before = probe.cwnd();
        probe.rounds(100);
        assert!(probe.cwnd() > before, "{name}: {} of {before}", probe.cwnd());
    }
}

#[test]
fn a_spurious_loss_is_undone() {
    for (name, algorithm, variant) in each() {
        let mut probe = probe(algorithm, variant);
        probe.rounds(4);
        let (cwnd, ssthresh) = (probe.cc.cwnd(), probe.cc.ssthresh());
        probe.congestion(Signal::Loss);
        let flow = probe.flow();
        probe.cc.on_spurious(&flow);
        // The modules of 2.6.22 compute the old window from the new threshold, and may be one
        // segment short.
        let undone = probe.cc.cwnd() + u64::from(MSS);
        assert!(undone >= cwnd, "{name}: {undone} of {cwnd}");
        assert!(probe.cc.ssthresh() >= ssthresh, "{name}: threshold");
    }
}

#[test]
fn sums_by_hand_come_out() {
    let mut wrong = Vec::new();
    for algorithm in algorithms() {
        assert!(algorithm.vectors.len() >= 4, "{}: fewer than four sums", algorithm.name);
        for vector in algorithm.vectors {
            if !vector.holds() {
                let computed = (vector.computed)();
                let sum = vector.sum;
                wrong.push(format!("{}: {sum}: not {computed}", algorithm.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_algorithm_is_read_in_one_sitting() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/algorithms");
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let text = std::fs::read_to_string(&path).expect("a source file");
            let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
            assert!(lines <= 400, "{}: {lines} lines without its tests", path.display());
        }
    }
}

#[test]
fn every_algorithm_says_what_it_does_and_where_it_is_from() {
    for algorithm in algorithms() {
        let name = algorithm.name;
        assert!(algorithm.header().lines().count() >= 5, "{name}: a header of a few words");
        assert!(algorithm.header().contains("Source"), "{name}: no source in the header");
        assert!(algorithm.summary.ends_with('.'), "{name}: the summary is no sentence");
        assert!(!algorithm.source.is_empty() && !algorithm.signal.is_empty(), "{name}");
        assert!(algorithm.year >= 1988, "{name}: {}", algorithm.year);
    }
}

#[test]
fn the_same_events_give_the_same_windows() {
    for (name, algorithm, variant) in each() {
        let first = live(make(algorithm, variant), 7).trace;
        let second = live(make(algorithm, variant), 7).trace;
        assert!(first == second, "{name}");
        let other = live(make(algorithm, variant), 8).trace;
        assert!(first != other, "{name}: the events do not matter");
    }
}

#[test]
fn algorithms_made_in_any_order_do_not_disturb_each_other() {
    let forwards: Vec<_> = each().map(|(_, a, v)| make(a, v)).collect();
    let mut backwards: Vec<_> =
        each().collect::<Vec<_>>().into_iter().rev().map(|(_, a, v)| make(a, v)).collect();
    backwards.reverse();
    for (((name, ..), one), other) in each().zip(forwards).zip(backwards) {
        assert!(live(one, 3).trace == live(other, 3).trace, "{name}");
    }
}

#[test]
fn every_slow_start_goes_with_every_algorithm() {
    for (name, algorithm, variant) in each() {
        for slow_start in SlowStart::NAMES {
            let chosen = SlowStart::from_name(slow_start, None).expect("a listed name");
            let init = Init { slow_start: Some(chosen), ..init() };
            let cc = create(&selection(algorithm, variant), variant, &init).expect("a listed name");
            let mut probe = Probe::of(cc, Duration::from_millis(60));
            probe.rounds(3);
            assert!(probe.cwnd() >= 20, "{name}, {slow_start}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    for (name, algorithm, variant) in each() {
        for param in algorithm.params.iter().filter(|p| p.is_in(variant)) {
            for value in [param.min - 1.0, param.max + 1.0, f64::NAN, f64::INFINITY] {
                let mut selection = selection(algorithm, variant);
                selection.params.push((param.name.to_owned(), value));
                let refused = create(&selection, variant, &init()).err();
                assert!(
                    matches!(refused, Some(CcError::OutOfRange { param: p, .. }) if p == param.name),
                    "{name}.{} = {value}: {refused:?}",
                    param.name
                );
            }
            if param.whole && param.max >= param.min + 1.0 {
                let mut selection = selection(algorithm, variant);
                selection.params.push((param.name.to_owned(), param.min + 0.5));
                let refused = create(&selection, variant, &init()).err();
                assert!(matches!(refused, Some(CcError::NotWhole { .. })), "{name}: {refused:?}");
            }
        }
    }
}

#[test]
fn parameters_at_the_ends_of_their_range_work() {
    for (name, algorithm, variant) in each() {
        for param in algorithm.params.iter().filter(|p| p.is_in(variant)) {
            for value in [param.min, param.max] {
                let mut selection = selection(algorithm, variant);
                selection.params.push((param.name.to_owned(), value));
                let cc = create(&selection, variant, &init()).expect("within the range");
                for (cwnd, _) in live(cc, 11).trace {
                    assert!(cwnd >= MSS_BYTES, "{name}.{} = {value}: {cwnd}", param.name);
                }
            }
        }
    }
}

#[test]
fn parameters_of_other_variants_are_refused() {
    for (name, algorithm, variant) in each() {
        let strangers = algorithm.params.iter().filter(|p| !p.is_in(variant)).map(|p| p.name);
        for param in strangers.chain(["no such parameter"]) {
            let mut selection = selection(algorithm, variant);
            selection.params.push((param.to_owned(), 1.0));
            let refused = create(&selection, variant, &init()).err();
            assert!(matches!(refused, Some(CcError::UnknownParam { .. })), "{name}: {refused:?}");
        }
    }
}

#[test]
fn the_registry_is_well_formed() {
    let mut names: Vec<_> = algorithms().iter().map(|a| a.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), algorithms().len(), "two algorithms of one name");
    for (name, algorithm, variant) in each() {
        for param in algorithm.params.iter().filter(|p| p.is_in(variant)) {
            let default = param.default_in(variant);
            assert!(default >= param.min && default <= param.max, "{name}.{}", param.name);
            assert!(!param.whole || default.fract() == 0.0, "{name}.{}", param.name);
        }
    }
}

#[test]
fn unknown_names_say_what_there_is() {
    let wrong = Selection { name: "renoo".to_owned(), variant: None, params: Vec::new() };
    let Err(error) = create(&wrong, Variant::Paper, &init()) else { panic!("renoo exists") };
    let message = error.to_string();
    assert!(message.contains("renoo") && message.contains("cubic"), "{message}");
}

#[test]
fn a_mark_costs_less_than_a_loss_with_abe() {
    // RFC 8511 section 4.1: of 100 segments in flight 80 with standard TCP, 85 with CUBIC; a loss costs
    // what it always does, and an algorithm with an answer of its own keeps it.
    let ssthresh = |name: &str, variant, abe, signal| {
        let mut probe = Probe::new(name, variant, &Start { abe, ..Start::avoidance(100, 100) });
        probe.congestion(signal);
        probe.ssthresh()
    };
    for variant in [Variant::Paper, Variant::Linux6_1] {
        for (name, kept) in [("reno", 80), ("cubic", 85)] {
            assert_eq!(ssthresh(name, variant, true, Signal::Ecn), Some(kept), "{name}");
            let loss = ssthresh(name, variant, false, Signal::Loss);
            assert_eq!(ssthresh(name, variant, true, Signal::Loss), loss, "{name}");
            assert_eq!(ssthresh(name, variant, false, Signal::Ecn), loss, "{name}");
        }
    }
    let scalable = |abe| ssthresh("scalable", Variant::Paper, abe, Signal::Ecn);
    assert_eq!(scalable(true), scalable(false));
}
