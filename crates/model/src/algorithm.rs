//! What the models know of congestion-control algorithms.

use crate::constants::{CUBIC_RETENTION, HTCP_RETENTIONS, SCALABLE_REDUCTION};
use crate::laws;

/// A congestion-control algorithm, as far as models know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Reno and NewReno. Also what others are taken for that the models do not know: none of them is
    /// slower.
    Reno,
    /// BIC. Its window at a given loss is taken for Reno's, which is never more.
    Bic,
    /// CUBIC.
    Cubic,
    /// HighSpeed TCP.
    HighSpeed,
    /// H-TCP.
    Htcp,
    /// Scalable TCP, as Linux has it.
    Scalable,
    /// TCP Westwood+, which falls to the bandwidth-delay product that it measures.
    WestwoodPlus,
    /// Vegas, FAST, LEDBAT and others that keep a queue of their own choice, and take a loss as Reno does.
    Delay,
    /// BBR, which a loss below about 15 % does not slow down.
    Bbr,
}

/// Names, as `TCP_CONGESTION` and experiment files have them.
const NAMES: [(&str, Algorithm); 16] = [
    ("reno", Algorithm::Reno),
    ("newreno", Algorithm::Reno),
    ("bic", Algorithm::Bic),
    ("cubic", Algorithm::Cubic),
    ("highspeed", Algorithm::HighSpeed),
    ("hstcp", Algorithm::HighSpeed),
    ("htcp", Algorithm::Htcp),
    ("scalable", Algorithm::Scalable),
    ("westwood", Algorithm::WestwoodPlus),
    ("westwood+", Algorithm::WestwoodPlus),
    ("vegas", Algorithm::Delay),
    ("fast", Algorithm::Delay),
    ("ledbat", Algorithm::Delay),
    ("nv", Algorithm::Delay),
    ("lp", Algorithm::Delay),
    ("bbr", Algorithm::Bbr),
];

impl Algorithm {
    /// The algorithm of a name, if the models know it.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }

    /// Every name that the models know.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Mean window in packets where each packet is lost with probability `p` in (0, 1), at a round-trip
    /// time of `t` seconds; none if such losses do not limit it.
    pub fn window(self, p: f64, t: f64) -> Option<f64> {
        match self {
            Algorithm::Reno | Algorithm::Bic | Algorithm::Delay => {
                Some(laws::mathis_window(p, 1.0))
            }
            Algorithm::Cubic => Some(laws::cubic_window(p, t)),
            Algorithm::HighSpeed => Some(laws::highspeed_window(p)),
            // Among random losses throughput differs between epochs, so that it halves.
            Algorithm::Htcp => Some(laws::htcp_epoch(p, t, HTCP_RETENTIONS.0).window_packets),
            Algorithm::Scalable => Some(laws::scalable_linux_window(p)),
            // Losses without a queue leave it the window that it had.
            Algorithm::WestwoodPlus | Algorithm::Bbr => None,
        }
    }

    /// The loss at which its mean window is `w` packets; none if losses do not set it.
    pub fn loss_at(self, w: f64, t: f64) -> Option<f64> {
        match self {
            Algorithm::Reno | Algorithm::Delay => Some(laws::aimd_loss(w, 1.0, 0.5)),
            Algorithm::Cubic => Some(laws::cubic_loss(w, t)),
            Algorithm::HighSpeed => Some(laws::highspeed_loss(w)),
            Algorithm::Htcp => Some(laws::htcp_loss(w, t, HTCP_RETENTIONS.0)),
            Algorithm::Scalable => Some(laws::scalable_linux_loss(w)),
            Algorithm::Bic | Algorithm::WestwoodPlus | Algorithm::Bbr => None,
        }
    }

    /// Whether it is Reno at a window as small as the one it has at this loss.
    pub fn is_reno_at(self, p: f64, t: f64) -> bool {
        let reno = laws::mathis_window(p, 1.0);
        self.window(p, t).is_some_and(|window| window <= reno * (1.0 + 1e-9))
    }

    /// The share of its window that a stream keeps when it backs off, of a window of `w` packets on a
    /// path of `pipe` packets and a buffer of `buffer`; none if it never falls below what fills the path.
    pub fn retention(self, w: f64, pipe: f64, buffer: f64) -> Option<f64> {
        match self {
            // RFC 5681, section 3.1.
            Algorithm::Reno => Some(0.5),
            // RFC 9438, section 4.6.
            Algorithm::Cubic => Some(CUBIC_RETENTION),
            // Linux `net/ipv4/tcp_bic.c`: beta = 819/1024.
            Algorithm::Bic => Some(0.8),
            // Kelly 2003, section 2.
            Algorithm::Scalable => Some(1.0 - SCALABLE_REDUCTION),
            Algorithm::HighSpeed => Some(1.0 - laws::highspeed_reduction(w)),
            // Within its bounds it falls to exactly what fills the path.
            Algorithm::Htcp => {
                let ratio = pipe / (pipe + buffer);
                (ratio > HTCP_RETENTIONS.1).then_some(HTCP_RETENTIONS.1)
            }
            Algorithm::WestwoodPlus | Algorithm::Delay | Algorithm::Bbr => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Algorithm::named("cubic"), Some(Algorithm::Cubic));
        assert_eq!(Algorithm::named("westwood"), Some(Algorithm::WestwoodPlus));
        assert_eq!(Algorithm::named("of my own"), None);
    }

    #[test]
    fn htcp_keeps_what_fills_the_path() {
        // 250 / 550 and 250 / 400 are below 0.8: as much as fills it, or half with a queue left over.
        assert_eq!(Algorithm::Htcp.retention(1.0, 250.0, 300.0), None);
        assert_eq!(Algorithm::Htcp.retention(1.0, 250.0, 150.0), None);
        // 250 / 280 is more than it may keep.
        assert_eq!(Algorithm::Htcp.retention(1.0, 250.0, 30.0), Some(0.8));
    }

    #[test]
    fn cubic_is_reno_on_short_paths() {
        assert!(Algorithm::Cubic.is_reno_at(0.01, 0.05) && !Algorithm::Cubic.is_reno_at(1e-5, 0.2));
        assert!(Algorithm::Reno.is_reno_at(0.01, 0.05) && !Algorithm::Bbr.is_reno_at(0.01, 0.05));
    }
}
