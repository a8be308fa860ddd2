//! Jobs as JSON, as the command line and Python describe them.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::load::{self, GenerateOptions};
use crate::measure::{Meter, SHORTEST_INTERVAL, Subject};
use crate::recv::{self, Meters, ReceiveOptions};
use crate::send::SendOptions;
use crate::{Control, Error, Sessions, iperf3, send};

/// Longest time between samples: a day.
const LONGEST_INTERVAL_S: f64 = 86_400.0;

/// Which job, and how it is measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    job: String,
    #[serde(default)]
    options: Value,
    #[serde(default)]
    measure: Measure,
}

/// How a job is measured.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Measure {
    /// Title of the record.
    title: Option<String>,
    /// Time between samples, in seconds; it adapts if none is given.
    interval_s: Option<f64>,
    /// Rate of the path in bit/s.
    path_rate_bps: Option<u64>,
}

impl Measure {
    fn subject(&self, name: &str, kind: &'static str) -> Result<Subject, Error> {
        let title = self.title.clone().unwrap_or_else(|| name.to_owned());
        let subject = Subject::new(title, name, kind);
        Ok(Subject { interval: self.interval()?, path_rate_bps: self.path_rate_bps, ..subject })
    }

    fn interval(&self) -> Result<Option<Duration>, Error> {
        let least_s = SHORTEST_INTERVAL.as_secs_f64();
        match self.interval_s {
            None => Ok(None),
            Some(seconds) if (least_s..=LONGEST_INTERVAL_S).contains(&seconds) => {
                Ok(Some(Duration::from_secs_f64(seconds)))
            }
            Some(seconds) => Err(Error::Input(format!(
                "interval: {seconds} s; give {least_s} s to {LONGEST_INTERVAL_S} s"
            ))),
        }
    }
}

/// Does a job: an object with `job`, its `options` and how to `measure` it. Returns its result.
///
/// # Errors
/// [`Error::Input`] for another job or other options; those of the job.
pub fn run(job: Value, control: &Control, sessions: &Sessions) -> Result<Value, Error> {
    let Job { job, options, measure } = read("job", job)?;
    match job.as_str() {
        "send" => send(&read(&job, options)?, &measure, control, sessions),
        "recv" => {
            let options: ReceiveOptions = read(&job, options)?;
            let subject = measure.subject("transfer", "transfer")?;
            let meters = Meters::Each(subject, sessions.clone());
            to_value(&recv::receive(&options, control, meters)?)
        }
        "generate" => generate(&read(&job, options)?, &measure, control, sessions),
        "collect" => {
            let subject = measure.subject("load", "collector")?;
            to_value(&load::collect(&read(&job, options)?, &subject, control, sessions)?)
        }
        "iperf3-client" => {
            let options: iperf3::ClientOptions = read(&job, options)?;
            let subject = measure.subject("iperf3", "generator")?;
            iperf3::client(&options, subject, control, sessions)
        }
        "iperf3-server" => {
            let options: iperf3::ServerOptions = read(&job, options)?;
            let subject = measure.subject("iperf3", "collector")?;
            iperf3::serve(&options, subject, control, sessions)
        }
        _ => Err(Error::Input(format!("{job}: no such job"))),
    }
}

fn send(
    options: &SendOptions,
    measure: &Measure,
    control: &Control,
    sessions: &Sessions,
) -> Result<Value, Error> {
    // Ends last: what goes by when a transfer is over belongs to it.
    let _capturing = send::capture(options, control)?;
    let meter = Meter::start(measure.subject("transfer", "transfer")?, control)?;
    let sent = send::send(options, control, &meter);
    let counts = sent.as_ref().ok().map(|sent| sent.counts);
    let about = json!({
        "peer": options.host,
        "security": if options.plain { "plain" } else { "TLS 1.3" },
        "striping": options.striping,
        "chunk_bytes": options.check().map(|settings| settings.chunk_bytes).ok(),
        "streams_asked": options.streams,
        "pacing_bps": options.wishes.pacing_bps,
        "limit_bps": options.limit_bps,
        "files": counts.map(|counts| counts.files),
        "counts": counts,
    });
    sessions.ended(&about, meter.finish(), sent.as_ref().err());
    to_value(&sent?)
}

fn generate(
    options: &GenerateOptions,
    measure: &Measure,
    control: &Control,
    sessions: &Sessions,
) -> Result<Value, Error> {
    let subject = measure.subject("load", "generator")?;
    let load::Generated { report, record, failure } = load::generate(options, subject, control)?;
    let about = json!({
        "peer": options.to,
        "security": if options.plain { "plain" } else { "TLS 1.3 for control" },
        "is_bounded": options.flows.iter().all(|flow| flow.bytes.is_some()),
        "report": report,
    });
    sessions.ended(&about, record, failure.as_ref());
    failure.map_or_else(|| to_value(&report), Err)
}

fn to_value(result: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|error| Error::failed("telling the result", error))
}

fn read<T: DeserializeOwned>(what: &str, value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| Error::Input(format!("{what}: {error}")))
}
