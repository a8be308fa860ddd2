//! What the wire of a link does to packets: losses and other impairments, each per direction.

use fairway_net::impairment::{
    Chance, Counted, Distribution, FourState, GilbertElliott, Jitter, LossBurst, LossBursts,
    LossConfig, LossList, LossPeriod, Ns3Loss, Reordering, Starts, Unit,
};
use fairway_net::{Schedule, WireConfig};
use fairway_units::{Duration, Time};

use super::Loss;
use super::kinds::{self, KindOf};
use super::reader::{Counts, Name, Table, Times};

/// ns-3's `RngSeed` (`rng-seed-manager.cc`), and the stream that its example `tcp-variants-comparison`
/// sets for its error model. That example's run is 0, which is the default for an experiment's seed of 1.
const REPLAY_SEED: u64 = 1;
const REPLAY_STREAM: u64 = 50;

type ReadLoss = fn(&Table) -> Option<LossConfig>;

/// All loss models, in the order of the documentation.
static LOSS_KINDS: &[KindOf<ReadLoss>] = &[
    KindOf {
        name: "bernoulli",
        keys: "probability unit replay seed run stream",
        read: read_bernoulli,
    },
    KindOf {
        name: "gilbert-elliott",
        keys: "p r loss_in_bad loss_in_good",
        read: read_gilbert_elliott,
    },
    KindOf { name: "four-state", keys: "p13 p31 p32 p23 p14", read: read_four_state },
    KindOf { name: "bursty", keys: "loss burst density isolated spared", read: read_bursty },
    KindOf { name: "list", keys: "packets of", read: read_list },
    KindOf { name: "periodic", keys: "every probability first of", read: read_periodic },
    KindOf { name: "burst", keys: "length probability at of", read: read_burst },
];

/// The names of all loss models.
pub(super) fn loss_names() -> Vec<&'static str> {
    kinds::names(LOSS_KINDS)
}

/// The loss models that have this key of their own.
pub(super) fn kinds_with(key: &str) -> Vec<&'static str> {
    kinds::with_key(LOSS_KINDS, key)
}

/// What the wires of a link do, towards the sinks and back. In the table of one direction, what is
/// not written is as in `other`, and both are that direction's.
pub(super) fn read(link: &Table, other: Option<&WireConfig>) -> Option<[WireConfig; 2]> {
    let mut wires = [WireConfig::default(), WireConfig::default()];
    let loss = part(link, "loss", read_loss)?;
    let corruption = part(link, "corruption", read_chance)?;
    let duplication = part(link, "duplication", |table| table.require::<f64>("probability"))?;
    let reordering = part(link, "reordering", read_reordering)?;
    let jitter = part(link, "jitter", read_jitter)?;
    let none = WireConfig::default();
    let other = other.unwrap_or(&none);
    for (i, wire) in wires.iter_mut().enumerate() {
        *wire = WireConfig {
            loss: of_direction(&loss, i).or_else(|| other.loss.clone()),
            corruption: of_direction(&corruption, i).or(other.corruption),
            duplication: of_direction(&duplication, i).unwrap_or(other.duplication),
            reordering: of_direction(&reordering, i).or(other.reordering),
            jitter: of_direction(&jitter, i).or(other.jitter),
        };
    }
    let wrong = wires.iter().find_map(|wire| wire.check().err());
    if let Some(error) = wrong {
        refuse(link, &error);
        return None;
    }
    Some(wires)
}

/// The losses of wires that lose packets each by itself and do nothing else: they need no port.
/// Nothing if the wires do more.
pub(super) fn plain_loss(wires: &[WireConfig; 2]) -> Option<Option<Loss>> {
    let probability = |wire: &WireConfig| match &wire.loss {
        Some(LossConfig::Bernoulli(Chance { probability, unit: Unit::Packet })) => {
            Some(*probability)
        }
        _ => None,
    };
    let found = [0, 1].map(|i| probability(&wires[i]));
    let plain = WireConfig::default();
    let alone = |i: usize| {
        let without = WireConfig { loss: None, ..wires[i].clone() };
        without == plain && found[i].is_some() == wires[i].loss.is_some()
    };
    if !alone(0) || !alone(1) {
        return None;
    }
    let loss = found[0].or(found[1]).map(|probability| Loss {
        probability,
        forward: found[0].is_some(),
        reverse: found[1].is_some(),
    });
    Some(loss)
}

/// Refuses what a link whose losses are replayed cannot have: packets draw when they enter the wire,
/// and in ns-3 when they leave it, which is the same order only if each takes equally long.
pub(super) fn refuse_disorder(
    link: &Table,
    wires: &[WireConfig; 2],
    schedule: &Schedule,
) -> Option<()> {
    let found = [
        ("reordering", wires.iter().any(|wire| wire.reordering.is_some())),
        ("jitter", wires.iter().any(|wire| wire.jitter.is_some())),
        ("change", schedule.changes.iter().any(|change| change.delay.is_some())),
    ];
    let replays = wires.iter().any(|wire| wire.replayed_loss().is_some());
    let Some((key, _)) = found.iter().find(|(_, is_found)| replays && *is_found) else {
        return Some(());
    };
    let message = "a link with replayed losses delays all packets equally; remove this or \
                   loss.replay";
    link.wrong(key, message)
}

/// What a check says of a link begins with the key.
pub(super) fn refuse(link: &Table, error: &str) {
    let (key, message) = error.split_once(": ").unwrap_or(("", error));
    link.refuse(key, message);
}

/// An impairment and the directions in which it is.
type Directed<T> = Option<(T, [bool; 2])>;

fn of_direction<T: Clone>(part: &Directed<T>, i: usize) -> Option<T> {
    part.as_ref().filter(|(_, directions)| directions[i]).map(|(value, _)| value.clone())
}

/// The impairment at a key, if it is written; nothing if it is wrong.
fn part<T>(
    link: &Table,
    name: &str,
    read: impl FnOnce(&Table) -> Option<T>,
) -> Option<Directed<T>> {
    let Some(table) = link.table(name) else {
        return (!link.has(name)).then_some(None);
    };
    // Keys of kinds that this version lacks are not unknown; the kind is.
    if table.knows("kind") {
        table.read_if_written::<Name>("kind")?;
    }
    table.refuse_unknown_keys();
    let value = read(&table)?;
    // The table of one direction has no such key.
    let direction =
        if table.knows("direction") { table.name_or("direction", "forward")? } else { "both" };
    Some(Some((value, [direction != "reverse", direction != "forward"])))
}

fn read_loss(table: &Table) -> Option<LossConfig> {
    let name = table.name_or("kind", "bernoulli")?;
    let kind = LOSS_KINDS.iter().find(|kind| kind.name == name)?;
    let mut foreign = kinds::foreign(LOSS_KINDS, kind, table);
    foreign.sort_unstable();
    for (key, owners) in &foreign {
        table.refuse(key, format!("belongs to kind = {owners}; remove it"));
    }
    if foreign.is_empty() { (kind.read)(table) } else { None }
}

fn read_unit(table: &Table) -> Option<Unit> {
    Some(match table.name_or("unit", "packet")? {
        "byte" => Unit::Byte,
        "bit" => Unit::Bit,
        _ => Unit::Packet,
    })
}

fn read_chance(table: &Table) -> Option<Chance> {
    Some(Chance { probability: table.require("probability")?, unit: read_unit(table)? })
}

fn read_bernoulli(table: &Table) -> Option<LossConfig> {
    // The table of one direction has none of these keys, and refuses them as unknown.
    let has = |key: &str| table.knows(key) && table.has(key);
    if has("replay") {
        return read_replay(table);
    }
    if let Some(key) = ["seed", "run", "stream"].into_iter().find(|key| has(key)) {
        return table.wrong(key, "belongs to replay = \"ns3\"; write that or remove this");
    }
    read_chance(table).map(LossConfig::Bernoulli)
}

fn read_replay(table: &Table) -> Option<LossConfig> {
    table.read::<Name>("replay")?;
    let probability = table.require("probability");
    if read_unit(table)? != Unit::Packet {
        let message = "a replay draws one number for each packet, whatever its size; remove unit";
        return table.wrong("unit", message);
    }
    let seed = table.read_or("seed", REPLAY_SEED)?;
    Some(LossConfig::Ns3(Ns3Loss {
        probability: probability?,
        seed: u32::try_from(seed).unwrap_or(u32::MAX),
        run: table.read_if_written("run")?,
        stream: table.read_or("stream", REPLAY_STREAM)?,
    }))
}

fn read_gilbert_elliott(table: &Table) -> Option<LossConfig> {
    Some(LossConfig::GilbertElliott(GilbertElliott {
        p: table.require("p")?,
        r: table.require("r")?,
        loss_in_bad: table.read_or("loss_in_bad", 1.0)?,
        loss_in_good: table.read_or("loss_in_good", 0.0)?,
    }))
}

/// Defaults are those of `tc` (iproute2 tc/q_netem.c, `loss state`).
fn read_four_state(table: &Table) -> Option<LossConfig> {
    let p13 = table.require("p13")?;
    Some(LossConfig::FourState(FourState {
        p13,
        p31: table.read_or("p31", 1.0 - p13)?,
        p32: table.read_or("p32", 0.0)?,
        p23: table.read_or("p23", 1.0)?,
        p14: table.read_or("p14", 0.0)?,
    }))
}

fn read_bursty(table: &Table) -> Option<LossConfig> {
    let bursts = LossBursts {
        loss: table.require("loss")?,
        length: table.require("burst")?,
        density: table.read_or("density", 1.0)?,
        isolated: table.read_or("isolated", 0.0)?,
        spared: table.read_or("spared", 1.0)?,
    };
    match bursts.transitions("") {
        Ok(model) => Some(LossConfig::FourState(model)),
        Err(error) => {
            let (key, message) = error.split_once(": ").unwrap_or(("", &error));
            let key = key.trim_start_matches('.').replace("length", "burst");
            table.wrong(&key, message)
        }
    }
}

fn read_counted(table: &Table) -> Option<Counted> {
    Some(if table.name_or("of", "data")? == "all" { Counted::All } else { Counted::Data })
}

fn read_list(table: &Table) -> Option<LossConfig> {
    let Counts(packets) = table.require("packets")?;
    Some(LossConfig::List(LossList { packets, of: read_counted(table)? }))
}

fn read_periodic(table: &Table) -> Option<LossConfig> {
    let every = read_period(table)?;
    let first = table.read_or("first", every)?;
    Some(LossConfig::Period(LossPeriod { every, first, of: read_counted(table)? }))
}

/// Packets from one loss to the next, written as such or as the share that is lost.
fn read_period(table: &Table) -> Option<u64> {
    if table.has("every") == table.has("probability") {
        let message = "expected every or probability; set one of them, such as every = 1000";
        return table.wrong("", message);
    }
    if table.has("every") {
        return table.read("every");
    }
    let share: f64 = table.read("probability")?;
    if share > 0.0 {
        // The cast saturates.
        return Some((1.0 / share).round() as u64);
    }
    table.wrong("probability", "expected more than 0, got 0; remove the loss for none")
}

fn read_burst(table: &Table) -> Option<LossConfig> {
    let length = table.require("length")?;
    let starts = match (table.has("probability"), table.has("at")) {
        (true, false) => Starts::Chance(table.read("probability")?),
        (false, true) => {
            let Times(times) = table.read("at")?;
            Starts::At(times.into_iter().map(|at| Time::ZERO + at).collect())
        }
        _ => {
            let message = "expected probability or at, which say when bursts begin; set one, such \
                           as probability = 0.001";
            return table.wrong("", message);
        }
    };
    Some(LossConfig::Burst(LossBurst { length, starts, of: read_counted(table)? }))
}

fn read_reordering(table: &Table) -> Option<Reordering> {
    let early = table.name_or("kind", "late")? == "early";
    let (probability, delay) = (table.require("probability")?, table.require("delay")?);
    if !early && table.has("gap") {
        return table.wrong("gap", "belongs to kind = \"early\"; remove it");
    }
    let gap: u64 = table.read_or("gap", 1)?;
    Some(if early {
        Reordering::Early { probability, gap: u32::try_from(gap).unwrap_or(u32::MAX), delay }
    } else {
        Reordering::Late { probability, delay }
    })
}

fn read_jitter(table: &Table) -> Option<Jitter> {
    let (mean, deviation): (Option<Duration>, _) =
        (table.require("mean"), table.require("deviation"));
    let distribution = match table.name_or("distribution", "uniform")? {
        "normal" => Distribution::Normal,
        "pareto" => Distribution::Pareto,
        "paretonormal" => Distribution::ParetoNormal,
        _ => Distribution::Uniform,
    };
    let keep_order = table.read_or("keep_order", true)?;
    Some(Jitter { mean: mean?, deviation: deviation?, distribution, keep_order })
}
