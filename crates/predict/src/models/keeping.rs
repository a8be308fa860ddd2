//! Flows that keep a queue of their own choice: Vegas, FAST, LEDBAT; and BBR, alone.

use fairway_model::constants::{BBR_PROBE_INTERVAL_S, BBR_PROBE_S};
use fairway_model::laws::{Law, Ledbat, Vegas};

use super::streams::{Alike, Each, Found};
use crate::case::Discipline;
use crate::prediction::Basis;
use crate::refusal::Refusal;

/// What the names of congestion controls that keep a queue are.
pub(super) fn keeps(cc: &str) -> bool {
    matches!(cc, "vegas" | "fast" | "ledbat" | "bbr")
}

/// What flows make of the bottleneck.
pub(super) fn answer(alike: &Alike) -> Result<Found, Refusal> {
    if alike.discipline != Discipline::DropTail {
        let what = "no model knows what a queue that keeps itself short makes of";
        return Err(alike.unknown(what));
    }
    match alike.stream.cc.as_str() {
        // Linux `net/ipv4/tcp_vegas.c`, and the papers: alpha 2, beta 4; between them it rests.
        "vegas" => {
            let (alpha, beta) =
                (alike.stream.parameter("alpha", 2.0), alike.stream.parameter("beta", 4.0));
            Ok(packets(alike, (alpha + beta) / 2.0))
        }
        "fast" => Ok(packets(alike, alike.stream.parameter("alpha", 100.0))),
        "ledbat" => ledbat(alike),
        _ => Ok(bbr(alike)),
    }
}

fn buffer(alike: &Alike) -> f64 {
    if alike.is_bounded { alike.path.buffer_packets } else { f64::INFINITY }
}

/// Each keeps so many packets queued.
fn packets(alike: &Alike, alpha_packets: f64) -> Found {
    let (capacity_pps, rtt_s) = (alike.path.capacity_pps, alike.path.rtt_s);
    let buffer_packets = buffer(alike);
    let alpha_packets = alpha_packets.max(1e-9);
    let law = Vegas { flows: alike.n(), alpha_packets, capacity_pps, rtt_s, buffer_packets };
    let outside = law.evaluate().ok().and_then(|answer| answer.outside).map(str::to_owned);
    let later = (alike.count > 1).then(|| {
        "flows that begin later take the queue of others for propagation, and keep more".to_owned()
    });
    let queue = (alike.n() * alpha_packets).min(buffer_packets);
    with_queue(alike, queue, (Vegas::NAME, Vegas::SOURCE), outside.or(later))
}

fn ledbat(alike: &Alike) -> Result<Found, Refusal> {
    let (capacity_pps, rtt_s) = (alike.path.capacity_pps, alike.path.rtt_s);
    let target_s = alike.stream.parameter("target_ms", 100.0) / 1e3;
    let law = Ledbat { capacity_pps, rtt_s, target_s, buffer_packets: buffer(alike) };
    let Ok(answer) = law.evaluate() else {
        return Err(alike.unknown("LEDBAT's target is beyond what its model knows:"));
    };
    let outside = answer.outside.map(str::to_owned);
    let later = (alike.count > 1).then(|| {
        "flows that begin later take the queue of others for propagation, and keep more".to_owned()
    });
    let mut found = with_queue(
        alike,
        answer.value.queue_packets,
        (Ledbat::NAME, Ledbat::SOURCE),
        outside.clone().or(later),
    );
    if outside.is_some() {
        // Losses halve it, as Reno.
        let share = answer.value.rate_pps / capacity_pps;
        found.link.utilisation = share;
        for flow in &mut found.streams {
            flow.goodput_pps *= share;
        }
    }
    Ok(found)
}

/// BBR's windows are two bandwidth-delay products of what each believes to have: alone it leaves the queue
/// empty, and several fill it by one product.
fn bbr(alike: &Alike) -> Found {
    const SOURCE: &str =
        "Cardwell et al., ACM Queue 14(5), 2016; Ware et al., IMC 2019, section 3.2";
    let pipe = alike.path.pipe_packets();
    let is_alone = alike.count == 1;
    let queue = if is_alone { 0.0 } else { pipe.min(buffer(alike)) };
    let outside =
        (!is_alone).then(|| "what several flows of BBR believe to have drifts apart".to_owned());
    let mut found = with_queue(alike, queue, ("BBR's inflight cap", SOURCE), outside);
    let busy = (1.0 - (BBR_PROBE_S + alike.path.rtt_s) / BBR_PROBE_INTERVAL_S).max(0.0);
    found.link.utilisation = busy;
    for flow in &mut found.streams {
        flow.goodput_pps *= busy;
        flow.window_packets = Some(2.0 * pipe / alike.n());
    }
    found
}

/// The capacity in equal parts, behind such a queue.
fn with_queue(
    alike: &Alike,
    queue: f64,
    (name, source): (&'static str, &'static str),
    outside: Option<String>,
) -> Found {
    let capacity_pps = alike.path.capacity_pps;
    alike.found(Each {
        basis: Basis::new(name, source, alike.outside.clone().or(outside)),
        passed_pps: capacity_pps / alike.n(),
        window_packets: Some((alike.path.pipe_packets() + queue) / alike.n()),
        waits_s: Some(queue / capacity_pps),
        dropped: 0.0,
        utilisation: 1.0,
    })
}
