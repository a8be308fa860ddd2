//! A script that was read: typed events with the places where they stand.

use fairway_units::{Duration, Time};

use crate::expression::Program;
use crate::position::Position;

/// A script.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// `--name=value` lines.
    pub settings: Vec<Setting>,
    /// Shell commands before the first event.
    pub commands: Vec<Commands>,
    /// What happens, in order.
    pub events: Vec<Event>,
}

/// A `--name=value` line.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Where it stands.
    pub at: Position,
    /// Name, hyphens written as underscores.
    pub name: String,
    /// Value, if there is one.
    pub value: Option<String>,
}

/// Shell commands between backquotes.
#[derive(Clone, PartialEq, Debug)]
pub struct Commands {
    /// Where they stand.
    pub at: Position,
    /// The commands.
    pub text: String,
}

/// When something happens or is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// At any time.
    Any,
    /// At a time of the script, or between two.
    At(Time, Option<Time>),
    /// So long after the event before, or between two such times.
    After(Duration, Option<Duration>),
}

/// Something that happens or is expected.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Where it stands.
    pub at: Position,
    /// When.
    pub when: When,
    /// What.
    pub action: Action,
    /// The event as written, its time left off, in one line.
    pub text: String,
}

/// What happens or is expected.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// This segment arrives.
    Inbound(Segment),
    /// This segment is sent.
    Outbound(Segment),
    /// The application calls this.
    Call(Call),
    /// Shell commands.
    Commands(Commands),
    /// Assertions and the like.
    Code(Program),
}

/// A TCP segment as it is written, numbers as in the header.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Segment {
    /// Control bits.
    pub flags: Bits,
    /// Explicit congestion notification in the IP header, if written.
    pub ip_ecn: Option<IpEcn>,
    /// Sequence number.
    pub seq: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// Acknowledgement number, if written.
    pub ack: Option<u32>,
    /// Window field, if written.
    pub window: Option<u16>,
    /// Options.
    pub options: Options,
}

/// Control bits of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    /// S
    pub syn: bool,
    /// F
    pub fin: bool,
    /// P
    pub psh: bool,
    /// .
    pub ack: bool,
    /// E
    pub ece: bool,
    /// W
    pub cwr: bool,
    /// A
    pub ae: bool,
}

/// The two bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpEcn {
    /// `noecn`
    NotCapable,
    /// `ect0`
    Ect0,
    /// `ect1`
    Ect1,
    /// `ect01`: either of them.
    Either,
    /// `ce`
    Marked,
}

/// TCP options of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Options {
    /// `<...>`: not looked at.
    Unseen,
    /// None are written.
    #[default]
    None,
    /// These; padding is left out.
    These(OptionList),
}

/// Options that are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OptionList {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Timestamp: value, echo.
    pub timestamp: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: Vec<(u32, u32)>,
}

/// A call of the application.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// When it returns, if written: the application waits in it.
    pub returns: Option<When>,
    /// Where the name stands.
    pub at: Position,
    /// Name.
    pub name: String,
    /// Arguments.
    pub arguments: Vec<Argument>,
    /// What it returns.
    pub result: i64,
    /// Where the result stands.
    pub result_at: Position,
    /// Name of the error, if one is written.
    pub errno: Option<String>,
}

/// An argument of a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// `...`
    Unseen,
    /// A number.
    Number(i64),
    /// A constant; several joined by `|` are one list.
    Names(Vec<String>),
    /// Text in quotes.
    Text(String),
    /// `[a, b]`
    List(Vec<Argument>),
    /// `{…}`: a structure, which nothing looks into.
    Structure,
}
