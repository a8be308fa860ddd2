//! HighSpeed TCP: above 38 segments, growth increases and back-off decreases with the window.
//!
//! Source: RFC 3649 (S. Floyd, 2003) section 5. Up to `low_window` it is Reno. Above, back-off b(w)
//! falls from 0.5 to `high_decrease` with the logarithm of the window, and growth is a(w) =
//! w²·p(w)·2·b(w)/(2 − b(w)) per round trip, where p(w) is the loss rate at which the average
//! window is w.
//!
//! Linux (`net/ipv4/tcp_highspeed.c`) uses the table of the RFC's appendix B, whose rows are where
//! a(w) reaches the next whole number: a is the number of the row, b is in 1/256, truncated. It
//! adds a to the counter once per acknowledgement, however much that acknowledges, and grows by at
//! most one segment. It looks up the row only in congestion avoidance, so the first loss after slow
//! start halves any window. Linux 2.6.22 does the same and holds half the threshold during recovery
//! (`tcp_reno_min_cwnd`).
//!
//! ns-3.29 (`tcp-highspeed.cc`): the RFC's table with b in two decimals. Each segment counts a(w),
//! and back-off applies to the bytes in flight, by their own row.
//!
//! ns-2's own agents (`tcp/tcp.cc`, `increase_param`, `decrease_param`) evaluate the RFC's lines in
//! real numbers at each acknowledgement. The first loss halves any window.

mod ns2;
mod ns3;

use std::sync::LazyLock;

use crate::ns2::{Agent, max_ssthresh};
use crate::ns3::Socket;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::whole_segments,
};

/// The variants that compute the response from its parameters.
const REAL: &[Variant] = &[Variant::Paper, Variant::Ns2];

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "highspeed",
    title: "HighSpeed TCP",
    summary: "Growth rises and back-off falls with the window, by RFC 3649's table.",
    family: Family::Classic,
    signal: "loss",
    year: 2003,
    source: "RFC 3649",
    variants: &Variant::ALL,
    params: &[
        Param::new("low_window", "window in segments up to which it is Reno", 38.0, 2.0, 1e3)
            .whole()
            .only(REAL),
        Param::new(
            "high_window",
            "average window in segments at a loss rate of high_p",
            83_000.0,
            2e3,
            1e8,
        )
        .only(REAL),
        Param::new("high_p", "loss rate, per segment, at high_window", 1e-7, 1e-12, 1e-6)
            .only(REAL),
        Param::new(
            "high_decrease",
            "fraction by which a loss reduces the window at high_window",
            0.1,
            0.01,
            0.5,
        )
        .only(REAL),
        max_ssthresh(),
    ],
    vectors: &[
        Vector::new("b(1000) = 0.5 − 0.4·(3 − 1.5798)/(4.9191 − 1.5798)", 0.3299, || {
            Response::rfc().decrease(1000.0)
        })
        .within(5e-5),
        Vector::new("a(1000) = 10⁶/(12.8 · 3981.07) · 2·0.3299/1.6701", 7.753, || {
            Response::rfc().increase(1000.0)
        })
        .within(1e-3),
        Vector::new("b(10000) = 0.5 − 0.4·(4 − 1.5798)/3.3393", 0.2101, || {
            Response::rfc().decrease(10_000.0)
        })
        .within(5e-5),
        Vector::new("RFC 3649 appendix B: the second row is for windows up to 118", 118.0, || {
            f64::from(TABLE[1].cwnd)
        }),
        Vector::new("and takes ⌊256 · 0.4411⌋ = 112 of 256 away", 112.0, || {
            f64::from(TABLE[1].decrease)
        }),
        Vector::new("RFC 3649 appendix B: a = 30 up to 10661", 10_661.0, || {
            f64::from(TABLE[29].cwnd)
        }),
        Vector::new(
            "ns-2, W = 2000 at its second loss: 1000 · (1 − 0.3299) = 670.1",
            670.0,
            || {
                Probe::new("highspeed", Variant::Ns2, &Start::avoidance(2000, 100))
                    .loss()
                    .loss()
                    .window()
            },
        ),
        Vector::new(
            "W = 1000 at a loss of 6.1, row in force: 1000 − ⌊1000 · 83/256⌋",
            676.0,
            || {
                Probe::new("highspeed", Variant::Linux6_1, &Start::avoidance(1000, 100))
                    .ack(1)
                    .loss()
                    .window()
            },
        ),
        ns3::KEPT,
        ns3::LAST,
    ],
    build,
};

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    match variant {
        Variant::Paper => {
            let response = Response::new(
                params.get("low_window"),
                params.get("high_window"),
                params.get("high_p"),
                params.get("high_decrease"),
            );
            Box::new(Windowed::new(Rfc3649::new(response), slow_start, init))
        }
        Variant::Ns2 => {
            let rule = ns2::Ns2::new(
                params.get("low_window"),
                params.get("high_window"),
                params.get("high_p"),
                params.get("high_decrease"),
            );
            Box::new(Agent::limited(rule, params, init))
        }
        Variant::Ns3_29 => Box::new(Socket::new(ns3::HighSpeed::default(), init)),
        Variant::Linux6_1 | Variant::Linux2_6_22 => {
            let rule =
                Linux { table: &TABLE, row: 0, halves_in_recovery: variant != Variant::Linux6_1 };
            Box::new(Windowed::new(rule, slow_start, init))
        }
    }
}

/// RFC 3649 section 5: b(w), p(w) and a(w) for windows above `low_window`.
#[derive(Clone, Copy)]
struct Response {
    low_window: f64,
    log_low: f64,
    /// 1/(log high_window − log low_window).
    per_log: f64,
    high_decrease: f64,
    /// p(w) = 1/(divisor · w^exponent).
    divisor: f64,
    exponent: f64,
}

impl Response {
    /// The RFC's recommended response; p(w) = 0.078/w^1.2 is its own rounding, and 1/12.8 is the
    /// 0.078 with which its appendix B comes out exactly.
    fn rfc() -> Self {
        Response { divisor: 12.8, exponent: 1.2, ..Response::through(38.0, 83_000.0, 1e-7, 0.1) }
    }

    fn new(low_window: f64, high_window: f64, high_p: f64, high_decrease: f64) -> Self {
        if (low_window, high_window, high_p) == (38.0, 83_000.0, 1e-7) {
            Response { high_decrease, ..Response::rfc() }
        } else {
            Response::through(low_window, high_window, high_p, high_decrease)
        }
    }

    /// The straight line between (log low_window, log low_p) and (log high_window, log high_p),
    /// where low_p = 1.5/low_window² is Reno's.
    fn through(low_window: f64, high_window: f64, high_p: f64, high_decrease: f64) -> Self {
        let log_low = libm::log(low_window);
        let per_log = 1.0 / (libm::log(high_window) - log_low);
        let low_p = 1.5 / (low_window * low_window);
        let exponent = (libm::log(low_p) - libm::log(high_p)) * per_log;
        let divisor = 1.0 / (low_p * libm::pow(low_window, exponent));
        Response { low_window, log_low, per_log, high_decrease, divisor, exponent }
    }

    /// Fraction by which a loss reduces window `w`. The RFC's line continues beyond high_window;
    /// here it is bounded by half of high_decrease, so that every loss reduces the window.
    fn decrease(&self, w: f64) -> f64 {
        let along = (libm::log(w) - self.log_low) * self.per_log;
        (0.5 + (self.high_decrease - 0.5) * along).clamp(self.high_decrease / 2.0, 0.5)
    }

    /// Growth in segments per round trip at window `w`.
    fn increase(&self, w: f64) -> f64 {
        let b = self.decrease(w);
        w * w * 2.0 * b / ((2.0 - b) * self.divisor * libm::pow(w, self.exponent))
    }
}

struct Rfc3649 {
    response: Response,
    /// Growth per round trip at `grown_at` segments, cached: it takes two transcendental functions.
    increase: f64,
    grown_at: u32,
}

impl Rfc3649 {
    fn new(response: Response) -> Self {
        Rfc3649 { response, increase: 1.0, grown_at: 0 }
    }
}

impl Rule for Rfc3649 {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        if window.cwnd != self.grown_at {
            self.grown_at = window.cwnd;
            let w = f64::from(window.cwnd);
            self.increase = if w <= self.response.low_window {
                1.0
            } else {
                self.response.increase(w).max(1.0)
            };
        }
        window.add(self.increase * f64::from(acked) / window.exact());
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        let w = window.exact();
        let b = if w <= self.response.low_window { 0.5 } else { self.response.decrease(w) };
        whole_segments(w * (1.0 - b))
    }
}

/// A row of the table: up to this window, growth is the row's number counted from 1.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Row {
    /// Segments.
    cwnd: u32,
    /// Fraction by which a loss reduces the window, in 1/256.
    decrease: u32,
}

/// Linux omits the 73rd and last row of the RFC.
const ROWS: usize = 72;

static TABLE: LazyLock<[Row; ROWS]> = LazyLock::new(|| {
    let response = Response::rfc();
    let mut rows = [Row { cwnd: 38, decrease: 128 }; ROWS];
    let (mut filled, mut last_increase, mut cwnd) = (1, 1.0, 38);
    while filled < ROWS {
        cwnd += 1;
        let w = f64::from(cwnd);
        let increase = response.increase(w);
        if increase > last_increase + 1.0 {
            last_increase = increase;
            rows[filled] = Row { cwnd, decrease: (response.decrease(w) * 256.0) as u32 };
            filled += 1;
        }
    }
    rows
});

struct Linux {
    table: &'static [Row; ROWS],
    /// Index of the current row: table\[row − 1\].cwnd < cwnd ≤ table\[row\].cwnd.
    row: usize,
    halves_in_recovery: bool,
}

impl Linux {
    fn look_up(&mut self, cwnd: u32) {
        while cwnd > self.table[self.row].cwnd && self.row < ROWS - 1 {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= self.table[self.row - 1].cwnd {
            self.row -= 1;
        }
    }
}

impl Rule for Linux {
    // `hstcp_cong_avoid` is either in slow start or in congestion avoidance, never in both.
    const TAKES_REST_OF_SLOW_START: bool = false;

    fn growth(&mut self, window: &mut Window, _acked: u32, _ack: &Ack, _flow: &Flow) {
        self.look_up(window.cwnd);
        window.credit += self.row as u32 + 1;
        if window.credit >= window.cwnd {
            window.credit -= window.cwnd;
            window.cwnd = window.cwnd.saturating_add(1);
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        let share = (u64::from(window.cwnd) * u64::from(self.table[self.row].decrease)) >> 8;
        window.cwnd - share as u32
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        if self.halves_in_recovery { ssthresh / 2 } else { ssthresh }
    }

    fn undo_window(&self, window: &Window, prior: u32) -> u32 {
        if self.halves_in_recovery { window.ssthresh.saturating_mul(2) } else { prior }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    fn linux() -> Linux {
        Linux { table: &TABLE, row: 0, halves_in_recovery: false }
    }

    #[test]
    fn the_table_is_that_of_the_rfc() {
        // RFC 3649 appendix B: number of the row (a), window, and b to two digits; Linux's
        // `hstcp_aimd_vals` has the same windows, with ⌊256·b⌋.
        for (a, cwnd, decrease) in [
            (1, 38, 128),
            (2, 118, 112),
            (3, 221, 104),
            (5, 495, 93),
            (8, 1_058, 83),
            (30, 10_661, 52),
            (54, 37_253, 36),
            (62, 53_677, 31),
            (71, 84_035, 25),
            (72, 89_053, 24),
        ] {
            let row = TABLE.iter().position(|row| row.cwnd == cwnd);
            assert_eq!(row, Some(a - 1), "{cwnd}");
            assert_eq!(TABLE[a - 1].decrease, decrease, "{cwnd}");
        }
    }

    #[test]
    fn the_formula_at_1000_segments() {
        // b = 0.5 − 0.4·(3 − 1.5798)/(4.9191 − 1.5798) = 0.3299; p = 1000^−1.2/12.8 = 1.962e-5
        // (1000^1.2 = 3981.07); a = 10⁶ · 1.962e-5 · 2 · 0.3299/1.6701 = 7.754.
        let response = Response::rfc();
        assert!((response.decrease(1000.0) - 0.3299).abs() < 1e-4);
        assert!((response.increase(1000.0) - 7.754).abs() < 2e-3);
        // At 10000: b = 0.5 − 0.4·(4 − 1.5798)/3.3393 = 0.2101,
        // a = 10⁸ · (63095.7·12.8)⁻¹ · 0.4202/1.7899 = 29.07.
        assert!((response.decrease(10_000.0) - 0.2101).abs() < 1e-4);
        assert!((response.increase(10_000.0) - 29.07).abs() < 2e-2);
        // The ends: 0.5 at 38, 0.1 at 83000.
        assert!((response.decrease(38.0) - 0.5).abs() < 1e-12);
        assert!((response.decrease(83_000.0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn other_parameters_give_the_line_through_their_ends() {
        // a(83000) = 83000² · 1e-7 · 2·0.1/1.9 = 72.515 without the RFC's rounding of p(w);
        // 38.5 instead of 38 only to leave the RFC's own case.
        let response = Response::new(38.5, 83_000.0, 1e-7, 0.1);
        assert!((response.increase(83_000.0) - 72.515).abs() < 1e-2);
        // At low_window: w² · 1.5/w² · 2·0.5/1.5 = 1.
        assert!((response.increase(38.5) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn paper_growth_and_backoff() {
        let mut rule = Rfc3649::new(Response::rfc());
        let mut window = Window::new(1000);
        rule.growth(&mut window, 1000, &ack(1000, 40), &flow(0, 1000, 40));
        assert!((window.exact() - 1007.754).abs() < 2e-3);
        // 1000·(1 − 0.3299) = 670.1; at 38 half: 19.
        assert_eq!(rule.backoff(&Window::new(1000), Signal::Loss, &flow(0, 0, 40)), 670);
        assert_eq!(rule.backoff(&Window::new(38), Signal::Loss, &flow(0, 0, 40)), 19);
    }

    #[test]
    fn linux_loss_after_growth_uses_the_row_and_before_it_half() {
        // 1000 − ⌊1000·83/256⌋ = 1000 − 324 = 676; 118 − ⌊118·112/256⌋ = 118 − 51 = 67;
        // 10000 − ⌊10000·52/256⌋ = 10000 − 2031 = 7969; 83333 − ⌊83333·25/256⌋ = 75196.
        for (cwnd, kept) in [(38, 19), (118, 67), (1_000, 676), (10_000, 7_969), (83_333, 75_196)] {
            let mut rule = linux();
            let window = Window::new(cwnd);
            let flow = flow(0, cwnd, 40);
            assert_eq!(rule.backoff(&window, Signal::Loss, &flow), cwnd - cwnd / 2);
            rule.growth(&mut window.clone(), 1, &ack(1, 40), &flow);
            assert_eq!(rule.backoff(&window, Signal::Loss, &flow), kept, "{cwnd}");
        }
    }

    #[test]
    fn linux_adds_a_per_acknowledgement_and_one_segment_at_most() {
        // Window 1000: a = 8, so 125 acknowledgements per segment, however much they acknowledge.
        let mut rule = linux();
        let mut window = Window::new(1000);
        for _ in 0..124 {
            rule.growth(&mut window, 2, &ack(2, 40), &flow(0, 1000, 40));
        }
        assert_eq!((window.cwnd, window.credit), (1000, 992));
        rule.growth(&mut window, 2, &ack(2, 40), &flow(0, 1000, 40));
        assert_eq!((window.cwnd, window.credit), (1001, 0));
        // Back down the table: at 100 a is 2.
        window = Window::new(100);
        rule.growth(&mut window, 1, &ack(1, 40), &flow(0, 100, 40));
        assert_eq!(window.credit, 2);
    }
}
