//! What is outstanding, as the sender of the direction must have it: what each
//! acknowledgement, what is lost, and the rate of delivery.
//!
//! Losses are marked as Linux 6.1 marks them once three segments were selectively acknowledged or
//! recovery is under way: what was sent before something that has arrived since (RFC 8985 with no
//! window for reordering).

use std::collections::{BTreeSet, VecDeque};

use fairway_cc::RateSample;
use fairway_tcp::DeliveryRate;
use fairway_units::{Duration, Time};

/// Segments that are followed at once, some hundred times what a path of 1 Gbit/s and 100 ms holds
/// in units of 64 kB; beyond, the direction is not followed any further.
const MAX_OUTSTANDING: usize = 1 << 18;
/// Losses are believed from this many segments above them on (RFC 8985 section 6.2, `DupThresh`).
const DUP_THRESHOLD: u64 = 3;

struct Outstanding {
    start: i64,
    end: i64,
    sent_at: Time,
    is_again: bool,
    is_sacked: bool,
    is_lost: bool,
    /// Whether it was ever marked lost.
    was_lost: bool,
}

impl Outstanding {
    fn bytes(&self) -> u64 {
        (self.end - self.start) as u64
    }

    fn is_in_flight(&self) -> bool {
        !self.is_sacked && !self.is_lost
    }
}

/// One acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSummary {
    /// Bytes newly acknowledged cumulatively.
    pub acked: u64,
    /// Bytes newly delivered.
    pub delivered: u64,
    /// Bytes newly marked lost.
    pub lost: u64,
    /// Round trip of the latest segment delivered that was sent once; SACKed before acknowledged.
    pub rtt: Option<Duration>,
    /// Sample of the delivery rate.
    pub rate: Option<RateSample>,
}

/// The outstanding segments.
#[derive(Default)]
pub struct Scoreboard {
    segments: VecDeque<Outstanding>,
    /// Segments that have left the front: the identity of the first is this.
    gone: u64,
    /// Identities of what lies below something selectively acknowledged, and is not itself.
    holes: BTreeSet<u64>,
    /// Identity beyond the highest that is selectively acknowledged.
    above_sacked: u64,
    /// Segments sent once have been judged up to this identity.
    judged: u64,
    /// First byte that is not acknowledged.
    pub una: i64,
    /// Next new byte.
    pub nxt: i64,
    /// Bytes in the network (RFC 6675 pipe).
    pub pipe: u64,
    sacked_segments: u64,
    /// Segments that were marked lost and have not arrived.
    lost_segments: u64,
    /// Smallest round trip so far.
    pub min_rtt: Option<Duration>,
    rate: DeliveryRate,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Bytes marked lost so far.
    pub lost: u64,
    /// Whether more was outstanding than is followed.
    pub has_overflowed: bool,
}

impl Scoreboard {
    /// Whether anything that was marked lost has not arrived, sent again or not.
    pub fn has_losses(&self) -> bool {
        self.lost_segments > 0
    }

    /// Whether anything is selectively acknowledged.
    pub fn has_sacked(&self) -> bool {
        self.sacked_segments > 0
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// New data from `start` on left.
    pub fn sent(&mut self, start: i64, bytes: u32, at: Time) {
        let end = start + i64::from(bytes);
        let alone = self.segments.is_empty();
        // A part of it may have been sent before, or be acknowledged already.
        let start = start.max(self.nxt).max(self.una);
        if start >= end {
            return;
        }
        if self.segments.len() >= MAX_OUTSTANDING {
            self.has_overflowed = true;
            return;
        }
        self.nxt = end;
        if alone {
            self.una = start;
        }
        self.pipe += (end - start) as u64;
        self.rate.sent(self.pipe, alone, at);
        self.segments.push_back(Outstanding {
            start,
            end,
            sent_at: at,
            is_again: false,
            is_sacked: false,
            is_lost: false,
            was_lost: false,
        });
    }

    /// Data from `start` on left again.
    pub fn sent_again(&mut self, start: i64, bytes: u32, at: Time) {
        let end = start + i64::from(bytes);
        let first = self.segments.partition_point(|segment| segment.end <= start);
        for index in first..self.segments.len() {
            let segment = &mut self.segments[index];
            if segment.start >= end {
                break;
            }
            if segment.is_sacked {
                continue;
            }
            if segment.is_lost {
                segment.is_lost = false;
                self.pipe += segment.bytes();
            }
            segment.is_again = true;
            segment.sent_at = at;
            self.rate.sent_again(index, self.pipe);
        }
    }

    /// Whether data from `start` on is the last that is outstanding.
    pub fn is_tail(&self, start: i64, bytes: u32) -> bool {
        start + i64::from(bytes) >= self.nxt
    }

    /// Everything outstanding is lost, as after a timeout.
    pub fn lose_all(&mut self) {
        let mut lost = 0;
        for segment in self.segments.iter_mut().filter(|segment| segment.is_in_flight()) {
            segment.is_lost = true;
            self.lost_segments += u64::from(!std::mem::replace(&mut segment.was_lost, true));
            lost += segment.bytes();
        }
        self.judged = self.gone + self.segments.len() as u64;
        self.pipe = self.pipe.saturating_sub(lost);
        self.lost += lost;
        self.rate.lost(lost);
    }

    /// An acknowledgement up to `una` with these selective ones. `recovering`: losses need no more
    /// evidence than one arrival.
    pub fn acked(
        &mut self,
        una: i64,
        sack: &[(i64, i64)],
        recovering: bool,
        at: Time,
    ) -> AckSummary {
        let mut summary = AckSummary::default();
        let mut latest: Option<Time> = None;
        self.acknowledge(una, &mut summary, &mut latest);
        let by_number = latest;
        latest = None;
        for block in sack {
            self.sack(*block, &mut summary, &mut latest);
        }
        summary.rtt = latest.or(by_number).map(|sent_at| at.since(sent_at));
        if let Some(rtt) = summary.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if self.sacked_segments >= DUP_THRESHOLD || (recovering && self.sacked_segments > 0) {
            self.judge(&mut summary);
        }
        self.delivered += summary.delivered;
        self.lost += summary.lost;
        summary.rate = self.rate.sample(summary.delivered, summary.lost, self.min_rtt, at);
        summary
    }

    fn acknowledge(&mut self, una: i64, summary: &mut AckSummary, latest: &mut Option<Time>) {
        if una <= self.una {
            return;
        }
        summary.acked = (una - self.una) as u64;
        self.una = una;
        self.nxt = self.nxt.max(una);
        while let Some(segment) = self.segments.front_mut() {
            if segment.end > una {
                if segment.start < una {
                    // A part of it: what a card has cut from one large segment.
                    let bytes = (una - segment.start) as u64;
                    segment.start = una;
                    let (was_in_flight, was_sacked) = (segment.is_in_flight(), segment.is_sacked);
                    self.pipe -= if was_in_flight { bytes } else { 0 };
                    summary.delivered += if was_sacked { 0 } else { bytes };
                    if !segment.is_again {
                        *latest = Some(segment.sent_at);
                    }
                    let (end, sent_at) = (segment.end.max(0) as u64, segment.sent_at);
                    self.rate.arrived(0, end, sent_at);
                }
                break;
            }
            if segment.is_in_flight() {
                self.pipe -= segment.bytes();
            }
            if segment.is_sacked {
                self.sacked_segments -= 1;
            } else {
                self.lost_segments -= u64::from(segment.was_lost);
                summary.delivered += segment.bytes();
                if !segment.is_again {
                    *latest = Some(segment.sent_at);
                }
                let (end, sent_at) = (segment.end.max(0) as u64, segment.sent_at);
                self.rate.arrived(0, end, sent_at);
                self.holes.remove(&self.gone);
            }
            self.segments.pop_front();
            self.rate.remove_first();
            self.gone += 1;
        }
    }

    fn sack(
        &mut self,
        (from, to): (i64, i64),
        summary: &mut AckSummary,
        latest: &mut Option<Time>,
    ) {
        if to <= self.una || from >= to {
            return;
        }
        let first = self.gone + self.segments.partition_point(|s| s.start < from) as u64;
        let beyond = self.gone + self.segments.partition_point(|s| s.end <= to) as u64;
        let filled: Vec<u64> = self.holes.range(first..beyond.max(first)).copied().collect();
        for id in filled {
            self.holes.remove(&id);
            self.arrive(id, summary, latest);
        }
        if beyond > self.above_sacked {
            for id in self.above_sacked.max(self.gone)..beyond {
                if id < first {
                    self.holes.insert(id);
                } else {
                    self.arrive(id, summary, latest);
                }
            }
            self.above_sacked = beyond;
        }
    }

    fn arrive(&mut self, id: u64, summary: &mut AckSummary, latest: &mut Option<Time>) {
        let index = (id - self.gone) as usize;
        let Some(segment) = self.segments.get_mut(index) else { return };
        if segment.is_sacked {
            return;
        }
        if segment.is_in_flight() {
            self.pipe -= segment.bytes();
        }
        segment.is_sacked = true;
        self.lost_segments -= u64::from(segment.was_lost);
        self.sacked_segments += 1;
        summary.delivered += segment.bytes();
        if !segment.is_again {
            *latest = Some(latest.map_or(segment.sent_at, |at| at.max(segment.sent_at)));
        }
        let (end, sent_at) = (segment.end.max(0) as u64, segment.sent_at);
        self.rate.arrived(index, end, sent_at);
    }

    /// Marks what was sent before something that has arrived.
    fn judge(&mut self, summary: &mut AckSummary) {
        self.judged = self.judged.max(self.gone);
        while self.judged < self.above_sacked {
            let Some(segment) = self.segments.get_mut((self.judged - self.gone) as usize) else {
                break;
            };
            if segment.is_in_flight() && !segment.is_again {
                segment.is_lost = true;
                segment.was_lost = true;
                self.lost_segments += 1;
                let bytes = segment.bytes();
                summary.lost += bytes;
                self.pipe -= bytes;
            }
            self.judged += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Ten segments, one a millisecond.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::default();
        for index in 0..10 {
            board.sent(i64::from(index * MSS), MSS, at(u64::from(index)));
        }
        board
    }

    #[test]
    fn what_is_sent_is_in_flight_until_it_is_acknowledged() {
        let mut board = ten();
        assert_eq!((board.pipe, board.una, board.nxt), (10_000, 0, 10_000));
        let summary = board.acked(3_000, &[], false, at(100));
        assert_eq!((summary.acked, summary.delivered, summary.lost), (3_000, 3_000, 0));
        // The third segment left at 2 ms.
        assert_eq!(summary.rtt, Some(Duration::from_millis(98)));
        assert_eq!((board.pipe, board.una), (7_000, 3_000));
        // Half a segment: what a card has cut.
        let summary = board.acked(3_500, &[], false, at(101));
        assert_eq!((summary.delivered, board.pipe), (500, 6_500));
    }

    #[test]
    fn three_arrivals_above_a_hole_say_that_it_is_lost() {
        let mut board = ten();
        let summary = board.acked(1_000, &[(2_000, 4_000)], false, at(100));
        // Of nine two have arrived.
        assert_eq!((summary.delivered, summary.lost, board.pipe), (3_000, 0, 7_000));
        let summary = board.acked(1_000, &[(2_000, 5_000)], false, at(101));
        assert_eq!((summary.delivered, summary.lost, board.pipe), (1_000, 1_000, 5_000));
        assert!(board.has_losses());
        board.sent_again(1_000, MSS, at(102));
        assert_eq!(board.pipe, 6_000);
        // It arrives: 1 to 5 are acknowledged, of which three had been delivered.
        let summary = board.acked(5_000, &[], true, at(200));
        assert_eq!((summary.acked, summary.delivered, summary.rtt), (4_000, 1_000, None));
        assert_eq!((board.pipe, board.has_losses()), (5_000, false));
    }

    #[test]
    fn a_hole_in_the_middle_is_filled() {
        let mut board = ten();
        board.acked(0, &[(1_000, 3_000), (4_000, 8_000)], false, at(100));
        // 0 and 3 are lost; 8 and 9 are in flight.
        assert_eq!((board.pipe, board.lost), (2_000, 2_000));
        board.sent_again(3_000, MSS, at(101));
        let summary = board.acked(0, &[(1_000, 8_000)], true, at(200));
        assert_eq!((summary.delivered, board.pipe), (1_000, 2_000));
    }

    #[test]
    fn a_timeout_loses_what_has_not_arrived() {
        let mut board = ten();
        board.acked(0, &[(9_000, 10_000)], false, at(100));
        board.lose_all();
        assert_eq!((board.pipe, board.lost), (0, 9_000));
        board.sent_again(0, MSS, at(400));
        assert_eq!(board.pipe, 1_000);
    }

    #[test]
    fn delivery_is_measured_over_a_round_trip() {
        // 1000 bytes a millisecond, acknowledged 50 ms later at that rate.
        let mut board = Scoreboard::default();
        let mut last = None;
        for ms in 0..200_u32 {
            board.sent(i64::from(ms * MSS), MSS, at(u64::from(ms)));
            if let Some(acked) = ms.checked_sub(49) {
                last = board.acked(i64::from(acked * MSS), &[], false, at(u64::from(ms))).rate;
            }
        }
        let bytes_per_s = last.and_then(|sample| sample.bytes_per_s()).unwrap();
        assert!((bytes_per_s - 1e6).abs() < 2e4, "{bytes_per_s}");
    }
}
