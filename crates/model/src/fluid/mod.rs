//! Fluid models: windows and queue as flows of a fluid, for as many connections as one likes.
//!
//! V. Misra, W.-B. Gong, D. Towsley, "Fluid-based Analysis of a Network of AQM Routers Supporting TCP Flows
//! with an Application to RED", SIGCOMM 2000. With the mean window `W`, queue `q`, averaged queue `x`,
//! capacity `C`, `N` flows, round-trip time `R = T + q/C` and drop probability `p`:
//!
//! ```text
//! dW/dt = 1/R - W(t)·W(t-R)·p(t-R) / (2·R(t-R))
//! dq/dt = N·W/R - C                  (not below zero)
//! dx/dt = C·ln(1-w_q)·(x - q)        p = RED(x)
//! ```
//!
//! Another rule than Reno's puts its growth in a round trip in place of 1 and the share that it gives up in
//! place of 1/2 ([`Equations::Published`]). [`Equations::Refined`] adds, each by derivation and without a
//! fitted constant:
//!
//! - RED spaces its drops evenly, so that it drops twice `p` (see [`Queue`]), and what it drops is not queued;
//! - a delayed acknowledgement holds packets back (see [`Class::packets_per_ack`]);
//! - losses that a sender learns of in one round trip are one reduction: of `h = W·p/R` losses a second
//!   `h/(1+hR)` reduce the window;
//! - windows are spread around their mean, which has a loss `p*(W, R)` of balance that is computed from the
//!   rule (see `spread`). With the growth `a` and the rates `Λ` of reductions at `p` and `Λ*` at `p*`,
//!   `dW/dt = a/R · (1 - Λ/Λ*)`: Reno's equation above if `p* = 2/W²`.

mod balance;
mod delay;
mod queue;
mod rules;
mod run;
mod spread;
#[cfg(test)]
mod tests;

pub use balance::FixedPoint;
pub use queue::{Equations, Queue, RedQueue};
pub use rules::Rule;
pub use run::{Curves, Means};

use crate::constants::SMALL_WINDOW_PACKETS;
use crate::error::{Error, not_negative, positive};
use rules::{Memory, Moment};
use spread::Response;

/// Flows that are alike.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// How many; need not be whole.
    pub flows: f64,
    /// Round-trip time without queues, in seconds.
    pub rtt_s: f64,
    /// How the window grows and falls.
    #[serde(rename = "cc")]
    pub rule: Rule,
    /// When they begin, in seconds.
    pub start_s: f64,
    /// The window that they begin with, in packets: congestion avoidance from there.
    pub first_window: f64,
    /// The largest window, in packets; none for no limit.
    pub window_limit: Option<f64>,
    /// Packets for each acknowledgement, 2 where they are delayed (RFC 1122, section 4.2.3.2). The published
    /// equations know of none.
    pub packets_per_ack: f64,
}

/// Flows that share a bottleneck.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fluid {
    /// What the bottleneck passes on, in packets a second.
    pub capacity_pps: f64,
    /// Its queue.
    pub queue: Queue,
    /// Flows of every kind.
    pub classes: Vec<Class>,
    /// Which equations.
    pub equations: Equations,
}

/// Classes at most.
const MOST_CLASSES: usize = 64;

impl Fluid {
    fn check(&self) -> Result<(), Error> {
        positive("capacity in packets a second", self.capacity_pps)?;
        self.queue.check()?;
        let count = self.classes.len();
        if count == 0 || count > MOST_CLASSES {
            let expected = "from 1 to 64";
            return Err(Error { quantity: "classes of flows", expected, found: count as f64 });
        }
        for class in &self.classes {
            class.check(self.equations)?;
        }
        Ok(())
    }

    /// The time on the path and in the queue.
    fn path_s(&self, class: &Class, queue: f64) -> f64 {
        class.rtt_s + queue.max(0.0) / self.capacity_pps
    }

    /// The round-trip time of a window. A receiver that acknowledges every `b`th packet holds `(b-1)/2` of them
    /// back on average, by which fewer of the window are on their way.
    fn rtt_s(&self, class: &Class, queue: f64, window: f64) -> f64 {
        let held = match self.equations {
            Equations::Published => 0.0,
            Equations::Refined => 0.5 * (class.packets_per_ack - 1.0),
        };
        self.path_s(class, queue) / (1.0 - held / window.max(2.0 * held).max(1e-6))
    }

    /// Why windows of these classes may not be believed.
    fn outside(&self, windows: impl Iterator<Item = f64>) -> Option<&'static str> {
        let smallest = windows.fold(f64::INFINITY, f64::min);
        let flows: f64 = self.classes.iter().map(|class| class.flows).sum();
        if smallest < SMALL_WINDOW_PACKETS {
            Some("windows of a few packets lose by timeouts, which the equations do not have")
        } else if flows < 10.0 {
            Some("a mean over few flows does not show how each one of them moves the queue")
        } else {
            None
        }
    }
}

impl Class {
    fn check(&self, equations: Equations) -> Result<(), Error> {
        positive("flows", self.flows)?;
        positive("round-trip time in seconds", self.rtt_s)?;
        not_negative("start in seconds", self.start_s)?;
        positive("first window in packets", self.first_window)?;
        positive("limit of the window in packets", self.window_limit.unwrap_or(1.0))?;
        if !(1.0..=64.0).contains(&self.packets_per_ack) {
            let (quantity, expected) = ("packets for each acknowledgement", "from 1 to 64");
            return Err(Error { quantity, expected, found: self.packets_per_ack });
        }
        if let Rule::MulTcp { n } = self.rule {
            positive("connections that MulTCP stands for", n - 0.5)?;
        }
        if equations == Equations::Published && self.rule.has_history() {
            let expected = "rules whose growth follows from the window alone in the published \
                            equations: use the refined ones";
            let quantity = "a rule with a memory (bic, cubic, htcp, westwood+) among the classes";
            return Err(Error { quantity, expected, found: self.flows });
        }
        Ok(())
    }

    /// What its rule looks at where windows have no history.
    fn moment(&self, window: f64, rtt_s: f64) -> Moment {
        Moment {
            window,
            after_loss: window,
            since_loss_s: 0.0,
            growing_s: 0.0,
            rtt_s,
            base_rtt_s: self.rtt_s,
            memory: Memory::of(window),
        }
    }

    fn limit(&self) -> f64 {
        self.window_limit.unwrap_or(f64::INFINITY)
    }
}

/// How the window of a class moves.
enum Motion {
    /// By its rule, all windows being equal to their mean.
    Mean,
    /// Towards the balance of windows that are spread.
    Spread(Response),
}

impl Motion {
    fn of(class: &Class, equations: Equations) -> Self {
        if equations == Equations::Published || class.rule.is_by_delay() {
            Motion::Mean
        } else {
            Motion::Spread(Response::new(class.rule, class.rtt_s))
        }
    }

    /// Packets a second by which the mean window rises, if `signals` losses or marks a second were sent back
    /// to a sender who had this window then, `signalled` being the share of packets.
    fn slope(&mut self, class: &Class, (window, rtt_s): (f64, f64), signals: Signals) -> f64 {
        let at = class.moment(window, rtt_s);
        let slope = match self {
            Motion::Mean => {
                let taken = 1.0 - class.rule.beta(&at);
                class.rule.growth(&at) / rtt_s - taken * window * signals.reductions()
            }
            Motion::Spread(response) => {
                let (loss, mean_growth) = response.at(window, rtt_s);
                // A rule with a history has no growth of a window alone, but its mean.
                let history = class.rule.has_history();
                let growth = if history { mean_growth } else { class.rule.growth(&at) };
                let balance = Signals { rate: window / rtt_s * loss, in_round: window * loss };
                growth / rtt_s * (1.0 - signals.reductions() / balance.reductions())
            }
        };
        if window >= class.limit() { slope.min(0.0) } else { slope }
    }
}

/// Losses and marks as a sender learns of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Signals {
    /// A second.
    rate: f64,
    /// In a round trip, where all of them are one reduction; 0 where each is one.
    in_round: f64,
}

impl Signals {
    /// Of `window` packets sent in `rtt_s`, of each of which the sender is told with this probability.
    fn of(window: f64, rtt_s: f64, probability: f64, equations: Equations) -> Self {
        let in_round = match equations {
            Equations::Published => 0.0,
            Equations::Refined => window * probability,
        };
        Signals { rate: window / rtt_s * probability, in_round }
    }

    /// Reductions a second: after each the signals of a round trip go unheeded.
    fn reductions(self) -> f64 {
        self.rate / (1.0 + self.in_round)
    }
}
