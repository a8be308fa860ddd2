//! Fat trees, and traffic matrices over their hosts.

use std::collections::BTreeSet;

use super::{assert_refused, experiment, with_end};
use crate::{Experiment, Graph, Router, Shape};

/// A fat tree of switches with so many ports, and flows.
fn tree(arity: u32, seed: u32, flows: &str) -> String {
    format!(
        "duration = \"1 s\"\nseed = {seed}\n[topology]\nkind = \"fat-tree\"\narity = {arity}\n\
         access = {{ rate = \"1 Gbit/s\", delay = \"1 us\" }}\n{flows}"
    )
}

fn graph(experiment: &Experiment) -> &Graph {
    match &experiment.topology.shape {
        Shape::Graph(graph) => graph,
        other => panic!("a graph, not {other:?}"),
    }
}

/// Copies of a flow with a matrix.
fn copies(matrix: &str, count: u32) -> String {
    format!("[[flow]]\nid = \"f\"\ncc = \"reno\"\ncount = {count}\nmatrix = \"{matrix}\"\n")
}

/// The names of source and sink of every connection.
fn pairs(text: &str) -> Vec<[String; 2]> {
    let experiment = experiment(text);
    let name = |node: usize| graph(&experiment).nodes[node].clone();
    experiment.flows.iter().map(|flow| flow.hosts.map(name)).collect()
}

fn distinct(pairs: &[[String; 2]], end: usize) -> BTreeSet<&str> {
    pairs.iter().map(|pair| pair[end].as_str()).collect()
}

#[test]
fn a_fat_tree_has_as_many_of_everything_as_its_paper_says() {
    // Al-Fares et al. (2008), section 2.2: k³/4 hosts, k²/4 core switches and k²/2 in each other layer;
    // k³/4 links in each of three layers; (k/2)² shortest paths between hosts of different pods.
    for (arity, hosts, switches, links, paths) in
        [(2, 2, 5, 6, 1), (4, 16, 20, 48, 4), (8, 128, 80, 384, 16), (16, 1024, 320, 3072, 64)]
    {
        let flow = format!("[[flow]]\ncc = \"reno\"\nfrom = \"h0\"\nto = \"h{}\"\n", hosts - 1);
        let experiment = experiment(&tree(arity, 1, &flow));
        let graph = graph(&experiment);
        let named = graph.nodes.iter().filter(|node| node.starts_with('h')).count();
        assert_eq!((named, graph.nodes.len() - named), (hosts, switches), "{arity}");
        assert_eq!(graph.links.len(), links, "{arity}");
        let ends = experiment.flows[0].hosts;
        let routes = Router::new(graph).routes(ends[0], ends[1]);
        assert_eq!(routes.len(), paths, "{arity}");
        assert!(routes.iter().all(|route| route.len() == 6), "{arity}");
    }
}

#[test]
fn in_a_permutation_every_host_sends_once_and_receives_once() {
    let pairs = pairs(&tree(4, 1, &copies("permutation", 16)));
    let hosts: Vec<String> = (0..16).map(|host| format!("h{host}")).collect();
    let all: BTreeSet<&str> = hosts.iter().map(String::as_str).collect();
    assert_eq!((distinct(&pairs, 0), distinct(&pairs, 1)), (all.clone(), all));
    assert!(pairs.iter().all(|[from, to]| from != to));
}

#[test]
fn in_an_incast_all_send_to_one() {
    let pairs = pairs(&tree(4, 1, &copies("incast", 15)));
    assert_eq!(distinct(&pairs, 1).len(), 1);
    assert_eq!(distinct(&pairs, 0).len(), 15);
    assert!(pairs.iter().all(|[from, to]| from != to));
}

#[test]
fn each_server_of_an_incast_has_a_host_of_its_own() {
    let flow = "[[flow]]\nid = \"f\"\nkind = \"incast\"\ncc = \"reno\"\nsize = \"10 kB\"\n\
                matrix = \"incast\"\nservers = ";
    let pairs = pairs(&tree(4, 1, &format!("{flow}15\n")));
    assert_eq!((distinct(&pairs, 0).len(), distinct(&pairs, 1).len()), (15, 1));
    assert_refused(
        &tree(4, 1, &format!("{flow}16\n")),
        "flow.f.matrix: 16 connections are too many for 16 hosts; lower them to 15",
    );
}

#[test]
fn pairs_depend_on_the_seed_and_the_flow_alone() {
    let permutation = |seed: u32, count: u32| pairs(&tree(4, seed, &copies("permutation", count)));
    assert_eq!(permutation(1, 16), permutation(1, 16));
    assert_ne!(permutation(1, 16), permutation(2, 16));
    // Fewer connections are the first of all.
    assert_eq!(permutation(1, 5), permutation(1, 16)[..5]);
    let other = copies("permutation", 16).replace("\"f\"", "\"g\"");
    let both = pairs(&tree(4, 1, &format!("{}{other}", copies("permutation", 16))));
    assert_ne!(both[..16], both[16..]);
}

#[test]
fn a_star_has_hosts_too() {
    let star = "duration = \"1 s\"\n[topology]\nkind = \"star\"\nhosts = 3\n\
                access = { rate = \"1 Gbit/s\", delay = \"1 us\", queue = { limit = \"9 packets\" } }\n";
    let pairs = pairs(&format!("{star}{}", copies("permutation", 3)));
    assert_eq!(distinct(&pairs, 0), BTreeSet::from(["h0", "h1", "h2"]));
}

#[test]
fn wrong_matrices() {
    assert_refused(
        &tree(4, 1, &copies("permutation", 17)),
        "flow.f.matrix: 17 connections are too many for 16 hosts; lower them to 16",
    );
    assert_refused(
        &tree(4, 1, &copies("permutations", 4)),
        "flow.f.matrix: unknown traffic matrix \"permutations\"; did you mean \"permutation\"?",
    );
    assert_refused(
        &tree(4, 1, &format!("{}from = \"h0\"\nto = \"h1\"\n", copies("incast", 4))),
        "flow.f.matrix: conflicts with `from`; set only one",
    );
    assert_refused(
        &with_end("matrix = \"incast\""),
        "flow.main.matrix: needs hosts with one link each, such as those of kind = \"fat-tree\" or \
         \"star\"; write `from` and `to` here",
    );
    let servers = "[[flow]]\nid = \"f\"\nkind = \"incast\"\ncc = \"reno\"\nsize = \"10 kB\"\n\
                   servers = 4\nmatrix = \"permutation\"\n";
    assert_refused(
        &tree(4, 1, servers),
        "flow.f.matrix: kind = \"incast\" has one client; write matrix = \"incast\"",
    );
    let islands = "duration = \"1 s\"\n[topology]\nkind = \"graph\"\nlink = [\
                   { from = \"a\", to = \"b\", rate = \"1 Gbit/s\", delay = \"1 ms\" },\
                   { from = \"c\", to = \"d\", rate = \"1 Gbit/s\", delay = \"1 ms\" }]\n";
    assert_refused(
        &format!("{islands}{}", copies("permutation", 2)),
        "flow.f.matrix: some hosts have no route to the others; add links",
    );
}

#[test]
fn wrong_arities() {
    let flow = "[[flow]]\ncc = \"reno\"\nfrom = \"h0\"\nto = \"h1\"\n";
    assert_refused(
        &tree(5, 1, flow),
        "topology.arity: expected an even number of ports, got 5; try 4",
    );
    assert_refused(
        &tree(18, 1, flow),
        "topology.arity: expected a whole number from 2 to 16, got 18",
    );
}
