//! What a kernel cannot do, collected so that one attempt shows it all.

use fairway_spec::{DatagramFlow, ExperimentError, ExperimentErrors, Flow};

/// Collects refusals.
pub(super) struct Refusals {
    /// The path of each flow.
    flows: Vec<String>,
    errors: Vec<ExperimentError>,
    /// Of the key of a flow or of the stack, the message, and the flows it is about.
    of_flows: Vec<(&'static str, String, Vec<usize>)>,
}

impl Refusals {
    pub(super) fn new(flows: &[Flow]) -> Self {
        Refusals {
            flows: flows.iter().map(|flow| flow.path("")).collect(),
            errors: Vec::new(),
            of_flows: Vec::new(),
        }
    }

    /// Refuses what stands at a path.
    pub(super) fn refuse(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.errors.push(ExperimentError::new(path, message));
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
        let path = flow.path(key);
        if self.errors.iter().all(|known| known.path != path) {
            self.errors.push(ExperimentError::new(path, message));
        }
    }

    /// The errors, if there are any.
    pub(super) fn finish(mut self) -> Result<(), ExperimentErrors> {
        for (key, message, flows) in self.of_flows {
            // What all flows have was written for all, but for the keys that only a flow has.
            let is_of_flows = key.starts_with("cc")
                || matches!(key, "from" | "both_ways" | "striping" | "kind" | "precedence")
                || matches!(key, "read_rate" | "read_interval" | "program" | "keep" | "port")
                || matches!(key, "connections" | "bytes" | "app_rate" | "linux_socket");
            if flows.len() == self.flows.len() && !is_of_flows {
                self.errors.push(ExperimentError::new(format!("stack.{key}"), message));
                continue;
            }
            let mut paths: Vec<_> =
                flows.iter().map(|flow| format!("{}{key}", self.flows[*flow])).collect();
            paths.dedup();
            let error = |path| ExperimentError::new(path, message.clone());
            self.errors.extend(paths.into_iter().map(error));
        }
        ExperimentErrors::unless_none(self.errors)
    }
}
