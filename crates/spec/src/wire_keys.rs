//! The keys of a link beyond its rate, delay and queue: what its wire does to packets, and how its
//! rate and delay change.

use fairway_net::impairment::Ns3Loss;

use super::keys::{Absent, Key, Kind, Section, keys};
use super::wires;

use Absent::{Default, Explained, Required};

const PROBABILITY: Kind = Kind::Number { min: 0.0, max: 1.0 };
const COUNT: Kind = Kind::Count { min: 1, max: u64::MAX };

static DIRECTION: &[Key] = keys! {
    "direction": Kind::Choice { thing: "direction", names: || vec!["forward", "reverse", "both"] },
        Default(r#""forward""#), r#""both""# =>
        "Forward: from sources to sinks.";
};

static UNIT: &[Key] = keys! {
    "unit": Kind::Choice { thing: "unit", names: || vec!["packet", "byte", "bit"] },
        Default(r#""packet""#), r#""bit""# =>
        "What the probability is of: a packet, or each of its bytes or bits, framing included.";
};

static IN_FLIGHT: &[Key] = keys! {
    "in_flight": Kind::Choice { thing: "fate", names: || vec!["kept", "lost"] },
        Default(r#""kept""#), r#""lost""# =>
        "What becomes of the packet in transmission, and with a change of those that propagate too; what waits in the queue stays.";
};

/// What the wire of a link does, given the sections of its impairments.
macro_rules! wire_keys {
    ($loss:ident, $corruption:ident, $duplication:ident, $reordering:ident, $jitter:ident) => {
        keys! {
            "loss": Kind::Table(&$loss), Explained, r#"{"kind": "bernoulli", "probability": 0.001}"# =>
                "Loss on the link; without it, none.";
            "corruption": Kind::Table(&$corruption), Explained, r#"{"probability": 0.001}"# =>
                "Packets that are damaged: they cross all links, and their receiver's checksum finds them.";
            "duplication": Kind::Table(&$duplication), Explained, r#"{"probability": 0.001}"# =>
                "Packets that arrive twice.";
            "reordering": Kind::Table(&$reordering),
                Explained, r#"{"probability": 0.01, "delay": "10 ms"}"# =>
                "Packets that overtake others, or are overtaken.";
            "jitter": Kind::Table(&$jitter), Explained, r#"{"mean": "5 ms", "deviation": "2 ms"}"# =>
                "Delay on top of the propagation delay that varies from packet to packet.";
        }
    };
}

/// Those of a link.
pub(super) static LINK_WIRE: &[Key] = wire_keys!(LOSS, CORRUPTION, DUPLICATION, REORDERING, JITTER);

/// Those of the other direction of a link, each of which holds in place of the link's.
pub(super) static REVERSE_WIRE: &[Key] = wire_keys!(
    LOSS_ONE_WAY,
    CORRUPTION_ONE_WAY,
    DUPLICATION_ONE_WAY,
    REORDERING_ONE_WAY,
    JITTER_ONE_WAY
);

/// How a link changes.
pub(super) static LINK_OVER_TIME: &[Key] = keys! {
    "change": Kind::List(&CHANGE), Explained, r#"[{"at": "10 s", "rate": "5 Mbit/s"}]"# =>
        "Changes of rate and delay at given times, in their order: steps, ramps, interruptions (packets wait), handovers.";
    "change_period": Kind::Duration, Explained, r#""60 s""# =>
        "Period after which the changes start again, from the link's first rate and delay; without it, never.";
    "change_keeps_order": Kind::Switch, Default("true"), "false" =>
        "Whether a packet waits for those before it that had a longer delay, so that none overtakes when the delay shrinks.";
    "on_off": Kind::Table(&ON_OFF), Explained, r#"{"on": "2 s", "off": "500 ms"}"# =>
        "The link alternates between up and down.";
    "state": Kind::List(&STATE),
        Explained, r#"[{"id": "only", "rate": "1 Mbit/s", "holding": "1 s", "next": {"only": 1}}]"# =>
        "The rate follows a Markov chain of these states, starting in the first; queues are sized by rate.";
    "trace": Kind::Text, Explained, r#""opportunities 1 2x3""# =>
        "Instead of a rate, a packet-delivery trace of Mahimahi: its file name, or \"opportunities\" with the milliseconds before each, 2x3 for three with 2 ms before each. Each delivers 1504 bytes; the trace repeats.";
};

static LOSS_KIND: &[Key] = keys! {
    "kind": Kind::Choice { thing: "loss", names: wires::loss_names },
        Default(r#""bernoulli""#), r#""gilbert-elliott""# =>
        "Bernoulli: every packet is lost independently. Gilbert-Elliott: in bursts, by two states. Four-state: in bursts, by NetEm's four states; bursty: the same by what is seen of it. List: packets by number. Periodic: every n-th. Burst: several in a row.";
    "probability": PROBABILITY, Explained, "0.001" =>
        "Bernoulli: probability of a loss. Periodic, instead of every: the share that is lost, one packet in 1/probability. Burst: probability that a packet outside bursts begins one.";
};

static LOSS_KEYS: &[Key] = keys! {
    "p": PROBABILITY, Explained, "0.01" =>
        "Gilbert-Elliott: probability to go from the good state to the bad one, at each packet.";
    "r": PROBABILITY, Explained, "0.25" => "Gilbert-Elliott: probability to go back.";
    "loss_in_bad": PROBABILITY, Default("1"), "0.5" =>
        "Gilbert-Elliott: probability 1 − h of a loss in the bad state.";
    "loss_in_good": PROBABILITY, Default("0"), "0.001" =>
        "Gilbert-Elliott: probability 1 − k of a loss in the good state.";
    "p13": PROBABILITY, Explained, "0.01" =>
        "Four-state: probability to go from received in a gap (1) to lost in a burst (3).";
    "p31": PROBABILITY, Explained, "0.1" =>
        "Four-state: from lost in a burst to received in a gap; 1 − p13 unless written, as in tc.";
    "p32": PROBABILITY, Default("0"), "0.3" => "Four-state: from lost to received in a burst (2).";
    "p23": PROBABILITY, Default("1"), "0.6" => "Four-state: from received to lost in a burst.";
    "p14": PROBABILITY, Default("0"), "0.02" =>
        "Four-state: from received in a gap to lost alone (4).";
    "loss": PROBABILITY, Explained, "0.02" => "Bursty: share of packets lost in the long run.";
    "burst": Kind::Number { min: 1.0, max: 1e9 }, Explained, "10" =>
        "Bursty: mean packets of a burst, from its first loss to its last.";
    "density": PROBABILITY, Default("1"), "0.7" => "Bursty: share of packets lost within bursts.";
    "isolated": PROBABILITY, Default("0"), "0.005" =>
        "Bursty: share of packets outside bursts that are lost alone.";
    "spared": Kind::Number { min: 1.0, max: 1e9 }, Default("1"), "2" =>
        "Bursty: mean packets in a row that are received within a burst.";
    "packets": Kind::Counts, Explained, "[1, 12, 13]" =>
        "List: numbers of the packets that are lost, as they come to the link from 1, rising.";
    "every": COUNT, Explained, "100" => "Periodic: packets from one loss to the next.";
    "first": COUNT, Explained, "10" =>
        "Periodic: number of the first packet that is lost; as every unless written.";
    "length": COUNT, Explained, "3" => "Burst: packets in a row that are lost.";
    "at": Kind::Times, Explained, r#"["10 s", "20 s"]"# =>
        "Burst: times from which bursts begin, instead of by probability, rising.";
    "of": Kind::Choice { thing: "count", names: || vec!["data", "all"] },
        Default(r#""data""#), r#""all""# =>
        "List, periodic, burst: what is counted and lost, packets that carry data or all.";
};

/// One sequence is for both directions, so that a link has it, and not one direction of it.
static REPLAY_KEYS: &[Key] = keys! {
    "replay": Kind::Choice { thing: "replay", names: || vec!["ns3"] }, Explained, r#""ns3""# =>
        "Bernoulli: draws the random numbers of ns-3, one for each packet of both directions in the order of their arrival, so that the packets are lost that ns-3's RateErrorModel loses. Without it, they follow from the experiment's seed.";
    "seed": Kind::Count { min: 1, max: Ns3Loss::MAX_SEED }, Default("1"), "1" =>
        "Replay: ns-3's RngSeed.";
    "run": Kind::Count { min: 0, max: u64::MAX }, Explained, "2" =>
        "Replay: ns-3's RngRun. Without it, the experiment's seed less one, so that repetitions are further runs of ns-3.";
    "stream": Kind::Count { min: 0, max: Ns3Loss::MAX_STREAM }, Default("50"), "50" =>
        "Replay: the number that the ns-3 program gives to SetStream.";
};

static LOSS: Section = Section {
    kinds: wires::kinds_with,
    ..Section::plain("a loss", &[LOSS_KIND, UNIT, LOSS_KEYS, REPLAY_KEYS, DIRECTION])
};

static LOSS_ONE_WAY: Section =
    Section { kinds: wires::kinds_with, ..Section::plain("a loss", &[LOSS_KIND, UNIT, LOSS_KEYS]) };

static CORRUPTION_KEYS: &[Key] = keys! {
    "probability": PROBABILITY, Required, "0.001" => "Probability that a packet is damaged.";
};

static CORRUPTION: Section = Section::plain("corruption", &[CORRUPTION_KEYS, UNIT, DIRECTION]);
static CORRUPTION_ONE_WAY: Section = Section::plain("corruption", &[CORRUPTION_KEYS, UNIT]);

static DUPLICATION_KEYS: &[Key] = keys! {
    "probability": PROBABILITY, Required, "0.001" => "Probability that a packet is doubled.";
};

static DUPLICATION: Section = Section::plain("duplication", &[DUPLICATION_KEYS, DIRECTION]);
static DUPLICATION_ONE_WAY: Section = Section::plain("duplication", &[DUPLICATION_KEYS]);

static REORDERING_KEYS: &[Key] = keys! {
    "kind": Kind::Choice { thing: "reordering", names: || vec!["late", "early"] },
        Default(r#""late""#), r#""early""# =>
        "Late: some packets are delayed further and are overtaken. Early: all but some are delayed, and those overtake, as in NetEm.";
    "probability": PROBABILITY, Required, "0.01" => "Probability of those packets.";
    "delay": Kind::Duration, Required, r#""10 ms""# => "How much longer.";
    "gap": Kind::Count { min: 1, max: u32::MAX as u64 }, Default("1"), "5" =>
        "Early: after one that overtakes, at least this many less one do not.";
};

static REORDERING: Section = Section::plain("reordering", &[REORDERING_KEYS, DIRECTION]);
static REORDERING_ONE_WAY: Section = Section::plain("reordering", &[REORDERING_KEYS]);

static JITTER_KEYS: &[Key] = keys! {
    "mean": Kind::Duration, Required, r#""5 ms""# => "Mean of the delay, on top of the link's.";
    "deviation": Kind::Duration, Required, r#""2 ms""# =>
        "Its deviation; of the uniform distribution, half the width. What would be less than no delay is none.";
    "distribution": Kind::Choice { thing: "distribution", names: || vec!["uniform", "normal", "pareto", "paretonormal"] },
        Default(r#""uniform""#), r#""normal""# =>
        "As NetEm's: the last three end at four deviations.";
    "keep_order": Kind::Switch, Default("true"), "false" =>
        "Whether a packet waits for those before it, so that none overtakes.";
};

static JITTER: Section = Section::plain("jitter", &[JITTER_KEYS, DIRECTION]);
static JITTER_ONE_WAY: Section = Section::plain("jitter", &[JITTER_KEYS]);

static CHANGE: Section = Section::plain(
    "a change",
    &[
        keys! {
            "at": Kind::Duration, Required, r#""10 s""# =>
                "When it begins, from the start of the run or of the period.";
            "rate": Kind::RateOrDown, Explained, r#""down""# =>
                "The new rate, or \"down\"; without it, the old one.";
            "delay": Kind::Duration, Explained, r#""80 ms""# =>
                "The new propagation delay; without it, the old one.";
            "over": Kind::Duration, Default(r#""0 s""#), r#""2 s""# =>
                "How long it takes, in a straight line; at once without it.";
        },
        IN_FLIGHT,
    ],
);

static ON_OFF: Section = Section::plain(
    "on and off",
    &[
        keys! {
            "on": Kind::Duration, Required, r#""2 s""# => "How long the link is up, on average.";
            "off": Kind::Duration, Required, r#""500 ms""# => "How long it is down, on average.";
        },
        HOLDING,
        keys! {
            "begins": Kind::Choice { thing: "beginning", names: || vec!["on", "off"] },
                Default(r#""on""#), r#""off""# => "Which comes first.";
        },
        IN_FLIGHT,
    ],
);

static STATE: Section = Section::plain(
    "a state",
    &[
        keys! {
            "id": Kind::Text, Required, r#""only""# => "Its name, for next.";
            "rate": Kind::RateOrDown, Required, r#""1 Mbit/s""# => "The rate in it, or \"down\".";
            "holding": Kind::Duration, Required, r#""1 s""# => "How long it lasts, on average.";
        },
        HOLDING,
        keys! {
            "next": Kind::Numbers, Required, r#"{"only": 1}"# =>
                "The states that follow, each with its probability; they add to 1.";
        },
        IN_FLIGHT,
    ],
);

static HOLDING: &[Key] = keys! {
    "distribution": Kind::Choice { thing: "distribution", names: || vec!["exponential", "fixed"] },
        Default(r#""exponential""#), r#""fixed""# =>
        "How times are distributed, by which a state lasts.";
};
