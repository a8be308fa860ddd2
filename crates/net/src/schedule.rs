//! Rates and delays that change at given times: steps, ramps, outages, handovers.

use fairway_units::{Duration, Rate};

use crate::pieces::{Course, Step};

/// What becomes of packets on the wire when a link changes: those in transmission and those that
/// propagate. What waits in the queue stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InFlight {
    /// They go on: a transmission at the new rate, propagation with the delay that it began with.
    #[default]
    Keep,
    /// They are lost.
    Lose,
}

/// A change of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// When it begins: since the start of the run, or of the schedule's period.
    pub at: Duration,
    /// The new rate, if it changes; zero takes the link down.
    pub rate: Option<Rate>,
    /// The new propagation delay, if it changes.
    pub delay: Option<Duration>,
    /// How long the change takes, in a straight line; zero for a step.
    pub over: Duration,
    /// What is on the wire when it begins.
    pub in_flight: InFlight,
}

/// All changes of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Rate before the first change.
    pub rate: Rate,
    /// Propagation delay before the first change.
    pub delay: Duration,
    /// The changes, in their order.
    pub changes: Vec<Change>,
    /// After how long everything begins anew, with the first rate and delay.
    pub period: Option<Duration>,
    /// Whether a packet waits for those before it that have a longer delay, so that none overtakes
    /// when the delay shrinks.
    pub keep_order: bool,
}

/// No period is shorter: what happens within one packet's time is a rate of its own.
const SHORTEST_PERIOD: Duration = Duration::from_micros(1);

impl Schedule {
    /// A link that never changes.
    pub fn constant(rate: Rate, delay: Duration) -> Self {
        Schedule { rate, delay, changes: Vec::new(), period: None, keep_order: true }
    }

    /// What is wrong with it, if anything: which change, what was expected, what was found, what
    /// to do.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), String> {
        let mut free = Duration::ZERO;
        let mut rate = self.rate;
        for (i, change) in self.changes.iter().enumerate() {
            if change.at < free || (i > 0 && change.at <= self.changes[i - 1].at) {
                return Err(format!(
                    "change.{i}.at: expected more than the end of the change before it, at {free}, \
                     got {}; write them in their order, none before the last has ended",
                    change.at
                ));
            }
            free = change.at + change.over;
            check_change(i, change, rate)?;
            rate = change.rate.unwrap_or(rate);
        }
        if let Some(period) = self.period {
            if period < SHORTEST_PERIOD || period <= self.last_change() || period < free {
                return Err(format!(
                    "change_period: expected more than the end of the last change, at {free}, and \
                     at least {SHORTEST_PERIOD}, got {period}; write a longer one"
                ));
            }
            let rates = self.changes.iter().filter_map(|change| change.rate);
            if std::iter::once(self.rate).chain(rates).all(|rate| rate.as_bps() == 0) {
                return Err("rate: the link is down for ever; write a rate, or a change that has \
                            one"
                .to_owned());
            }
        }
        Ok(())
    }

    fn last_change(&self) -> Duration {
        self.changes.last().map_or(Duration::ZERO, |change| change.at)
    }

    /// The rate over time, in bit/s.
    pub(crate) fn rates(&self) -> Course {
        self.course(self.rate.as_bps(), |change| change.rate.map(Rate::as_bps))
    }

    /// The delay over time, in nanoseconds.
    pub(crate) fn delays(&self) -> Course {
        self.course(self.delay.as_nanos(), |change| change.delay.map(Duration::as_nanos))
    }

    fn course(&self, first: u64, to: impl Fn(&Change) -> Option<u64>) -> Course {
        let steps = self.changes.iter().map(|change| Step {
            at: change.at,
            to: to(change),
            over: change.over,
            breaks: change.in_flight == InFlight::Lose,
        });
        Course::new(first, steps, self.period)
    }
}

/// What is wrong with change number `i` of a link that has `rate` before it.
fn check_change(i: usize, change: &Change, rate: Rate) -> Result<(), String> {
    let nothing = change.rate.is_none() && change.delay.is_none();
    if nothing && change.in_flight == InFlight::Keep {
        return Err(format!(
            "change.{i}: expected a rate, a delay, or packets that are lost, got none of them; \
             write rate = \"5 Mbit/s\""
        ));
    }
    if change.over == Duration::ZERO {
        return Ok(());
    }
    if nothing {
        return Err(format!("change.{i}.over: nothing changes over it; remove it"));
    }
    let Some(to) = change.rate else { return Ok(()) };
    if rate == Rate::UNLIMITED || to == Rate::UNLIMITED {
        return Err(format!(
            "change.{i}.over: a rate that is unlimited before or after changes at once; remove it, \
             or write a rate"
        ));
    }
    // The sum over a ramp, in nano-bits, times twice its length: see `Piece::sum`.
    let length = u128::from(change.over.as_nanos());
    let fits = u128::from(rate.as_bps().max(to.as_bps()))
        .checked_mul(length)
        .and_then(|sum| sum.checked_mul(length))
        .is_some_and(|sum| sum < u128::MAX / 4);
    if !fits {
        return Err(format!(
            "change.{i}.over: {} is too long for a ramp between {rate} and {to}; write several \
             shorter ones",
            change.over
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(changes: &[Change], period: Option<Duration>) -> String {
        let link = Schedule::constant(Rate::from_bps(1000), Duration::ZERO);
        Schedule { changes: changes.to_vec(), period, ..link }.check().unwrap_err()
    }

    #[test]
    fn changes_that_make_no_sense_are_refused() {
        let sec = Duration::from_secs;
        let step = |at| Change { at: sec(at), rate: Some(Rate::from_bps(1)), ..Change::default() };
        assert!(refusal(&[step(2), step(1)], None).starts_with("change.1.at:"));
        assert!(refusal(&[step(2), step(2)], None).starts_with("change.1.at:"));
        let ramp = Change { over: sec(3), ..step(2) };
        assert!(refusal(&[ramp, step(4)], None).contains("at 5 s, got 4 s"));
        assert!(refusal(&[ramp], Some(sec(4))).starts_with("change_period:"));
        assert!(refusal(&[step(4)], Some(sec(4))).starts_with("change_period:"));
        assert!(refusal(&[Change { at: sec(1), ..Change::default() }], None).contains("got none"));
        let unlimited = Change { rate: Some(Rate::UNLIMITED), ..ramp };
        assert!(refusal(&[unlimited], None).starts_with("change.0.over:"));
        // 10¹² bit/s over 10⁶ s = 10¹⁵ ns: 10⁴² does not fit 128 bits.
        let long =
            Change { rate: Some(Rate::from_bps(1_000_000_000_000)), over: sec(1_000_000), ..ramp };
        assert!(refusal(&[long], None).contains("too long"));
    }

    #[test]
    fn a_link_that_is_down_for_ever_does_not_repeat() {
        let down = Change { rate: Some(Rate::from_bps(0)), ..Change::default() };
        let link = Schedule {
            changes: vec![down],
            period: Some(Duration::from_secs(1)),
            ..Schedule::constant(Rate::from_bps(0), Duration::ZERO)
        };
        assert!(link.check().unwrap_err().contains("down for ever"));
    }
}
