//! Where windows, queue and loss balance each other, without integrating.

use super::queue::Fate;
use super::{Class, Equations, Fluid, Motion, Signals};
use crate::answer::Answer;
use crate::error::Error;

/// Windows, queue and loss that do not move.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct FixedPoint {
    /// Packets in the queue.
    pub queue_packets: f64,
    /// The share of packets that is dropped.
    pub dropped: f64,
    /// The share of packets whose sender is told of congestion.
    pub signalled: f64,
    /// The mean window of each class in packets.
    pub windows: Vec<f64>,
    /// The round-trip time of each class in seconds.
    pub rtts_s: Vec<f64>,
    /// What arrives of each class, over all its flows, in packets a second.
    pub goodputs_pps: Vec<f64>,
}

/// Halvings of a search: more than a double has digits.
const HALVINGS: u32 = 64;
/// Least loss and windows that are looked at.
const LEAST_LOSS: f64 = 1e-12;
const WINDOWS: (f64, f64) = (1e-6, 1e12);
/// Passes in which windows and round-trip times find each other.
const PASSES: u32 = 4;
/// A queue that nothing limits is looked for up to so many seconds.
const LONGEST_QUEUE_S: f64 = 1e3;

impl Fluid {
    /// The state that does not move, whether or not windows and queue stay there: with a long delay they may
    /// swing around it for ever. None if nothing stops the windows, or the queue is not the one to stop
    /// them.
    ///
    /// # Errors
    /// As [`Fluid::run`].
    pub fn fixed_point(&self) -> Result<Answer<Option<FixedPoint>>, Error> {
        self.check()?;
        let mut motions: Vec<Motion> =
            self.classes.iter().map(|class| Motion::of(class, self.equations)).collect();
        let Some((queue, fate)) = self.balance(&mut motions) else {
            return Ok(Answer::new(None, Some("nothing stops the windows")));
        };
        let point = self.point(&mut motions, queue, fate);
        let outside = self.outside(point.windows.iter().copied());
        Ok(Answer::new(Some(point), outside))
    }

    fn point(&self, motions: &mut [Motion], queue: f64, fate: Fate) -> FixedPoint {
        let windows: Vec<f64> = self.windows(motions, queue, fate.signalled);
        let rtts_s: Vec<f64> = self
            .classes
            .iter()
            .zip(&windows)
            .map(|(class, window)| self.rtt_s(class, queue, *window))
            .collect();
        let left = self.left(fate);
        let goodputs_pps = self.classes.iter().zip(&windows).zip(&rtts_s);
        let goodputs_pps = goodputs_pps.map(|((class, w), rtt_s)| class.flows * w / rtt_s * left);
        FixedPoint {
            queue_packets: queue,
            dropped: fate.dropped,
            signalled: fate.signalled,
            goodputs_pps: goodputs_pps.collect(),
            windows,
            rtts_s,
        }
    }

    /// The share of packets that the equations put into the queue.
    fn left(&self, fate: Fate) -> f64 {
        if self.equations == Equations::Published { 1.0 } else { 1.0 - fate.dropped }
    }

    /// The queue at which as much comes as leaves, and what happens to packets there.
    fn balance(&self, motions: &mut [Motion]) -> Option<(f64, Fate)> {
        let early = |queue: f64| self.queue.early(queue, self.equations);
        let longest = self.capacity_pps * LONGEST_QUEUE_S;
        let top = self.queue.limit().min(longest);
        if self.surplus(motions, 0.0, early(0.0)) <= 0.0 {
            return Some((0.0, early(0.0)));
        }
        let (mut low, mut high) = (0.0, top);
        if self.surplus(motions, top, early(top)) > 0.0 {
            // Full, and what is too much is dropped.
            low = top;
        } else {
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if self.surplus(motions, middle, early(middle)) > 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
        }
        if low >= longest {
            return None;
        }
        // Where the curve jumps, or the queue is full, the balance has a loss of its own.
        Some((high, self.fate_between(motions, high, (early(low), early(high)))))
    }

    /// What happens to packets at a queue where the loss may be anything from `low` on: up to `high`, or up to
    /// everything in a full queue.
    fn fate_between(&self, motions: &mut [Motion], queue: f64, (low, high): (Fate, Fate)) -> Fate {
        let is_full = queue >= self.queue.limit();
        if !is_full && high.signalled - low.signalled < 1e-6 {
            return high;
        }
        // A share `s` on top of what `low` leaves: of a full queue dropped, of a jump as it says itself.
        let with = |s: f64| {
            let rest = (1.0 - low.signalled) * s;
            let drops = is_full || high.dropped > 0.0;
            let dropped = if drops { low.dropped + (1.0 - low.dropped) * s } else { 0.0 };
            Fate { signalled: low.signalled + rest, dropped }
        };
        let (mut some, mut more) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (some + more);
            if self.surplus(motions, queue, with(middle)) > 0.0 {
                some = middle;
            } else {
                more = middle;
            }
        }
        with(more)
    }

    /// Packets a second by which more is put into a queue than leaves.
    fn surplus(&self, motions: &mut [Motion], queue: f64, fate: Fate) -> f64 {
        let windows = self.windows(motions, queue, fate.signalled);
        let offered = self.classes.iter().zip(windows);
        let offered = offered.map(|(class, w)| class.flows * w / self.rtt_s(class, queue, w));
        offered.sum::<f64>() * self.left(fate) - self.capacity_pps
    }

    fn windows(&self, motions: &mut [Motion], queue: f64, signalled: f64) -> Vec<f64> {
        let classes = self.classes.iter().zip(motions);
        let windows = classes.map(|(class, motion)| {
            let mut window = f64::INFINITY;
            // What is held back depends on the window, and the window a little on that.
            for _ in 0..PASSES {
                let rtt_s = self.rtt_s(class, queue, window);
                window = motion.balanced(class, rtt_s, signalled, self.equations);
            }
            window
        });
        windows.collect()
    }
}

impl Motion {
    /// The mean window at which a class stays, within its limit.
    fn balanced(&mut self, class: &Class, rtt_s: f64, loss: f64, equations: Equations) -> f64 {
        let most = class.limit().min(WINDOWS.1);
        if let Motion::Spread(response) = self {
            let window =
                if loss > LEAST_LOSS { response.window(loss.min(0.999), rtt_s) } else { most };
            return window.min(most);
        }
        let (mut low, mut high) = (WINDOWS.0, most);
        // Without its limit, which would stop it short of growing.
        let free = Class { window_limit: None, ..*class };
        for _ in 0..4 * HALVINGS {
            let middle = libm::sqrt(low * high);
            let signals = Signals::of(middle, rtt_s, loss, equations);
            if self.slope(&free, (middle, rtt_s), signals) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}
