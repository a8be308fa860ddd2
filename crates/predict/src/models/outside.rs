//! Why a model may not be believed, as far as the experiment and not the model says.

use crate::case::Stream;

/// Round trips within which a flow is believed to have found its window.
const BEGINNING_ROUNDS: f64 = 50.0;
/// Episodes of loss that a measuring window should hold for means to be means.
const EPISODES: f64 = 5.0;

/// Whether a flow is in its beginning, or ends, within the measuring window.
pub(super) fn of_window(stream: &Stream, [from, to]: [f64; 2]) -> Option<String> {
    if stream.start_s >= to || stream.stop_s.is_some_and(|stop| stop < to) {
        return Some("a flow is not there all of the measuring window".to_owned());
    }
    let settled = stream.start_s + BEGINNING_ROUNDS * stream.rtt_s;
    // A beginning that is short beside the window does not count.
    if settled - from > 0.05 * (to - from) {
        return Some("the measuring window has the beginning of a flow in it".to_owned());
    }
    None
}

/// Whether the window is too short for means over episodes that come so often.
pub(super) fn of_episodes(per_s: f64, [from, to]: [f64; 2]) -> Option<String> {
    (per_s * (to - from) < EPISODES).then(|| {
        format!("the measuring window holds less than {EPISODES} of its periods between losses")
    })
}

/// Whether losses of a queue, which come in numbers, take a round trip each.
pub(super) fn of_repairs(stream: &Stream) -> Option<String> {
    (!stream.has_sack).then(|| {
        "without SACK each loss of a window takes a round trip, which no model of queues knows"
            .to_owned()
    })
}

/// Whether a congestion control that a model knows with its usual parameters alone is told to be another.
pub(super) fn of_parameters(stream: &Stream) -> Option<String> {
    (!stream.parameters.is_empty())
        .then(|| format!("{} has parameters that are not the usual ones", stream.cc))
}
