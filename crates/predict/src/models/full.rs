//! Flows that fill a queue which drops what does not fit.

use fairway_model::constants::{HTCP_RETENTIONS, SMALL_WINDOW_PACKETS};
use fairway_model::{Algorithm, Growth, Losers, Swing};

use super::outside;
use super::streams::{Alike, Each, Found};
use crate::prediction::Basis;
use crate::refusal::Refusal;

const WINDOWS: (&str, &str) =
    ("windows fill the path", "derived: what of the windows the path does not hold waits");
const SAWTOOTH: (&str, &str) =
    ("sawtooth", "derived; without a buffer Altman, Barman, Tuffin, Vojnović 2006, theorem 1");

/// At an overflow each flow adds a packet too many in a round trip, and any flow's packet may be the one.
const LOSERS: Losers = Losers::Random { drops_per_stream: 1.0 };

/// What flows make of it.
pub(super) fn answer(alike: &Alike) -> Result<Found, Refusal> {
    let path = &alike.path;
    let pipe = path.pipe_packets();
    let windows = alike.n() * alike.stream.window_packets;
    let full = pipe + path.buffer_packets;
    if windows <= full || !alike.is_bounded {
        let queue = (windows - pipe).max(0.0);
        let (name, source) = WINDOWS;
        return Ok(alike.found(Each {
            basis: Basis::new(name, source, alike.outside.clone()),
            passed_pps: path.capacity_pps / alike.n(),
            window_packets: Some(alike.stream.window_packets),
            waits_s: Some(queue / path.capacity_pps),
            dropped: 0.0,
            utilisation: 1.0,
        }));
    }
    let Some(algorithm) = alike.algorithm else {
        return Err(alike.unknown("no model knows what fills a queue under"));
    };
    sawtooth(alike, algorithm)
}

/// One flow after the other backs off when the queue is full.
fn sawtooth(alike: &Alike, algorithm: Algorithm) -> Result<Found, Refusal> {
    let (path, n) = (&alike.path, alike.n());
    let (pipe, full) = (path.pipe_packets(), path.pipe_packets() + path.buffer_packets);
    let window = full / n;
    let Some(beta) = beta(algorithm, window, pipe, path.buffer_packets) else {
        return Err(alike.unknown("no model of this version knows the queue of"));
    };
    let independent = LOSERS.independent(n);
    let falls = 2.0 * (1.0 - beta) * full / (independent * (1.0 + beta) + (1.0 - beta));
    let rtt_s = path.rtt_s + path.buffer_packets / path.capacity_pps;
    let own = algorithm.loss_at(window, rtt_s);
    let is_cubic =
        algorithm == Algorithm::Cubic && own.is_some_and(|own| !algorithm.is_reno_at(own, rtt_s));
    let growth = if is_cubic { Growth::Cubic } else { Growth::Steady };
    let swing = Swing { low_packets: full - falls, high_packets: full, growth };
    let Ok(means) = swing.means(pipe) else {
        return Err(alike.unknown("the path is too small for a model of"));
    };
    let dropped = own.unwrap_or(0.0).min(1.0);
    let passed_pps = means.utilisation * path.capacity_pps / n;
    let (name, source) = SAWTOOTH;
    let why = alike.outside.clone().or_else(|| reason(alike, algorithm, window, dropped));
    Ok(alike.found(Each {
        basis: Basis::new(name, source, why),
        passed_pps,
        window_packets: Some(means.window_packets / n),
        waits_s: Some(means.queue_packets / path.capacity_pps),
        dropped,
        utilisation: means.utilisation,
    }))
}

/// The share of its window that a flow keeps, where it gives up as much as leaves the path full, too.
fn beta(algorithm: Algorithm, window: f64, pipe: f64, buffer: f64) -> Option<f64> {
    let filling = pipe / (pipe + buffer);
    match algorithm {
        Algorithm::Htcp => Some(filling.clamp(HTCP_RETENTIONS.0, HTCP_RETENTIONS.1)),
        Algorithm::WestwoodPlus => Some(filling.clamp(1e-3, 0.999)),
        _ => algorithm.retention(window, pipe, buffer),
    }
}

/// Why the sawtooth may not be believed.
fn reason(alike: &Alike, algorithm: Algorithm, window: f64, dropped: f64) -> Option<String> {
    if let Some(repairs) = outside::of_repairs(alike.stream) {
        return Some(repairs);
    }
    if window < SMALL_WINDOW_PACKETS {
        return Some("windows of less than 6 packets end in timeouts".to_owned());
    }
    if alike.path.loss > 0.0 {
        return Some("random losses come on top of those of the queue".to_owned());
    }
    if algorithm == Algorithm::Bic && alike.count > 1 {
        return Some("how often BIC loses is not known to it".to_owned());
    }
    let episodes = dropped * alike.path.capacity_pps / alike.n();
    outside::of_parameters(alike.stream).or_else(|| outside::of_episodes(episodes, alike.window_s))
}
