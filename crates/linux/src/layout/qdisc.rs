//! Queue disciplines of one link: the queue in front of its rate, and the wire behind.
//!
//! A queue that is limited in packets is one netem: it holds a packet to the end of its
//! transmission, counts it until then, and drops at the tail, as the simulator's does.
//!
//! netem cannot count bytes, nor run RED; and a packet that it holds takes no memory of its sender's socket
//! any more (net/sched/sch_netem.c, `netem_enqueue`), which a `send_buffer` needs. There an htb of one class is the rate, with the queue as
//! its leaf. Its bucket holds one byte, and it passes a packet while the bucket is not empty of it:
//! so packet k leaves at s(k) = max(a(k), s(k-1) + L(k-1)/R), when its transmission begins, and the
//! leaf holds those that wait. A second netem of the same rate on the wire, which the packet meets
//! at s(k), passes it at max(s(k), e(k-1)) + L(k)/R + D. If e(k-1) = s(k-1) + L(k-1)/R, then
//! e(k-1) <= s(k), and e(k) = s(k) + L(k)/R: by induction the end of its transmission, exactly.

use fairway_net::{DropTailConfig, QdiscConfig, RateConfig, RedQueueConfig, WireConfig};
use fairway_spec::{Limit, Link};
use fairway_units::{Duration, Rate};

use super::refusal::Refusals;
use super::{controlled, red};

/// The Ethernet header, which Linux counts with every packet of a device.
pub(super) const ETHERNET: u32 = 14;
/// Longest that htb waits for its bucket to fill (net/sched/sch_htb.c, `mbuffer`).
const MAX_DEBT_S: u64 = 60;
/// Longest delay: 2^32 ticks of 64 ns, which `tc` makes of microseconds (iproute2 6.1, tc/q_netem.c,
/// `get_ticks`), in whole seconds.
const MAX_DELAY_NS: u64 = 274_000_000_000;
/// Packets that no memory of a guest holds: no limit.
pub(super) const UNLIMITED: u64 = 1_000_000;

/// A line for `tc -batch` that lacks its device: "qdisc add", and what follows the device.
pub(super) type Line = (&'static str, String);

/// Where the queue is below htb.
pub(super) const LEAF: &str = "parent 1:1 handle 10:";

/// The queue disciplines of one link, alike in both directions but for losses.
pub(super) struct Disciplines {
    queue: Vec<Line>,
    /// Of the wires towards the sinks and towards the sources, if there is anything to do.
    wires: [Option<Line>; 2],
    /// As [`fairway_guest::plan::Queue`] has it.
    pub(super) counted_overhead_bytes: u32,
    /// As [`fairway_guest::plan::Queue`] has it.
    pub(super) holds_transmission: bool,
    /// As [`fairway_guest::plan::Queue`] has it.
    pub(super) keeps_order: bool,
}

impl Disciplines {
    /// Lines that put the queue on a device.
    pub(super) fn queue_on(&self, device: &str) -> impl Iterator<Item = String> {
        self.queue.iter().map(move |line| on(line, device))
    }

    /// The line that puts the wire in one direction on a device.
    pub(super) fn wire_on(&self, device: &str, reverse: bool) -> Option<String> {
        self.wires[usize::from(reverse)].as_ref().map(|line| on(line, device))
    }
}

fn on((what, rest): &Line, device: &str) -> String {
    format!("{what} dev {device} {rest}")
}

/// What one link consists of, in the kernel's words.
pub(super) struct Wire {
    pub(super) rate: Rate,
    /// Bytes that every packet has beyond its IP packet.
    pub(super) overhead: u32,
    /// Bytes of a full packet, overhead included.
    pub(super) frame: u64,
}

/// The queue disciplines of a link at `path`; such that packets hold the memory of their sockets while they
/// wait, if that matters.
pub(super) fn disciplines(
    link: &Link,
    overhead: u32,
    mtu: u32,
    holds_sockets: bool,
    path: &str,
    refusals: &mut Refusals,
) -> Disciplines {
    refuse_delay(link.delay, path, refusals);
    refuse_extras(link, path, refusals);
    let wire = Wire { rate: link.rate, overhead, frame: u64::from(mtu) + u64::from(overhead) };
    let (queue, shaped) = match &*link.queue {
        // Nothing waits in front of a link that takes no time.
        _ if link.rate == Rate::UNLIMITED => (pfifo(), false),
        QdiscConfig::DropTail(DropTailConfig { limit }) => match limit {
            Limit::Bytes(_) => {
                let limit = waiting_bytes(*limit, &wire, path, refusals);
                (htb(&wire, leaf(format!("bfifo limit {limit}b")), path, refusals), true)
            }
            _ if holds_sockets => {
                let waiting = waiting_packets(*limit, path, refusals);
                (htb(&wire, leaf(format!("pfifo limit {waiting}")), path, refusals), true)
            }
            Limit::Unlimited => (netem(&wire, UNLIMITED), false),
            Limit::Packets(packets) => (netem(&wire, *packets), false),
        },
        QdiscConfig::Red(RedQueueConfig { limit, red }) => {
            let limit = waiting_bytes(*limit, &wire, path, refusals);
            let leaf = red::red(red, limit, &wire, path, refusals);
            (htb(&wire, leaf, path, refusals), true)
        }
        config => {
            let leaf = leaf(controlled::discipline(config, path, refusals));
            (htb(&wire, leaf, path, refusals), true)
        }
    };
    let wires = [false, true].map(|reverse| {
        let loss = link.loss.filter(|loss| if reverse { loss.reverse } else { loss.forward });
        netem_wire(link.delay, loss.map_or(0.0, |loss| loss.probability), shaped.then_some(&wire))
    });
    Disciplines {
        queue,
        wires,
        counted_overhead_bytes: if shaped { overhead } else { ETHERNET },
        holds_transmission: !shaped,
        keeps_order: controlled::keeps_order(&link.queue),
    }
}

/// Refuses what netem does otherwise, or not at all.
fn refuse_extras(link: &Link, path: &str, refusals: &mut Refusals) {
    let Some(extras) = &link.extras else { return };
    let impairments = |wire: &WireConfig| {
        let WireConfig { loss, corruption, duplication, reordering, jitter } = wire;
        [
            ("loss", loss.is_some()),
            ("corruption", corruption.is_some()),
            ("duplication", *duplication > 0.0),
            ("reordering", reordering.is_some()),
            ("jitter", jitter.is_some()),
        ]
    };
    let [forward, reverse] = extras.wires.each_ref().map(impairments);
    let of_wires = forward.into_iter().zip(reverse).map(|((key, a), (_, b))| (key, a || b));
    let of_link = [
        ("change", !extras.schedule.changes.is_empty()),
        ("on_off", matches!(extras.rate, RateConfig::OnOff(_))),
        ("state", matches!(extras.rate, RateConfig::Markov(_))),
        ("trace", matches!(extras.rate, RateConfig::Trace(_))),
    ];
    for (key, _) in of_wires.chain(of_link).filter(|(_, written)| *written) {
        let message = match key {
            "loss" if link.replayed_loss().is_some() => {
                "tc draws random numbers of its own and replays none of ns-3's; remove replay, or \
                 remove `network = \"tc\"`"
            }
            "loss" => {
                "tc is given losses of packets each by itself, and these only where nothing else \
                 is on the wire; write kind = \"bernoulli\" alone, or remove `network = \"tc\"`"
            }
            _ => "is not given to tc; remove it, or remove `network = \"tc\"`",
        };
        refusals.refuse(format!("{path}.{key}"), message);
    }
}

/// A queue that only counts.
fn pfifo() -> Vec<Line> {
    vec![("qdisc add", format!("root handle 1: pfifo limit {UNLIMITED}"))]
}

fn netem(wire: &Wire, packets: u64) -> Vec<Line> {
    let packets = packets.min(u64::from(u32::MAX));
    vec![("qdisc add", format!("root handle 1: netem {} limit {packets}", netem_rate(wire)))]
}

/// A queue of one line in htb's class.
fn leaf(what: String) -> Vec<Line> {
    vec![("qdisc add", format!("{LEAF} {what}"))]
}

fn htb(wire: &Wire, leaf: Vec<Line>, path: &str, refusals: &mut Refusals) -> Vec<Line> {
    let least = (wire.frame * 8).div_ceil(MAX_DEBT_S);
    if wire.rate.as_bps() < least {
        let message = format!(
            "{} takes longer for a packet of {} bytes than the minute that a kernel's htb counts; \
             write \"{least} bit/s\" or more, or limit = \"50 packets\" and kind = \"droptail\"",
            wire.rate, wire.frame,
        );
        refusals.refuse(format!("{path}.rate"), message);
    }
    let size = match signed_overhead(wire) {
        0 => String::new(),
        overhead => format!("stab overhead {overhead} linklayer ethernet "),
    };
    // A turn of several packets where there is one class anyway; the default would warn.
    let quantum = wire.frame.max(1500);
    let mut lines = vec![
        ("qdisc add", format!("root handle 1: {size}htb default 1")),
        (
            "class add",
            format!(
                "parent 1: classid 1:1 htb rate {} burst 1b cburst 1b quantum {quantum}",
                tc_rate(wire.rate)
            ),
        ),
    ];
    lines.extend(leaf);
    lines
}

/// Delay, losses and, behind a queue that passes packets at the beginning of their transmission,
/// the transmission.
fn netem_wire(delay: Duration, loss: f64, transmission: Option<&Wire>) -> Option<Line> {
    let mut what = String::new();
    if delay > Duration::ZERO {
        what += &format!(" delay {}", tc_time(delay));
    }
    if loss > 0.0 {
        what += &format!(" loss random {}%", percent(loss));
    }
    if let Some(wire) = transmission {
        what += &format!(" {}", netem_rate(wire));
    }
    (!what.is_empty())
        .then(|| ("qdisc add", format!("root handle 1: netem{what} limit {UNLIMITED}")))
}

/// netem adds its overhead to what the device counts.
fn netem_rate(wire: &Wire) -> String {
    match signed_overhead(wire) {
        0 => format!("rate {}", tc_rate(wire.rate)),
        overhead => format!("rate {} {overhead}", tc_rate(wire.rate)),
    }
}

/// What the link has beyond what the device counts.
fn signed_overhead(wire: &Wire) -> i64 {
    i64::from(wire.overhead) - i64::from(ETHERNET)
}

/// Bytes that may wait behind a full packet in transmission.
fn waiting_bytes(limit: Limit, wire: &Wire, path: &str, refusals: &mut Refusals) -> u64 {
    let bytes = match limit {
        Limit::Unlimited => u64::from(u32::MAX),
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => packets.saturating_mul(wire.frame),
    };
    let waiting = bytes.saturating_sub(wire.frame);
    if waiting < wire.frame {
        let message = format!(
            "{bytes} bytes hold less than two packets of {} bytes, and a kernel's queue of bytes \
             has to; write limit = \"2 packets\" or more",
            wire.frame
        );
        refusals.refuse(format!("{path}.queue.limit"), message);
    }
    waiting.min(u64::from(u32::MAX))
}

/// Packets that may wait behind one in transmission.
fn waiting_packets(limit: Limit, path: &str, refusals: &mut Refusals) -> u64 {
    let Limit::Packets(packets) = limit else { return UNLIMITED };
    if packets < 2 {
        let message = "\"1 packets\" leaves no room behind the packet in transmission, and where a flow \
                       has a send_buffer a kernel's queue has to; write limit = \"2 packets\" or more";
        refusals.refuse(format!("{path}.queue.limit"), message);
    }
    packets.saturating_sub(1).min(u64::from(u32::MAX))
}

/// A rate as `tc` reads it.
pub(super) fn tc_rate(rate: Rate) -> String {
    let bps = rate.as_bps();
    let units = [(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1000, "kbit")];
    match units.into_iter().find(|(unit, _)| bps.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", bps / unit),
        None => format!("{bps}bit"),
    }
}

/// Refuses delays that `tc` would round or not take.
fn refuse_delay(delay: Duration, path: &str, refusals: &mut Refusals) {
    let nanos = delay.as_nanos();
    let message = if nanos > MAX_DELAY_NS {
        let longest = Duration::from_nanos(MAX_DELAY_NS);
        format!("{delay} is longer than the {longest} that tc takes; write less")
    } else if !nanos.is_multiple_of(1000) {
        let nearest = Duration::from_micros((nanos + 500) / 1000);
        format!("tc counts it in microseconds, got {delay}; write \"{nearest}\"")
    } else {
        return;
    };
    refusals.refuse(format!("{path}.delay"), message);
}

/// A time of whole microseconds as `tc` reads it.
fn tc_time(time: Duration) -> String {
    let micros = time.as_nanos() / 1000;
    let units = [(1_000_000, "s"), (1000, "ms")];
    match units.into_iter().find(|(unit, _)| micros.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", micros / unit),
        None => format!("{micros}us"),
    }
}

/// A probability in percent, as short as it is exact to twelve digits: netem keeps 32 bits.
fn percent(probability: f64) -> String {
    let text = format!("{:.12}", probability * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
