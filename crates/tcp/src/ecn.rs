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

    /// Data arrived. Whether it has to be acknowledged at once, because an accurate echo changed
    /// (RFC 8257 section 3.2).
    pub fn receive(&mut self, flags: Flags) -> bool {
        if !self.on {
            return false;
        }
        let marked = flags.has(Flags::CE);
        if self.accurate {
            let changes = self.echo != marked;
            self.echo = marked;
            return changes;
        }
        // RFC 3168 section 6.1.3: until the peer says that it reduced.
        if flags.has(Flags::CWR) {
            self.echo = false;
        }
        self.echo |= marked;
        false
    }
}
