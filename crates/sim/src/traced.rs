//! What results have a row of: the data of connections, and datagram flows.

use crate::connection::Connection;
use crate::direction::Direction;
use fairway_spec::Experiment;

/// One row of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Traced {
    /// The data that a connection carries in one direction.
    Data(usize, Direction),
    /// A datagram flow.
    Datagrams(usize),
}

impl Traced {
    /// Everything that has a row: flows in the order of the file, and then the data that comes
    /// back.
    pub(crate) fn all(experiment: &Experiment, connections: &[Connection]) -> Vec<Traced> {
        let mut rows = Vec::with_capacity(connections.len() + experiment.datagrams.len());
        let mut datagrams = experiment.datagrams.iter().enumerate().peekable();
        for i in 0..=connections.len() {
            while let Some((flow, _)) = datagrams.next_if(|(_, flow)| flow.behind <= i) {
                rows.push(Traced::Datagrams(flow));
            }
            if i < connections.len() {
                rows.push(Traced::Data(i, Direction::Forward));
            }
        }
        let both_ways = (0..connections.len()).filter(|i| connections[*i].is_both_ways());
        rows.extend(both_ways.map(|i| Traced::Data(i, Direction::Reverse)));
        rows
    }

    /// Its name in results.
    pub(crate) fn name(self, experiment: &Experiment) -> String {
        match self {
            Traced::Data(i, direction) => experiment.flows[i].id.clone() + direction.suffix(),
            Traced::Datagrams(i) => experiment.datagrams[i].id.clone(),
        }
    }

    /// Whether it has time series.
    pub(crate) fn is_sampled(self, experiment: &Experiment) -> bool {
        match self {
            Traced::Data(i, _) => experiment.flows[i].is_sampled,
            Traced::Datagrams(_) => true,
        }
    }

    /// Whether metrics compare it with others: the data of connections towards their sinks, or
    /// datagram flows where there are no connections.
    pub(crate) fn is_compared(self, experiment: &Experiment) -> bool {
        match self {
            Traced::Data(_, direction) => direction == Direction::Forward,
            Traced::Datagrams(_) => experiment.flows.is_empty(),
        }
    }
}
