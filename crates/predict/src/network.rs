//! The link directions that flows use.

use fairway_spec::{Experiment, LinkDirection, Network as Links, Node, Shape};

use crate::refusal::Refusal;

/// The links of a flow: places in [`Network::all`], there and back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Route {
    pub there: Vec<usize>,
    pub back: Vec<usize>,
}

/// Every link direction that is used, and the routes of all flows: connections and, behind them,
/// datagram flows.
pub(crate) struct Network<'a> {
    pub all: Vec<LinkDirection<'a>>,
    pub routes: Vec<Route>,
    shape: &'a Shape,
}

impl<'a> Network<'a> {
    /// Finds the links of all flows.
    pub fn of(experiment: &'a Experiment) -> Result<Self, Refusal> {
        let Links { directions, routes } = Links::of(experiment);
        let shape = &experiment.topology.shape;
        let mut network = Network { all: Vec::new(), routes: Vec::new(), shape };
        let mut places: Vec<Option<usize>> = vec![None; directions.len()];
        for flow in routes {
            let ([there], [back]) = (&flow.there[..], &flow.back[..]) else {
                let what = "packets that take several routes in turn are known to no model";
                return Err(Refusal::new("topology.multipath", what));
            };
            for route in [there, back] {
                for link in in_order(route, &directions, shape) {
                    places[link as usize].get_or_insert_with(|| {
                        network.all.push(directions[link as usize].clone());
                        network.all.len() - 1
                    });
                }
            }
            let known =
                |route: &Vec<u32>| route.iter().filter_map(|link| places[*link as usize]).collect();
            network.routes.push(Route { there: known(there), back: known(back) });
        }
        Ok(network)
    }

    /// The table of a link direction in the experiment file.
    pub fn path(&self, direction: usize) -> String {
        let LinkDirection { link, is_access, .. } = &self.all[direction];
        match self.shape {
            Shape::Chain { .. } | Shape::Graph(_) if !is_access => {
                format!("topology.link.{}", link.id)
            }
            _ => format!("topology.{}", link.id),
        }
    }
}

/// The links of a route in the order in which results and refusals list them: those that are shared
/// first, and of the hosts' own that of the source before that of the sink.
fn in_order(route: &[u32], directions: &[LinkDirection], shape: &Shape) -> Vec<u32> {
    let mut links = route.to_vec();
    if matches!(shape, Shape::Chain { .. }) {
        links.sort_unstable();
    }
    links.sort_by_key(|link| {
        let LinkDirection { is_access, ends, .. } = &directions[*link as usize];
        (*is_access, *is_access && ends.iter().any(|end| matches!(end, Node::Sink(_))))
    });
    links
}
