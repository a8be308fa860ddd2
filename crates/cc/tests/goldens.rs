//! The window of every algorithm, round trip by round trip, through everything that happens to a
//! connection. A difference is shown line by line; `make goldens` accepts it.

use std::fmt::Write;

use fairway_cc::probe::{MSS, Probe, Start};
use fairway_cc::{Signal, Variant, algorithms};
use fairway_units::Duration;

/// The path holds a hundred segments; what is beyond waits in a queue.
const BDP_SEGMENTS: u64 = 100;

const HEADING: &str =
    "windows by round in segments: cwnd[/ssthresh if it changed][@pacing per RTT]";

/// An algorithm on a path of which the window alone fills queue and round trip.
struct Walk {
    probe: Probe,
    base_rtt: Duration,
    /// As last written.
    ssthresh: Option<u64>,
    text: String,
}

impl Walk {
    fn new(name: &str, variant: Variant) -> Self {
        let mut probe = Probe::new(name, variant, &Start::slow_start(10, 50));
        probe.one_way_delay_ms = Some(25);
        Walk { probe, base_rtt: Duration::from_millis(50), ssthresh: None, text: String::new() }
    }

    /// One window of acknowledgements.
    fn round(&mut self) {
        let window = self.probe.cwnd();
        let queue = window.saturating_sub(BDP_SEGMENTS);
        let base_ms = self.base_rtt.as_millis();
        let queueing = Duration::from_micros(queue * base_ms * 1_000 / BDP_SEGMENTS);
        self.probe.rtt = self.base_rtt + queueing;
        self.probe.one_way_delay_ms = Some((base_ms / 2 + queueing.as_millis()) as u32);
        let delivered = window.min(BDP_SEGMENTS) * u64::from(MSS);
        self.probe.delivery_rate = Some(delivered as f64 / self.base_rtt.as_secs_f64());
        self.probe.round();
        self.write();
    }

    /// An event and the rounds after it, on one line.
    fn then(&mut self, what: &str, event: impl FnOnce(&mut Self), rounds: u32) {
        event(self);
        write!(self.text, "\n{what}:").expect("a string");
        self.write();
        for _ in 0..rounds {
            self.round();
        }
    }

    fn write(&mut self) {
        write!(self.text, " {}", self.probe.cwnd()).expect("a string");
        let ssthresh = self.probe.ssthresh();
        if ssthresh != self.ssthresh {
            let value = ssthresh.map_or("-".to_owned(), |s| s.to_string());
            write!(self.text, "/{value}").expect("a string");
            self.ssthresh = ssthresh;
        }
        if let Some(rate) = self.probe.cc.pacing_rate() {
            write!(self.text, "@{:.1}", self.pace(rate.as_bps() as f64)).expect("a string");
        }
    }

    fn pace(&self, bits_per_s: f64) -> f64 {
        bits_per_s / 8.0 * self.base_rtt.as_secs_f64() / f64::from(MSS)
    }
}

/// Everything in turn: slow start without loss, a loss, a timeout, a longer path, marks.
fn walk(name: &str, variant: Variant) -> String {
    let mut walk = Walk::new(name, variant);
    walk.then("slow start", |_| {}, 5);
    walk.then("a loss", |walk| _ = walk.probe.loss(), 15);
    walk.then("a timeout", |walk| _ = walk.probe.rto(), 15);
    // The acknowledgement of what was outstanding ends it.
    walk.probe.recover();
    walk.then("the path is 100 ms long", |walk| walk.base_rtt = Duration::from_millis(100), 10);
    let accurate = walk.probe.cc.needs().ecn.is_accurate();
    let marks = |walk: &mut Walk| {
        walk.probe.congestion(Signal::Ecn);
        walk.probe.recover();
        walk.probe.marked = if accurate { 0.25 } else { 0.0 };
    };
    walk.then("a quarter is marked, or all at once", marks, 1);
    walk.then("no marks", |walk| walk.probe.marked = 0.0, 9);
    walk.text
}

#[test]
fn windows_by_round() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        let mut text = format!("{HEADING}\n");
        for algorithm in algorithms() {
            for variant in algorithm.variants {
                let walk = walk(algorithm.name, *variant);
                writeln!(text, "\n{} ({}){walk}", algorithm.name, variant.name()).expect("a string");
            }
        }
        insta::assert_snapshot!("windows", text);
    });
}
