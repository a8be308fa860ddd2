//! Propagation delay over time.

use fairway_units::{Duration, Time};

use crate::Schedule;
use crate::pieces::Course;

/// The propagation of one direction of a link.
#[derive(Clone, Debug)]
pub enum Propagation {
    /// Always the same delay.
    Constant(Duration),
    /// A delay that changes.
    Scheduled(Box<Scheduled>),
}

/// A delay that changes at given times.
#[derive(Clone, Debug)]
pub struct Scheduled {
    delays: Course,
    keep_order: bool,
    /// The latest arrival so far, without what the wire adds.
    last: Time,
}

impl Propagation {
    /// As a schedule that was found right has it.
    pub fn new(schedule: &Schedule) -> Self {
        if schedule.changes.is_empty() {
            return Propagation::Constant(schedule.delay);
        }
        Propagation::Scheduled(Box::new(Scheduled {
            delays: schedule.delays(),
            keep_order: schedule.keep_order,
            last: Time::ZERO,
        }))
    }

    /// When a packet arrives whose transmission ends at `leaves`, which never goes back, and which
    /// takes `extra` on top of the delay; none if a change of the link loses it before.
    pub fn arrive(&mut self, leaves: Time, extra: Duration) -> Option<Time> {
        match self {
            Propagation::Constant(delay) => Some(leaves + *delay + extra),
            Propagation::Scheduled(scheduled) => scheduled.arrive(leaves, extra),
        }
    }
}

impl Scheduled {
    fn arrive(&mut self, leaves: Time, extra: Duration) -> Option<Time> {
        let delay = Duration::from_nanos(self.delays.at(leaves).value(leaves));
        let mut base = leaves + delay;
        if self.keep_order {
            base = base.max(self.last);
        }
        let arrives = base + extra;
        if self.delays.next_break(leaves) < arrives {
            return None;
        }
        self.last = self.last.max(base);
        Some(arrives)
    }
}

#[cfg(test)]
mod tests {
    use fairway_units::Rate;

    use super::*;
    use crate::{Change, InFlight};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    fn propagation(keep_order: bool, period: Option<Duration>, changes: &[Change]) -> Propagation {
        let schedule = Schedule {
            changes: changes.to_vec(),
            period,
            keep_order,
            ..Schedule::constant(Rate::from_bps(1_000_000), ms(50))
        };
        schedule.check().unwrap();
        Propagation::new(&schedule)
    }

    fn arrivals(propagation: &mut Propagation, leave: &[u64]) -> Vec<Option<u64>> {
        let mut arrive = |leaves| propagation.arrive(at(leaves), Duration::ZERO);
        leave.iter().map(|ms| arrive(*ms).map(Time::as_millis)).collect()
    }

    #[test]
    fn a_step_changes_the_delay_of_what_leaves_after_it() {
        let step = Change { at: ms(100), delay: Some(ms(20)), ..Change::default() };
        let mut free = propagation(false, None, &[step]);
        // Who leaves at 99 arrives at 149, behind who leaves at 100.
        assert_eq!(
            arrivals(&mut free, &[0, 99, 100, 140]),
            [Some(50), Some(149), Some(120), Some(160)]
        );
        let mut kept = propagation(true, None, &[step]);
        assert_eq!(
            arrivals(&mut kept, &[0, 99, 100, 140]),
            [Some(50), Some(149), Some(149), Some(160)]
        );
    }

    #[test]
    fn a_ramp_goes_in_a_straight_line() {
        // 50 ms to 150 ms from 1 s to 2 s, then back to 0 within 50 ms.
        let up = Change { at: ms(1000), delay: Some(ms(150)), over: ms(1000), ..Change::default() };
        let down = Change { at: ms(3000), delay: Some(ms(0)), over: ms(50), ..Change::default() };
        let mut ramp = propagation(false, None, &[up, down]);
        assert_eq!(
            arrivals(&mut ramp, &[999, 1000, 1250, 1990, 2000, 3000, 3010, 3050]),
            [1049, 1050, 1325, 2139, 2150, 3150, 3130, 3050].map(Some)
        );
    }

    #[test]
    fn a_handover_loses_what_is_in_flight() {
        let handover = Change {
            at: ms(100),
            delay: Some(ms(20)),
            in_flight: InFlight::Lose,
            ..Change::default()
        };
        let mut link = propagation(true, None, &[handover]);
        // Who leaves at 50 arrives at 100, just in time. The lost hold nobody up.
        assert_eq!(
            arrivals(&mut link, &[50, 51, 99, 100, 101]),
            [Some(100), None, None, Some(120), Some(121)]
        );
        // What jitter adds counts too.
        let mut link = propagation(true, None, &[handover]);
        assert_eq!(link.arrive(at(40), ms(10)), Some(at(100)));
        assert_eq!(link.arrive(at(40), ms(11)), None);
    }

    #[test]
    fn a_schedule_begins_anew() {
        // Every second: 50 ms, from 400 ms on 80 ms, and what is in flight at 400 ms is lost.
        let change = Change {
            at: ms(400),
            delay: Some(ms(80)),
            in_flight: InFlight::Lose,
            ..Change::default()
        };
        let mut link = propagation(false, Some(ms(1000)), &[change]);
        assert_eq!(
            arrivals(&mut link, &[350, 351, 400, 999, 1000, 7350, 7351, 7399, 7400]),
            [
                Some(400),
                None,
                Some(480),
                Some(1079),
                Some(1050),
                Some(7400),
                None,
                None,
                Some(7480)
            ]
        );
    }
}
