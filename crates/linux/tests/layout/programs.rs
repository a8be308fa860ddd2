//! Hosts with programs.

use std::net::Ipv4Addr;

use fairway_linux::layout;
use fairway_spec::{from_document, plan};

use super::experiment;

const TEXT: &str = r#"
duration = "10 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "5 ms" }
[[flow]]
cc = "reno"
[[flow]]
program = ["client"]
server = ["server"]
from = "s0"
to = "d0"
start = "2 s"
stop = "4 s"
[[flow]]
kind = "program"
from = "s0"
to = "d1"
"#;

#[test]
fn each_host_of_programs_is_a_namespace_with_one_address() {
    let document = &plan(TEXT, "test.toml").unwrap().points[0].document;
    let found = layout(&from_document(document).unwrap()).unwrap();
    let hosts = found.plan.hosts.iter().map(|host| {
        let namespace = &found.plan.namespaces[host.namespace];
        let own = format!("address add {}/32 dev eth0", host.address);
        assert!(namespace.ip.contains(&own), "{:?}", namespace.ip);
        assert!(
            namespace.ip.contains(&format!("link set dev fairway{} name eth0", host.namespace))
        );
        (host.name.as_str(), host.address)
    });
    let address = |last| Ipv4Addr::new(10, 128, 0, last);
    assert_eq!(
        hosts.collect::<Vec<_>>(),
        [("s0", address(1)), ("d0", address(2)), ("d1", address(3))]
    );
    let [server, client] = found.plan.programs.as_slice() else { panic!("two programs") };
    assert_eq!((server.host, server.start_ns), (1, None));
    assert_eq!(
        (client.host, client.start_ns, client.stop_ns),
        (0, Some(2_000_000_000), Some(4_000_000_000))
    );
    // Packets of the last flow are known by their hosts, which no program runs on.
    let ends = &found.network.unwrap().flows[2];
    assert_eq!((ends.source, ends.sink, ends.port), (address(1), address(3), 0));
    assert_eq!(found.plan.flows.len(), 1);
}

#[test]
fn a_network_of_tc_has_no_hosts_for_programs() {
    // There, hosts come in pairs.
    let text = TEXT.replace("to = \"d1\"", "to = \"d0\"");
    let errors = layout(&experiment(&text)).unwrap_err().to_string();
    assert!(errors.contains("commands run on Fairway's network alone"), "{errors}");
}

#[test]
fn two_stacks_on_one_host_are_refused() {
    let text = TEXT.replace("kind = \"program\"", "kind = \"program\"\ncc = \"reno\"");
    let document = &plan(&text, "test.toml").unwrap().points[0].document;
    let errors = layout(&from_document(document).unwrap()).unwrap_err().to_string();
    assert!(errors.contains("tcp_congestion_control = cubic, and this flow reno"), "{errors}");
}
