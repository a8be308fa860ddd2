//! RED in the kernel's parameters (net/sched/sch_red.c, include/net/red.h) and those of `tc`.
//!
//! The plain `red` notices that it is idle when it is asked for a packet and has none, and htb asks no
//! empty class: directly below it, the average would never decay over idle times, and a queue once
//! above its upper threshold would drop almost everything from then on. So a netem that delays
//! nothing is between them. It takes packets in at once and passes them to `red` when it is asked
//! for one, before it asks `red`: at the end of a transmission, where each finds the backlog that it
//! found when it arrived, or at once on an idle link. There `red`, if it drops the packet, is asked
//! and has none. What is missing is the decay before the first packet after a busy time.
//!
//! How an average decays is Linux's own. `tc` computes a table for times in ticks of 64 ns, with natural
//! logarithms for powers of two (tc/tc_red.c, `tc_red_eval_idle_damping`), and the kernel looks
//! it up in microseconds (include/net/red.h, `red_calc_qavg_from_idle_time`), with a straight line up to
//! the first entry. So the average falls to a half about when it should, and then stays there some twenty
//! times too long.

use fairway_net::{RedConfig, RedMeasure};
use fairway_units::Rate;

use super::qdisc::{LEAF, Line, UNLIMITED, Wire, tc_rate};
use super::refusal::Refusals;

/// Size of a packet by which the average decays while a link is idle, the simulator's too.
const TYPICAL_PACKET_BYTES: u64 = 1000;
/// How far the kernel's weight, a power of two, may be from the one that is asked for.
const WEIGHT_TOLERANCE: f64 = 0.05;
/// Largest exponent of a weight that `tc` tries (iproute2 tc/tc_red.c, `tc_red_eval_ewma`).
const MAX_WLOG: u32 = 31;
/// Bits of a threshold times 2^exponent (include/net/red.h, `red_check_params`).
const AVERAGE_BITS: u32 = 31;
/// Longest burst that is tried: what fits into a weight's 31 bits comes long before.
const MAX_BURST: u32 = 10_000_000;
/// Largest number of bits by which the table of `tc` shifts the average.
const MAX_SHIFT: f64 = 31.0;
/// Ticks of 64 ns (include/net/pkt_sched.h, PSCHED_SHIFT), in which `tc` counts.
const TICKS_PER_S: f64 = 1e9 / 64.0;
/// The largest probability of 32 bits.
const MAX_PROBABILITY: f64 = 1.0 - 1.0 / 4_294_967_296.0;

/// RED below htb, with `limit` bytes that may wait.
pub(super) fn red(
    red: &RedConfig,
    limit: u64,
    wire: &Wire,
    path: &str,
    refusals: &mut Refusals,
) -> Vec<Line> {
    let RedConfig { min_threshold, max_threshold, max_probability, weight, gentle, ecn, .. } = red;
    let mut refuse = |key: &str, message: String| refusals.refuse(format!("{path}.{key}"), message);
    if *gentle {
        let message = "a kernel's RED drops everything above max_threshold; write gentle = false, \
                       or remove `network = \"tc\"`";
        refuse("queue.gentle", message.to_owned());
    }
    if red.adaptive.is_some() {
        let message = "adaptive RED is not yet given to tc; write false, or remove `network = \
                       \"tc\"`";
        refuse("queue.adaptive", message.to_owned());
    }
    if red.by_size {
        let message = "a kernel's RED does not look at the sizes of packets; write false, or \
                       remove `network = \"tc\"`";
        refuse("queue.by_size", message.to_owned());
    }
    if red.mean_packet.get() != TYPICAL_PACKET_BYTES {
        let message = format!(
            "a kernel's RED is given packets of {TYPICAL_PACKET_BYTES} bytes; write \
             \"{TYPICAL_PACKET_BYTES} bytes\", or remove `network = \"tc\"`"
        );
        refuse("queue.mean_packet", message);
    }
    // What counts as a packet of the average.
    let packet = match red.measure {
        RedMeasure::Packets => wire.frame,
        RedMeasure::Bytes => TYPICAL_PACKET_BYTES,
    };
    // To `tc`, a threshold of nothing is one that is not given.
    let bytes = |packets: f64| (packets * packet as f64).round().max(1.0);
    let (min, max) = (bytes(*min_threshold), bytes(*max_threshold));
    let (exponent, burst) = match burst(*weight, min) {
        Ok(found) => found,
        Err(message) => {
            refuse("queue.weight", message);
            return Vec::new();
        }
    };
    if max * f64::from(1u32 << exponent) >= f64::from(1u32 << AVERAGE_BITS) {
        let message = format!(
            "{max_threshold} packets with a weight of 2^-{exponent} need more than the \
             {AVERAGE_BITS} bits of a kernel's average; write a lower threshold or a larger weight"
        );
        refuse("queue.max_threshold", message);
    }
    if let Err(message) = check_probability(*max_probability, max - min) {
        refuse("queue.max_probability", message);
    }
    if let Err(message) = check_rate(wire.rate, exponent) {
        refuse("rate", message);
    }
    let probability = max_probability.min(MAX_PROBABILITY);
    let mark = match (*ecn, red.ecn_beyond_max) {
        (false, _) => "",
        (true, false) => " ecn harddrop",
        (true, true) => " ecn",
    };
    let parameters = format!(
        "limit {limit}b min {min}b max {max}b avpkt {TYPICAL_PACKET_BYTES}b burst {burst} \
         probability {probability} bandwidth {}",
        tc_rate(wire.rate)
    );
    vec![
        ("qdisc add", format!("{LEAF} netem limit {UNLIMITED}")),
        ("qdisc add", format!("parent 10:1 handle 20: red {parameters}{mark}")),
    ]
}

/// Whether `tc` takes a probability for thresholds so far apart (iproute2 tc/tc_red.c,
/// `tc_red_eval_P`): for a byte, it has to be above 2^-31.
fn check_probability(probability: f64, bytes: f64) -> Result<(), String> {
    let least = bytes / f64::from(1u32 << 31);
    if probability > 0.0 && (bytes == 0.0 || probability > least) {
        return Ok(());
    }
    Err(format!(
        "a kernel's RED needs a probability above {least:.1e} with these thresholds, got \
         {probability}; write 0.1, or kind = \"droptail\""
    ))
}

/// Whether `tc` can tabulate by how much the average decays while the link is idle (iproute2
/// tc/tc_red.c, `tc_red_eval_idle_damping`): bytes a second have 32 bits, and the time to its last
/// entry is below 512 times 2^31 ticks.
fn check_rate(rate: Rate, exponent: u32) -> Result<(), String> {
    let bytes_per_s = rate.as_bps() as f64 / 8.0;
    if bytes_per_s >= f64::from(u32::MAX) {
        return Err(format!(
            "{rate} is more than tc takes for RED; write \"34 Gbit/s\" or less, or kind = \
             \"droptail\""
        ));
    }
    let decay = -libm::log1p(-power_of_half(exponent));
    let ticks = MAX_SHIFT * TYPICAL_PACKET_BYTES as f64 * TICKS_PER_S / decay;
    let least = ticks / (1u64 << 40) as f64;
    if bytes_per_s > least {
        return Ok(());
    }
    Err(format!(
        "tc cannot tabulate the idle times of RED at {rate} with a weight of 2^-{exponent}; write \
         more than \"{} bit/s\", or a larger weight",
        (8.0 * least).ceil()
    ))
}

/// The exponent of the weight, and the burst by which `tc` is brought to it.
fn burst(weight: f64, min: f64) -> Result<(u32, u32), String> {
    let exponent = (1..=MAX_WLOG)
        .find(|exponent| {
            let power = power_of_half(*exponent);
            (power - weight).abs() <= WEIGHT_TOLERANCE * weight
        })
        .ok_or_else(|| {
            let near = (1..=MAX_WLOG)
                .map(power_of_half)
                .min_by(|a, b| (a - weight).abs().total_cmp(&(b - weight).abs()))
                .unwrap_or(0.5);
            format!("a kernel's weights are powers of two, got {weight}; write {near}")
        })?;
    let found = bursts_of(exponent, min).ok_or_else(|| {
        format!("tc has no burst for a weight of {weight} with this min_threshold; raise that")
    })?;
    Ok((exponent, found))
}

fn power_of_half(exponent: u32) -> f64 {
    1.0 / f64::from(1u32 << exponent)
}

/// A burst that `tc` (iproute2 tc/tc_red.c, `tc_red_eval_ewma`) turns into the exponent: the
/// smallest w with burst + 1 - min/avpkt <= (1 - (1 - 2^-w)^burst) / 2^-w. The right side grows
/// with w and falls behind the left as the burst grows, so w grows with the burst.
fn bursts_of(exponent: u32, min: f64) -> Option<u32> {
    let reached = |burst: u32, exponent: u32| {
        let w = power_of_half(exponent);
        let burst = f64::from(burst);
        burst + 1.0 - min / TYPICAL_PACKET_BYTES as f64 <= (1.0 - libm::pow(1.0 - w, burst)) / w
    };
    // tc warns below this, where the left side is below 1.
    let first = (min / TYPICAL_PACKET_BYTES as f64).ceil() as u32;
    let largest = partition(first.max(1), MAX_BURST, |burst| reached(burst, exponent))?;
    let below = match exponent {
        1 => first.max(1),
        _ => partition(first.max(1), MAX_BURST, |burst| reached(burst, exponent - 1))
            .map_or(first.max(1), |burst| burst + 1),
    };
    // In the middle, where rounding cannot lead elsewhere.
    (below <= largest).then(|| below + (largest - below) / 2)
}

/// The largest number in from..=to for which `holds`, if that holds up to some number and not
/// beyond.
fn partition(from: u32, to: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if from > to || !holds(from) {
        return None;
    }
    let (mut yes, mut no) = (from, to + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(yes)
}
