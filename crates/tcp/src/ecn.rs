//! Congestion marks at one end: whether they are in use, what its packets carry, what it echoes.

pub mod ace;

use fairway_cc::EcnFeedback;

use crate::segment::Flags;
use ace::MarkCount;

/// How marks are fed back: what an end asks for, and after the handshake what both agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnMode {
    /// Nothing may be marked.
    Off,
    /// An echo until the sender says that it has reduced its window (RFC 3168).
    Classic,
    /// A count of marked packets in every segment (accurate ECN, RFC 9768), without the option that
    /// counts bytes (its section 3.2.3); one of the others with an end that does not know it.
    Accurate,
}

impl EcnMode {
    /// How accurate feedback is called.
    pub const ACCURATE: &'static str = "accurate";
}

/// Explicit congestion notification as one end knows it.
#[derive(Clone, Copy, Debug)]
pub struct Ecn {
    /// Offered; after the handshake, agreed on.
    mode: EcnMode,
    /// The algorithm asked for an echo of each mark (RFC 8257).
    each_mark: bool,
    /// And for ECT(1) where marks are counted.
    scalable: bool,
    echo: bool,
    /// With accurate feedback, whether this end's packets may be marked.
    may_be_marked: bool,
    /// What the peer's SYN, or answer to one, arrived as.
    arrived_as: u8,
    marks: MarkCount,
}

/// What arriving data means for the echo of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EchoChange {
    /// Nothing new.
    None,
    /// The echo of each mark has changed, which is to be told at once (RFC 8257 section 3.2).
    Changes,
    /// The count of marks is to be told at once.
    Counted,
    /// The echo begins.
    Begins,
    /// The sender says that it has reduced its window.
    SenderReduced,
}

impl Ecn {
    /// Offered if the stack's `switch` or the algorithm says so.
    pub fn new(switch: EcnMode, feedback: EcnFeedback) -> Self {
        let each_mark = feedback.is_accurate();
        let scalable = feedback == EcnFeedback::Scalable;
        let mode = if each_mark && switch == EcnMode::Off { EcnMode::Classic } else { switch };
        let marks = MarkCount::new(false);
        Ecn { mode, each_mark, scalable, echo: false, may_be_marked: true, arrived_as: 0, marks }
    }

    /// What the other end's SYN asks for.
    pub fn answer(&mut self, syn: Flags) {
        self.arrived_as = ace::arrived_as(syn);
        self.mode = match self.mode {
            EcnMode::Accurate => ace::asked_for(syn),
            // RFC 3168 section 6.1.1: ECE and CWR ask.
            mode if syn.has(Flags::ECE) => mode,
            _ => EcnMode::Off,
        };
    }

    /// What the other end's answer to this end's SYN agrees to.
    pub fn take_answer(&mut self, answer: Flags) {
        self.arrived_as = ace::arrived_as(answer);
        self.marks = MarkCount::new(answer.has(Flags::CE));
        self.mode = match self.mode {
            EcnMode::Accurate => ace::agreed_to(answer),
            // RFC 3168 section 6.1.1: ECE agrees.
            mode if answer.has(Flags::ECE) => mode,
            _ => EcnMode::Off,
        };
    }

    /// The acknowledgement alone of this end's answer came. What the sender counts from.
    pub fn end_handshake(&mut self, ack: Flags) -> u8 {
        let first = if self.counts() { ace::first_count(ack) } else { Some(ace::FIRST_COUNT) };
        self.may_be_marked = first.is_some();
        first.unwrap_or(ace::FIRST_COUNT)
    }

    /// Whether marks are echoed as RFC 3168 or the algorithm has it.
    pub fn echoes(&self) -> bool {
        self.mode == EcnMode::Classic
    }

    /// Whether marks are counted.
    pub fn counts(&self) -> bool {
        self.mode == EcnMode::Accurate
    }

    /// The count of marks that a segment brings, if it is heeded.
    pub fn count(&self, flags: Flags) -> Option<u8> {
        (self.counts() && self.may_be_marked).then(|| ace::field(flags))
    }

    /// What says that a packet may be marked. Without a count of marks a sender cannot answer their
    /// share well enough to use ECT(1) (RFC 9331 section 4.2).
    fn ect(&self) -> Flags {
        if self.scalable && self.counts() { Flags::ECT1 } else { Flags::ECT }
    }

    /// For every segment: the echo or count, and if the algorithm asks for each mark that it may be
    /// marked, which includes acknowledgements and retransmissions (Linux `tcp_ecn_send`).
    pub fn flags(&mut self) -> Flags {
        if self.counts() {
            return self.marks.tell().with_if(self.each_mark && self.may_be_marked, self.ect());
        }
        Flags::default()
            .with_if(self.echo, Flags::ECE)
            .with_if(self.echoes() && self.each_mark, Flags::ECT)
    }

    /// The same before the last change of the echo of each mark.
    pub fn flags_before_change(&self) -> Flags {
        Ecn { echo: !self.echo, ..*self }.flags()
    }

    /// For new data besides. RFC 3168 section 6.1.5: retransmissions may not be marked.
    pub fn data_flags(&self, retransmission: bool, cwr: bool) -> Flags {
        let may_be_marked = self.mode != EcnMode::Off && self.may_be_marked;
        Flags::default()
            .with_if(cwr && self.echoes(), Flags::CWR)
            .with_if(may_be_marked && !retransmission, self.ect())
    }

    /// For a SYN, or the `answer` to one (RFC 3168 section 6.1.1, RFC 9768 section 3.1).
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

    /// For the acknowledgement of an answer.
    pub fn end_of_handshake_flags(&mut self) -> Flags {
        if self.counts() { ace::flags(self.arrived_as) } else { self.flags() }
    }

    /// Data arrived; what that means for its acknowledgement.
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
            return if before == marked { EchoChange::None } else { EchoChange::Changes };
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

    /// A segment without data arrived, while data waits to be acknowledged or none does. Whether its
    /// mark is told at once.
    pub fn receive_control(&mut self, flags: Flags, data_waits: bool) -> bool {
        self.counts() && self.marks.receive(flags.has(Flags::CE), false, data_waits)
    }
}
