//! What a kernel cannot do, and what is said of it: every refusal once.

mod algorithms;
mod links;
mod lists;
mod red;
mod sizes;
mod stacks;
mod transfers;

use fairway_linux::layout;

use super::experiment;

const LINK: &str = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n";

/// A dumbbell: what its stack, its bottleneck's queue and its one flow have besides.
fn dumbbell(stack: &str, queue: &str, flow: &str) -> String {
    format!(
        "duration = \"10 s\"\n[stack]\n{stack}\n[topology]\nkind = \"dumbbell\"\n\
         [topology.bottleneck]\n{LINK}queue = {{ {queue} }}\n[[flow]]\n{flow}\n"
    )
}

/// With this in `[stack]`.
fn with_stack(stack: &str) -> String {
    dumbbell(stack, "limit = \"50 packets\"", "cc = \"cubic\"")
}

/// With this queue.
fn with_queue(queue: &str) -> String {
    dumbbell("", queue, "cc = \"cubic\"")
}

/// With this flow, and others behind it.
fn with_flow(flow: &str) -> String {
    dumbbell("", "limit = \"50 packets\"", flow)
}

/// Everything that is refused, a line each.
fn refused(text: &str) -> Vec<String> {
    match layout(&experiment(text)) {
        Ok(_) => Vec::new(),
        Err(errors) => {
            errors.errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect()
        }
    }
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(refused(text), expected, "{text}");
}

#[test]
fn nothing_of_the_usual() {
    check(&with_flow("cc = \"cubic\""), &[]);
}
