//! Sysctls that belong to no namespace.

use fairway_spec::{Experiment, LinuxSettings};

/// A sysctl: path below `/proc/sys`, value.
pub(super) type Sysctl = (String, String);

/// Packets between two devices of one host that may wait for the kernel: a burst of a whole window
/// passes in no time here. The kernel has 1000 (net/core/dev.c).
const BACKLOG: u64 = 1_000_000;
/// `rmem_max` and `wmem_max` of the kernel (include/net/sock.h, SK_RMEM_MAX): 256 packets.
const USUAL_MAX_BUFFER: u64 = 212_992;
/// Threads beside the two that the guest has for each connection, and the one for each flow of datagrams:
/// the kernel's own. Without it, the
/// kernel allows as many as an eighth of its memory holds (kernel/fork.c, `set_max_threads`).
const THREADS: usize = 1000;
/// Connections that a namespace may have in TIME_WAIT, and that the kernel may have without a program: as
/// many as on a machine of 64 GiB (net/ipv4/tcp.c, `tcp_init`: half of its 524,288 hash buckets). The kernel
/// of a run has less memory, and is all hosts. Beyond them it forgets connections and answers late segments
/// with a reset.
pub(super) const CLOSED: u64 = 1 << 18;
/// Pages of `tcp_mem`.
const PAGE: u64 = 4096;

/// In `net.core`, what every namespace has for itself (net/core/sysctl_net_core.c,
/// `netns_core_table`).
const CORE_OF_NAMESPACES: &[&str] = &["somaxconn", "txrehash"];
/// In `net.ipv4`, what is one for all (net/ipv4/sysctl_net_ipv4.c, `ipv4_table`).
const IPV4_OF_ALL: &[&str] = &[
    "tcp_max_orphans",
    "inet_peer_threshold",
    "inet_peer_minttl",
    "inet_peer_maxttl",
    "tcp_mem",
    "tcp_low_latency",
    "tcp_available_ulp",
    "udp_mem",
    "fib_sync_mem",
];
/// In `net.ipv4.route`, what every namespace has for itself (net/ipv4/route.c,
/// `ipv4_route_netns_table`).
const ROUTE_OF_NAMESPACES: &[&str] = &["flush", "min_pmtu", "mtu_expires", "min_adv_mss"];

/// What follows from the experiment: room for its windows.
pub(super) fn sysctls(experiment: &Experiment) -> Vec<Sysctl> {
    let largest = |buffer: fn(&fairway_tcp::Stack) -> u64| {
        let buffers = experiment.flows.iter().map(|flow| buffer(&flow.stack));
        buffers.max().unwrap_or(0).clamp(USUAL_MAX_BUFFER, super::host::MAX_BUFFER)
    };
    // Beyond the first number the kernel saves memory and windows shrink; beyond the last it fails.
    let pages = experiment.linux.memory.get() / PAGE / 4 * 3;
    let threads = THREADS + 2 * experiment.flows.len() + experiment.datagrams.len();
    [
        ("net/core/rmem_max", largest(|stack| stack.buffers.receive_buffer).to_string()),
        ("net/core/wmem_max", largest(|stack| stack.buffers.send_buffer).to_string()),
        ("net/core/netdev_max_backlog", BACKLOG.to_string()),
        ("net/ipv4/tcp_mem", format!("{pages} {pages} {pages}")),
        ("net/ipv4/tcp_max_orphans", CLOSED.to_string()),
        ("kernel/threads-max", threads.to_string()),
    ]
    .map(|(path, value)| (path.to_owned(), value))
    .to_vec()
}

/// The user's sysctls: those of no namespace, and those of every one.
pub(super) fn of_user(settings: &LinuxSettings) -> (Vec<Sysctl>, Vec<Sysctl>) {
    let paths =
        settings.sysctls.iter().map(|(name, value)| (name.replace('.', "/"), value.clone()));
    paths.partition(|(path, _)| is_of_all(path))
}

fn is_of_all(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["net", "core", name, ..] => !CORE_OF_NAMESPACES.contains(name),
        ["net", "ipv4", "route", name] => !ROUTE_OF_NAMESPACES.contains(name),
        ["net", "ipv4", name] => IPV4_OF_ALL.contains(name),
        _ => false,
    }
}
