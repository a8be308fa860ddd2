//! An experiment between real hosts: a traffic generator carries out its flows, and the path between
//! the hosts stands in for its topology.

use fairway_spec::{
    DatagramFlow, Experiment, ExperimentError, ExperimentErrors, Flow, Pattern, Source,
};
use fairway_units::Bytes;

use fairway_xfer::load::{
    Directions, FlowOptions, GenerateOptions, LARGEST_DATAGRAM, SMALLEST_DATAGRAM, Timing,
};
use fairway_xfer::measure::SHORTEST_INTERVAL;
use fairway_xfer::socket::Wishes;

/// Headers of UDP and IPv4 (RFC 768; RFC 791 section 3.1): an experiment has packets with them.
const DATAGRAM_HEADERS: u32 = 28;
/// Algorithms that Linux calls otherwise: Fairway's name and the kernel's.
const NAMES: [(&str, &str); 2] = [("westwood+", "westwood"), ("tcp-lp", "lp")];

/// The part of a generator's job that an experiment determines.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// Flows, seed and omitted start; the collector's address is left empty.
    pub options: GenerateOptions,
    /// Time between samples, in seconds.
    pub interval_s: f64,
}

/// Turns the flows of an experiment into a generator's. Topology and stack are those of the path and
/// of the hosts.
///
/// # Errors
/// [`ExperimentErrors`] with every key that a generator cannot carry out, and what to write instead.
pub fn carry(experiment: &Experiment) -> Result<Carried, ExperimentErrors> {
    let mut refusals = Refusals::default();
    let end_s = experiment.duration.as_secs_f64();
    if experiment.measure.to.as_secs_f64() < end_s {
        let message = "a generator measures until its flows end; leave it out, or shorten duration";
        refusals.errors.push(error("measure.to", message));
    }
    if experiment.capture.is_on() {
        let message = "this backend captures no packets; leave it out, and run tcpdump beside \
             it, or use fairway send --capture";
        refusals.errors.push(error("capture", message));
    }
    let mut flows: Vec<FlowOptions> = Vec::new();
    for (number, flow) in experiment.flows.iter().enumerate() {
        let before = experiment.datagrams.iter().filter(|datagrams| datagrams.behind == number);
        flows.extend(before.filter_map(|datagrams| of_datagrams(datagrams, end_s, &mut refusals)));
        flows.extend(of_connection(flow, end_s, &mut refusals));
    }
    let rest = experiment.datagrams.iter().filter(|d| d.behind >= experiment.flows.len());
    flows.extend(rest.filter_map(|datagrams| of_datagrams(datagrams, end_s, &mut refusals)));
    refusals.finish()?;
    let shortest_s = SHORTEST_INTERVAL.as_secs_f64();
    Ok(Carried {
        options: GenerateOptions {
            flows,
            seed: experiment.seed,
            omit_s: experiment.measure.from.as_secs_f64(),
            ..GenerateOptions::default()
        },
        interval_s: experiment.measure.sample.as_secs_f64().max(shortest_s),
    })
}

fn of_connection(flow: &Flow, end_s: f64, refusals: &mut Refusals) -> Option<FlowOptions> {
    let refused = refusals.errors.len();
    let mut refuse = |key: &str, message: &str| refusals.refuse(&flow.id, key, message);
    if flow.both_ways {
        refuse("both_ways", "true: a connection carries payload one way here; write two flows");
    }
    if let Some(reading) = flow.reading {
        refuse(reading.key(), "a collector reads everything at once; leave it out");
    }
    if flow.precedence != 0 {
        refuse("precedence", "no queue of the path is told of it; leave it out");
    }
    if !flow.cc.params.is_empty() {
        refuse("cc_params", "a kernel is told nothing about one connection's; leave them out");
    }
    if !flow.linux_socket.is_empty() {
        refuse("linux", "these options are not set here; leave them out");
    }
    let (timing, bytes) = match flow.source {
        Source::Bulk => (Timing::AsFast, None),
        Source::File { bytes } => (Timing::AsFast, Some(bytes)),
        Source::Limited { rate, bytes } => (Timing::Rate { rate_bps: rate.as_bps() as f64 }, bytes),
        Source::Driven => {
            let message = "a generator writes what it has, and neither deals nor answers; use \
                           static striping or bulk flows, or --backend sim";
            refuse("kind", message);
            (Timing::AsFast, None)
        }
    };
    let cc = flow.cc.name.as_str();
    let name = NAMES.iter().find(|(fairway, _)| *fairway == cc).map_or(cc, |(_, kernel)| kernel);
    // An application that writes at a rate writes a segment at a time.
    let is_limited = matches!(timing, Timing::Rate { .. });
    (refusals.errors.len() == refused).then(|| FlowOptions {
        ways: directions(flow.reversed),
        message_bytes: is_limited.then_some(flow.stack.options.mss),
        timing,
        start_s: flow.start.as_secs_f64(),
        stop_s: Some(flow.stop.map_or(end_s, |stop| stop.as_secs_f64().min(end_s))),
        bytes: bytes.map(Bytes::get),
        wishes: Wishes { cc: Some(name.to_owned()), ..Wishes::default() },
        no_delay: is_limited,
        ..named(&flow.id)
    })
}

fn of_datagrams(flow: &DatagramFlow, end_s: f64, refusals: &mut Refusals) -> Option<FlowOptions> {
    let refused = refusals.errors.len();
    let mut refuse = |key: &str, message: &str| refusals.refuse(&flow.id, key, message);
    let rate_bps = flow.rate.as_bps() as f64;
    let timing = match flow.pattern {
        Pattern::Constant => Timing::Rate { rate_bps },
        Pattern::Poisson => Timing::Poisson { rate_bps },
        Pattern::Variable { .. } | Pattern::OnOff { .. } => {
            refuse("kind", "a generator sends datagrams as \"cbr\" and \"poisson\" do; write one");
            Timing::AsFast
        }
    };
    if flow.precedence != 0 {
        refuse("precedence", "no queue of the path is told of it; leave it out");
    }
    if flow.start_jitter.as_nanos() > 0 {
        refuse("start_jitter", "flows start at their times here; leave it out");
    }
    let message_bytes = flow.packet_bytes.saturating_sub(DATAGRAM_HEADERS);
    if !(SMALLEST_DATAGRAM as u32..=LARGEST_DATAGRAM).contains(&message_bytes) {
        refuse("packet", "a datagram needs 60 to 65535 bytes with its headers");
    }
    (refusals.errors.len() == refused).then(|| FlowOptions {
        udp: true,
        ways: directions(flow.reversed),
        message_bytes: Some(message_bytes),
        timing,
        start_s: flow.start.as_secs_f64(),
        stop_s: Some(flow.stop.map_or(end_s, |stop| stop.as_secs_f64().min(end_s))),
        bytes: flow.bytes.map(Bytes::get),
        ..named(&flow.id)
    })
}

fn named(id: &str) -> FlowOptions {
    FlowOptions { id: id.to_owned(), ..FlowOptions::default() }
}

fn directions(reversed: bool) -> Directions {
    if reversed { Directions::Reverse } else { Directions::Forward }
}

fn error(path: &str, message: &str) -> ExperimentError {
    ExperimentError { path: path.to_owned(), message: message.to_owned() }
}

/// Refused keys: each key of a flow once, however many copies the flow has.
#[derive(Default)]
struct Refusals {
    errors: Vec<ExperimentError>,
}

impl Refusals {
    fn refuse(&mut self, id: &str, key: &str, message: &str) {
        let id = id.split('/').next().unwrap_or(id);
        // One without an id is named after its algorithm or kind, "#" and its index.
        let name = id.rsplit_once('#').map_or(id, |(_, index)| index);
        let refusal = error(&format!("flow.{name}.{key}"), message);
        if !self.errors.contains(&refusal) {
            self.errors.push(refusal);
        }
    }

    fn finish(self) -> Result<(), ExperimentErrors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(ExperimentErrors { source: None, errors: self.errors })
    }
}

#[cfg(test)]
mod tests {
    use fairway_spec::from_document;
    use serde_json::{Value, json};

    use super::*;

    fn experiment(flow: Value) -> Experiment {
        let document = json!({
            "duration": "20 s",
            "topology": {"kind": "dumbbell", "bottleneck": {
                "rate": "10 Mbit/s", "delay": "10 ms",
                "queue": {"kind": "droptail", "limit": "50 packets"},
            }},
            "measure": {"window": ["5 s", "20 s"], "sample": "1 ms"},
            "flow": flow,
        });
        from_document(&document).unwrap()
    }

    #[test]
    fn flows_become_connections_and_datagrams_of_a_generator() {
        let found = carry(&experiment(json!([
            {"id": "up", "cc": "westwood+", "start": "1 s", "stop": "9 s"},
            {"id": "call", "kind": "cbr", "rate": "80 kbit/s", "packet": "200 bytes"},
            {"id": "down", "cc": "reno", "direction": "reverse", "bytes": "3 MB"},
            {"id": "tv", "cc": "cubic", "app_rate": "2 Mbit/s"},
        ])));
        let Carried { options, interval_s } = found.unwrap();
        assert_eq!((options.omit_s, interval_s), (5.0, 0.01));
        let ids: Vec<&str> = options.flows.iter().map(|flow| flow.id.as_str()).collect();
        assert_eq!(ids, ["up", "call", "down", "tv"]);
        let [up, call, down, tv] = &options.flows[..] else { panic!("four flows") };
        assert_eq!((up.start_s, up.stop_s, up.bytes), (1.0, Some(9.0), None));
        assert_eq!(up.wishes.cc.as_deref(), Some("westwood"));
        // 200 bytes less 28 of headers.
        assert_eq!((call.udp, call.message_bytes, call.stop_s), (true, Some(172), Some(20.0)));
        assert_eq!(call.timing, Timing::Rate { rate_bps: 80e3 });
        assert_eq!((down.ways, down.bytes), (Directions::Reverse, Some(3_000_000)));
        assert_eq!(tv.timing, Timing::Rate { rate_bps: 2e6 });
        let plan = options.plan(Some(SHORTEST_INTERVAL)).unwrap();
        assert_eq!(plan.flow_count(), 4);
    }

    #[test]
    fn what_a_real_path_cannot_do_is_refused_by_name_and_once() {
        let flows = json!([
            {"id": "a", "cc": "reno", "both_ways": true, "count": 3},
            {"id": "b", "kind": "onoff", "rate": "1 Mbit/s", "packet": "500 bytes",
             "on_time": "1 s", "off_time": "1 s"},
        ]);
        let errors = carry(&experiment(flows)).unwrap_err().errors;
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["flow.a.both_ways", "flow.b.kind"]);
    }
}
