//! The keys of queues: those that several disciplines share, and the tables of all.

use super::super::keys::{Absent, Key, Kind, Section, key};
use super::{controlled, dualpi2, names, nested, red, scheduling, shaping};

/// The queue of a link.
pub(in super::super) static QUEUE: Section = Section {
    name: "a queue",
    groups: &[
        KIND,
        COMMON,
        red::KEYS,
        controlled::KEYS,
        dualpi2::KEYS,
        scheduling::KEYS,
        shaping::KEYS,
        nested::KEYS,
    ],
    switches: &[],
};

/// A queue inside another one: one level, so that there is an end.
pub(super) static INNER_QUEUE: Section = Section {
    name: "a queue inside another one",
    groups: &[
        INNER_KIND,
        COMMON,
        red::KEYS,
        controlled::KEYS,
        dualpi2::KEYS,
        scheduling::KEYS,
        shaping::KEYS,
    ],
    switches: &[],
};

static KIND: &[Key] = &[key(
    "kind",
    Kind::Choice { thing: "queue discipline", names },
    Absent::Default(r#""droptail""#),
    r#""red""#,
    "Drop-tail; drop-head; random early detection (RED, Floyd and Jacobson 1993); RED with the parameters of a MikroTik router; controlled delay (CoDel, RFC 8289); CoDel with BLUE as CAKE has it (COBALT); CoDel for each flow (FQ-CoDel, RFC 8290); a proportional integral controller (PIE, RFC 8033); PIE for each flow (FQ-PIE); stochastic fairness queueing (SFQ, McKenney 1990); deficit round robin of flows (DRR, Shreedhar and Varghese 1995); a queue for low latency coupled with a classic one (DualPI2, RFC 9332); a token-bucket shaper (TBF); a policer in front of a queue; bands of strict priority (PRIO).",
)];

static INNER_KIND: &[Key] = &[key(
    "kind",
    Kind::Choice { thing: "queue discipline inside another one", names: nested::inner_names },
    Absent::Default(r#""droptail""#),
    r#""codel""#,
    "Any but strict priority.",
)];

/// The keys of RED and those that several disciplines have. The defaults of RED are those of
/// S. Floyd, "RED: Discussions of Setting Parameters" (1997): min_th 5 packets, max_th three times
/// that, max_p 0.1, w_q 0.002; and gentle, from her "Recommendation on using the gentle_ variant of
/// RED" (2000).
static COMMON: &[Key] = &[
    key(
        "limit",
        Kind::Limit,
        Absent::Explained,
        r#""42 packets""#,
        "Packets, bytes, time at the link's rate, or bandwidth-delay products (rate of the slowest link times base round-trip time of the longest path) that may wait or be in transmission. Without it, \"1.0 bdp\" at the slowest link and \"unlimited\" at every other. The following count packets that wait, and unless written, as in Linux: CoDel and PIE 1000; FQ-CoDel, COBALT and FQ-PIE 10240; DualPI2 10000; SFQ 127; DRR 1000 for each flow; PRIO 1000 for each band that has no queue of its own. \"routeros-red\": packets of mean_packet, 60 unless written, as in RouterOS. TBF: a time is the longest wait for tokens.",
    ),
    key(
        "min_threshold",
        Kind::Packets,
        Absent::Explained,
        r#""5 packets""#,
        "RED: average queue below which nothing is dropped; 5 packets unless written (Floyd 1997).",
    ),
    key(
        "max_threshold",
        Kind::Packets,
        Absent::Explained,
        r#""15 packets""#,
        "RED: average queue at which the drop probability reaches max_probability; three times min_threshold unless written (Floyd 1997).",
    ),
    key(
        "max_probability",
        Kind::Number { min: 0.0, max: 1.0 },
        Absent::Explained,
        "0.1",
        "RED: drop probability at max_threshold; 0.1 unless written (Floyd 1997).",
    ),
    key(
        "weight",
        Kind::Number { min: 0.0, max: 1.0 },
        Absent::Explained,
        "0.002",
        "RED: weight of a new sample in the average; 0.002 unless written (Floyd 1997).",
    ),
    key(
        "gentle",
        Kind::Switch,
        Absent::Explained,
        "true",
        "RED: whether the probability rises to 1 between one and two max_threshold rather than jumping; true unless written (Floyd 2000).",
    ),
    key(
        "ecn",
        Kind::Switch,
        Absent::Explained,
        "false",
        "RED, CoDel, FQ-CoDel, COBALT, PIE, FQ-PIE: whether packets that allow it are marked instead of dropped; true for FQ-CoDel and COBALT unless written, as in Linux, and false for the others. DualPI2 always marks.",
    ),
    key(
        "target",
        Kind::Duration,
        Absent::Explained,
        r#""5 ms""#,
        "Delay that the queue may have. Unless written, CoDel and FQ-CoDel: 5 ms (RFC 8289 section 4.3). COBALT: 5 ms, or the time of one and a half packets of 1514 bytes if that is more, as CAKE. PIE, FQ-PIE and the classic queue of DualPI2: 15 ms (RFC 8033 section 4.2, RFC 9332 appendix A). Adaptive RED: the delay by which thresholds that are not written are chosen; 5 ms, as in ns-2.",
    ),
    key(
        "interval",
        Kind::Duration,
        Absent::Explained,
        r#""100 ms""#,
        "CoDel, FQ-CoDel, COBALT: time for which the delay may be above the target before packets are dropped, about the longest round-trip time; 100 ms unless written (RFC 8289 section 4.2), for COBALT at least twice the target.",
    ),
    key(
        "ce_threshold",
        Kind::Duration,
        Absent::Explained,
        r#""1 ms""#,
        "CoDel, FQ-CoDel: packets that have waited longer and allow it are marked, whatever the target says; without it, none.",
    ),
    key(
        "flows",
        Kind::Count { min: 1, max: 65_536 },
        Absent::Explained,
        "1024",
        "FQ-CoDel, FQ-PIE: queues that flows are spread over by a hash; 1024 unless written. SFQ: queues that may have packets at the same time, at most 65408; 128 unless written. All as in Linux.",
    ),
    key(
        "quantum",
        Kind::Size,
        Absent::Explained,
        r#""1514 bytes""#,
        "FQ-CoDel, FQ-PIE, SFQ, DRR: bytes, frame overhead included, that a flow may send in a round; unless written 1514, or the largest packet if that is larger, as in Linux (the MTU of an Ethernet with its header).",
    ),
    key(
        "variant",
        Kind::Choice { thing: "variant", names: || vec!["ns2", "linux", "rfc"] },
        Absent::Explained,
        r#""linux""#,
        "Whose version it is where implementations differ. RED: ns2, or linux (how drops are spread, how the average decays on an idle link); ns2 unless written. CoDel and FQ-CoDel: linux, or rfc (the time of each drop by an exact square root). PIE and FQ-PIE: linux, or rfc (a probability that ends at 1). Linux unless written.",
    ),
];
