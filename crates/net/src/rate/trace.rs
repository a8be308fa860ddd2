//! Packet-delivery traces of Mahimahi.
//!
//! Source: R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015;
//! its src/frontend/link_queue.cc (`LinkQueue::LinkQueue` reads the file, `rationalize` uses it).
//!
//! Each line of a file is a time in whole milliseconds at which 1504 bytes may leave. Lines do not
//! go back; several with one number are several opportunities. After the last the trace begins
//! again, with that line's time as its zero. An opportunity serves the packets that wait, in parts
//! if need be: what a packet lacks it takes from the next, and what it leaves serves the one
//! behind it. What nobody waits for is gone; a packet that arrives at the time of an opportunity
//! is too late for it.
//!
//! Mahimahi counts the four bytes that a TUN device puts before each packet: a link with a framing
//! of 4 bytes is one of Mahimahi's.

use std::sync::Arc;

use fairway_units::{Duration, Rate, Time};

use super::RateModel;

/// Bytes of an opportunity (link_queue.hh, `PACKET_SIZE`).
pub const OPPORTUNITY_BYTES: u32 = 1504;

/// The longest trace that is read: at one opportunity each 10 µs, 1.2 Gbit/s, 100 s.
const MOST_OPPORTUNITIES: usize = 10_000_000;

/// When packets may leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Milliseconds since the beginning, rising; the last is not zero.
    times: Arc<[u32]>,
    /// Whether it begins again after its end; otherwise nothing leaves any more (Mahimahi's
    /// `--once`).
    pub repeats: bool,
}

/// What a trace in one line begins with.
const WORD: &str = "opportunities";

impl DeliveryTrace {
    /// Read a trace file's text.
    ///
    /// # Errors
    /// The number of the line that is wrong, what was expected, what was found, what to do.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut times: Vec<u32> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            if i == MOST_OPPORTUNITIES {
                return Err(format!(
                    "expected at most {MOST_OPPORTUNITIES} lines, got more; write a shorter trace, \
                     which repeats"
                ));
            }
            // What the line has is not said: the file may be no trace, but somebody's secret.
            let time = milliseconds(line).ok_or_else(|| {
                format!(
                    "line {}: expected whole milliseconds up to {}, and nothing else; write one \
                     time on each line, such as \"12\"",
                    i + 1,
                    u32::MAX
                )
            })?;
            if let Some(last) = times.last().filter(|last| time < **last) {
                return Err(format!(
                    "line {}: expected a time that is not before the line above, {last}, got \
                     {time}; sort the lines",
                    i + 1
                ));
            }
            times.push(time);
        }
        DeliveryTrace::of(times)
    }

    /// Read a trace written in one line: "opportunities", and then after how many milliseconds each
    /// next one comes, `2x3` for three that come after 2 ms.
    ///
    /// # Errors
    /// What was expected, what was found, what to do.
    pub fn read(line: &str) -> Result<Self, String> {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some(WORD) {
            return Err(format!(
                "expected \"{WORD}\" and the times between them, got {:?}; write \"{WORD} 1\" for \
                 one each millisecond",
                excerpt(line)
            ));
        }
        let mut times: Vec<u32> = Vec::new();
        let mut time = 0u32;
        for word in words {
            let (gap, count) = word.split_once('x').unwrap_or((word, "1"));
            let (Some(gap), Some(count)) = (milliseconds(gap), milliseconds(count)) else {
                return Err(format!(
                    "expected whole milliseconds up to {}, got {:?}; write such as \"2\", or \
                     \"2x3\" for three after 2 ms",
                    u32::MAX,
                    excerpt(word)
                ));
            };
            let count = count as usize;
            if count > MOST_OPPORTUNITIES - times.len() {
                return Err(format!(
                    "expected at most {MOST_OPPORTUNITIES} opportunities, got more; write a shorter \
                     trace, which repeats"
                ));
            }
            time = time.checked_add(gap).ok_or_else(|| {
                format!("expected at most {} milliseconds, got more; write less", u32::MAX)
            })?;
            times.extend(std::iter::repeat_n(time, count));
        }
        DeliveryTrace::of(times)
    }

    /// Whether a text is a trace in one line, or tries to be.
    pub fn is_written(text: &str) -> bool {
        text.split_ascii_whitespace().next() == Some(WORD)
    }

    /// The trace in one line, as [`Self::read`] reads it.
    pub fn written(&self) -> String {
        let mut line = WORD.to_owned();
        let mut before = 0;
        for same in self.times.chunk_by(|a, b| a == b) {
            line += &format!(" {}", same[0] - before);
            if same.len() > 1 {
                line += &format!("x{}", same.len());
            }
            before = same[0];
        }
        line
    }

    fn of(times: Vec<u32>) -> Result<Self, String> {
        match times.last() {
            None => Err("expected at least one line with a time in milliseconds, got none; write \
                         \"1\" for 1504 bytes each millisecond"
                .to_owned()),
            Some(0) => Err("expected a trace that lasts, got only times of 0; write a last line \
                            with its length in milliseconds"
                .to_owned()),
            Some(_) => Ok(DeliveryTrace { times: times.into(), repeats: true }),
        }
    }

    /// How long it lasts.
    pub fn period(&self) -> Duration {
        Duration::from_millis(u64::from(self.last()))
    }

    /// Opportunities in a period.
    pub fn opportunities(&self) -> usize {
        self.times.len()
    }

    /// Its mean rate, rounded down.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times.len() as u64 * u64::from(OPPORTUNITY_BYTES) * 8;
        Rate::from_bps(bits * 1000 / u64::from(self.last()))
    }

    fn last(&self) -> u32 {
        self.times.last().copied().unwrap_or(1)
    }
}

/// A whole number of milliseconds, in digits alone.
fn milliseconds(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The beginning of a text.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A line whose packets leave by a trace.
#[derive(Debug)]
pub(super) struct TraceLine {
    trace: DeliveryTrace,
    /// Zero of the present period, in milliseconds.
    base: u64,
    /// The next opportunity in it.
    next: usize,
    /// The last opportunity used, and its bytes that are left.
    used: Time,
    left: u32,
}

impl TraceLine {
    pub(super) fn new(trace: DeliveryTrace) -> Self {
        let mut line = TraceLine { trace, base: 0, next: 0, used: Time::ZERO, left: 0 };
        line.pass(Time::ZERO);
        line
    }

    /// The next opportunity, which is taken; none after the end of a trace that ends.
    fn take(&mut self) -> Option<Time> {
        let at = self.base + u64::from(*self.trace.times.get(self.next)?);
        self.next += 1;
        if self.next == self.trace.times.len() && self.trace.repeats {
            self.next = 0;
            self.base += u64::from(self.trace.last());
        }
        Some(Time::ZERO + Duration::from_millis(1).saturating_mul(at))
    }

    /// All opportunities up to `now` are gone.
    fn pass(&mut self, now: Time) {
        self.left = 0;
        // The first that may be used; later ones are looked for only if it is not behind.
        let first = now.as_millis() + 1;
        let Some(next) = self.trace.times.get(self.next) else { return };
        if self.base + u64::from(*next) >= first {
            return;
        }
        let period = u64::from(self.trace.last());
        if self.trace.repeats {
            // The first period whose end is not before it.
            self.base += (first - self.base).div_ceil(period).saturating_sub(1) * period;
        }
        let within = first - self.base;
        self.next = self.trace.times.partition_point(|time| u64::from(*time) < within);
    }
}

impl RateModel for TraceLine {
    fn transmit(&mut self, bytes: u32, start: Time) -> Time {
        if start > self.used {
            self.pass(start);
        }
        let mut lacking = bytes;
        while lacking > self.left {
            lacking -= self.left;
            let Some(at) = self.take() else {
                // What comes after it is as late.
                self.left = 0;
                return Time::NEVER;
            };
            (self.used, self.left) = (at, OPPORTUNITY_BYTES);
        }
        self.left -= lacking;
        self.used
    }

    fn rest(&mut self, now: Time) {
        self.pass(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> DeliveryTrace {
        DeliveryTrace::parse(text).unwrap()
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Bytes that a backlogged line delivers in each of `count` milliseconds, in packets of one size.
    fn delivered(line: &mut TraceLine, bytes: u32, count: usize) -> Vec<u32> {
        let mut delivered = vec![0; count];
        let mut time = Time::ZERO;
        loop {
            time = line.transmit(bytes, time);
            match delivered.get_mut(time.as_millis() as usize) {
                Some(sum) => *sum += bytes,
                None => return delivered,
            }
        }
    }

    #[test]
    fn a_backlogged_line_delivers_what_the_trace_offers() {
        // Opportunities per millisecond: 0 1 0 2 0 1, and again from 5 on: 6: 1, 8: 2, 10: 1 …
        let text = "1\n3\n3\n5\n";
        let expected = [0, 1, 0, 2, 0, 1, 1, 0, 2, 0, 1, 1, 0, 2, 0, 1];
        let mut line = TraceLine::new(trace(text));
        assert_eq!(delivered(&mut line, 1504, 16), expected.map(|n| n * 1504));
        // Sixteen to an opportunity.
        let mut line = TraceLine::new(trace(text));
        assert_eq!(delivered(&mut line, 94, 16), expected.map(|n| n * 1504));
        // Of 1000 bytes: as many as fit what has been offered so far, 1504 bytes a time.
        let mut line = TraceLine::new(trace(text));
        let (mut offered, mut sent) = (0, 0);
        for (n, bytes) in expected.into_iter().zip(delivered(&mut line, 1000, 16)) {
            offered += n * 1504;
            sent += bytes;
            assert_eq!(sent, offered / 1000 * 1000);
        }
    }

    #[test]
    fn a_packet_takes_from_the_next_what_it_lacks_and_leaves_the_rest() {
        let mut line = TraceLine::new(trace("2\n4\n7\n100\n"));
        // 1000 of 1504 at 2 ms; the next takes 504 there and 496 at 4 ms; a third of 1008 just the
        // rest of 4 ms; the fourth waits for 7 ms.
        assert_eq!(line.transmit(1000, at(0)), at(2));
        assert_eq!(line.transmit(1000, at(2)), at(4));
        assert_eq!(line.transmit(1008, at(4)), at(4));
        assert_eq!(line.transmit(40, at(4)), at(7));
        // Nobody waits: the rest of 7 ms is gone, even for who comes at that very time.
        line.rest(at(7));
        assert_eq!(line.transmit(40, at(7)), at(100));
    }

    #[test]
    fn who_comes_at_the_time_of_an_opportunity_is_too_late_for_it() {
        let mut line = TraceLine::new(trace("0\n5\n5\n9\n"));
        // That of 0 ms is nobody's.
        assert_eq!(line.transmit(1504, at(0)), at(5));
        // Who has waited takes the second one of 5 ms.
        assert_eq!(line.transmit(1504, at(5)), at(5));
        let mut line = TraceLine::new(trace("0\n5\n5\n9\n"));
        assert_eq!(line.transmit(1504, at(5)), at(9));
        // The second period's 0 ms is 9 ms.
        assert_eq!(line.transmit(1504, at(9)), at(9));
        assert_eq!(line.transmit(1504, at(9)), at(14));
        // A line that has rested long finds its place.
        assert_eq!(line.transmit(1504, at(9_000_000)), at(9_000_005));
        assert_eq!(line.transmit(1504, at(9_000_010)), at(9_000_014));
    }

    #[test]
    fn large_packets_take_several_opportunities() {
        // 9000 bytes are 5.98 opportunities.
        let mut line = TraceLine::new(trace("1\n"));
        assert_eq!(line.transmit(9000, at(0)), at(6));
        assert_eq!(line.transmit(24, at(6)), at(6));
        assert_eq!(line.transmit(1, at(6)), at(7));
    }

    #[test]
    fn a_trace_that_does_not_repeat_ends() {
        let mut line = TraceLine::new(DeliveryTrace { repeats: false, ..trace("1\n3\n") });
        assert_eq!(line.transmit(1504, at(0)), at(1));
        assert_eq!(line.transmit(1505, at(1)), Time::NEVER);
        assert_eq!(line.transmit(1, Time::NEVER), Time::NEVER);
        let mut line = TraceLine::new(DeliveryTrace { repeats: false, ..trace("1\n3\n") });
        assert_eq!(line.transmit(1, at(3)), Time::NEVER);
    }

    #[test]
    fn a_trace_in_figures() {
        // Four opportunities in 8 ms: 4·1504·8 bit / 8 ms = 6.016 Mbit/s.
        let trace = trace("1\n3\n3\n8");
        assert_eq!((trace.period(), trace.opportunities()), (Duration::from_millis(8), 4));
        assert_eq!(trace.mean_rate(), Rate::from_bps(6_016_000));
    }

    #[test]
    fn a_trace_in_one_line() {
        let one = trace("0\n1\n3\n3\n8");
        assert_eq!(one.written(), "opportunities 0 1 2x2 5");
        assert_eq!(DeliveryTrace::read(&one.written()), Ok(one));
        assert!(DeliveryTrace::read("cell.down").unwrap_err().contains("got \"cell.down\""));
        assert!(DeliveryTrace::read("opportunities 1 2xy").unwrap_err().contains("got \"2xy\""));
        assert!(DeliveryTrace::read("opportunities 1x10000001").unwrap_err().contains("at most"));
        assert!(DeliveryTrace::read("opportunities").unwrap_err().contains("at least one"));
    }

    #[test]
    fn errors_tell_the_line() {
        let error = |text: &str| DeliveryTrace::parse(text).unwrap_err();
        let expected = "expected whole milliseconds up to 4294967295, and nothing else";
        for (text, line) in [("1\n\n3\n", 2), ("1\n2.5\n", 2), ("-1\n", 1), ("4294967296\n", 1)] {
            let error = error(text);
            assert!(error.starts_with(&format!("line {line}: {expected}; write ")), "{error}");
        }
        assert!(error("5\n4\n").starts_with("line 2: expected a time that is not before"));
        assert!(error("").contains("at least one line"));
        assert!(error("0\n0\n").contains("a trace that lasts"));
    }
}
