//! What a switch of the stack is: a key of experiment files that is a field of [`Stack`].
//!
//! A field is read, written, printed and described by its form alone, so the table in `switches`
//! is all that there is to say about a switch.

use fairway_tcp::{DelayedAck, EcnMode, Stack};
use fairway_units::{Bytes, Duration};
use serde_json::Value;

use super::keys::{Absent, Key, Kind};
use super::reader::{
    AckDelay, LINUX, Name, Readable, Segments, SegmentsOrUnlimited, Size, SwitchOrName,
};
use super::switches::{STACK_SWITCHES, SWITCHES};

/// Delay of acknowledgements where the preset has none: RFC 5681 section 4.2 allows 500 ms,
/// 200 ms is common practice.
const USUAL_ACK_DELAY: Duration = Duration::from_millis(200);

/// A switch.
pub(super) struct Switch {
    pub(super) key: Key,
    pub(super) field: Field,
}

impl Switch {
    /// A switch of that name, its values of the form of its field.
    pub(super) const fn new(
        name: &'static str,
        field: Field,
        example: &'static str,
        meaning: &'static str,
    ) -> Self {
        let key = Key { name, kind: field.kind(), absent: Absent::Explained, example, meaning };
        Switch { key, field }
    }

    /// Sets the field as it is written. Buffers in segments are of the stack's segments.
    pub(super) fn set(&self, stack: &mut Stack, value: &Value) -> Result<(), String> {
        self.field.set(stack, value, &self.key.kind)
    }
}

/// The field of a stack that holds a value.
type Accessor<T> = fn(&mut Stack) -> &mut T;

/// The field of a stack, and the form in which it is written.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// true or false.
    OnOff(Accessor<bool>),
    /// "40 ms".
    Duration(Accessor<Duration>),
    /// "10 segments".
    Segments(Accessor<u32>),
    /// "10 segments" or "unlimited".
    SegmentsOrUnlimited(Accessor<Option<u32>>),
    /// A whole number within bounds.
    Count { min: u64, max: u64, place: Accessor<u32> },
    /// One of a list of names.
    Choice(Choice),
    /// "64 KiB" or "30 segments".
    Buffer(Accessor<u64>),
    /// false, a delay, "linux", or true for what the preset does.
    DelayedAck(Accessor<DelayedAck>),
    /// false, true, or "accurate".
    Ecn(Accessor<EcnMode>),
    /// A key that means something together with others only, which `stack` settles; and how its
    /// value is printed, unless another key's says it.
    Linked(Kind, fn(&Stack) -> Option<Value>),
}

/// A field whose values have names.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    /// What is chosen, as errors call it.
    pub(super) thing: &'static str,
    pub(super) names: fn() -> Vec<&'static str>,
    pub(super) get: fn(&Stack) -> &'static str,
    pub(super) set: fn(&mut Stack, &str),
}

impl Field {
    const fn kind(self) -> Kind {
        match self {
            Field::OnOff(_) => Kind::Switch,
            Field::Duration(_) => Kind::Duration,
            Field::Segments(_) => Kind::Segments,
            Field::SegmentsOrUnlimited(_) => Kind::SegmentsOrUnlimited,
            Field::Count { min, max, .. } => Kind::Count { min, max },
            Field::Choice(Choice { thing, names, .. }) => Kind::Choice { thing, names },
            Field::Buffer(_) => Kind::SizeOrSegments,
            Field::DelayedAck(_) => Kind::AckDelay,
            Field::Ecn(_) => Kind::SwitchOr(EcnMode::ACCURATE),
            Field::Linked(kind, _) => kind,
        }
    }

    fn set(self, stack: &mut Stack, value: &Value, kind: &Kind) -> Result<(), String> {
        match self {
            Field::OnOff(place) => *place(stack) = Readable::read(value, kind)?,
            Field::Duration(place) => *place(stack) = Readable::read(value, kind)?,
            Field::Segments(place) => *place(stack) = Segments::read(value, kind)?.0,
            Field::SegmentsOrUnlimited(place) => {
                *place(stack) = SegmentsOrUnlimited::read(value, kind)?.0;
            }
            Field::Count { place, .. } => {
                let count = u64::read(value, kind)?;
                *place(stack) = u32::try_from(count).unwrap_or(u32::MAX);
            }
            Field::Choice(choice) => (choice.set)(stack, Name::read(value, kind)?.0),
            Field::Buffer(place) => {
                *place(stack) = match Size::read(value, kind)? {
                    Size::Bytes(bytes) => bytes,
                    Size::Segments(segments) => u64::from(segments) * u64::from(stack.options.mss),
                };
            }
            Field::DelayedAck(place) => {
                let delayed_ack = place(stack);
                *delayed_ack = match (AckDelay::read(value, kind)?, *delayed_ack) {
                    (AckDelay::Switch(false), _) => DelayedAck::Off,
                    (AckDelay::Switch(true), DelayedAck::Off) => {
                        DelayedAck::Counted { timeout: USUAL_ACK_DELAY }
                    }
                    (AckDelay::Switch(true), preset) => preset,
                    (AckDelay::Duration(timeout), _) => DelayedAck::Counted { timeout },
                    (AckDelay::Linux, _) => DelayedAck::Linux,
                };
            }
            Field::Ecn(place) => {
                *place(stack) = match SwitchOrName::read(value, kind)? {
                    SwitchOrName::Switch(false) => EcnMode::Off,
                    SwitchOrName::Switch(true) => EcnMode::Classic,
                    SwitchOrName::Name => EcnMode::Accurate,
                };
            }
            Field::Linked(..) => match kind {
                Kind::Size => drop(Bytes::read(value, kind)?),
                Kind::Segments => drop(Segments::read(value, kind)?),
                _ => drop(Name::read(value, kind)?),
            },
        }
        Ok(())
    }

    /// The value as it would be written.
    fn show(self, stack: &Stack) -> Option<Value> {
        // A place is for changing what is there; what is changed here is a copy.
        let copy = &mut stack.clone();
        Some(match self {
            Field::OnOff(place) => Value::from(*place(copy)),
            Field::Duration(place) => Value::from(place(copy).to_string()),
            Field::Segments(place) => segments(*place(copy)),
            Field::SegmentsOrUnlimited(place) => {
                place(copy).map_or_else(|| Value::from("unlimited"), segments)
            }
            Field::Count { place, .. } => Value::from(*place(copy)),
            Field::Choice(choice) => Value::from((choice.get)(stack)),
            Field::Buffer(place) => bytes(*place(copy)),
            Field::DelayedAck(place) => match *place(copy) {
                DelayedAck::Off => Value::from(false),
                DelayedAck::Counted { timeout } => Value::from(timeout.to_string()),
                DelayedAck::Linux => Value::from(LINUX),
            },
            Field::Ecn(place) => match *place(copy) {
                EcnMode::Off => Value::from(false),
                EcnMode::Classic => Value::from(true),
                EcnMode::Accurate => Value::from(EcnMode::ACCURATE),
            },
            Field::Linked(_, show) => return show(stack),
        })
    }
}

fn segments(count: u32) -> Value {
    Value::from(format!("{count} segments"))
}

/// A size as it would be written.
pub(super) fn bytes(count: u64) -> Value {
    Value::from(Bytes::new(count).to_string())
}

/// Every switch of a stack as it would be written in an experiment file.
pub fn switches(stack: &Stack) -> Value {
    let all = STACK_SWITCHES.iter().chain(SWITCHES);
    let shown = |switch: &Switch| Some((switch.key.name.to_owned(), switch.field.show(stack)?));
    Value::Object(all.filter_map(shown).collect())
}
