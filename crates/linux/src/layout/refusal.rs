//! What a kernel cannot do, collected so that one attempt shows it all.

use fairway_spec::{DatagramFlow, ExperimentError, ExperimentErrors, Flow};

/// Errors listed before the rest is only counted: nobody reads more at a time.
const LISTED: usize = 50;

/// Collects refusals.
pub(super) struct Refusals {
    /// The name of each flow in paths.
    flows: Vec<String>,
    errors: Vec<ExperimentError>,
    /// Of the key of a flow or of the stack, the message, and the flows it is about.
    of_flows: Vec<(&'static str, String, Vec<usize>)>,
}

impl Refusals {
    pub(super) fn new(flows: &[Flow]) -> Self {
        Refusals {
            flows: flows.iter().map(name).collect(),
            errors: Vec::new(),
            of_flows: Vec::new(),
        }
    }

    /// Refuses what stands at a path.
    pub(super) fn refuse(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.errors.push(ExperimentError { path: path.into(), message: message.into() });
    }

    /// Refuses a key of a flow that `[stack]` may have set for it.
    pub(super) fn refuse_flow(&mut self, flow: usize, key: &'static str, message: String) {
        let same =
            |entry: &&mut (&'static str, String, Vec<usize>)| entry.0 == key && entry.1 == message;
        match self.of_flows.iter_mut().find(same) {
            Some((_, _, flows)) => flows.push(flow),
            None => self.of_flows.push((key, message, vec![flow])),
        }
    }

    /// Refuses a key of a flow of datagrams, once for all its copies.
    pub(super) fn refuse_datagrams(&mut self, flow: &DatagramFlow, key: &str, message: String) {
        let id = flow.id.split('/').next().unwrap_or(&flow.id);
        // One without an id is named after its kind, "#" and its index.
        let name = id.rsplit_once('#').map_or(id, |(_, index)| index);
        let path = format!("flow.{name}.{key}");
        if self.errors.iter().all(|known| known.path != path) {
            self.errors.push(ExperimentError { path, message });
        }
    }

    /// The errors, if there are any.
    pub(super) fn finish(mut self) -> Result<(), ExperimentErrors> {
        for (key, message, flows) in self.of_flows {
            // What all flows have was written for all, but for the keys that only a flow has.
            let is_of_flows = key.starts_with("cc")
                || matches!(key, "from" | "both_ways" | "striping" | "kind" | "precedence")
                || matches!(key, "read_rate" | "read_interval")
                || matches!(key, "connections" | "bytes" | "app_rate" | "linux_socket");
            if flows.len() == self.flows.len() && !is_of_flows {
                let path = format!("stack.{key}");
                self.errors.push(ExperimentError { path, message });
                continue;
            }
            let mut paths: Vec<_> =
                flows.iter().map(|flow| format!("flow.{}.{key}", self.flows[*flow])).collect();
            paths.dedup();
            let error = |path| ExperimentError { path, message: message.clone() };
            self.errors.extend(paths.into_iter().map(error));
        }
        if self.errors.is_empty() {
            return Ok(());
        }
        if self.errors.len() > LISTED {
            let further = self.errors.len() - LISTED;
            self.errors.truncate(LISTED);
            self.errors.push(ExperimentError {
                path: "experiment".to_owned(),
                message: format!("{further} further errors are not listed"),
            });
        }
        Err(ExperimentErrors { source: None, errors: self.errors })
    }
}

/// The name of a flow in paths: its id, or its index where it has none; copies have their flow's.
fn name(flow: &Flow) -> String {
    let id = flow.id.split('/').next().unwrap_or(&flow.id);
    match id.rsplit_once('#') {
        Some((cc, index)) if flow.cc.name.ends_with(cc) => index.to_owned(),
        _ => id.to_owned(),
    }
}
