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
    // Also where hosts do not come in pairs, which else is said of them.
    let errors = layout(&experiment(TEXT)).unwrap_err().to_string();
    assert!(errors.contains("commands run on Fairway's network alone"), "{errors}");
    assert!(!errors.contains("pairs"), "{errors}");
    let text = TEXT.replace("to = \"d1\"", "to = \"d0\"");
    let text = text.replace("[[flow]]\ncc = \"reno\"\n", "");
    let errors = layout(&experiment(&text)).unwrap_err().to_string();
    assert!(errors.contains("flow.0.program: commands run on"), "{errors}");
}

#[test]
fn two_stacks_on_one_host_are_refused() {
    let text = TEXT.replace("kind = \"program\"", "kind = \"program\"\ncc = \"reno\"");
    let document = &plan(&text, "test.toml").unwrap().points[0].document;
    let errors = layout(&from_document(document).unwrap()).unwrap_err().to_string();
    assert!(errors.contains("tcp_congestion_control = cubic, and this flow reno"), "{errors}");
}

fn errors(text: &str) -> String {
    let document = &plan(text, "test.toml").unwrap().points[0].document;
    layout(&from_document(document).unwrap()).unwrap_err().to_string()
}

#[test]
fn files_are_kept_of_the_programs_host_or_another() {
    let with =
        |keep: &str| TEXT.replace("start = \"2 s\"", &format!("start = \"2 s\"\nkeep = {keep}"));
    let document = &plan(&with("[\"a\", \"d1:/b\"]"), "test.toml").unwrap().points[0].document;
    let found = layout(&from_document(document).unwrap()).unwrap();
    let files = found.plan.keep.iter().map(|one| (one.host, one.path.as_str()));
    assert_eq!(files.collect::<Vec<_>>(), [(0, "a"), (2, "/b")]);
    assert!(
        errors(&with("[\"d9:a\"]")).contains("flow.1.keep: no program has a host \"d9\"; a path")
    );
    // A server alone.
    let server = with("[\"a\"]").replace("program = [\"client\"]\n", "");
    let document = &plan(&server, "test.toml").unwrap().points[0].document;
    assert_eq!(layout(&from_document(document).unwrap()).unwrap().plan.keep[0].host, 1);
}

#[test]
fn ports_tell_flows_between_the_same_hosts_apart() {
    let with = |port: u16, more: &str| {
        format!("{TEXT}port = {port}\n[[flow]]\nkind = \"program\"\n{more}\nport = 81\n")
    };
    let again = "from = \"s0\"\nto = \"d1\"";
    let document = &plan(&with(80, again), "test.toml").unwrap().points[0].document;
    let found = layout(&from_document(document).unwrap()).unwrap();
    let ports = found.network.unwrap().flows.iter().map(|ends| ends.port).collect::<Vec<_>>();
    assert_eq!(ports, [10_000, 0, 80, 81]);
    assert!(errors(&with(81, again)).contains("81 is the port of flow program#2"));
    assert!(errors(&with(10_003, again)).contains("10003 is a port of the experiment's own flows"));
    let back = "from = \"d1\"\nto = \"s0\"\ndirection = \"reverse\"";
    assert!(errors(&with(80, back)).contains("another flow goes from \"d1\" to \"s0\""));
}
