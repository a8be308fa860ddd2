//! TCP-LP of Linux 6.1 (`lp`, `net/ipv4/tcp_lp.c`).
//!
//! Differences from the paper: integers in ms; the second-largest delay as `d_max`; an indication
//! at the threshold itself, which includes the first delay; after an indication, `d_min` is the
//! smoothed delay and `d_max` twice that, so that the next requires an increase by 15 % of the
//! delay; every acknowledgement can be an indication; ssthresh does not change.
//!
//! The delay is the receiver's clock, times 1000 Hz over its estimated rate, minus the sender's.
//! Each connection's timestamps have a random offset, eight times the delay is stored in 32 bits,
//! and the ratio of the rates is a whole number. This has three consequences, all observed in a
//! real Linux:
//!
//! - With an offset of 2²⁹ ms or more, as in seven of eight connections, the smoothed delay is below
//!   every threshold: it is Reno.
//! - With a smaller offset, the first delay halves the window, and no real increase is large enough
//!   after that.
//! - The rate is estimated from two consecutive acknowledgements, whose times are whole milliseconds.
//!   If they are more frequent than about one per two ms, the estimate is above 1000 Hz half of the
//!   time: the ratio is 0, the "delay" changes by the whole offset, and the window repeatedly falls
//!   to 1.

use crate::{Ack, Flow, Rule, Signal, Timestamps, Vector, Window};

/// Vector: the first delay.
pub(super) const HALVED: Vector = Vector::new(
    "Linux, the clocks 10 ms further: 1000 Hz; delay 1010 − 970 = 40, which is its own threshold: 40/2",
    20.0,
    || tests_window(&[(1_000, 960), (1_010, 970)]),
);
/// Vector: a receiver whose clock seems fast.
pub(super) const TWICE: Vector = Vector::new(
    "Linux, 50 ms there in 10 here: (64·1000 + 5000 − 1000)/64 = 1062 Hz, 1000/1062 = 0; delay 2³² − 980, \
     smoothed (2³² − 700)/8, threshold 40 + 0.15·40 = 46: 1",
    1.0,
    || tests_window(&[(1_000, 960), (1_010, 970), (1_060, 980)]),
);

/// The window, from 40, after acknowledgements with these timestamps, each 100 ms after its echo.
fn tests_window(timestamps: &[(u32, u32)]) -> f64 {
    let mut rule = Linux6_1::new();
    let mut window = Window::new(40);
    for &(value, echo) in timestamps {
        rule.react_to(Timestamps { value, echo }, true, &mut window, echo + 100);
    }
    f64::from(window.cwnd)
}

/// Frequency of Linux's timestamp clock (`TCP_TS_HZ`).
const TIMESTAMP_HZ: u32 = 1000;

/// The kernel's values: ms in 32 bits, which wrap.
pub(super) struct Linux6_1 {
    min: u32,
    max: u32,
    /// Maximum delay, not used (`owd_max_rsv`).
    largest: u32,
    /// Eight times the smoothed delay.
    smoothed_eighths: u32,
    /// Estimated frequency of the receiver's clock; zero before the first estimate.
    remote_hz: u32,
    /// Timestamps of the last sample, for the rate.
    last: Timestamps,
    inference_ms: u32,
    /// Zero before the first.
    last_drop_ms: u32,
    is_within_inference: bool,
}

impl Linux6_1 {
    pub(super) fn new() -> Self {
        Linux6_1 {
            min: u32::MAX,
            max: 0,
            largest: 0,
            smoothed_eighths: 0,
            remote_hz: 0,
            last: Timestamps::default(),
            inference_ms: 0,
            last_drop_ms: 0,
            is_within_inference: false,
        }
    }

    /// `tcp_lp_remote_hz_estimator`: 63/64 of the estimate and 1/64 of the last two acknowledgements.
    fn estimate_rate(&mut self, now: Timestamps) {
        let last = std::mem::replace(&mut self.last, now);
        let is_first = last.value == 0 || last.echo == 0;
        if is_first || now.value == last.value || now.echo == last.echo {
            return;
        }
        let there = now.value.wrapping_sub(last.value);
        let here = now.echo.wrapping_sub(last.echo);
        let latest = i64::from(TIMESTAMP_HZ.wrapping_mul(there) / here);
        let scaled = match i64::from(self.remote_hz << 6) {
            0 => latest << 6,
            old => old + latest - (old >> 6),
        };
        self.remote_hz = (scaled >> 6) as u32;
    }

    /// `tcp_lp_owd_calculator`; zero is none.
    fn delay(&mut self, now: Timestamps) -> u32 {
        self.estimate_rate(now);
        match TIMESTAMP_HZ.checked_div(self.remote_hz) {
            Some(times) => now.value.wrapping_mul(times).wrapping_sub(now.echo),
            None => 0,
        }
    }

    /// `tcp_lp_rtt_sample`.
    fn sample(&mut self, delay: u32) {
        if delay == 0 {
            return;
        }
        self.min = self.min.min(delay);
        if delay > self.largest && delay > self.max {
            self.max = if self.largest == 0 { delay } else { self.largest };
            self.largest = delay;
        } else if delay > self.max {
            self.max = delay;
        }
        self.smoothed_eighths = match self.smoothed_eighths {
            0 => delay << 3,
            old => old.wrapping_add(delay.wrapping_sub(old >> 3)),
        };
    }

    fn is_below_threshold(&self) -> bool {
        let range = self.max.wrapping_sub(self.min);
        let threshold = self.min.wrapping_add(range.wrapping_mul(15) / 100);
        self.smoothed_eighths >> 3 < threshold
    }

    /// `tcp_lp_pkts_acked`; `measured` is whether the acknowledgement gave an RTT sample.
    fn react_to(
        &mut self,
        timestamps: Timestamps,
        measured: bool,
        window: &mut Window,
        now_ms: u32,
    ) {
        if measured {
            let delay = self.delay(timestamps);
            self.sample(delay);
        }
        let round_trip_ms = now_ms.wrapping_sub(timestamps.echo);
        if round_trip_ms as i32 > 0 {
            self.inference_ms = round_trip_ms.wrapping_mul(3);
        }
        self.is_within_inference =
            self.last_drop_ms > 0 && now_ms.wrapping_sub(self.last_drop_ms) < self.inference_ms;
        if !self.is_below_threshold() {
            self.back_off(window, now_ms);
        }
    }

    fn back_off(&mut self, window: &mut Window, now_ms: u32) {
        self.min = self.smoothed_eighths >> 3;
        self.max = self.smoothed_eighths >> 2;
        self.largest = self.max;
        window.cwnd = if self.is_within_inference { 1 } else { (window.cwnd / 2).max(1) };
        window.fraction = 0.0;
        self.last_drop_ms = now_ms;
    }
}

impl Rule for Linux6_1 {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        if !self.is_within_inference {
            window.additive_increase(window.cwnd, acked);
        }
    }

    fn slow_start(&mut self, _window: &mut Window, _acked: u32, _flow: &Flow) -> Option<u32> {
        self.is_within_inference.then_some(0)
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        let Some(timestamps) = ack.timestamps else { return };
        let measured = ack.rtt.is_some_and(|rtt| rtt.as_nanos() >= 1_000);
        self.react_to(timestamps, measured, window, flow.now.as_millis() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    /// An acknowledgement that arrives 100 ms after the echoed timestamp.
    fn stamped(value: u32, echo: u32) -> (Ack, Flow) {
        let timestamps = Some(Timestamps { value, echo });
        (Ack { timestamps, ..ack(1, 100) }, flow(u64::from(echo) + 100, 40, 100))
    }

    #[test]
    fn the_second_largest_delay_counts() {
        let mut rule = Linux6_1::new();
        let mut ranges = Vec::new();
        for delay in [20, 60, 80, 70] {
            rule.sample(delay);
            ranges.push((rule.min, rule.max, rule.largest));
        }
        assert_eq!(ranges, [(20, 20, 20), (20, 20, 60), (20, 60, 80), (20, 70, 80)]);
    }

    #[test]
    fn after_an_indication_the_next_requires_15_percent_more_delay() {
        let mut rule = Linux6_1::new();
        rule.smoothed_eighths = 240;
        let mut window = Window::new(40);
        rule.back_off(&mut window, 5_000);
        // 30 and 60: 30 + 450/100 = 34.
        assert_eq!((rule.min, rule.max, window.cwnd), (30, 60, 20));
        assert!(rule.is_below_threshold());
        rule.smoothed_eighths = 34 * 8;
        assert!(!rule.is_below_threshold());
    }

    #[test]
    fn the_rate_of_the_receivers_clock_is_rounded_down_each_time() {
        let mut rule = Linux6_1::new();
        let mut rates = Vec::new();
        // 1000·10/10; (64·1000 + 1000·1/2 − 1000)/64 = 992.2; (64·992 + 2000 − 992)/64 = 1007.75;
        // the same time again says nothing.
        for (value, echo) in [(5_000, 100), (5_010, 110), (5_011, 112), (5_013, 113), (5_020, 113)]
        {
            rule.estimate_rate(Timestamps { value, echo });
            rates.push(rule.remote_hz);
        }
        assert_eq!(rates, [0, 1_000, 992, 1_007, 1_007]);
    }

    #[test]
    fn a_slow_clock_counts_twice() {
        let mut rule = Linux6_1::new();
        rule.delay(Timestamps { value: 5_000, echo: 100 });
        // 5 ms there in 10 here: 500 Hz. 2·5005 − 110.
        assert_eq!(rule.delay(Timestamps { value: 5_005, echo: 110 }), 9_900);
    }

    #[test]
    fn with_a_large_offset_of_the_clocks_it_is_reno() {
        // 3·10⁹ does not fit in 29 bits: what is smoothed is below every threshold.
        let mut rule = Linux6_1::new();
        let mut window = Window::new(40);
        for (later, delay) in [(0, 20), (10, 60), (20, 300), (30, 500)] {
            let (ack, flow) = stamped(3_000_000_000 + later + delay, 5_000 + later);
            rule.on_sample(&mut window, &ack, &flow);
        }
        assert_eq!(window.cwnd, 40);
    }

    #[test]
    fn nothing_grows_for_three_round_trips_after_an_indication() {
        let mut rule = Linux6_1::new();
        let mut window = Window::new(40);
        for (value, echo) in [(1_000, 960), (1_010, 970)] {
            let (ack, flow) = stamped(value, echo);
            rule.on_sample(&mut window, &ack, &flow);
        }
        assert_eq!(window.cwnd, 20);
        // The window was halved at 1070; the round trip is 100 ms.
        for (echo, grows) in [(971, false), (1_269, false), (1_270, true)] {
            let (ack, flow) = stamped(echo + 40, echo);
            rule.on_sample(&mut window, &ack, &flow);
            assert_eq!(rule.slow_start(&mut window, 1, &flow).is_none(), grows, "{echo}");
        }
    }
}
