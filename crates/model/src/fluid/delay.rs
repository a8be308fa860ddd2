//! Delay-differential equations, integrated with steps that adapt themselves.
//!
//! The embedded pair of Bogacki and Shampine ("A 3(2) pair of Runge-Kutta formulas", Applied Mathematics
//! Letters 2(4), 1989): order 3, the difference to order 2 tells the error. The past is read from the cubic
//! that fits values and slopes at both ends of each step (Hermite), which is of the same order. Steps are
//! no longer than a delay, so that whatever is looked up has been computed before: delays may depend on
//! time and state.

/// What is integrated.
pub(crate) trait Delayed {
    /// Writes the slopes of `y` at `t`; `past` answers for times before `t`.
    fn slopes(&mut self, t: f64, y: &[f64], past: &Past, slopes: &mut [f64]);

    /// The longest step from there whose stages look up nothing later than `t`.
    fn longest_step(&self, t: f64, y: &[f64]) -> f64;

    /// The earliest time that will still be looked up once `t` is reached.
    fn needs_since(&mut self, t: f64, y: &[f64]) -> f64;

    /// Puts a state that the step has carried over an edge back onto it.
    fn settle(&self, _t: f64, _y: &mut [f64]) {}
}

/// How precisely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Precision {
    /// Error of a step, as a share of the value.
    pub(crate) relative: f64,
    /// Values below this have the error of this.
    pub(crate) scale: f64,
    /// A step is no shorter than this share of the longest one: at a kink the error of a step falls only in
    /// proportion to its length, and where the solution slides along an edge there is a kink at each step.
    pub(crate) shortest_share: f64,
    /// Steps at most; the integration gives up beyond.
    pub(crate) most_steps: usize,
}

/// The integration needs more steps than allowed: how far it came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TooManySteps {
    pub(crate) reached_s: f64,
}

/// The solution so far.
#[derive(Debug)]
pub(crate) struct Past {
    width: usize,
    times: Vec<f64>,
    /// `width` values, then `width` slopes, for each time.
    nodes: Vec<f64>,
}

impl Past {
    fn new(width: usize) -> Self {
        Past { width, times: Vec::new(), nodes: Vec::new() }
    }

    fn push(&mut self, t: f64, y: &[f64], slopes: &[f64]) {
        self.times.push(t);
        self.nodes.extend_from_slice(y);
        self.nodes.extend_from_slice(slopes);
    }

    fn node(&self, index: usize) -> (&[f64], &[f64]) {
        let start = index * 2 * self.width;
        self.nodes[start..start + 2 * self.width].split_at(self.width)
    }

    /// Drops what lies before the last time not after `since`, once it is most of what there is.
    fn forget_before(&mut self, since: f64) {
        let unneeded = self.times.partition_point(|time| *time <= since).saturating_sub(1);
        if unneeded > 1024 && unneeded > self.times.len() / 2 {
            self.times.drain(..unneeded);
            self.nodes.drain(..unneeded * 2 * self.width);
        }
    }

    /// The state at `t`: the first one before the beginning, the last one after the end.
    pub(crate) fn at(&self, t: f64, y: &mut [f64]) {
        let next = self.times.partition_point(|time| *time <= t);
        if next == 0 || next == self.times.len() {
            y.copy_from_slice(self.node(next.saturating_sub(1)).0);
            return;
        }
        let (start, end) = (self.times[next - 1], self.times[next]);
        let ((y0, f0), (y1, f1)) = (self.node(next - 1), self.node(next));
        let h = end - start;
        let u = (t - start) / h;
        let v = 1.0 - u;
        for i in 0..self.width {
            let line = v * y0[i] + u * y1[i];
            let rise = y1[i] - y0[i];
            y[i] = line + u * v * (v * (h * f0[i] - rise) - u * (h * f1[i] - rise));
        }
    }
}

/// The room that a step needs.
struct Stages {
    k: [Vec<f64>; 4],
    stage: Vec<f64>,
    next: Vec<f64>,
}

impl Stages {
    fn new(width: usize) -> Self {
        let zeros = || vec![0.0; width];
        Stages { k: [zeros(), zeros(), zeros(), zeros()], stage: zeros(), next: zeros() }
    }

    /// One step of the pair from `y` with the slopes `k[0]`: leaves the state in `next` and its slopes
    /// in `k[3]`, and returns the error as a multiple of what is allowed.
    fn step(
        &mut self,
        system: &mut impl Delayed,
        past: &Past,
        precision: &Precision,
        (t, h): (f64, f64),
        y: &[f64],
    ) -> f64 {
        let [k1, k2, k3, k4] = &mut self.k;
        add(&mut self.stage, y, h, &[(0.5, k1)]);
        system.slopes(t + 0.5 * h, &self.stage, past, k2);
        add(&mut self.stage, y, h, &[(0.75, k2)]);
        system.slopes(t + 0.75 * h, &self.stage, past, k3);
        let (a, b, c) = (2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0);
        add(&mut self.next, y, h, &[(a, k1), (b, k2), (c, k3)]);
        system.slopes(t + h, &self.next, past, k4);
        let mut worst: f64 = 0.0;
        for i in 0..y.len() {
            let error = h
                * (-5.0 / 72.0 * k1[i] + 1.0 / 12.0 * k2[i] + 1.0 / 9.0 * k3[i]
                    - 1.0 / 8.0 * k4[i]);
            let size = y[i].abs().max(self.next[i].abs()).max(precision.scale);
            worst = worst.max(error.abs() / (precision.relative * size));
        }
        worst
    }
}

fn add(sum: &mut [f64], y: &[f64], h: f64, parts: &[(f64, &Vec<f64>)]) {
    for i in 0..sum.len() {
        sum[i] = y[i] + h * parts.iter().map(|(weight, k)| weight * k[i]).sum::<f64>();
    }
}

/// Integrates from `start` at time zero to `end_s`, stopping at each of `stops` (rising), and shows the
/// solution at each of `times` (rising).
pub(crate) fn integrate(
    system: &mut impl Delayed,
    start: &[f64],
    end_s: f64,
    stops: &[f64],
    times: &[f64],
    precision: Precision,
    mut show: impl FnMut(f64, &[f64]),
) -> Result<usize, TooManySteps> {
    let width = start.len();
    let mut past = Past::new(width);
    let mut stages = Stages::new(width);
    let (mut t, mut y) = (0.0, start.to_vec());
    past.push(t, &y, &stages.k[0]);
    system.slopes(t, &y, &past, &mut stages.k[0]);
    past.nodes[width..].copy_from_slice(&stages.k[0]);
    let mut shown = 0;
    let mut seen = vec![0.0; width];
    let mut h = system.longest_step(t, &y) * 1e-2;
    for steps in 0..precision.most_steps {
        while shown < times.len() && times[shown] <= t {
            past.at(times[shown], &mut seen);
            show(times[shown], &seen);
            shown += 1;
        }
        if t >= end_s {
            return Ok(steps);
        }
        let longest = system.longest_step(t, &y);
        let stop = stops.iter().copied().find(|stop| *stop > t).unwrap_or(end_s).min(end_s);
        h = h.min(longest).max(longest * precision.shortest_share);
        // A sliver before a stop is taken along.
        let ends = t + h * 1.01 >= stop;
        let length = if ends { stop - t } else { h };
        let error = stages.step(system, &past, &precision, (t, length), &y);
        let is_shortest = length <= longest * precision.shortest_share * 1.01;
        // The usual controller: order 3, a tenth off for safety, never more than a factor of five.
        let factor = if error > 0.0 { 0.9 * libm::cbrt(1.0 / error) } else { 5.0 };
        h = length * factor.clamp(0.2, 5.0);
        if !(error <= 1.0 || is_shortest) {
            continue;
        }
        t = if ends { stop } else { t + length };
        y.copy_from_slice(&stages.next);
        system.settle(t, &mut y);
        system.slopes(t, &y, &past, &mut stages.k[0]);
        past.push(t, &y, &stages.k[0]);
        past.forget_before(system.needs_since(t, &y));
    }
    Err(TooManySteps { reached_s: t })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Precision =
        Precision { relative: 1e-9, scale: 1.0, shortest_share: 1e-6, most_steps: 1_000_000 };

    /// `y' = -y(t-1)` from 1: by steps `1-t`, then `1 - t + (t-1)²/2`, then `… - (t-2)³/6`.
    struct Constant {
        longest: f64,
    }

    impl Delayed for Constant {
        fn slopes(&mut self, t: f64, _y: &[f64], past: &Past, slopes: &mut [f64]) {
            past.at(t - 1.0, slopes);
            slopes[0] = -if t < 1.0 { 1.0 } else { slopes[0] };
        }
        fn longest_step(&self, _t: f64, _y: &[f64]) -> f64 {
            self.longest
        }
        fn needs_since(&mut self, t: f64, _y: &[f64]) -> f64 {
            t - 1.0
        }
    }

    fn exact_constant(t: f64) -> f64 {
        let part = |delay: f64, power: f64| libm::pow((t - delay).max(0.0), power);
        1.0 - t + part(1.0, 2.0) / 2.0 - part(2.0, 3.0) / 6.0 + part(3.0, 4.0) / 24.0
            - part(4.0, 5.0) / 120.0
    }

    fn end_of_constant(longest: f64, relative: f64) -> f64 {
        let mut end = f64::NAN;
        let stops = [1.0, 2.0, 3.0, 4.0];
        let precision = Precision { relative, ..FINE };
        let mut system = Constant { longest };
        integrate(&mut system, &[1.0], 5.0, &stops, &[5.0], precision, |_, y| end = y[0]).unwrap();
        end
    }

    #[test]
    fn a_constant_delay() {
        let times: Vec<f64> = (0..=500).map(|i| f64::from(i) * 0.01).collect();
        let mut shown = 0;
        let mut system = Constant { longest: 1.0 };
        integrate(&mut system, &[1.0], 5.0, &[1.0, 2.0, 3.0, 4.0], &times, FINE, |t, y| {
            assert!((y[0] - exact_constant(t)).abs() < 1e-7, "{t}: {} {}", y[0], exact_constant(t));
            shown += 1;
        })
        .unwrap();
        assert_eq!(shown, 501);
    }

    #[test]
    fn the_order_is_three() {
        // A tolerance that never rejects leaves the longest step: half as long, an eighth of the error.
        let error = |longest| (end_of_constant(longest, 1e9) - exact_constant(5.0)).abs();
        for (coarse, fine) in [(0.25, 0.125), (0.125, 0.0625), (0.0625, 0.03125)] {
            let ratio = error(coarse) / error(fine);
            assert!((6.5..10.0).contains(&ratio), "{coarse}: {ratio}");
        }
    }

    /// `y' = y·y(ln y)/t` from `y(1) = 1`, a delay that depends on the state (E. Hairer, S. Nørsett,
    /// G. Wanner, "Solving Ordinary Differential Equations I", section II.17 discusses the kind). Time
    /// counts from 1. `y = t` up to e, as `y(ln y) = 1` there; then `y(ln y) = ln y = t/e` if
    /// `y = exp(t/e)`, whose slope is `y/e`: as it should be, up to e².
    struct OfState;

    impl Delayed for OfState {
        fn slopes(&mut self, t: f64, y: &[f64], past: &Past, slopes: &mut [f64]) {
            past.at(libm::log(y[0]) - 1.0, slopes);
            slopes[0] *= y[0] / (t + 1.0);
        }
        fn longest_step(&self, t: f64, y: &[f64]) -> f64 {
            ((t + 1.0 - libm::log(y[0])) / 2.0).min(0.5)
        }
        fn needs_since(&mut self, _t: f64, y: &[f64]) -> f64 {
            libm::log(y[0]) - 1.0
        }
    }

    #[test]
    fn a_delay_that_depends_on_the_state() {
        let e = std::f64::consts::E;
        let times = [0.5, 1.0, 1.6, 2.0, 4.0, 6.0];
        integrate(&mut OfState, &[1.0], 6.0, &[e - 1.0], &times, FINE, |t, y| {
            let at = t + 1.0;
            let exact = if at <= e { at } else { libm::exp(at / e) };
            assert!((y[0] / exact - 1.0).abs() < 1e-6, "{at}: {} is not {exact}", y[0]);
        })
        .unwrap();
    }

    #[test]
    fn it_gives_up_rather_than_go_on_for_ever() {
        let precision = Precision { most_steps: 10, ..FINE };
        let found = integrate(&mut OfState, &[1.0], 6.0, &[], &[], precision, |_, _| ());
        assert!(found.is_err_and(|few| few.reached_s < 6.0));
    }
}
