//! Hosts on Fairway's network: each namespace has one device, and every packet leaves by it.

use std::collections::BTreeSet;
use std::ops::Range;

use fairway_emulator::message::{Ends, Instructions};
use fairway_guest::plan::{Flow as FlowPlan, Namespace, Plan};
use fairway_spec::{Experiment, ExperimentErrors, Network};
use fairway_units::Rate;

use super::host::Hosts;
use super::network::{HOST_PREFIX, SINKS, SOURCES, sink_address, source_address};
use super::programs::Programs;
use super::refusal::Refusals;
use super::{Common, Layout, flow, multipath};
use crate::programs::{by_guest, by_program, commands};

/// What a host calls its device.
pub(super) const DEVICE: &str = "eth0";

/// Lays an experiment out for a kernel on Fairway's network.
///
/// # Errors
/// As [`super::layout`].
pub(super) fn layout(experiment: &Experiment) -> Result<Layout, ExperimentErrors> {
    fairway_sim::check_captures(experiment)?;
    let mut refusals = Refusals::new(&experiment.flows);
    flow::refuse_numbers(experiment, &mut refusals);
    let hosts = Hosts::apart(experiment, &mut refusals);
    let common = Common::new(experiment, &hosts, slowest(experiment), &mut refusals);
    let mut namespaces = namespaces(experiment, &hosts, common.mtu);
    let programs = Programs::new(experiment, &hosts, common.mtu, namespaces.len(), &mut refusals);
    refusals.finish()?;
    multipath::add_endpoints(&common.flows, &mut namespaces);
    namespaces.extend(programs.namespaces.iter().cloned());
    let devices = (0..namespaces.len()).map(|index| (index, DEVICE.to_owned())).collect();
    let links = (0..namespaces.len())
        .map(|index| format!("link set dev fairway{index} netns {}", namespaces[index].name));
    let plan = Plan {
        links: links.collect(),
        devices,
        is_emulated: true,
        hosts: programs.hosts.clone(),
        programs: programs.programs.clone(),
        keep: programs.keep.clone(),
        ..common.plan(experiment, namespaces)
    };
    let network = Instructions {
        experiment: serde_json::Value::Null,
        devices: plan.namespaces.len() as u32,
        flows: ends(experiment, &hosts, &common.flows, &programs),
        groups: by_program(experiment).map(|transfer| group(&transfer.connections())).collect(),
    };
    Ok(Layout { network: Some(network), ..Layout::new(experiment, plan, common.boot_arguments) })
}

/// Rate of the slowest link.
fn slowest(experiment: &Experiment) -> Option<Rate> {
    Network::of(experiment).directions.iter().map(|direction| direction.link.rate).min()
}

/// The namespaces: a group of sources each, a group of sinks each.
fn namespaces(experiment: &Experiment, hosts: &Hosts, mtu: u32) -> Vec<Namespace> {
    let of_programs: BTreeSet<usize> =
        commands(experiment).map(|(flow, _)| hosts.of_flow(flow)).collect();
    let sides = [("s", [SOURCES, SINKS]), ("d", [SINKS, SOURCES])];
    let mut namespaces = Vec::new();
    for (letter, [_, others]) in sides {
        for (index, sysctls) in hosts.groups.iter().enumerate() {
            let number = if hosts.groups.len() > 1 { index.to_string() } else { String::new() };
            let device = namespaces.len();
            let others = std::net::Ipv4Addr::from(others);
            let mut ip = device_up(device, mtu);
            ip.push(format!("route add {others}/{HOST_PREFIX} dev {DEVICE}"));
            let name = format!("{letter}{number}");
            let sysctls = sysctls.clone();
            namespaces.push(Namespace { name, sysctls, ip, tc: Vec::new() });
        }
    }
    let pairs = hosts.pairs.iter().enumerate();
    for (pair, host) in pairs.filter(|(pair, _)| !of_programs.contains(pair)) {
        let (source, sink) = (source_address(pair), sink_address(pair));
        for (namespace, from, to, properties) in [
            (hosts.source_namespace(pair), source, sink, &host.source_route),
            (hosts.sink_namespace(pair), sink, source, &host.sink_route),
        ] {
            namespaces[namespace].ip.extend([
                format!("address add {from}/32 dev lo"),
                format!("route add {to}/32 dev {DEVICE} src {from}{properties}"),
            ]);
        }
    }
    namespaces
}

/// Lines that bring up the devices of a namespace that has this device of the network.
pub(super) fn device_up(device: usize, mtu: u32) -> Vec<String> {
    vec![
        "link set dev lo up".to_owned(),
        format!("link set dev fairway{device} name {DEVICE}"),
        format!("link set dev {DEVICE} mtu {mtu} up"),
    ]
}

/// The first and the number of a program's connections.
fn group(connections: &Range<usize>) -> [u32; 2] {
    [connections.start as u32, connections.len() as u32]
}

/// The ends of all flows.
fn ends(
    experiment: &Experiment,
    hosts: &Hosts,
    flows: &[FlowPlan],
    programs: &Programs,
) -> Vec<Ends> {
    let connections = experiment.flows.len();
    let pairs = (0..connections).map(|index| hosts.of_flow(index));
    let pairs = pairs.chain((0..experiment.datagrams.len()).map(|i| hosts.of_datagrams(i)));
    let ends = |(number, pair): (usize, usize)| Ends {
        source: source_address(pair),
        sink: sink_address(pair),
        port: flow::port(number),
        devices: [hosts.source_namespace(pair), hosts.sink_namespace(pair)]
            .map(|namespace| namespace as u32),
    };
    let mut found: Vec<Ends> = pairs.enumerate().map(ends).collect();
    for ((index, _), flow) in by_guest(experiment).into_iter().zip(flows) {
        (found[index].sink, found[index].port) = (flow.address, flow.port);
    }
    for transfer in by_program(experiment) {
        let connections = transfer.connections();
        let first = found[connections.start].clone();
        found[connections].fill(first);
    }
    for (flow, of_programs) in &programs.ends {
        found[*flow].clone_from(of_programs);
    }
    found
}
