//! UDP: it takes what it wants as far as there is any.

use super::streams::Found;
use super::{Answer, FlowAnswer, LinkAnswer};
use crate::case::{Group, Load, QueueLimit};
use crate::prediction::Basis;
use crate::refusal::Refusal;

const NAME: &str = "offered load";
const SOURCE: &str =
    "derived: the least of what is sent and what the link carries, less what is lost";
/// Share of a link that datagrams leave at least for models of TCP to say anything of the rest.
const LEAST_REST: f64 = 0.02;

/// What datagrams want of the bottleneck.
pub(super) struct Offered {
    /// Share of the measuring window that each is there.
    pub active: Vec<f64>,
    /// What they want together, as a share of the rate, over the window.
    pub share: f64,
    /// Packets of theirs in a second.
    pub pps: f64,
    /// Why that may not hold.
    pub outside: Option<String>,
}

/// What the datagrams of a group want, where TCP is there too.
pub(super) fn offered(group: &Group, window_s: [f64; 2]) -> Result<Offered, Refusal> {
    let offered = all(group, window_s);
    // Those that come for a while count whole while they are there.
    let there = group.datagrams.iter().zip(&offered.active).filter(|(_, active)| **active > 0.0);
    let most: f64 = there.map(|(load, _)| load.wire_bps()).sum();
    if most > (1.0 - LEAST_REST) * group.bottleneck.rate_bps {
        let what = "datagrams leave TCP next to nothing of this link, which no model knows";
        return Err(Refusal::new(&group.bottleneck.path, what));
    }
    Ok(offered)
}

fn all(group: &Group, [from, to]: [f64; 2]) -> Offered {
    let active = |load: &Load| {
        let end = load.end_s.unwrap_or(to).min(to);
        ((end - load.start_s.max(from)) / (to - from)).clamp(0.0, 1.0)
    };
    let active: Vec<f64> = group.datagrams.iter().map(active).collect();
    let wire = group.datagrams.iter().zip(&active).map(|(load, active)| load.wire_bps() * active);
    let share = wire.sum::<f64>() / group.bottleneck.rate_bps;
    let packets =
        |(load, active): (&Load, &f64)| load.payload_bps / 8.0 / load.payload_bytes * active;
    let pps = group.datagrams.iter().zip(&active).map(packets).sum();
    let outside = if active.iter().any(|active| *active < 1.0 - 1e-9) {
        Some("datagrams begin or end within the measuring window".to_owned())
    } else {
        let is_changing = group.datagrams.iter().any(|load| load.is_changing);
        is_changing
            .then(|| "rates change at random, and means hold in the long run alone".to_owned())
    };
    Offered { active, share, pps, outside }
}

/// What arrives of datagrams, of which a part is dropped, after waiting for some time.
fn flow(load: &Load, active: f64, dropped: f64, waits_s: Option<f64>, basis: &Basis) -> FlowAnswer {
    let passed = (1.0 - dropped) * (1.0 - load.loss);
    FlowAnswer {
        basis: basis.clone(),
        goodput_pps: load.payload_bps / 8.0 / load.payload_bytes * active * passed,
        window_packets: None,
        rtt_s: None,
        one_way_s: waits_s.map(|waits| load.one_way_s + waits),
        loss: Some(1.0 - passed),
        completion_s: None,
    }
}

/// Datagrams alone on a link.
pub(super) fn alone(group: &Group, window_s: [f64; 2]) -> Result<Answer, Refusal> {
    let Offered { active, share, outside, .. } = all(group, window_s);
    let dropped = (1.0 - 1.0 / share.max(1.0)).max(0.0);
    let first = &group.datagrams[0];
    let frame_s = 8.0 * first.frame_bytes / group.bottleneck.rate_bps;
    // What is too much fills the queue; of what is not, only constant rates are known not to wait.
    let waits_s = if share > 1.0 {
        let bytes = match group.bottleneck.queue_limit {
            QueueLimit::Endless => None,
            QueueLimit::Packets(packets) => Some((packets - 1.0).max(0.0) * first.frame_bytes),
            QueueLimit::Bytes(bytes) => Some(bytes),
        };
        bytes.map(|bytes| 8.0 * bytes / group.bottleneck.rate_bps)
    } else {
        (group.datagrams.len() == 1 && first.is_constant).then_some(0.0)
    };
    let outside = match (outside, (0.98..1.02).contains(&share)) {
        (None, true) => Some("what is sent is as much as the link carries".to_owned()),
        (outside, _) => outside,
    };
    let basis = Basis::new(NAME, SOURCE, outside);
    let loads = group.datagrams.iter().zip(&active);
    let loads = loads.map(|(load, active)| flow(load, *active, dropped, waits_s, &basis)).collect();
    let link = LinkAnswer {
        basis,
        utilisation: share.min(1.0),
        backlog_packets: waits_s.map(|waits| waits / frame_s),
        sojourn_s: waits_s,
    };
    Ok(Answer { streams: Vec::new(), loads, link })
}

/// Datagrams beside flows of TCP: the queue drops them as often as others.
pub(super) fn beside(group: &Group, offered: &Offered, found: &Found) -> Vec<FlowAnswer> {
    let basis = Basis::new(NAME, SOURCE, offered.outside.clone());
    let waits_s = found.link.sojourn_s;
    let loads = group.datagrams.iter().zip(&offered.active);
    loads.map(|(load, active)| flow(load, *active, found.dropped, waits_s, &basis)).collect()
}
