//! What is said of scripts: that they fail and where, what has no effect, what is not supported.

use fairway_script::{Failure, Verdict, run};

/// The endpoint has a connection and has just written two segments.
const ESTABLISHED: &str = "\
--fairway_preset=rfc5681
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 60000 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK>
+.1 < . 1:1(0) ack 1 win 60000
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 2000) = 2000
";

fn verdict(more: &str) -> Verdict {
    run(&format!("{ESTABLISHED}{more}"), "x.pkt", None).expect("a verdict")
}

fn failure(more: &str) -> Failure {
    let verdict = verdict(more);
    assert!(!verdict.passed);
    verdict.failure.unwrap_or_else(|| panic!("{more} passes"))
}

/// Line of the first event that `verdict` adds.
const FIRST: u32 = 9;

#[test]
fn segments_that_differ_are_shown_part_by_part() {
    let found = failure("+0 > F. 2:1002(1000) ack 7 win 3 <mss 1>");
    assert_eq!((found.line, found.column), (FIRST, 1));
    assert_eq!(found.message, "another segment was sent");
    let differences = [
        "flags . instead of F.",
        "sequence number 1 instead of 2",
        "ack 1 instead of 7",
        "win 65535 instead of 3",
        "option mss none instead of 1",
    ];
    assert_eq!(found.differences, differences);
    assert_eq!(found.found.as_deref(), Some("> . 1:1001(1000) ack 1 win 65535  (at 0.100000 s)"));
}

#[test]
fn times_are_held_to() {
    assert!(verdict("+0 > . 1:2001(2000) ack 1").passed);
    assert!(verdict("+.003 > . 1:2001(2000) ack 1").passed);
    assert!(verdict("0.05~0.097 > . 1:2001(2000) ack 1").passed);
    assert!(verdict("* > . 1:2001(2000) ack 1").passed);
    let found = failure("+.005 > . 1:2001(2000) ack 1");
    assert_eq!(found.message, "this segment was sent at another time");
    assert_eq!(found.expected.as_deref(), Some("at 0.105000 s, give or take 4 ms"));
    // With a tenth of the time since the event before.
    let text = format!(
        "--tolerance_percent=10\n{ESTABLISHED}+0 > . 1:2001(2000) ack 1\n+1.1 > . 1:1001(1000) ack 1"
    );
    assert!(run(&text, "x.pkt", None).expect("a verdict").passed);
    let found = failure("0.05 write(4, ..., 1) = 1");
    assert!(
        found.message.starts_with("its time, 0.050000 s, is 0.050000 s ago"),
        "{}",
        found.message
    );
}

#[test]
fn a_segment_that_is_not_sent_is_waited_for() {
    let found =
        failure("+0 > . 1:2001(2000) ack 1\n+0 < . 1:1(0) ack 2001 win 9\n+0 > . 1:1(0) ack 1");
    assert_eq!((found.line, found.message.as_str()), (FIRST + 2, "nothing was sent"));
    assert_eq!(found.found.as_deref(), Some("nothing until 2.100000 s"));
}

#[test]
fn one_expected_segment_may_be_several_but_not_if_they_are_strict() {
    let text = format!("--strict_segments\n{ESTABLISHED}+0 > . 1:2001(2000) ack 1");
    let strict = run(&text, "x.pkt", None).expect("a verdict");
    let differences = strict.failure.expect("fails").differences;
    assert_eq!(differences, ["payload 1000 instead of 2000"]);
    let found = failure("+0 > . 1:3001(3000) ack 1");
    assert_eq!(found.differences, ["payload 2000 instead of 3000"]);
}

#[test]
fn everything_has_to_be_expected_if_the_script_asks_for_it() {
    assert!(verdict("+0 > . 1:1001(1000) ack 1").passed);
    let text = format!("--fairway_strict\n{ESTABLISHED}+0 > . 1:1001(1000) ack 1");
    let strict = run(&text, "x.pkt", None).expect("a verdict");
    let found = strict.failure.expect("fails").found.expect("a segment");
    assert!(found.starts_with("> . 1001:2001(1000)"), "{found}");
}

#[test]
fn calls_return_what_they_can() {
    assert!(verdict("+0 read(4, ..., 10) = -1 EAGAIN (Resource temporarily unavailable)").passed);
    assert!(verdict("+0 < . 1:6(5) ack 1 win 9\n+0 read(4, ..., 10) = 5").passed);
    assert!(verdict("+0 < . 1:6(5) ack 1 win 9\n+0 ioctl(4, SIOCINQ, [5]) = 0").passed);
    assert!(verdict("+0...0.1 read(4, ..., 10) = 5\n0.2 < . 1:6(5) ack 1 win 9").passed);
    let found = failure("+0 read(4, ..., 10) = 5");
    assert_eq!(found.found.as_deref(), Some("read = -1"));
    let found = failure("+0...0.1 read(4, ..., 10) = 5\n0.3 < . 1:6(5) ack 1 win 9");
    assert_eq!((found.line, found.found.as_deref()), (FIRST, Some("read = -1")));
    let found = failure("+0...0.2 read(4, ..., 10) = 5\n+0 < . 1:6(5) ack 1 win 9");
    assert_eq!(found.message, "the call returned too early");
    let found = failure("+0 close(4) = 0\n+0 write(4, ..., 10) = 10");
    assert!(found.message.contains("closed"), "{}", found.message);
}

#[test]
fn assertions_show_what_is_instead() {
    let found = failure("+0 %{\nassert cwnd > 0\nassert unacked == 3, 'three'\n}%");
    assert_eq!((found.line, found.column), (FIRST + 2, 1));
    assert_eq!(found.found.as_deref(), Some("message: three"));
    assert_eq!(found.differences, ["unacked is 2"]);
    assert_eq!(verdict("+0 %{ print(unacked, state) }%").printed, ["2 Open"]);
}

#[test]
fn the_verdict_is_readable() {
    let text = verdict("+0 > . 5:1005(1000) ack 1").to_string();
    let expected = "\
x.pkt:9:1: another segment was sent
  expected  > . 5:1005(1000) ack 1  (at 0.100000 s, give or take 4 ms)
  found     > . 1:1001(1000) ack 1 win 65535  (at 0.100000 s)
            sequence number 1 instead of 5
  until then, by line of the script and time in seconds:
    2     0.000000  socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    3     0.000000  listen(3, 1) = 0
    4     0.000000  < S 0:0(0) win 60000 <mss 1000,sackOK>
    5     0.000000  > S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK>
    6     0.100000  < . 1:1(0) ack 1 win 60000
    7     0.100000  accept(3, ..., ...) = 4
    8     0.100000  write(4, ..., 2000) = 2000
    9     0.100000  > . 1:1001(1000) ack 1 win 65535
    -     0.100000  > . 1001:2001(1000) ack 1 win 65535
";
    assert_eq!(text, expected);
    assert!(serde_json::to_value(verdict("")).expect("JSON")["passed"] == true);
}

#[test]
fn settings_and_sysctls_set_switches() {
    let head = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 60000 <mss 1000,sackOK,TS val 1 ecr 0,wscale 3>\n";
    for (settings, options) in [
        ("", "<mss 1460,sackOK,TS val 0 ecr 1,nop,wscale 7>"),
        ("`sysctl -q net.ipv4.tcp_timestamps=0`", "<mss 1460,sackOK,wscale 7>"),
        (
            "`set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0 \\\n /proc/sys/net/ipv4/tcp_timestamps=0`",
            "<mss 1460,wscale 7>",
        ),
        ("--fairway-set=window_scaling=false", "<mss 1460,sackOK,TS val 0 ecr 1>"),
        ("--mtu=1000", "<mss 960,sackOK,TS val 0 ecr 1,wscale 7>"),
        ("--fairway_preset=rfc5681", "<mss 1460,sackOK,wscale 13>"),
    ] {
        let text = format!("{settings}\n{head}+0 > S. 0:0(0) ack 1 {options}");
        let verdict = run(&text, "x.pkt", None).expect("a verdict");
        let failure = verdict.failure.map(|failure| failure.differences);
        assert_eq!(failure, None, "{settings}");
        assert_eq!(verdict.warnings, [] as [&str; 0]);
    }
}

#[test]
fn what_has_no_effect_is_said() {
    let text = format!(
        "`sysctl -q net.ipv4.tcp_no_such=7\ntc qdisc replace dev tun0 root fq`\n{ESTABLISHED}"
    );
    let warnings = run(&text, "x.pkt", None).expect("a verdict").warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("1:2: tcp_no_such = 7 is unknown"), "{warnings:?}");
    assert!(warnings[1].contains("is not run"), "{warnings:?}");
}

#[test]
fn a_preset_can_be_given_from_outside() {
    let text = "0 socket(...) = 3\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 60000 <mss 1000,TS val 1 ecr 0>\n\
                +0 > S. 0:0(0) ack 1 <mss 1460>";
    assert!(run(text, "x.pkt", Some("rfc5681")).expect("a verdict").passed);
    assert!(!run(text, "x.pkt", Some("linux-6.1")).expect("a verdict").passed);
    let error = run(text, "x.pkt", Some("solaris")).expect_err("no such preset");
    assert!(error.to_string().contains("solaris"), "{error}");
}

#[test]
fn what_is_not_supported_is_named_before_anything_runs() {
    for (text, place, part) in [
        ("0 socket(...) = 3\n+0 epoll_create(1) = 5", "2:4", "the call epoll_create"),
        ("0 socket(...) = 3\n+0 send(3, ..., 5, MSG_OOB) = 5", "2:4", "MSG_OOB"),
        (
            "0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [1], 4) = 0\n+0 listen(3, 1) = 0",
            "1:3",
            "TCP_FASTOPEN",
        ),
        ("--ip_version=ipv4\n--wire_client\n0 listen(3, 1) = 0", "2:1", "--wire_client"),
        ("--fairway_preset=minix\n0 listen(3, 1) = 0", "1:1", "minix"),
        ("--fairway_set=initial_window=\"x\"\n0 listen(3, 1) = 0", "1:1", "stack.initial_window"),
        ("--tolerance_usecs=many\n0 listen(3, 1) = 0", "1:1", "whole number"),
        ("0 socket(...) = 3", "1:1", "no connection"),
        (
            "0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9\n+0 < S 5:5(0) win 9",
            "3:1",
            "second connection",
        ),
    ] {
        let error = run(text, "x.pkt", None).expect_err(text);
        assert_eq!(error.problem.at.to_string(), place, "{error}");
        assert!(error.problem.message.contains(part), "{error}");
        assert!(error.to_string().starts_with(&format!("x.pkt:{place}: ")), "{error}");
    }
}

#[test]
fn what_cannot_be_done_is_named_where_it_is_tried() {
    for (more, part) in [
        ("+0 write(7, ..., 1) = 1", "no connection's socket"),
        ("+0 write(3, ..., 1) = 1", "no connection's socket"),
        ("+0 connect(5, ..., ...) = 0", "second connection"),
        ("+0 ioctl(4, FIONBIO, [1]) = 0", "FIONBIO"),
        ("+0 getsockopt(4, SOL_TCP, TCP_INFO, ..., ...) = 0", "getsockopt"),
        ("+0 %{ assert tcpi_fackets == 1 }%", "tcpi_fackets"),
    ] {
        let error = run(&format!("{ESTABLISHED}{more}"), "x.pkt", None).expect_err(more);
        assert_eq!(error.problem.at.line, FIRST, "{error}");
        assert!(error.problem.message.contains(part), "{error}");
    }
}
