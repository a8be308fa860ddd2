//! Constants that more than one model needs, each with its source. Those of an algorithm are the defaults of
//! its own parameters.

use fairway_cc::Variant::Paper;
use fairway_cc::default_of;

/// Below such a window, in packets, losses end in timeouts more often than not (RFC 5681, section 3.2, wants
/// three duplicate acknowledgements of each fast retransmit; PFTK's Q(w) = 3/w is more than a half).
pub const SMALL_WINDOW_PACKETS: f64 = 6.0;
/// Loss above which laws that leave timeouts out do not hold (Mathis et al. 1997, section 3).
pub const MUCH_LOSS: f64 = 0.02;

/// The share that CUBIC keeps (RFC 9438, section 4.6).
pub const CUBIC_RETENTION: f64 = default_of("cubic", Paper, "beta");
/// The share that H-TCP keeps is within these (draft-leith-tcp-htcp-06, section 2).
pub const HTCP_RETENTIONS: (f64, f64) = fairway_cc::equations::htcp::RETENTIONS;
/// What Scalable adds for each packet that is acknowledged, and what it gives up (Kelly 2003, section 2).
pub const SCALABLE_INCREASE: f64 = default_of("scalable", Paper, "a");
/// See [`SCALABLE_INCREASE`].
pub const SCALABLE_REDUCTION: f64 = default_of("scalable", Paper, "b");
/// The window in packets up to which Scalable is Reno (Kelly 2003, section 2.2).
pub const SCALABLE_LOW_WINDOW_PACKETS: f64 = default_of("scalable", Paper, "low_window");
/// HighSpeed's Low_Window in packets, up to which it is Reno (RFC 3649, section 5).
pub const HIGHSPEED_LOW_WINDOW_PACKETS: f64 = default_of("highspeed", Paper, "low_window");
/// The share that BIC gives up (Xu, Harfoush, Rhee 2004, section IV).
pub const BIC_REDUCTION: f64 = 1.0 - default_of("bic", Paper, "beta");
/// Its largest step in packets, Smax.
pub const BIC_MOST_STEP_PACKETS: f64 = default_of("bic", Paper, "max_increment");
/// Its smallest one, Smin.
pub const BIC_LEAST_STEP_PACKETS: f64 = default_of("bic", Paper, "min_increment");
/// BIC's low window in packets, up to which it is Reno (Xu, Harfoush, Rhee 2004, section IV; Linux,
/// `net/ipv4/tcp_bic.c`, `low_window`).
pub const BIC_LOW_WINDOW_PACKETS: f64 = default_of("bic", Paper, "low_window");
/// Round-trip time of the connection that Hybla wants to be as fast as (Caini, Firrincieli 2004, section 3;
/// Linux, `net/ipv4/tcp_hybla.c`, RTT0).
pub const HYBLA_REFERENCE_RTT_S: f64 = default_of("hybla", Paper, "rtt0_ms") / 1e3;
/// LEDBAT's target (RFC 6817, section 2.5).
pub const LEDBAT_TARGET_S: f64 = default_of("ledbat", Paper, "target_ms") / 1e3;
/// How often BBR, version 1, probes for the round-trip time, and how long, a round trip besides (Cardwell et
/// al., ACM Queue 14(5), 2016).
pub const BBR_PROBE_INTERVAL_S: f64 = 10.0;
/// See [`BBR_PROBE_INTERVAL_S`].
pub const BBR_PROBE_S: f64 = 0.2;
