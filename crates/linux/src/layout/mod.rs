//! From an experiment to what a kernel's guest is told: namespaces, links, queue disciplines,
//! sockets. What a kernel cannot do is refused here, by name, before anything starts.

mod algorithm;
mod capture;
mod controlled;
mod datagrams;
mod flow;
mod global;
mod host;
mod network;
mod qdisc;
mod red;
mod refusal;
mod row;
mod transfer;

use fairway_guest::plan::Plan;
use fairway_spec::{Experiment, ExperimentErrors};

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
}

/// Lays an experiment out for a kernel.
///
/// # Errors
/// [`ExperimentErrors`] with everything that a kernel cannot do as the experiment asks: the key,
/// what it has, and what to write instead.
pub fn layout(experiment: &Experiment) -> Result<Layout, ExperimentErrors> {
    // What follows knows rows of links with pairs of hosts at their ends.
    let mut refusals = Refusals::new(&experiment.flows);
    row::refuse_shape(experiment, &mut refusals);
    refusals.finish()?;
    let mut refusals = Refusals::new(&experiment.flows);
    flow::refuse_numbers(experiment, &mut refusals);
    let boot_arguments = algorithm::boot_arguments(experiment, &mut refusals);
    let row = row::row(&experiment.topology, &mut refusals);
    let hosts = Hosts::new(&experiment.flows, &experiment.datagrams, &mut refusals);
    flow::refuse_memory(experiment, &row, &hosts, &mut refusals);
    let mtu = host::mtu(&experiment.flows, &experiment.datagrams);
    let flows = flow::flows(experiment, &hosts, mtu, &mut refusals);
    let datagrams = datagrams::datagrams(experiment, &hosts, &mut refusals);
    let transfers = transfer::transfers(experiment, &hosts, &row, mtu, &mut refusals);
    let holds_sockets = datagrams.iter().any(|flow| flow.send_buffer.is_some());
    let disciplines =
        row::disciplines(&row, &experiment.topology, mtu, holds_sockets, &mut refusals);
    refusals.finish()?;
    let mut refusals = Refusals::new(&experiment.flows);
    let overhead = u32::try_from(experiment.topology.frame_overhead.get()).unwrap_or(u32::MAX);
    let mut network = network::network(&row, &disciplines, &hosts, overhead, mtu);
    let capture = capture::capture(experiment, &row, &hosts, &network.segments, &mut refusals);
    refusals.finish()?;
    let (for_all, for_namespaces) = global::of_user(&experiment.linux);
    for namespace in &mut network.namespaces {
        namespace.sysctls.extend(for_namespaces.iter().cloned());
    }
    let nanos = |time: fairway_units::Time| time.as_nanos();
    let plan = Plan {
        duration_ns: experiment.duration.as_nanos(),
        sample_ns: experiment.measure.sample.as_nanos(),
        window_ns: [nanos(experiment.measure.from), nanos(experiment.measure.to)],
        // Known where the kernel is known.
        modules: Vec::new(),
        namespaces: network.namespaces,
        sysctls: [global::sysctls(experiment), for_all].concat(),
        links: network.links,
        devices: network.devices,
        flows,
        datagrams,
        transfers,
        queues: network.queues,
        capture,
    };
    Ok(Layout { plan, memory_bytes: experiment.linux.memory.get(), boot_arguments })
}
