//! Slow-start variants, chosen independently of the algorithm.

use crate::{Ack, Flow, HyStart, HyStartPlusPlus, Variant, Window};

/// How the window grows below the slow-start threshold.
#[derive(Clone, PartialEq, Debug)]
pub enum SlowStart {
    /// Linux 6.1 `tcp_slow_start`: one segment per delivered segment, up to exactly the threshold,
    /// with the rest left for congestion avoidance; active while cwnd < ssthresh.
    Standard,
    /// Linux 2.6.22 `tcp_slow_start`: one segment per acknowledgement; active while
    /// cwnd ≤ ssthresh. Above `max_ssthresh` segments, if given, growth is limited to about
    /// half of `max_ssthresh` per round trip.
    PerAck {
        /// `net.ipv4.tcp_max_ssthresh` in segments.
        max_ssthresh: Option<u32>,
    },
    /// ns-3.29 `TcpNewReno::SlowStart`: one segment per acknowledgement, with the other segments
    /// that it acknowledges left for congestion avoidance once the threshold is reached; active
    /// while cwnd < ssthresh.
    Ns3,
    /// RFC 3742 section 2: one segment per acknowledgement up to `max_ssthresh`, above it one
    /// for every K acknowledgements, K = ⌊cwnd / (max_ssthresh / 2)⌋; active while
    /// cwnd < ssthresh.
    Limited {
        /// max_ssthresh in segments, at least 2; the RFC recommends 100.
        max_ssthresh: u32,
    },
    /// As [`SlowStart::Standard`], ended early when the delay shows that the path is full.
    HyStart(HyStart),
    /// RFC 9406: slowed down when the delay rises, and ended if it stays high.
    HyStartPlusPlus(HyStartPlusPlus),
}

/// Why a slow start could not be created.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SlowStartError {
    /// No such slow start.
    #[error("no slow start named {name:?}; there is {}", SlowStart::NAMES.join(", "))]
    UnknownName {
        /// The name asked for.
        name: String,
    },
    /// A `max_ssthresh` for a slow start that has none.
    #[error("slow start {name:?} takes no max_ssthresh; only limited and per-ack do")]
    Superfluous {
        /// The slow start.
        name: String,
    },
    /// A `max_ssthresh` too small to divide by.
    #[error("max_ssthresh: {value} segments is too small; it must be 2 or more")]
    TooSmall {
        /// The value given, in segments.
        value: u32,
    },
}

/// RFC 3742 section 2: "100 MSS" is the recommended max_ssthresh.
const RECOMMENDED_MAX_SSTHRESH: u32 = 100;

impl SlowStart {
    /// The names written in experiment files.
    pub const NAMES: [&str; 6] = ["standard", "per-ack", "ns-3", "limited", "hystart", "hystart++"];

    /// The slow start of a variant.
    pub fn of(variant: Variant) -> Self {
        match variant {
            // The agents of ns-2 have their own (`crate::ns2`).
            Variant::Paper | Variant::Linux6_1 | Variant::Ns2 => SlowStart::Standard,
            Variant::Linux2_6_22 => SlowStart::PerAck { max_ssthresh: None },
            Variant::Ns3_29 => SlowStart::Ns3,
        }
    }

    /// The slow start called `name` in experiment files, one of [`SlowStart::NAMES`].
    /// `max_ssthresh`, in segments, applies to "limited" (default 100) and "per-ack" (default
    /// none).
    ///
    /// # Errors
    /// [`SlowStartError`] if there is no such slow start, or `max_ssthresh` does not fit it.
    pub fn from_name(name: &str, max_ssthresh: Option<u32>) -> Result<Self, SlowStartError> {
        if let Some(value) = max_ssthresh.filter(|value| *value < 2) {
            return Err(SlowStartError::TooSmall { value });
        }
        match name {
            "limited" => Ok(SlowStart::Limited {
                max_ssthresh: max_ssthresh.unwrap_or(RECOMMENDED_MAX_SSTHRESH),
            }),
            "per-ack" => Ok(SlowStart::PerAck { max_ssthresh }),
            "standard" | "ns-3" | "hystart" | "hystart++" if max_ssthresh.is_some() => {
                Err(SlowStartError::Superfluous { name: name.to_owned() })
            }
            "standard" => Ok(SlowStart::Standard),
            "ns-3" => Ok(SlowStart::Ns3),
            "hystart" => Ok(SlowStart::HyStart(HyStart::new())),
            "hystart++" => Ok(SlowStart::HyStartPlusPlus(HyStartPlusPlus::new())),
            _ => Err(SlowStartError::UnknownName { name: name.to_owned() }),
        }
    }

    /// The name written in experiment files.
    pub const fn name(&self) -> &'static str {
        match self {
            SlowStart::Standard => "standard",
            SlowStart::PerAck { .. } => "per-ack",
            SlowStart::Ns3 => "ns-3",
            SlowStart::Limited { .. } => "limited",
            SlowStart::HyStart(_) => "hystart",
            SlowStart::HyStartPlusPlus(_) => "hystart++",
        }
    }

    /// Whether the window is still in slow start.
    pub fn is_active(&self, window: &Window) -> bool {
        match self {
            SlowStart::PerAck { .. } => window.cwnd <= window.ssthresh,
            SlowStart::Standard
            | SlowStart::Ns3
            | SlowStart::Limited { .. }
            | SlowStart::HyStart(_)
            | SlowStart::HyStartPlusPlus(_) => window.cwnd < window.ssthresh,
        }
    }

    /// Grow for one acknowledgement of `acked` segments. Returns those left for congestion
    /// avoidance.
    pub fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        match self {
            SlowStart::Standard | SlowStart::HyStart(_) => {
                let target = window.cwnd.saturating_add(acked).min(window.ssthresh);
                let left = acked - (target - window.cwnd);
                window.cwnd = target;
                left
            }
            SlowStart::HyStartPlusPlus(hystart) => hystart.grow(window, acked),
            SlowStart::Ns3 => {
                window.cwnd = window.cwnd.saturating_add(1);
                if window.cwnd >= window.ssthresh { acked.saturating_sub(1) } else { 0 }
            }
            SlowStart::PerAck { max_ssthresh } => {
                window.credit = window.credit.saturating_add(match max_ssthresh {
                    Some(max) if window.cwnd > *max => *max / 2,
                    _ => window.cwnd,
                });
                while window.credit >= window.cwnd {
                    window.credit -= window.cwnd;
                    window.cwnd = window.cwnd.saturating_add(1);
                }
                0
            }
            SlowStart::Limited { max_ssthresh } => {
                let k = if window.cwnd <= *max_ssthresh {
                    1
                } else {
                    // K of the RFC, with 2·cwnd so that an odd max_ssthresh is halved exactly.
                    u64::from(window.cwnd) * 2 / u64::from(*max_ssthresh)
                };
                window.credit += 1;
                if u64::from(window.credit) >= k {
                    window.credit = 0;
                    window.cwnd = window.cwnd.saturating_add(1);
                }
                0
            }
        }
    }

    /// Process an acknowledgement before growth, for delay-based exits.
    pub fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        match self {
            SlowStart::HyStart(hystart) => hystart.on_sample(window, ack, flow),
            SlowStart::HyStartPlusPlus(hystart) => hystart.on_sample(window, ack, flow),
            SlowStart::Standard
            | SlowStart::PerAck { .. }
            | SlowStart::Ns3
            | SlowStart::Limited { .. } => {}
        }
    }

    /// The retransmission timer expired.
    pub fn on_rto(&mut self, flow: &Flow) {
        if let SlowStart::HyStart(hystart) = self {
            hystart.on_rto(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32) -> Window {
        Window { ssthresh, ..Window::new(cwnd) }
    }

    #[test]
    fn standard_stops_at_the_threshold_and_leaves_the_rest() {
        // 10 + 5 would be 15; the threshold is 12: two are used, three are left.
        let mut w = window(10, 12);
        assert_eq!(SlowStart::Standard.grow(&mut w, 5), 3);
        assert_eq!(w.cwnd, 12);
        assert!(!SlowStart::Standard.is_active(&w));
    }

    #[test]
    fn per_ack_grows_by_one_however_much_is_acknowledged_and_goes_one_past_the_threshold() {
        let mut slow_start = SlowStart::PerAck { max_ssthresh: None };
        let mut w = window(12, 12);
        assert!(slow_start.is_active(&w));
        assert_eq!(slow_start.grow(&mut w, 5), 0);
        assert_eq!(w.cwnd, 13);
        assert!(!slow_start.is_active(&w));
    }

    #[test]
    fn ns3_grows_by_one_and_leaves_the_rest_only_at_the_threshold() {
        // ns-3.29 `TcpNewReno::IncreaseWindow`: 10 + 1, then 11 + 1 = 12 and four are left.
        let mut w = window(10, 12);
        assert_eq!(SlowStart::Ns3.grow(&mut w, 5), 0);
        assert_eq!(SlowStart::Ns3.grow(&mut w, 5), 4);
        assert_eq!(w.cwnd, 12);
        assert!(!SlowStart::Ns3.is_active(&w));
    }

    #[test]
    fn per_ack_above_max_ssthresh_adds_half_of_it_over_the_window() {
        // A credit of 50 per acknowledgement against a window of 200: reached by the fourth.
        let mut slow_start = SlowStart::PerAck { max_ssthresh: Some(100) };
        let mut w = window(200, u32::MAX);
        for expected in [200, 200, 200, 201] {
            slow_start.grow(&mut w, 1);
            assert_eq!(w.cwnd, expected);
        }
        assert_eq!(w.credit, 0);
    }

    #[test]
    fn limited_needs_k_acknowledgements_per_segment() {
        // max_ssthresh 100, half of it 50: 100 is not above it; 101/50 = 2.02, 149/50 = 2.98,
        // 150/50 = 3, 1000/50 = 20.
        for (cwnd, k) in [(2, 1), (100, 1), (101, 2), (149, 2), (150, 3), (1000, 20)] {
            let mut slow_start = SlowStart::Limited { max_ssthresh: 100 };
            let mut w = window(cwnd, u32::MAX);
            for _ in 1..k {
                slow_start.grow(&mut w, 1);
                assert_eq!(w.cwnd, cwnd, "before acknowledgement {k} at {cwnd}");
            }
            slow_start.grow(&mut w, 1);
            assert_eq!(w.cwnd, cwnd + 1, "at acknowledgement {k} of {cwnd}");
        }
    }

    #[test]
    fn limited_adds_at_most_half_of_max_ssthresh_per_round() {
        // A round of 1000 acknowledgements at K = 20 (K = 21 from 1050 on): 50 segments.
        let mut slow_start = SlowStart::Limited { max_ssthresh: 100 };
        let mut w = window(1000, u32::MAX);
        for _ in 0..1000 {
            slow_start.grow(&mut w, 1);
        }
        assert_eq!(w.cwnd, 1050);
    }

    #[test]
    fn names_round_trip() {
        for name in SlowStart::NAMES {
            assert_eq!(SlowStart::from_name(name, None).unwrap().name(), name);
        }
        assert_eq!(
            SlowStart::from_name("limited", None),
            Ok(SlowStart::Limited { max_ssthresh: 100 })
        );
    }

    #[test]
    fn bad_names_and_values_are_refused() {
        let error = SlowStart::from_name("fast", None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no slow start named \"fast\"; there is standard, per-ack, ns-3, limited, hystart, \
             hystart++"
        );
        assert_eq!(
            SlowStart::from_name("limited", Some(1)),
            Err(SlowStartError::TooSmall { value: 1 })
        );
        assert_eq!(
            SlowStart::from_name("hystart", Some(100)),
            Err(SlowStartError::Superfluous { name: "hystart".to_owned() })
        );
    }
}
