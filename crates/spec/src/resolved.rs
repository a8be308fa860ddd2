//! What a validated experiment answers without a run.

use fairway_cc::Catalogue;
use fairway_net::RateConfig;
use fairway_units::{Bytes, Duration, Rate};

use crate::traffic::{self, FlowText, Traffic};
use crate::{CaptureSettings, Experiment, Link, LinuxSettings, Measure, Shape, Source, Topology};

/// A validated experiment with one entry for each `[[flow]]`: small, however many copies a flow has.
pub struct Resolved {
    pub(crate) title: String,
    /// Simulated time of the run.
    pub duration: Duration,
    pub(crate) seed: u64,
    /// The network.
    pub topology: Topology,
    pub(crate) flows: Vec<FlowText>,
    /// What is measured.
    pub measure: Measure,
    pub(crate) capture: CaptureSettings,
    pub(crate) linux: LinuxSettings,
}

impl Resolved {
    /// The experiment with every connection of every flow.
    pub(crate) fn expand(self, catalogue: &Catalogue) -> Experiment {
        let traffic::Expanded { flows, applications, datagrams, sides } =
            traffic::expand(self.flows, &self.topology, self.seed);
        Experiment {
            title: self.title,
            duration: self.duration,
            seed: self.seed,
            topology: self.topology,
            sides,
            flows,
            applications,
            datagrams,
            measure: self.measure,
            capture: self.capture,
            linux: self.linux,
            catalogue: catalogue.clone(),
        }
    }

    /// Start and stop of each `[[flow]]`; the start is that of its first copy.
    pub fn times(&self) -> impl Iterator<Item = (Duration, Option<Duration>)> {
        self.flows.iter().map(|flow| (flow.timing.start, flow.timing.stop))
    }

    /// When the last copy of the last flow starts.
    pub fn last_start(&self) -> Duration {
        self.flows.iter().map(|flow| flow.timing.last_start()).max().unwrap_or_default()
    }

    /// Bytes of the transfer that results name `id`; none if it has no size or is one of several
    /// copies.
    pub fn transfer(&self, id: &str) -> Option<Bytes> {
        let is_alone = |flow: &&FlowText| {
            flow.connections() == 1 && id.strip_suffix("/0").unwrap_or(id) == flow.id()
        };
        match &self.flows.iter().find(is_alone)?.traffic {
            Traffic::Tcp(flow) | Traffic::Application(flow, _) => match flow.source {
                Source::File { bytes } => Some(bytes),
                Source::Limited { bytes, .. } => bytes,
                Source::Bulk | Source::Driven => None,
            },
            Traffic::Datagrams(_) => None,
        }
    }

    /// The constant rate of the link direction that results name `id`.
    ///
    /// # Errors
    /// There is no such link, or its rate changes or is unlimited.
    pub fn link_rate(&self, id: &str) -> Result<Rate, String> {
        let (name, forward) = match id.strip_suffix("/reverse") {
            Some(name) => (name, false),
            None => (id, true),
        };
        let links = self.topology.shape.links();
        let Some(link) = links.iter().find(|link| link.id == name) else {
            let known: Vec<_> = links.iter().map(|link| link.id.as_str()).collect();
            return Err(format!("there is no link {id}; there is {}", known.join(", ")));
        };
        link.direction(forward)
            .constant_rate()
            .ok_or_else(|| format!("needs a link of a constant rate; that of {id} is not"))
    }

    /// The lowest rate of the links that every flow crosses: those of a chain, or the bottleneck of a
    /// dumbbell. None if one of them changes or is unlimited, and of other topologies.
    pub fn shared_rate(&self) -> Option<Rate> {
        let links = match &self.topology.shape {
            Shape::Dumbbell { bottleneck, .. } => std::slice::from_ref(bottleneck),
            Shape::Chain { links } => links,
            Shape::Graph(_) | Shape::Wlan(_) => return None,
        };
        links.iter().map(Link::constant_rate).min().flatten()
    }
}

impl Link {
    /// Its rate, if it has one and keeps it and its delay.
    fn constant_rate(&self) -> Option<Rate> {
        let is_constant = self.extras.as_ref().is_none_or(|extras| {
            matches!(extras.rate, RateConfig::Constant(_)) && extras.schedule.changes.is_empty()
        });
        (is_constant && self.rate != Rate::UNLIMITED).then_some(self.rate)
    }
}
