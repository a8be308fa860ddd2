//! Counts the reductions and timeouts of every flow: the kernel tells of each change of its
//! congestion state (tracepoint `tcp:tcp_cong_state_set`, `net/ipv4/tcp_cong.c`).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fairway_guest::plan::{Flow, Plan};
use nix::mount::{MsFlags, mount};

const TRACING: &str = "/sys/kernel/tracing";
/// `TCP_CA_CWR`, the first state in which the window is reduced, and `TCP_CA_Loss`
/// (`include/uapi/linux/tcp.h`).
const CWR: u8 = 2;
const LOSS: u8 = 4;

/// How a connection is known: addresses of its source and its sink, and port of its sink. The source's port
/// is the kernel's choice.
type Ends = (Ipv4Addr, Ipv4Addr, u16);

/// Counts of all flows.
pub struct States {
    pipe: File,
    /// The end of what was read, if it is no whole line.
    rest: String,
    /// The flow of each connection.
    of_ends: BTreeMap<Ends, usize>,
    /// By flow, of its source and of its sink: reductions and timeouts.
    pub counts: Vec<[(u64, u64); 2]>,
}

impl States {
    /// Asks the kernel to tell; fails on kernels without event tracing.
    pub fn open(plan: &Plan) -> io::Result<Self> {
        mount(Some("tracefs"), TRACING, Some("tracefs"), MsFlags::empty(), None::<&str>)?;
        let event = Path::new(TRACING).join("events/tcp/tcp_cong_state_set");
        fs::write(event.join("filter"), format!("cong_state >= {CWR}"))?;
        fs::write(event.join("enable"), "1")?;
        let mut options = OpenOptions::new();
        let pipe = options.read(true).custom_flags(libc::O_NONBLOCK);
        let pipe = pipe.open(Path::new(TRACING).join("trace_pipe"))?;
        Ok(States {
            pipe,
            rest: String::new(),
            of_ends: by_ends(plan),
            counts: vec![[(0, 0); 2]; plan.flows.len()],
        })
    }

    /// Changes that the kernel could not tell, because its buffer was full.
    pub fn lost() -> io::Result<u64> {
        let mut lost = 0;
        for processor in fs::read_dir(Path::new(TRACING).join("per_cpu"))? {
            lost += lost_events(&fs::read_to_string(processor?.path().join("stats"))?);
        }
        Ok(lost)
    }

    /// Counts what has happened since the last time.
    pub fn catch_up(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        loop {
            let length = match self.pipe.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            self.rest.push_str(&String::from_utf8_lossy(&buffer[..length]));
            let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
            for change in self.rest[..whole].lines().filter_map(Change::read) {
                if let Some((flow, side)) = change.place(&self.of_ends) {
                    let count = &mut self.counts[flow][side];
                    count.0 += 1;
                    count.1 += u64::from(change.state == LOSS);
                }
            }
            self.rest.drain(..whole);
        }
    }
}

/// The flow of each connection of a plan.
fn by_ends(plan: &Plan) -> BTreeMap<Ends, usize> {
    let ends = |flow: &Flow| {
        let source = flow.subflow.map_or(flow.source_address, |subflow| subflow.source);
        (source, flow.address, flow.port)
    };
    plan.flows.iter().enumerate().map(|(index, flow)| (ends(flow), index)).collect()
}

/// A socket's change of state.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    /// Its own address and port, and those of its peer.
    own: (Ipv4Addr, u16),
    peer: (Ipv4Addr, u16),
    state: u8,
}

impl Change {
    /// Reads a line of the kernel's; none if it is of something else.
    fn read(line: &str) -> Option<Self> {
        let (_, event) = line.split_once("tcp_cong_state_set:")?;
        let field =
            |name: &str| event.split_ascii_whitespace().find_map(|word| word.strip_prefix(name));
        Some(Change {
            own: (field("saddr=")?.parse().ok()?, field("sport=")?.parse().ok()?),
            peer: (field("daddr=")?.parse().ok()?, field("dport=")?.parse().ok()?),
            state: field("cong_state=")?.parse().ok()?,
        })
    }

    /// The flow whose socket it is, and 0 at its source or 1 at its sink.
    fn place(&self, of_ends: &BTreeMap<Ends, usize>) -> Option<(usize, usize)> {
        let (own, peer) = (self.own, self.peer);
        let at_source = of_ends.get(&(own.0, peer.0, peer.1)).map(|flow| (*flow, 0));
        at_source.or_else(|| of_ends.get(&(peer.0, own.0, own.1)).map(|flow| (*flow, 1)))
    }
}

/// Events that a processor's buffer has lost: written over, too deeply nested, or not written
/// (kernel/trace/trace.c, `tracing_stats_read`).
fn lost_events(stats: &str) -> u64 {
    const LOST: [&str; 3] = ["overrun", "commit overrun", "dropped events"];
    let fields = stats.lines().filter_map(|line| line.split_once(": "));
    fields
        .filter(|(name, _)| LOST.contains(name))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const SINK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    #[test]
    fn reads_what_the_kernel_prints() {
        let line = "          <idle>-0       [000] ..s2.     1.234567: tcp_cong_state_set: \
                    family=AF_INET sport=40000 dport=5001 saddr=10.0.0.1 daddr=10.0.0.2 \
                    saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=4";
        let (own, peer) = ((SOURCE, 40_000), (SINK, 5001));
        assert_eq!(Change::read(line), Some(Change { own, peer, state: 4 }));
        assert_eq!(Change::read("CPU:0 [LOST 12 EVENTS]"), None);
    }

    #[test]
    fn a_change_is_of_the_flow_with_its_addresses_and_its_port() {
        let of_ends = BTreeMap::from([((SOURCE, SINK, 5001), 3)]);
        let stranger = Ipv4Addr::new(10, 0, 0, 3);
        for (own, peer, expected) in [
            ((SOURCE, 40_000), (SINK, 5001), Some((3, 0))),
            ((SINK, 5001), (SOURCE, 40_000), Some((3, 1))),
            // Another host's connection to the same port, or from it, and another port.
            ((stranger, 40_000), (SINK, 5001), None),
            ((SOURCE, 40_000), (stranger, 5001), None),
            ((stranger, 5001), (SOURCE, 40_000), None),
            ((SOURCE, 40_000), (SINK, 5002), None),
            ((SINK, 40_000), (SOURCE, 5001), None),
        ] {
            assert_eq!(
                Change { own, peer, state: 2 }.place(&of_ends),
                expected,
                "{own:?} {peer:?}"
            );
        }
    }

    #[test]
    fn lost_events_are_counted() {
        let stats = "entries: 5\noverrun: 20\ncommit overrun: 3\nbytes: 52\n\
                     oldest event ts:     1.5\nnow ts:     2.5\ndropped events: 100\nread events: 7\n";
        assert_eq!(lost_events(stats), 20 + 3 + 100);
        assert_eq!(lost_events("entries: 5\noverrun: 0\n"), 0);
    }

    proptest! {
        #[test]
        fn any_line_is_none_or_an_event(words in "(tcp_cong_state_set:)?[a-z= 0-9:]{0,60}") {
            if let Some(Change { own, peer, state }) = Change::read(&words) {
                prop_assert!([own.1, peer.1].iter().all(|port| words.contains(&port.to_string())));
                prop_assert!(words.contains(&state.to_string()));
            }
        }
    }
}
