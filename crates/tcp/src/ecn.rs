//! ECN at one end of a connection: negotiation, codepoints of sent packets, and feedback.

pub mod ace;

use fairway_cc::EcnFeedback;

use crate::segment::Flags;
use ace::MarkCount;

/// ECN feedback: requested, and after the handshake negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnMode {
    /// Not ECN-capable.
    Off,
    /// ECE until the sender confirms its reduction with CWR (RFC 3168).
    Classic,
    /// A count of marked packets in every segment (accurate ECN, RFC 9768), without the
    /// byte-counting option of its section 3.2.3. Falls back to the others with a peer that does
    /// not support it.
    Accurate,
}

impl EcnMode {
    /// Name of accurate feedback.
    pub const ACCURATE: &'static str = "accurate";
}

/// State of ECN at one end.
#[derive(Clone, Copy, Debug)]
pub struct Ecn {
    /// Requested, or after the handshake negotiated.
    mode: EcnMode,
    /// Whether the algorithm asks for an echo of each mark (RFC 8257).
    each_mark: bool,
    /// Whether it also asks for ECT(1) with accurate feedback.
    scalable: bool,
    echo: bool,
    /// With accurate feedback, whether this end's packets are ECN-capable.
    may_be_marked: bool,
    /// Codepoint of the peer's SYN or SYN-ACK on arrival.
    arrived_as: u8,
    marks: MarkCount,
}

/// Effect of arriving data on the feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EchoChange {
    /// No change.
    None,
    /// The echo of each mark changed, to be acknowledged at once (RFC 8257 section 3.2).
    Changes,
    /// The count of marks changed, to be acknowledged at once.
    Counted,
    /// ECE begins.
    Begins,
    /// The sender has reduced its window (CWR).
    SenderReduced,
    /// It has, and ECE begins again.
    BeginsAgain,
}

impl Ecn {
    /// State before the handshake; ECN is requested by the stack's `switch` or the algorithm.
    pub fn new(switch: EcnMode, feedback: EcnFeedback) -> Self {
        let each_mark = feedback.is_accurate();
        let scalable = feedback == EcnFeedback::Scalable;
        let mode = if each_mark && switch == EcnMode::Off { EcnMode::Classic } else { switch };
        let marks = MarkCount::new(false);
        Ecn { mode, each_mark, scalable, echo: false, may_be_marked: true, arrived_as: 0, marks }
    }

    /// Process a SYN of the peer.
    pub fn answer(&mut self, syn: Flags) {
        self.arrived_as = ace::arrived_as(syn);
        self.mode = match self.mode {
            EcnMode::Accurate => ace::asked_for(syn),
            // RFC 3168 section 6.1.1: ECE and CWR request ECN.
            mode if syn.has(Flags::ECE) => mode,
            _ => EcnMode::Off,
        };
    }

    /// Process the SYN-ACK of the peer.
    pub fn take_answer(&mut self, answer: Flags) {
        self.arrived_as = ace::arrived_as(answer);
        self.marks = MarkCount::new(answer.has(Flags::CE));
        self.mode = match self.mode {
            EcnMode::Accurate => ace::agreed_to(answer),
            // RFC 3168 section 6.1.1: ECE accepts.
            mode if answer.has(Flags::ECE) => mode,
            _ => EcnMode::Off,
        };
    }

    /// Process the final ACK of the handshake. Returns the sender's initial count of marks.
    pub fn end_handshake(&mut self, ack: Flags) -> u8 {
        let first = if self.counts() { ace::first_count(ack) } else { Some(ace::FIRST_COUNT) };
        self.may_be_marked = first.is_some();
        first.unwrap_or(ace::FIRST_COUNT)
    }

    /// Whether marks are echoed with ECE (RFC 3168, RFC 8257).
    pub fn echoes(&self) -> bool {
        self.mode == EcnMode::Classic
    }

    /// Whether marks are counted.
    pub fn counts(&self) -> bool {
        self.mode == EcnMode::Accurate
    }

    /// The count of marks in a segment, if feedback is in use.
    pub fn count(&self, flags: Flags) -> Option<u8> {
        (self.counts() && self.may_be_marked).then(|| ace::field(flags))
    }

    /// ECN-capable codepoint. Without accurate feedback a sender cannot respond to the fraction of
    /// marks as ECT(1) requires (RFC 9331 section 4.2).
    fn ect(&self) -> Flags {
        if self.scalable && self.counts() { Flags::ECT1 } else { Flags::ECT }
    }

    /// Flags of every segment: the feedback, and ECT on acknowledgements and retransmissions too if
    /// the algorithm asks for each mark (Linux `tcp_ecn_send`).
    #[inline(always)]
    pub fn flags(&mut self) -> Flags {
        if self.mode == EcnMode::Off { Flags::default() } else { self.feedback() }
    }

    fn feedback(&mut self) -> Flags {
        if self.counts() {
            return self.marks.tell().with_if(self.each_mark && self.may_be_marked, self.ect());
        }
        Flags::default()
            .with_if(self.echo, Flags::ECE)
            .with_if(self.echoes() && self.each_mark, Flags::ECT)
    }

    /// [`Self::flags`] before the echo last changed.
    pub fn flags_before_change(&self) -> Flags {
        Ecn { echo: !self.echo, ..*self }.flags()
    }

    /// Additional flags of data. Retransmissions are not ECN-capable (RFC 3168 section 6.1.5).
    #[inline(always)]
    pub fn data_flags(&self, retransmission: bool, cwr: bool) -> Flags {
        if self.mode == EcnMode::Off {
            return Flags::default();
        }
        Flags::default()
            .with_if(cwr && self.echoes(), Flags::CWR)
            .with_if(self.may_be_marked && !retransmission, self.ect())
    }

    /// Flags of a SYN, or of a SYN-ACK if `answer` (RFC 3168 section 6.1.1, RFC 9768 section 3.1).
    pub fn handshake_flags(&self, answer: bool) -> Flags {
        match (self.mode, answer) {
            (EcnMode::Off, _) => Flags::default(),
            (EcnMode::Classic, _) => {
                Flags::ECE.with_if(!answer, Flags::CWR).with_if(self.each_mark, Flags::ECT)
            }
            (EcnMode::Accurate, false) => Flags::AE.with(Flags::CWR).with(Flags::ECE),
            (EcnMode::Accurate, true) => ace::flags(self.arrived_as),
        }
    }

    /// Flags of the final ACK of the handshake.
    pub fn end_of_handshake_flags(&mut self) -> Flags {
        if self.counts() { ace::flags(self.arrived_as) } else { self.flags() }
    }

    /// Whether arriving data with these flags changes nothing ([`Self::receive`]).
    #[inline(always)]
    pub fn ignores(&self, flags: Flags) -> bool {
        let says_nothing = flags.among(Flags::CE.with(Flags::CWR)) == Flags::default();
        match self.mode {
            EcnMode::Off => true,
            EcnMode::Classic => !self.each_mark && says_nothing,
            EcnMode::Accurate => false,
        }
    }

    /// Process arriving data.
    pub fn receive(&mut self, flags: Flags) -> EchoChange {
        let marked = flags.has(Flags::CE);
        match self.mode {
            EcnMode::Off => return EchoChange::None,
            EcnMode::Classic => {}
            EcnMode::Accurate if self.marks.receive(marked, true, true) => {
                return EchoChange::Counted;
            }
            EcnMode::Accurate => return EchoChange::None,
        }
        let before = self.echo;
        if self.each_mark {
            self.echo = marked;
            // Linux acknowledges data with CWR at once (`tcp_ecn_accept_cwr`).
            return match before == marked {
                false => EchoChange::Changes,
                true if flags.has(Flags::CWR) => EchoChange::SenderReduced,
                true => EchoChange::None,
            };
        }
        // RFC 3168 section 6.1.3: ECE until CWR.
        let reduced = flags.has(Flags::CWR);
        let goes_on = before && !reduced;
        self.echo = goes_on || marked;
        match (reduced, marked && !goes_on) {
            (true, true) => EchoChange::BeginsAgain,
            (true, false) => EchoChange::SenderReduced,
            (false, true) => EchoChange::Begins,
            (false, false) => EchoChange::None,
        }
    }

    /// Process a segment without data; `data_waits`: unacknowledged data waits. Returns whether its
    /// mark must be reported at once.
    pub fn receive_control(&mut self, flags: Flags, data_waits: bool) -> bool {
        self.counts() && self.marks.receive(flags.has(Flags::CE), false, data_waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_on_what_confirms_a_reduction_begins_the_echo_again() {
        let mut ecn = Ecn::new(EcnMode::Classic, EcnFeedback::default());
        assert_eq!(ecn.receive(Flags::CE), EchoChange::Begins);
        assert_eq!(ecn.receive(Flags::CE), EchoChange::None);
        assert_eq!(ecn.receive(Flags::CE.with(Flags::CWR)), EchoChange::BeginsAgain);
        assert!(ecn.echo);
        assert_eq!(ecn.receive(Flags::CWR), EchoChange::SenderReduced);
        assert!(!ecn.echo);
    }

    #[test]
    fn a_receiver_that_echoes_each_mark_answers_a_reduced_sender_at_once() {
        let mut ecn = Ecn::new(EcnMode::Off, EcnFeedback::Accurate);
        assert_eq!(ecn.receive(Flags::default()), EchoChange::None);
        assert_eq!(ecn.receive(Flags::CWR), EchoChange::SenderReduced);
        // A change of the echo is answered at once anyway.
        assert_eq!(ecn.receive(Flags::CE.with(Flags::CWR)), EchoChange::Changes);
        assert_eq!(ecn.receive(Flags::CE), EchoChange::None);
    }
}
