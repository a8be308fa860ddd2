//! Whole plans, each line of which was checked against the experiment and the manuals of ip and tc.

use super::{laid_out, text};

const SINGLE: &str = include_str!("../../../../examples/single.toml");

/// What every experiment here has, up to its topology and flows.
const HEAD: &str = "duration = \"10 s\"\n";

/// Pairs of hosts with links of their own: two connections share the first pair, a third has hosts
/// of another kind.
const ACCESS: &str = r#"
[topology]
kind           = "dumbbell"
frame_overhead = "38 bytes"

[topology.bottleneck]
rate  = "10 Mbit/s"
delay = "20 ms"
queue = { limit = "50 packets" }
loss  = { probability = 0.001, direction = "both" }

[topology.access]
rate  = "1 Gbit/s"
delay = "500 us"
loss  = { probability = 0.25, direction = "reverse" }

[[flow]]
id   = "first"
cc   = "cubic"
from = "a"
to   = "b"

[[flow]]
id    = "second"
cc    = "reno"
from  = "a"
to    = "b"
start = "1 s"
stop  = "5 s"

[[flow]]
id                    = "third"
cc                    = "westwood+"
cc_variant            = "paper"
bytes                 = "1 MB"
app_rate              = "2 Mbit/s"
receive_buffer        = "1 MiB"
send_buffer           = "64 KiB"
window_divisor        = 4
initial_window        = "4 segments"
rto_min               = "50 ms"
delayed_ack           = false
sack                  = false
window_scaling        = false
reordering            = "5 segments"
slow_start_after_idle = false
"#;

/// Two links: the first fast and without delay, the second slow and with RED.
const CHAIN: &str = r#"
[topology]
kind = "chain"

[[topology.link]]
id    = "near"
rate  = "2.5 Gbit/s"
delay = "0 s"

[[topology.link]]
rate  = "1500 kbit/s"
delay = "12 us"
queue = { kind = "red", limit = "60 packets", min_threshold = "5 packets", weight = 0.002, gentle = false, ecn = true }

[[flow]]
cc  = "dctcp"
ecn = true
"#;

/// What only a kernel knows.
const OF_LINUX: &str = r#"
[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "10 Mbit/s"
delay = "20 ms"
queue = { limit = "50 packets" }

[[flow]]
cc           = "cubic"
slow_start   = "standard"
mtu          = "1500 bytes"
linux_socket = { TCP_NODELAY = 1, SO_RCVBUF = 100000, IP_TOS = 16 }

[[flow]]
cc         = "tcp-lp"
mtu        = "576 bytes"
timestamps = false
count      = 2
stagger    = "10 ms"

[measure]
window = ["2 s", "9.5 s"]
sample = "50 ms"

[capture]
at = "everything"

[linux]
memory  = "512 MiB"
sysctl  = { "net.ipv4.tcp_ecn" = 0, "net.core.netdev_max_backlog" = 5000, "net.core.somaxconn" = 10, "net.ipv4.tcp_mem" = "1 2 3" }
module  = { "tcp_cubic.beta" = 500, "tcp_cubic.hystart" = 1 }
"#;

fn check(name: &str, experiment: &str) {
    let settings = {
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings
    };
    settings.bind(|| insta::assert_snapshot!(name, text::full(&laid_out(experiment))));
}

#[test]
fn a_dumbbell() {
    check("single", SINGLE);
}

#[test]
fn a_dumbbell_with_access_links() {
    check("access", &format!("{HEAD}{ACCESS}"));
}

#[test]
fn a_chain() {
    check("chain", &format!("{HEAD}{CHAIN}"));
}

#[test]
fn what_only_a_kernel_knows() {
    check("of-linux", &format!("{HEAD}{OF_LINUX}"));
}

#[test]
fn many_routers_need_a_longer_time_to_live() {
    let link = "[[topology.link]]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n";
    let chain = |links| {
        let links = link.repeat(links);
        format!("{HEAD}[topology]\nkind = \"chain\"\n{links}[[flow]]\ncc = \"cubic\"\n")
    };
    let ttl = ("net/ipv4/ip_default_ttl".to_owned(), "255".to_owned());
    // 62 routers, and 64 where a packet with 64 hops to live ends.
    for (links, longer) in [(31, false), (32, true)] {
        for namespace in laid_out(&chain(links)).plan.namespaces {
            let is_host = !namespace.name.starts_with('r');
            assert_eq!(namespace.sysctls.contains(&ttl), longer && is_host, "{}", namespace.name);
        }
    }
}

/// As the simulator chooses the variant: the flow's, the stack's where the algorithm has it, the
/// algorithm's first.
#[test]
fn what_the_kernel_calls_an_algorithm() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n";
    let name = |stack: &str, flow: &str| {
        let text = format!(
            "{HEAD}[stack]\n{stack}\n[topology]\nkind = \"dumbbell\"\n[topology.bottleneck]\n{link}\
             [[flow]]\n{flow}\n"
        );
        laid_out(&text).plan.flows[0].cc.clone()
    };
    let of_paper = "cc_variant = \"paper\"";
    for (stack, flow, expected) in [
        ("", "cc = \"cubic\"", "cubic"),
        ("", "cc = \"tcp-lp\"", "lp"),
        ("", "cc = \"westwood+\"", "westwood"),
        ("", "cc = \"westwood+\"\ncc_variant = \"paper\"", "westwood+"),
        (of_paper, "cc = \"westwood+\"", "westwood+"),
        (of_paper, "cc = \"westwood+\"\ncc_variant = \"linux-6.1\"", "westwood"),
        ("cc_variant = \"linux-2.6.22\"", "cc = \"bbr\"", "bbr"),
        ("", "cc = \"dcm+\"", "dcm+"),
        (of_paper, "cc = \"bbr\"", "bbr"),
    ] {
        assert_eq!(name(stack, flow), expected, "{stack} {flow}");
    }
}
