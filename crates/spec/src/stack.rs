//! The TCP stack of an experiment: a preset, the experiment's switches, a flow's own switches.

use fairway_cc::{SlowStart, SlowStartError};
use fairway_tcp::{PRESETS, Preset, Stack};
use fairway_units::{Bytes, Duration};
use serde_json::Value;

use super::reader::{Name, Readable, Segments, Table};
use super::switch::{Field, Switch};
use super::switches::OWN_SLOW_START;

/// IPv4 (RFC 791) and TCP (RFC 9293 section 3.1) headers without options.
pub const HEADERS: u64 = 20 + 20;
/// The timestamp option with its padding (RFC 7323 appendix A).
pub const TIMESTAMP_OPTION: u64 = 12;
/// Every host passes IP packets of 68 bytes on whole (RFC 791 section 3.2).
const MIN_MTU: u64 = 68;
/// Longest IPv4 packet: its length field has 16 bits.
const MAX_MTU: u64 = 65_535;
/// What the smallest packet leaves with both headers and timestamps.
const MIN_MSS: u64 = MIN_MTU - HEADERS - TIMESTAMP_OPTION;
/// Largest buffer, far above the largest window (1 GiB, RFC 7323 section 2.3).
const MAX_BUFFER: u64 = 1 << 40;
/// Segments of one window, at some 30 bytes each in a sender's memory.
const MAX_WINDOW_SEGMENTS: u64 = 20_000_000;
/// Largest initial window: all of it leaves in one instant.
const MAX_INITIAL_WINDOW: u32 = 100_000;
/// The switches that are written, in one table or in one over another.
#[derive(Clone, Default)]
pub(super) struct Switches {
    /// Every value can be read.
    written: Vec<(&'static Switch, Value)>,
}

impl Switches {
    /// The switches written in a table.
    pub(super) fn read(table: &Table) -> Self {
        let mut switches = Switches::default();
        let two_sizes = table.has("mss") && table.has("mtu");
        if two_sizes {
            table.refuse("mtu", "conflicts with mss, from which it follows; set only one");
        }
        for switch in table.switches() {
            let name = switch.key.name;
            let is_doubtful = two_sizes && is_packet_size(name);
            let Some(value) = table.raw(name).filter(|_| !is_doubtful) else { continue };
            // What a value means may depend on others; whether it can be read does not.
            match switch.set(&mut default_stack(), value) {
                Ok(()) => switches.written.push((switch, value.clone())),
                Err(message) => table.refuse(name, message),
            }
        }
        switches
    }

    /// These switches where they are written, those of `base` elsewhere.
    fn over(mut self, base: &Switches) -> Self {
        let has_size = self.has("mss") || self.has("mtu");
        for (switch, value) in &base.written {
            let name = switch.key.name;
            let is_set = self.has(name) || (has_size && is_packet_size(name));
            if !is_set {
                self.written.push((switch, value.clone()));
            }
        }
        self
    }

    /// Whether a switch is written.
    fn has(&self, name: &str) -> bool {
        self.written.iter().any(|(switch, _)| switch.key.name == name)
    }

    /// The value of a switch, if it is written.
    fn get<T: Readable>(&self, name: &str) -> Option<T> {
        let (switch, value) = self.written.iter().find(|(switch, _)| switch.key.name == name)?;
        T::read(value, &switch.key.kind).ok()
    }

    /// Sets the fields of those switches for which `which` is true.
    fn set(&self, stack: &mut Stack, which: impl Fn(&Field) -> bool) {
        for (switch, value) in self.written.iter().filter(|(switch, _)| which(&switch.field)) {
            // Refused when they were read, if at all.
            let _ = switch.set(stack, value);
        }
    }
}

/// Whether a key says the size of a full packet; one of them stands for both.
fn is_packet_size(name: &str) -> bool {
    matches!(name, "mss" | "mtu")
}

/// A preset with the switches of an experiment.
pub(super) struct StackText {
    preset: Stack,
    switches: Switches,
}

impl StackText {
    /// Reads `[stack]`, which may be absent.
    pub(super) fn read(table: Option<&Table>) -> Self {
        let Some(table) = table else {
            return StackText { preset: default_stack(), switches: Switches::default() };
        };
        table.refuse_unknown_keys();
        let named = table.read("preset").and_then(|Name(name)| Preset::named(name));
        let preset = named.map_or_else(default_stack, |preset| (preset.stack)());
        StackText { preset, switches: Switches::read(table) }
    }

    /// The stack of a flow that sets nothing; contradictions are reported at `[stack]`.
    pub(super) fn build(&self, table: Option<&Table>) -> Stack {
        match table {
            Some(table) => apply(&self.preset, &self.switches, table),
            None => self.preset.clone(),
        }
    }

    /// The stack of a flow that may have its own switches; contradictions between them and
    /// `[stack]` are reported at the flow. `common` is the stack of a flow that has none.
    pub(super) fn build_for(&self, flow: &Table, common: &Stack) -> Stack {
        let own = Switches::read(flow);
        if own.written.is_empty() {
            return common.clone();
        }
        apply(&self.preset, &own.over(&self.switches), flow)
    }
}

/// The first preset, which is the default.
fn default_stack() -> Stack {
    let Preset { stack, .. } = PRESETS[0];
    stack()
}

/// The preset with the switches, checked against each other.
fn apply(preset: &Stack, switches: &Switches, table: &Table) -> Stack {
    let mut stack = preset.clone();
    // Buffers may be in segments, whose size depends on other switches.
    let is_buffer = |field: &Field| matches!(field, Field::Buffer(_));
    switches.set(&mut stack, |field| !is_buffer(field));
    if switches.has("initial_ssthresh") {
        stack.window.initial_ssthresh_of = &[];
    }
    if switches.has("fack") && stack.losses.fack && !stack.options.sack {
        table.refuse("fack", "forward acknowledgement needs sack = true");
    }
    check_rto(&stack, table);
    settle_slow_start(&mut stack, switches, table);
    stack.options.mss = settle_mss(&stack, switches, table);
    switches.set(&mut stack, is_buffer);
    check_sizes(&stack, switches, table);
    stack
}

fn check_rto(stack: &Stack, table: &Table) {
    let (min, max, initial) = (stack.rto.rto_min, stack.rto.rto_max, stack.rto.rto_initial);
    if min == Duration::ZERO {
        table.refuse("rto_min", "expected more than zero, got \"0 s\"; try \"1 ms\"");
    }
    if min > max {
        table
            .refuse("rto_min", format!("{min} is above rto_max, {max}; lower it or raise rto_max"));
    } else if initial > max || initial < min {
        table.refuse(
            "rto_initial",
            format!("{initial} is outside rto_min to rto_max, {min} to {max}; set it between them"),
        );
    }
}

fn settle_slow_start(stack: &mut Stack, switches: &Switches, table: &Table) {
    let max = switches.get("max_ssthresh").map(|Segments(max)| max);
    let Some(Name(name)) = switches.get("slow_start") else {
        if max.is_some() {
            let message = "needs slow_start = \"limited\" or \"per-ack\"; write one or remove it";
            table.refuse("max_ssthresh", message);
        }
        return;
    };
    if name == OWN_SLOW_START && max.is_none() {
        stack.window.slow_start = None;
        return;
    }
    match SlowStart::from_name(name, max) {
        Ok(slow_start) => stack.window.slow_start = Some(slow_start),
        Err(_) if name == OWN_SLOW_START => refuse_max_ssthresh(table, name),
        Err(error @ SlowStartError::UnknownName { .. }) => {
            table.refuse("slow_start", error.to_string());
        }
        Err(SlowStartError::Superfluous { .. }) => refuse_max_ssthresh(table, name),
        Err(SlowStartError::TooSmall { value }) => {
            let message = format!("expected 2 segments or more, got {value}; try \"100 segments\"");
            table.refuse("max_ssthresh", message);
        }
    }
}

fn refuse_max_ssthresh(table: &Table, slow_start: &str) {
    let message = format!("slow_start = \"{slow_start}\" takes none; remove it");
    table.refuse("max_ssthresh", message);
}

/// Payload of a full segment.
fn settle_mss(stack: &Stack, switches: &Switches, table: &Table) -> u32 {
    let options = if stack.options.timestamps { TIMESTAMP_OPTION } else { 0 };
    let mss = if let Some(mss) = switches.get::<Bytes>("mss").map(Bytes::get) {
        let max = MAX_MTU - HEADERS - options;
        refuse_outside(table, "mss", mss, MIN_MSS, max);
        mss.clamp(MIN_MSS, max)
    } else if let Some(mtu) = switches.get::<Bytes>("mtu").map(Bytes::get) {
        refuse_outside(table, "mtu", mtu, MIN_MTU, MAX_MTU);
        mtu.clamp(MIN_MTU, MAX_MTU) - HEADERS - options
    } else {
        stack.options.mss.into()
    };
    // At most 16 bits, by the clamps above.
    u32::try_from(mss).unwrap_or(u32::MAX)
}

fn check_sizes(stack: &Stack, switches: &Switches, table: &Table) {
    let mss = u64::from(stack.options.mss);
    for (name, bytes) in [
        ("send_buffer", stack.buffers.send_buffer),
        ("receive_buffer", stack.buffers.receive_buffer),
    ] {
        if switches.has(name) {
            refuse_outside(table, name, bytes, mss, MAX_BUFFER);
        }
    }
    let window = stack.buffers.receive_buffer.min(stack.buffers.send_buffer) / mss.max(1);
    if window > MAX_WINDOW_SEGMENTS {
        let message = format!(
            "a window of {window} segments of {mss} bytes is more than a run can hold; write a \
             smaller buffer, or mss, for {MAX_WINDOW_SEGMENTS} segments"
        );
        table.refuse("receive_buffer", message);
    }
    if stack.window.initial_window > MAX_INITIAL_WINDOW {
        let message = format!(
            "expected at most {MAX_INITIAL_WINDOW} segments, got {}; try \"10 segments\"",
            stack.window.initial_window
        );
        table.refuse("initial_window", message);
    }
}

fn refuse_outside(table: &Table, name: &str, bytes: u64, min: u64, max: u64) {
    if !(min..=max).contains(&bytes) {
        let found = Bytes::new(bytes);
        table.refuse(
            name,
            format!("expected {min} to {max} bytes, got {found}; set it between them"),
        );
    }
}
