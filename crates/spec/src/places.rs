//! Where flows begin and end: the hosts on either side of a dumbbell or a chain, or nodes of a graph.

use serde_json::Value;

use super::hosts::unnamed;
use super::matrix::Matrix;
use super::reader::{Name, Table, excerpt};
use super::{Graph, Router, Shape, program, wlan};

/// What a flow says of its hosts.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    /// The flow's place in the experiment, for errors: "flow.main".
    path: String,
    /// Names of source and sink, if there are any.
    names: Option<(String, String)>,
    /// Whether it goes back, if that is said.
    reversed: Option<bool>,
    /// What draws the hosts of its connections instead.
    pub(super) matrix: Option<Matrix>,
    /// Whether its names may be those that captures give to hosts that no flow names.
    knows_unnamed: bool,
}

/// Where a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResolvedEnds {
    pub(super) hosts: [usize; 2],
    pub(super) reversed: bool,
}

impl Ends {
    /// What the table of a flow says; nothing if that is wrong.
    pub(super) fn read(table: &Table) -> Option<Self> {
        for (present, missing) in [("from", "to"), ("to", "from")] {
            if table.has(present) && !table.has(missing) {
                let message =
                    format!("needs {missing}, the host at the other end; write both or none");
                return table.wrong(present, message);
            }
        }
        let names = if table.has("from") {
            let (from, to) = (table.read("from"), table.read("to"));
            let (from, to): (String, String) = (from?, to?);
            if from == to {
                return table.wrong("to", format!("\"{to}\" is the source too; name another host"));
            }
            Some((from, to))
        } else {
            None
        };
        let reversed =
            table.read_if_written::<Name>("direction")?.map(|Name(name)| name == "reverse");
        let matrix = table.read_if_written::<Name>("matrix")?;
        let written = ["from", "to", "direction"].into_iter().find(|key| table.has(key));
        if let (Some(_), Some(key)) = (matrix, written) {
            return table.wrong("matrix", format!("conflicts with `{key}`; set only one"));
        }
        let matrix = matrix.and_then(|Name(name)| Matrix::from_name(name));
        let asks_many = table.raw("kind").and_then(Value::as_str) == Some("incast");
        if asks_many && matrix == Some(Matrix::Permutation) {
            let message = "kind = \"incast\" has one client; write matrix = \"incast\"";
            return table.wrong("matrix", message);
        }
        let kind = table.raw("kind").and_then(Value::as_str);
        let knows_unnamed = match kind {
            Some(kind) => kind == program::COMMANDS,
            None => program::has_command(table),
        };
        Some(Ends { path: table.path(""), names, reversed, matrix, knows_unnamed })
    }

    /// What its source and its sink are called: as it is written, or as captures call them.
    pub(super) fn host_names(
        &self,
        shape: &Shape,
        [left, right]: [usize; 2],
        reversed: bool,
    ) -> [String; 2] {
        if let Some((from, to)) = &self.names {
            return [from.clone(), to.clone()];
        }
        match (shape, reversed) {
            (Shape::Graph(graph), _) => [left, right].map(|node| graph.nodes[node].clone()),
            (_, false) => [unnamed(0, left), unnamed(1, right)],
            (_, true) => [unnamed(1, right), unnamed(0, left)],
        }
    }

    /// Why the network has no such number of pairs of hosts for a flow with a matrix, if so.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub(super) fn check_pairs(&self, shape: &Shape, pairs: u64) -> Result<(), (String, String)> {
        let refusal = self.matrix.and_then(|matrix| matrix.refusal(shape, pairs));
        refusal.map_or(Ok(()), |message| Err((format!("{}.matrix", self.path), message)))
    }
}

/// Gives flows their places, one after the other.
pub(super) enum Places<'a> {
    /// Hosts on two sides, by name where they have one.
    Sides([Vec<Option<String>>; 2]),
    /// Nodes.
    Nodes(&'a Graph, Router<'a>),
    /// The server and so many stations of a WLAN.
    Cell(usize),
}

impl<'a> Places<'a> {
    pub(super) fn new(shape: &'a Shape) -> Self {
        match shape {
            Shape::Dumbbell { .. } | Shape::Chain { .. } => Places::Sides([Vec::new(), Vec::new()]),
            Shape::Graph(graph) => Places::Nodes(graph, Router::new(graph)),
            Shape::Wlan(wlan) => Places::Cell(wlan.cell.stations.len()),
        }
    }

    /// The place of the next flow.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub(super) fn assign(&mut self, ends: &Ends) -> Result<ResolvedEnds, (String, String)> {
        let found = match self {
            Places::Sides(sides) => assign_sides(sides, ends),
            Places::Nodes(graph, router) => assign_nodes(graph, router, ends),
            Places::Cell(stations) => assign_in_cell(*stations, ends),
        };
        found.map_err(|(key, message)| (format!("{}.{key}", ends.path), message))
    }
}

type Refusal = (&'static str, String);

fn assign_sides(
    sides: &mut [Vec<Option<String>>; 2],
    ends: &Ends,
) -> Result<ResolvedEnds, Refusal> {
    let Some((from, to)) = &ends.names else {
        let hosts = [0, 1].map(|side| add(&mut sides[side], None));
        return Ok(ResolvedEnds { hosts, reversed: ends.reversed.unwrap_or(false) });
    };
    let known = |side: usize, name: &str| {
        let named = sides[side].iter().position(|host| host.as_deref() == Some(name));
        named.or_else(|| {
            let is_it = |(index, host): (usize, &Option<String>)| {
                ends.knows_unnamed && host.is_none() && unnamed(side, index) == name
            };
            sides[side].iter().enumerate().position(is_it)
        })
    };
    let goes_back = known(1, from).is_some() || known(0, to).is_some();
    let reversed = ends.reversed.unwrap_or(goes_back);
    let (left, right) = if reversed { (to, from) } else { (from, to) };
    for (side, name, key) in [
        (1, left, if reversed { "to" } else { "from" }),
        (0, right, if reversed { "from" } else { "to" }),
    ] {
        if known(side, name).is_some() {
            let message = format!(
                "\"{name}\" is at the other side of the network, as an earlier flow has it; name \
                 another host"
            );
            return Err((key, message));
        }
    }
    let hosts = [(0, left), (1, right)].map(|(side, name)| (side, name, known(side, name)));
    let hosts = hosts.map(|(side, name, known)| {
        known.unwrap_or_else(|| add(&mut sides[side], Some(name.clone())))
    });
    Ok(ResolvedEnds { hosts, reversed })
}

fn add(hosts: &mut Vec<Option<String>>, name: Option<String>) -> usize {
    hosts.push(name);
    hosts.len() - 1
}

fn assign_nodes(graph: &Graph, router: &mut Router, ends: &Ends) -> Result<ResolvedEnds, Refusal> {
    if ends.reversed.is_some() {
        let message = "belongs to a dumbbell or a chain; use `from` and `to` here";
        return Err(("direction", message.to_owned()));
    }
    let hosts = match &ends.names {
        None => graph.ends.ok_or_else(|| {
            let message = format!("missing; write from and to, of {}", some(&graph.nodes));
            ("from", message)
        })?,
        Some((from, to)) => {
            let node = |key: &'static str, name: &String| {
                graph.nodes.iter().position(|node| node == name).ok_or_else(|| {
                    let nodes = some(&graph.nodes);
                    (key, format!("there is no node \"{}\"; there is {nodes}", excerpt(name)))
                })
            };
            [node("from", from)?, node("to", to)?]
        }
    };
    if router.routes(hosts[0], hosts[1]).is_empty() {
        let [from, to] = hosts.map(|node| &graph.nodes[node]);
        let message = format!("no link leads from \"{from}\" to \"{to}\"; add one");
        return Err(("to", message));
    }
    Ok(ResolvedEnds { hosts, reversed: false })
}

fn assign_in_cell(stations: usize, ends: &Ends) -> Result<ResolvedEnds, Refusal> {
    if ends.reversed.is_some() {
        let message = "belongs to a dumbbell or a chain; use `from` and `to` here";
        return Err(("direction", message.to_owned()));
    }
    let hosts = wlan::names(stations);
    let Some((from, to)) = &ends.names else {
        return Err(("from", format!("missing; write from and to, of {hosts}")));
    };
    let host = |key: &'static str, name: &String| {
        wlan::host(name, stations).ok_or_else(|| {
            (key, format!("there is no host \"{}\"; there is {hosts}", excerpt(name)))
        })
    };
    Ok(ResolvedEnds { hosts: [host("from", from)?, host("to", to)?], reversed: false })
}

/// The first names of a list.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let listed: Vec<_> = names.iter().take(SHOWN).map(|name| format!("\"{name}\"")).collect();
    let more = if names.len() > SHOWN { " and others" } else { "" };
    format!("{}{more}", listed.join(", "))
}
