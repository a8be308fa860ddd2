//! Counts of each direction while packets are matched.

use super::clock::Clock;
use super::delays::{Course, Delays};
use super::identity::Side;
use super::reordering::Reordering;
use super::watch::{Arrival, Look, Loss, Watcher};

/// Losses of a direction that are listed one by one.
const MOST_LISTED: usize = 10_000;

/// The same of all directions together.
const MOST_LISTED_IN_ALL: usize = 100_000;

/// Delays of a capture's directions that have a course: what a reader can look at.
const MOST_COURSES: usize = 64;

/// Numbers of one direction.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) sent_packets: u64,
    pub(super) sent_data_bytes: u64,
    pub(super) again_segments: u64,
    pub(super) again_data_bytes: u64,
    pub(super) received_packets: u64,
    pub(super) received_data_bytes: u64,
    pub(super) received_twice_bytes: u64,
    pub(super) arrived_packets: u64,
    pub(super) lost_packets: u64,
    pub(super) lost_data_segments: u64,
    pub(super) lost_data_bytes: u64,
    pub(super) lost_and_not_repaired: u64,
    pub(super) losses_in_all: u64,
    pub(super) undecided_packets: u64,
    pub(super) copied_packets: u64,
    pub(super) unsent_packets: u64,
    pub(super) unsent_outside: u64,
    pub(super) needed_again: u64,
    pub(super) needless_again: u64,
    pub(super) annotated: u64,
    pub(super) annotated_and_lost: u64,
    pub(super) annotated_and_arrived: u64,
    pub(super) longest_sent_bytes: u32,
    pub(super) longest_received_bytes: u32,
    pub(super) delays: Delays,
    pub(super) reordering: Reordering,
    pub(super) course: Option<Box<Course>>,
    pub(super) losses: Vec<Loss>,
}

impl Findings {
    /// Losses in packets as the network carries them: a segment that its sender's card cuts later
    /// may be lost in parts.
    fn packets_of(&self, loss: &Loss) -> u64 {
        let piece = u64::from(self.longest_received_bytes);
        let is_cut = piece > 0 && u64::from(loss.payload_bytes) > piece;
        if is_cut { loss.missing_bytes.div_ceil(piece).max(1) } else { 1 }
    }
}

/// Findings of all directions.
#[derive(Default)]
pub(super) struct Collector {
    pub(super) clock: Clock,
    pub(super) directions: Vec<Findings>,
    /// Losses that are listed, of all directions.
    listed: usize,
    courses: usize,
}

impl Collector {
    pub(super) fn new(clock: Clock) -> Collector {
        Collector { clock, ..Collector::default() }
    }

    /// The course of a direction, if it has one.
    fn course(&mut self, direction: usize) -> Option<&mut Course> {
        let findings = &mut self.directions[direction];
        if findings.course.is_none() && self.courses < MOST_COURSES {
            self.courses += 1;
            findings.course = Some(Box::default());
        }
        findings.course.as_deref_mut()
    }
}

impl Watcher for Collector {
    #[inline]
    fn sent(&mut self, direction: usize, look: &Look, again_bytes: Option<u32>) {
        let findings = &mut self.directions[direction];
        findings.sent_packets += 1;
        findings.sent_data_bytes += u64::from(look.payload_bytes);
        findings.longest_sent_bytes = findings.longest_sent_bytes.max(look.payload_bytes);
        findings.annotated += u64::from(look.is_annotated);
        if let Some(bytes) = again_bytes {
            findings.again_segments += 1;
            findings.again_data_bytes += u64::from(bytes);
        }
        if let Some(course) = self.course(direction) {
            course.sent(look.now_ns);
        }
    }

    #[inline]
    fn received(&mut self, direction: usize, look: &Look, again_bytes: u32) {
        let findings = &mut self.directions[direction];
        findings.received_packets += 1;
        findings.received_data_bytes += u64::from(look.payload_bytes);
        findings.received_twice_bytes += u64::from(again_bytes);
        findings.longest_received_bytes = findings.longest_received_bytes.max(look.payload_bytes);
    }

    #[inline]
    fn arrived(&mut self, direction: usize, _source: Side, arrival: &Arrival) {
        let findings = &mut self.directions[direction];
        findings.arrived_packets += u64::from(arrival.is_first);
        findings.annotated_and_arrived += u64::from(arrival.sent.is_annotated && arrival.is_first);
        findings.delays.add(arrival.delay_ns);
        findings.reordering.arrive(arrival.order, arrival.now_ns);
        let sent_ns = arrival.now_ns.saturating_sub(arrival.delay_ns);
        if let Some(course) = self.course(direction) {
            course.arrived(sent_ns, arrival.delay_ns);
        }
    }

    fn copied(&mut self, direction: usize) {
        self.directions[direction].copied_packets += 1;
    }

    fn lost(&mut self, direction: usize, loss: &Loss) {
        let findings = &mut self.directions[direction];
        let packets = findings.packets_of(loss);
        findings.lost_packets += packets;
        findings.losses_in_all += 1;
        findings.annotated_and_lost += u64::from(loss.is_annotated);
        if loss.payload_bytes > 0 {
            findings.lost_data_segments += packets;
            findings.lost_data_bytes += loss.missing_bytes.min(u64::from(loss.payload_bytes));
            findings.lost_and_not_repaired += u64::from(loss.repair.is_none());
        }
        if findings.losses.len() < MOST_LISTED && self.listed < MOST_LISTED_IN_ALL {
            self.listed += 1;
            findings.losses.push(*loss);
        }
        if let Some(course) = self.course(direction) {
            course.lost(loss.now_ns, packets);
        }
    }

    fn sent_again(&mut self, direction: usize, is_needed: bool) {
        let findings = &mut self.directions[direction];
        if is_needed {
            findings.needed_again += 1;
        } else {
            findings.needless_again += 1;
        }
    }

    fn undecided(&mut self, direction: usize) {
        self.directions[direction].undecided_packets += 1;
    }

    fn unsent(&mut self, direction: usize, is_covered: bool) {
        let findings = &mut self.directions[direction];
        if is_covered {
            findings.unsent_packets += 1;
        } else {
            findings.unsent_outside += 1;
        }
    }
}
