//! What every algorithm owes its stack, in every variant it has. An algorithm is tested as soon
//! as it is in the registry.

use fairway_cc::{
    Ack, Algorithm, CcError, CongestionControl, Flow, Init, Phase, Selection, Signal, SlowStart,
    Variant, algorithms, create,
};
use fairway_units::{Duration, Time};

const MSS: u64 = 1448;

fn selection(algorithm: &Algorithm, variant: Variant) -> Selection {
    Selection { name: algorithm.name.to_owned(), variant: Some(variant), params: Vec::new() }
}

fn init() -> Init {
    Init {
        mss: MSS as u32,
        initial_window: 10 * MSS,
        initial_ssthresh: None,
        slow_start: None,
        seed: 1,
        coupling: None,
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

/// A sender reduced to what an algorithm sees of it: it fills its window, and is acknowledged a
/// segment or more at a time, evenly over a round trip.
struct Sender {
    cc: Box<dyn CongestionControl>,
    now: Time,
    rtt: Duration,
    snd_una: u64,
    phase: Phase,
    /// The windows after every event.
    trace: Vec<(u64, u64)>,
}

impl Sender {
    fn new(cc: Box<dyn CongestionControl>) -> Self {
        Sender {
            cc,
            now: Time::from_nanos(5_000_000_000),
            rtt: Duration::from_millis(60),
            snd_una: 0,
            phase: Phase::Open,
            trace: Vec::new(),
        }
    }

    fn flow(&self) -> Flow {
        let flight_size = self.cc.cwnd();
        Flow {
            now: self.now,
            mss: MSS as u32,
            flight_size,
            in_flight: flight_size,
            srtt: Some(self.rtt),
            min_rtt: Some(self.rtt),
            snd_una: self.snd_una,
            snd_nxt: self.snd_una + flight_size,
            delivered: self.snd_una,
            lost: 0,
            phase: self.phase,
        }
    }

    fn record(&mut self) {
        self.trace.push((self.cc.cwnd(), self.cc.ssthresh()));
    }

    fn ack(&mut self, segments: u64, rtt: Duration, may_grow: bool) {
        let window = self.cc.cwnd() / MSS;
        let spacing = self.rtt.as_nanos() * segments / window.max(1);
        self.now = self.now + Duration::from_nanos(spacing);
        self.snd_una += segments * MSS;
        let ack = Ack {
            acked: segments * MSS,
            delivered: segments * MSS,
            rtt: Some(rtt),
            may_grow,
            ..Ack::default()
        };
        let flow = self.flow();
        self.cc.on_ack(&ack, &flow);
        self.record();
    }

    fn round(&mut self, segments_per_ack: u64) {
        let acks = (self.cc.cwnd() / MSS / segments_per_ack).max(1);
        for _ in 0..acks {
            self.ack(segments_per_ack, self.rtt, true);
        }
    }

    fn lose(&mut self, signal: Signal) {
        let flow = self.flow();
        self.cc.on_congestion(signal, &flow);
        self.phase = Phase::Recovery;
        self.record();
    }

    fn recover(&mut self) {
        self.ack(1, self.rtt, false);
        let flow = self.flow();
        self.cc.on_recovered(self.cc.ssthresh(), &flow);
        self.phase = Phase::Open;
        self.record();
    }

    fn time_out(&mut self, first: bool) {
        let flow = self.flow();
        self.cc.on_rto(first, &flow);
        self.phase = Phase::Loss;
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
            0 => {
                sender.lose(Signal::Loss);
                sender.recover();
            }
            1 => {
                sender.lose(Signal::Ecn);
                sender.recover();
            }
            2 => {
                sender.time_out(true);
                sender.time_out(false);
                sender.round(1);
                sender.recover();
            }
            3 => {
                sender.lose(Signal::Loss);
                let flow = sender.flow();
                sender.cc.on_spurious(&flow);
                sender.phase = Phase::Open;
                sender.record();
            }
            4 => {
                let (idle, rto) = (Duration::from_secs(3), Duration::from_millis(260));
                sender.now = sender.now + idle;
                let flow = sender.flow();
                sender.cc.on_idle(idle, rto, 10 * MSS, &flow);
                sender.record();
            }
            5 => sender.now = sender.now + Duration::from_secs(next(&mut state, 500)),
            6 => sender.rtt = Duration::from_micros(next(&mut state, 400_000)),
            choice => {
                let jitter = Duration::from_micros(next(&mut state, 30_000));
                sender.ack(1 + choice % 3, sender.rtt + jitter, choice % 10 != 7);
            }
        }
    }
    sender
}

#[test]
fn the_window_is_finite_and_at_least_one_segment() {
    for (name, algorithm, variant) in each() {
        for seed in 0..5 {
            for (cwnd, ssthresh) in live(make(algorithm, variant), seed).trace {
                assert!(cwnd >= MSS, "{name}, seed {seed}: window of {cwnd} bytes");
                assert!(cwnd < 1 << 40, "{name}, seed {seed}: window of {cwnd} bytes");
                assert!(ssthresh >= 2 * MSS, "{name}, seed {seed}: threshold of {ssthresh}");
            }
        }
    }
}

#[test]
fn a_reduction_never_leaves_a_larger_window() {
    for (name, algorithm, variant) in each() {
        let mut sender = Sender::new(make(algorithm, variant));
        for episode in 0..30 {
            for _ in 0..=episode % 7 {
                sender.round(1 + episode % 2);
            }
            let before = sender.cc.cwnd();
            let signal = if episode % 3 == 2 { Signal::Ecn } else { Signal::Loss };
            sender.lose(signal);
            // RFC 5681 keeps two segments however small the window was.
            let allowed = before.max(2 * MSS);
            assert!(sender.cc.cwnd() <= allowed, "{name}, episode {episode}: window grew");
            assert!(sender.cc.ssthresh() <= allowed, "{name}, episode {episode}: threshold");
            sender.recover();
        }
        sender.time_out(true);
        assert_eq!(sender.cc.cwnd(), MSS, "{name}: after a timeout");
    }
}

#[test]
fn a_large_window_loses_something() {
    for (name, algorithm, variant) in each() {
        let mut sender = Sender::new(make(algorithm, variant));
        while sender.cc.cwnd() < 200 * MSS {
            sender.round(1);
        }
        let before = sender.cc.cwnd();
        sender.lose(Signal::Loss);
        assert!(sender.cc.ssthresh() < before, "{name}: {before} bytes kept whole");
    }
}

#[test]
fn an_acknowledgement_that_may_not_grow_the_window_does_not() {
    for (name, algorithm, variant) in each() {
        let mut sender = Sender::new(make(algorithm, variant));
        sender.round(1);
        sender.lose(Signal::Loss);
        sender.recover();
        let before = sender.cc.cwnd();
        for _ in 0..200 {
            sender.ack(1, sender.rtt, false);
        }
        assert_eq!(sender.cc.cwnd(), before, "{name}");
    }
}

#[test]
fn congestion_avoidance_grows_in_the_end() {
    for (name, algorithm, variant) in each() {
        let mut sender = Sender::new(make(algorithm, variant));
        while sender.cc.cwnd() < 60 * MSS {
            sender.round(1);
        }
        sender.lose(Signal::Loss);
        sender.recover();
        let before = sender.cc.cwnd();
        for _ in 0..100 {
            sender.round(1);
        }
        assert!(sender.cc.cwnd() > before, "{name}: {} of {before}", sender.cc.cwnd());
    }
}

#[test]
fn a_spurious_loss_is_undone() {
    for (name, algorithm, variant) in each() {
        let mut sender = Sender::new(make(algorithm, variant));
        for _ in 0..4 {
            sender.round(1);
        }
        let (cwnd, ssthresh) = (sender.cc.cwnd(), sender.cc.ssthresh());
        sender.lose(Signal::Loss);
        let flow = sender.flow();
        sender.cc.on_spurious(&flow);
        // The modules of 2.6.22 compute the old window from the new threshold, and may be one
        // segment short.
        assert!(sender.cc.cwnd() + MSS >= cwnd, "{name}: {} of {cwnd}", sender.cc.cwnd());
        assert!(sender.cc.ssthresh() >= ssthresh, "{name}: threshold");
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
        for slow_start in ["standard", "per-ack", "limited", "hystart"] {
            let chosen = SlowStart::from_name(slow_start, None).expect("a listed name");
            let init = Init { slow_start: Some(chosen), ..init() };
            let cc = create(&selection(algorithm, variant), variant, &init).expect("a listed name");
            let mut sender = Sender::new(cc);
            for _ in 0..3 {
                sender.round(1);
            }
            assert!(sender.cc.cwnd() >= 20 * MSS, "{name}, {slow_start}");
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
                    assert!(cwnd >= MSS, "{name}.{} = {value}: {cwnd}", param.name);
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
