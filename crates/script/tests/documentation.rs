//! The scripts of `docs/commands/script.md` pass.

use std::fs;
use std::path::Path;

#[test]
fn examples_of_the_documentation_pass() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands/script.md");
    let page = fs::read_to_string(page).expect("the page");
    let scripts: Vec<&str> = page
        .split("```pkt\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("an end"))
        .collect();
    assert!(scripts.len() >= 2);
    for script in scripts {
        let verdict =
            fairway_script::run(script, "docs/commands/script.md", None).expect("a verdict");
        assert!(verdict.passed, "{verdict}");
        assert_eq!(verdict.warnings, [] as [&str; 0]);
    }
}

#[test]
fn the_failure_that_it_shows_is_one() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands/script.md");
    let page = fs::read_to_string(page).expect("the page");
    let script = page.split("```pkt\n").nth(1).and_then(|rest| rest.split("```").next());
    let wrong = script.expect("a script").replace("1:1001(1000) ack 1\n", "1:2001(2000) ack 1\n");
    let verdict = fairway_script::run(&wrong, "fast-retransmit.pkt", None).expect("a verdict");
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    for line in shown.expect("a failure").lines().filter(|line| line.trim() != "…") {
        assert!(verdict.to_string().contains(line), "{line}\nis not in\n{verdict}");
    }
}
