//! RFC 5681 section 3.2 to the letter, as in 4.3BSD-Reno and ns-2's FullTcp (ns-2.35
//! `tcp/tcp-full.cc`).

use fairway_cc::{Ack, Phase};

use super::RecoveryPolicy;
use crate::Stack;
use crate::sender::Sender;

/// Reno's recovery.
pub(crate) struct Reno;

impl From<&Stack> for Reno {
    fn from(_: &Stack) -> Self {
        Reno
    }
}

impl RecoveryPolicy for Reno {
    fn inflates(&self, sack: bool) -> bool {
        !sack
    }

    fn times_one_segment(&self, timestamps: bool) -> bool {
        !timestamps
    }

    fn heeds_duplicates_after_repair(&self, s: &Sender) -> bool {
        !s.recovers_from_timeout
    }

    fn ends_episode(&self, s: &Sender, ack: u64) -> bool {
        s.phase == Phase::Recovery || ack >= s.recover
    }

    fn limit_last_ack(&self, ack: &mut Ack, mss: u64) {
        // `pack_action`
        ack.acked = ack.acked.min(mss);
        ack.delivered = ack.delivered.min(mss);
    }

    fn leave(&mut self, s: &mut Sender) -> u64 {
        if s.phase == Phase::Recovery {
            // Deflate: the window is measured from SND.UNA again.
            s.board.forget_duplicates();
        }
        s.cc.cwnd()
    }

    fn forces_first_retransmission(&self) -> bool {
        true
    }

    fn rescues(&self, _: bool) -> bool {
        true
    }

    fn is_calm(&self, s: &Sender) -> bool {
        !s.retransmit_first
    }

    fn burst_limit(&self, s: &Sender) -> u32 {
        // The fast retransmit is sent alone: new data waits for the next duplicate (RFC 5681
        // section 3.2 step 5; `recv`).
        if s.retransmit_first { 1 } else { u32::MAX }
    }
}
