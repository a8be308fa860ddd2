//! Response functions: the mean congestion window, in packets, of one stream that loses each packet
//! with probability `p` in `(0, 1)`, and their inverses.
//!
//! All hold without timeouts and without a limit of the window: `p` below about 2 %.

use crate::search;

/// Packets of the lowest and highest loss probabilities of the searches below: windows from less than
/// a packet to more than any host can hold.
const LEAST_LOSS: f64 = 1e-15;

/// RFC 3649, section 5: Low_Window and Low_P, High_Window and High_P, High_Decrease.
const HIGHSPEED_LOW: (f64, f64) = (38.0, 1e-3);
const HIGHSPEED_HIGH: (f64, f64) = (83_000.0, 1e-7);
const HIGHSPEED_HIGH_DECREASE: f64 = 0.1;

/// RFC 9438, section 4.6: C in segments per cubed second, and the retention.
const CUBIC_C: f64 = 0.4;
const CUBIC_RETENTION: f64 = 0.7;

/// Kelly 2003 ("Scalable TCP"), section 2: increase per acknowledgement and reduction.
const SCALABLE_INCREASE: f64 = 0.01;
const SCALABLE_REDUCTION: f64 = 0.125;
/// Linux `net/ipv4/tcp_scalable.c`: below `TCP_SCALABLE_AI_CNT` packets it adds one a round trip.
const SCALABLE_LEGACY_WINDOW: f64 = 100.0;

/// Mathis, Semke, Mahdavi, Ott 1997, equation 3: `sqrt(3 / (2·b·p))` with `b` packets per
/// acknowledgement. Linux counts packets, not acknowledgements (`tcp_reno_cong_avoid`): `b = 1`.
pub fn mathis_window(p: f64, packets_per_ack: f64) -> f64 {
    libm::sqrt(1.5 / (packets_per_ack * p))
}

/// Additive increase of `a` packets a round trip, retention `r`: `sqrt(a(1+r) / (2(1-r)p))`
/// (RFC 9438, section 4.3: AVG_AIMD).
pub fn aimd_window(p: f64, a: f64, r: f64) -> f64 {
    libm::sqrt(a * (1.0 + r) / (2.0 * (1.0 - r) * p))
}

/// The loss at which [`aimd_window`] is `w`.
pub fn aimd_loss(w: f64, a: f64, r: f64) -> f64 {
    a * (1.0 + r) / (2.0 * (1.0 - r) * w * w)
}

/// `(C(3+r) / (4(1-r)))^¼`, the factor of CUBIC's average window (RFC 9438, section 5.1).
fn cubic_factor() -> f64 {
    let r = CUBIC_RETENTION;
    libm::pow(CUBIC_C * (3.0 + r) / (4.0 * (1.0 - r)), 0.25)
}

/// CUBIC at a round-trip time of `t` seconds: the larger of Reno's window, which its Reno-friendly
/// region follows, and `(C(3+r)/(4(1-r)))^¼ · (T/p)^¾` (RFC 9438, section 5.1).
pub fn cubic_window(p: f64, t: f64) -> f64 {
    f64::max(aimd_window(p, 1.0, 0.5), cubic_factor() * libm::pow(t / p, 0.75))
}

/// The loss at which [`cubic_window`] is `w`.
pub fn cubic_loss(w: f64, t: f64) -> f64 {
    let cubic = t * libm::pow(cubic_factor() / w, 4.0 / 3.0);
    aimd_loss(w, 1.0, 0.5).max(cubic)
}

/// Scalable TCP where each packet is lost by itself: gain `a` for each packet that is acknowledged,
/// loss `(1-r)·w` for each that is lost, so `a / ((1-r)p) = 0.08/p`. Below 100 packets Linux's module
/// adds one packet a round trip, so that small windows are those of `AIMD(1, 0.875)`.
pub fn scalable_window(p: f64) -> f64 {
    let many = SCALABLE_INCREASE / (SCALABLE_REDUCTION * p);
    let few = aimd_window(p, 1.0, 1.0 - SCALABLE_REDUCTION);
    if few < SCALABLE_LEGACY_WINDOW { few } else { many.max(SCALABLE_LEGACY_WINDOW) }
}

/// Kelly's own form, without that threshold: `0.08/p`.
pub fn scalable_mean_field_window(p: f64) -> f64 {
    SCALABLE_INCREASE / (SCALABLE_REDUCTION * p)
}

/// With losses that come after each `1/p` packets: `a / (p·ln(1/r))`, about `0.0749/p`.
pub fn scalable_periodic_window(p: f64) -> f64 {
    SCALABLE_INCREASE / (p * -libm::log(1.0 - SCALABLE_REDUCTION))
}

/// The loss at which [`scalable_window`] is `w`.
pub fn scalable_loss(w: f64) -> f64 {
    if w < SCALABLE_LEGACY_WINDOW {
        aimd_loss(w, 1.0, 1.0 - SCALABLE_REDUCTION)
    } else {
        SCALABLE_INCREASE / (SCALABLE_REDUCTION * w)
    }
}

/// RFC 3649, section 5: `S`, the slope of the response function in logarithms.
fn highspeed_slope() -> f64 {
    let (low, high) = (HIGHSPEED_LOW, HIGHSPEED_HIGH);
    libm::log(high.0 / low.0) / libm::log(high.1 / low.1)
}

/// HighSpeed TCP: `38·(p/10⁻³)^S` above 38 packets, Reno's below (RFC 3649, section 5).
pub fn highspeed_window(p: f64) -> f64 {
    let (window, loss) = HIGHSPEED_LOW;
    if p >= loss {
        return aimd_window(p, 1.0, 0.5).min(window);
    }
    window * libm::pow(p / loss, highspeed_slope())
}

/// The loss at which [`highspeed_window`] is `w`.
pub fn highspeed_loss(w: f64) -> f64 {
    let (window, loss) = HIGHSPEED_LOW;
    if w <= window {
        return aimd_loss(w, 1.0, 0.5);
    }
    loss * libm::pow(w / window, 1.0 / highspeed_slope())
}

/// The share of its window that HighSpeed TCP gives up at a window of `w`: `b(w)` of RFC 3649, section 5.
pub fn highspeed_reduction(w: f64) -> f64 {
    let (low, high) = (HIGHSPEED_LOW.0, HIGHSPEED_HIGH.0);
    let along = libm::log(w.clamp(low, high) / low) / libm::log(high / low);
    0.5 + (HIGHSPEED_HIGH_DECREASE - 0.5) * along
}

/// What HighSpeed TCP adds each round trip at a window of `w`: `a(w)` of RFC 3649, section 5.
pub fn highspeed_increase(w: f64) -> f64 {
    if w <= HIGHSPEED_LOW.0 {
        return 1.0;
    }
    let b = highspeed_reduction(w);
    w * w * highspeed_loss(w) * 2.0 * b / (2.0 - b)
}

/// One epoch of H-TCP between two losses, at a constant round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HtcpEpoch {
    /// Time between the losses in seconds.
    pub duration_s: f64,
    /// Window at its end, in packets.
    pub peak_window: f64,
    /// Mean window over it, in packets.
    pub mean_window: f64,
}

/// The epoch of H-TCP that lasts `d` seconds, at a round-trip time of `t` seconds and retention `r`.
///
/// H-TCP adds `2(1-r)·α(Δ)` packets a round trip, `α = 1` up to 1 s after a loss and then
/// `1 + 10(Δ-1) + ((Δ-1)/2)²` (Leith and Shorten, draft-leith-tcp-htcp-06, section 2). Its integrals
/// over time are `A = d + 5x² + x³/12` and `d²/2 + 5x³/3 + x⁴/48` with `x = max(0, d-1)`.
fn htcp_epoch(d: f64, t: f64, r: f64) -> HtcpEpoch {
    let x = (d - 1.0).max(0.0);
    let first = d + 5.0 * x * x + x * x * x / 12.0;
    let second = d * d / 2.0 + 5.0 * x * x * x / 3.0 + x * x * x * x / 48.0;
    let scale = 2.0 * (1.0 - r);
    let peak_window = scale * first / (t * (1.0 - r));
    let mean_window = r * peak_window + scale * second / (t * d);
    HtcpEpoch { duration_s: d, peak_window, mean_window }
}

/// Epochs of H-TCP between which those are that are looked for, in seconds.
const HTCP_EPOCHS_S: (f64, f64) = (1e-9, 1e6);

/// The epoch of H-TCP that carries `1/p` packets.
pub fn htcp(p: f64, t: f64, r: f64) -> HtcpEpoch {
    let packets = |d: f64| htcp_epoch(d, t, r).mean_window * d / t;
    let d = search::rising(1.0 / p, HTCP_EPOCHS_S.0, HTCP_EPOCHS_S.1, packets);
    htcp_epoch(d, t, r)
}

/// The loss at which the mean window of [`htcp`] is `w`.
pub fn htcp_loss(w: f64, t: f64, r: f64) -> f64 {
    let mean = |d: f64| htcp_epoch(d, t, r).mean_window;
    let d = search::rising(w, HTCP_EPOCHS_S.0, HTCP_EPOCHS_S.1, mean);
    (t / (w * d)).clamp(LEAST_LOSS, 1.0)
}

#[cfg(test)]
mod tests;
