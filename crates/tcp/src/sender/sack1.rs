//! Recovery as ns-2's Agent/TCP/Sack1 has it (ns-2.35 `tcp/tcp-sack1.cc`).
//!
//! Every SACK counts for itself: three duplicates that SACK something new begin recovery. During
//! it the agent keeps its own estimate of what is in flight (`pipe_`), which starts with the lost
//! segments in it and which acknowledgements lower by one, whatever they say. Outside it, an
//! acknowledgement of new data forgets all SACKs. Not followed: duplicates after a timeout, which
//! can send one segment more and then hold the next back.

use fairway_cc::Phase;

use super::{AckInfo, Sender};
use crate::Recovery;
use crate::scoreboard::News;

/// What the agent counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sack1 {
    /// Segments that the agent believes to be in flight during recovery (`pipe_`).
    pipe: i64,
    /// Duplicates that SACKed something new since the last acknowledgement of new data, outside
    /// recovery (`dupacks_`).
    duplicates: u32,
}

impl Sender {
    pub(super) fn is_sack1(&self) -> bool {
        self.stack.recovery == Recovery::Sack1 && self.sack
    }

    /// Whether the agent's own count decides what may leave.
    pub(super) fn counts_as_sack1(&self) -> bool {
        self.is_sack1() && self.phase == Phase::Recovery
    }

    /// `recv`, up to `send_much`: what the acknowledgement says, and what is lost by it.
    #[inline(never)]
    pub(super) fn learn_as_sack1(&mut self, info: &AckInfo<'_>, news: &mut News) {
        let is_new = info.ack > self.board.una();
        if is_new {
            self.timeouts_in_row = 0;
            self.board.acknowledge(info.ack, news);
        }
        match self.phase {
            Phase::Recovery => {
                self.sack1.pipe -= 1;
                if info.ack < self.recover {
                    self.sack1.pipe -= i64::from(is_new);
                    self.sack_as_sack1(info, news);
                    news.lost += self.board.mark_holes_lost();
                }
            }
            // `timeout_`: until new data is acknowledged SACKs say nothing, and then they are
            // forgotten at the next.
            Phase::Loss => {}
            Phase::Open | Phase::Disorder | Phase::Cwr if is_new => {
                self.sack1.duplicates = 0;
                self.forget_as_sack1();
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                if self.sack_as_sack1(info, news) {
                    self.sack1.duplicates += 1;
                    // `dupack_action`, `bug_fix_`: not for what a timeout has sent again.
                    let recovered = self.recover == 0 || self.board.una() > self.recover;
                    if self.sack1.duplicates == self.stack.reordering && recovered {
                        news.lost += self.board.mark_head_lost();
                    }
                }
            }
        }
    }

    /// Whether anything new was SACKed (`CheckUpdate`).
    fn sack_as_sack1(&mut self, info: &AckInfo<'_>, news: &mut News) -> bool {
        let before = self.board.sacked_segments();
        for block in info.sack {
            self.board.sack(*block, news);
        }
        self.board.sacked_segments() > before
    }

    /// `ClearScoreBoard`.
    fn forget_as_sack1(&mut self) {
        if self.board.has_holes() {
            self.board.forget_sacks();
        }
    }

    /// Only acknowledgements of new data outside recovery, and the one that ends it, measure
    /// (`newack`).
    #[inline(never)]
    pub(super) fn measures_as_sack1(&self, info: &AckInfo<'_>, news: &News) -> bool {
        news.acked > 0 && (self.phase != Phase::Recovery || info.ack >= self.recover)
    }

    /// What may be in flight. The agent does not ask for that in recovery, but for its own count.
    #[inline(never)]
    pub(super) fn window_as_sack1(&self, cwnd: u64) -> u64 {
        let mss = u64::from(self.stack.mss);
        if self.counts_as_sack1() {
            let room = i64::try_from(cwnd / mss).unwrap_or(i64::MAX) - self.sack1.pipe;
            return self.board.pipe() + u64::try_from(room).unwrap_or(0) * mss;
        }
        // `recv`: with duplicates outstanding, limited transmit alone sends.
        let waits = self.is_sack1() && self.sack1.duplicates >= self.stack.reordering;
        if waits { 0 } else { cwnd }
    }

    /// Whether one segment at most leaves now: the one that is sent again when recovery begins, or that
    /// of limited transmit (`send_one`).
    pub(super) fn sends_one_as_sack1(&self) -> bool {
        let waits = !self.counts_as_sack1() && self.sack1.duplicates > 0;
        self.is_sack1() && (self.retransmit_first || waits)
    }

    /// Recovery begins: what has been SACKed has left, and nothing else (`dupack_action`).
    pub(super) fn begin_as_sack1(&mut self) {
        let outstanding = i64::try_from(self.board.outstanding_segments()).unwrap_or(i64::MAX);
        self.sack1.pipe = outstanding - i64::from(self.stack.reordering);
        self.sack1.duplicates = 0;
    }

    /// A segment has left; the first of recovery is not counted.
    pub(super) fn sent_as_sack1(&mut self) {
        if self.counts_as_sack1() && !self.pass.is_forced {
            self.sack1.pipe += 1;
        }
    }

    /// The episode is over, and what was SACKed beyond it is forgotten.
    pub(super) fn end_as_sack1(&mut self) {
        self.forget_as_sack1();
        self.sack1.duplicates = 0;
        if self.phase == Phase::Recovery {
            self.recover = 0;
        }
    }
}
