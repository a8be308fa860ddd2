//! What a program does not do.

use super::*;

#[test]
fn a_program_sends_as_it_does() {
    let program = "cc = \"cubic\"\nconnections = 4\nprogram = \"fairway\"\n";
    check(&with_flow(program), &[]);
    check(
        &with_flow(&format!("{program}app_rate = \"1 Mbit/s\"\nstriping = \"static\"")),
        &["flow.0.app_rate: a program sends as fast as it can; remove it, or program"],
    );
    check(
        &with_flow(&format!("{program}linux_socket = {{ TCP_NODELAY = 1 }}")),
        &[
            "flow.0.linux_socket: TCP_NODELAY: a program sets the options of its connections itself; \
           remove it",
        ],
    );
    check(
        &with_flow(&format!("{program}read_rate = \"1 Mbit/s\"")),
        &["flow.0.read_rate: a program reads as fast as it can; remove it, or program"],
    );
    check(
        &with_flow(&format!("{program}bytes = \"100 GiB\"")),
        &[
            "flow.0.bytes: the file of a program's transfer is on the host's disk, and may have \"64 \
           GiB\"; write as much or less",
        ],
    );
    check(
        &with_flow(&program.replace('4', "300")),
        &["flow.0.connections: 300 are more than the 256 of one transfer; write fewer"],
    );
}
