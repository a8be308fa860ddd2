//! Networks of nodes and links: written out, or drawn by the kind of the topology.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use fairway_units::Duration;
use serde_json::Value;

use super::links::LinkText;
use super::queues::Path;
use super::reader::Table;
use super::traffic::read_id;
use super::{Graph, GraphLink, Multipath, Shape};

/// Links of a graph that is written out.
const MAX_LINKS: usize = 2000;

/// A graph whose queues have not been sized yet.
struct GraphText<'a> {
    nodes: Vec<String>,
    /// The nodes by name.
    indices: BTreeMap<String, usize>,
    /// Links that are drawn, each from one node to another.
    links: Vec<Drawn<'a>>,
    /// Each connection's own links, if there are any.
    access: Option<LinkText<'a>>,
    /// Where flows begin and end that name no hosts.
    ends: Option<[usize; 2]>,
}

/// A link as it is drawn: many may look alike.
struct Drawn<'a> {
    from: usize,
    to: usize,
    metric: u32,
    id: String,
    text: Rc<LinkText<'a>>,
}

/// Reads a topology of one of the kinds that are graphs.
pub(super) fn read(kind: &str, table: &Table, frame: u64) -> Option<(Shape, Path)> {
    let graph = match kind {
        "graph" => written_out(table)?,
        "parallel" => parallel(table)?,
        "parking-lot" => parking_lot(table)?,
        "star" => star(table)?,
        "fat-tree" => fat_tree(table)?,
        _ => lte(table)?,
    };
    let multipath = Multipath::from_name(table.name_or("multipath", "hash")?)?;
    let (graph, path) = graph.finish(multipath, frame)?;
    Some((Shape::Graph(Box::new(graph)), path))
}

impl<'a> GraphText<'a> {
    /// Node of that name, perhaps a new one.
    fn node(&mut self, name: &str) -> usize {
        *self.indices.entry(name.to_owned()).or_insert_with(|| {
            self.nodes.push(name.to_owned());
            self.nodes.len() - 1
        })
    }

    fn new(access: Option<LinkText<'a>>) -> Self {
        GraphText {
            nodes: Vec::new(),
            indices: BTreeMap::new(),
            links: Vec::new(),
            access,
            ends: None,
        }
    }

    /// Draws a link named after its ends.
    fn draw(&mut self, from: &str, to: &str, text: &Rc<LinkText<'a>>) {
        let (id, metric) = (format!("{from}-{to}"), 1);
        let (from, to) = (self.node(from), self.node(to));
        self.links.push(Drawn { from, to, metric, id, text: text.clone() });
    }

    /// Sizes the queues. The bandwidth-delay product of a limit is the rate of the slowest link times
    /// the propagation delays there and back between the two nodes that are farthest apart; where that
    /// is not what is meant, a limit in packets, bytes or time is.
    fn finish(self, multipath: Multipath, frame: u64) -> Option<(Graph, Path)> {
        let rates = self.links.iter().map(|drawn| drawn.text.slowest());
        let slowest = rates.chain(self.access.iter().map(LinkText::slowest)).min()?;
        let base_rtt = self.longest_round_trip();
        let path = Path { slowest, base_rtt, frame };
        let mut links = Vec::with_capacity(self.links.len());
        for drawn in &self.links {
            let mut link = drawn.text.finish(&path, drawn.text.slowest() == slowest)?;
            link.id.clone_from(&drawn.id);
            let Drawn { from, to, metric, .. } = *drawn;
            links.push(GraphLink { from, to, metric, link });
        }
        let access = match &self.access {
            Some(access) => Some(access.finish(&path, access.slowest() == slowest)?),
            None => None,
        };
        Some((Graph { nodes: self.nodes, links, access, multipath, ends: self.ends }, path))
    }

    /// The longest of the shortest ways between two nodes, there and back, in time.
    fn longest_round_trip(&self) -> Duration {
        let count = self.nodes.len();
        let mut neighbours = vec![Vec::new(); count];
        for drawn in &self.links {
            let (length, round_trip) = (u64::from(drawn.metric), drawn.text.round_trip());
            neighbours[drawn.from].push((drawn.to, length, round_trip));
            neighbours[drawn.to].push((drawn.from, length, round_trip));
        }
        let farthest = (0..count).map(|from| {
            let mut best = vec![None; count];
            let mut next = BinaryHeap::new();
            best[from] = Some((0, Duration::ZERO));
            next.push(Reverse((0, Duration::ZERO, from)));
            while let Some(Reverse((length, time, node))) = next.pop() {
                if best[node].is_some_and(|found| found < (length, time)) {
                    continue;
                }
                for (to, metric, round_trip) in &neighbours[node] {
                    let through = (length + metric, time + *round_trip);
                    if best[*to].is_none_or(|found| through < found) {
                        best[*to] = Some(through);
                        // No way leads on from a node with one link.
                        if neighbours[*to].len() > 1 {
                            next.push(Reverse((through.0, through.1, *to)));
                        }
                    }
                }
            }
            best.into_iter().flatten().map(|(_, time)| time).max().unwrap_or(Duration::ZERO)
        });
        let access = self.access.as_ref().map_or(Duration::ZERO, |link| link.round_trip() * 2);
        farthest.max().unwrap_or(Duration::ZERO) + access
    }
}

/// The link table at a key.
fn link<'a>(table: &Table<'a>, name: &str) -> Option<LinkText<'a>> {
    if !table.has(name) {
        table.refuse_missing(name);
        return None;
    }
    LinkText::read(table.table(name)?, name.to_owned())
}

/// Each connection's own link, if it is written; nothing if it is wrong.
fn access<'a>(table: &Table<'a>) -> Option<Option<LinkText<'a>>> {
    if table.has("access") { link(table, "access").map(Some) } else { Some(None) }
}

/// The tables of a list of links, with their names.
fn list<'a>(table: &Table<'a>, key: &str, most: usize) -> Option<Vec<(Table<'a>, Option<String>)>> {
    let tables = table.tables(key);
    if table.raw("kind").and_then(Value::as_str) != Some("graph") {
        tables.iter().for_each(refuse_nodes);
    }
    if tables.is_empty() || tables.len() > most {
        let message = format!("expected 1 to {most} links, got {}", tables.len());
        return table.wrong(key, format!("{message}; write [[topology.{key}]] for each"));
    }
    let mut ids: Vec<String> = Vec::new();
    let mut links = Vec::new();
    for link in tables {
        let id = read_id(&link);
        if let Some(id) = &id {
            if ids.contains(id) {
                let message = format!("\"{id}\" names another link too; name each differently");
                return link.wrong("id", message);
            }
            ids.push(id.clone());
        } else if link.has("id") {
            return None;
        }
        links.push((link, id));
    }
    Some(links)
}

/// Refuses what only the links of a graph that is written out have.
pub(super) fn refuse_nodes(link: &Table) {
    for key in ["from", "to", "metric"].into_iter().filter(|key| link.has(key)) {
        link.refuse(
            key,
            "belongs to the links of kind = \"graph\"; this kind places its links itself",
        );
    }
}

fn written_out<'a>(table: &Table<'a>) -> Option<GraphText<'a>> {
    let mut graph = GraphText::new(access(table)?);
    for (link, id) in list(table, "link", MAX_LINKS)? {
        let (from, to): (String, String) = (link.require("from")?, link.require("to")?);
        if from == to {
            return link.wrong("to", format!("\"{to}\" is also its source; name another node"));
        }
        let metric = u32::try_from(link.read("metric").unwrap_or(1u64)).unwrap_or(u32::MAX);
        let id = id.unwrap_or_else(|| format!("{from}-{to}"));
        if graph.links.iter().any(|other| other.id == id) {
            let message = format!("\"{id}\" names another link too; name each differently");
            return link.wrong("id", message);
        }
        let text = Rc::new(LinkText::read(link, id.clone())?);
        let (from, to) = (graph.node(&from), graph.node(&to));
        graph.links.push(Drawn { from, to, metric, id, text });
    }
    Some(graph)
}

/// Routes side by side between two routers.
fn parallel<'a>(table: &Table<'a>) -> Option<GraphText<'a>> {
    let mut graph = GraphText::new(access(table)?);
    let ends = [graph.node("left"), graph.node("right")];
    graph.ends = Some(ends);
    for (index, (link, id)) in
        list(table, "link", super::routes::MAX_ROUTES)?.into_iter().enumerate()
    {
        let id = id.unwrap_or_else(|| format!("route{index}"));
        let text = Rc::new(LinkText::read(link, id.clone())?);
        graph.links.push(Drawn { from: ends[0], to: ends[1], metric: 1, id, text });
    }
    Some(graph)
}

/// A row of routers r0, r1, … with a link between neighbours.
fn parking_lot<'a>(table: &Table<'a>) -> Option<GraphText<'a>> {
    let mut graph = GraphText::new(access(table)?);
    for (index, (link, id)) in list(table, "link", 200)?.into_iter().enumerate() {
        let (from, to) = (format!("r{index}"), format!("r{}", index + 1));
        let id = id.unwrap_or_else(|| format!("{from}-{to}"));
        let text = Rc::new(LinkText::read(link, id.clone())?);
        let (from, to) = (graph.node(&from), graph.node(&to));
        graph.links.push(Drawn { from, to, metric: 1, id, text });
    }
    graph.ends = Some([0, graph.nodes.len() - 1]);
    Some(graph)
}

/// Hosts h0, h1, … around one switch.
fn star<'a>(table: &Table<'a>) -> Option<GraphText<'a>> {
    let text = Rc::new(link(table, "access")?);
    let mut graph = GraphText::new(None);
    let hosts: u64 = table.require("hosts")?;
    for host in 0..hosts {
        graph.draw(&format!("h{host}"), "switch", &text);
    }
    Some(graph)
}

/// A fat tree of switches with `arity` ports (Al-Fares, Loukissas, Vahdat, "A Scalable, Commodity Data
/// Center Network Architecture", SIGCOMM 2008, section 2.2): k pods of k/2 edge and k/2 aggregation
/// switches, (k/2)² core switches, k³/4 hosts.
fn fat_tree<'a>(table: &Table<'a>) -> Option<GraphText<'a>> {
    let host_link = Rc::new(link(table, "access")?);
    let fabric = match table.has("fabric") {
        true => Rc::new(link(table, "fabric")?),
        false => host_link.clone(),
    };
    let arity: u64 = table.require("arity")?;
    if !arity.is_multiple_of(2) {
        return table
            .wrong("arity", format!("expected an even number of ports, got {arity}; try 4"));
    }
    let half = arity / 2;
    let mut graph = GraphText::new(None);
    for host in 0..arity * half * half {
        let (pod, edge) = (host / (half * half), host / half % half);
        graph.draw(&format!("h{host}"), &format!("edge{pod}.{edge}"), &host_link);
    }
    for pod in 0..arity {
        for (edge, aggregation) in pairs(half) {
            let (edge, up) =
                (format!("edge{pod}.{edge}"), format!("aggregation{pod}.{aggregation}"));
            graph.draw(&edge, &up, &fabric);
        }
        for (aggregation, port) in pairs(half) {
            let up = format!("aggregation{pod}.{aggregation}");
            graph.draw(&up, &format!("core{}", aggregation * half + port), &fabric);
        }
    }
    Some(graph)
}

fn pairs(count: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..count).flat_map(move |one| (0..count).map(move |other| (one, other)))
}

/// The access network of an LTE study: server – gateway – base stations – user devices.
fn lte<'a>(table: &Table<'a>) -> Option<GraphText<'a>> {
    let [core, backhaul, radio] =
        ["core", "backhaul", "radio"].map(|name| link(table, name).map(Rc::new));
    let (core, backhaul, radio) = (core?, backhaul?, radio?);
    let mut graph = GraphText::new(None);
    graph.draw("server", "gateway", &core);
    for cell in 0..table.read("cells").unwrap_or(2u64) {
        graph.draw("gateway", &format!("enb{cell}"), &backhaul);
        graph.draw(&format!("enb{cell}"), &format!("ue{cell}"), &radio);
    }
    Some(graph)
}
