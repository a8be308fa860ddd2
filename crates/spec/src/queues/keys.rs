//! The keys of queues: those that several disciplines share, and the tables of all.

use super::{controlled, dualpi2, names, nested, red, scheduling, shaping};
use crate::keys::{Absent, Key, Kind, Section, keys};

/// The queue of a link.
pub(crate) static QUEUE: Section = Section {
    kinds: super::kinds_with,
    ..Section::plain(
        "a queue",
        &[
            KIND,
            COMMON,
            red::KEYS,
            controlled::KEYS,
            dualpi2::KEYS,
            scheduling::KEYS,
            shaping::KEYS,
            nested::KEYS,
        ],
    )
};

/// A queue inside another one: one level, so that there is an end.
pub(super) static INNER_QUEUE: Section = Section {
    kinds: super::kinds_with,
    ..Section::plain(
        "a queue inside another one",
        &[
            INNER_KIND,
            COMMON,
            red::KEYS,
            controlled::KEYS,
            dualpi2::KEYS,
            scheduling::KEYS,
            shaping::KEYS,
        ],
    )
};

static KIND: &[Key] = keys! {
    "kind": Kind::Choice { thing: "queue discipline", names },
        Absent::Default(r#""droptail""#), r#""red""# =>
        "Drop-tail; drop-head; random early detection (RED, Floyd and Jacobson 1993); RED with the parameters of a MikroTik router; controlled delay (CoDel, RFC 8289); CoDel with BLUE as CAKE has it (COBALT); CoDel for each flow (FQ-CoDel, RFC 8290); a proportional integral controller (PIE, RFC 8033); PIE for each flow (FQ-PIE); stochastic fairness queueing (SFQ, McKenney 1990); deficit round robin of flows (DRR, Shreedhar and Varghese 1995); a queue for low latency coupled with a classic one (DualPI2, RFC 9332); a token-bucket shaper (TBF); a policer in front of a queue; bands of strict priority (PRIO).";
};

static INNER_KIND: &[Key] = keys! {
    "kind": Kind::Choice { thing: "inner queue discipline", names: nested::inner_names },
        Absent::Default(r#""droptail""#), r#""codel""# =>
        "Any but strict priority.";
};

/// The keys of RED and those that several disciplines have. The defaults of RED are those of
/// S. Floyd, "RED: Discussions of Setting Parameters" (1997): min_th 5 packets, max_th three times
/// that, max_p 0.1, w_q 0.002; and gentle, from her "Recommendation on using the gentle_ variant of
/// RED" (2000).
static COMMON: &[Key] = keys! {
    "limit": Kind::Limit,
        Absent::Of(&[(&["routeros-red"], r#""60 packets""#), (&["codel", "pie", "drr"], r#""1000 packets""#), (&["fq_codel", "cobalt", "fq_pie"], r#""10240 packets""#), (&["dualpi2"], r#""10000 packets""#), (&["sfq"], r#""127 packets""#)]), r#""42 packets""# =>
        "What may wait or be in transmission: packets, bytes, time at the link's rate, or bandwidth-delay products (rate of the slowest link times base round-trip time of the longest path). Unless written, \"1.0 bdp\" at the slowest link and \"unlimited\" at every other. CoDel and PIE, alone or for each flow, COBALT, DualPI2, SFQ and DRR count packets that wait, DRR those of each flow, and by default as in Linux; a time or bdp is as many of the largest packet as fit, rounded down; \"routeros-red\" packets of mean_packet, as in RouterOS. TBF: a time is the longest wait for tokens. PRIO: unless written, 1000 packets for each band that has no queue of its own.";
    "min_threshold": Kind::Packets,
        Absent::Of(&[(&["red"], r#""5 packets""#), (&["routeros-red"], r#""10 packets""#)]), r#""5 packets""# =>
        "RED: average queue below which nothing is dropped (Floyd 1997; RouterOS). With adaptive, the default follows from the rate.";
    "max_threshold": Kind::Packets,
        Absent::Of(&[(&["routeros-red"], r#""50 packets""#)]), r#""15 packets""# =>
        "RED: average queue at which the drop probability reaches max_probability; unless written, three times min_threshold (Floyd 1997).";
    "max_probability": Kind::Number { min: 0.0, max: 1.0 }, Absent::Default("0.1"), "0.1" =>
        "RED: drop probability at max_threshold (Floyd 1997).";
    "weight": Kind::Number { min: 0.0, max: 1.0 }, Absent::Default("0.002"), "0.002" =>
        "RED: weight of a new sample in the average (Floyd 1997). With adaptive, the default follows from the rate.";
    "gentle": Kind::Switch, Absent::Default("true"), "true" =>
        "RED: whether the probability rises to 1 between one and two max_threshold rather than jumping (Floyd 2000).";
    "ecn": Kind::Switch,
        Absent::Of(&[(&["red", "codel", "pie", "fq_pie"], "false"), (&["fq_codel", "cobalt"], "true")]), "false" =>
        "RED, CoDel, FQ-CoDel, COBALT, PIE, FQ-PIE: whether packets that allow it are marked instead of dropped; by default as in Linux. DualPI2 always marks.";
    "target": Kind::Duration,
        Absent::Of(&[(&["red", "codel", "fq_codel"], r#""5 ms""#), (&["pie", "fq_pie", "dualpi2"], r#""15 ms""#)]), r#""5 ms""# =>
        "Delay that the queue may have (RFC 8289 section 4.3; RFC 8033 section 4.2; RFC 9332 appendix A). COBALT: unless written 5 ms, or the time of one and a half packets of 1514 bytes if that is more, as CAKE. DualPI2: of its classic queue. Adaptive RED: the delay by which thresholds that are not written are chosen, as in ns-2.";
    "interval": Kind::Duration,
        Absent::Of(&[(&["codel", "fq_codel"], r#""100 ms""#)]), r#""100 ms""# =>
        "CoDel, FQ-CoDel, COBALT: time for which the delay may be above the target before packets are dropped, about the longest round-trip time (RFC 8289 section 4.2). COBALT: unless written 100 ms, or twice the target if that is more.";
    "ce_threshold": Kind::Duration, Absent::Explained, r#""1 ms""# =>
        "CoDel, FQ-CoDel: packets that have waited longer and allow it are marked, whatever the target says; without it, none.";
    "flows": Kind::Count { min: 1, max: 65_536 },
        Absent::Of(&[(&["fq_codel", "fq_pie"], "1024"), (&["sfq"], "128")]), "1024" =>
        "FQ-CoDel, FQ-PIE: queues that flows are spread over by a hash. SFQ: queues that may have packets at the same time, at most 65408. All as in Linux.";
    "quantum": Kind::Size, Absent::Explained, r#""1514 bytes""# =>
        "FQ-CoDel, FQ-PIE, SFQ, DRR: bytes, frame overhead included, that a flow may send in a round; unless written 1514, or the largest packet if that is larger, as in Linux (the MTU of an Ethernet with its header).";
    "variant": Kind::Choice { thing: "variant", names: || vec!["ns2", "linux", "rfc"] },
        Absent::Of(&[(&["red"], r#""ns2""#), (&["codel", "fq_codel", "pie", "fq_pie"], r#""linux""#)]), r#""linux""# =>
        "The implementation to follow where they differ. RED: ns2, or linux (how drops are spread, how the average decays on an idle link). CoDel and FQ-CoDel: linux, or rfc (the time of each drop by an exact square root). PIE and FQ-PIE: linux, or rfc (a probability that ends at 1).";
};
