//! Congestion controls and their slow starts.

use super::*;

#[test]
fn not_in_a_kernel() {
    check(
        &with_flow("cc = \"copa\""),
        &["flow.0.cc: \"copa\" is in no kernel of Fairway's; it has reno, cubic, bic, westwood+, \
           htcp, highspeed, hybla, vegas, nv, scalable, tcp-lp, veno, yeah, illinois, dctcp, \
           cdg, bbr, dcm+; write one of them or use --backend sim"],
    );
}

#[test]
fn westwood_without_plus() {
    check(
        &with_flow("cc = \"westwood\""),
        &["flow.0.cc: no kernel has \"westwood\" of 2001, what Linux calls so is Westwood+; \
           write \"westwood+\" or use --backend sim"],
    );
}

#[test]
fn a_variant_that_a_kernel_has_not() {
    check(
        &with_flow("cc = \"hybla\"\ncc_variant = \"ns3-3.29\""),
        &["flow.0.cc_variant: a kernel has hybla as \"linux-6.1\", not as \"ns3-3.29\"; write \
           \"linux-6.1\" or use --backend sim"],
    );
    check(
        &with_flow("cc = \"westwood+\"\ncc_variant = \"ns3-3.29\""),
        &["flow.0.cc_variant: a kernel has westwood+ as \"linux-6.1\" or \"paper\", not as \
           \"ns3-3.29\"; write \"linux-6.1\" or \"paper\" or use --backend sim"],
    );
}

#[test]
fn a_variant_that_the_stack_chooses() {
    let text = dumbbell("cc_variant = \"paper\"", "limit = \"9 packets\"", "cc = \"reno\"");
    check(
        &text,
        &["flow.0.cc_variant: a kernel has reno as \"linux-6.1\", not as \"paper\"; write \
           \"linux-6.1\" or use --backend sim"],
    );
}

#[test]
fn parameters_of_one_flow() {
    check(
        &with_flow("cc = \"cubic\"\ncc_params = { c = 0.5, beta = 0.8 }"),
        &["flow.0.cc_params: c, beta cannot be set for one flow of a kernel; remove cc_params \
           or use --backend sim ([linux.module] has the parameters of the kernel's modules)"],
    );
}

#[test]
fn slow_starts() {
    check(
        &with_stack("slow_start = \"limited\""),
        &["stack.slow_start: \"limited\" is no slow start that a kernel has for cubic; remove \
           it or use --backend sim"],
    );
    // Hybla has a slow start of its own.
    check(
        &with_flow("cc = \"hybla\"\nslow_start = \"standard\"\n[[flow]]\ncc = \"cubic\""),
        &["flow.0.slow_start: \"standard\" is no slow start that a kernel has for hybla; remove \
           it or use --backend sim"],
    );
}

#[test]
fn cubic_with_hystart_and_without() {
    check(
        &with_flow("cc = \"cubic\"\n[[flow]]\ncc = \"cubic\"\nslow_start = \"standard\""),
        &["flow.1.slow_start: of the flows with cubic, some have slow_start \"standard\" and \
           some HyStart, and a kernel has one for all; write the same for all"],
    );
}
