//! The TCP stack of an experiment: a preset, the experiment's switches, a flow's own switches.

use fairway_cc::{SlowStart, SlowStartError, Variant};
use fairway_tcp::{DelayedAck, LossDetection, PRESETS, Preset, Recovery, Stack};
use fairway_units::{Bytes, Duration};
use serde_json::{Value, json};

use super::reader::{Name, Segments, SegmentsOrUnlimited, Size, SwitchOrDuration, Table};

/// IPv4 (RFC 791) and TCP (RFC 9293 section 3.1) headers without options.
pub(super) const HEADERS: u64 = 20 + 20;
/// The timestamp option with its padding (RFC 7323 appendix A).
pub(super) const TIMESTAMP_OPTION: u64 = 12;
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
/// Delay of acknowledgements where the preset has none: RFC 5681 section 4.2 allows 500 ms,
/// 200 ms is common practice.
const USUAL_ACK_DELAY: Duration = Duration::from_millis(200);

/// The size of a full packet, as it was written.
#[derive(Clone, Copy, PartialEq)]
enum PacketSize {
    Mss(u64),
    Mtu(u64),
}

/// The switches that are written, in one table or in one over another.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Switches {
    packet_size: Option<PacketSize>,
    initial_window: Option<Segments>,
    initial_ssthresh: Option<SegmentsOrUnlimited>,
    send_buffer: Option<Size>,
    receive_buffer: Option<Size>,
    sack: Option<bool>,
    fack: Option<bool>,
    timestamps: Option<bool>,
    window_scaling: Option<bool>,
    delayed_ack: Option<SwitchOrDuration>,
    limited_transmit: Option<bool>,
    reordering: Option<Segments>,
    recovery: Option<Name>,
    grow_on_exit: Option<bool>,
    rto_min: Option<Duration>,
    rto_max: Option<Duration>,
    rto_initial: Option<Duration>,
    rto_granularity: Option<Duration>,
    rto_min_bounds_variance: Option<bool>,
    rto_restart_on_every_ack: Option<bool>,
    ecn: Option<bool>,
    window_divisor: Option<u64>,
    max_burst: Option<SegmentsOrUnlimited>,
    send_jitter: Option<Duration>,
    slow_start: Option<Name>,
    max_ssthresh: Option<Segments>,
    slow_start_after_idle: Option<bool>,
}

impl Switches {
    /// The switches written in a table.
    pub(super) fn read(table: &Table) -> Self {
        Switches {
            packet_size: read_packet_size(table),
            initial_window: table.read("initial_window"),
            initial_ssthresh: table.read("initial_ssthresh"),
            send_buffer: table.read("send_buffer"),
            receive_buffer: table.read("receive_buffer"),
            sack: table.read("sack"),
            fack: table.read("fack"),
            timestamps: table.read("timestamps"),
            window_scaling: table.read("window_scaling"),
            delayed_ack: table.read("delayed_ack"),
            limited_transmit: table.read("limited_transmit"),
            reordering: table.read("reordering"),
            recovery: table.read("recovery"),
            grow_on_exit: table.read("grow_on_exit"),
            rto_min: table.read("rto_min"),
            rto_max: table.read("rto_max"),
            rto_initial: table.read("rto_initial"),
            rto_granularity: table.read("rto_granularity"),
            rto_min_bounds_variance: table.read("rto_min_bounds_variance"),
            rto_restart_on_every_ack: table.read("rto_restart_on_every_ack"),
            ecn: table.read("ecn"),
            window_divisor: table.read("window_divisor"),
            max_burst: table.read("max_burst"),
            send_jitter: table.read("send_jitter"),
            slow_start: table.read("slow_start"),
            max_ssthresh: table.read("max_ssthresh"),
            slow_start_after_idle: table.read("slow_start_after_idle"),
        }
    }

    /// These switches where they are written, those of `base` elsewhere.
    fn over(self, base: Switches) -> Self {
        Switches {
            packet_size: self.packet_size.or(base.packet_size),
            initial_window: self.initial_window.or(base.initial_window),
            initial_ssthresh: self.initial_ssthresh.or(base.initial_ssthresh),
            send_buffer: self.send_buffer.or(base.send_buffer),
            receive_buffer: self.receive_buffer.or(base.receive_buffer),
            sack: self.sack.or(base.sack),
            fack: self.fack.or(base.fack),
            timestamps: self.timestamps.or(base.timestamps),
            window_scaling: self.window_scaling.or(base.window_scaling),
            delayed_ack: self.delayed_ack.or(base.delayed_ack),
            limited_transmit: self.limited_transmit.or(base.limited_transmit),
            reordering: self.reordering.or(base.reordering),
            recovery: self.recovery.or(base.recovery),
            grow_on_exit: self.grow_on_exit.or(base.grow_on_exit),
            rto_min: self.rto_min.or(base.rto_min),
            rto_max: self.rto_max.or(base.rto_max),
            rto_initial: self.rto_initial.or(base.rto_initial),
            rto_granularity: self.rto_granularity.or(base.rto_granularity),
            rto_min_bounds_variance: self.rto_min_bounds_variance.or(base.rto_min_bounds_variance),
            rto_restart_on_every_ack: self
                .rto_restart_on_every_ack
                .or(base.rto_restart_on_every_ack),
            ecn: self.ecn.or(base.ecn),
            window_divisor: self.window_divisor.or(base.window_divisor),
            max_burst: self.max_burst.or(base.max_burst),
            send_jitter: self.send_jitter.or(base.send_jitter),
            slow_start: self.slow_start.or(base.slow_start),
            max_ssthresh: self.max_ssthresh.or(base.max_ssthresh),
            slow_start_after_idle: self.slow_start_after_idle.or(base.slow_start_after_idle),
        }
    }
}

fn read_packet_size(table: &Table) -> Option<PacketSize> {
    if table.has("mss") && table.has("mtu") {
        table.refuse("mtu", "mss is written too, and one follows from the other; remove one");
        return None;
    }
    let bytes: Bytes = table.read(if table.has("mtu") { "mtu" } else { "mss" })?;
    Some(if table.has("mtu") { PacketSize::Mtu(bytes.get()) } else { PacketSize::Mss(bytes.get()) })
}

/// A preset with the switches of an experiment.
pub(super) struct StackText {
    preset: Stack,
    switches: Switches,
}

impl StackText {
    /// Reads `[stack]`, which may be absent.
    pub(super) fn read(table: Option<&Table>) -> Self {
        let preset = |name: &str| PRESETS.iter().find(|preset| preset.name == name);
        let Some(table) = table else {
            return StackText { preset: default_stack(), switches: Switches::default() };
        };
        table.refuse_unknown_keys();
        let named = table.read("preset").and_then(|Name(name)| preset(name));
        let mut stack = named.map_or_else(default_stack, |preset| (preset.stack)());
        if let Some(variant) = table.read("cc_variant").and_then(|Name(v)| Variant::from_name(v)) {
            stack.cc_variant = variant;
        }
        StackText { preset: stack, switches: Switches::read(table) }
    }

    /// The stack of a flow that sets nothing; contradictions are reported at `[stack]`.
    pub(super) fn build(&self, table: Option<&Table>) -> Stack {
        match table {
            Some(table) => apply(&self.preset, self.switches, table),
            None => self.preset.clone(),
        }
    }

    /// The stack of a flow that may have its own switches; contradictions between them and
    /// `[stack]` are reported at the flow. `common` is the stack of a flow that has none.
    pub(super) fn build_for(&self, flow: &Table, common: &Stack) -> Stack {
        let own = Switches::read(flow);
        if own == Switches::default() {
            return common.clone();
        }
        apply(&self.preset, own.over(self.switches), flow)
    }
}

/// Every switch of a stack as it would be written in an experiment file.
pub fn switches(stack: &Stack) -> Value {
    let segments = |n: u32| Value::from(format!("{n} segments"));
    let or_unlimited = |n: Option<u32>| n.map_or_else(|| Value::from("unlimited"), segments);
    let bytes = |n: u64| Value::from(Bytes::new(n).to_string());
    json!({
        "cc_variant": stack.cc_variant.name(),
        "mss": bytes(u64::from(stack.mss)),
        "initial_window": segments(stack.initial_window),
        "initial_ssthresh": or_unlimited(stack.initial_ssthresh),
        "send_buffer": bytes(stack.send_buffer),
        "receive_buffer": bytes(stack.receive_buffer),
        "window_divisor": stack.window_divisor,
        "sack": stack.sack,
        "fack": stack.loss_detection == LossDetection::Fack,
        "timestamps": stack.timestamps,
        "window_scaling": stack.window_scaling,
        "ecn": stack.ecn,
        "reordering": segments(stack.reordering),
        "recovery": match stack.recovery {
            Recovery::Rfc => "rfc",
            Recovery::TcpLinux => "tcp-linux",
        },
        "grow_on_exit": stack.grow_on_exit,
        "limited_transmit": stack.limited_transmit,
        "delayed_ack": match stack.delayed_ack {
            DelayedAck::Off => Value::from(false),
            DelayedAck::EverySecond { timeout } => Value::from(timeout.to_string()),
        },
        "rto_initial": stack.rto.initial.to_string(),
        "rto_min": stack.rto.min.to_string(),
        "rto_max": stack.rto.max.to_string(),
        "rto_granularity": stack.rto.granularity.to_string(),
        "rto_min_bounds_variance": stack.rto.min_bounds_variance,
        "rto_restart_on_every_ack": stack.rto_restart_on_every_ack,
        "max_burst": or_unlimited(stack.max_burst),
        "send_jitter": stack.send_jitter.to_string(),
        "slow_start": stack.slow_start.as_ref().map(SlowStart::name),
        "slow_start_after_idle": stack.slow_start_after_idle,
    })
}

/// The first preset, which is the default.
fn default_stack() -> Stack {
    let Preset { stack, .. } = PRESETS[0];
    stack()
}

/// The preset with the switches, checked against each other.
fn apply(preset: &Stack, switches: Switches, table: &Table) -> Stack {
    let mut stack = preset.clone();
    let set = |target: &mut bool, value: Option<bool>| *target = value.unwrap_or(*target);
    set(&mut stack.sack, switches.sack);
    set(&mut stack.timestamps, switches.timestamps);
    set(&mut stack.window_scaling, switches.window_scaling);
    set(&mut stack.limited_transmit, switches.limited_transmit);
    set(&mut stack.grow_on_exit, switches.grow_on_exit);
    set(&mut stack.rto_restart_on_every_ack, switches.rto_restart_on_every_ack);
    set(&mut stack.ecn, switches.ecn);
    set(&mut stack.slow_start_after_idle, switches.slow_start_after_idle);
    if let Some(Segments(segments)) = switches.initial_window {
        stack.initial_window = segments;
    }
    if let Some(SegmentsOrUnlimited(segments)) = switches.initial_ssthresh {
        stack.initial_ssthresh = segments;
        stack.initial_ssthresh_of = &[];
    }
    if let Some(Segments(segments)) = switches.reordering {
        stack.reordering = segments;
    }
    if let Some(SegmentsOrUnlimited(segments)) = switches.max_burst {
        stack.max_burst = segments;
    }
    if let Some(divisor) = switches.window_divisor {
        stack.window_divisor = u32::try_from(divisor).unwrap_or(u32::MAX);
    }
    if let Some(jitter) = switches.send_jitter {
        stack.send_jitter = jitter;
    }
    if let Some(Name(name)) = switches.recovery {
        stack.recovery = if name == "tcp-linux" { Recovery::TcpLinux } else { Recovery::Rfc };
    }
    if let Some(fack) = switches.fack {
        stack.loss_detection = if fack { LossDetection::Fack } else { LossDetection::Rfc6675 };
        if fack && !stack.sack {
            table.refuse("fack", "forward acknowledgement needs sack = true");
        }
    }
    apply_delayed_ack(&mut stack, switches);
    apply_rto(&mut stack, switches, table);
    apply_slow_start(&mut stack, switches, table);
    apply_sizes(&mut stack, switches, table);
    stack
}

fn apply_delayed_ack(stack: &mut Stack, switches: Switches) {
    let delay = match (switches.delayed_ack, stack.delayed_ack) {
        (None, _) => return,
        (Some(SwitchOrDuration::Switch(false)), _) => None,
        (Some(SwitchOrDuration::Switch(true)), DelayedAck::EverySecond { timeout }) => {
            Some(timeout)
        }
        (Some(SwitchOrDuration::Switch(true)), DelayedAck::Off) => Some(USUAL_ACK_DELAY),
        (Some(SwitchOrDuration::Duration(timeout)), _) => Some(timeout),
    };
    stack.delayed_ack =
        delay.map_or(DelayedAck::Off, |timeout| DelayedAck::EverySecond { timeout });
}

fn apply_rto(stack: &mut Stack, switches: Switches, table: &Table) {
    let rto = &mut stack.rto;
    rto.min = switches.rto_min.unwrap_or(rto.min);
    rto.max = switches.rto_max.unwrap_or(rto.max);
    rto.initial = switches.rto_initial.unwrap_or(rto.initial);
    rto.granularity = switches.rto_granularity.unwrap_or(rto.granularity);
    rto.min_bounds_variance = switches.rto_min_bounds_variance.unwrap_or(rto.min_bounds_variance);
    if rto.min == Duration::ZERO {
        table.refuse("rto_min", "expected more than zero, got \"0 s\"; write \"1 ms\"");
    }
    if rto.min > rto.max {
        let (min, max) = (rto.min, rto.max);
        table
            .refuse("rto_min", format!("{min} is above rto_max, {max}; lower it or raise rto_max"));
    } else if rto.initial > rto.max || rto.initial < rto.min {
        let (initial, min, max) = (rto.initial, rto.min, rto.max);
        table.refuse(
            "rto_initial",
            format!("{initial} is outside rto_min to rto_max, {min} to {max}; set it between them"),
        );
    }
}

fn apply_slow_start(stack: &mut Stack, switches: Switches, table: &Table) {
    let max = switches.max_ssthresh.map(|Segments(max)| max);
    let Some(Name(name)) = switches.slow_start else {
        if max.is_some() {
            let message = "needs slow_start = \"limited\" or \"per-ack\"; write one or remove it";
            table.refuse("max_ssthresh", message);
        }
        return;
    };
    match SlowStart::from_name(name, max) {
        Ok(slow_start) => stack.slow_start = Some(slow_start),
        Err(error @ SlowStartError::UnknownName { .. }) => {
            table.refuse("slow_start", error.to_string());
        }
        Err(SlowStartError::Superfluous { .. }) => {
            let message = format!("slow_start = \"{name}\" takes none; remove it");
            table.refuse("max_ssthresh", message);
        }
        Err(SlowStartError::TooSmall { value }) => {
            let message =
                format!("expected 2 segments or more, got {value}; write \"100 segments\"");
            table.refuse("max_ssthresh", message);
        }
    }
}

fn apply_sizes(stack: &mut Stack, switches: Switches, table: &Table) {
    let options = if stack.timestamps { TIMESTAMP_OPTION } else { 0 };
    let mss = match switches.packet_size {
        None => u64::from(stack.mss),
        Some(PacketSize::Mss(bytes)) => {
            let max = MAX_MTU - HEADERS - options;
            refuse_outside(table, "mss", bytes, MIN_MSS, max);
            bytes.clamp(MIN_MSS, max)
        }
        Some(PacketSize::Mtu(bytes)) => {
            refuse_outside(table, "mtu", bytes, MIN_MTU, MAX_MTU);
            bytes.clamp(MIN_MTU, MAX_MTU) - HEADERS - options
        }
    };
    // At most 16 bits, by the clamps above.
    stack.mss = u32::try_from(mss).unwrap_or(u32::MAX);
    let buffer = |name: &str, size: Option<Size>, preset: u64| {
        let bytes = match size {
            None => return preset,
            Some(Size::Bytes(bytes)) => bytes,
            Some(Size::Segments(segments)) => u64::from(segments) * mss,
        };
        refuse_outside(table, name, bytes, mss, MAX_BUFFER);
        bytes
    };
    stack.send_buffer = buffer("send_buffer", switches.send_buffer, stack.send_buffer);
    stack.receive_buffer = buffer("receive_buffer", switches.receive_buffer, stack.receive_buffer);
    let window = stack.receive_buffer.min(stack.send_buffer) / mss.max(1);
    if window > MAX_WINDOW_SEGMENTS {
        let message = format!(
            "a window of {window} segments of {mss} bytes is more than a run can hold; write a \
             smaller buffer, or mss, for {MAX_WINDOW_SEGMENTS} segments"
        );
        table.refuse("receive_buffer", message);
    }
    if stack.initial_window > MAX_INITIAL_WINDOW {
        let message = format!(
            "expected at most {MAX_INITIAL_WINDOW} segments, got {}; write \"10 segments\"",
            stack.initial_window
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
