//! More than a kernel is set up with.

use super::*;

#[test]
fn connections() {
    check(&with_flow("cc = \"cubic\"\ncount = 5000\n[linux]\nmemory = \"2 GiB\""), &[]);
    check(
        &with_flow("cc = \"cubic\"\ncount = 5001\n[linux]\nmemory = \"2 GiB\""),
        &["flow: 5001 flows are more than the 5000 that a kernel is set up with; lower the \
           counts or use --backend sim"],
    );
}

#[test]
fn pairs_of_hosts_with_links_of_their_own() {
    let access = format!("[topology.access]\n{LINK}");
    check(&with_flow(&format!("cc = \"cubic\"\ncount = 200\n{access}")), &[]);
    check(
        &with_flow(&format!("cc = \"cubic\"\ncount = 201\n{access}")),
        &["topology.access: 201 pairs of hosts with links of their own are more than the 200 \
           that a kernel is set up with; let flows share hosts by from and to, remove \
           topology.access, or use --backend sim"],
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
    check(
        &with_flow("cc = \"cubic\"\nboth_ways = true"),
        &["flow.0.both_ways: true: the applications of a kernel send one way; write false or use \
           --backend sim"],
    );
}

#[test]
fn applications_that_read_slowly() {
    let once =
        "the guest's applications read everything at once; leave it out or use --backend sim";
    for (key, value) in [("read_rate", "1 Mbit/s"), ("read_interval", "10 ms")] {
        check(
            &with_flow(&format!("cc = \"cubic\"\n{key} = \"{value}\"")),
            &[&format!("flow.0.{key}: {value}: {once}")],
        );
    }
}

#[test]
fn applications_that_answer() {
    check(
        &with_flow("cc = \"cubic\"\nkind = \"web\"\nsize = \"10 kB\""),
        &[
            "flow.0.kind: \"web\": the guest's applications write what they have, and do not answer; \
           use --backend sim",
        ],
    );
    check(
        &with_flow("cc = \"cubic\"\nconnections = 3\nstriping = \"dynamic\""),
        &["flow.0.striping: \"dynamic\": the guest's applications deal nothing while they run; \
           write \"static\", or program = \"fairway\", or use --backend sim"],
    );
    // What is dealt or drawn beforehand a kernel can have.
    check(&with_flow("cc = \"cubic\"\nconnections = 3"), &[]);
    check(&with_flow("cc = \"cubic\"\nkind = \"arrivals\"\nsize = \"10 kB\"\nflow_rate = 5"), &[]);
}
