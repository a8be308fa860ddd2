//! Traffic matrices: which host sends to which, where a flow names no hosts.

use fairway_units::random::Stream;

use super::places::ResolvedEnds;
use super::{Graph, Router, Shape};

/// Pairs of hosts as studies of data centres draw them (Raiciu et al., "Improving Datacenter
/// Performance and Robustness with Multipath TCP", SIGCOMM 2011, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    /// A host sends to at most one other and receives from at most one.
    Permutation,
    /// All send to the same host.
    Incast,
}

impl Matrix {
    const ALL: [(&'static str, Matrix); 2] =
        [("permutation", Matrix::Permutation), ("incast", Matrix::Incast)];

    pub(super) fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|(name, _)| *name).collect()
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, matrix)| *matrix)
    }

    /// Why it has no such number of pairs in this network, if so.
    pub(super) fn refusal(self, shape: &Shape, pairs: u64) -> Option<String> {
        let hosts = hosts(shape);
        if hosts.is_empty() {
            let what = "needs hosts with one link each, such as those of kind = \"fat-tree\"";
            return Some(format!("{what} or \"star\"; write `from` and `to` here"));
        }
        if matches!(shape, Shape::Graph(graph) if !Router::new(graph).connects(&hosts)) {
            return Some("some hosts have no route to the others; add links".to_owned());
        }
        let most = self.most(&hosts);
        (pairs > most as u64).then(|| {
            let of = hosts.len();
            format!("{pairs} connections are too many for {of} hosts; lower them to {most}")
        })
    }

    /// Pairs that it has between so many hosts.
    fn most(self, hosts: &[usize]) -> usize {
        match self {
            Matrix::Permutation => hosts.len(),
            Matrix::Incast => hosts.len().saturating_sub(1),
        }
    }

    /// Its pairs in this network. The hosts are shuffled (Durstenfeld, "Algorithm 235: Random
    /// permutation", Communications of the ACM 7(7), 1964). In a permutation each sends to the next, in
    /// one cycle, so that none sends to itself.
    pub(super) fn pairs(
        self,
        shape: &Shape,
        mut stream: Stream,
    ) -> impl Iterator<Item = ResolvedEnds> {
        let mut order = hosts(shape);
        for last in (1..order.len()).rev() {
            order.swap(last, stream.below(last as u64 + 1) as usize);
        }
        (0..self.most(&order)).map(move |index| {
            let next = order[(index + 1) % order.len()];
            let hosts = match self {
                Matrix::Permutation => [order[index], next],
                Matrix::Incast => [next, order[0]],
            };
            ResolvedEnds { hosts, reversed: false }
        })
    }
}

/// The nodes of a graph that have one link; no other shape has any.
fn hosts(shape: &Shape) -> Vec<usize> {
    let Shape::Graph(graph) = shape else { return Vec::new() };
    let Graph { nodes, links, .. } = &**graph;
    let mut degrees = vec![0u32; nodes.len()];
    for link in links {
        degrees[link.from] += 1;
        degrees[link.to] += 1;
    }
    (0..nodes.len()).filter(|node| degrees[*node] == 1).collect()
}
