//! Segments that have to be sent.

use fairway_tcp::{Flags, Segment as Sent};
use fairway_units::{Duration, Time};

use super::{Departure, Machine, Stop, shown};
use crate::script::{Event, Options, Segment, When};
use crate::wire::{differences, written};

/// How long after its time a segment is still waited for, to tell when it was sent instead.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a segment is waited for that may be sent at any time.
const ANY_TIME: Duration = Duration::from_secs(1000);

/// When a segment has to be sent, and how far it may be from that.
#[derive(Clone, Copy)]
struct Window {
    from: Time,
    to: Time,
    tolerance: Duration,
}

impl Window {
    fn contains(&self, at: Time) -> bool {
        at + self.tolerance >= self.from && at <= self.to + self.tolerance
    }

    fn describe(&self) -> String {
        let (from, to) = (self.from.as_secs_f64(), self.to.as_secs_f64());
        let tolerance = self.tolerance.as_micros() as f64 / 1000.0;
        if self.from == self.to {
            format!("at {from:.6} s, give or take {tolerance} ms")
        } else {
            format!("from {from:.6} to {to:.6} s, give or take {tolerance} ms")
        }
    }
}

impl Machine<'_> {
    /// The endpoint sends this segment, now or later.
    pub(super) fn expect(&mut self, event: &Event, expected: &Segment) -> Result<(), Stop> {
        let window = self.window(event.when);
        let patience = window.map_or(self.now + ANY_TIME, |window| window.to + PATIENCE);
        let Some(first) = self.next_departure(patience, event)? else {
            let mut failure = self.plain_failure(event, "nothing was sent".to_owned());
            failure.expected = window.map(|window| window.describe());
            failure.found = Some(format!("nothing until {:.6} s", self.now.as_secs_f64()));
            return Err(Stop::Failed(Box::new(failure)));
        };
        let (whole, last) = self.burst(first, expected, patience, event)?;
        self.now = self.now.max(last);
        let mut found =
            differences(expected, &whole, whole.payload_bytes, self.settings.compare_psh);
        if let (Some(value), true) =
            (written_timestamp(expected), whole.flags.has(Flags::TIMESTAMP))
            && let Some(wanted) =
                self.timestamps.compare(value, whole.ts_value, self.settings.tolerance)
        {
            found.push(format!("option TS val {} instead of {wanted}", whole.ts_value));
        }
        let in_time =
            window.is_none_or(|window| window.contains(first.at) && window.contains(last));
        if found.is_empty() && in_time {
            return Ok(());
        }
        let message = match (found.is_empty(), in_time) {
            (true, _) => "this segment was sent at another time",
            (false, true) => "another segment was sent",
            (false, false) => "another segment was sent, at another time",
        };
        let mut failure = self.plain_failure(event, message.to_owned());
        failure.expected = window.map(|window| window.describe());
        failure.found = Some(shown(first.at, &written(&whole, None)));
        failure.differences = found;
        Err(Stop::Failed(Box::new(failure)))
    }

    fn window(&self, when: When) -> Option<Window> {
        let (from, to) = match when {
            When::Any => return None,
            When::At(from, to) => (from, to.unwrap_or(from)),
            When::After(from, to) => (self.now + from, self.now + to.unwrap_or(from)),
        };
        Some(Window { from, to, tolerance: self.tolerance(from.since(self.now)) })
    }

    /// The next segment that was or will be sent, until `patience` ends.
    fn next_departure(&mut self, patience: Time, event: &Event) -> Result<Option<Departure>, Stop> {
        self.wait_for_departure(patience, event)?;
        let found = self.departures.pop_front();
        if let Some(departure) = found {
            self.trace[departure.line].line = Some(event.at.line);
        }
        Ok(found)
    }

    fn wait_for_departure(&mut self, patience: Time, event: &Event) -> Result<(), Stop> {
        while self.departures.is_empty() {
            let next = self.endpoint.poll_timeout();
            if next > patience {
                return self.advance(patience, event);
            }
            self.advance(next, event)?;
        }
        Ok(())
    }

    /// `first` and, where more is expected than it carries, the segments that continue it, as one;
    /// and when the last of them was sent.
    fn burst(
        &mut self,
        first: Departure,
        expected: &Segment,
        patience: Time,
        event: &Event,
    ) -> Result<(Sent, Time), Stop> {
        let mut whole = first.segment;
        let mut last = first.at;
        if self.settings.strict_segments || whole.payload_bytes == 0 || whole.seq.0 != expected.seq
        {
            return Ok((whole, last));
        }
        while whole.payload_bytes < expected.payload {
            self.wait_for_departure(patience, event)?;
            let continues = self.departures.front().is_some_and(|next| {
                let part = &next.segment;
                self.is_after(&whole, whole.payload_bytes, part)
                    && part.payload_bytes > 0
                    && part.ack == whole.ack
                    && whole.payload_bytes + part.payload_bytes <= expected.payload
            });
            if !continues {
                break;
            }
            let Some(next) = self.next_departure(patience, event)? else { break };
            whole.payload_bytes += next.segment.payload_bytes;
            whole.flags = whole.flags.with(next.segment.flags);
            last = next.at;
        }
        Ok((whole, last))
    }
}

fn written_timestamp(expected: &Segment) -> Option<u32> {
    match &expected.options {
        Options::These(list) => list.timestamp.map(|(value, _)| value),
        Options::None | Options::Unseen => None,
    }
}
