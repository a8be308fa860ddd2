//! Flows of programs, and the hosts that they run on.

use super::{experiment, refusal, with_end};
use crate::{Commands, Experiment, KeptPath, Workload};

fn commands(experiment: &Experiment) -> Vec<Commands> {
    let of = |workload: &Workload| match workload {
        Workload::Program(commands) => Some(commands.clone()),
        _ => None,
    };
    experiment.applications.iter().filter_map(|application| of(&application.workload)).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_list_is_a_command_on_hosts_that_captures_know() {
    let found = experiment(&with_end(
        "[[flow]]\nprogram = [\"curl\", \"http://d1/\"]\nserver = [\"nginx\"]",
    ));
    let hosts = ["s1", "d1"].map(str::to_owned);
    let [program, server] = [words(&["curl", "http://d1/"]), words(&["nginx"])];
    let expected = Commands { program, server, hosts, ..Commands::default() };
    assert_eq!(commands(&found), [expected]);
    assert_eq!(
        (found.flows[1].id.as_str(), found.flows[1].cc.name.as_str()),
        ("program#1", "cubic")
    );
    assert_eq!(found.hosts(), ["s0", "s1", "d0", "d1"]);
    assert_eq!(
        (found.peers("s1"), found.peers("d0")),
        (words(&["d0", "d1"]), words(&["s0", "s1"]))
    );
    assert!(found.peers("h0").is_empty());
}

#[test]
fn unnamed_hosts_have_the_names_of_captures() {
    let found = experiment(&with_end("[[flow]]\nprogram = [\"true\"]\nfrom = \"d0\"\nto = \"s0\""));
    assert_eq!((found.flows[1].hosts, found.flows[1].reversed), ([0, 0], true));
    assert_eq!(commands(&found)[0].hosts, ["d0", "s0"].map(str::to_owned));
}

#[test]
fn what_is_no_command_is_refused() {
    let empty = refusal(&with_end("[[flow]]\nprogram = []"));
    assert_eq!(
        empty[0],
        "flow.1.program: expected a command as a list of 1 to 1000 texts, got a list of 0; write [\"curl\", \
         \"http://d0/\"]"
    );
    let server =
        refusal(&with_end("[[flow]]\nkind = \"bulk\"\ncc = \"reno\"\nserver = [\"nginx\"]"));
    assert_eq!(
        server[0],
        "flow.1.server: does not belong to kind = \"bulk\"; write kind = \"program\" or remove it"
    );
}

#[test]
fn paths_are_kept_on_hosts() {
    let found = experiment(&with_end(
        "[[flow]]\nprogram = [\"true\"]\nkeep = [\"copy\", \"d1:/var/log\", \"./a:b\"]\nport = 80",
    ));
    let file = |host: Option<&str>, path: &str| KeptPath {
        host: host.map(str::to_owned),
        path: path.to_owned(),
    };
    let paths = [file(None, "copy"), file(Some("d1"), "/var/log"), file(None, "./a:b")];
    assert_eq!(
        (commands(&found)[0].keep.as_slice(), commands(&found)[0].port),
        (&paths[..], Some(80))
    );
    for wrong in ["", "a/../b", "/", "/.", ":a", "s0:", "s0:../a"] {
        let text = format!("[[flow]]\nprogram = [\"true\"]\nkeep = [\"{wrong}\"]");
        assert_eq!(
            refusal(&with_end(&text))[0],
            "flow.1.keep: expected a list of 1 to 100 paths, PATH or HOST:PATH, without .. and other \
             than /, got a list of 1; write [\"copy\", \"s0:/var/log\"]"
        );
    }
    let elsewhere = refusal(&with_end("[[flow]]\ncc = \"reno\"\nkeep = [\"copy\"]"));
    assert!(elsewhere[0].starts_with("flow.1.keep: does not belong to kind = \"bulk\""));
    assert!(refusal(&with_end("[[flow]]\nprogram = [\"true\"]\nport = 32768"))[0].contains("port"));
}

#[test]
fn the_simulator_runs_no_command() {
    let found = experiment(&with_end("[[flow]]\nid = \"mine\"\nprogram = [\"true\"]"));
    let errors = found.check_for_simulator().unwrap_err();
    assert_eq!(
        errors.to_string(),
        "flow.mine.program: only a real Linux kernel runs commands; use --backend linux, or remove the \
         flow"
    );
}
