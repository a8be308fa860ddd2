//! Scripts come from outside: whatever they are, they end with a verdict or an error that names its
//! place, and never with a panic.

use std::fs;
use std::path::Path;

use fairway_script::{ScriptError, Verdict, run};
use proptest::prelude::*;

/// A script that uses every construct.
const WHOLE: &str = r#"--fairway_preset=linux-6.1
--tolerance_usecs=5000
--fairway_set=initial_window="4 segments"
`../common/defaults.sh
sysctl -q net.ipv4.tcp_sack=1 net.ipv4.tcp_timestamps=0`
// comment
   0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
  +0 listen(3, 1) = 0
+0...0.2 accept(3, ..., ...) = 4
 +.1 < SEW 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,TS val 7 ecr 0,nop,wscale 7>
  +0 > S. 0:0(0) ack 1 <...>
 +.1 < [ect0] . 1:1(0) ack 1 win 257
  +0 write(4, ..., 10000) = 10000
  +0~+.01 > P. 1:4001(4000) ack 1
 +.1 < . 1:1(0) ack 1 win 257 <sack 1001:2001 3001:4001,nop,nop>
   * > . 4001:5001(1000) ack 1
  +0 %{ x = tcpi_snd_cwnd + 1; assert x > 1 and not (tcpi_ca_state == TCP_CA_Loss), 'x %d' % x }%
 +.1 < FP. 1:501(500) ack 4001 win 0
 0.9 read(4, ..., 1000) = 500
  +9 shutdown(4, SHUT_WR) = 0
  +9 %{ print(cwnd, ssthresh, state) }%
"#;

/// Pieces that tests put together.
const PIECES: [&str; 64] = [
    "0",
    "+0",
    "+.1",
    "+1",
    "+90",
    "*",
    "0.5",
    "+0~+.1",
    "1~2",
    "...",
    "<",
    ">",
    ".",
    "S",
    "S.",
    "P.",
    "F.",
    "FP.",
    "E.",
    "SEW",
    "-",
    "R.",
    "0:0(0)",
    "1:1(0)",
    "1:1001(1000)",
    "1001:2001(1000)",
    "4294967295:999(1000)",
    "ack 0",
    "ack 1",
    "ack 1001",
    "ack 4294967295",
    "win 0",
    "win 1",
    "win 65535",
    "<mss 1>",
    "<mss 1460,sackOK,wscale 14>",
    "<sack 1:1001>",
    "<sack 5:2 1:4294967295>",
    "<TS val 1 ecr 1,sackOK,mss 0>",
    "<...>",
    "[ce]",
    "[ect0]",
    "\n",
    "\n",
    "\n",
    "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "listen(3, 1) = 0",
    "accept(3, ..., ...) = 4",
    "connect(3, ..., ...) = 0",
    "write(4, ..., 100000) = 100000",
    "write(4, ..., 1) = 1",
    "write(4, ..., 9000000000000000000) = 9000000000000000000",
    "close(4) = 0",
    "close(3) = 0",
    "read(4, ..., 9999) = 1",
    "shutdown(4, SHUT_RDWR) = 0",
    "%{ assert cwnd > 0 }%",
    "%{ x = 9223372036854775807 * 2 }%",
    "%{ print 1 / 0 }%",
    "%{ assert -(-1) << 70 }%",
    "`sysctl -q net.ipv4.tcp_reordering=0`",
    "--mtu=0",
    "--fairway_set=initial_window=\"99999 segments\"",
    "setsockopt(3, SOL_SOCKET, SO_SNDBUF, [-1], 4) = 0",
];

/// What is said of a script names a place within it.
fn judge(text: &str) -> Result<Verdict, ScriptError> {
    let result = run(text, "name.pkt", None);
    if let Err(error) = &result {
        let at = error.problem.at;
        assert!(at.line >= 1 && at.line as usize <= text.lines().count() + 1, "{error}");
        assert!(at.column >= 1 && !error.problem.message.is_empty(), "{error}");
    }
    result
}

#[test]
fn the_whole_script_can_be_run() {
    let verdict = judge(WHOLE).expect("a verdict");
    assert!(verdict.events > 10, "{verdict}");
}

#[test]
fn deep_and_long_scripts_are_refused() {
    for (text, part) in [
        (format!("0 %{{ x = {}1{} }}%", "(".repeat(100_000), ")".repeat(100_000)), "nested"),
        (format!("0 %{{ x = {}1 }}%", "-".repeat(100_000)), "signs"),
        (format!("0 %{{ x = {}1 }}%", "1+".repeat(100_000)), "operators"),
        (format!("0 f({}) = 0", "[".repeat(100_000)), "nested"),
        (format!("0 f({}) = 0", "{".repeat(100_000)), "no }"),
        ("0 close(4) = 0\n".repeat(30_000), "events"),
        (" ".repeat(2 << 20), "bytes"),
    ] {
        let error = judge(&text).expect_err(part);
        assert!(error.problem.message.contains(part), "{error}");
    }
}

#[test]
fn an_endpoint_that_never_rests_is_stopped() {
    let text = "--fairway_set=initial_window=\"99999 segments\"\n0 socket(...) = 3\n+0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 65535 <mss 100,wscale 14>\n+0 < . 1:1(0) ack 1 win 65535\n\
                +0 accept(3, ..., ...) = 4\n+0 write(4, ..., 1000000000) = 1000000000\n\
                +90000 close(4) = 0\n";
    match judge(text) {
        Ok(verdict) => assert!(verdict.trace.len() < 600_000, "{}", verdict.trace.len()),
        Err(error) => assert!(error.problem.message.contains("end earlier"), "{error}"),
    }
}

fn scripts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let mut found = vec![WHOLE.to_owned()];
    for name in ["general/ecn.pkt", "general/timestamps.pkt", "rfc5681/fast-retransmit.pkt"] {
        found.push(fs::read_to_string(folder.join(name)).expect("a script"));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        let _ = judge(&text);
    }

    #[test]
    fn pieces_in_any_order(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40)) {
        let head = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n";
        let _ = judge(&format!("{head}{}", pieces.join(" ")));
    }

    #[test]
    fn events_in_any_order(
        handshake: bool,
        events in prop::collection::vec((0usize..6, 0usize..6, 0usize..10, any::<u16>()), 0..30),
    ) {
        let mut text = "0 socket(...) = 3\n+0 listen(3, 1) = 0\n".to_owned();
        if handshake {
            text += "+0 < S 0:0(0) win 9999 <mss 1000,sackOK,wscale 3>\n+0 < . 1:1(0) ack 1 win 9999\n\
                     +0 accept(3, ..., ...) = 4\n+0 write(4, ..., 50000) = 50000\n";
        }
        for (time, flags, options, number) in events {
            let time = ["+0", "+.1", "+1", "+.001", "+30", "+.0501"][time];
            let flags = [".", "F.", "P.", "S.", "E.", "S"][flags];
            let number = u32::from(number);
            let options = [
                "", "<sack 1001:2001>", "<sack 2001:3001 5001:6001>", "<sack 1:1001>", "<nop>",
                "<sack 3001:9001 1001:2001>", "<sack 60001:70001>", "<mss 100>", "<wscale 14>", "<sackOK>",
            ][options];
            let payload = if flags.contains('S') { 0 } else { number % 3 * 500 };
            let seq = 1 + number % 7 * 500;
            text += &format!(
                "{time} < {flags} {seq}:{}({payload}) ack {} win {} {options}\n",
                seq + payload, 1 + number % 11 * 1000, number % 1000,
            );
        }
        let _ = judge(&text);
    }

    #[test]
    fn scripts_with_a_stretch_changed(
        which in 0usize..4, from: prop::sample::Index, length in 0usize..12, with in "[ -~\n]{0,6}",
    ) {
        let text = &scripts()[which];
        let start = from.index(text.len());
        let end = (start + length).min(text.len());
        let _ = judge(&format!("{}{with}{}", &text[..start], &text[end..]));
    }
}
