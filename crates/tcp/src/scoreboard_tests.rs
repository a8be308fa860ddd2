//! The scoreboard against worked examples, and against a model with a state for every byte.
//!
//! Segments are 1000 bytes unless a test says otherwise; segment n is bytes n·1000 to (n + 1)·1000.

use fairway_units::Time;
use proptest::prelude::*;

use crate::LossDetection;
use crate::ranges::Range;
use crate::scoreboard::{AckSummary, Scoreboard};

const MSS: u32 = 1000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// `segments` sent, segment n at n ms.
fn board(detection: LossDetection, segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(detection, 3, MSS);
    for n in 0..segments {
        board.sent((n + 1) * 1000, at(n));
    }
    board
}

fn rfc(segments: u64) -> Scoreboard {
    board(LossDetection::Rfc6675, segments)
}

fn fack(segments: u64) -> Scoreboard {
    board(LossDetection::Fack, segments)
}

fn ack(board: &mut Scoreboard, upto: u64) -> AckSummary {
    let mut summary = AckSummary::default();
    board.acknowledge(upto, &mut summary);
    summary
}

/// Process a SACK block and detect losses.
fn sack(board: &mut Scoreboard, start: u64, end: u64) -> AckSummary {
    let mut summary = AckSummary::default();
    board.sack(Range { start, end }, &mut summary);
    board.detect_losses(&mut summary);
    summary
}

/// Retransmit the next lost segment. Returns its start and end.
fn retransmit(board: &mut Scoreboard, snd_nxt: u64) -> Option<(u64, u64)> {
    let lost = board.next_lost()?;
    board.retransmitted(lost, snd_nxt, at(100));
    Some((lost.range.start, lost.range.end))
}

/// Earliest and latest send time of the acknowledged segments.
fn times(summary: &AckSummary) -> Option<(Time, Time)> {
    summary.acked_sent.map(|sent| (sent.earliest, sent.latest))
}

#[test]
fn cumulative_acknowledgement() {
    let mut b = rfc(5);
    assert_eq!(b.pipe(), 5000);
    let summary = ack(&mut b, 2000);
    assert_eq!((summary.acked, summary.delivered, summary.lost), (2000, 2000, 0));
    assert_eq!((b.una(), b.pipe(), b.has_holes()), (2000, 3000, false));
    // Segments 0 and 1 were sent at 0 and 1 ms.
    assert_eq!(times(&summary), Some((at(0), at(1))));
    ack(&mut b, 5000);
    assert!(b.is_empty());
    assert_eq!(b.pipe(), 0);
}

#[test]
fn an_acknowledgement_inside_a_segment_leaves_its_rest() {
    let mut b = rfc(5);
    let summary = ack(&mut b, 2500);
    assert_eq!((summary.acked, summary.delivered, b.pipe()), (2500, 2500, 2500));
    // Segment 2 is acknowledged only in part and gives no sample: the latest is segment 1.
    assert_eq!(times(&summary), Some((at(0), at(1))));
    b.mark_head_lost();
    assert_eq!(b.pipe(), 2000);
    assert_eq!(retransmit(&mut b, 5000), Some((2500, 3000)));
    assert_eq!(b.pipe(), 2500);
    let summary = ack(&mut b, 3000);
    assert_eq!((summary.acked, b.pipe()), (500, 2000));
}

#[test]
fn sack_blocks_count_once() {
    let mut b = rfc(6);
    // Segments 2 and 3.
    assert_eq!(sack(&mut b, 2000, 4000).delivered, 2000);
    assert_eq!(b.pipe(), 4000);
    assert_eq!(sack(&mut b, 2000, 4000).delivered, 0);
    // 3 again, 4 new.
    assert_eq!(sack(&mut b, 3000, 5000).delivered, 1000);
    // Three above 0 and 1, which are lost: only 5 is in flight.
    assert_eq!(b.pipe(), 1000);
    // 0 to 4 are acknowledged: only 0 and 1 are newly delivered, and 5 is in flight.
    let summary = ack(&mut b, 5000);
    assert_eq!((summary.acked, summary.delivered, b.pipe()), (5000, 2000, 1000));
    assert!(!b.has_holes());
}

#[test]
fn parts_of_segments_do_not_count_as_sacked() {
    let mut b = rfc(6);
    // Half of 2, all of 3, a part of 4: only 3 counts.
    assert_eq!(sack(&mut b, 2500, 4700).delivered, 1000);
    assert_eq!(b.pipe(), 5000);
    // A block inside one segment counts nothing.
    assert_eq!(sack(&mut b, 4100, 4900).delivered, 0);
    // A block beyond SND.NXT counts only data that was sent.
    assert_eq!(sack(&mut b, 5000, 9000).delivered, 1000);
    assert_eq!(sack(&mut b, 9000, 10_000).delivered, 0);
}

#[test]
fn blocks_below_una_are_old() {
    let mut b = rfc(6);
    ack(&mut b, 3000);
    // A duplicate SACK (RFC 2883).
    assert_eq!(sack(&mut b, 0, 2000).delivered, 0);
    // Partly below una: 3 and 4 are new. (The peer should have acknowledged 3, but may not.)
    assert_eq!(sack(&mut b, 1000, 5000).delivered, 2000);
    assert_eq!(b.pipe(), 1000);
}

#[test]
fn three_segments_above_make_a_loss() {
    // RFC 6675 section 4, IsLost: more than (DupThresh − 1)·SMSS = 2000 bytes above.
    let mut b = rfc(10);
    assert_eq!(sack(&mut b, 1000, 3000).lost, 0);
    assert_eq!(b.pipe(), 8000);
    assert_eq!(sack(&mut b, 1000, 4000).lost, 1000);
    // Ten minus three SACKed minus segment 0.
    assert_eq!(b.pipe(), 6000);
    // The next hole, 5, has only 6 and 7 above.
    sack(&mut b, 1000, 5000);
    assert_eq!(sack(&mut b, 6000, 8000).lost, 0);
    assert_eq!(b.pipe(), 10_000 - 6000 - 1000);
    assert_eq!(sack(&mut b, 6000, 9000).lost, 1000);
    assert_eq!(b.pipe(), 10_000 - 7000 - 2000);
    assert_eq!(retransmit(&mut b, 10_000), Some((0, 1000)));
    assert_eq!(retransmit(&mut b, 10_000), Some((5000, 6000)));
    assert_eq!(retransmit(&mut b, 10_000), None);
}

#[test]
fn small_segments_are_counted_in_bytes_or_in_separate_blocks() {
    // Twelve segments of 500 bytes, SMSS 1000.
    let small = || {
        let mut b = Scoreboard::new(LossDetection::Rfc6675, 3, MSS);
        (0..12).for_each(|n| b.sent((n + 1) * 500, at(n)));
        b
    };
    // Contiguous: 4 · 500 = 2000 is not more than 2000; 5 · 500 is.
    let mut b = small();
    assert_eq!(sack(&mut b, 500, 2500).lost, 0);
    assert_eq!(sack(&mut b, 500, 3000).lost, 500);
    // Three blocks with gaps between, 500 bytes each: DupThresh discontiguous sequences.
    let mut b = small();
    assert_eq!(sack(&mut b, 500, 1000).lost, 0);
    assert_eq!(sack(&mut b, 1500, 2000).lost, 0);
    assert_eq!(sack(&mut b, 2500, 3000).lost, 500);
    assert_eq!(retransmit(&mut b, 6000), Some((0, 500)));
    assert_eq!(retransmit(&mut b, 6000), None);
}

#[test]
fn four_segments_below_the_highest_are_lost_by_forward_acknowledgement() {
    // ns-2.35 `tcp/scoreboard1.cc`: lost if the highest SACKed packet is at least 4 above.
    let mut b = fack(10);
    assert_eq!(sack(&mut b, 3000, 4000).lost, 0);
    assert_eq!(b.pipe(), 9000);
    assert_eq!(sack(&mut b, 4000, 5000).lost, 1000);
    assert_eq!(b.pipe(), 10_000 - 2000 - 1000);
    // Segment 9: 1, 2 and 5 are lost at once; 6, 7 and 8 not.
    sack(&mut b, 9000, 10_000);
    assert_eq!(b.pipe(), 3000);
    let all: Vec<_> = std::iter::from_fn(|| retransmit(&mut b, 10_000)).map(|r| r.0).collect();
    assert_eq!(all, [0, 1000, 2000, 5000]);
}

#[test]
fn a_retransmission_is_in_flight_until_it_arrives() {
    let mut b = rfc(6);
    sack(&mut b, 1000, 4000);
    assert_eq!(b.pipe(), 2000);
    assert_eq!(retransmit(&mut b, 6000), Some((0, 1000)));
    assert_eq!(b.pipe(), 3000);
    assert_eq!(b.next_lost(), None);
    let summary = ack(&mut b, 4000);
    assert_eq!((summary.acked, summary.delivered, b.pipe()), (4000, 1000, 2000));
    // Karn's rule: the acknowledgement may be for either transmission.
    assert_eq!(times(&summary), None);
}

#[test]
fn an_acknowledgement_that_fills_a_hole_gives_no_rtt_sample() {
    // Without SACK, segments 1 to 3 may have arrived long before the retransmission of 0.
    let mut b = rfc(6);
    b.mark_head_lost();
    retransmit(&mut b, 6000);
    let summary = ack(&mut b, 4000);
    assert_eq!(times(&summary), None);
    // The next acknowledgement is for a segment sent once.
    assert_eq!(times(&ack(&mut b, 5000)), Some((at(4), at(4))));
}

#[test]
fn a_retransmission_is_lost_when_something_sent_later_arrives() {
    let mut b = fack(10);
    sack(&mut b, 4000, 5000);
    retransmit(&mut b, 10_000);
    // Segment 9 was sent before the retransmission and does not mark it lost, but 1, 2, 3 and 5
    // are newly lost.
    assert_eq!(sack(&mut b, 9000, 10_000).lost, 4000);
    while retransmit(&mut b, 10_000).is_some() {}
    let pipe = b.pipe();
    assert_eq!(pipe, 10_000 - 2000);
    b.sent(11_000, at(50));
    // Segment 10 was sent after it: all five retransmissions are lost. Now 6 is 4 below too.
    assert_eq!(sack(&mut b, 10_000, 11_000).lost, 6000);
    assert_eq!(b.pipe(), 8000 - 5000 - 1000);
    let all: Vec<_> = std::iter::from_fn(|| retransmit(&mut b, 11_000)).map(|r| r.0).collect();
    assert_eq!(all, [0, 1000, 2000, 3000, 5000, 6000]);
    assert_eq!(b.pipe(), 8000);
}

#[test]
fn a_retransmission_is_lost_when_the_fifth_after_it_arrives() {
    // Segments 0 to 5 lost (9 SACKed), retransmitted as numbers 1 to 6.
    let mut b = fack(10);
    sack(&mut b, 9000, 10_000);
    while retransmit(&mut b, 10_000).is_some() {}
    assert_eq!(b.pipe(), 9000);
    // Number 5 arrives: 1 + 4 is not below 5.
    assert_eq!(sack(&mut b, 4000, 5000).lost, 0);
    // Number 6 arrives: 1 + 4 is below 6, 2 + 4 is not.
    assert_eq!(sack(&mut b, 5000, 6000).lost, 1000);
    assert_eq!(retransmit(&mut b, 10_000), Some((0, 1000)));
    assert_eq!(b.next_lost(), None);
}

#[test]
fn rfc_6675_does_not_detect_lost_retransmissions() {
    let mut b = rfc(10);
    sack(&mut b, 1000, 5000);
    retransmit(&mut b, 10_000);
    b.sent(11_000, at(50));
    assert_eq!(sack(&mut b, 10_000, 11_000).lost, 0);
    assert_eq!(b.next_lost(), None);
}

#[test]
fn a_timeout_marks_everything_not_sacked() {
    let mut b = rfc(6);
    sack(&mut b, 2000, 4000);
    b.mark_head_lost();
    retransmit(&mut b, 6000);
    b.mark_all_lost();
    assert_eq!((b.pipe(), b.has_holes()), (0, true));
    let all: Vec<_> = std::iter::from_fn(|| retransmit(&mut b, 6000)).map(|r| r.0).collect();
    assert_eq!(all, [0, 1000, 4000, 5000]);
    assert_eq!(b.pipe(), 4000);
    // 0 and 1 arrive and close the gap to 4.
    let summary = ack(&mut b, 4000);
    assert_eq!((summary.delivered, b.pipe()), (2000, 2000));
}

#[test]
fn without_sack_each_duplicate_counts_as_a_delivered_segment() {
    let mut b = rfc(5);
    for pipe in [4000, 3000, 2000, 1000] {
        b.duplicate(&mut AckSummary::default());
        assert_eq!(b.pipe(), pipe);
    }
    // The first segment is never counted as delivered.
    b.duplicate(&mut AckSummary::default());
    assert_eq!((b.duplicates(), b.pipe()), (4, 1000));
    assert_eq!(b.mark_head_lost(), 1000);
    assert_eq!(b.mark_head_lost(), 0);
    assert_eq!(b.pipe(), 0);
    retransmit(&mut b, 5000);
    assert_eq!(b.pipe(), 1000);
    // The hole and the four segments counted by duplicates are acknowledged.
    ack(&mut b, 5000);
    assert_eq!((b.duplicates(), b.pipe(), b.has_holes()), (0, 0, false));
}

#[test]
fn a_partial_acknowledgement_reduces_the_duplicates() {
    // RFC 6582: segments 0 and 3 of 8 lost, six duplicates.
    let mut b = rfc(8);
    (0..6).for_each(|_| b.duplicate(&mut AckSummary::default()));
    b.mark_head_lost();
    retransmit(&mut b, 8000);
    assert_eq!(b.pipe(), 8000 - 6000);
    // Segments 0, 1, 2 acknowledged, two of which had been counted. 3 is the next hole, and 4 to 7
    // have arrived.
    ack(&mut b, 3000);
    assert_eq!((b.duplicates(), b.pipe()), (4, 5000 - 4000));
    b.mark_head_lost();
    assert_eq!((retransmit(&mut b, 8000), b.pipe()), (Some((3000, 4000)), 1000));
    ack(&mut b, 8000);
    assert_eq!((b.duplicates(), b.pipe(), b.has_holes()), (0, 0, false));
}

#[test]
fn duplicates_never_outnumber_outstanding_segments() {
    // Duplicates can come from spurious retransmissions: 4 were counted, but 2 of 5 segments are
    // acknowledged, one of them counted before. Of the 3 left at most 2 can have arrived.
    let mut b = rfc(5);
    (0..4).for_each(|_| b.duplicate(&mut AckSummary::default()));
    ack(&mut b, 2000);
    assert_eq!((b.duplicates(), b.pipe()), (2, 1000));
    ack(&mut b, 5000);
    assert_eq!((b.duplicates(), b.pipe(), b.has_holes()), (0, 0, false));
}

#[test]
fn forgotten_sacks_are_in_flight_again() {
    let mut b = fack(10);
    sack(&mut b, 5000, 7000);
    while retransmit(&mut b, 10_000).is_some() {}
    ack(&mut b, 1000);
    b.forget_sacks();
    assert_eq!((b.pipe(), b.has_holes(), b.next_lost()), (9000, false, None));
    // Segment 1 was retransmitted and still gives no sample.
    assert_eq!(times(&ack(&mut b, 2000)), None);
    // Losses are detected anew: 8 is SACKed, so 2, 3 and 4 are lost again.
    assert_eq!(sack(&mut b, 8000, 9000).lost, 3000);
    assert_eq!(b.pipe(), 8000 - 1000 - 3000);
    assert_eq!(retransmit(&mut b, 10_000), Some((2000, 3000)));
}

/// Reference model: one state per byte, evaluated from scratch after every event.
struct Model {
    detection: LossDetection,
    una: usize,
    /// Ends of the segments sent, from the first.
    ends: Vec<usize>,
    sacked: Vec<bool>,
    /// Delivered at any time, even if the SACK was forgotten.
    seen: Vec<bool>,
    lost: Vec<bool>,
    retransmitted: Vec<bool>,
    /// For each segment: number and SND.NXT of its last retransmission.
    retransmission: Vec<Option<(u32, u64)>>,
    retransmissions: u32,
    arrived_retransmission: u32,
    delivered: u64,
    /// Bytes marked lost, counted each time.
    marked_lost: u64,
}

impl Model {
    fn new(detection: LossDetection) -> Self {
        Model {
            detection,
            una: 0,
            ends: Vec::new(),
            sacked: Vec::new(),
            seen: Vec::new(),
            lost: Vec::new(),
            retransmitted: Vec::new(),
            retransmission: Vec::new(),
            retransmissions: 0,
            arrived_retransmission: 0,
            delivered: 0,
            marked_lost: 0,
        }
    }

    fn snd_nxt(&self) -> usize {
        self.sacked.len()
    }

    fn send(&mut self, len: usize) {
        for column in [&mut self.sacked, &mut self.seen, &mut self.lost, &mut self.retransmitted] {
            column.resize(column.len() + len, false);
        }
        self.ends.push(self.snd_nxt());
        self.retransmission.push(None);
    }

    fn start(&self, segment: usize) -> usize {
        if segment == 0 { 0 } else { self.ends[segment - 1] }
    }

    /// Segments not completely acknowledged.
    fn outstanding(&self) -> impl Iterator<Item = usize> {
        (0..self.ends.len()).filter(|s| self.ends[*s] > self.una)
    }

    fn ack(&mut self, upto: usize) {
        for segment in 0..self.ends.len() {
            let (first, end) = (self.start(segment).max(self.una), self.ends[segment]);
            for byte in first..end.min(upto) {
                self.delivered += u64::from(!self.seen[byte]);
            }
            if first < end && end <= upto && !self.sacked[first] {
                let number = self.retransmission[segment].map_or(0, |(number, _)| number);
                self.arrived_retransmission = self.arrived_retransmission.max(number);
            }
        }
        self.una = upto;
    }

    fn sack(&mut self, start: usize, end: usize) {
        for segment in self.outstanding().collect::<Vec<_>>() {
            let (first, last) = (self.start(segment).max(self.una), self.ends[segment]);
            if first < start.max(self.una) || last > end || self.sacked[first] {
                continue;
            }
            self.sacked[first..last].fill(true);
            // A segment whose SACK was forgotten is not delivered twice.
            self.delivered += self.seen[first..last].iter().filter(|seen| !**seen).count() as u64;
            self.seen[first..last].fill(true);
            if self.retransmitted[first] {
                let number = self.retransmission[segment].map_or(0, |(number, _)| number);
                self.arrived_retransmission = self.arrived_retransmission.max(number);
            }
        }
    }

    fn detect(&mut self) {
        let outstanding: Vec<usize> = self.outstanding().collect();
        let byte_of = |m: &Model, s: usize| m.start(s).max(m.una);
        let highest = outstanding.iter().copied().filter(|s| self.sacked[byte_of(self, *s)]).max();
        let Some(highest) = highest else { return };
        for segment in outstanding {
            let (first, end) = (byte_of(self, segment), self.ends[segment]);
            if self.sacked[first] {
                continue;
            }
            let lost = match self.detection {
                LossDetection::Rack => unreachable!("the model counts"),
                LossDetection::Rfc6675 => {
                    let above = &self.sacked[end..];
                    let bytes = above.iter().filter(|sacked| **sacked).count();
                    // Blocks begin where a SACKed byte follows one that is not.
                    let blocks = (end..self.snd_nxt())
                        .filter(|byte| self.sacked[*byte] && !self.sacked[byte - 1])
                        .count();
                    bytes > 2 * MSS as usize || blocks >= 3
                }
                LossDetection::Fack => segment + 4 <= highest,
                LossDetection::LinuxFack => segment + 3 <= highest,
            };
            if lost && !self.lost[first] {
                self.lost[first..end].fill(true);
                self.marked_lost += (end - first) as u64;
            }
            let by_number = self.detection == LossDetection::Fack;
            if self.detection != LossDetection::Rfc6675
                && self.retransmitted[first]
                && let Some((number, snd_nxt)) = self.retransmission[segment]
                && (snd_nxt < self.ends[highest] as u64
                    || (by_number && number + 4 < self.arrived_retransmission))
            {
                self.retransmitted[first..end].fill(false);
                self.marked_lost += (end - first) as u64;
            }
        }
    }

    /// RFC 6675 section 4, SetPipe.
    fn pipe(&self) -> u64 {
        let in_flight =
            |byte: usize| u64::from(!self.lost[byte]) + u64::from(self.retransmitted[byte]);
        let open = (self.una..self.snd_nxt()).filter(|byte| !self.sacked[*byte]);
        open.map(in_flight).sum()
    }

    fn waiting(&self) -> Vec<usize> {
        let waits = |s: &usize| {
            let byte = self.start(*s).max(self.una);
            self.lost[byte] && !self.sacked[byte] && !self.retransmitted[byte]
        };
        self.outstanding().filter(waits).collect()
    }

    fn retransmit(&mut self, first: usize) {
        let segment = self.ends.partition_point(|end| *end <= first);
        let end = self.ends[segment];
        self.retransmitted[first..end].fill(true);
        self.retransmissions += 1;
        self.retransmission[segment] = Some((self.retransmissions, self.snd_nxt() as u64));
    }

    fn timeout(&mut self) {
        for byte in self.una..self.snd_nxt() {
            if !self.sacked[byte] {
                self.marked_lost += u64::from(!self.lost[byte] || self.retransmitted[byte]);
                self.lost[byte] = true;
                self.retransmitted[byte] = false;
            }
        }
    }

    fn forget(&mut self) {
        for column in [&mut self.sacked, &mut self.lost, &mut self.retransmitted] {
            column[self.una..].fill(false);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    /// Up to a fraction of the outstanding bytes.
    Ack(f64),
    /// From one fraction of the outstanding bytes to another.
    Sack(f64, f64),
    Retransmit,
    Timeout,
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop_oneof![Just(1000usize), 1usize..=1000].prop_map(Step::Send),
        2 => (0.0..=1.0f64).prop_map(Step::Ack),
        6 => (0.0..=1.0f64, 0.0..=1.0f64).prop_map(|(a, b)| Step::Sack(a.min(b), a.max(b))),
        4 => Just(Step::Retransmit),
        1 => Just(Step::Timeout),
        1 => Just(Step::Forget),
    ]
}

proptest! {
    #[test]
    fn agrees_with_a_model_of_every_byte(
        detection in prop::sample::select(vec![
            LossDetection::Rfc6675,
            LossDetection::Fack,
            LossDetection::LinuxFack,
        ]),
        // Block edges at segment boundaries, or anywhere.
        aligned: bool,
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut board = Scoreboard::new(detection, 3, MSS);
        let mut model = Model::new(detection);
        for (i, step) in steps.into_iter().enumerate() {
            let mut summary = AckSummary::default();
            let before = (model.delivered, model.waiting().len(), model.una, model.marked_lost);
            let place = |model: &Model, share: f64| {
                let bytes = model.snd_nxt() - model.una;
                let byte = model.una + (share * bytes as f64) as usize;
                let boundary = model.ends.iter().copied().rfind(|end| *end <= byte);
                if aligned { boundary.unwrap_or(0).max(model.una) } else { byte }
            };
            match step {
                Step::Send(len) => {
                    model.send(len);
                    board.sent(model.snd_nxt() as u64, at(i as u64));
                }
                Step::Ack(share) => {
                    let upto = place(&model, share);
                    model.ack(upto);
                    board.acknowledge(upto as u64, &mut summary);
                    prop_assert_eq!(summary.acked, (upto - before.2) as u64);
                }
                Step::Sack(from, to) => {
                    let (start, end) = (place(&model, from), place(&model, to));
                    model.sack(start, end);
                    model.detect();
                    board.sack(Range { start: start as u64, end: end as u64 }, &mut summary);
                    board.detect_losses(&mut summary);
                    if detection == LossDetection::LinuxFack {
                        board.detect_lost_retransmissions(&mut summary);
                    }
                }
                Step::Retransmit => {
                    let waiting = model.waiting();
                    match board.next_lost() {
                        None => prop_assert_eq!(waiting, Vec::<usize>::new()),
                        Some(lost) => {
                            let first = lost.range.start as usize;
                            let segment = model.ends.partition_point(|end| *end <= first);
                            prop_assert!(waiting.contains(&segment), "{:?} {:?}", lost, waiting);
                            prop_assert_eq!(lost.range.end as usize, model.ends[segment]);
                            // Lost retransmissions go first, then the lowest segment.
                            if model.retransmission[segment].is_none() {
                                prop_assert_eq!(segment, waiting[0]);
                            }
                            model.retransmit(first);
                            board.retransmitted(lost, model.snd_nxt() as u64, at(i as u64));
                        }
                    }
                }
                Step::Timeout => {
                    model.timeout();
                    summary.lost = board.mark_all_lost();
                }
                Step::Forget => {
                    model.forget();
                    board.forget_sacks();
                }
            }
            prop_assert_eq!(board.una(), model.una as u64);
            prop_assert_eq!(board.pipe(), model.pipe(), "pipe after step {}", i);
            prop_assert_eq!(summary.delivered, model.delivered - before.0);
            prop_assert_eq!(summary.lost, model.marked_lost - before.3, "lost in step {}", i);
            if matches!(step, Step::Sack(..)) {
                // The list of segments to retransmit grows only with a new loss.
                prop_assert!(summary.lost > 0 || model.waiting().len() <= before.1);
            }
            prop_assert_eq!(board.next_lost().is_some(), !model.waiting().is_empty());
        }
    }
}

#[test]
fn forgotten_losses_count_in_the_pipe_again() {
    // Segments of 1000, 500 and 300 bytes; a timeout marks all of them lost, and undo clears it.
    let mut board = Scoreboard::new(LossDetection::Rfc6675, 3, MSS);
    for (n, end) in [1000, 1500, 1800].into_iter().enumerate() {
        board.sent(end, at(n as u64));
    }
    assert_eq!(board.mark_all_lost(), 1800);
    assert_eq!(board.pipe(), 0);
    board.forget_losses();
    assert_eq!(board.pipe(), 1800);
    // A segment SACKed meanwhile does not count.
    assert_eq!(board.mark_all_lost(), 1800);
    sack(&mut board, 1000, 1500);
    board.forget_losses();
    assert_eq!(board.pipe(), 1300);
}
