//! TCP through a WLAN cell: documents in and out.

use fairway_model::wlan::{Backoff, Cell, Direction, Flow, Setting, Times, literature};
use fairway_phy::{Preamble, Slot, Standard};
use fairway_units::Rate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::{question, refused};

/// How the medium is accessed: as a standard has it, or as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Access {
    standard: String,
    preamble: Preamble,
    slot: Slot,
    protection: bool,
    rate_bps: Option<u64>,
    control_rate_bps: Option<u64>,
    packet_bytes: u32,
    ack_bytes: u32,
    attempts: Option<u32>,
    /// Instead of those of the standard.
    times: Option<Times>,
    cw_min: Option<u32>,
    cw_max: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CellQuestion {
    access: Access,
    flows: Vec<Flow>,
    packets_per_ack: u32,
    ack_timer_s: f64,
    wire_rtt_s: f64,
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
pub(crate) fn model_wlan(py: Python<'_>, document: &str) -> PyResult<String> {
    let question: CellQuestion = question(document)?;
    let (times, backoff) = access(&question.access)?;
    let cell = Cell {
        times,
        backoff,
        flows: question.flows,
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
        let mut document = json!(found.value);
        document["in_range"] = json!(found.in_range());
        document["outside"] = json!(found.outside);
        Some(document)
    } else {
        None
    };
    let mut document = json!(answer.value);
    document["times"] = json!(times);
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
pub(crate) fn model_saturation(document: &str) -> PyResult<String> {
    let question: SaturationQuestion = question(document)?;
    let (times, backoff) = access(&question.access)?;
    let found = backoff.saturation(question.stations, &times).map_err(refused)?;
    let mut document = json!(found);
    document["times"] = json!(times);
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
        preamble: access.preamble,
        slot: access.slot,
        is_protected: access.protection,
        rate: access.rate_bps.map(Rate::from_bps),
        control_rate: access.control_rate_bps.map(Rate::from_bps),
        data_bytes: access.packet_bytes,
        ack_bytes: access.ack_bytes,
        attempts: access.attempts,
    };
    let (times, backoff) = setting.access().map_err(refused)?;
    let times = access.times.unwrap_or(times);
    let backoff = Backoff {
        cw_min: access.cw_min.unwrap_or(backoff.cw_min),
        cw_max: access.cw_max.unwrap_or(backoff.cw_max),
        ..backoff
    };
    Ok((times, backoff))
}
