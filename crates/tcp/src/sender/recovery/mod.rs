//! Recovery policies: how stacks differ while losses are repaired.
//!
//! A policy is a type with its own state in a file here, and a line in the table below. It
//! implements [`RecoveryPolicy`] and overrides the hooks in which it departs from the RFCs; nothing
//! else in the sender asks for the policy.

mod ns3;
mod prr;
mod rate_halving;
mod reno;
mod rfc;
mod sack1;
mod table;
mod tcp_linux;

use fairway_cc::{Ack, Phase};
use fairway_units::{Duration, Time};

use super::{AckInfo, Sender, Transmission};
use crate::Stack;
use crate::scoreboard::{AckSummary, Scoreboard};
use table::{hooks, policies};

policies! {$
    /// RFC 6675 with SACK, RFC 6582 without: the window drops to the threshold at once, and
    /// segments are sent as the pipe falls below it.
    Rfc(rfc::Rfc) = "rfc";
    /// ns-2.35 TCP-Linux: the algorithm's recovery window at once. While flight exceeds it, one
    /// segment is sent for each acknowledgement, so flight falls only by segments marked lost
    /// (`tcp/tcp-linux.cc`, `send_much`; meant as rate halving, which the delayed send of
    /// `overhead_` undoes). On exit the threshold, at most flight plus three segments.
    TcpLinux(tcp_linux::TcpLinux) = "tcp-linux";
    /// ns-2.35 Agent/TCP/Sack1 (`tcp/tcp-sack1.cc`): the algorithm's window at once, and its own
    /// estimate of the pipe, which every acknowledgement lowers by one and a partial one by two.
    /// Every hole below the highest SACK is retransmitted once. A timeout forgets the SACKs and
    /// retransmits everything. Without SACK as [`Recovery::Rfc`].
    Sack1(sack1::Sack1) = "sack1";
    /// Proportional rate reduction (RFC 6937) in Linux 6.1's form (`net/ipv4/tcp_input.c`,
    /// `tcp_cwnd_reduction`): flight falls to the threshold in proportion to delivered data.
    Prr(prr::Prr) = "prr";
    /// RFC 5681 section 3.2 to the letter: as [`Recovery::Rfc`], but the first acknowledgement of
    /// new data ends recovery even if partial. If that grows the window, it counts as one segment
    /// (4.3BSD-Reno; ns-2.35 `tcp/tcp-full.cc`, `pack_action`).
    Reno(reno::Reno) = "reno";
    /// Rate halving as in Linux before 3.2 (2.6.27 `net/ipv4/tcp_input.c`, `tcp_cwnd_down`,
    /// `tcp_fastretrans_alert`): one segment is sent for every second acknowledgement, and the
    /// window is at most one segment above flight.
    RateHalving(rate_halving::RateHalving) = "rate-halving";
    /// The whole sender of ns-3.29: buffer, pipe, RTT estimate and timer
    /// (`src/internet/model/tcp-socket-base.cc`, `TcpClassicRecovery`). Of the other switches only
    /// `sack`, `timestamps`, `reordering`, `limited_transmit`, `nagle` and the sizes matter.
    Ns3(Box<ns3::Ns3>) = "ns3";
}

/// Start of a window reduction, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// Window before.
    pub prior: u64,
    /// The threshold, at most the window before.
    pub target: u64,
    /// The algorithm's window during recovery.
    pub floor: u64,
    /// In the network now.
    pub in_flight: u64,
    /// Whether a loss is the reason.
    pub by_loss: bool,
}

/// Input of one acknowledgement to a reduction, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// In the network now.
    pub in_flight: u64,
    /// Newly delivered.
    pub delivered: u64,
    /// Whether SND.UNA advanced and nothing was newly marked lost.
    pub advanced_without_loss: bool,
    /// Whether it has any new information.
    pub is_informative: bool,
}

/// A segment being sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub phase: Phase,
    /// Whether it is sent regardless of the window.
    pub is_forced: bool,
    pub mss: u64,
}

hooks! {
    ask {
        /// The window in segments while it is being reduced step by step.
        fn reduced_window(&self) -> Option<u64> { None }
        /// Most bytes in flight, unless a segment is forced out.
        fn window(&self, s: &Sender) -> u64 { s.cwnd() }
        /// Most bytes in flight for data sent now.
        fn flight_allowance(&self, s: &Sender) -> u64 {
            self.window(s).max(if s.pass.is_forced { s.pipe() } else { 0 })
        }
        /// Whether the window is inflated while losses are repaired (RFC 5681 section 3.2).
        fn inflates(&self, sack: bool) -> bool { false }
        /// The window as the original stack records it.
        fn recorded_window(&self, s: &Sender) -> u64 {
            let inflated = self.inflates(s.sack) && s.phase == Phase::Recovery;
            s.cwnd() + if inflated { s.board.duplicates() * s.mss() } else { 0 }
        }
        /// Whether the policy has its own estimate of the pipe.
        fn counts_pipe_itself(&self, phase: Phase) -> bool { false }
        /// Whether a window with `prior_pipe` in flight was used enough to grow.
        fn was_window_used(&self, s: &Sender, prior_pipe: u64) -> bool {
            let cwnd = s.cwnd();
            prior_pipe + s.mss() > cwnd || (cwnd < s.cc.ssthresh() && cwnd < 2 * prior_pipe)
        }
        /// The phase reported to the algorithm.
        fn reported_phase(&self, s: &Sender) -> Phase { s.phase() }
        /// Whether the algorithm gets the age of the latest segment as the RTT.
        fn tells_age_of_last(&self) -> bool { false }

        /// Whether the policy alone interprets acknowledgements ([`RecoveryPolicy::learn`]).
        fn learns_itself(&self) -> bool { false }
        /// Whether an acknowledgement gives an RTT sample.
        fn measures_rtt(&self, s: &Sender, info: &AckInfo<'_>, summary: &AckSummary) -> bool { true }
        /// Whether one segment is timed at a time.
        fn times_one_segment(&self, timestamps: bool) -> bool { false }
        /// Whether duplicates count once new data has been sent after a timeout.
        fn heeds_duplicates_after_timeout(&self) -> bool { true }
        /// Whether duplicates count that retransmissions may have caused.
        fn heeds_duplicates_after_repair(&self, s: &Sender) -> bool { false }
        /// Whether data sent after the episode began is not marked lost.
        fn repairs_episode_first(&self) -> bool { false }

        /// Whether a loss begins recovery while a timeout is being repaired.
        fn leaves_timeout(&self, s: &Sender, summary: &AckSummary) -> bool { false }
        /// Whether `ack`, of new data, ends the episode.
        fn ends_episode(&self, s: &Sender, ack: u64) -> bool { ack >= s.recover }
        /// Whether an acknowledgement that ends one episode and begins the next stays in recovery.
        fn stays_in_recovery(&self) -> bool { false }
        /// Whether losses remain when an episode ends.
        fn has_further_losses(&self, board: &mut Scoreboard) -> bool { board.next_lost().is_some() }
        /// Limit the data for which the acknowledgement that ends recovery counts.
        fn limit_last_ack(&self, ack: &mut Ack, mss: u64) {}

        /// Whether a timeout lowers the threshold (RFC 5681 section 3.1: not for data already
        /// retransmitted by the timer).
        fn timeout_lowers_threshold(&self, s: &Sender) -> bool {
            s.phase != Phase::Loss || s.timed_out_at.is_none_or(|at| s.board.una() > at)
        }
        /// Whether F-RTO may detect a spurious timeout by new data (RFC 5682).
        fn may_judge_timeout(&self, sack: bool) -> bool { sack }
        /// Whether the head is retransmitted after a timeout regardless of the pipe.
        fn forces_head_after_timeout(&self) -> bool { false }
        /// Whether the first retransmission is sent regardless of the window (RFC 6675 step 4.3).
        fn forces_first_retransmission(&self) -> bool { false }
        /// Whether a segment that may be lost is retransmitted if there is nothing else to send
        /// (RFC 6675 NextSeg rule 3).
        fn rescues(&self, sack: bool) -> bool { false }
        /// Whether it is retransmitted as often as the window allows, not once per episode.
        fn rescues_repeatedly(&self) -> bool { false }
        /// Whether retransmitting the head restarts the retransmission timer.
        fn restarts_timer_with_head(&self) -> bool { false }
        /// Most segments in answer to one event.
        fn burst_limit(&self, s: &Sender) -> u32 { u32::MAX }

        /// The policy to use instead if SACK was not negotiated.
        fn without_sack(&self) -> Option<Policy> { None }
        /// Whether the policy leaves sending to the algorithm's window alone: nothing is reduced or
        /// limited, and [`RecoveryPolicy::sent`] does nothing.
        fn is_calm(&self, s: &Sender) -> bool { true }
    }
    tell {
        /// Interpret an acknowledgement and mark losses.
        fn learn(&mut self, s: &mut Sender, info: &AckInfo<'_>, summary: &mut AckSummary) {}
        /// A burst may begin.
        fn begin_burst(&mut self, board: &Scoreboard, mss: u64) {}
        /// A segment was sent.
        fn sent(&mut self, board: &Scoreboard, departure: Departure) {}
        /// Recovery begins, before the window is reduced; `reduces` is false if a mark has just
        /// reduced it.
        fn enter(&mut self, s: &mut Sender, reduces: bool) {}
        /// The window is reduced.
        fn reduce(&mut self, reduction: Reduction) {}
        /// An acknowledgement arrives while the window is being reduced.
        fn advance(&mut self, progress: Progress) {}
        /// Without SACK, the episode continues until data sent after it is acknowledged.
        fn hold(&mut self, in_flight: u64, reordering: u64) {}
        /// The episode ends. Returns the resulting window in bytes.
        fn leave(&mut self, s: &mut Sender) -> u64 { s.cc.cwnd() }
        /// Abandon the current reduction.
        fn abandon(&mut self) {}
        /// A timeout is about to mark everything outstanding lost.
        fn time_out(&mut self, s: &mut Sender) { self.abandon(); }
        /// A timeout was spurious. Returns whether the policy has handled it.
        fn slow_down_after_spurious_timeout(&mut self, s: &mut Sender) -> bool { false }

        /// An acknowledgement arrived at a whole sender.
        fn handle_ack(&mut self, s: &mut Sender, info: &AckInfo<'_>, now: Time) {}
        /// A timer of a whole sender may have expired.
        fn handle_timeout(&mut self, s: &mut Sender, now: Time) {}
        /// The next segment of a whole sender.
        fn poll_transmit(&mut self, s: &mut Sender, now: Time) -> Option<Transmission> { None }
        /// The peer's window allows data up to `right_edge`.
        fn allow(&mut self, right_edge: u64) {}
        /// The application has written or closed.
        fn wrote(&mut self, stream_end: u64) {}
        /// The application closes; `is_answer` if the peer closed first.
        fn close(&mut self, is_answer: bool) {}
        /// The handshake measured an RTT.
        fn measured(&mut self, rtt: Duration) {}
    }
}

impl Policy {
    /// The policy that is a whole sender, which handles events itself.
    #[inline(always)]
    pub(crate) fn whole(&self) -> Option<&ns3::Ns3> {
        if let Policy::Ns3(whole) = self { Some(whole) } else { None }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::Rfc(rfc::Rfc::default())
    }
}

impl Sender {
    /// Let the policy change the sender, which has the RFC policy meanwhile.
    pub(super) fn with_policy<T>(&mut self, act: impl FnOnce(&mut Policy, &mut Sender) -> T) -> T {
        let mut policy = std::mem::take(&mut self.policy);
        let result = act(&mut policy, self);
        self.policy = policy;
        result
    }
}
