//! When Linux acknowledges: at once while a connection is young, while the window opens and at the
//! end of a burst; otherwise every second segment, or after a delay.
//!
//! Source: Linux 6.1, `net/ipv4/tcp_input.c` (`tcp_event_data_recv`, `tcp_measure_rcv_mss`,
//! `__tcp_ack_snd_check`), `tcp_output.c` (`tcp_send_delayed_ack`), `tcp_timer.c`
//! (`tcp_delack_timer_handler`) and `tcp.c` (`tcp_cleanup_rbuf`). Times are ticks of 1 ms.

use fairway_units::{Duration, Time};

use crate::timer_wheel::TimerWheel;

/// Most acknowledgements sent at once in a row (`TCP_MAX_QUICKACKS`).
pub(crate) const MAX_QUICK: u32 = 16;
/// Those after the first congestion mark (`__tcp_ecn_check_ce`).
pub(crate) const QUICK_AFTER_MARK: u32 = 2;
/// Delay of an acknowledgement to begin with, and its lower bound (`TCP_ATO_MIN`,
/// `TCP_DELACK_MIN`).
const MIN_DELAY_MS: u64 = 40;
/// Its upper bound (`TCP_DELACK_MAX`).
const MAX_DELAY_MS: u64 = 200;
/// The bound before that, where nothing tells that the sender waits (`HZ / 2`).
const LONG_DELAY_MS: u64 = 500;
/// Size of a full segment before any has come (`TCP_MSS_DEFAULT`).
const FIRST_SEGMENT: u32 = 536;
/// The least size of a full segment (`TCP_MIN_MSS`).
const SMALLEST_SEGMENT: u32 = 88;
/// TCP header without options, which the two sizes above are compared with.
const HEADER: u32 = 20;

/// What a segment that ends early says of its sender.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Pushed {
    Nothing,
    Once,
    Again,
}

/// Linux's state of what is to be acknowledged, and when.
#[derive(Clone, Debug)]
pub(crate) struct QuickAck {
    /// Acknowledgements still to be sent at once.
    quick: u32,
    /// Size of the sender's full segments, as far as seen.
    rcv_mss: u32,
    /// Size of the last segment, if it was small; else 0.
    last_size: u32,
    /// Largest size of a full segment.
    mss: u32,
    /// Length of a segment's TCP header.
    header: u32,
    /// Delay of an acknowledgement; 0 before any data.
    ato_ms: u64,
    last_data_ms: u64,
    /// Whether this end answers data with data, on which an acknowledgement can ride.
    pingpong: bool,
    owed: bool,
    pushed: Pushed,
    at_once: bool,
    /// Whether an acknowledgement is delayed.
    delayed: bool,
    /// When it is meant to leave, and when its timer will fire. The timer goes on when it has left
    /// earlier.
    due_ms: u64,
    timer: Time,
    srtt: Option<Duration>,
    rto: Duration,
}

impl QuickAck {
    /// No data yet, in segments of at most `mss`.
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

    /// What was negotiated: options of `options` bytes in each segment.
    pub(crate) fn negotiate(&mut self, options: u32) {
        self.header = HEADER + options;
    }

    /// What this end's sending half knows of the path.
    pub(crate) fn observe_path(&mut self, srtt: Option<Duration>, rto: Duration) {
        (self.srtt, self.rto) = (srtt, rto);
    }

    /// Size of the sender's full segments, as far as seen.
    pub(crate) fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// When the delayed acknowledgement leaves.
    pub(crate) fn deadline(&self) -> Time {
        if self.delayed { self.timer } else { Time::NEVER }
    }

    /// When the timer fires that was set last, whether anything is still delayed or not.
    pub(crate) fn timer(&self) -> Time {
        self.timer
    }

    /// Smoothed round-trip time of this end's own data.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Something arrived that has to be acknowledged some time.
    pub(crate) fn owe(&mut self) {
        self.owed = true;
    }

    /// Whether something has.
    pub(crate) fn is_owed(&self) -> bool {
        self.owed
    }

    /// The next acknowledgement may not wait.
    pub(crate) fn hurry(&mut self) {
        self.at_once = true;
    }

    /// The window has opened: the sender is to hear of it.
    pub(crate) fn window_grew(&mut self) {
        self.quick |= 1;
    }

    /// Memory runs short.
    pub(crate) fn window_is_pressed(&mut self) {
        self.quick = 0;
    }

    /// `bytes` came in order while a window of `rcv_wnd` bytes was offered.
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

    /// A segment below the usual size, or with PSH, may be the last for a while.
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

    /// Raise what is sent at once to half of what the window takes, and `most` at the most.
    fn raise_quick(&mut self, most: u32, rcv_wnd: u64) {
        let half = rcv_wnd / (2 * u64::from(self.rcv_mss));
        let wanted = if half == 0 { 2 } else { half.min(u64::from(most)) as u32 };
        self.quick = self.quick.max(wanted.min(most));
    }

    /// Something is out of order on the path: as many as `most` are sent at once.
    pub(crate) fn enter(&mut self, most: u32, rcv_wnd: u64) {
        self.raise_quick(most, rcv_wnd);
        self.pingpong = false;
        self.ato_ms = MIN_DELAY_MS;
    }

    /// Data left this end.
    pub(crate) fn data_sent(&mut self, now: Time) {
        if now.as_millis() - self.last_data_ms < self.ato_ms {
            self.pingpong = true;
        }
    }

    /// Whether an acknowledgement leaves now, however little there is to acknowledge.
    pub(crate) fn leaves_at_once(&self) -> bool {
        self.at_once || (self.quick > 0 && !self.pingpong)
    }

    /// Whether an acknowledgement leaves when the application has read everything.
    pub(crate) fn leaves_when_read(&self) -> bool {
        self.pushed == Pushed::Again || (self.pushed == Pushed::Once && !self.pingpong)
    }

    /// Let the acknowledgement wait. Returns false if it may not: its time is almost come.
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

    /// Whether the delayed acknowledgement leaves now.
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

    /// An acknowledgement left.
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
