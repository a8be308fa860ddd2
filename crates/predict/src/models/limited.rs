//! Flows that something limits before the bottleneck does: a window, an application, random loss.

use super::laws::{self, Sent};
use super::outside;
use super::streams::{Alike, Each, Found};
use crate::prediction::Basis;
use crate::refusal::Refusal;

/// Near to what the bottleneck passes on, queues matter and the simple limits do not hold.
const NEAR: f64 = 0.8;
/// So many acknowledgements lost are told by those behind them.
const MUCH_ACK_LOSS: f64 = 0.05;

const WINDOW: (&str, &str) =
    ("window limit", "derived: one window each round trip; RFC 5681, section 3.1");
const APPLICATION: (&str, &str) = ("application limit", "derived: what it writes arrives");

/// What limits them, if it is not the bottleneck.
pub(super) fn answer(alike: &Alike) -> Result<Option<Found>, Refusal> {
    let (path, stream) = (&alike.path, alike.stream);
    if path.loss >= 1.0 {
        let what = "everything is lost, and no model knows retries without end";
        return Err(alike.refused("", what));
    }
    let by_law = match path.loss > 0.0 {
        false => None,
        true => match laws::with_losses(alike) {
            None => return Err(alike.unknown("with random losses, no model knows")),
            found => found,
        },
    };
    let by_window = stream.window_packets / path.rtt_s;
    let by_application = path.stream_pps.unwrap_or(f64::INFINITY) / (1.0 - path.loss);
    let by_loss = by_law.as_ref().map_or(f64::INFINITY, |law| law.pps);
    let fair = path.capacity_pps / alike.n();
    let pps = by_window.min(by_application).min(by_loss);
    if pps > fair {
        return Ok(None);
    }
    let near = (pps > NEAR * fair && pps != by_application)
        .then(|| "flows would nearly fill the link".to_owned());
    let (basis, window_packets) = match by_law {
        Some(law) if law.pps == pps => {
            let why = alike.outside.clone().or_else(|| reason(alike, &law)).or(near);
            (Basis::new(law.name, law.source, why), Some(pps * path.rtt_s))
        }
        _ => {
            let (name, source) = if pps == by_application { APPLICATION } else { WINDOW };
            // What nothing but the receiver limits grows on.
            (Basis::new(name, source, alike.outside.clone().or(near)), None)
        }
    };
    Ok(Some(alike.found(Each {
        basis,
        passed_pps: pps,
        window_packets,
        waits_s: Some(0.0),
        dropped: 0.0,
        utilisation: (pps * alike.n() / path.capacity_pps).min(1.0),
    })))
}

/// Why a law may not be believed.
fn reason(alike: &Alike, law: &Sent) -> Option<String> {
    if alike.stream.ack_loss > MUCH_ACK_LOSS {
        return Some("more than 5 % of acknowledgements are lost".to_owned());
    }
    let episodes = alike.path.loss * law.pps;
    law.outside
        .clone()
        .or_else(|| outside::of_parameters(alike.stream))
        .or_else(|| outside::of_episodes(episodes, alike.window_s))
}
