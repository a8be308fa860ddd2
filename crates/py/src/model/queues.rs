//! Queues: documents in and out.

use fairway_model::queues::{self, AdaptiveRed, Waiting};
use fairway_model::{Algorithm, Answer, Path, Red};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::streams::algorithm;
use super::{question, refused};

/// What is asked, in packets and seconds; what is missing is not answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    capacity_pps: f64,
    rtt_s: Option<f64>,
    flows: u32,
    algorithm: String,
    load: Option<f64>,
    room_packets: Option<u64>,
    red: Option<Red>,
    target_s: Option<f64>,
    codel_interval_s: Option<f64>,
}

/// Drops of CoDel's schedule that are told.
const CODEL_DROPS: usize = 10;

/// Sizes, lengths and delays of queues, by models. Question and answer are JSON.
///
/// Raises ValueError for what makes no sense.
#[pyfunction]
pub(crate) fn model_queue(document: &str) -> PyResult<String> {
    let question: Question = question(document)?;
    let algorithm = algorithm(&question.algorithm)?;
    let mut answer = Map::new();
    if let Some(rtt_s) = question.rtt_s {
        let found = buffers(&question, rtt_s, algorithm).map_err(refused)?;
        answer.insert("buffers".into(), found);
    }
    if let Some(load) = question.load {
        let found = waiting(&question, load).map_err(refused)?;
        answer.insert("waiting".into(), found);
    }
    if let (Some(red), Some(rtt_s)) = (question.red, question.rtt_s) {
        let found = equilibrium(&question, red, rtt_s, algorithm).map_err(refused)?;
        answer.insert("red".into(), found);
    }
    if let Some(target_s) = question.target_s {
        let chosen = AdaptiveRed::of(question.capacity_pps, target_s).map_err(refused)?;
        answer.insert("adaptive_red".into(), json!(chosen));
    }
    if let Some(interval_s) = question.codel_interval_s {
        let drops = queues::codel_drops_s(interval_s, CODEL_DROPS).map_err(refused)?;
        answer.insert("codel".into(), json!({ "drops_s": drops }));
    }
    Ok(Value::Object(answer).to_string())
}

fn buffers(
    question: &Question,
    rtt_s: f64,
    algorithm: Algorithm,
) -> Result<Value, fairway_model::Error> {
    let pipe = queues::bdp_packets(question.capacity_pps, rtt_s)?;
    let desynchronised = queues::appenzeller_packets(pipe, f64::from(question.flows))?;
    // Without a buffer a window is what fills the path.
    let single = match algorithm.retention(pipe, pipe, 0.0) {
        Some(kept) => queues::single_stream_packets(pipe, kept)?,
        None => 0.0,
    };
    Ok(json!({
        "bdp_packets": pipe,
        "desynchronised_packets": desynchronised,
        "single_stream_packets": single,
    }))
}

fn waiting(question: &Question, load: f64) -> Result<Value, fairway_model::Error> {
    let (arrivals, capacity) = (load * question.capacity_pps, question.capacity_pps);
    let mut found = json!({
        "md1": described(&queues::md1(arrivals, capacity)?),
        "mm1": described(&queues::mm1(arrivals, capacity)?),
    });
    if let Some(room) = question.room_packets {
        found["mm1k"] = described(&queues::mm1k(arrivals, capacity, room)?);
    }
    Ok(found)
}

/// What is infinite becomes null.
fn described(answer: &Answer<Waiting>) -> Value {
    let mut found = json!(answer.value);
    found["in_range"] = json!(answer.in_range());
    found["outside"] = json!(answer.outside);
    found
}

fn equilibrium(
    question: &Question,
    red: Red,
    rtt_s: f64,
    algorithm: Algorithm,
) -> Result<Value, fairway_model::Error> {
    let path = Path {
        capacity_pps: question.capacity_pps,
        rtt_s,
        buffer_packets: red.ceiling_packets(),
        window_packets: None,
        stream_pps: None,
        loss: 0.0,
        rto_s: Path::usual_rto_s(rtt_s, red.ceiling_packets(), question.capacity_pps),
    };
    let point = path.red(red, question.flows, algorithm)?;
    Ok(json!({
        "queue_packets": point.map(|point| point.queue_packets),
        "delay_s": point.map(|point| point.queue_packets / question.capacity_pps),
        "loss": point.map(|point| point.loss),
        "in_range": point.is_some(),
        "outside": point.is_none().then_some("no balance below where RED drops everything"),
    }))
}
