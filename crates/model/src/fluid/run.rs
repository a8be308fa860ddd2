//! Windows and queue over time.

use super::delay::{self, Delayed, Past, Precision};
use super::queue::Fate;
use super::{Class, Equations, Fluid, Motion, Signals};
use crate::answer::Answer;
use crate::error::{Error, positive};

/// Error of a step, relative; windows and queues below a packet have the error of a packet.
const PRECISION: Precision =
    Precision { relative: 1e-5, scale: 1.0, shortest_share: 1.0 / 256.0, most_steps: 400_000 };
/// Points of a curve at most.
const MOST_POINTS: usize = 1_000_000;

/// Windows and queue over time, each as long as `time_s`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Seconds.
    pub time_s: Vec<f64>,
    /// Packets in the queue.
    pub queue_packets: Vec<f64>,
    /// RED's average of that; the queue itself where there is no RED.
    pub average_packets: Vec<f64>,
    /// The share of packets that is dropped on arrival.
    pub dropped: Vec<f64>,
    /// The share of packets whose sender is told of congestion, by a drop or a mark.
    pub signalled: Vec<f64>,
    /// The mean window of each class in packets; 0 before it begins.
    pub windows: Vec<Vec<f64>>,
    /// What arrives of each class, over all its flows, in packets a second.
    pub goodputs_pps: Vec<Vec<f64>>,
    /// Steps that it took.
    pub steps: usize,
}

/// Means over a stretch of time.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Means {
    /// As in [`Curves`].
    pub queue_packets: f64,
    /// Smallest and largest queue.
    pub queue_range: (f64, f64),
    /// As in [`Curves`].
    pub average_packets: f64,
    /// As in [`Curves`].
    pub dropped: f64,
    /// As in [`Curves`].
    pub signalled: f64,
    /// As in [`Curves`].
    pub windows: Vec<f64>,
    /// As in [`Curves`].
    pub goodputs_pps: Vec<f64>,
}

impl Curves {
    /// Means over the points from `from_s` on.
    pub fn means_since(&self, from_s: f64) -> Means {
        let first = self.time_s.partition_point(|time| *time < from_s);
        let first = first.min(self.time_s.len().saturating_sub(1));
        let mean = |values: &Vec<f64>| {
            let values = values.get(first..).unwrap_or_default();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let range = self.queue_packets.get(first..).unwrap_or_default().iter();
        let queue_range = range
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), q| (q.min(low), q.max(high)));
        Means {
            queue_packets: mean(&self.queue_packets),
            queue_range,
            average_packets: mean(&self.average_packets),
            dropped: mean(&self.dropped),
            signalled: mean(&self.signalled),
            windows: self.windows.iter().map(mean).collect(),
            goodputs_pps: self.goodputs_pps.iter().map(mean).collect(),
        }
    }
}

impl Fluid {
    /// Integrates `duration_s` from an empty queue, and gives `points` of it from zero to the end.
    ///
    /// # Errors
    /// [`Error`] for quantities that make no sense, a rule with a memory in the published equations, or a
    /// duration of too many round trips.
    pub fn run(&self, duration_s: f64, points: usize) -> Result<Answer<Curves>, Error> {
        self.check()?;
        positive("duration in seconds", duration_s)?;
        if !(2..=MOST_POINTS).contains(&points) {
            let (quantity, expected) = ("points of the curves", "from 2 to 1000000");
            return Err(Error { quantity, expected, found: points as f64 });
        }
        let last = (points - 1) as f64;
        let times: Vec<f64> = (0..points).map(|i| duration_s * (i as f64 / last)).collect();
        let mut stops: Vec<f64> = self.classes.iter().map(|class| class.start_s).collect();
        stops.retain(|stop| *stop > 0.0 && *stop < duration_s);
        stops.sort_by(f64::total_cmp);

        let mut start: Vec<f64> = self.classes.iter().map(Class::first_window_within).collect();
        start.extend([0.0, 0.0]);
        let mut curves = Curves {
            windows: vec![Vec::with_capacity(points); self.classes.len()],
            goodputs_pps: vec![Vec::with_capacity(points); self.classes.len()],
            ..Curves::default()
        };
        let mut system = System::new(self);
        let shown = delay::integrate(
            &mut system,
            &start,
            duration_s,
            &stops,
            &times,
            PRECISION,
            |time_s, state| self.show(&mut curves, time_s, state),
        );
        curves.steps = shown.map_err(|few| Error {
            quantity: "duration in seconds",
            expected: "one of fewer round trips; 400000 steps were enough up to the number given here",
            found: few.reached_s,
        })?;
        let outside = self.outside(curves.means_since(duration_s / 2.0).windows.into_iter());
        Ok(Answer::new(curves, outside))
    }

    /// Puts a state into the curves.
    fn show(&self, curves: &mut Curves, time_s: f64, state: &[f64]) {
        let count = self.classes.len();
        let (queue, average) = (state[count].max(0.0), state[count + 1].max(0.0));
        let arriving = self.arriving(time_s, state);
        let fate = self.fate(time_s, state);
        let admitted: f64 = arriving * (1.0 - fate.dropped);
        let full = queue > 0.0 || admitted > self.capacity_pps;
        for (index, class) in self.classes.iter().enumerate() {
            let is_on = time_s >= class.start_s;
            let window = if is_on { state[index] } else { 0.0 };
            let offered = class.flows * window / self.rtt_s(class, queue, window);
            let share = if full { self.capacity_pps / arriving } else { 1.0 - fate.dropped };
            curves.windows[index].push(window);
            curves.goodputs_pps[index].push(if offered > 0.0 { offered * share } else { 0.0 });
        }
        curves.time_s.push(time_s);
        curves.queue_packets.push(queue);
        curves.average_packets.push(if self.queue.weight().is_some() { average } else { queue });
        curves.dropped.push(fate.dropped);
        curves.signalled.push(fate.signalled);
    }

    /// Packets a second that arrive at the queue.
    fn arriving(&self, t: f64, state: &[f64]) -> f64 {
        let queue = state[self.classes.len()];
        let classes = self.classes.iter().zip(state);
        let on = classes.filter(|(class, _)| t >= class.start_s);
        on.map(|(class, window)| class.flows * window / self.rtt_s(class, queue, *window)).sum()
    }

    fn fate(&self, t: f64, state: &[f64]) -> Fate {
        let count = self.classes.len();
        let rates = (self.arriving(t, state), self.capacity_pps);
        self.queue.fate((state[count], state[count + 1]), rates, self.equations)
    }
}

impl Class {
    fn first_window_within(&self) -> f64 {
        self.first_window.min(self.limit())
    }
}

/// The equations of a [`Fluid`]: a window for each class, the queue, its average.
struct System<'a> {
    fluid: &'a Fluid,
    motions: Vec<Motion>,
    before: Vec<f64>,
    longest_rtt_s: f64,
}

impl<'a> System<'a> {
    fn new(fluid: &'a Fluid) -> Self {
        let motions = fluid.classes.iter().map(|class| Motion::of(class, fluid.equations));
        let before = vec![0.0; fluid.classes.len() + 2];
        System { fluid, motions: motions.collect(), before, longest_rtt_s: 0.0 }
    }

    /// What the sender of a class is told at `t` of what it sent a round trip before.
    fn signals(&mut self, index: usize, (t, rtt_s): (f64, f64), past: &Past) -> Signals {
        let fluid = self.fluid;
        let class = &fluid.classes[index];
        let then = t - rtt_s;
        if then < class.start_s {
            return Signals { rate: 0.0, in_round: 0.0 };
        }
        past.at(then, &mut self.before);
        let fate = fluid.fate(then, &self.before);
        let window = self.before[index];
        let rtt_then_s = fluid.rtt_s(class, self.before[fluid.classes.len()], window);
        Signals::of(window, rtt_then_s, fate.signalled, fluid.equations)
    }

    fn queue_slope(&self, t: f64, y: &[f64]) -> f64 {
        let fluid = self.fluid;
        let queue = y[fluid.classes.len()];
        let arriving = fluid.arriving(t, y);
        let kept = match fluid.equations {
            Equations::Published => 1.0,
            Equations::Refined => 1.0 - fluid.fate(t, y).dropped,
        };
        let slope = arriving * kept - fluid.capacity_pps;
        if queue <= 0.0 {
            slope.max(0.0)
        } else if queue >= fluid.queue.limit() {
            slope.min(0.0)
        } else {
            slope
        }
    }
}

impl Delayed for System<'_> {
    fn slopes(&mut self, t: f64, y: &[f64], past: &Past, slopes: &mut [f64]) {
        let fluid = self.fluid;
        let count = fluid.classes.len();
        let queue = y[count];
        for (index, class) in fluid.classes.iter().enumerate() {
            if t < class.start_s {
                slopes[index] = 0.0;
                continue;
            }
            let window = y[index].max(1e-6);
            let rtt_s = fluid.rtt_s(class, queue, window);
            let signals = self.signals(index, (t, rtt_s), past);
            slopes[index] = self.motions[index].slope(class, (window, rtt_s), signals);
        }
        slopes[count] = self.queue_slope(t, y);
        let by_packet = fluid.queue.weight().map_or(0.0, |weight| libm::log1p(-weight));
        slopes[count + 1] = fluid.capacity_pps * by_packet * (y[count + 1] - queue.max(0.0));
    }

    /// The queue falls by no more than the capacity, so that the round-trip time falls by no more than the time
    /// that passes: half of it is safe, and the time without queues always is.
    fn longest_step(&self, _t: f64, y: &[f64]) -> f64 {
        let queue = y[self.fluid.classes.len()];
        let classes = self.fluid.classes.iter();
        classes
            .map(|class| class.rtt_s.max(0.5 * self.fluid.path_s(class, queue)))
            .fold(f64::INFINITY, f64::min)
    }

    fn needs_since(&mut self, t: f64, y: &[f64]) -> f64 {
        let queue = y[self.fluid.classes.len()];
        for (class, window) in self.fluid.classes.iter().zip(y) {
            self.longest_rtt_s = self.longest_rtt_s.max(self.fluid.rtt_s(class, queue, *window));
        }
        t - 3.0 * self.longest_rtt_s
    }

    fn settle(&self, _t: f64, y: &mut [f64]) {
        let count = self.fluid.classes.len();
        for (window, class) in y.iter_mut().zip(&self.fluid.classes) {
            *window = window.clamp(1e-6, class.limit());
        }
        y[count] = y[count].clamp(0.0, self.fluid.queue.limit());
        y[count + 1] = y[count + 1].max(0.0);
    }
}
