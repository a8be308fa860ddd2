//! Linux's quick and delayed acknowledgements: immediate on a young connection, while the window
//! opens and at the end of a burst; otherwise for every second segment, or after a delay.
//!
//! Source: Linux 6.1, `net/ipv4/tcp_input.c` (`tcp_event_data_recv`, `tcp_measure_rcv_mss`,
//! `__tcp_ack_snd_check`), `tcp_output.c` (`tcp_send_delayed_ack`), `tcp_timer.c`
//! (`tcp_delack_timer_handler`) and `tcp.c` (`tcp_cleanup_rbuf`). Times are ticks of 1 ms.

use fairway_units::{Duration, Time};

use crate::timer_wheel::TimerWheel;

/// Most quick acknowledgements in a row (`TCP_MAX_QUICKACKS`).
pub(crate) const MAX_QUICK: u32 = 16;
/// Quick acknowledgements after the first congestion mark (`__tcp_ecn_check_ce`).
pub(crate) const QUICK_AFTER_MARK: u32 = 2;
/// Initial and least delay of an acknowledgement (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const MIN_DELAY_MS: u64 = 40;
/// Greatest delay (`TCP_DELACK_MAX`).
const MAX_DELAY_MS: u64 = 200;
/// Bound of the estimated delay if nothing suggests that the sender waits (`HZ / 2`).
const LONG_DELAY_MS: u64 = 500;
/// Assumed size of a full segment before any arrives (`TCP_MSS_DEFAULT`).
const FIRST_SEGMENT: u32 = 536;
/// Least size of a full segment (`TCP_MIN_MSS`).
const SMALLEST_SEGMENT: u32 = 88;
/// TCP header without options, included when sizes are compared with the two above.
const HEADER: u32 = 20;

/// Segments seen that end a burst (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Pushed {
    Nothing,
    Once,
    Again,
}

/// State of Linux's acknowledgement timing (`inet_connection_sock.icsk_ack`).
#[derive(Clone, Debug)]
pub(crate) struct QuickAck {
    /// Quick acknowledgements left.
    quick: u32,
    /// Estimated size of the sender's full segments.
    rcv_mss: u32,
    /// Size of the last segment if it was small, otherwise 0.
    last_size: u32,
    /// Greatest size of a full segment.
    mss: u32,
    /// TCP header with options.
    header: u32,
    /// Delayed-ACK timeout; 0 before any data.
    ato_ms: u64,
    last_data_ms: u64,
    /// Whether this end answers data with data, so that acknowledgements can be piggybacked.
    pingpong: bool,
    owed: bool,
    pushed: Pushed,
    at_once: bool,
    /// Whether an acknowledgement is delayed.
    delayed: bool,
    /// When it should be sent, and when the timer fires. The timer keeps running if the
    /// acknowledgement is sent earlier.
    due_ms: u64,
    timer: Time,
    srtt: Option<Duration>,
    rto: Duration,
}

impl QuickAck {
    /// State before any data, with segments of at most `mss`.
    pub(crate) fn new(mss: u32) -> Self {
        QuickAck {
            quick: 0,
            rcv_mss: FIRST_SEGMENT.min(mss).max(SMALLEST_SEGMENT),
            last_size: 0,
            mss,
            header: HEADER,
            ato_ms: 0,
            last_data_ms: 0,
            pingpong: false,
            owed: false,
            pushed: Pushed::Nothing,
            at_once: false,
            delayed: false,
            due_ms: 0,
            timer: Time::NEVER,
            srtt: None,
            rto: Duration::from_secs(1),
        }
    }

    /// Set the length of TCP options in each segment, as negotiated.
    pub(crate) fn negotiate(&mut self, options: u32) {
        self.header = HEADER + options;
    }

    /// Take over the round-trip estimates of this end's sender.
    pub(crate) fn observe_path(&mut self, srtt: Option<Duration>, rto: Duration) {
        (self.srtt, self.rto) = (srtt, rto);
    }

    /// Estimated size of the sender's full segments.
    pub(crate) fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// When the delayed acknowledgement is sent.
    pub(crate) fn deadline(&self) -> Time {
        if self.delayed { self.timer } else { Time::NEVER }
    }

    /// When the timer fires, even if no acknowledgement is delayed any more.
    pub(crate) fn timer(&self) -> Time {
        self.timer
    }

    /// Smoothed round-trip time of this end's own data.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Something arrived that must be acknowledged (`inet_csk_schedule_ack`).
    pub(crate) fn owe(&mut self) {
        self.owed = true;
    }

    /// Whether an acknowledgement is owed.
    pub(crate) fn is_owed(&self) -> bool {
        self.owed
    }

    /// Send the next acknowledgement at once (`ICSK_ACK_NOW`).
    pub(crate) fn hurry(&mut self) {
        self.at_once = true;
    }

    /// The window has grown: acknowledge at once to announce it.
    pub(crate) fn window_grew(&mut self) {
        self.quick |= 1;
    }

    /// Receive memory is short: end quick acknowledgements.
    pub(crate) fn window_is_pressed(&mut self) {
        self.quick = 0;
    }

    /// `bytes` arrived in order while a window of `rcv_wnd` bytes was offered.
    pub(crate) fn data(&mut self, bytes: u32, push: bool, rcv_wnd: u64, now: Time) {
        self.owed = true;
        self.measure_segment(bytes, push);
        let now_ms = now.as_millis();
        let gap = now_ms - self.last_data_ms;
        let rto_ms = self.rto.as_millis();
        if self.ato_ms == 0 {
            self.raise_quick(MAX_QUICK, rcv_wnd);
            self.ato_ms = MIN_DELAY_MS;
        } else if gap <= MIN_DELAY_MS / 2 {
            self.ato_ms = self.ato_ms / 2 + MIN_DELAY_MS / 2;
        } else if gap < self.ato_ms {
            self.ato_ms = (self.ato_ms / 2 + gap).min(rto_ms);
        } else if gap > rto_ms {
            self.raise_quick(MAX_QUICK, rcv_wnd);
        }
        self.last_data_ms = now_ms;
    }

    /// Estimate the segment size. A segment below it, or with PSH, may end a burst.
    fn measure_segment(&mut self, bytes: u32, push: bool) {
        let before = std::mem::replace(&mut self.last_size, 0);
        if bytes >= self.rcv_mss {
            self.rcv_mss = bytes.min(self.mss);
            if push {
                self.pushed = self.pushed.max(Pushed::Once);
            }
            return;
        }
        let plain = bytes + self.header >= FIRST_SEGMENT + HEADER
            || (bytes + self.header >= SMALLEST_SEGMENT + HEADER && !push);
        if plain {
            self.last_size = bytes;
            if before == bytes {
                self.rcv_mss = bytes;
                return;
            }
        }
        self.pushed = if self.pushed == Pushed::Nothing { Pushed::Once } else { Pushed::Again };
    }

    /// Raise the quick acknowledgements to half of the segments in the window, and at most `most`.
    fn raise_quick(&mut self, most: u32, rcv_wnd: u64) {
        let half = rcv_wnd / (2 * u64::from(self.rcv_mss));
        let wanted = if half == 0 { 2 } else { half.min(u64::from(most)) as u32 };
        self.quick = self.quick.max(wanted.min(most));
    }

    /// Enter quick-ACK mode, for at most `most` acknowledgements (`tcp_enter_quickack_mode`).
    pub(crate) fn enter(&mut self, most: u32, rcv_wnd: u64) {
        self.raise_quick(most, rcv_wnd);
        self.pingpong = false;
        self.ato_ms = MIN_DELAY_MS;
    }

    /// This end sent data.
    pub(crate) fn data_sent(&mut self, now: Time) {
        if now.as_millis() - self.last_data_ms < self.ato_ms {
            self.pingpong = true;
        }
    }

    /// Whether an acknowledgement is sent at once, however little there is to acknowledge.
    pub(crate) fn leaves_at_once(&self) -> bool {
        self.at_once || (self.quick > 0 && !self.pingpong)
    }

    /// Whether an acknowledgement is sent when the application has read everything.
    pub(crate) fn leaves_when_read(&self) -> bool {
        self.pushed == Pushed::Again || (self.pushed == Pushed::Once && !self.pingpong)
    }

    /// Delay the acknowledgement. Returns false if it must be sent now, being almost due.
    pub(crate) fn delay(&mut self, now: Time) -> bool {
        let now_ms = now.as_millis();
        let ato = self.bounded_delay_ms();
        let due = now_ms + ato;
        if self.delayed {
            if self.due_ms <= now_ms + ato / 4 {
                return false;
            }
            if due >= self.due_ms {
                return true;
            }
        }
        self.delayed = true;
        self.due_ms = due;
        self.timer = TimerWheel::Linux.expiry(now, Duration::from_millis(ato));
        true
    }

    fn bounded_delay_ms(&self) -> u64 {
        let mut ato = self.ato_ms;
        if ato > MIN_DELAY_MS {
            let patient = !self.pingpong && self.pushed == Pushed::Nothing;
            let mut most = if patient { LONG_DELAY_MS } else { MAX_DELAY_MS };
            if let Some(srtt) = self.srtt {
                let srtt_ms = srtt.as_nanos().div_ceil(1_000_000);
                most = most.min(srtt_ms.max(MIN_DELAY_MS));
            }
            ato = ato.min(most);
        }
        ato.min(MAX_DELAY_MS)
    }

    /// Handle the timer. Returns whether the delayed acknowledgement is sent.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> bool {
        if now < self.deadline() {
            return false;
        }
        self.delayed = false;
        if self.owed {
            if self.pingpong {
                self.pingpong = false;
                self.ato_ms = MIN_DELAY_MS;
            } else {
                self.ato_ms = (2 * self.ato_ms).min(self.rto.as_millis());
            }
        }
        self.owed
    }

    /// An acknowledgement was sent.
    pub(crate) fn sent(&mut self) {
        if self.owed && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato_ms = MIN_DELAY_MS;
            }
        }
        self.owed = false;
        self.at_once = false;
        self.pushed = Pushed::Nothing;
        self.delayed = false;
    }
}

#[cfg(test)]
mod tests;
