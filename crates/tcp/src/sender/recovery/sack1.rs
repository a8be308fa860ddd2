//! Recovery of ns-2's Agent/TCP/Sack1 (ns-2.35 `tcp/tcp-sack1.cc`).
//!
//! Three duplicates that SACK new data begin recovery. During recovery the agent has its own
//! estimate of the pipe (`pipe_`), which starts with the lost segments included and which each
//! acknowledgement lowers by one, regardless of its content. Outside recovery, an acknowledgement
//! of new data forgets all SACKs. Not reproduced: duplicates after a timeout, which can send one
//! segment more and then hold the next back.

use fairway_cc::Phase;

use super::rfc::Rfc;
use super::{Departure, Policy, RecoveryPolicy};
use crate::Stack;
use crate::scoreboard::{AckSummary, Scoreboard};
use crate::sender::{AckInfo, Sender};

/// Counters of the agent.
pub(crate) struct Sack1 {
    /// The agent's estimate of segments in flight during recovery (`pipe_`).
    pipe: i64,
    /// Duplicates outside recovery that SACKed new data, since the last acknowledgement of new data
    /// (`dupacks_`).
    duplicates: u32,
    /// Number of them that begins recovery.
    threshold: u32,
}

impl From<&Stack> for Sack1 {
    fn from(stack: &Stack) -> Self {
        Sack1 { pipe: 0, duplicates: 0, threshold: stack.losses.reordering }
    }
}

impl Sack1 {
    /// `ClearScoreBoard`.
    fn forget(board: &mut Scoreboard) {
        if board.has_holes() {
            board.forget_sacks();
        }
    }
}

/// Whether anything new was SACKed (`CheckUpdate`).
fn sack(board: &mut Scoreboard, info: &AckInfo<'_>, summary: &mut AckSummary) -> bool {
    let before = board.sacked_segments();
    for block in info.sack {
        board.sack(*block, summary);
    }
    board.sacked_segments() > before
}

impl RecoveryPolicy for Sack1 {
    fn without_sack(&self) -> Option<Policy> {
        Some(Policy::Rfc(Rfc { heeds_duplicates_after_timeout: true }))
    }

    fn inflates(&self, sack: bool) -> bool {
        !sack
    }

    fn learns_itself(&self) -> bool {
        true
    }

    /// `recv`, up to `send_much`.
    fn learn(&mut self, s: &mut Sender, info: &AckInfo<'_>, summary: &mut AckSummary) {
        let board = &mut s.board;
        let is_new = info.ack > board.una();
        if is_new {
            board.acknowledge(info.ack, summary);
        }
        match s.phase {
            Phase::Recovery => {
                self.pipe -= 1;
                if info.ack < s.recover {
                    self.pipe -= i64::from(is_new);
                    sack(board, info, summary);
                    summary.lost += board.mark_holes_lost();
                }
            }
            // `timeout_`: SACKs are ignored until new data is acknowledged, and forgotten at the
            // next acknowledgement.
            Phase::Loss => {}
            Phase::Open | Phase::Disorder | Phase::Cwr if is_new => {
                self.duplicates = 0;
                Self::forget(board);
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                if sack(board, info, summary) {
                    self.duplicates += 1;
                    // `dupack_action`, `bug_fix_`: not for data that a timeout retransmitted.
                    let recovered = s.recover == 0 || board.una() > s.recover;
                    if self.duplicates == self.threshold && recovered {
                        summary.lost += board.mark_head_lost();
                    }
                }
            }
        }
    }

    /// Only acknowledgements of new data outside recovery, and the one that ends it, give samples
    /// (`newack`).
    fn measures_rtt(&self, s: &Sender, info: &AckInfo<'_>, summary: &AckSummary) -> bool {
        summary.acked > 0 && (s.phase != Phase::Recovery || info.ack >= s.recover)
    }

    /// In recovery the agent's own pipe limits.
    fn window(&self, s: &Sender) -> u64 {
        let cwnd = s.cwnd();
        if self.counts_pipe_itself(s.phase) {
            let room = i64::try_from(cwnd / s.mss()).unwrap_or(i64::MAX) - self.pipe;
            return s.board.pipe() + u64::try_from(room).unwrap_or(0) * s.mss();
        }
        // `recv`: with duplicates outstanding, limited transmit alone sends.
        if self.duplicates >= self.threshold { 0 } else { cwnd }
    }

    fn counts_pipe_itself(&self, phase: Phase) -> bool {
        phase == Phase::Recovery
    }

    fn is_calm(&self, s: &Sender) -> bool {
        !s.retransmit_first && self.duplicates == 0
    }

    /// At most one segment: the retransmission when recovery begins, or limited transmit
    /// (`send_one`).
    fn burst_limit(&self, s: &Sender) -> u32 {
        let waits = s.phase != Phase::Recovery && self.duplicates > 0;
        if s.retransmit_first || waits { 1 } else { u32::MAX }
    }

    /// Only SACKed segments have left the network (`dupack_action`).
    fn enter(&mut self, s: &mut Sender, _: bool) {
        let outstanding = i64::try_from(s.board.outstanding_segments()).unwrap_or(i64::MAX);
        self.pipe = outstanding - i64::from(self.threshold);
        self.duplicates = 0;
    }

    /// The first segment of recovery is not counted.
    fn sent(&mut self, _: &Scoreboard, departure: Departure) {
        if self.counts_pipe_itself(departure.phase) && !departure.is_forced {
            self.pipe += 1;
        }
    }

    /// Forget SACKs beyond the episode.
    fn leave(&mut self, s: &mut Sender) -> u64 {
        Self::forget(&mut s.board);
        self.duplicates = 0;
        if s.phase == Phase::Recovery {
            s.recover = 0;
        }
        s.cc.cwnd()
    }

    /// Forget SACKs, so that SACKed segments are retransmitted too.
    fn time_out(&mut self, s: &mut Sender) {
        s.board.forget_sacks();
    }

    fn may_judge_timeout(&self, _: bool) -> bool {
        false
    }

    fn forces_first_retransmission(&self) -> bool {
        true
    }
}
