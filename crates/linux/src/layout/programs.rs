//! Hosts with programs of this machine: each is a namespace with one address, which its name stands for.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use fairway_emulator::message::Ends;
use fairway_guest::plan::{Host, Keep, Namespace, Program};
use fairway_spec::{Commands, Experiment};

use super::algorithm;
use super::emulated::{DEVICE, device_up};
use super::flow::FIRST_PORT;
use super::global::Sysctl;
use super::host::{Hosts, conflict_of_sysctls};
use super::refusal::Refusals;
use crate::programs::commands;

/// Addresses of hosts with programs: 10.128.0.0/9, beside those of other sources and sinks.
const ADDRESSES: u32 = (10 << 24) | (128 << 16);
/// Bytes of each output of a program that results keep.
const MOST_OUTPUT_BYTES: u64 = 64 << 10;

/// Programs, their hosts, and the ends of their flows by the flows' places.
#[derive(Default)]
pub(super) struct Programs {
    pub(super) hosts: Vec<Host>,
    pub(super) namespaces: Vec<Namespace>,
    pub(super) programs: Vec<Program>,
    /// What is kept of their files, with paths as the experiment has them.
    pub(super) keep: Vec<Keep>,
    pub(super) ends: BTreeMap<usize, Ends>,
}

/// Refuses all programs, on a network that has no hosts for them.
pub(super) fn refuse_all(experiment: &Experiment, refusals: &mut Refusals) {
    for (flow, _) in commands(experiment) {
        let message = "commands run on Fairway's network alone; remove `network = \"tc\"`";
        refusals.refuse_flow(flow, "program", message.to_owned());
    }
}

impl Programs {
    /// Those of an experiment, with namespaces behind so many others.
    pub(super) fn new(
        experiment: &Experiment,
        pairs: &Hosts,
        mtu: u32,
        first: usize,
        refusals: &mut Refusals,
    ) -> Self {
        let mut found = Programs::default();
        let mut routes: BTreeMap<[usize; 2], String> = BTreeMap::new();
        for (index, of_flow) in commands(experiment) {
            let flow = &experiment.flows[index];
            let pair = &pairs.pairs[pairs.of_flow(index)];
            let cc = algorithm::name(index, flow, refusals);
            let mut sysctls = pairs.groups[pair.group].clone();
            sysctls.push(("net/ipv4/tcp_congestion_control".to_owned(), cc.to_owned()));
            let ends = [0, 1].map(|end| {
                let name = &of_flow.hosts[end];
                if !is_host_name(name) {
                    let key = ["from", "to"][end];
                    let message = format!(
                        "\"{name}\" cannot name a host of programs; use letters, digits, \"-\", \"_\" \
                         and \".\""
                    );
                    refusals.refuse_flow(index, key, message);
                }
                let known = found.hosts.iter().position(|host| host.name == *name);
                let host = known.unwrap_or_else(|| {
                    found.add_host(name, first + found.hosts.len(), sysctls.clone(), mtu)
                });
                if let Some(differ) = conflict_of_sysctls(&found.namespaces[host].sysctls, &sysctls)
                {
                    let message = format!(
                        "a host has one kernel for all its programs: \"{name}\" has {differ}; give the \
                         flows the same stack and cc, or hosts of their own"
                    );
                    refusals.refuse_flow(index, "cc", message);
                }
                host
            });
            routes.entry(ends).or_insert_with(|| pair.source_route.clone());
            routes.entry([ends[1], ends[0]]).or_insert_with(|| pair.sink_route.clone());
            let program = |host: usize, command: &[String], start_ns| Program {
                id: flow.id.clone(),
                host,
                command: command.to_vec(),
                start_ns,
                stop_ns: flow.stop.map(|stop| stop.as_nanos()),
                environment: Vec::new(),
                directory: None,
                input: None,
                most_output_bytes: Some(MOST_OUTPUT_BYTES),
                is_last: false,
            };
            if !of_flow.server.is_empty() {
                found.programs.push(program(ends[1], &of_flow.server, None));
            }
            if !of_flow.program.is_empty() {
                let start_ns = Some(flow.start.as_nanos());
                found.programs.push(program(ends[0], &of_flow.program, start_ns));
            }
            let [source, sink] = ends.map(|host| &found.hosts[host]);
            // Ports are the programs' own choice: packets are known by their hosts, if not told.
            let devices = [source, sink].map(|host| host.namespace as u32);
            let port = of_flow.port.unwrap_or(0);
            let ends = Ends { source: source.address, sink: sink.address, port, devices };
            found.ends.insert(index, ends);
        }
        refuse_ports(experiment, refusals);
        for (index, of_flow) in commands(experiment) {
            found.keep_files(index, of_flow, refusals);
        }
        for ([from, to], properties) in routes {
            let [own, other] = [from, to].map(|host| found.hosts[host].address);
            found.namespaces[from]
                .ip
                .push(format!("route add {other}/32 dev {DEVICE} src {own}{properties}"));
        }
        found
    }

    /// Keeps what a flow asks for, of hosts that are all known.
    fn keep_files(&mut self, index: usize, of_flow: &Commands, refusals: &mut Refusals) {
        let own = &of_flow.hosts[usize::from(of_flow.program.is_empty())];
        for kept in &of_flow.keep {
            let name = kept.host.as_ref().unwrap_or(own);
            match self.hosts.iter().position(|host| host.name == *name) {
                Some(host) => self.keep.push(Keep { host, path: kept.path.clone() }),
                None => {
                    let message = format!(
                        "no program has a host \"{name}\"; a path with a colon begins with ./"
                    );
                    refusals.refuse_flow(index, "keep", message);
                }
            }
        }
    }

    /// Adds a host with the namespace of this index, and returns the host's own.
    fn add_host(&mut self, name: &str, namespace: usize, sysctls: Vec<Sysctl>, mtu: u32) -> usize {
        let host = self.hosts.len();
        let address = Ipv4Addr::from(ADDRESSES + 1 + host as u32);
        let mut ip = device_up(namespace, mtu);
        ip.push(format!("address add {address}/32 dev {DEVICE}"));
        self.hosts.push(Host { name: name.to_owned(), namespace, address });
        let name = format!("h{namespace}");
        self.namespaces.push(Namespace { name, sysctls, ip, tc: Vec::new() });
        host
    }
}

/// Refuses ports that do not tell the packets of one flow.
fn refuse_ports(experiment: &Experiment, refusals: &mut Refusals) {
    let own = experiment.flows.len() + experiment.datagrams.len();
    let mut known: BTreeMap<u16, &str> = BTreeMap::new();
    for (index, of_flow) in commands(experiment) {
        let Some(port) = of_flow.port else { continue };
        let id = &experiment.flows[index].id;
        let other = *known.entry(port).or_insert(id);
        let [from, to] = &of_flow.hosts;
        let mut others = commands(experiment).map(|(_, other)| &other.hosts);
        let message = if other != id {
            format!("{port} is the port of flow {other}; each port tells one flow's packets")
        } else if (usize::from(FIRST_PORT)..usize::from(FIRST_PORT) + own).contains(&port.into()) {
            format!("{port} is a port of the experiment's own flows; choose another")
        } else if others.any(|[source, sink]| [source, sink] == [to, from]) {
            format!(
                "another flow goes from \"{to}\" to \"{from}\"; ports tell flows with the same \
                 `from` and `to` apart"
            )
        } else {
            continue;
        };
        refusals.refuse_flow(index, "port", message);
    }
}

fn is_host_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=63).contains(&name.len()) && name.bytes().all(is_fit) && name != "localhost"
}
