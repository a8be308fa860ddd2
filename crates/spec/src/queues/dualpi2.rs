//! DualPI2; and its keys.

use fairway_net::{DualPi2Config, DualScheduler, LowLatencyMarks, QdiscConfig};
use fairway_units::Duration;

use super::controlled::{read_time, read_tupdate};
use super::limits::{Sizing, mtu_bytes, read_packets};
use crate::keys::{Absent, Key, Kind, keys};
use crate::reader::{DurationOrPackets, Table};

/// The keys that only this has.
pub(super) static KEYS: &[Key] = keys! {
    "coupling_factor": Kind::Number { min: 0.0, max: 255.0 }, Absent::Default("2"), "2" =>
        "DualPI2: how many times the base probability packets of low latency are marked with (RFC 9332 section 2.1: k).";
    "step_thresh": Kind::DurationOrPackets, Absent::Default(r#""1 ms""#), r#""1 ms""# =>
        "DualPI2: wait, or packets behind, above which a packet of low latency is marked.";
    "ramp": Kind::Duration, Absent::Explained, r#""400 us""# =>
        "DualPI2: time over which the probability of such marks rises from 0 to 1 above a step_thresh that is a time (RFC 9332 appendix A.1, with 800 us); a step without it, as in Linux.";
    "min_qlen_step": Kind::Count { min: 0, max: 1_000_000 }, Absent::Default("0"), "0" =>
        "DualPI2: packets of low latency that must wait when one arrives for step_thresh to apply to it.";
    "classic_protection": Kind::Count { min: 0, max: 100 }, Absent::Default("10"), "10" =>
        "DualPI2: percent of the line that the classic queue has while packets wait in both.";
    "time_shift": Kind::Duration, Absent::Explained, r#""30 ms""# =>
        "DualPI2: instead of classic_protection, the packet leaves that has waited longest, if those of low latency are taken to have waited for so much longer (RFC 9332 appendix A.1).";
    "any_ect": Kind::Switch, Absent::Default("false"), "false" =>
        "DualPI2: whether packets that came as ECT(0) are of low latency too.";
    "drop_enqueue": Kind::Switch, Absent::Default("false"), "false" =>
        "DualPI2: whether its controller decides on packets as they arrive and not as they leave.";
    "drop_on_overload": Kind::Switch, Absent::Default("true"), "true" =>
        "DualPI2: whether packets of low latency are dropped too when marks no longer help, rather than wait until the limit is reached.";
};

pub(super) fn read_dualpi2(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let linux = DualPi2Config::default();
    let number = |name, default| table.read(name).unwrap_or(default);
    let switch = |name, default| table.read(name).unwrap_or(default);
    Some(QdiscConfig::DualPi2(DualPi2Config {
        target: read_time(table, "target", linux.target)?,
        update_interval: read_tupdate(table, linux.update_interval)?,
        alpha_hz: number("alpha", linux.alpha_hz),
        beta_hz: number("beta", linux.beta_hz),
        coupling: number("coupling_factor", linux.coupling),
        limit_packets: read_packets(table, linux.limit_packets, sizing)?,
        low_latency_marks: read_marks(table, linux.low_latency_marks)?,
        min_packets_for_marks: table.read("min_qlen_step").unwrap_or(linux.min_packets_for_marks),
        scheduler: read_scheduler(table, linux.scheduler)?,
        any_ect: switch("any_ect", linux.any_ect),
        drop_early: switch("drop_enqueue", linux.drop_early),
        drop_on_overload: switch("drop_on_overload", linux.drop_on_overload),
        mtu_bytes: mtu_bytes(sizing),
    }))
}

fn read_marks(table: &Table, default: LowLatencyMarks) -> Option<LowLatencyMarks> {
    let step = match table.read("step_thresh") {
        None => default,
        Some(DurationOrPackets::Duration(wait)) => LowLatencyMarks::StepTime(wait),
        Some(DurationOrPackets::Packets(packets)) => LowLatencyMarks::StepPackets(packets),
    };
    let Some(range) = table.read::<Duration>("ramp") else { return Some(step) };
    let LowLatencyMarks::StepTime(from) = step else {
        return table
            .wrong("ramp", "needs a step_thresh that is a time; write step_thresh = \"800 us\"");
    };
    Some(LowLatencyMarks::Ramp { from, range })
}

fn read_scheduler(table: &Table, default: DualScheduler) -> Option<DualScheduler> {
    let percent = table.read::<u64>("classic_protection");
    let shift = table.read("time_shift");
    match (percent, shift) {
        (Some(_), Some(_)) => {
            let message = "conflicts with classic_protection; set only one";
            table.wrong("time_shift", message)
        }
        (Some(percent), None) => Some(DualScheduler::Weighted { classic_percent: percent as u8 }),
        (None, Some(shift)) => Some(DualScheduler::TimeShifted { shift }),
        (None, None) => Some(default),
    }
}
