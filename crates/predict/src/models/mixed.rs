//! Flows that differ, at one bottleneck.

use fairway_model::Algorithm;
use fairway_model::constants::MUCH_LOSS;
use fairway_model::laws::{BbrShare, Law};

use super::datagrams::Offered;
use super::streams::{self, Found};
use super::{FlowAnswer, LinkAnswer, controlled, outside};
use crate::case::{Discipline, Group, Stream};
use crate::prediction::Basis;
use crate::refusal::Refusal;

const SHARED: (&str, &str) =
    ("equal losses", "derived: response functions at the loss with which they fill the link");
const FAIR: (&str, &str) = ("fair queueing", "derived: max-min shares; RFC 8290, section 1");
/// Halvings of the search for a loss, between these.
const HALVINGS: u32 = 100;
const LOSSES: (f64, f64) = (1e-12, 0.5);

/// One of the flows, and what limits it besides losses.
struct One<'a> {
    stream: &'a Stream,
    algorithm: Option<Algorithm>,
    capacity_pps: f64,
    /// Datagrams' share taken off.
    buffer_packets: f64,
}

impl One<'_> {
    /// Packets that it sends in a second where a part of them is lost, and others wait.
    fn sent_pps(&self, loss: f64, waits_s: f64) -> f64 {
        let rtt_s = self.stream.rtt_s + waits_s;
        let kept = (1.0 - loss) * (1.0 - self.stream.loss);
        let window = self.algorithm.and_then(|a| a.window((1.0 - kept).min(0.999_999), rtt_s));
        let window = window.unwrap_or(f64::INFINITY).min(self.stream.window_packets);
        let application = self.stream.application_pps.unwrap_or(f64::INFINITY) / kept;
        (window / rtt_s).min(application)
    }

    /// The same, as a share of the link.
    fn share(&self, loss: f64, waits_s: f64) -> f64 {
        self.sent_pps(loss, waits_s) * (1.0 - loss) / self.capacity_pps
    }
}

/// What models say of them.
pub(super) fn answer(
    group: &Group,
    window_s: [f64; 2],
    offered: &Offered,
) -> Result<Found, Refusal> {
    if let Some(stream) = group.flows.iter().find(|stream| stream.loss >= 1.0) {
        return Err(refusal(stream, "with everything lost, no model knows"));
    }
    let why = group
        .flows
        .iter()
        .find_map(|stream| outside::of_window(stream, window_s))
        .or_else(|| offered.outside.clone())
        .or_else(|| group.flows.iter().find_map(outside::of_repairs))
        .or_else(|| group.flows.iter().find_map(outside::of_parameters));
    if let Discipline::Target { is_fair: true, target_s, .. } = group.bottleneck.discipline {
        return fair(group, offered, target_s, why);
    }
    if group.flows.iter().any(|stream| stream.cc == "bbr") {
        return beside_bbr(group, offered, why);
    }
    let known = |stream: &&Stream| {
        let algorithm = Algorithm::named(&stream.cc);
        !matches!(
            algorithm,
            None | Some(Algorithm::Delay | Algorithm::WestwoodPlus | Algorithm::Bbr)
        )
    };
    if let Some(stream) = group.flows.iter().find(|stream| !known(stream)) {
        return Err(refusal(stream, "beside flows that differ, no model knows"));
    }
    equal_losses(group, offered, why)
}

fn refusal(stream: &Stream, what: &str) -> Refusal {
    Refusal::new(format!("{}cc", stream.path), format!("{what} \"{}\"", stream.cc))
}

fn all<'a>(group: &'a Group, offered: &Offered) -> Vec<One<'a>> {
    let one = |stream: &'a Stream| {
        let path = streams::path(group, stream, offered);
        One {
            stream,
            algorithm: Algorithm::named(&stream.cc),
            capacity_pps: path.capacity_pps,
            buffer_packets: path.buffer_packets,
        }
    };
    group.flows.iter().map(one).collect()
}

/// The loss, the same for all, at which they fill the link, whose queue depends on it.
fn equal_losses(group: &Group, offered: &Offered, why: Option<String>) -> Result<Found, Refusal> {
    let ones = all(group, offered);
    let rest = streams::rest_of_queue(group, ones[0].stream, offered);
    let (waits, name, of_queue) = queue(group, &ones[0], rest)?;
    let used = |loss: f64| -> f64 { ones.iter().map(|one| one.share(loss, waits(loss))).sum() };
    // With next to no loss they do not fill it: nothing waits.
    let (loss, waits_s) = if ones.iter().map(|one| one.share(0.0, 0.0)).sum::<f64>() < 1.0 {
        (0.0, 0.0)
    } else {
        let (mut low, mut high) = LOSSES;
        for _ in 0..HALVINGS {
            let middle = libm::sqrt(low * high);
            if used(middle) > 1.0 { low = middle } else { high = middle }
        }
        (high, waits(high))
    };
    let of_loss = (loss > MUCH_LOSS).then(|| "more than 2 % of packets are dropped".to_owned());
    let basis = Basis::new(name, SHARED.1, why.or(of_queue.filter(|_| loss > 0.0)).or(of_loss));
    let utilisation = used_by(&ones, loss, waits_s).min(1.0);
    let flows = ones.iter().map(|one| {
        let pps = one.sent_pps(loss, waits_s);
        flow(one, &basis, pps * (1.0 - loss), waits_s, Some(loss))
    });
    let streams = flows.collect();
    Ok(found(&ones[0], basis.clone(), streams, utilisation, Some(waits_s), loss))
}

fn used_by(ones: &[One], loss: f64, waits_s: f64) -> f64 {
    ones.iter().map(|one| one.share(loss, waits_s)).sum()
}

/// How long packets wait at a loss.
type Waits = Box<dyn Fn(f64) -> f64>;

/// How long packets wait at a loss, and why that may not be believed.
fn queue(
    group: &Group,
    one: &One,
    rest: f64,
) -> Result<(Waits, &'static str, Option<String>), Refusal> {
    let capacity_pps = one.capacity_pps;
    match group.bottleneck.discipline.scaled(rest) {
        Discipline::DropTail => {
            if group.buffer_packets(one.stream).is_none() {
                let path = format!("{}.queue.limit", group.bottleneck.path);
                return Err(Refusal::new(
                    path,
                    "no model knows what flows that differ make of a queue without a limit",
                ));
            }
            let waits_s = one.buffer_packets / capacity_pps;
            let why =
                "a queue that drops what does not fit does not drop all flows alike".to_owned();
            Ok((Box::new(move |_| waits_s), SHARED.0, Some(why)))
        }
        Discipline::Red { min_packets, max_packets, max_probability, .. } => {
            let most = controlled::drops_of(max_probability);
            let waits = move |loss: f64| {
                let along = (loss / most).min(1.0);
                (min_packets + along * (max_packets - min_packets)) / capacity_pps
            };
            Ok((Box::new(waits), SHARED.0, None))
        }
        Discipline::Target { target_s, .. } => Ok((Box::new(move |_| target_s), SHARED.0, None)),
        Discipline::Other(name) => {
            let path = format!("{}.queue.kind", group.bottleneck.path);
            Err(Refusal::new(path, format!("no model knows what flows make of {name}")))
        }
    }
}

/// Each has its part, as far as it wants it.
fn fair(
    group: &Group,
    offered: &Offered,
    target_s: f64,
    why: Option<String>,
) -> Result<Found, Refusal> {
    let ones = all(group, offered);
    let wanted = |one: &One| one.share(0.0, 0.0);
    if let Some(one) = ones.iter().find(|one| one.stream.loss > 0.0 && one.algorithm.is_none()) {
        return Err(refusal(one.stream, "with random losses, no model knows"));
    }
    // Progressive filling: those who want less than an equal part leave the rest to the others.
    let mut order: Vec<usize> = (0..ones.len()).collect();
    order.sort_by(|a, b| wanted(&ones[*a]).total_cmp(&wanted(&ones[*b])));
    let (mut left, mut shares) = (1.0, vec![0.0; ones.len()]);
    for (place, index) in order.iter().enumerate() {
        let equal = left / (ones.len() - place) as f64;
        shares[*index] = wanted(&ones[*index]).min(equal);
        left -= shares[*index];
    }
    let is_full = left <= 1e-9;
    let basis = Basis::new(FAIR.0, FAIR.1, why);
    let waits_s = if is_full { target_s } else { 0.0 };
    let flows = ones.iter().zip(&shares).map(|(one, share)| {
        let waits_s = if wanted(one) > *share { waits_s } else { 0.0 };
        flow(one, &basis, share * one.capacity_pps, waits_s, None)
    });
    let streams = flows.collect();
    let utilisation = (1.0 - left).clamp(0.0, 1.0);
    Ok(found(&ones[0], basis.clone(), streams, utilisation, None, 0.0))
}

/// BBR beside flows that only losses stop.
fn beside_bbr(group: &Group, offered: &Offered, why: Option<String>) -> Result<Found, Refusal> {
    let ones = all(group, offered);
    let first = &ones[0];
    let loss_based = |one: &&One| {
        matches!(
            one.algorithm,
            Some(
                Algorithm::Reno
                    | Algorithm::Cubic
                    | Algorithm::Bic
                    | Algorithm::HighSpeed
                    | Algorithm::Htcp
                    | Algorithm::Scalable
            )
        )
    };
    let (bbr, others): (Vec<&One>, Vec<&One>) =
        ones.iter().partition(|one| one.algorithm == Some(Algorithm::Bbr));
    if let Some(one) = others.iter().find(|one| !loss_based(one)) {
        return Err(refusal(one.stream, "beside BBR, no model knows"));
    }
    let bounded = group.buffer_packets(first.stream).is_some();
    if group.bottleneck.discipline != Discipline::DropTail || !bounded || others.is_empty() {
        let what = "but beside flows that only losses stop, in front of a queue that drops what does \
                    not fit, no model knows";
        return Err(refusal(bbr[0].stream, what));
    }
    if let Some(one) = ones.iter().find(|one| one.stream.loss > 0.0) {
        return Err(refusal(one.stream, "beside BBR and with random losses, no model knows"));
    }
    let rtt_s = bbr.iter().map(|one| one.stream.rtt_s).sum::<f64>() / bbr.len() as f64;
    let law = BbrShare {
        capacity_pps: first.capacity_pps,
        rtt_s,
        buffer_bdp: first.buffer_packets / (first.capacity_pps * rtt_s),
        bbr_flows: bbr.len() as f64,
    };
    let Ok(answer) = law.evaluate() else {
        return Err(refusal(bbr[0].stream, "without a buffer, no model knows"));
    };
    let differ = ones.iter().any(|one| (one.stream.rtt_s / rtt_s - 1.0).abs() > 0.2)
        || others.iter().any(|one| one.algorithm != others[0].algorithm);
    let apart = differ.then(|| "flows of either kind differ among themselves".to_owned());
    let limited = ones
        .iter()
        .any(|one| one.stream.application_pps.is_some())
        .then(|| "applications write less than they could".to_owned());
    let outside = answer.outside.map(str::to_owned);
    let basis = Basis::new(BbrShare::NAME, BbrShare::SOURCE, why.or(outside).or(apart).or(limited));
    let waits_s = first.buffer_packets / first.capacity_pps;
    let share = answer.value.bbr_share;
    let flows = ones.iter().map(|one| {
        let part = if one.algorithm == Some(Algorithm::Bbr) {
            share / bbr.len() as f64
        } else {
            (1.0 - share) / others.len() as f64
        };
        flow(one, &basis, part * one.capacity_pps, waits_s, None)
    });
    let streams = flows.collect();
    Ok(found(first, basis.clone(), streams, 1.0, Some(waits_s), 0.0))
}

/// What a flow has of which so many packets pass the bottleneck.
fn flow(
    one: &One,
    basis: &Basis,
    passed_pps: f64,
    waits_s: f64,
    dropped: Option<f64>,
) -> FlowAnswer {
    let stream = one.stream;
    let rtt_s = stream.rtt_s + waits_s;
    FlowAnswer {
        basis: basis.clone(),
        goodput_pps: passed_pps * (1.0 - stream.loss),
        window_packets: stream.application_pps.is_none().then_some(passed_pps * rtt_s),
        rtt_s: Some(rtt_s),
        one_way_s: Some(stream.one_way_s + waits_s),
        loss: dropped.map(|dropped| 1.0 - (1.0 - dropped) * (1.0 - stream.loss)),
        completion_s: None,
    }
}

fn found(
    first: &One,
    basis: Basis,
    streams: Vec<FlowAnswer>,
    utilisation: f64,
    waits_s: Option<f64>,
    dropped: f64,
) -> Found {
    let link = LinkAnswer {
        basis,
        utilisation,
        backlog_packets: waits_s.map(|waits| waits * first.capacity_pps * utilisation),
        sojourn_s: waits_s,
    };
    Found { streams, link, dropped }
}
