//! Congestion marks at one end: whether they are in use, what its packets carry, what it echoes.

use fairway_cc::EcnFeedback;

use crate::segment::Flags;

/// Explicit congestion notification as one end knows it.
#[derive(Clone, Copy, Debug)]
pub struct Ecn {
    /// Offered; after the handshake, agreed on.
    on: bool,
    /// The algorithm asked for an echo of each mark (RFC 8257).
    accurate: bool,
    echo: bool,
}

/// What arriving data means for the echo of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EchoChange {
    /// Nothing new.
    None,
    /// The echo of each mark has changed, which is to be told at once (RFC 8257 section 3.2).
    Accurate,
    /// The echo begins.
    Begins,
    /// The sender says that it has reduced its window.
    SenderReduced,
}

impl Ecn {
    /// Offered if the stack's `switch` or the algorithm says so.
    pub fn new(switch: bool, feedback: EcnFeedback) -> Self {
        let accurate = feedback == EcnFeedback::Accurate;
        Ecn { on: switch || accurate, accurate, echo: false }
    }

    /// The other end offers it or agrees to it, or not.
    pub fn agree(&mut self, other: bool) {
        self.on &= other;
    }

    /// Whether it is offered or agreed on.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// For every segment: the echo, and with accurate feedback that it may be marked, which includes
    /// acknowledgements and retransmissions (Linux `tcp_ecn_send`).
    pub fn flags(&self) -> Flags {
        Flags::default()
            .with_if(self.echo, Flags::ECE)
            .with_if(self.on && self.accurate, Flags::ECT)
    }

    /// The same before the last change of an accurate echo.
    pub fn flags_before_change(&self) -> Flags {
        Ecn { echo: !self.echo, ..*self }.flags()
    }

    /// For new data besides. RFC 3168 section 6.1.5: retransmissions may not be marked.
    pub fn data_flags(&self, retransmission: bool, cwr: bool) -> Flags {
        Flags::default()
            .with_if(cwr && self.on, Flags::CWR)
            .with_if(self.on && !retransmission, Flags::ECT)
    }

    /// For a SYN, or the `answer` to one (RFC 3168 section 6.1.1).
    pub fn handshake_flags(&self, answer: bool) -> Flags {
        Flags::default()
            .with_if(self.on, Flags::ECE)
            .with_if(self.on && !answer, Flags::CWR)
            .with_if(self.on && self.accurate, Flags::ECT)
    }

    /// Data arrived; what that means for its acknowledgement.
    pub fn receive(&mut self, flags: Flags) -> EchoChange {
        if !self.on {
            return EchoChange::None;
        }
        let marked = flags.has(Flags::CE);
        let before = self.echo;
        if self.accurate {
            self.echo = marked;
            return if before == marked { EchoChange::None } else { EchoChange::Accurate };
        }
        // RFC 3168 section 6.1.3: until the peer says that it reduced.
        if flags.has(Flags::CWR) {
            self.echo = false;
        }
        self.echo |= marked;
        match (flags.has(Flags::CWR), marked && !before) {
            (true, _) => EchoChange::SenderReduced,
            (false, true) => EchoChange::Begins,
            (false, false) => EchoChange::None,
        }
    }
}
