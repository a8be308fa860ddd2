//! What others may see of the sending half.

use fairway_cc::Phase;
use fairway_units::{Duration, Time};

use super::{Sender, SenderCounters};
use crate::Recovery;

/// Segments that are outstanding, as Linux's `struct tcp_info` counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outstanding {
    /// Not acknowledged cumulatively.
    pub segments: u64,
    /// Of them, those that have arrived: SACKed, or as many as duplicates tell.
    pub sacked: u64,
    /// Of them, those that are marked lost, resent or not.
    pub lost: u64,
    /// Of them, those of which a retransmission is on its way.
    pub retransmitted: u64,
}

impl Sender {
    /// Congestion window in bytes: while it is being reduced in proportion, the part of the way
    /// that it has come.
    pub fn cwnd(&self) -> u64 {
        match &self.reduction {
            Some(reduction) => reduction.cwnd() * u64::from(self.stack.mss),
            None => self.cc.cwnd(),
        }
    }

    /// Slow-start threshold in bytes, `u64::MAX` while infinite.
    pub fn ssthresh(&self) -> u64 {
        self.cc.ssthresh()
    }

    /// Bytes believed to be in the network.
    pub fn flight_size(&self) -> u64 {
        self.ns3.as_ref().map_or_else(|| self.board.pipe(), |ns3| ns3.in_flight())
    }

    /// End of what the application has written.
    pub fn stream_end(&self) -> u64 {
        self.stream_end
    }

    /// Next new offset to be sent.
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// First unacknowledged offset.
    pub fn una(&self) -> u64 {
        self.ns3.as_ref().map_or_else(|| self.board.una(), |ns3| ns3.una())
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.ns3.as_ref().map_or_else(|| self.rtt.srtt(), |ns3| ns3.round_trips.srtt())
    }

    /// Retransmission timeout, backed off.
    pub fn rto(&self) -> Duration {
        self.ns3.as_ref().map_or_else(|| self.rtt.rto(), |ns3| ns3.round_trips.rto())
    }

    /// What the sender is doing about loss.
    pub fn phase(&self) -> Phase {
        if self.phase == Phase::Open && self.board.has_holes() {
            Phase::Disorder
        } else {
            self.phase
        }
    }

    /// What it did so far.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Most bytes in flight that the window allows for data sent now. It is above [`Self::cwnd`]
    /// where the stack lets flight fall gradually, or sends one segment whatever the window says.
    pub fn flight_allowance(&self) -> u64 {
        let is_forced = self.pass.is_forced || self.ns3.as_ref().is_some_and(|ns3| ns3.is_forced());
        let window =
            if self.halves_rate() { self.inflated_cwnd() } else { self.window_in_effect() };
        window.max(if is_forced { self.flight_size() } else { 0 })
    }

    /// What may be in flight, but for a segment that leaves whatever the window says.
    pub(super) fn window_in_effect(&self) -> u64 {
        let mss = u64::from(self.stack.mss);
        let cwnd = self.cwnd();
        match self.stack.recovery {
            Recovery::Rfc
            | Recovery::Prr
            | Recovery::RateHalving
            | Recovery::Reno
            | Recovery::Ns3 => cwnd,
            Recovery::TcpLinux => cwnd.max(self.conserved_flight * mss),
            Recovery::Sack1 => self.window_as_sack1(cwnd),
        }
    }

    /// Whether TCP-Linux lets flight fall by a segment for every second acknowledgement: each segment that
    /// leaves lowers what the next event allows (ns-2.35 `tcp/tcp-linux.cc`, `send_much`). With `overhead_`
    /// segments leave by a timer, after which `load_to_linux` takes that back, and flight stays as it is.
    pub(super) fn halves_rate(&self) -> bool {
        self.stack.recovery == Recovery::TcpLinux && self.stack.send_jitter == Duration::ZERO
    }

    /// Congestion window in bytes as ns-2 records it (`cwnd_`). While losses are repaired it is above
    /// [`Self::cwnd`] by a segment for each duplicate (RFC 5681 section 3.2 steps 3 and 4; ns-2.35
    /// `tcp/tcp-full.cc`, `dupack_action` and `extra_ack`), or by what TCP-Linux allowed in flight when the
    /// last acknowledgement came (`tcp/tcp-linux.cc`, `save_from_linux`).
    pub fn inflated_cwnd(&self) -> u64 {
        let cwnd = self.cwnd();
        let mss = u64::from(self.stack.mss);
        if self.halves_rate() {
            cwnd.max(self.pass.allowed * mss)
        } else if self.stack.recovery == Recovery::TcpLinux {
            self.window_in_effect()
        } else if self.stack.inflates(self.sack) && self.phase == Phase::Recovery {
            cwnd + self.board.duplicates() * mss
        } else {
            cwnd
        }
    }

    /// When [`Self::handle_timeout`] has to be called: the retransmission timer expires, or a
    /// segment that was held back may leave.
    pub fn deadline(&self) -> Time {
        let written = self.ns3.as_ref().map_or(Time::NEVER, |ns3| ns3.send_at());
        self.timer.at().min(self.pacer.wake_at()).min(written)
    }

    /// What is outstanding. Walks over all of it.
    pub fn outstanding(&self) -> Outstanding {
        self.ns3.as_ref().map_or_else(|| self.board.outstanding(), |ns3| ns3.outstanding())
    }

    /// Smallest round-trip time.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.rtt.min_rtt()
    }

    /// Timeouts since anything was acknowledged.
    pub fn timeouts_in_row(&self) -> u32 {
        self.timeouts_in_row
    }

    /// Segments of reordering that are tolerated.
    pub fn reordering(&self) -> u32 {
        self.board.reordering()
    }
}
