//! TCP through a WLAN cell: documents in and out.

use fairway_model::wlan::{
    Backoff, Cell, ChainState, Contention, Direction, Flow, FlowAnswer, Head, Literature,
    Occupancy, Prediction, Saturation, Setting, Times, literature,
};
use fairway_phy::{Preamble, Slot, Standard};
use fairway_units::Rate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

/// How the medium is accessed: as a standard has it, or as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Access {
    standard: String,
    preamble: String,
    slot: String,
    protection: bool,
    rate_bps: Option<u64>,
    control_rate_bps: Option<u64>,
    packet_bytes: u32,
    ack_bytes: u32,
    attempts: Option<u32>,
    times: Option<WrittenTimes>,
    cw_min: Option<u32>,
    cw_max: Option<u32>,
}

/// Instead of those of the standard, in microseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTimes {
    slot_us: f64,
    data_us: f64,
    ack_us: f64,
    data_collision_us: f64,
    ack_collision_us: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CellQuestion {
    access: Access,
    flows: Vec<FlowQuestion>,
    packets_per_ack: u32,
    ack_timer_s: f64,
    wire_rtt_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowQuestion {
    is_upload: bool,
    window_packets: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaturationQuestion {
    access: Access,
    stations: u32,
}

/// What uploads and downloads with windows get through one access point.
///
/// Question and answer are JSON. Raises ValueError for what makes no sense.
#[pyfunction]
pub(crate) fn model_wlan(py: Python<'_>, question: &str) -> PyResult<String> {
    let question: CellQuestion = serde_json::from_str(question).map_err(refused)?;
    let (times, backoff) = access(&question.access)?;
    let flow = |flow: &FlowQuestion| Flow {
        direction: if flow.is_upload { Direction::Upload } else { Direction::Download },
        window_packets: flow.window_packets,
    };
    let cell = Cell {
        times,
        backoff,
        flows: question.flows.iter().map(flow).collect(),
        packets_per_ack: question.packets_per_ack,
        ack_timer_s: question.ack_timer_s,
        wire_rtt_s: question.wire_rtt_s,
    };
    let answer = py.detach(|| cell.predict()).map_err(refused)?;
    let of_literature = if cell.packets_per_ack == 1 {
        let of =
            |direction| cell.flows.iter().filter(|flow| flow.direction == direction).count() as u32;
        let (downloads, uploads) = (of(Direction::Download), of(Direction::Upload));
        let found = literature(downloads, uploads, backoff, &times).map_err(refused)?;
        Some(literature_json(&found.value, found.outside))
    } else {
        None
    };
    let mut document = prediction_json(&answer.value);
    document["times"] = times_json(&times);
    document["literature"] = json!(of_literature);
    document["in_range"] = json!(answer.in_range());
    document["outside"] = json!(answer.outside);
    Ok(document.to_string())
}

/// What stations send that always have packets of data: Bianchi's model, or with a limit of attempts that
/// of Kumar et al.
///
/// Question and answer are JSON. Raises ValueError for what makes no sense.
#[pyfunction]
pub(crate) fn model_saturation(question: &str) -> PyResult<String> {
    let question: SaturationQuestion = serde_json::from_str(question).map_err(refused)?;
    let (times, backoff) = access(&question.access)?;
    let found = backoff.saturation(question.stations, &times).map_err(refused)?;
    let Saturation { contention, idle, success, packets_per_s } = found;
    let mut document = contention_json(&contention);
    document["idle"] = json!(idle);
    document["success"] = json!(success);
    document["packets_per_s"] = json!(packets_per_s);
    document["times"] = times_json(&times);
    Ok(document.to_string())
}

fn access(access: &Access) -> PyResult<(Times, Backoff)> {
    let name = access.standard.as_str();
    let standard = Standard::named(name).ok_or_else(|| {
        let known = Standard::ALL.map(Standard::name).join(", ");
        PyValueError::new_err(format!("standard: there is no model of \"{name}\"; write {known}"))
    })?;
    let setting = Setting {
        standard,
        preamble: if access.preamble == "short" { Preamble::Short } else { Preamble::Long },
        slot: if access.slot == "long" { Slot::Long } else { Slot::Short },
        is_protected: access.protection,
        rate: access.rate_bps.map(Rate::from_bps),
        control_rate: access.control_rate_bps.map(Rate::from_bps),
        data_bytes: access.packet_bytes,
        ack_bytes: access.ack_bytes,
        attempts: access.attempts,
    };
    let (times, backoff) = setting.access().map_err(refused)?;
    let times = access.times.as_ref().map_or(times, |written| Times {
        slot_us: written.slot_us,
        data_us: written.data_us,
        ack_us: written.ack_us,
        data_collision_us: written.data_collision_us,
        ack_collision_us: written.ack_collision_us,
    });
    let backoff = Backoff {
        cw_min: access.cw_min.unwrap_or(backoff.cw_min),
        cw_max: access.cw_max.unwrap_or(backoff.cw_max),
        ..backoff
    };
    Ok((times, backoff))
}

fn prediction_json(prediction: &Prediction) -> Value {
    let list = |found: Vec<Value>| Value::Array(found);
    json!({
        "packets_per_s": prediction.packets_per_s,
        "download_packets_per_s": prediction.download_packets_per_s,
        "upload_packets_per_s": prediction.upload_packets_per_s,
        "success_us": prediction.success_us,
        "access_point_share": prediction.access_point_share,
        "given_up": prediction.given_up,
        "flows": list(prediction.flows.iter().map(flow_json).collect()),
        "contention": list(prediction.contention.iter().map(contention_json).collect()),
        "active_at_successes": prediction.active_at_successes,
        "active_at_any_time": prediction.active_at_any_time,
        "occupancy": list(prediction.occupancy.iter().map(occupancy_json).collect()),
        "chain": prediction.chain.as_ref().map(|chain| {
            list(chain.iter().map(state_json).collect())
        }),
    })
}

fn flow_json(flow: &FlowAnswer) -> Value {
    json!({
        "packets_per_s": flow.packets_per_s,
        "share": flow.share,
        "rtt_s": flow.rtt_s,
        "access_point_share": flow.access_point_share,
        "active": flow.active,
    })
}

fn contention_json(contention: &Contention) -> Value {
    json!({
        "contenders": contention.contenders,
        "attempt": contention.attempt,
        "collision": contention.collision,
    })
}

fn occupancy_json(occupancy: &Occupancy) -> Value {
    let head = match occupancy.head {
        Head::None => Value::Null,
        Head::Data => json!("data"),
        Head::Ack => json!("ack"),
    };
    json!({
        "access_point": head,
        "download_stations": occupancy.download_stations,
        "upload_stations": occupancy.upload_stations,
        "at_successes": occupancy.at_successes,
        "at_any_time": occupancy.at_any_time,
        "success_us": occupancy.success_us,
    })
}

fn state_json(state: &ChainState) -> Value {
    json!({
        "at_station": state.at_station,
        "weight": state.weight,
        "contenders": state.contenders,
        "success_us": state.success_us,
        "at_successes": state.at_successes,
    })
}

fn literature_json(literature: &Literature, outside: Option<&str>) -> Value {
    json!({
        "active_at_successes": literature.active,
        "access_point_share": literature.access_point_share,
        "success_us": literature.success_us,
        "packets_per_s": literature.packets_per_s,
        "in_range": outside.is_none(),
        "outside": outside,
    })
}

fn times_json(times: &Times) -> Value {
    json!({
        "slot_us": times.slot_us,
        "data_us": times.data_us,
        "ack_us": times.ack_us,
        "data_collision_us": times.data_collision_us,
        "ack_collision_us": times.ack_collision_us,
    })
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
