//! Constants that more than one model needs, each with its source.

/// Below such a window, in packets, losses end in timeouts more often than not (RFC 5681, section 3.2, wants
/// three duplicate acknowledgements of each fast retransmit; PFTK's Q(w) = 3/w is more than a half).
pub const SMALL_WINDOW_PACKETS: f64 = 6.0;
/// Loss above which laws that leave timeouts out do not hold (Mathis et al. 1997, section 3).
pub const MUCH_LOSS: f64 = 0.02;

/// The share that CUBIC keeps (RFC 9438, section 4.6).
pub const CUBIC_RETENTION: f64 = 0.7;
/// The share that H-TCP keeps is within these (draft-leith-tcp-htcp-06, section 2).
pub const HTCP_RETENTIONS: (f64, f64) = (0.5, 0.8);
/// What Scalable adds for each packet that is acknowledged, and what it gives up (Kelly 2003, section 2).
pub const SCALABLE_INCREASE: f64 = 0.01;
/// See [`SCALABLE_INCREASE`].
pub const SCALABLE_REDUCTION: f64 = 0.125;
/// HighSpeed's Low_Window in packets, up to which it is Reno (RFC 3649, section 5).
pub const HIGHSPEED_LOW_WINDOW_PACKETS: f64 = 38.0;
/// BIC's low window in packets, up to which it is Reno (Xu, Harfoush, Rhee 2004, section IV; Linux,
/// `net/ipv4/tcp_bic.c`, `low_window`).
pub const BIC_LOW_WINDOW_PACKETS: f64 = 14.0;
/// Round-trip time of the connection that Hybla wants to be as fast as (Caini, Firrincieli 2004, section 3;
/// Linux, `net/ipv4/tcp_hybla.c`, RTT0).
pub const HYBLA_REFERENCE_RTT_S: f64 = 0.025;
/// How often BBR, version 1, probes for the round-trip time, and how long, a round trip besides (Cardwell et
/// al., ACM Queue 14(5), 2016).
pub const BBR_PROBE_INTERVAL_S: f64 = 10.0;
/// See [`BBR_PROBE_INTERVAL_S`].
pub const BBR_PROBE_S: f64 = 0.2;
