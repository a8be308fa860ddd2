//! Read access to the sending half.

use fairway_cc::Phase;
use fairway_units::{Duration, Time};

use super::recovery::RecoveryPolicy;
use super::{Sender, SenderCounters};

/// Segments that are outstanding, as Linux's `struct tcp_info` counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outstanding {
    /// Not acknowledged cumulatively.
    pub segments: u64,
    /// Of these, SACKed, or counted by duplicate acknowledgements.
    pub sacked: u64,
    /// Of these, marked lost, retransmitted or not.
    pub lost: u64,
    /// Of these, with a retransmission in flight.
    pub retransmitted: u64,
}

impl Sender {
    /// Congestion window in bytes; during a gradual reduction, its present value.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.policy
            .reduced_window()
            .map_or_else(|| self.cc.cwnd(), |segments| segments * self.mss())
    }

    /// Slow-start threshold in bytes, `u64::MAX` while infinite.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        self.cc.ssthresh()
    }

    /// Bytes believed to be in the network (RFC 6675 pipe).
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.policy.whole().map_or_else(|| self.board.pipe(), |whole| whole.pipe())
    }

    /// End of what the application has written.
    #[inline]
    pub fn stream_end(&self) -> u64 {
        self.stream_end
    }

    /// Next new offset to be sent.
    #[inline]
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// First unacknowledged offset.
    #[inline]
    pub fn una(&self) -> u64 {
        self.policy.whole().map_or_else(|| self.board.una(), |whole| whole.una())
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.policy.whole().map_or_else(|| self.rtt.srtt(), |whole| whole.srtt())
    }

    /// Retransmission timeout, backed off.
    pub fn rto(&self) -> Duration {
        self.policy.whole().map_or_else(|| self.rtt.rto(), |whole| whole.rto())
    }

    /// Phase of congestion control.
    pub fn phase(&self) -> Phase {
        if self.phase == Phase::Open && self.board.has_holes() {
            Phase::Disorder
        } else {
            self.phase
        }
    }

    /// Totals so far.
    #[inline]
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Largest pipe that the stack allows for data sent now. It exceeds [`Self::cwnd`] where the stack
    /// drains flight gradually, or forces one segment out.
    #[inline]
    pub fn flight_allowance(&self) -> u64 {
        if self.pass.is_calm && !self.pass.is_forced {
            return self.cc.cwnd();
        }
        self.policy.flight_allowance(self)
    }

    /// Congestion window in bytes as ns-2 records it (`cwnd_`). While losses are repaired it is above
    /// [`Self::cwnd`] by a segment for each duplicate (RFC 5681 section 3.2 steps 3 and 4; ns-2.35
    /// `tcp/tcp-full.cc`, `dupack_action` and `extra_ack`), or by what TCP-Linux allowed in flight when
    /// the last acknowledgement came (`tcp/tcp-linux.cc`, `save_from_linux`).
    pub fn inflated_cwnd(&self) -> u64 {
        self.policy.recorded_window(self)
    }

    /// When to call [`Self::handle_timeout`]: at the timer's expiry or the pacer's next departure.
    #[inline]
    pub fn deadline(&self) -> Time {
        let send_at = self.policy.whole().map_or(Time::NEVER, |whole| whole.send_at());
        self.timer.at().min(self.pacer.wake_at()).min(send_at)
    }

    /// Counts of outstanding segments, in linear time.
    pub fn outstanding(&self) -> Outstanding {
        self.policy.whole().map_or_else(|| self.board.outstanding(), |whole| whole.outstanding())
    }

    /// Smallest round-trip time.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.rtt.min_rtt()
    }

    /// Timeouts since anything was acknowledged.
    pub fn timeouts_in_row(&self) -> u32 {
        self.timeouts_in_row
    }

    /// Tolerated reordering in segments.
    pub fn reordering(&self) -> u32 {
        self.board.reordering()
    }
}
