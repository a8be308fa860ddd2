//! Splits a graph into parts of about equal weight, with little weight on the edges between them.
//!
//! Recursive bisection: one half grows from a node at the rim of the graph, by the node that makes
//! the cut lightest (Karypis and Kumar, *A fast and high quality multilevel scheme for partitioning
//! irregular graphs*, SIAM J. Sci. Comput. 20(1), 1998, section 3.2: greedy graph growing). Then
//! nodes change sides while the cut becomes lighter and the halves stay balanced (Fiduccia and
//! Mattheyses, *A linear-time heuristic for improving network partitions*, DAC 1982).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The lighter half has no less than this share of the weight, in percent, unless single nodes are
/// heavy.
const LEAST_HALF_PERCENT: u64 = 47;

/// A graph whose nodes and edges have weights.
#[derive(Clone, Debug, Default)]
pub(super) struct WeightedGraph {
    weights: Vec<u64>,
    /// The neighbours of each node, with the weights of the edges to them.
    neighbours: Vec<Vec<(u32, u64)>>,
}

impl WeightedGraph {
    /// A graph with nodes of no weight, without edges.
    pub(super) fn new(nodes: usize) -> Self {
        WeightedGraph { weights: vec![0; nodes], neighbours: vec![Vec::new(); nodes] }
    }

    /// Makes a node heavier.
    pub(super) fn add_weight(&mut self, node: u32, weight: u64) {
        self.weights[node as usize] += weight;
    }

    /// Makes the edge between two nodes heavier.
    pub(super) fn add_edge(&mut self, a: u32, b: u32, weight: u64) {
        for (from, to) in [(a, b), (b, a)] {
            let neighbours = &mut self.neighbours[from as usize];
            match neighbours.iter_mut().find(|(known, _)| *known == to) {
                Some((_, known)) => *known += weight,
                None => neighbours.push((to, weight)),
            }
        }
    }

    /// The same, where each node is merged into one that stands for it.
    pub(super) fn merged(&self, into: &[u32]) -> WeightedGraph {
        let mut merged = WeightedGraph::new(self.weights.len());
        for (node, stands) in into.iter().enumerate() {
            merged.add_weight(*stands, self.weights[node]);
            for (next, weight) in &self.neighbours[node] {
                let other = into[*next as usize];
                // Each edge is listed at both of its ends.
                if (node as u32) < *next && other != *stands {
                    merged.add_edge(*stands, other, *weight);
                }
            }
        }
        merged
    }

    /// The part of each node, of `2^depth` parts. Parts with neighbouring numbers are neighbours, as
    /// far as that is possible.
    pub(super) fn parts(&self, depth: u32) -> Vec<u32> {
        let mut parts = vec![0; self.weights.len()];
        let all = (0..self.weights.len() as u32).collect();
        self.split(all, depth, 0, &mut parts);
        parts
    }

    fn split(&self, members: Vec<u32>, depth: u32, first: u32, parts: &mut [u32]) {
        if depth == 0 || members.len() < 2 {
            members.iter().for_each(|node| parts[*node as usize] = first);
            return;
        }
        let halves = Halves::of(self, &members);
        let (one, other) = members.into_iter().partition(|node| halves.has_grown(*node));
        self.split(one, depth - 1, first, parts);
        self.split(other, depth - 1, first + (1 << (depth - 1)), parts);
    }
}

/// Where a node is while some of the nodes are split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    /// It is not split.
    Outside,
    /// In the half that grows.
    Grown,
    /// In the other.
    Rest,
}

/// Two halves of some nodes of a graph.
struct Halves<'a> {
    graph: &'a WeightedGraph,
    sides: Vec<Side>,
    /// By how much the cut becomes lighter if a node changes sides.
    gains: Vec<i64>,
    grown: u64,
    total: u64,
}

impl<'a> Halves<'a> {
    fn of(graph: &'a WeightedGraph, members: &[u32]) -> Self {
        let mut halves = Halves {
            graph,
            sides: vec![Side::Outside; graph.weights.len()],
            gains: vec![0; graph.weights.len()],
            grown: 0,
            total: members.iter().map(|node| graph.weights[*node as usize]).sum(),
        };
        members.iter().for_each(|node| halves.sides[*node as usize] = Side::Rest);
        for node in members {
            let inner = halves.neighbours(*node).map(|(_, weight)| weight as i64);
            halves.gains[*node as usize] = -inner.sum::<i64>();
        }
        halves.grow(members);
        halves.improve(members);
        halves
    }

    fn has_grown(&self, node: u32) -> bool {
        self.sides[node as usize] == Side::Grown
    }

    /// The neighbours of a node that are split with it.
    fn neighbours(&self, node: u32) -> impl Iterator<Item = (u32, u64)> {
        let neighbours = self.graph.neighbours[node as usize].iter().copied();
        neighbours.filter(|(next, _)| self.sides[*next as usize] != Side::Outside)
    }

    /// A node far from the others: the last that is met from the first.
    fn rim(&self, first: u32) -> u32 {
        let mut met = vec![false; self.sides.len()];
        let (mut last, mut queue) = (first, VecDeque::from([first]));
        met[first as usize] = true;
        while let Some(node) = queue.pop_front() {
            last = node;
            for (next, _) in self.neighbours(node) {
                if !std::mem::replace(&mut met[next as usize], true) {
                    queue.push_back(next);
                }
            }
        }
        last
    }

    /// One half takes nodes until it has half of the weight.
    fn grow(&mut self, members: &[u32]) {
        let mut candidates = BinaryHeap::new();
        let mut unmet = members.iter();
        while 2 * self.grown < self.total {
            let node = match candidates.pop() {
                Some((gain, Reverse(node))) => {
                    if self.has_grown(node) || self.gains[node as usize] != gain {
                        continue;
                    }
                    node
                }
                None => match unmet.find(|node| self.sides[**node as usize] == Side::Rest) {
                    Some(node) if self.grown == 0 => self.rim(*node),
                    Some(node) => *node,
                    None => return,
                },
            };
            self.move_over(node);
            let next = self.neighbours(node).filter(|(next, _)| !self.has_grown(*next));
            candidates.extend(next.map(|(next, _)| (self.gains[next as usize], Reverse(next))));
        }
    }

    /// Nodes change sides while that makes the cut lighter.
    fn improve(&mut self, members: &[u32]) {
        let gain = |halves: &Self, node: u32| halves.gains[node as usize];
        let gaining = |halves: &Self, node: &u32| gain(halves, *node) > 0;
        let mut candidates: BinaryHeap<(i64, Reverse<u32>)> = BinaryHeap::new();
        let first = members.iter().filter(|node| gaining(self, node));
        candidates.extend(first.map(|node| (gain(self, *node), Reverse(*node))));
        while let Some((known, Reverse(node))) = candidates.pop() {
            if gain(self, node) != known || !self.stays_balanced(node) {
                continue;
            }
            self.move_over(node);
            let next = self.neighbours(node).filter(|(next, _)| gaining(self, next));
            candidates.extend(next.map(|(next, _)| (gain(self, next), Reverse(next))));
        }
    }

    /// Whether both halves are heavy enough after a node has changed sides, or the lighter one is
    /// heavier than before.
    fn stays_balanced(&self, node: u32) -> bool {
        let weight = self.graph.weights[node as usize];
        let after = if self.has_grown(node) { self.grown - weight } else { self.grown + weight };
        let lighter = |grown: u64| grown.min(self.total - grown);
        lighter(after) * 100 >= self.total * LEAST_HALF_PERCENT
            || lighter(after) > lighter(self.grown)
    }

    /// A node changes sides.
    fn move_over(&mut self, node: u32) {
        let weight = self.graph.weights[node as usize];
        let to = if self.has_grown(node) {
            self.grown -= weight;
            Side::Rest
        } else {
            self.grown += weight;
            Side::Grown
        };
        self.sides[node as usize] = to;
        self.gains[node as usize] = -self.gains[node as usize];
        let graph = self.graph;
        for (next, weight) in &graph.neighbours[node as usize] {
            let change = 2 * *weight as i64;
            let next = *next as usize;
            // An edge to a node of the same side would be cut.
            self.gains[next] += if self.sides[next] == to { -change } else { change };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weight of the edges between parts.
    fn cut(graph: &WeightedGraph, parts: &[u32]) -> u64 {
        let edges = graph.neighbours.iter().enumerate();
        let edges = edges.flat_map(|(a, next)| next.iter().map(move |(b, weight)| (a, *b, weight)));
        let between = edges.filter(|(a, b, _)| parts[*a] != parts[*b as usize]);
        between.map(|(_, _, weight)| weight).sum::<u64>() / 2
    }

    fn weights(graph: &WeightedGraph, parts: &[u32], count: usize) -> Vec<u64> {
        let mut weights = vec![0; count];
        parts
            .iter()
            .zip(&graph.weights)
            .for_each(|(part, weight)| weights[*part as usize] += weight);
        weights
    }

    #[test]
    fn a_chain_is_cut_in_its_middle() {
        let mut graph = WeightedGraph::new(8);
        (0..8).for_each(|node| graph.add_weight(node, 1));
        (0..7).for_each(|node| graph.add_edge(node, node + 1, 5));
        assert_eq!(graph.parts(0), [0; 8]);
        let halves = graph.parts(1);
        assert_eq!((cut(&graph, &halves), weights(&graph, &halves, 2)), (5, vec![4, 4]));
        let quarters = graph.parts(2);
        assert_eq!((cut(&graph, &quarters), weights(&graph, &quarters, 4)), (15, vec![2; 4]));
    }

    #[test]
    fn two_clusters_are_told_apart() {
        // Two cliques of four nodes with two light edges between them, their nodes mixed.
        let mut graph = WeightedGraph::new(8);
        (0..8).for_each(|node| graph.add_weight(node, 3));
        for a in 0..8u32 {
            for b in a + 1..8 {
                if a % 2 == b % 2 {
                    graph.add_edge(a, b, 10);
                }
            }
        }
        graph.add_edge(0, 1, 1);
        graph.add_edge(4, 3, 1);
        let parts = graph.parts(1);
        assert_eq!(cut(&graph, &parts), 2);
        assert!((0..8).all(|node| parts[node] == parts[node % 2]));
    }

    #[test]
    fn islands_are_shared_out_too() {
        let mut graph = WeightedGraph::new(6);
        (0..6).for_each(|node| graph.add_weight(node, 1));
        assert_eq!(weights(&graph, &graph.parts(1), 2), [3, 3]);
    }
}
