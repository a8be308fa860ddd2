//! Transfers with an end.

use fairway_model::laws::{Cardwell, Law};

use super::outside;
use super::streams::Found;
use crate::case::Group;
use crate::prediction::Basis;
use crate::refusal::Refusal;

/// Starts that are so many round trips apart are together, beside transfers that take longer.
const TOGETHER_ROUNDS: f64 = 2.0;

/// With fewer losses their places decide.
const FEW: f64 = 20.0;

/// How long transfers take, which in the long run go as `found` says.
pub(super) fn answer(
    group: &Group,
    found: &mut Found,
    capacity_pps: f64,
    [_, to]: [f64; 2],
) -> Result<(), Refusal> {
    let first = &group.flows[0];
    let size = first.size_packets.unwrap_or(0.0);
    let same = |one: Option<f64>| one.is_some_and(|one| (one / size - 1.0).abs() < 0.01);
    if let Some(stream) = group.flows.iter().find(|stream| !same(stream.size_packets)) {
        let what = "models know transfers of one size beside each other";
        return Err(Refusal::new(format!("{}bytes", stream.path), what));
    }
    let n = group.flows.len() as f64;
    let steady_pps = found.streams[0].goodput_pps;
    // Slow start goes on until a flow has its part of the path.
    let own = (capacity_pps / n * first.rtt_s).max(1.0);
    let limit = first.window_packets.min(own).max(1.0);
    let law = Cardwell {
        data_packets: size.max(1.0),
        loss: first.loss,
        rtt_s: first.rtt_s,
        rto_s: first.rtt_s + first.rto_min_s,
        packets_per_ack: 1.0,
        initial_window_packets: first.initial_window_packets.min(limit),
        window_limit_packets: limit,
        syn_loss: first.loss.min(0.45),
        syn_ack_loss: first.ack_loss.min(0.45),
        syn_timeout_s: first.syn_timeout_s,
        ack_delay_s: 0.0,
    };
    let Ok(answer) = law.evaluate() else {
        return Err(Refusal::new(format!("{}bytes", first.path), "no model knows such a transfer"));
    };
    let value = answer.value;
    // The rest goes as the congestion control has it, and not as Reno.
    let (slow, slow_s) = match first.loss > 0.0 {
        true => (value.slow_start_packets, value.slow_start_s + value.first_loss_s),
        false => {
            // Without losses the law stays at the limit: what comes after it is the long run.
            let until = (2.0 * limit - law.initial_window_packets).clamp(0.0, size);
            let rounds = libm::log2((limit / law.initial_window_packets).max(1.0)) + 1.0;
            if until < size { (until, rounds * first.rtt_s) } else { (size, value.slow_start_s) }
        }
    };
    let rest_s = (size - slow).max(0.0) / steady_pps.max(f64::MIN_POSITIVE);
    let latency_s = value.handshake_s + slow_s + rest_s;
    let starts = group.flows.iter().map(|stream| stream.start_s);
    let spread = starts.fold(0.0_f64, |most, start| most.max((start - first.start_s).abs()));
    let apart = (spread > TOGETHER_ROUNDS * first.rtt_s && spread > 0.02 * latency_s)
        .then(|| "transfers do not begin together".to_owned());
    let stopped = group.flows.iter().any(|stream| stream.stop_s.is_some());
    let stopped = stopped.then(|| "transfers may be stopped before their end".to_owned());
    let late = first.start_s + latency_s > to;
    let late = late.then(|| "transfers do not end within the measuring window".to_owned());
    let losses = first.loss * size;
    let few = (first.loss > 0.0 && losses < FEW && rest_s > 0.2 * latency_s)
        .then(|| "too few losses for a mean in the long run".to_owned());
    let long = found.streams[0].basis.outside.clone().filter(|_| rest_s > 0.2 * latency_s);
    let why = answer.outside.map(str::to_owned).or(apart).or(stopped).or(late).or(few).or(long);
    let why = why.or_else(|| outside::of_parameters(first));
    let basis = Basis::new(Cardwell::NAME, Cardwell::SOURCE, why);
    for flow in &mut found.streams {
        flow.basis = basis.clone();
        flow.goodput_pps = size / latency_s;
        flow.completion_s = latency_s.is_finite().then_some(latency_s);
        if rest_s < 0.2 * latency_s {
            // Over before there is a mean in the long run.
            (flow.window_packets, flow.loss) = (None, None);
        }
    }
    Ok(())
}
