//! More than a kernel is set up with.

use super::*;

/// Behind a flow.
const TC: &str = "[linux]\nnetwork = \"tc\"";
const FAIRWAY: &str = "[linux]\nnetwork = \"fairway\"";

#[test]
fn connections() {
    check(&with_flow("cc = \"cubic\"\ncount = 11000\n[linux]\nmemory = \"4 GiB\""), &[]);
    check(
        &with_flow("cc = \"cubic\"\ncount = 11001\n[linux]\nmemory = \"4 GiB\""),
        &["flow: 11001 flows are more than the 11000 that a kernel is set up with; lower the \
           counts or use --backend sim"],
    );
}

#[test]
fn pairs_of_hosts_with_links_of_their_own() {
    let access = format!("[topology.access]\n{LINK}");
    check(&with_flow(&format!("cc = \"cubic\"\ncount = 200\n{access}\n{TC}")), &[]);
    check(
        &with_flow(&format!("cc = \"cubic\"\ncount = 201\n{access}\n{TC}")),
        &["topology.access: 201 pairs of hosts with links of their own are more than the 200 \
           that a kernel is set up with; let flows share hosts by from and to, remove \
           topology.access, or remove `network = \"tc\"`"],
    );
}

/// Half of the memory holds 5 MiB for each of two routers and two hosts and 128 KiB for each
/// connection: with 352, 2 · (20 + 44) MiB.
#[test]
fn memory() {
    let with = |count: u32| {
        with_flow(&format!("cc = \"cubic\"\ncount = {count}\n[linux]\nmemory = \"128 MiB\""))
    };
    check(&with(352), &[]);
    check(
        &with(353),
        &["linux.memory: 128 MiB is too little for 353 flows and 4 routers and groups of \
           hosts; write memory = \"129 MiB\" or more, or use --backend sim"],
    );
}

/// Six routers, two hosts; 384 KiB for the veths of each pair besides: with 47, 2 · (40 + 47/2)
/// MiB are 127.
#[test]
fn memory_of_access_links() {
    let with = |count: u32| {
        with_flow(&format!(
            "cc = \"cubic\"\ncount = {count}\n[topology.access]\n{LINK}\
             [linux]\nmemory = \"128 MiB\""
        ))
    };
    check(&with(48), &[]);
    check(
        &with(49),
        &["linux.memory: 128 MiB is too little for 49 flows and 8 routers and groups of \
           hosts; write memory = \"129 MiB\" or more, or use --backend sim"],
    );
}

#[test]
fn data_both_ways() {
    check(&with_flow(&format!("cc = \"cubic\"\nboth_ways = true\n{FAIRWAY}")), &[]);
    check(
        &with_flow(&format!("cc = \"cubic\"\nboth_ways = true\n{TC}")),
        &["flow.0.both_ways: true: on a network of tc, only data to sinks are watched; write \
           [linux] network = \"fairway\", or use --backend sim"],
    );
}

#[test]
fn applications_that_answer() {
    let web = "cc = \"cubic\"\nkind = \"web\"\nsize = \"10 kB\"";
    check(&with_flow(&format!("{web}\n{FAIRWAY}")), &[]);
    let refused = "flow.0.kind: an application that answers: on a network of tc, only data to sinks are \
                   watched; write [linux] network = \"fairway\", or use --backend sim";
    check(&with_flow(&format!("{web}\n{TC}")), &[refused]);
}

/// What decides as it goes, and sends one way, runs on either network.
#[test]
fn nothing_of_applications_that_only_send() {
    for application in [
        "connections = 3\nstriping = \"dynamic\"",
        "connections = 3",
        "kind = \"arrivals\"\nsize = \"10 kB\"\nflow_rate = 5",
        "read_rate = \"1 Mbit/s\"",
        "read_interval = \"10 ms\"",
    ] {
        check(&with_flow(&format!("cc = \"cubic\"\n{application}")), &[]);
        check(&with_flow(&format!("cc = \"cubic\"\n{application}\n{TC}")), &[]);
    }
}
