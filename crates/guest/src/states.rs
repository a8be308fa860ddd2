//! Counts the reductions and timeouts of every flow: the kernel tells of each change of its
//! congestion state (tracepoint `tcp:tcp_cong_state_set`, `net/ipv4/tcp_cong.c`).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fairway_guest::plan::Plan;
use nix::mount::{MsFlags, mount};

const TRACING: &str = "/sys/kernel/tracing";
/// `TCP_CA_CWR`, the first state in which the window is reduced, and `TCP_CA_Loss`
/// (`include/uapi/linux/tcp.h`).
const CWR: u8 = 2;
const LOSS: u8 = 4;

/// Counts of all flows.
pub struct States {
    pipe: File,
    /// The end of what was read, if it is no whole line.
    rest: String,
    of_port: Vec<Option<u32>>,
    /// Of subflows, which share a port, by address of the source.
    of_source: BTreeMap<(Ipv4Addr, u16), u32>,
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
        let subflows = (0..).zip(&plan.flows).filter_map(|(index, flow)| {
            flow.subflow.map(|subflow| ((subflow.source, flow.port), index))
        });
        Ok(States {
            pipe,
            rest: String::new(),
            of_port: plan.flows_by_port(),
            of_source: subflows.collect(),
            counts: vec![[(0, 0); 2]; plan.flows.len()],
        })
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
            for (source, ports, state) in self.rest[..whole].lines().filter_map(read_line) {
                let subflow = self.of_source.get(&(source, ports[0])).copied();
                let [to, from] = ports.map(|port| self.of_port[usize::from(port)]);
                let towards = subflow.or(to).map(|flow| (flow, 0));
                if let Some((flow, side)) = towards.or_else(|| Some((from?, 1)))
                    && let Some(sides) = self.counts.get_mut(flow as usize)
                {
                    let count = &mut sides[side];
                    count.0 += 1;
                    count.1 += u64::from(state == LOSS);
                }
            }
            self.rest.drain(..whole);
        }
    }
}

/// Where a connection comes from, the port that data go to, the one they come from, and the new state.
fn read_line(line: &str) -> Option<(Ipv4Addr, [u16; 2], u8)> {
    let (_, event) = line.split_once("tcp_cong_state_set:")?;
    let field =
        |name: &str| event.split_ascii_whitespace().find_map(|word| word.strip_prefix(name));
    let ports = [field("dport=")?.parse().ok()?, field("sport=")?.parse().ok()?];
    Some((field("saddr=")?.parse().ok()?, ports, field("cong_state=")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_the_kernel_prints() {
        let line = "          <idle>-0       [000] ..s2.     1.234567: tcp_cong_state_set: \
                    family=AF_INET sport=40000 dport=5001 saddr=10.0.0.1 daddr=10.0.0.2 \
                    saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=4";
        let source = Ipv4Addr::new(10, 0, 0, 1);
        assert_eq!(read_line(line), Some((source, [5001, 40000], 4)));
        assert_eq!(read_line("CPU:0 [LOST 12 EVENTS]"), None);
    }

    proptest! {
        #[test]
        fn any_line_is_none_or_an_event(words in "(tcp_cong_state_set:)?[a-z= 0-9:]{0,60}") {
            if let Some((_, ports, state)) = read_line(&words) {
                prop_assert!(ports.iter().all(|port| words.contains(&port.to_string())));
                prop_assert!(words.contains(&state.to_string()));
            }
        }
    }
}
