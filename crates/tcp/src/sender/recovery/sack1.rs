//! Recovery as ns-2's Agent/TCP/Sack1 has it (ns-2.35 `tcp/tcp-sack1.cc`).
//!
//! Every SACK counts for itself: three duplicates that SACK something new begin recovery. During
//! it the agent keeps its own estimate of what is in flight (`pipe_`), which starts with the lost
//! segments in it and which acknowledgements lower by one, whatever they say. Outside it, an
//! acknowledgement of new data forgets all SACKs. Not followed: duplicates after a timeout, which
//! can send one segment more and then hold the next back.

use fairway_cc::Phase;

use super::rfc::Rfc;
use super::{Departure, Policy, RecoveryPolicy};
use crate::Stack;
use crate::scoreboard::{AckSummary, Scoreboard};
use crate::sender::{AckInfo, Sender};

/// What the agent counts.
pub(crate) struct Sack1 {
    /// Segments that the agent believes to be in flight during recovery (`pipe_`).
    pipe: i64,
    /// Duplicates that SACKed something new since the last acknowledgement of new data, outside
    /// recovery (`dupacks_`).
    duplicates: u32,
    /// How many of them begin recovery.
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
            // `timeout_`: until new data is acknowledged SACKs say nothing, and then they are
            // forgotten at the next.
            Phase::Loss => {}
            Phase::Open | Phase::Disorder | Phase::Cwr if is_new => {
                self.duplicates = 0;
                Self::forget(board);
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                if sack(board, info, summary) {
                    self.duplicates += 1;
                    // `dupack_action`, `bug_fix_`: not for what a timeout has sent again.
                    let recovered = s.recover == 0 || board.una() > s.recover;
                    if self.duplicates == self.threshold && recovered {
                        summary.lost += board.mark_head_lost();
                    }
                }
            }
        }
    }

    /// Only acknowledgements of new data outside recovery, and the one that ends it, measure
    /// (`newack`).
    fn measures_rtt(&self, s: &Sender, info: &AckInfo<'_>, summary: &AckSummary) -> bool {
        summary.acked > 0 && (s.phase != Phase::Recovery || info.ack >= s.recover)
    }

    /// In recovery the agent asks its own count.
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

    /// One segment at most: the one that is sent again when recovery begins, or that of limited transmit
    /// (`send_one`).
    fn burst_limit(&self, s: &Sender) -> u32 {
        let waits = s.phase != Phase::Recovery && self.duplicates > 0;
        if s.retransmit_first || waits { 1 } else { u32::MAX }
    }

    /// What has been SACKed has left, and nothing else (`dupack_action`).
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

    /// What was SACKed beyond the episode is forgotten.
    fn leave(&mut self, s: &mut Sender) -> u64 {
        Self::forget(&mut s.board);
        self.duplicates = 0;
        if s.phase == Phase::Recovery {
            s.recover = 0;
        }
        s.cc.cwnd()
    }

    /// What was SACKed is sent again, too.
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
