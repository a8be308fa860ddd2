//! From an experiment to what a kernel's guest is told: namespaces, links, queue disciplines,
//! sockets. What a kernel cannot do is refused here, by name, before anything starts.

mod algorithm;
mod capture;
mod controlled;
mod datagrams;
mod emulated;
mod flow;
mod global;
mod host;
mod multipath;
mod network;
mod programs;
mod qdisc;
mod red;
mod refusal;
mod row;
mod transfer;

use fairway_emulator::message::Instructions;
use fairway_guest::plan::{Namespace, Plan};
use fairway_spec::{Experiment, ExperimentErrors, LinuxNetwork};
use fairway_units::Rate;

use host::Hosts;
use refusal::Refusals;

/// Everything that a kernel needs to run an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// What the guest does.
    pub plan: Plan,
    /// Memory of the kernel.
    pub memory_bytes: u64,
    /// Further arguments of the kernel: parameters of its modules.
    pub boot_arguments: Vec<String>,
    /// What Fairway's network is told, if it is what connects the hosts; without the experiment.
    pub network: Option<Instructions>,
}

impl Layout {
    fn new(experiment: &Experiment, plan: Plan, boot_arguments: Vec<String>) -> Self {
        let memory_bytes = experiment.linux.memory.get();
        Layout { plan, memory_bytes, boot_arguments, network: None }
    }
}

/// Lays an experiment out for a kernel.
///
/// # Errors
/// [`ExperimentErrors`] with everything that a kernel cannot do as the experiment asks: the key,
/// what it has, and what to write instead.
pub fn layout(experiment: &Experiment) -> Result<Layout, ExperimentErrors> {
    match experiment.linux.network {
        LinuxNetwork::Fairway => emulated::layout(experiment),
        LinuxNetwork::Tc => on_row(experiment),
    }
}

/// With a row of links of Linux's queue disciplines.
fn on_row(experiment: &Experiment) -> Result<Layout, ExperimentErrors> {
    // What follows knows rows of links with pairs of hosts at their ends.
    let mut refusals = Refusals::new(&experiment.flows);
    programs::refuse_all(experiment, &mut refusals);
    refusals.finish()?;
    let mut refusals = Refusals::new(&experiment.flows);
    row::refuse_shape(experiment, &mut refusals);
    refusals.finish()?;
    let mut refusals = Refusals::new(&experiment.flows);
    flow::refuse_numbers(experiment, &mut refusals);
    if experiment.measure.losses {
        let message = "Linux's queue disciplines count what they drop and do not list it; remove \
                       it, or remove `network = \"tc\"`";
        refusals.refuse("measure.losses", message);
    }
    let row = row::row(&experiment.topology, &mut refusals);
    let hosts =
        Hosts::on_row(&experiment.flows, &experiment.datagrams, row.routers(), &mut refusals);
    let slowest = row.stages.iter().map(|stage| stage.link.rate).min();
    let common = Common::new(experiment, &hosts, slowest, &mut refusals);
    let holds_sockets = common.datagrams.iter().any(|flow| flow.send_buffer.is_some());
    let mtu = common.mtu;
    let disciplines =
        row::disciplines(&row, &experiment.topology, mtu, holds_sockets, &mut refusals);
    refusals.finish()?;
    let mut refusals = Refusals::new(&experiment.flows);
    let overhead = u32::try_from(experiment.topology.frame_overhead.get()).unwrap_or(u32::MAX);
    let network = network::network(&row, &disciplines, &hosts, overhead, mtu);
    let capture = capture::capture(experiment, &row, &hosts, &network.segments, &mut refusals);
    refusals.finish()?;
    let plan = Plan {
        links: network.links,
        devices: network.devices,
        queues: network.queues,
        capture,
        ..common.plan(experiment, network.namespaces)
    };
    Ok(Layout::new(experiment, plan, common.boot_arguments))
}

/// What does not depend on the network.
struct Common {
    mtu: u32,
    boot_arguments: Vec<String>,
    flows: Vec<fairway_guest::plan::Flow>,
    datagrams: Vec<fairway_guest::plan::Datagrams>,
    transfers: Vec<fairway_guest::plan::Transfer>,
}

impl Common {
    /// `slowest` is the rate of the slowest link.
    fn new(
        experiment: &Experiment,
        hosts: &Hosts,
        slowest: Option<Rate>,
        refusals: &mut Refusals,
    ) -> Self {
        flow::refuse_memory(experiment, hosts, refusals);
        let mtu = host::mtu(&experiment.flows, &experiment.datagrams);
        Common {
            mtu,
            boot_arguments: algorithm::boot_arguments(experiment, refusals),
            flows: flow::flows(experiment, hosts, mtu, refusals),
            datagrams: datagrams::datagrams(experiment, hosts, refusals),
            transfers: transfer::transfers(experiment, hosts, slowest, mtu, refusals),
        }
    }

    /// The plan of it, with the user's sysctls in these namespaces, without a network.
    fn plan(&self, experiment: &Experiment, mut namespaces: Vec<Namespace>) -> Plan {
        let (for_all, for_namespaces) = global::of_user(&experiment.linux);
        for namespace in &mut namespaces {
            namespace.sysctls.extend(for_namespaces.iter().cloned());
        }
        let nanos = |time: fairway_units::Time| time.as_nanos();
        Plan {
            duration_ns: experiment.duration.as_nanos(),
            sample_ns: experiment.measure.sample.as_nanos(),
            window_ns: [nanos(experiment.measure.from), nanos(experiment.measure.to)],
            // Known where the kernel is known.
            modules: Vec::new(),
            namespaces,
            sysctls: [global::sysctls(experiment), for_all].concat(),
            links: Vec::new(),
            devices: Vec::new(),
            flows: self.flows.clone(),
            // Known where the document is known.
            experiment: serde_json::Value::Null,
            datagrams: self.datagrams.clone(),
            transfers: self.transfers.clone(),
            hosts: Vec::new(),
            programs: Vec::new(),
            keep: Vec::new(),
            date_s: None,
            queues: Vec::new(),
            capture: None,
            is_emulated: false,
        }
    }
}
