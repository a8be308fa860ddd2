//! Switches of a stack.

use super::*;

#[test]
fn precedence() {
    check(
        &with_flow("cc = \"cubic\"\nprecedence = 5"),
        &["flow.0.precedence: 5: no queue that tc is given goes by it; leave it out, or remove \
           `network = \"tc\"`"],
    );
}

const BUFFERED: &str = "kind = \"cbr\"\nrate = \"1 Mbit/s\"\nsend_buffer = \"212992 bytes\"";

#[test]
fn datagrams() {
    check(
        &with_flow(
            "cc = \"reno\"\n[[flow]]\nkind = \"poisson\"\nrate = \"1 Mbit/s\"\ncount = 2\n\
             packet = \"43 bytes\"\n[[flow]]\nid = \"udp\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n\
             count = 2\nprecedence = 1\nsend_buffer = \"4801 bytes\"",
        ),
        &[
            "flow.1.packet: 43 bytes have no room for the number and the time that a kernel's guest \
             writes into its packets; write \"44 bytes\" or more, or use --backend sim",
            "flow.udp.precedence: 1: no queue that tc is given goes by it; leave it out, or \
             remove `network = \"tc\"`",
            "flow.udp.send_buffer: 4801 bytes are no size that a kernel's socket has, even and at most \
             2147483646; write \"4802 bytes\" or use --backend sim",
        ],
    );
    check(
        &with_flow("kind = \"cbr\"\nrate = \"1 Mbit/s\"\ndirection = \"reverse\""),
        &[
            "flow.0.direction: on a network of tc, flows go from left to right; exchange from and to, \
             or remove `network = \"tc\"`",
        ],
    );
    let captured = format!("{}[capture]\nat = \"everything\"\n", with_flow(BUFFERED));
    check(
        &captured,
        &["flow.0.send_buffer: on a network of tc, a flow that waits for its socket sends where \
           no capture sees it; remove it or [capture], or remove `network = \"tc\"`"],
    );
    check(
        &dumbbell("", "limit = \"1 packets\"", BUFFERED),
        &["topology.bottleneck.queue.limit: \"1 packets\" leaves no room behind the packet in \
           transmission, and where a flow has a send_buffer a kernel's queue has to; write limit = \
           \"2 packets\" or more"],
    );
}

#[test]
fn what_a_kernel_has_in_its_source() {
    let cases = [
        (
            "fack = true",
            "fack: true cannot be set: Linux has had no forward acknowledgement since 4.15; \
             write false or use --backend sim",
        ),
        (
            "limited_transmit = false",
            "limited_transmit: false cannot be set: a kernel always transmits so; write true or \
             use --backend sim",
        ),
        (
            "initial_ssthresh = \"64 segments\"",
            "initial_ssthresh: \"64 segments\" cannot be set: a kernel's connections begin \
             without a threshold; write \"unlimited\" or use --backend sim",
        ),
        (
            "recovery = \"tcp-linux\"",
            "recovery: \"tcp-linux\" cannot be set: a kernel has a recovery of its own (PRR, \
             RFC 6937); write \"prr\" or use --backend sim",
        ),
        (
            "undo = false",
            "undo: false cannot be set: a kernel always does; write true or use --backend sim",
        ),
        (
            "tso = false",
            "tso: false cannot be set: a kernel always sizes and defers what it sends; write \
             true or use --backend sim",
        ),
        (
            "tso_autosizing = false",
            "tso_autosizing: false cannot be set: a kernel always sizes what it sends; write \
             true or use --backend sim",
        ),
        (
            "adaptive_reordering = false",
            "adaptive_reordering: false cannot be set: a kernel always does; write true or use \
             --backend sim",
        ),
        (
            "cwnd_validation = false",
            "cwnd_validation: false cannot be set: a kernel has its own; write true or use \
             --backend sim",
        ),
        (
            "timer_wheel = false",
            "timer_wheel: false cannot be set: a kernel has a timer wheel; write true or use \
             --backend sim",
        ),
        (
            "grow_on_exit = false",
            "grow_on_exit: false cannot be set: a kernel leaves that to the algorithm; write \
             true or use --backend sim",
        ),
        (
            "rto_max = \"60 s\"",
            "rto_max: \"60 s\" cannot be set: a kernel has it in its source; write \"120 s\" or \
             use --backend sim",
        ),
        (
            "rto_initial = \"3 s\"",
            "rto_initial: \"3 s\" cannot be set: a kernel has it in its source; write \"1 s\" or \
             use --backend sim",
        ),
        (
            "rto_granularity = \"10 ms\"",
            "rto_granularity: \"10 ms\" cannot be set: a kernel has the tick that it was built \
             with; write \"1 ms\" or use --backend sim",
        ),
        (
            "rto_min_bounds_variance = false",
            "rto_min_bounds_variance: false cannot be set: a kernel always bounds the variance; \
             write true or use --backend sim",
        ),
        (
            "rto_restart_on_every_ack = true",
            "rto_restart_on_every_ack: true cannot be set: a kernel restarts on new data alone; \
             write false or use --backend sim",
        ),
        (
            "cwnd_clamp = \"30 segments\"",
            "cwnd_clamp: \"30 segments\" cannot be set: a kernel has it in its source; write \
             \"unlimited\" or use --backend sim",
        ),
        (
            "max_burst = \"3 segments\"",
            "max_burst: \"3 segments\" cannot be set: a kernel has no such limit; write \
             \"unlimited\" or use --backend sim",
        ),
        (
            "receive_window_tuning = false",
            "receive_window_tuning: false cannot be set: a kernel's windows open as data arrive; \
             write true or use --backend sim",
        ),
        (
            "send_jitter = \"8 us\"",
            "send_jitter: \"8 us\" cannot be set: a kernel's computing takes no time here; \
             write \"0 s\" or use --backend sim",
        ),
    ];
    for (written, refusal) in cases {
        check(&with_stack(written), &[&format!("stack.{refusal}")]);
    }
}

#[test]
fn a_threshold_of_the_preset() {
    let htcp = "cc = \"htcp\"\ncc_variant = \"linux-6.1\"";
    let text = dumbbell("preset = \"ns2-tcp-linux\"", "limit = \"9 packets\"", htcp);
    let found = refused(&text);
    let expected = "stack.initial_ssthresh: \"1 segments\" of the preset for htcp cannot be set; \
                    write \"unlimited\" or use --backend sim";
    assert!(found.iter().any(|line| line == expected), "{found:#?}");
}

#[test]
fn buffers() {
    // 2^31 - 1 bytes are what an int holds.
    check(&with_stack("receive_buffer = \"2147483647 bytes\""), &[]);
    check(
        &with_stack("receive_buffer = \"2147483648 bytes\"\nsend_buffer = \"2 GiB\""),
        &[
            "stack.receive_buffer: 2147483648 bytes are more than a kernel's 2147483647; write \
             \"1 GiB\"",
            "stack.send_buffer: 2147483648 bytes are more than a kernel's 2147483647; write \
             \"1 GiB\"",
        ],
    );
}

#[test]
fn parts_of_a_buffer() {
    check(&with_stack("window_divisor = 16"), &[]);
    check(
        &with_stack("window_divisor = 3"),
        &["stack.window_divisor: a kernel offers a half, a quarter, an eighth or a sixteenth of \
           a buffer, or all of it, got 3; write 4"],
    );
}

#[test]
fn times() {
    check(
        &with_stack("rto_min = \"1500 us\""),
        &["stack.rto_min: a kernel counts it in milliseconds, got 1.5 ms; write \"1 ms\""],
    );
    check(
        &with_stack("ecn = \"accurate\""),
        &[
            "stack.ecn: \"accurate\" cannot be set: this kernel has the ECN of RFC 3168 alone; write \
           true or use --backend sim",
        ],
    );
    check(
        &with_stack("delayed_ack = \"200 ms\""),
        &["stack.delayed_ack: a kernel decides by itself when to wait, and cannot be set to \
           200 ms; write \"linux\", or false"],
    );
}

#[test]
fn sizes_of_segments() {
    // 28 bytes and 12 of timestamps, where a kernel has 48 at least.
    check(
        &with_stack("mss = \"28 bytes\""),
        &["stack.mss: a kernel cannot have 28 bytes here; write \"36 bytes\" or use --backend \
           sim"],
    );
    // Beside a larger one, 88 at least (TCP_MAXSEG), and the larger is the devices'.
    check(
        &with_flow("cc = \"cubic\"\n[[flow]]\ncc = \"cubic\"\nmss = \"75 bytes\""),
        &["flow.1.mss: a kernel cannot have 75 bytes here; write \"76 bytes\" or use --backend \
           sim"],
    );
    check(
        &with_flow("cc = \"cubic\"\nmss = \"40 kB\"\n[[flow]]\ncc = \"cubic\"\nmss = \"33 kB\""),
        &["flow.1.mss: a kernel cannot have 33000 bytes here; write \"32755 bytes\" or use \
           --backend sim"],
    );
}

#[test]
fn one_host_with_two_stacks() {
    let hosts = "from = \"a\"\nto = \"b\"";
    check(
        &with_flow(&format!(
            "cc = \"cubic\"\n{hosts}\n[[flow]]\ncc = \"cubic\"\n{hosts}\nsack = false"
        )),
        &["flow.1.from: hosts have one kernel for all their flows: \"cubic#0\" needs \
           net/ipv4/tcp_sack = 1, and this flow net/ipv4/tcp_sack = 0; give them the same \
           stack, or hosts of their own"],
    );
    check(
        &with_flow(&format!(
            "cc = \"cubic\"\n{hosts}\n[[flow]]\ncc = \"cubic\"\n{hosts}\nrto_min = \"50 ms\""
        )),
        &["flow.1.from: hosts have one kernel for all their flows: \"cubic#0\" needs a route \
           with \"\", and this flow \"rto_min 50ms\"; give them the same stack, or hosts of \
           their own"],
    );
}
