//! Parallel streams: documents in and out.

use fairway_model::{Algorithm, Losers, Path, Plan, Red, Streams};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{question, refused};

/// What is asked, in packets and seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    algorithm: String,
    capacity_pps: f64,
    rtt_s: f64,
    buffer_packets: f64,
    window_packets: Option<f64>,
    stream_pps: Option<f64>,
    loss: f64,
    rto_s: Option<f64>,
    target: f64,
    losers: String,
    red: Option<Red>,
    up_to: u32,
}

/// Packets that each stream adds in a round trip, so that as many are lost of each when a buffer
/// overflows (RFC 5681, section 3.1).
const DROPS_PER_STREAM: f64 = 1.0;

/// The parallelism threshold of a path, and what to expect of fewer and more streams.
///
/// Question and answer are JSON. Raises ValueError for what makes no sense.
#[pyfunction]
pub(crate) fn model_streams(document: &str) -> PyResult<String> {
    let question: Question = question(document)?;
    let rto_s = question.rto_s.unwrap_or_else(|| {
        Path::usual_rto_s(question.rtt_s, question.buffer_packets, question.capacity_pps)
    });
    let path = Path {
        capacity_pps: question.capacity_pps,
        rtt_s: question.rtt_s,
        buffer_packets: question.buffer_packets,
        window_packets: question.window_packets,
        stream_pps: question.stream_pps,
        loss: question.loss,
        rto_s,
    };
    let streams = Streams {
        algorithm: algorithm(&question.algorithm)?,
        losers: losers(&question.losers)?,
        red: question.red,
    };
    let plan = path.plan(&streams, question.target, question.up_to).map_err(refused)?;
    let onset = path.onset_of_loss().map_err(refused)?;
    Ok(answer(&plan, onset, &path).to_string())
}

/// Names of the algorithms that the models know.
#[pyfunction]
pub(crate) fn model_algorithms() -> Vec<&'static str> {
    Algorithm::names().collect()
}

pub(super) fn algorithm(name: &str) -> PyResult<Algorithm> {
    Algorithm::named(name).ok_or_else(|| {
        let known: Vec<&str> = Algorithm::names().collect();
        let known = known.join(", ");
        PyValueError::new_err(format!("cc: no model of \"{name}\"; there is one of {known}"))
    })
}

fn losers(name: &str) -> PyResult<Losers> {
    match name {
        "one" => Ok(Losers::One),
        "all" => Ok(Losers::All),
        "random" => Ok(Losers::Random { drops_per_stream: DROPS_PER_STREAM }),
        _ => Err(PyValueError::new_err(format!(
            "losers: expected one, all or random, got \"{name}\""
        ))),
    }
}

fn answer(plan: &Plan, onset: u32, path: &Path) -> Value {
    let mut document = json!(plan.threshold);
    document["onset_of_loss"] = json!(onset);
    document["capacity_pps"] = json!(path.capacity_pps);
    document["bdp_packets"] = json!(path.pipe_packets());
    document["buffer_packets"] = json!(path.buffer_packets);
    document["model"] = json!(plan.model);
    document["in_range"] = json!(plan.outside.is_none());
    document["outside"] = json!(plan.outside);
    document["table"] = json!(plan.table);
    document
}
