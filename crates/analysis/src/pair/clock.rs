//! How the clock of the second capture runs against that of the first.
//!
//! A packet's delay by two clocks is its true delay and how far the clocks are apart. Queues only
//! ever add to the true delay, so what the clocks do shows in the least delays of each time: a
//! straight line under all points, as high as it can be (Moon, Skelly and Towsley, "Estimation and
//! removal of clock skew from network delay measurements", 1999). Both directions have the line's
//! slope with opposite signs; the direction with less queueing says more about it. Where the line
//! lies cannot be told from delays: the least delays of both directions are taken to be equal.

use super::hull::Hull;
use super::identity::Side;
use super::watch::Arrival;

/// Sizes of packets that are told apart: a larger one takes longer to send, and is no evidence
/// against a smaller one.
const MAX_SIZES: usize = 16;

/// Fewer packets of a size have no line.
const FEWEST_POINTS: u64 = 8;

/// Clocks that drift more are not corrected: twice what an operating system corrects at most
/// (500 ppm, RFC 5905 section 11.3), and a capture must be long enough to tell it at all.
const MOST_DRIFT: f64 = 1000e-6;

/// Where one queue's worth of noise ends to matter, in nanoseconds: a capture's own resolution.
const RESOLUTION_NS: f64 = 1000.0;

/// From times of the second capture to the clock of the first.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Clock {
    /// Time of the second capture's clock that the offset is told for.
    pub(super) reference_ns: i64,
    /// How far it is ahead then.
    pub(super) offset_ns: i64,
    /// How much it gains, per second.
    pub(super) drift: f64,
}

impl Clock {
    /// What the first clock showed when the second showed this.
    #[inline]
    pub(super) fn first_of(&self, second_ns: i64) -> i64 {
        let since = second_ns.saturating_sub(self.reference_ns);
        let gained = (self.drift * since as f64).round() as i64;
        second_ns.saturating_sub(self.offset_ns).saturating_sub(gained)
    }
}

/// Delays of one direction by both clocks.
#[derive(Clone, Debug, Default)]
struct Delays {
    all: Hull,
    sizes: Vec<(u32, Hull)>,
}

impl Delays {
    #[inline]
    fn add(&mut self, size_bytes: u32, x: i64, y: i64) {
        self.all.add(x, y);
        let place = self.sizes.iter().position(|(size, _)| *size == size_bytes);
        let place = place.unwrap_or_else(|| {
            if self.sizes.len() == MAX_SIZES {
                let rarest = self.sizes.iter().enumerate().min_by_key(|(_, (_, h))| h.count());
                let rarest = rarest.map_or(0, |(index, _)| index);
                self.sizes.remove(rarest);
            }
            self.sizes.push((size_bytes, Hull::default()));
            self.sizes.len() - 1
        });
        self.sizes[place].1.add(x, y);
        // The size that is seen most is found first.
        if place > 0 && self.sizes[place].1.count() > self.sizes[place - 1].1.count() {
            self.sizes.swap(place, place - 1);
        }
    }

    /// The points of one size that there are most of.
    fn most(&self) -> Option<&Hull> {
        let hulls = self.sizes.iter().map(|(_, hull)| hull);
        hulls.max_by_key(|hull| hull.count()).filter(|hull| hull.count() >= FEWEST_POINTS)
    }
}

/// Collects delays by both clocks, and finds the line.
#[derive(Clone, Debug)]
pub(super) struct Estimator {
    reference_ns: i64,
    /// How far the second clock is ahead, roughly: what is added up stays small.
    roughly_ns: i64,
    /// From the first capture to the second, and back.
    delays: [Delays; 2],
}

/// Findings about the clocks.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Estimate {
    pub(super) clock: Clock,
    /// Whether packets went in both directions: otherwise the least delay is taken for none.
    pub(super) is_two_way: bool,
    /// Sum of the least delays of both directions.
    pub(super) least_round_trip_ns: f64,
    /// Drift as each direction alone shows it.
    pub(super) drift_by_direction: [Option<f64>; 2],
}

impl Estimator {
    pub(super) fn new(reference_ns: i64, roughly_ns: i64) -> Estimator {
        let delays = [Delays::default(), Delays::default()];
        Estimator { reference_ns, roughly_ns, delays }
    }

    /// A packet that was seen in both captures.
    #[inline]
    pub(super) fn add(&mut self, source: Side, arrival: &Arrival) {
        let delay_ns = arrival.at_ns.saturating_sub(arrival.sent.at_ns);
        let (second_ns, delay_ns) = match source {
            Side::First => (arrival.at_ns, delay_ns.saturating_sub(self.roughly_ns)),
            Side::Second => (arrival.sent.at_ns, delay_ns.saturating_add(self.roughly_ns)),
        };
        let x = second_ns.saturating_sub(self.reference_ns);
        self.delays[source.index()].add(arrival.sent.size_bytes, x, delay_ns);
    }

    pub(super) fn estimate(&self) -> Estimate {
        let [forward, back] = &self.delays;
        let [forward_line, back_line] = [forward.most(), back.most()];
        let drift = drift(forward_line, back_line);
        // Slopes of the reverse direction have the opposite sign.
        let alone = [drift_of(forward_line), drift_of(back_line).map(|slope| -slope)];
        let least = |delays: &Delays, slope: f64| {
            (delays.all.count() > 0).then(|| delays.all.intercept(slope))
        };
        let least = [least(forward, drift), least(back, -drift)];
        let (offset, least_round_trip_ns) = match least {
            [Some(there), Some(back)] => ((there - back) / 2.0, there + back),
            [Some(there), None] => (there, 0.0),
            [None, Some(back)] => (-back, 0.0),
            [None, None] => (0.0, 0.0),
        };
        let offset_ns = self.roughly_ns.saturating_add(offset.round() as i64);
        Estimate {
            clock: Clock { reference_ns: self.reference_ns, offset_ns, drift },
            is_two_way: least.iter().all(Option::is_some),
            least_round_trip_ns,
            drift_by_direction: alone,
        }
    }
}

fn drift_of(line: Option<&Hull>) -> Option<f64> {
    line.map(|hull| drift(Some(hull), None))
}

/// The slope whose lines lie closest under the points of both directions; of one, without noise,
/// and of the other, in proportion to how much less noise it has.
fn drift(forward: Option<&Hull>, back: Option<&Hull>) -> f64 {
    let lines: Vec<(&Hull, f64)> =
        [(forward, 1.0), (back, -1.0)].into_iter().filter_map(|(h, s)| Some((h?, s))).collect();
    let slopes = || {
        let all = lines.iter().flat_map(|(hull, sign)| hull.slopes().map(move |s| s * sign));
        all.filter(|slope| slope.abs() <= MOST_DRIFT).chain([0.0])
    };
    let best = |cost: &dyn Fn(f64) -> f64| {
        let costs = slopes().map(|slope| (cost(slope), slope));
        // Of equal ones the smaller drift.
        let least = costs.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.abs().total_cmp(&b.1.abs())));
        least.map_or(0.0, |(_, slope)| slope)
    };
    let weights: Vec<f64> = lines
        .iter()
        .map(|(hull, sign)| {
            let alone = best(&|slope| hull.mean_height(slope * sign));
            let noise = hull.mean_height(alone * sign).max(0.0) + RESOLUTION_NS;
            1.0 / (noise * noise)
        })
        .collect();
    best(&|slope| {
        let costs = lines.iter().zip(&weights);
        costs.map(|((hull, sign), weight)| weight * hull.mean_height(slope * sign)).sum()
    })
}
