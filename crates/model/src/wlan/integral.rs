//! Sums over all states of a cell, as integrals of products.
//!
//! The weight of a state with `m_i` of each flow's tokens at the access point, `M` together, is
//! `M!/∏ m_i!`. With `M! = ∫ e^-t t^M dt` the sum over all states is `∫ e^-t ∏ F_i(t) dt`, where `F_i` is
//! the sum over the states of flow `i` alone: the work grows with the number of flows, not of states.
//! That the token at the head of the access point's queue is flow `i`'s has probability `m_i/M`, which
//! puts the derivative of `F_i` in the place of it.
//!
//! Each `F_i` is logarithmically concave, and so is the product: one hump, which Gauss and Legendre's rule
//! on panels integrates to the precision of a double.

use super::success::Contenders;
use super::tokens::{Factor, Tokens};

/// Nodes and weights of Gauss and Legendre's rule with ten points on [-1, 1], of one sign (Abramowitz and
/// Stegun, table 25.4).
const NODES: [(f64, f64); 5] = [
    (0.148_874_338_981_631_2, 0.295_524_224_714_752_9),
    (0.433_395_394_129_247_2, 0.269_266_719_309_996_3),
    (0.679_409_568_299_024_4, 0.219_086_362_515_982),
    (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
    (0.973_906_528_517_171_7, 0.066_671_344_308_688_1),
];
/// Where the integrand has fallen to e^-40 = 4e-18 of its largest value, it is left out.
const DEEP: f64 = 40.0;
/// Halvings of searches for the peak and the ends: no precision is needed there.
const HALVINGS: u32 = 20;
/// Doublings of where it has fallen far enough.
const DOUBLINGS: u32 = 64;
/// What the logarithm of the integrand may fall or rise in a panel, and by how much it may bend: a slope
/// that changes by `d` over a width of `h` bends it by `d·h`, (h/σ)² for a Gaussian. Ten points are then
/// exact to 1e-12 or better.
const STEEPEST: f64 = 8.0;
const MOST_BENT: f64 = 6.0;
/// Halvings of a panel.
const DEPTH: u32 = 40;

/// A flow, up to what the sums tell apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) tokens: Tokens,
    /// An upload: its station has data, and the access point has acknowledgements.
    pub(super) is_upload: bool,
}

/// What is at the head of the access point's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// Data.
    Data,
    /// An acknowledgement of TCP.
    Ack,
}

/// All states in which equal frames contend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weight {
    pub(super) head: Option<Head>,
    pub(super) downloads: u32,
    pub(super) uploads: u32,
    pub(super) weight: f64,
}

impl Weight {
    pub(super) fn contenders(&self) -> Contenders {
        Contenders {
            data: self.uploads + u32::from(self.head == Some(Head::Data)),
            ack: self.downloads + u32::from(self.head == Some(Head::Ack)),
        }
    }
}

/// Sums over all states, on a scale of their own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sums {
    /// Over the states in which equal frames contend.
    pub(super) weights: Vec<Weight>,
    /// Over those in which a flow's token is at the head of the access point's queue.
    pub(super) at_head: Vec<f64>,
    /// Over those in which a flow's station has something to send.
    pub(super) at_station: Vec<f64>,
    /// Logarithm of the scale.
    pub(super) log_scale: f64,
}

/// Sums over the states of `parts`, which are one or more.
pub(super) fn sums(parts: &[Part]) -> Sums {
    let classes = Classes::of(parts);
    let log_at = |t: f64| classes.log_integrand(t);
    let most: f64 = parts.iter().map(|part| f64::from(part.tokens.count) + 1.0).sum();
    let peak = where_it_falls(0.0, most, |t| classes.slope(t) < 0.0);
    let log_scale = log_at(peak);
    let is_low = |t: f64| log_at(t) < log_scale - DEEP;
    let start = if is_low(0.0) { where_it_falls(peak, 0.0, is_low) } else { 0.0 };
    // Beyond `most` the logarithm falls at a slope that goes to -1.
    let mut far = most + DEEP;
    // Doubled until it is, unless what is elsewhere is so much that nothing is a number any more.
    for _ in 0..DOUBLINGS {
        far = if is_low(far) { far } else { far + far };
    }
    let end = where_it_falls(peak, far, is_low);
    let mut total = Totals::new(parts);
    // At t = 0 all tokens are elsewhere than at the access point.
    total.add_empty(&classes, libm::exp(log_at(0.0) - log_scale));
    let ends = [start, end].map(|t| (t, classes.slope(t)));
    total.add_range(&classes, ends, log_scale, DEPTH);
    total.into_sums(log_scale)
}

/// Where a condition that holds at `to` and not at `from` begins to.
fn where_it_falls(mut from: f64, mut to: f64, is_low: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = (from + to) / 2.0;
        if is_low(middle) {
            to = middle;
        } else {
            from = middle;
        }
    }
    to
}

/// Flows that are alike, with how many there are, and the logarithm of the factorial of their tokens.
struct Classes {
    parts: Vec<(Part, f64)>,
    count: Vec<f64>,
    /// Of each flow.
    class: Vec<usize>,
}

impl Classes {
    fn of(parts: &[Part]) -> Self {
        let mut classes = Classes { parts: Vec::new(), count: Vec::new(), class: Vec::new() };
        for part in parts {
            let known = classes.parts.iter().position(|(known, _)| known == part);
            let class = known.unwrap_or_else(|| {
                let log_factorial = libm::lgamma(f64::from(part.tokens.count) + 1.0);
                classes.parts.push((*part, log_factorial));
                classes.count.push(0.0);
                classes.parts.len() - 1
            });
            classes.count[class] += 1.0;
            classes.class.push(class);
        }
        classes
    }

    fn factors(&self, t: f64) -> Vec<Factor> {
        self.parts.iter().map(|(part, log)| part.tokens.factor(t, *log)).collect()
    }

    fn log_integrand(&self, t: f64) -> f64 {
        self.log_of(&self.factors(t), t)
    }

    fn log_of(&self, factors: &[Factor], t: f64) -> f64 {
        factors.iter().zip(&self.count).map(|(factor, count)| factor.log * count).sum::<f64>() - t
    }

    /// Derivative of the logarithm, which falls: the integrand is logarithmically concave.
    fn slope(&self, t: f64) -> f64 {
        let factors = self.factors(t);
        factors.iter().zip(&self.count).map(|(factor, count)| factor.slope() * count).sum::<f64>()
            - 1.0
    }
}

/// Probabilities of so many active stations at one `t`, and their derivatives: a polynomial whose
/// factors are those of single flows.
struct Active {
    value: Vec<f64>,
    slope: Vec<f64>,
}

/// Probabilities below this are left out: at one `t`, and of a set of states.
const NEGLIGIBLE: f64 = 1e-25;
const NEGLIGIBLE_SET: f64 = 1e-15;

impl Active {
    fn none() -> Self {
        Active { value: vec![1.0], slope: vec![0.0] }
    }

    /// One flow more.
    fn multiply(&mut self, factor: &Factor) {
        self.value.push(0.0);
        self.slope.push(0.0);
        for k in (0..self.value.len()).rev() {
            let (value, slope) = (self.value[k], self.slope[k]);
            let before = k.checked_sub(1).map_or((0.0, 0.0), |k| (self.value[k], self.slope[k]));
            self.value[k] = value * factor.idle + before.0 * factor.active;
            self.slope[k] = slope * factor.idle
                + before.1 * factor.active
                + value * factor.idle_slope
                + before.0 * factor.active_slope;
        }
        let is_negligible = |active: &Self| {
            active.value.last() < Some(&NEGLIGIBLE) && active.slope.last() < Some(&NEGLIGIBLE)
        };
        while self.value.len() > 1 && is_negligible(self) {
            self.value.pop();
            self.slope.pop();
        }
    }
}

/// Sums so far.
struct Totals {
    downloads: usize,
    uploads: usize,
    /// By downloads and uploads whose stations have something to send: heads none, data, acknowledgement.
    weights: Vec<[f64; 3]>,
    at_head: Vec<f64>,
    at_station: Vec<f64>,
}

impl Totals {
    fn new(parts: &[Part]) -> Self {
        let uploads = parts.iter().filter(|part| part.is_upload).count();
        let downloads = parts.len() - uploads;
        Totals {
            downloads,
            uploads,
            weights: vec![[0.0; 3]; (downloads + 1) * (uploads + 1)],
            at_head: vec![0.0; parts.len()],
            at_station: vec![0.0; parts.len()],
        }
    }

    fn active(classes: &Classes, factors: &[Factor]) -> (Active, Active) {
        let (mut downloads, mut uploads) = (Active::none(), Active::none());
        for ((part, _), (factor, count)) in
            classes.parts.iter().zip(factors.iter().zip(&classes.count))
        {
            let active = if part.is_upload { &mut uploads } else { &mut downloads };
            for _ in 0..*count as u64 {
                active.multiply(factor);
            }
        }
        (downloads, uploads)
    }

    /// The integral between two ends, each with its slope: in panels that are short enough.
    fn add_range(&mut self, classes: &Classes, ends: [(f64, f64); 2], log_scale: f64, depth: u32) {
        let [(start, slope), (end, slope_after)] = ends;
        let width = end - start;
        let steep = slope.abs().max(slope_after.abs()) * width;
        let bent = (slope - slope_after).abs() * width;
        if depth > 0 && (steep > STEEPEST || bent > MOST_BENT) {
            let middle = (start + end) / 2.0;
            let middle = (middle, classes.slope(middle));
            self.add_range(classes, [ends[0], middle], log_scale, depth - 1);
            return self.add_range(classes, [middle, ends[1]], log_scale, depth - 1);
        }
        for (node, weight) in NODES {
            for node in [-node, node] {
                let t = (start + end + node * width) / 2.0;
                let factors = classes.factors(t);
                let value = libm::exp(classes.log_of(&factors, t) - log_scale);
                self.add(classes, &factors, weight * value * width / 2.0);
            }
        }
    }

    /// The states at one `t` with a factor.
    fn add(&mut self, classes: &Classes, factors: &[Factor], weight: f64) {
        let (downloads, uploads) = Self::active(classes, factors);
        for a in 0..downloads.value.len() {
            for u in 0..uploads.value.len() {
                let cell = &mut self.weights[a * (self.uploads + 1) + u];
                cell[1] += weight * downloads.slope[a] * uploads.value[u];
                cell[2] += weight * downloads.value[a] * uploads.slope[u];
            }
        }
        for (flow, class) in classes.class.iter().enumerate() {
            self.at_head[flow] += weight * factors[*class].slope();
            self.at_station[flow] += weight * factors[*class].active;
        }
    }

    /// The states in which the access point has nothing.
    fn add_empty(&mut self, classes: &Classes, weight: f64) {
        let (downloads, uploads) = Self::active(classes, &classes.factors(0.0));
        for a in 0..downloads.value.len() {
            for u in 0..uploads.value.len() {
                self.weights[a * (self.uploads + 1) + u][0] +=
                    weight * downloads.value[a] * uploads.value[u];
            }
        }
    }

    fn into_sums(self, log_scale: f64) -> Sums {
        let all: f64 = self.weights.iter().flatten().sum();
        let mut weights = Vec::new();
        for downloads in 0..=self.downloads {
            for uploads in 0..=self.uploads {
                let cell = self.weights[downloads * (self.uploads + 1) + uploads];
                for (head, weight) in
                    [None, Some(Head::Data), Some(Head::Ack)].into_iter().zip(cell)
                {
                    if weight > NEGLIGIBLE_SET * all {
                        let (downloads, uploads) = (downloads as u32, uploads as u32);
                        weights.push(Weight { head, downloads, uploads, weight });
                    }
                }
            }
        }
        Sums { weights, at_head: self.at_head, at_station: self.at_station, log_scale }
    }
}
