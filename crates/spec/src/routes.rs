//! Routes through a graph: all that are shortest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Graph;

/// Most routes between two nodes that are told apart.
pub const MAX_ROUTES: usize = 64;

/// A link of a graph, in the direction in which it is written or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which link.
    pub link: usize,
    /// Whether it is crossed as it is written.
    pub forward: bool,
}

/// Finds routes through one graph.
pub struct Router<'a> {
    graph: &'a Graph,
    /// Links of each node.
    links: Vec<Vec<usize>>,
    /// Distances of all nodes to those that were asked for.
    distances: BTreeMap<usize, Vec<u64>>,
}

impl<'a> Router<'a> {
    /// For this graph.
    pub fn new(graph: &'a Graph) -> Self {
        let mut links = vec![Vec::new(); graph.nodes.len()];
        for (index, link) in graph.links.iter().enumerate() {
            links[link.from].push(index);
            links[link.to].push(index);
        }
        Router { graph, links, distances: BTreeMap::new() }
    }

    /// Every route from one node to another whose links' metrics have the least sum, in the order
    /// of the links, the first [`MAX_ROUTES`] of them; none if there is no way.
    pub fn routes(&mut self, from: usize, to: usize) -> Vec<Vec<Step>> {
        let distances = match self.distances.remove(&to) {
            Some(distances) => distances,
            None => self.distances_to(to),
        };
        let mut found = Vec::new();
        if from != to && distances[from] < u64::MAX {
            self.walk(&distances, from, &mut Vec::new(), &mut found);
        }
        self.distances.insert(to, distances);
        found
    }

    /// Whether there is a route between any two of these nodes.
    pub(super) fn connects(&self, nodes: &[usize]) -> bool {
        nodes.first().is_none_or(|first| {
            let distances = self.distances_to(*first);
            nodes.iter().all(|node| distances[*node] < u64::MAX)
        })
    }

    /// A link as it leaves `node`, and the node behind it.
    fn leave(&self, node: usize, link: usize) -> (Step, usize) {
        let ends = &self.graph.links[link];
        let forward = node == ends.from;
        (Step { link, forward }, if forward { ends.to } else { ends.from })
    }

    /// The distance of every node to one (E. W. Dijkstra, "A Note on Two Problems in Connexion with
    /// Graphs", 1959).
    fn distances_to(&self, to: usize) -> Vec<u64> {
        let mut distances = vec![u64::MAX; self.graph.nodes.len()];
        let mut next = BinaryHeap::from([(Reverse(0), to)]);
        distances[to] = 0;
        while let Some((Reverse(distance), node)) = next.pop() {
            if distance > distances[node] {
                continue;
            }
            for link in &self.links[node] {
                let (step, neighbour) = self.leave(node, *link);
                let through = distance + u64::from(self.graph.links[step.link].metric);
                if through < distances[neighbour] {
                    distances[neighbour] = through;
                    // No way leads on from a node with one link.
                    if self.links[neighbour].len() > 1 {
                        next.push((Reverse(through), neighbour));
                    }
                }
            }
        }
        distances
    }

    /// Goes on from `node` along all links that lead nearer.
    fn walk(
        &self,
        distances: &[u64],
        node: usize,
        so_far: &mut Vec<Step>,
        found: &mut Vec<Vec<Step>>,
    ) {
        if distances[node] == 0 {
            found.push(so_far.clone());
            return;
        }
        for link in &self.links[node] {
            let (step, next) = self.leave(node, *link);
            let through = distances[next].saturating_add(u64::from(self.graph.links[*link].metric));
            if through == distances[node] && found.len() < MAX_ROUTES {
                so_far.push(step);
                self.walk(distances, next, so_far, found);
                so_far.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_net::{DropTailConfig, QdiscConfig};

    use crate::{GraphLink, Link, Multipath};
    use fairway_net::Limit;
    use fairway_units::{Duration, Rate};

    /// Nodes 0 to n and links between these, with these metrics.
    fn graph(nodes: usize, links: &[(usize, usize, u32)]) -> Graph {
        let link = |(from, to, metric): &(usize, usize, u32)| GraphLink {
            from: *from,
            to: *to,
            metric: *metric,
            link: Link {
                id: format!("{from}-{to}"),
                rate: Rate::from_bps(1),
                delay: Duration::ZERO,
                queue: Box::new(QdiscConfig::DropTail(DropTailConfig { limit: Limit::Unlimited })),
                loss: None,
                extras: None,
                reverse: None,
            },
        };
        Graph {
            nodes: (0..nodes).map(|node| node.to_string()).collect(),
            links: links.iter().map(link).collect(),
            access: None,
            multipath: Multipath::Hash,
            ends: None,
        }
    }

    fn found(graph: &Graph, from: usize, to: usize) -> Vec<Vec<(usize, bool)>> {
        let steps = |route: &Vec<Step>| route.iter().map(|s| (s.link, s.forward)).collect();
        Router::new(graph).routes(from, to).iter().map(steps).collect()
    }

    #[test]
    fn a_square_has_two_ways_across_and_one_along() {
        // 0 – 1
        // |   |
        // 2 – 3
        let square = graph(4, &[(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1)]);
        assert_eq!(found(&square, 0, 3), [vec![(0, true), (2, true)], vec![(1, true), (3, true)]]);
        assert_eq!(found(&square, 3, 2), [vec![(3, false)]]);
    }

    #[test]
    fn a_metric_makes_a_longer_way_the_shorter() {
        let triangle = graph(3, &[(0, 2, 3), (0, 1, 1), (1, 2, 1)]);
        assert_eq!(found(&triangle, 0, 2), [vec![(1, true), (2, true)]]);
        let equal = graph(3, &[(0, 2, 2), (0, 1, 1), (1, 2, 1)]);
        assert_eq!(found(&equal, 0, 2).len(), 2);
    }

    #[test]
    fn islands_are_not_reached_and_links_side_by_side_are_different_routes() {
        let islands = graph(4, &[(0, 1, 1), (2, 3, 1)]);
        assert!(found(&islands, 0, 3).is_empty());
        let parallel = graph(2, &[(0, 1, 1), (0, 1, 1), (1, 0, 1)]);
        let expected = [vec![(0, true)], vec![(1, true)], vec![(2, false)]];
        assert_eq!(found(&parallel, 0, 1), expected);
    }

    #[test]
    fn only_so_many_routes_are_told_apart() {
        // Seven pairs of links in a row: 2^7 routes.
        let pairs: Vec<_> = (0..7).flat_map(|node| [(node, node + 1, 1); 2]).collect();
        assert_eq!(found(&graph(8, &pairs), 0, 7).len(), MAX_ROUTES);
    }
}
