//! Laws of random loss: what one stream sends where each packet is lost by itself.

use fairway_model::Algorithm;
use fairway_model::constants::{HIGHSPEED_LOW_WINDOW_PACKETS, HYBLA_REFERENCE_RTT_S, MUCH_LOSS};
use fairway_model::laws::{BicLinux, Cubic, Hybla, Law, Mathis, Pftk};

use super::streams::Alike;

/// What a law says of one stream.
pub(super) struct Sent {
    pub name: &'static str,
    pub source: &'static str,
    /// Packets sent in a second; as many as one likes where losses do not matter.
    pub pps: f64,
    /// Why it may not be believed.
    pub outside: Option<String>,
}

/// What random losses leave a stream, by the law of its congestion control; none if no model has one.
pub(super) fn with_losses(alike: &Alike) -> Option<Sent> {
    let (loss, rtt_s) = (alike.path.loss, alike.path.rtt_s);
    let packets_per_ack = alike.stream.packets_per_growth;
    match alike.stream.cc.as_str() {
        "reno" | "newreno" => reno(alike),
        "hybla" => {
            let law =
                Hybla { loss, rtt_s, reference_rtt_s: HYBLA_REFERENCE_RTT_S, packets_per_ack };
            of(&law, |value| value.rate_pps).map(at_even_distances)
        }
        "bic" => {
            let packets_per_ack = if alike.stream.delays_acks { 2.0 } else { 1.0 };
            let law = BicLinux { loss, rtt_s, packets_per_ack };
            of(&law, |value| value.rate_pps).map(at_even_distances)
        }
        _ => of_others(alike),
    }
}

/// Of a law that has losses at even distances, where they come at random.
fn at_even_distances(sent: Sent) -> Sent {
    let why = "losses come at random, and the law has them at even distances";
    Sent { outside: sent.outside.or(Some(why.to_owned())), ..sent }
}

/// A law of the list.
fn of<L: Law>(law: &L, rate: impl Fn(&L::Value) -> f64) -> Option<Sent> {
    let answer = law.evaluate().ok()?;
    let outside = answer.outside.map(str::to_owned);
    Some(Sent { name: L::NAME, source: L::SOURCE, pps: rate(&answer.value), outside })
}

/// The square-root law, or with timeouts where no SACK spares them.
fn reno(alike: &Alike) -> Option<Sent> {
    let (loss, rtt_s) = (alike.path.loss, alike.path.rtt_s);
    let packets_per_ack = alike.stream.packets_per_growth;
    if alike.stream.has_sack {
        of(&Mathis { loss, rtt_s, packets_per_ack }, |value| value.rate_pps)
    } else {
        let window_limit_packets = alike.stream.window_packets;
        let rto_s = alike.path.rto_s;
        let law = Pftk { loss, rtt_s, rto_s, packets_per_ack, window_limit_packets };
        of(&law, |value| value.send_pps)
    }
}

/// Response functions that models of parallel streams know.
fn of_others(alike: &Alike) -> Option<Sent> {
    let (loss, rtt_s) = (alike.path.loss, alike.path.rtt_s);
    let algorithm = alike.algorithm?;
    let (name, source) = match algorithm {
        Algorithm::Cubic => (Cubic::NAME, Cubic::SOURCE),
        Algorithm::HighSpeed => ("highspeed", "RFC 3649, section 5"),
        Algorithm::Htcp => ("htcp", "derived from Leith, Shorten 2004, section 2"),
        Algorithm::Scalable => {
            ("scalable", "Kelly 2003, section 2; Linux, net/ipv4/tcp_scalable.c")
        }
        // A loss below some 15 % does not slow it down.
        Algorithm::Bbr => {
            let (name, source) = ("BBR's model", "Cardwell et al., ACM Queue 14(5), 2016");
            return Some(Sent { name, source, pps: f64::INFINITY, outside: None });
        }
        Algorithm::Reno | Algorithm::Bic | Algorithm::WestwoodPlus | Algorithm::Delay => {
            return None;
        }
    };
    let window = algorithm.window(loss, rtt_s)?;
    let outside = (loss > MUCH_LOSS).then(|| "more than 2 % of packets are lost".to_owned());
    let sent = Sent { name, source, pps: window / rtt_s, outside };
    // Above its Low_Window HighSpeed is no additive increase.
    let is_uneven = algorithm == Algorithm::HighSpeed && window > HIGHSPEED_LOW_WINDOW_PACKETS;
    Some(if is_uneven { at_even_distances(sent) } else { sent })
}
