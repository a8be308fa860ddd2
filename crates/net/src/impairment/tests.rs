//! Tests of the wire as a whole.

use super::*;

const MS: Duration = Duration::from_millis(1);

fn wire(config: &WireConfig) -> Wire {
    config.check().unwrap();
    assert!(!config.is_clear());
    Wire::new(config, 1, "wire")
}

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn bernoulli(probability: f64) -> Option<LossConfig> {
    Some(LossConfig::Bernoulli(Chance { probability, unit: Unit::Packet }))
}

#[test]
fn loss_by_packet_uses_the_numbers_of_the_stream_named_loss() {
    // As links have always done it: one number for each packet, lost if it is below.
    let mut wire = wire(&WireConfig { loss: bernoulli(0.3), ..WireConfig::default() });
    let mut stream = Stream::new(1, "wire/loss");
    for i in 0..10_000 {
        let fate = wire.pass(1500, i % 2 == 0, at(i));
        assert_eq!(fate.packet.is_none(), stream.unit() < 0.3);
    }
}

#[test]
fn what_else_a_wire_does_changes_no_losses() {
    let lost = |config: &WireConfig| {
        let mut wire = wire(config);
        let lost = (0..1000).filter(|i| wire.pass(1500, true, at(*i)).packet.is_none());
        lost.collect::<Vec<_>>()
    };
    let plain = WireConfig { loss: bernoulli(0.2), ..WireConfig::default() };
    let jitter =
        Jitter { mean: MS, deviation: MS, distribution: Distribution::Normal, keep_order: true };
    let all = WireConfig {
        corruption: Some(Chance { probability: 0.1, unit: Unit::Packet }),
        duplication: 0.1,
        reordering: Some(Reordering::Late { probability: 0.1, delay: MS }),
        jitter: Some(jitter),
        ..plain.clone()
    };
    assert_eq!(lost(&plain), lost(&all));
}

#[test]
fn packets_without_data_are_not_counted_unless_asked() {
    let list = |of| Some(LossConfig::List(LossList { packets: vec![2, 3], of }));
    let lost = |of| {
        let mut wire = wire(&WireConfig { loss: list(of), ..WireConfig::default() });
        // Every other packet carries data: 0, 2, 4 …
        let lost = (0..10).filter(|i| wire.pass(1500, i % 2 == 0, at(*i)).packet.is_none());
        lost.collect::<Vec<_>>()
    };
    assert_eq!(lost(Counted::Data), [2, 4]);
    assert_eq!(lost(Counted::All), [1, 2]);
}

#[test]
fn losses_replayed_from_ns3_count_every_packet_of_both_directions() {
    let loss = Ns3Loss { probability: 0.15, seed: 1, run: None, stream: 50 };
    let config = WireConfig { loss: Some(LossConfig::Ns3(loss)), ..WireConfig::default() };
    let (mut there, mut back) = (wire(&config), wire(&config));
    let draws = loss.draws(1);
    there.share(&draws);
    back.share(&draws);
    // Of the first ten draws of ns-3 with this seed, run and stream, those below 0.15: 0.129, 0.021
    // and 0.133 are the numbers 1, 6 and 8.
    let mut lost = Vec::new();
    for number in 1..=10 {
        let wire = if number % 3 == 0 { &mut back } else { &mut there };
        if wire.pass(1494, number % 2 == 0, at(number)).packet.is_none() {
            lost.push(number);
        }
    }
    assert_eq!(lost, [1, 6, 8]);
    // By itself, a wire draws from the beginning.
    assert!(wire(&config).pass(54, false, at(0)).packet.is_none());
    assert_eq!(
        LossConfig::Ns3(Ns3Loss { seed: 0, ..loss }).check("loss").unwrap_err(),
        "loss.seed: expected 1 to 4294944442, as in ns-3, got 0"
    );
}

#[test]
fn damaged_and_doubled_packets_are_as_many_as_said() {
    let mut wire = wire(&WireConfig {
        corruption: Some(Chance { probability: 0.05, unit: Unit::Packet }),
        duplication: 0.1,
        ..WireConfig::default()
    });
    let (mut corrupted, mut copies) = (0u32, 0u32);
    let n = 100_000u32;
    for i in 0..n {
        let fate = wire.pass(1500, true, at(u64::from(i)));
        let first = fate.packet.unwrap();
        assert_eq!(first.extra, Duration::ZERO);
        corrupted += u32::from(first.corrupted);
        copies += u32::from(fate.copy.is_some());
    }
    // ± 4·√(0.0475/10⁵) and ± 4·√(0.09/10⁵).
    assert!((f64::from(corrupted) / f64::from(n) - 0.05).abs() < 0.0028);
    assert!((f64::from(copies) / f64::from(n) - 0.1).abs() < 0.0038);
}

/// Arrivals behind a wire, a packet and perhaps its copy every 100 µs.
fn arrivals(config: &WireConfig) -> Vec<Time> {
    let mut wire = wire(config);
    let fates = (0..20_000).map(|i| (at(100 * i), wire.pass(1500, true, at(100 * i))));
    fates
        .flat_map(|(at, fate)| {
            [fate.packet, fate.copy].into_iter().flatten().map(move |p| at + p.extra)
        })
        .collect()
}

#[test]
fn order_is_kept_where_promised() {
    use Distribution::{Normal, Pareto, ParetoNormal, Uniform};
    for distribution in [Uniform, Normal, Pareto, ParetoNormal] {
        for keep_order in [true, false] {
            let jitter = Jitter { mean: MS * 5, deviation: MS * 2, distribution, keep_order };
            let config =
                WireConfig { duplication: 0.1, jitter: Some(jitter), ..WireConfig::default() };
            assert_eq!(config.keeps_order(), keep_order);
            assert_eq!(arrivals(&config).is_sorted(), keep_order, "{distribution:?}");
        }
    }
    let loss_only = WireConfig { loss: bernoulli(0.1), ..WireConfig::default() };
    assert!(loss_only.keeps_order() && arrivals(&loss_only).is_sorted());
}

#[test]
fn who_waits_for_others_is_not_earlier_than_jitter_alone_lets_it() {
    let jitter = Jitter {
        mean: MS * 5,
        deviation: MS * 5,
        distribution: Distribution::Uniform,
        keep_order: true,
    };
    let with = arrivals(&WireConfig { jitter: Some(jitter), ..WireConfig::default() });
    let free = Jitter { keep_order: false, ..jitter };
    let without = arrivals(&WireConfig { jitter: Some(free), ..WireConfig::default() });
    // The same numbers are drawn; a packet waits until the latest before it, and no longer.
    let mut latest = Time::ZERO;
    for (with, without) in with.iter().zip(&without) {
        latest = latest.max(*without);
        assert_eq!(*with, latest);
    }
}

#[test]
fn late_packets_are_overtaken_and_early_ones_overtake() {
    let late = Reordering::Late { probability: 0.01, delay: MS };
    let config = WireConfig { reordering: Some(late), ..WireConfig::default() };
    assert!(!config.keeps_order());
    let mut wire = wire(&config);
    let extras: Vec<Duration> =
        (0..1000).map(|i| wire.pass(1500, true, at(i)).packet.unwrap().extra).collect();
    assert!(extras.iter().all(|extra| *extra == MS || *extra == Duration::ZERO));
    assert!(extras.contains(&MS));

    let jitter =
        Jitter { mean: MS, deviation: MS, distribution: Distribution::Uniform, keep_order: true };
    let early = Reordering::Early { probability: 1.0, gap: 3, delay: MS * 10 };
    let config =
        WireConfig { reordering: Some(early), jitter: Some(jitter), ..WireConfig::default() };
    let mut wire = Wire::new(&config, 1, "wire");
    let extras: Vec<Duration> =
        (0..9).map(|i| wire.pass(1500, true, at(i)).packet.unwrap().extra).collect();
    for (i, extra) in extras.iter().enumerate() {
        // Every third overtakes, without jitter.
        assert!(
            if i % 3 == 2 { *extra == Duration::ZERO } else { *extra >= MS * 10 },
            "{extras:?}"
        );
    }
}

#[test]
fn errors_name_the_key() {
    let config = WireConfig { duplication: 2.0, ..WireConfig::default() };
    assert!(config.check().unwrap_err().starts_with("duplication.probability: expected"));
    let early = Reordering::Early { probability: 0.5, gap: 0, delay: MS };
    let config = WireConfig { reordering: Some(early), ..WireConfig::default() };
    assert!(config.check().unwrap_err().starts_with("reordering.gap:"));
}
