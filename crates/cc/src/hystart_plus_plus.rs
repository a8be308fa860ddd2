//! HyStart++: when the delay increases, slow start continues at a quarter of its rate, and ends
//! only if the delay stays high.
//!
//! Source: RFC 9406 section 4. In the first slow start the window grows by the segments
//! acknowledged, at most 8 per acknowledgement. Conservative slow start, with a quarter of the
//! growth, begins when 8 RTTs have been measured in a round and their minimum exceeds that of the
//! last round by an eighth, bounded to 4 to 16 ms. If the minimum RTT of a round falls below the
//! one at which it began, the increase had another cause and slow start resumes. After five rounds,
//! including the one in which it began, the threshold is set to the window. Later slow starts are
//! standard (section 4.3 requires only the first).
//!
//! L = 8 is for senders without pacing. A round ends when all data sent before its start is
//! acknowledged. Quarters of a segment are carried over.

use fairway_units::Duration;

use crate::{Ack, Flow, Window};

/// MIN_RTT_THRESH and MAX_RTT_THRESH (section 4.3).
const RISE_MIN: Duration = Duration::from_millis(4);
const RISE_MAX: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR (section 4.3).
const RISE_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: RTT samples of a round before its minimum is used (section 4.3).
const MIN_SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR (section 4.3).
const CONSERVATIVE_DIVISOR: u32 = 4;
/// CSS_ROUNDS: rounds of conservative slow start before congestion avoidance (section 4.3).
const CONSERVATIVE_ROUNDS: u32 = 5;
/// L without pacing: most segments added per acknowledgement (section 4.3).
const MAX_STEP: u32 = 8;

/// State of HyStart++.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HyStartPlusPlus {
    /// The round ends when this byte is acknowledged; none before the first round.
    round_end: Option<u64>,
    /// Minimum RTT of the last round and of this one.
    last_round_min: Option<Duration>,
    round_min: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
    /// Segments acknowledged in conservative slow start and not yet used for growth.
    quarters: u32,
}

/// A conservative slow start.
#[derive(Clone, PartialEq, Debug)]
struct Conservative {
    /// Minimum RTT of the round in which it began.
    baseline: Duration,
    /// Rounds completed.
    rounds: u32,
}

impl HyStartPlusPlus {
    /// Initial state.
    pub fn new() -> Self {
        HyStartPlusPlus::default()
    }

    /// Process an acknowledgement: set the threshold to the window if the path is full.
    pub fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        if !is_first_slow_start(window) {
            return;
        }
        if self.round_end.is_none_or(|end| flow.snd_una >= end) && self.end_round(flow) {
            window.ssthresh = window.cwnd;
            return;
        }
        let Some(rtt) = ack.rtt else { return };
        self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
        self.samples = self.samples.saturating_add(1);
        if self.samples >= MIN_SAMPLES {
            self.judge();
        }
    }

    /// Grow for one acknowledgement of `acked` segments. Returns those left for congestion
    /// avoidance.
    pub fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        if !is_first_slow_start(window) {
            return crate::SlowStart::Standard.grow(window, acked);
        }
        let mut step = acked.min(MAX_STEP);
        if self.conservative.is_some() {
            self.quarters += step;
            step = self.quarters / CONSERVATIVE_DIVISOR;
            self.quarters %= CONSERVATIVE_DIVISOR;
        }
        // The window stays below the infinite threshold.
        window.cwnd = window.cwnd.saturating_add(step).min(u32::MAX - 1);
        0
    }

    /// Begin a round. Returns whether the last one completed conservative slow start.
    fn end_round(&mut self, flow: &Flow) -> bool {
        self.round_end = Some(flow.snd_nxt);
        self.last_round_min = self.round_min.take();
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds >= CONSERVATIVE_ROUNDS
    }

    /// Enter conservative slow start, or resume slow start.
    fn judge(&mut self) {
        let Some(round_min) = self.round_min else { return };
        match (&self.conservative, self.last_round_min) {
            (Some(conservative), _) if round_min < conservative.baseline => {
                self.conservative = None;
            }
            (None, Some(last)) if round_min >= last + tolerated_rise(last) => {
                self.conservative = Some(Conservative { baseline: round_min, rounds: 0 });
                self.quarters = 0;
            }
            _ => {}
        }
    }
}

/// RttThresh (section 4.2).
fn tolerated_rise(last_round_min: Duration) -> Duration {
    Duration::from_nanos(last_round_min.as_nanos() / RISE_DIVISOR).clamp(RISE_MIN, RISE_MAX)
}

/// Whether the threshold is still infinite.
fn is_first_slow_start(window: &Window) -> bool {
    window.ssthresh == u32::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlowStart;
    use crate::testing::flow;

    /// HyStart++ and its window, in rounds of 10 segments.
    struct Sender {
        hystart: HyStartPlusPlus,
        window: Window,
        snd_una: u64,
    }

    impl Sender {
        fn new() -> Self {
            Sender { hystart: HyStartPlusPlus::new(), window: Window::new(10), snd_una: 0 }
        }

        /// A round of ten acknowledgements with this RTT, growing the window.
        fn round(&mut self, rtt: Duration) -> &mut Self {
            let end = self.snd_una + 10;
            while self.snd_una < end {
                let flow = Flow { snd_una: self.snd_una, snd_nxt: end, ..flow(0, 0, 0) };
                let ack = Ack { rtt: Some(rtt), ..Ack::default() };
                self.hystart.on_sample(&mut self.window, &ack, &flow);
                if self.window.cwnd < self.window.ssthresh {
                    self.hystart.grow(&mut self.window, 1);
                }
                self.snd_una += 1;
            }
            self
        }

        fn is_conservative(&self) -> bool {
            self.hystart.conservative.is_some()
        }
    }

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_rise_of_an_eighth_between_4_and_16_ms_makes_it_conservative() {
        // 20/8 = 2.5, raised to 4: 24 ms. 100/8 = 12.5: 112.5. 200/8 = 25, lowered to 16: 216.
        for (last, enough) in [(20_000, 24_000), (100_000, 112_500), (200_000, 216_000)] {
            let mut sender = Sender::new();
            assert!(!sender.round(micros(last)).round(micros(enough - 1)).is_conservative());
            let mut sender = Sender::new();
            assert!(sender.round(micros(last)).round(micros(enough)).is_conservative());
        }
    }

    #[test]
    fn the_eighth_sample_decides_and_growth_falls_to_a_quarter() {
        // Seven acknowledgements add one each, the last three a quarter each: 10 + 10 + 7.
        let mut sender = Sender::new();
        sender.round(micros(20_000)).round(micros(30_000));
        assert_eq!((sender.window.cwnd, sender.hystart.quarters), (27, 3));
        // Ten more and the three left over: 13/4.
        sender.round(micros(30_000));
        assert_eq!((sender.window.cwnd, sender.hystart.quarters), (30, 1));
    }

    #[test]
    fn five_rounds_end_slow_start() {
        let mut sender = Sender::new();
        sender.round(micros(20_000));
        // The round in which it begins and four more; the next acknowledgement ends slow start.
        for _ in 0..5 {
            sender.round(micros(30_000));
            assert_eq!(sender.window.ssthresh, u32::MAX);
        }
        // 27 segments, then four rounds of ten: 43/4 = 10 more.
        assert_eq!(sender.window.cwnd, 37);
        sender.round(micros(30_000));
        assert_eq!((sender.window.cwnd, sender.window.ssthresh), (37, 37));
    }

    #[test]
    fn a_delay_that_falls_again_resumes_slow_start() {
        let mut sender = Sender::new();
        sender.round(micros(20_000)).round(micros(30_000)).round(micros(29_999));
        assert!(!sender.is_conservative());
        // The last minimum was 29.999: an eighth is 3.75, so 33.999 would suffice. After 33.998,
        // with an eighth of 4.24975, it is 38.24775.
        assert!(!sender.round(micros(33_998)).is_conservative());
        assert!(!sender.round(micros(38_247)).is_conservative());
        let mut sender = Sender::new();
        assert!(sender.round(micros(33_998)).round(micros(38_248)).is_conservative());
    }

    #[test]
    fn an_acknowledgement_adds_8_segments_at_most() {
        let mut hystart = HyStartPlusPlus::new();
        let mut window = Window::new(100);
        assert_eq!(hystart.grow(&mut window, 30), 0);
        assert_eq!(window.cwnd, 108);
    }

    #[test]
    fn later_slow_starts_are_the_standard_one() {
        let mut slow_start = SlowStart::HyStartPlusPlus(HyStartPlusPlus::new());
        let mut window = Window { ssthresh: 40, ..Window::new(10) };
        assert!(slow_start.is_active(&window));
        assert_eq!(slow_start.grow(&mut window, 35), 5);
        assert_eq!(window.cwnd, 40);
    }
}
