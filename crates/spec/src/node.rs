//! Where links begin and end.

use std::fmt;

use fairway_net::wlan::NodeId;

/// A host or a router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// What is left of a delivery queue of links.
    Left,
    /// What is right of it.
    Right,
    /// A host on the left, or at the source of a connection.
    Source(u32),
    /// A host on the right, or at the sink of a connection.
    Sink(u32),
    /// A node of a graph.
    Named(u32),
    /// The server of a WLAN.
    Server,
    /// A node of a WLAN's cell.
    Air(NodeId),
    /// The way out of a host, which is no link.
    Inside,
}

impl fmt::Display for Node {
    /// Its name; that of a graph's node is only its number here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Left => f.write_str("left"),
            Node::Right => f.write_str("right"),
            Node::Source(host) => write!(f, "s{host}"),
            Node::Sink(host) => write!(f, "d{host}"),
            Node::Named(node) => write!(f, "{node}"),
            Node::Server => f.write_str("server"),
            Node::Air(NodeId::AccessPoint) => f.write_str("ap"),
            Node::Air(NodeId::Station(station)) => write!(f, "sta{station}"),
            Node::Inside => f.write_str("host"),
        }
    }
}
