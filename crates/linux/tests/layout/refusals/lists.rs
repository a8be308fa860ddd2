//! How refusals are put together.

use super::*;

#[test]
fn copies_are_named_once() {
    check(
        &with_flow("id = \"x\"\ncc = \"copa\"\ncount = 9\n[[flow]]\ncc = \"cubic\""),
        &[&refused(&with_flow("cc = \"copa\""))[0].replace("flow.0", "flow.x")],
    );
}

#[test]
fn what_all_flows_have_is_the_stacks() {
    check(
        &with_flow(
            "cc = \"cubic\"\nrto_max = \"60 s\"\n[[flow]]\ncc = \"reno\"\nrto_max = \"60 s\"",
        ),
        &["stack.rto_max: \"60 s\" cannot be set: a kernel has it in its source; write \"120 s\" \
           or use --backend sim"],
    );
}

#[test]
fn the_rest_of_many_is_counted() {
    let flow = "cc = \"copa\"\n[[flow]]\n".repeat(60) + "cc = \"cubic\"";
    let found = refused(&with_flow(&flow));
    assert_eq!(found.len(), 51);
    assert_eq!(found[50], "experiment: 10 further errors are not listed");
}
