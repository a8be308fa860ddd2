//! Dynamic right-sizing: the receive buffer holds twice the data of a round-trip time, and grows
//! ahead of a sender in slow start.
//!
//! Source: Linux 6.1, `net/ipv4/tcp_input.c` (`tcp_rcv_space_adjust`, `tcp_rcv_rtt_measure`,
//! `tcp_rcv_rtt_measure_ts`), after M. Fisk and W. Feng, "Dynamic right-sizing in TCP", 2001. Times
//! are microseconds.

use fairway_units::{Duration, Time};

/// Allowance for losses and small variations, in segments.
const CUSHION_SEGMENTS: u64 = 16;
/// Weight of an RTT sample, as a shift.
const RTT_SHIFT: u32 = 3;

/// Progress of reassembly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Next offset expected.
    pub(crate) rcv_nxt: u64,
    /// Size of the sender's full segments.
    pub(crate) rcv_mss: u64,
}

/// Data read by the application per round trip.
#[derive(Clone, Debug, Default)]
pub(crate) struct RightSizing {
    /// Most bytes read in one round trip (`rcvq_space.space`).
    most_read: u64,
    /// Offset and time at which the measurement began.
    from: u64,
    since: u64,
    /// Round-trip time, times eight; 0 before the first sample.
    rtt_x8: u64,
    last_echo: Option<u32>,
    /// End offset and start time of the window being timed.
    window_end: u64,
    window_since: Option<u64>,
    /// Whether an echo that is younger than a millisecond counts as one of a millisecond (before
    /// Linux 6.12, `tcp_rcv_rtt_measure_ts`).
    takes_young_echoes: bool,
}

impl RightSizing {
    pub(crate) fn new(takes_young_echoes: bool) -> Self {
        RightSizing { takes_young_echoes, ..RightSizing::default() }
    }

    /// Begin with `most_read` bytes per round trip.
    pub(crate) fn begin(&mut self, most_read: u64, now: Time) {
        self.most_read = most_read;
        self.since = micros(now);
    }

    /// The window cannot be larger than `clamp`.
    pub(crate) fn bound(&mut self, clamp: u64) {
        self.most_read = self.most_read.min(clamp);
    }

    #[cfg(test)]
    pub(crate) fn most_read(&self) -> u64 {
        self.most_read
    }

    /// The receiver's RTT estimate, zero before the first sample.
    pub(crate) fn rtt(&self) -> Duration {
        Duration::from_micros(self.rtt_x8 >> RTT_SHIFT)
    }

    /// A segment carried an echoed timestamp that is `age_ms` old. Only the first segment with each
    /// echo gives a sample, and only if it is full.
    pub(crate) fn measure_echo(&mut self, echo: u32, age_ms: u32, full: bool) {
        let counts = age_ms > 0 || self.takes_young_echoes;
        if self.last_echo.replace(echo) != Some(echo) && full && counts {
            let sample = u64::from(age_ms.max(1)) * 1000;
            if self.is_lowest(sample) {
                self.rtt_x8 = sample << RTT_SHIFT;
            } else {
                self.rtt_x8 += sample - (self.rtt_x8 >> RTT_SHIFT);
            }
        }
    }

    /// Data arrived in order up to `rcv_nxt`, with `wnd` offered. Receiving a full window takes at
    /// least a round trip.
    pub(crate) fn measure_window(&mut self, rcv_nxt: u64, wnd: u64, now: Time) {
        let now = micros(now);
        if let Some(since) = self.window_since {
            if rcv_nxt < self.window_end {
                return;
            }
            let sample = (now - since).max(1);
            if self.is_lowest(sample) {
                self.rtt_x8 = sample << RTT_SHIFT;
            }
        }
        self.window_end = rcv_nxt + wnd;
        self.window_since = Some(now);
    }

    fn is_lowest(&self, sample: u64) -> bool {
        self.rtt_x8 == 0 || sample << RTT_SHIFT < self.rtt_x8
    }

    /// The application has read up to `offset`, which counts up to `counted`. Returns the window
    /// that the sender needs, if a round trip has ended in which more was read than in any before.
    pub(crate) fn window_wanted(
        &mut self,
        offset: u64,
        counted: u64,
        mss: u64,
        now: Time,
    ) -> Option<u64> {
        let now = micros(now);
        if self.rtt_x8 == 0 || now - self.since < self.rtt_x8 >> RTT_SHIFT {
            return None;
        }
        let read = counted.saturating_sub(self.from);
        let before = self.most_read;
        self.from = offset;
        self.since = now;
        if read <= before {
            return None;
        }
        self.most_read = read;
        let steady = 2 * read + CUSHION_SEGMENTS * mss;
        let growth = u128::from(steady) * u128::from(read - before) / u128::from(before.max(1));
        Some(steady.saturating_add(2 * u64::try_from(growth).unwrap_or(u64::MAX / 4)))
    }
}

fn micros(time: Time) -> u64 {
    time.as_nanos() / 1000
}
