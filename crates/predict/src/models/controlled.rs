//! Flows in front of a queue that keeps itself short: RED, CoDel, PIE.

use fairway_model::constants::MUCH_LOSS;
use fairway_model::{Algorithm, Path, Red, RedPoint};

use super::full;
use super::outside;
use super::streams::{Alike, Each, Found};
use crate::case::Discipline;
use crate::prediction::Basis;
use crate::refusal::Refusal;

const RED: (&str, &str) =
    ("RED in balance", "derived from response functions and Floyd, Jacobson 1993, section 4");

/// What flows make of it.
pub(super) fn answer(alike: &Alike) -> Result<Found, Refusal> {
    let path = &alike.path;
    let windows = alike.n() * alike.stream.window_packets;
    let Some(algorithm) = alike.algorithm else {
        return Err(alike.unknown("no model knows what fills a queue under"));
    };
    match alike.discipline {
        Discipline::Red { min_packets, max_packets, max_probability, gentle, marks } => {
            if windows <= path.pipe_packets() + min_packets {
                return full::answer(alike);
            }
            let max_probability = drops_of(max_probability);
            red(alike, algorithm, Red { min_packets, max_packets, max_probability, gentle }, marks)
        }
        Discipline::Target { name, source, target_s, is_fair: _, marks } => {
            if windows <= path.pipe_packets() + target_s * path.capacity_pps {
                return full::answer(alike);
            }
            target(alike, algorithm, (name, source), target_s, marks)
        }
        Discipline::DropTail | Discipline::Other(_) => full::answer(alike),
    }
}

/// The part of the packets that RED drops at a probability: a drop comes after as many packets as a random
/// number between 1 and 1/p says, on average half of 1/p (Floyd, Jacobson 1993, section 4, method 2).
pub(super) fn drops_of(probability: f64) -> f64 {
    (2.0 * probability).clamp(1e-9, 0.999)
}

fn red(alike: &Alike, algorithm: Algorithm, red: Red, marks: bool) -> Result<Found, Refusal> {
    let path = &alike.path;
    let (name, source) = RED;
    let Ok(Some(RedPoint { queue_packets, loss })) = path.red(red, alike.count, algorithm) else {
        let what = "no model knows what happens above RED's upper threshold";
        return Err(alike.refused(".queue.max_threshold", what));
    };
    let utilisation = used(path, algorithm, alike.count, queue_packets);
    let marked = marks && alike.stream.is_ecn_capable;
    Ok(alike.found(Each {
        basis: Basis::new(name, source, reason(alike, loss)),
        passed_pps: utilisation * path.capacity_pps / alike.n(),
        window_packets: Some((path.pipe_packets() + queue_packets) * utilisation / alike.n()),
        waits_s: Some(queue_packets / path.capacity_pps),
        dropped: if marked { 0.0 } else { loss },
        utilisation,
    }))
}

fn target(
    alike: &Alike,
    algorithm: Algorithm,
    (name, source): (&'static str, &'static str),
    target_s: f64,
    marks: bool,
) -> Result<Found, Refusal> {
    let path = &alike.path;
    let queue = target_s * path.capacity_pps;
    let window = (path.pipe_packets() + queue) / alike.n();
    let Some(loss) = algorithm.loss_at(window, path.rtt_s + target_s) else {
        return Err(alike.unknown(&format!("no model of this version knows {name} in front of")));
    };
    let loss = loss.min(1.0);
    let utilisation = used(path, algorithm, alike.count, queue);
    let marked = marks && alike.stream.is_ecn_capable;
    Ok(alike.found(Each {
        basis: Basis::new(name, source, reason(alike, loss)),
        passed_pps: utilisation * path.capacity_pps / alike.n(),
        window_packets: Some(window * utilisation),
        waits_s: Some(target_s),
        dropped: if marked { 0.0 } else { loss },
        utilisation,
    }))
}

/// What flows use of the capacity that back off one after the other around such a queue.
fn used(path: &Path, algorithm: Algorithm, count: u32, queue: f64) -> f64 {
    let short = Path { buffer_packets: queue, ..*path };
    short.utilisation(count, algorithm, fairway_model::Losers::One).unwrap_or(1.0)
}

/// Why a balance may not be believed.
fn reason(alike: &Alike, loss: f64) -> Option<String> {
    if alike.outside.is_some() {
        return alike.outside.clone();
    }
    if let Some(repairs) = outside::of_repairs(alike.stream) {
        return Some(repairs);
    }
    if loss > MUCH_LOSS {
        return Some("more than 2 % of packets are dropped".to_owned());
    }
    if alike.path.loss > 0.0 {
        return Some("random losses come on top of those of the queue".to_owned());
    }
    let episodes = loss * alike.path.capacity_pps / alike.n();
    outside::of_parameters(alike.stream).or_else(|| outside::of_episodes(episodes, alike.window_s))
}
