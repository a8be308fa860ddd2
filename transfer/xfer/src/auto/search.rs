//! Rules over the measured points: which number of streams to try next, and which is fair.

use fairway_model::{Algorithm, Losers, Others, Path, fair_streams, others_from};

use super::point::Point;

/// Gain in goodput from which more streams are worth having, if it is above the noise.
pub(super) const WORTH: f64 = 0.05;
/// Standard errors that a difference has to be beyond.
const CONFIDENCE: f64 = 2.0;
/// Gain from which it is asked whom it was taken from, and others that there have to be for it.
const SUSPICIOUS: f64 = 0.10;
const FEWEST_OTHERS: f64 = 0.5;
/// With more others than so many times the streams, all that can be told is that each stream brings as
/// much as the first: that is how it is where nothing is full.
const MOST_OTHERS_PER_STREAM: f64 = 6.0;
/// Times that a larger share is lost, losses, and standard deviations of their number, from which losses
/// count as risen.
const RISEN_LOSS: f64 = 1.5;
const COUNTED_LOSSES: f64 = 20.0;
const LOSS_DEVIATIONS: f64 = 3.0;
/// Share of retransmitted segments that is always allowed. Beyond it, streams that lose half as much again
/// as fewer did are too many.
const ALLOWED_LOSS: f64 = 0.03;
/// Share of the capacity that the model is asked for. Less than the 0.99 of theory: of two numbers that
/// carry nearly the same, the smaller one does less harm.
const TARGET: f64 = 0.97;
/// Growth of the number in one step, at least and at most.
const LEAST_GROWTH: u32 = 2;
const MOST_GROWTH: u32 = 4;
/// Share of what as many streams as were added should bring, below which the path has been filled.
const SATURATED: f64 = 0.8;
/// Linux's shortest retransmission timeout in seconds (include/net/tcp.h, TCP_RTO_MIN).
const RTO_MIN_S: f64 = 0.2;

/// Both points' goodputs, compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    /// Of the second over the first, as a share of the first.
    pub(super) share: f64,
    pub(super) noise: f64,
}

impl Gain {
    pub(super) fn of(from: &Point, to: &Point) -> Self {
        let goodput_bps = from.goodput_bps.max(1.0);
        let noise_bps = libm::sqrt(from.noise_bps * from.noise_bps + to.noise_bps * to.noise_bps);
        Gain {
            share: to.goodput_bps / goodput_bps - 1.0,
            noise: CONFIDENCE * noise_bps / goodput_bps,
        }
    }

    pub(super) fn needed(&self) -> f64 {
        self.noise.max(WORTH)
    }

    /// Whether it may as well be on the other side of what is worth having.
    pub(super) fn is_open(&self) -> bool {
        self.noise > WORTH && (self.share - WORTH).abs() < self.noise
    }
}

/// Whether so many losses are allowed, where fewer streams had those of `from`.
pub(super) fn allows(from: &Point, to: &Point) -> bool {
    to.loss() <= ALLOWED_LOSS || to.loss() <= RISEN_LOSS * from.loss()
}

/// Whether a larger share is lost with more streams: then it is they who fill a buffer.
fn loses_more(from: &Point, to: &Point) -> bool {
    let expected = from.loss() * to.segments as f64;
    let found = to.retransmitted as f64;
    found >= COUNTED_LOSSES
        && to.loss() > RISEN_LOSS * from.loss()
        && found - expected > LOSS_DEVIATIONS * libm::sqrt(expected.max(1.0))
}

/// The others of whom the gain was taken, if the path was full before.
///
/// It was full with the streams of a point if packets waited with them, or if they lost a larger share than
/// still fewer: who fills a path that nobody else uses gains nothing after that.
pub(super) fn others(points: &[Point], to: &Point) -> Option<Others> {
    let fewer = |point: &&Point| point.streams < to.streams && !point.window_limited;
    let lost_more = |from: &Point| {
        points.iter().any(|less| less.streams < from.streams && loses_more(less, from))
    };
    let was_full = |from: &&Point| {
        let by_queue = from.queues() && to.queues();
        by_queue || (lost_more(from) && loses_more(from, to))
    };
    let from = points.iter().filter(fewer).filter(was_full).min_by_key(|point| point.streams)?;
    if to.goodput_bps < (1.0 + SUSPICIOUS) * from.goodput_bps {
        return None;
    }
    let found = others_from((from.streams, from.goodput_bps), (to.streams, to.goodput_bps)).ok()?;
    let most = MOST_OTHERS_PER_STREAM * f64::from(to.streams);
    (FEWEST_OTHERS..most).contains(&found.others).then_some(found)
}

pub(super) fn fair_beside(points: &[Point], others: &Others) -> u32 {
    let held_back = held_back(points).map(Point::stream_bps);
    held_back
        .and_then(|stream_bps| fair_streams(others.capacity, others.others, stream_bps).ok())
        .unwrap_or(1)
}

/// The number of streams that is fair where windows hold each of them back on a path that others keep
/// full: as many as together carry what one without such a window would, at the loss that they all see.
pub(super) fn fair_by_loss(points: &[Point], to: &Point, algorithm: Algorithm) -> Option<u32> {
    let before = points.iter().any(|point| point.streams < to.streams && point.queues());
    let counted = to.retransmitted as f64 >= COUNTED_LOSSES;
    if !(before && to.queues() && to.window_limited && counted) {
        return None;
    }
    let window = algorithm.window(to.loss().min(MOST_LOSS), to.srtt_s)?;
    let one_bps = window * to.mss_bytes * 8.0 / to.srtt_s;
    let fair = (one_bps / to.stream_bps()).max(1.0) as u32;
    (fair < to.streams).then_some(fair)
}

/// The point of fewest streams that are held back by something else than a full path.
fn held_back(points: &[Point]) -> Option<&Point> {
    let alone = |point: &&Point| !point.queues() && (point.window_limited || point.loss() > 0.0);
    points.iter().filter(alone).min_by_key(|point| point.streams)
}

/// Loss that is more than any sender goes on with: models want less than one.
const MOST_LOSS: f64 = 0.5;

/// The path that a point lies on, in the model's words, with a capacity of `capacity_bps`.
fn path(point: &Point, capacity_bps: f64) -> Path {
    let bits = point.mss_bytes.max(1.0) * 8.0;
    let rtt_s = point.min_rtt_s.max(1e-6);
    let capacity_pps = capacity_bps.max(1.0) / bits;
    let per_round_trip = point.stream_bps() / bits * rtt_s;
    Path {
        capacity_pps,
        rtt_s,
        buffer_packets: (point.longest_rtt_s - rtt_s).max(0.0) * capacity_pps,
        window_packets: point.window_limited.then_some(per_round_trip.max(1.0)),
        // What each stream was found to carry is what losses leave it: the model need not guess.
        stream_pps: (!point.queues()).then_some(point.stream_bps().max(1.0) / bits),
        loss: 0.0,
        rto_s: f64::max(2.0 * rtt_s, RTO_MIN_S),
    }
}

/// The model's number for a capacity, from a point whose streams were held back.
pub(super) fn model(point: &Point, capacity_bps: f64, algorithm: Algorithm) -> Option<u32> {
    let threshold = path(point, capacity_bps).threshold(algorithm, TARGET, Losers::One).ok()?;
    threshold.streams
}

/// How many to try after `point`, up to `most`; none if that is no more.
pub(super) fn more(point: &Point, algorithm: Algorithm, most: u32) -> Option<u32> {
    // On a path that is full, with care; elsewhere to where the fastest moment so far points.
    let far = if point.queues() { None } else { model(point, point.peak_bps, algorithm) };
    let least = point.streams.saturating_mul(LEAST_GROWTH);
    let furthest = point.streams.saturating_mul(MOST_GROWTH);
    let next = far.unwrap_or(least).clamp(least, furthest).min(most);
    (next > point.streams).then_some(next)
}

/// Whether the streams that were added have filled a path that was not full.
pub(super) fn has_filled(from: &Point, to: &Point) -> bool {
    let proportional = f64::from(to.streams) / f64::from(from.streams);
    let brought = to.goodput_bps / from.goodput_bps.max(1.0);
    !from.queues() && to.queues() && brought < SATURATED * proportional
}

/// A number between those of `points` that should carry as much as `best`, by the model.
pub(super) fn fewer(points: &[Point], best: &Point, algorithm: Algorithm) -> Option<u32> {
    let below = |point: &&Point| point.streams < best.streams;
    let from = points.iter().filter(below).filter(|point| !point.queues());
    let from = from.min_by_key(|point| point.streams)?;
    let tried = points.iter().filter(below).map(|point| point.streams).max().unwrap_or(0);
    let number = model(from, best.goodput_bps, algorithm)?;
    (number > tried && f64::from(number) <= SATURATED * f64::from(best.streams)).then_some(number)
}
