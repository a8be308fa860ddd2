//! RFC 6675 with SACK, RFC 6582 (NewReno) without.

use fairway_cc::Phase;

use super::RecoveryPolicy;
use crate::Stack;
use crate::sender::Sender;

/// Recovery of the RFCs.
#[derive(Default)]
pub(crate) struct Rfc {
    /// Whether duplicates after a timeout count once new data has been sent: in ns-2's Sack1
    /// without SACK.
    pub(super) heeds_duplicates_after_timeout: bool,
}

impl From<&Stack> for Rfc {
    fn from(_: &Stack) -> Self {
        Rfc::default()
    }
}

impl RecoveryPolicy for Rfc {
    fn inflates(&self, sack: bool) -> bool {
        !sack
    }

    fn heeds_duplicates_after_timeout(&self) -> bool {
        self.heeds_duplicates_after_timeout
    }

    fn forces_first_retransmission(&self) -> bool {
        true
    }

    fn rescues(&self, _: bool) -> bool {
        true
    }

    fn leave(&mut self, s: &mut Sender) -> u64 {
        if s.sack || s.phase != Phase::Recovery {
            return s.cc.cwnd();
        }
        // RFC 6582 step 3, option 1.
        s.cc.ssthresh().min(s.board.pipe().max(s.mss()) + s.mss())
    }
}
