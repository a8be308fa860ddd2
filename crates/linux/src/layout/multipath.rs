//! MPTCP: connections of an application that are subflows of one, each with an address and a path of
//! its own.

use fairway_guest::plan::{Flow as FlowPlan, Namespace, Subflow};
use fairway_spec::{Experiment, Flow, LinuxNetwork, Source};

use super::host::Hosts;
use super::network::source_address;
use super::refusal::Refusals;
use crate::programs::multipath;

/// Most subflows of a connection (net/mptcp/pm_netlink.c, `MPTCP_PM_ADDR_MAX`).
const MOST: usize = 8;

/// The part that each of the guest's `own` connections has in one of several paths.
pub(super) fn subflows(
    experiment: &Experiment,
    hosts: &Hosts,
    own: &[(usize, &Flow)],
    refusals: &mut Refusals,
) -> Vec<Option<Subflow>> {
    let mut found = vec![None; own.len()];
    for connections in multipath(experiment) {
        let first = connections.start;
        refuse(experiment, first, connections.len(), refusals);
        let of = own.iter().position(|(index, _)| *index == first).unwrap_or(0);
        for (place, (index, _)) in own.iter().enumerate() {
            if connections.contains(index) {
                found[place] = Some(Subflow { of, source: source_address(hosts.of_flow(*index)) });
            }
        }
    }
    found
}

fn refuse(experiment: &Experiment, first: usize, count: usize, refusals: &mut Refusals) {
    let mut wrong = |key, message: &str| refusals.refuse_flow(first, key, message.to_owned());
    if experiment.linux.network == LinuxNetwork::Tc {
        wrong("mptcp", "true: subflows need Fairway's network; remove linux.network = \"tc\"");
    }
    if !(2..=MOST).contains(&count) {
        wrong("connections", "an MPTCP connection of a kernel has 2 to 8 subflows");
    }
    if !matches!(experiment.flows[first].source, Source::Bulk) {
        wrong(
            "mptcp",
            "true: a kernel's MPTCP connection sends without end and at once here; remove \
                        bytes, app_rate and striping, or use --backend sim",
        );
    }
}

/// All subflows go to the sink of the first.
pub(super) fn share_sinks(flows: &mut [FlowPlan]) {
    for index in 0..flows.len() {
        if let Some(Subflow { of, .. }) = flows[index].subflow {
            (flows[index].address, flows[index].port) = (flows[of].address, flows[of].port);
        }
    }
}

/// Tells the hosts' path managers of the addresses: sources open a subflow from each, sinks take as
/// many.
pub(super) fn add_endpoints(flows: &[FlowPlan], namespaces: &mut [Namespace]) {
    for (index, flow) in flows.iter().enumerate() {
        let Some(subflow) = flow.subflow else { continue };
        if subflow.of == index {
            for namespace in [flow.source, flow.sink] {
                let line = format!("mptcp limits set subflow {} add_addr_accepted 0", MOST);
                namespaces[namespace].ip.push(line);
            }
        } else {
            let line = format!("mptcp endpoint add {} subflow", subflow.source);
            namespaces[flow.source].ip.push(line);
        }
    }
}

/// What keeps the hosts of two such connections apart: a path manager has addresses for all
/// connections of its namespace. No address is announced, so that the value has no other effect.
pub(super) fn sysctls(experiment: &Experiment, index: usize) -> Option<(String, String)> {
    let number = multipath(experiment).position(|connections| connections.contains(&index))?;
    Some(("net/mptcp/add_addr_timeout".to_owned(), (120 + number).to_string()))
}
