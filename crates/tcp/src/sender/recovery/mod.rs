//! Recovery policies: what stacks do differently while losses are repaired.
//!
//! A policy is a type with its own state in a file here, and a line in the table below. It implements
//! [`RecoveryPolicy`], and overrides what it does other than the RFCs; nothing else in the sender asks
//! which policy it has.

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

use super::{AckInfo, Outstanding, Sender, Transmission};
use crate::Stack;
use crate::scoreboard::{AckSummary, Scoreboard};
use table::{hooks, policies};

policies! {$
    /// RFC 6675 (with SACK) or RFC 6582 (without): the window is the threshold at once, and
    /// segments leave as the pipe falls below it.
    Rfc(rfc::Rfc) = "rfc";
    /// ns-2.35 TCP-Linux: the algorithm's recovery window at once, but while flight is above it
    /// one segment leaves for each acknowledgement, so flight falls only with what is marked
    /// lost (`tcp/tcp-linux.cc`, `send_much`; meant as rate halving, which the delayed send of
    /// `overhead_` undoes). On exit the threshold, no more than flight plus three segments.
    TcpLinux(tcp_linux::TcpLinux) = "tcp-linux";
    /// ns-2.35 Agent/TCP/Sack1 (`tcp/tcp-sack1.cc`): the algorithm's window at once, and its own
    /// count of what is in flight: every acknowledgement takes one off, a partial one two. Every
    /// hole below the highest SACK is sent again once. A timeout forgets the SACKs and sends
    /// everything again. Without SACK as [`Recovery::Rfc`].
    Sack1(sack1::Sack1) = "sack1";
    /// Proportional rate reduction (RFC 6937) in Linux 6.1's form (`net/ipv4/tcp_input.c`,
    /// `tcp_cwnd_reduction`): flight falls to the threshold with what arrives.
    Prr(prr::Prr) = "prr";
    /// RFC 5681 section 3.2 to the letter: as [`Recovery::Rfc`], but over with the first
    /// acknowledgement of anything new, whatever else is missing. If that grows the window, it counts
    /// as one segment (4.3BSD-Reno; ns-2.35 `tcp/tcp-full.cc`, `pack_action`).
    Reno(reno::Reno) = "reno";
    /// Rate halving as Linux had it before 3.2 (2.6.27 `net/ipv4/tcp_input.c`, `tcp_cwnd_down`,
    /// `tcp_fastretrans_alert`): one segment leaves for every second acknowledgement, and the window
    /// is never more than one above flight.
    RateHalving(rate_halving::RateHalving) = "rate-halving";
    /// ns-3.29, and with it the whole sender: buffer, estimate of what is in flight, round trips and
    /// timer (`src/internet/model/tcp-socket-base.cc`, `TcpClassicRecovery`). Only `sack`,
    /// `timestamps`, `reordering`, `limited_transmit`, `nagle` and the sizes matter beside it.
    Ns3(Box<ns3::Ns3>) = "ns3";
}

/// A reduction of the window that begins, all in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// Window before.
    pub prior: u64,
    /// The threshold, or the window before if that is less.
    pub target: u64,
    /// The algorithm's window during recovery.
    pub floor: u64,
    /// In the network now.
    pub in_flight: u64,
    /// Whether a loss is the reason.
    pub by_loss: bool,
}

/// What one acknowledgement says to a reduction under way, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// In the network now.
    pub in_flight: u64,
    /// Newly arrived.
    pub delivered: u64,
    /// Whether the first unacknowledged byte moved, and nothing was newly found lost.
    pub advanced_without_loss: bool,
    /// Whether it says anything that was not known.
    pub is_informative: bool,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub phase: Phase,
    /// Whether it leaves whatever the window says.
    pub is_forced: bool,
    pub mss: u64,
}

hooks! {
    ask {
        /// The window in segments while it is being reduced step by step.
        fn reduced_window(&self) -> Option<u64> { None }
        /// Most bytes in flight, unless a segment leaves whatever the window says.
        fn window(&self, s: &Sender) -> u64 { s.cwnd() }
        /// Most bytes in flight for data sent now.
        fn flight_allowance(&self, s: &Sender) -> u64 {
            self.window(s).max(if s.pass.is_forced { s.pipe() } else { 0 })
        }
        /// Whether the window is inflated while losses are repaired (RFC 5681 section 3.2).
        fn inflates(&self, sack: bool) -> bool { false }
        /// The window as its own stack records it.
        fn recorded_window(&self, s: &Sender) -> u64 {
            let inflated = self.inflates(s.sack) && s.phase == Phase::Recovery;
            s.cwnd() + if inflated { s.board.duplicates() * s.mss() } else { 0 }
        }
        /// Whether the policy has its own count of what is in flight.
        fn counts_pipe_itself(&self, phase: Phase) -> bool { false }
        /// Whether the window was used enough to grow, of which `prior_pipe` was in flight.
        fn was_window_used(&self, s: &Sender, prior_pipe: u64) -> bool {
            let cwnd = s.cwnd();
            prior_pipe + s.mss() > cwnd || (cwnd < s.cc.ssthresh() && cwnd < 2 * prior_pipe)
        }
        /// What the algorithm is told that the sender is doing.
        fn phase_told(&self, s: &Sender) -> Phase { s.phase() }
        /// Whether the algorithm is told the age of the latest segment as its round trip.
        fn tells_age_of_last(&self) -> bool { false }

        /// Whether the policy alone interprets acknowledgements ([`RecoveryPolicy::learn`]).
        fn learns_itself(&self) -> bool { false }
        /// Whether an acknowledgement measures a round trip.
        fn measures_rtt(&self, s: &Sender, info: &AckInfo<'_>, summary: &AckSummary) -> bool { true }
        /// Whether one segment is timed at a time.
        fn times_one_segment(&self, timestamps: bool) -> bool { false }
        /// Whether duplicates say something once new data has left after a timeout.
        fn heeds_duplicates_after_timeout(&self) -> bool { true }
        /// Whether duplicates say something that the repair may have brought about.
        fn heeds_duplicates_after_repair(&self, s: &Sender) -> bool { false }
        /// Whether nothing is marked lost that was sent after the episode began.
        fn repairs_episode_first(&self) -> bool { false }

        /// Whether a loss begins recovery while a timeout is being repaired.
        fn leaves_timeout(&self, s: &Sender, summary: &AckSummary) -> bool { false }
        /// Whether `ack`, of something new, ends the episode under way.
        fn ends_episode(&self, s: &Sender, ack: u64) -> bool { ack >= s.recover }
        /// Whether the acknowledgement that ends one episode and begins the next is in recovery all
        /// along.
        fn stays_in_recovery(&self) -> bool { false }
        /// Whether losses remain when an episode ends.
        fn has_further_losses(&self, board: &mut Scoreboard) -> bool { board.next_lost().is_some() }
        /// What the acknowledgement that ends recovery counts for.
        fn limit_last_ack(&self, ack: &mut Ack, mss: u64) {}

        /// Whether a timeout lowers the threshold (RFC 5681 section 3.1: not for data that the timer
        /// has resent).
        fn timeout_lowers_threshold(&self, s: &Sender) -> bool {
            s.phase != Phase::Loss || s.timed_out_at.is_none_or(|at| s.board.una() > at)
        }
        /// Whether new data may tell if a timeout was for nothing (RFC 5682).
        fn may_judge_timeout(&self, sack: bool) -> bool { sack }
        /// Whether the head leaves after a timeout whatever is in flight.
        fn forces_head_after_timeout(&self) -> bool { false }
        /// Whether the first retransmission leaves whatever the window says (RFC 6675 step 4.3).
        fn forces_first_retransmission(&self) -> bool { false }
        /// Whether a segment that may be lost is sent again when there is nothing else (RFC 6675 NextSeg
        /// rule 3).
        fn rescues(&self, sack: bool) -> bool { false }
        /// Whether it is as often as the window allows; once in an episode otherwise.
        fn rescues_repeatedly(&self) -> bool { false }
        /// Whether sending the head again restarts the retransmission timer.
        fn restarts_timer_with_head(&self) -> bool { false }
        /// Most segments in answer to one event.
        fn burst_limit(&self, s: &Sender) -> u32 { u32::MAX }

        /// The policy instead of this one where SACK was not agreed on.
        fn without_sack(&self) -> Option<Policy> { None }
        /// Whether the policy is a whole sender, which handles events itself.
        fn is_whole_sender(&self) -> bool { false }
        /// First unacknowledged offset.
        fn una(&self, s: &Sender) -> u64 { s.board.una() }
        /// Bytes believed to be in the network.
        fn pipe(&self, s: &Sender) -> u64 { s.board.pipe() }
        /// Smoothed round-trip time.
        fn srtt(&self, s: &Sender) -> Option<Duration> { s.rtt.srtt() }
        /// Retransmission timeout, backed off.
        fn rto(&self, s: &Sender) -> Duration { s.rtt.rto() }
        /// What is outstanding.
        fn outstanding(&self, s: &Sender) -> Outstanding { s.board.outstanding() }
        /// When something leaves that only waits for its time.
        fn send_at(&self) -> Time { Time::NEVER }
        /// Whether this end of the connection is no longer there.
        fn is_gone(&self, now: Time) -> bool { false }
    }
    tell {
        /// Interpret an acknowledgement, and mark what is lost by it.
        fn learn(&mut self, s: &mut Sender, info: &AckInfo<'_>, summary: &mut AckSummary) {}
        /// A burst may begin.
        fn begin_burst(&mut self, board: &Scoreboard, mss: u64) {}
        /// A segment has left.
        fn sent(&mut self, board: &Scoreboard, departure: Departure) {}
        /// Recovery begins, before the window is reduced; `reduces` unless it was for a mark just
        /// before.
        fn enter(&mut self, s: &mut Sender, reduces: bool) {}
        /// The window is reduced.
        fn reduce(&mut self, reduction: Reduction) {}
        /// An acknowledgement comes while the window is being reduced.
        fn advance(&mut self, progress: Progress) {}
        /// The episode goes on, without SACK, until something sent after it is acknowledged.
        fn hold(&mut self, in_flight: u64, reordering: u64) {}
        /// The episode is over. Returns the window in bytes that it leaves.
        fn leave(&mut self, s: &mut Sender) -> u64 { s.cc.cwnd() }
        /// The reduction under way is void.
        fn abandon(&mut self) {}
        /// What is outstanding is about to be marked lost by a timeout.
        fn time_out(&mut self, s: &mut Sender) { self.abandon(); }
        /// A timeout was for nothing. Whether the policy has its own answer to that.
        fn slow_down_after_spurious_timeout(&mut self, s: &mut Sender) -> bool { false }

        /// An acknowledgement came to a whole sender.
        fn handle_ack(&mut self, s: &mut Sender, info: &AckInfo<'_>, now: Time) {}
        /// A timer of a whole sender may have expired.
        fn handle_timeout(&mut self, s: &mut Sender, now: Time) {}
        /// What a whole sender sends next.
        fn poll_transmit(&mut self, s: &mut Sender, now: Time) -> Option<Transmission> { None }
        /// The peer's window allows data up to `right_edge`.
        fn allow(&mut self, right_edge: u64) {}
        /// The application has written or closed.
        fn wrote(&mut self, stream_end: u64) {}
        /// The application closes; `is_answer` if the other end has before.
        fn close(&mut self, is_answer: bool) {}
        /// The handshake measured a round trip.
        fn measured(&mut self, rtt: Duration) {}
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::Rfc(rfc::Rfc::default())
    }
}

impl Sender {
    /// Let the policy change the sender, which follows the RFCs meanwhile.
    pub(super) fn with_policy<T>(&mut self, act: impl FnOnce(&mut Policy, &mut Sender) -> T) -> T {
        let mut policy = std::mem::take(&mut self.policy);
        let result = act(&mut policy, self);
        self.policy = policy;
        result
    }
}
