//! Parallel streams: documents in and out.

use fairway_model::{Algorithm, Limit, Losers, Path, Plan, Red, Streams};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

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
    red: Option<RedQueue>,
    up_to: u32,
}

/// RED's curve.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RedQueue {
    min_packets: f64,
    max_packets: f64,
    max_probability: f64,
    gentle: bool,
}

impl From<&RedQueue> for Red {
    fn from(red: &RedQueue) -> Self {
        Red {
            min_packets: red.min_packets,
            max_packets: red.max_packets,
            max_probability: red.max_probability,
            gentle: red.gentle,
        }
    }
}

/// Packets that each stream adds in a round trip, so that as many are lost of each when a buffer
/// overflows (RFC 5681, section 3.1).
const DROPS_PER_STREAM: f64 = 1.0;

/// The parallelism threshold of a path, and what to expect of fewer and more streams.
///
/// Question and answer are JSON. Raises ValueError for what makes no sense.
#[pyfunction]
pub(crate) fn model_streams(question: &str) -> PyResult<String> {
    let question: Question =
        serde_json::from_str(question).map_err(|error| PyValueError::new_err(error.to_string()))?;
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
        red: question.red.as_ref().map(Red::from),
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

pub(super) fn refused(error: fairway_model::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn answer(plan: &Plan, onset: u32, path: &Path) -> Value {
    let threshold = &plan.threshold;
    let table: Vec<Value> = plan
        .table
        .iter()
        .map(|row| {
            json!({
                "streams": row.streams,
                "utilisation": row.utilisation,
                "loss_ratio": row.loss_ratio,
                "queueing_delay_s": row.queueing_delay_s,
            })
        })
        .collect();
    let limit = match threshold.limit {
        Limit::Nothing => "nothing",
        Limit::Window => "window",
        Limit::Application => "application",
        Limit::Loss => "loss",
        Limit::Sawtooth => "sawtooth",
    };
    json!({
        "threshold": threshold.streams,
        "limit": limit,
        "by_window": threshold.by_window,
        "by_application": threshold.by_application,
        "by_loss": threshold.by_loss,
        "by_sawtooth": threshold.by_sawtooth,
        "overflows": threshold.overflows,
        "onset_of_loss": onset,
        "capacity_pps": path.capacity_pps,
        "bdp_packets": path.pipe_packets(),
        "buffer_packets": path.buffer_packets,
        "model": plan.model,
        "in_range": plan.outside.is_none(),
        "outside": plan.outside,
        "table": table,
    })
}
