//! The first packet at which two captures of the same place part: two runs of one experiment, whose
//! packets should be the same.
//!
//! Both captures are read in step. The nth connection of one is held against the nth of the other,
//! packet by packet, by content: direction, sequence and acknowledgement numbers since the SYN, length,
//! control bits but PSH, and SACK blocks. Times may differ; they only tell which difference is the first.
//! Memory holds what one capture has shown and the other not yet.

mod flow;
mod packet;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use fairway_capture::read::{Capture, ReadError};
use fairway_capture::{Packet, Transport};
use fairway_units::{Duration, Time};
use serde::Serialize;

use self::flow::{Flow, State};
pub use self::packet::Segment;

/// Packets that one capture may be ahead in one connection before it is taken to part from the other.
const MOST_AHEAD: usize = 1 << 16;
/// Packets shown of each side from the difference on.
const SHOWN_AFTER: usize = 12;
/// What one run has in its last millisecond alone may have come after the other's end.
const END: Duration = Duration::from_millis(1);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum PartingError {
    /// Nothing of a capture can be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It was asked to stop.
    #[error("stopped")]
    Cancelled,
}

/// The first packet at which two captures part, of the connection that parts first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parting {
    /// The connection's number in its capture, from 0; TCP and UDP count apart.
    pub connection: usize,
    /// Whether it is of TCP.
    pub is_tcp: bool,
    /// Its ends on each side, the opener's first.
    pub ends: [Option<[String; 2]>; 2],
    /// Packets of the connection that are the same.
    pub same: u64,
    /// When the first of both sides parts.
    pub at_ns: u64,
    /// The last of these packets, as the first capture has them.
    pub before: Vec<Segment>,
    /// The packets that follow on each side, those that part first.
    pub after: [Vec<Segment>; 2],
}

/// What became of the comparison.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Comparison {
    /// Packets read from each capture.
    pub packets: [u64; 2],
    /// Of these on each side, datagrams of UDP and segments of TCP that are the same.
    pub same: [u64; 2],
    /// Those of each side that are neither of UDP nor of TCP, and were not compared.
    pub other: [u64; 2],
    /// Those that one side has alone in the last millisecond, which is no difference.
    pub alone: [u64; 2],
    /// When the first and the last packet of both were captured.
    pub span_ns: Option<[u64; 2]>,
    /// The first difference, if there is one.
    pub parting: Option<Parting>,
}

/// Find the first packet at which two captures part. `goes_on` is asked now and then.
///
/// # Errors
/// If nothing of a capture can be read, or it was asked to stop.
pub fn compare(
    paths: [&Path; 2],
    before: usize,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Comparison, PartingError> {
    let mut captures = [Capture::open(paths[0])?, Capture::open(paths[1])?];
    captures.iter_mut().for_each(|capture| capture.verify_checksums(false));
    let mut next = |side: usize| captures[side].next().copied();
    compare_packets(&mut next, before, goes_on).ok_or(PartingError::Cancelled)
}

/// The same of packets from anywhere; none if it was asked to stop.
fn compare_packets(
    next: &mut dyn FnMut(usize) -> Option<Packet>,
    before: usize,
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Comparison> {
    let mut heads = [next(0), next(1)];
    let mut comparer = Comparer::new(before);
    loop {
        let side = match &heads {
            [None, None] => break,
            [Some(first), Some(second)] => usize::from(second.at < first.at),
            [first, _] => usize::from(first.is_none()),
        };
        if let Some(packet) = std::mem::replace(&mut heads[side], next(side)) {
            comparer.take(side, &packet);
        }
        if comparer.packets[0].wrapping_add(comparer.packets[1]).is_multiple_of(1 << 14)
            && !goes_on()
        {
            return None;
        }
        if comparer.is_decided() {
            break;
        }
    }
    Some(comparer.finish())
}

/// Source, destination, and whether it is TCP.
type Key = (SocketAddr, SocketAddr, bool);

/// The connections of both captures.
struct Comparer {
    before: usize,
    packets: [u64; 2],
    other: [u64; 2],
    span_ns: Option<[u64; 2]>,
    clocks: [Time; 2],
    /// Connections of each side by their ends, in both orders: number, and whether the first end opened.
    known: [BTreeMap<Key, (usize, bool)>; 2],
    /// How many each side has, of UDP and of TCP.
    counts: [[usize; 2]; 2],
    /// Flows of UDP and of TCP.
    flows: [Vec<Flow>; 2],
    /// The flow that parts first so far, and when.
    found: Option<(Time, bool, usize)>,
}

impl Comparer {
    fn new(before: usize) -> Self {
        Comparer {
            before,
            packets: [0; 2],
            other: [0; 2],
            span_ns: None,
            clocks: [Time::ZERO; 2],
            known: Default::default(),
            counts: [[0; 2]; 2],
            flows: [Vec::new(), Vec::new()],
            found: None,
        }
    }

    fn take(&mut self, side: usize, packet: &Packet) {
        self.packets[side] += 1;
        self.clocks[side] = packet.at;
        let at_ns = packet.at.as_nanos();
        let [first, last] = self.span_ns.unwrap_or([at_ns; 2]);
        self.span_ns = Some([first.min(at_ns), last.max(at_ns)]);
        let is_tcp = match packet.transport {
            Transport::Tcp(_) => true,
            Transport::Udp(_) => false,
            Transport::Other(_) => {
                self.other[side] += 1;
                return;
            }
        };
        let (number, forward) = self.number(side, packet, is_tcp);
        let flow = &mut self.flows[usize::from(is_tcp)][number];
        flow.take(side, packet, forward);
        match flow.compare(self.clocks) {
            State::Same => {}
            State::Parted(at) => self.note(at, is_tcp, number),
            State::Ahead(at, count) if count > MOST_AHEAD => self.note(at, is_tcp, number),
            State::Ahead(..) => {}
        }
    }

    fn note(&mut self, at: Time, is_tcp: bool, number: usize) {
        if self.found.is_none_or(|(other, ..)| at < other) {
            self.found = Some((at, is_tcp, number));
        }
    }

    /// The number of a packet's connection on its side, and whether its opener sent it.
    fn number(&mut self, side: usize, packet: &Packet, is_tcp: bool) -> (usize, bool) {
        let key = (packet.source, packet.destination, is_tcp);
        if let Some(&(number, forward)) = self.known[side].get(&key)
            && !self.flows[usize::from(is_tcp)][number].opens_again(side, packet)
        {
            return (number, forward);
        }
        let number = self.counts[side][usize::from(is_tcp)];
        self.counts[side][usize::from(is_tcp)] += 1;
        let forward = !packet::is_answer_to_syn(packet);
        self.known[side].insert(key, (number, forward));
        self.known[side].insert((packet.destination, packet.source, is_tcp), (number, !forward));
        let flows = &mut self.flows[usize::from(is_tcp)];
        if flows.len() <= number {
            flows.push(Flow::new(self.before));
        }
        (number, forward)
    }

    /// Whether a difference was found, enough of what follows it is known, and no other connection may
    /// turn out to part before.
    fn is_decided(&self) -> bool {
        let Some((at, is_tcp, number)) = self.found else { return false };
        let flow = &self.flows[usize::from(is_tcp)][number];
        let is_open = |flow: &Flow| flow.is_ahead_since().is_some_and(|since| since < at);
        (flow.is_shown(SHOWN_AFTER) || self.clocks.iter().all(|clock| clock.since(at) > END * 1000))
            && !self.flows.iter().flatten().any(is_open)
    }

    fn finish(mut self) -> Comparison {
        let end = self.clocks[0].max(self.clocks[1]);
        for kind in [false, true] {
            for number in 0..self.flows[usize::from(kind)].len() {
                let flow = &mut self.flows[usize::from(kind)][number];
                match flow.compare([Time::NEVER; 2]) {
                    State::Parted(at) => self.note(at, kind, number),
                    State::Ahead(at, _) if end.since(at) > END => self.note(at, kind, number),
                    State::Ahead(..) | State::Same => {}
                }
            }
        }
        let parting = self.found.map(|(at, is_tcp, number)| {
            let flow = &self.flows[usize::from(is_tcp)][number];
            Parting {
                connection: number,
                is_tcp,
                ends: flow.ends(),
                same: flow.same(),
                at_ns: at.as_nanos(),
                before: flow.before(),
                after: flow.after(SHOWN_AFTER),
            }
        });
        let sum = |flows: &[Flow]| flows.iter().map(Flow::same).sum();
        let waiting =
            |side: usize| self.flows.iter().flatten().map(|flow| flow.waiting(side)).sum();
        Comparison {
            packets: self.packets,
            same: self.flows.each_ref().map(|flows| sum(flows)),
            other: self.other,
            alone: if parting.is_none() { [waiting(0), waiting(1)] } else { [0; 2] },
            span_ns: self.span_ns,
            parting,
        }
    }
}
