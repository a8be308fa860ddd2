//! What a capture says of a sender's window and retransmissions, against what the sender did.

mod path;

use fairway_analysis::report::DirectionReport;
use fairway_analysis::window::{EpisodeKind, LimitedBy, LossReport, Phase as Estimated, Position};
use fairway_cc::Phase;
use fairway_units::{Duration, Time};

use path::{Dice, Fate, Outcome, Path, Truth, transfer};

const ENDLESS: u64 = 1 << 40;

/// 10 Mbit/s, 50 ms there and back, and a buffer of about their product, 42 packets.
fn narrow(fate: impl FnMut(u64, Time) -> Fate + 'static) -> Path {
    Path {
        rate_bps: 10_000_000,
        one_way: Duration::from_millis(25),
        queue_packets: 42,
        fate: Box::new(fate),
    }
}

fn losing(seed: u64, probability: f64) -> Path {
    let mut dice = Dice(seed);
    narrow(move |_, _| if dice.falls(probability) { Fate::Lose } else { Fate::Pass })
}

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

fn losses(report: &DirectionReport) -> &LossReport {
    &report.window.as_ref().expect("data").losses
}

/// Retransmissions by what sent them: acknowledgements, the timer, slow start after it, the probe.
fn counts(report: &DirectionReport) -> [u64; 4] {
    let causes = losses(report).causes;
    let by_acks = causes.fast + causes.partial_ack + causes.sack;
    [by_acks, causes.timeout, causes.after_timeout, causes.tail_loss_probe]
}

fn true_counts(truth: &Truth) -> [u64; 4] {
    [truth.recovery, truth.timeout, truth.after_timeout, truth.probe]
}

/// How well the estimate follows the window: mean of the relative difference, part of the samples
/// within a segment, and part of them with the right phase.
fn closeness(outcome: &Outcome) -> [f64; 3] {
    let series = &outcome.sender.window.as_ref().expect("data").series;
    let (mut count, mut apart, mut close, mut right) = (0.0, 0.0, 0.0, 0.0);
    for sample in &outcome.truth.samples {
        let index = series.t_s.partition_point(|t_s| *t_s <= sample.t_s);
        let Some(index) = index.checked_sub(1) else { continue };
        let Some(cwnd) = series.cwnd_bytes[index] else { continue };
        let phase = match sample.phase {
            Phase::Recovery => Estimated::Recovery,
            Phase::Loss => Estimated::SlowStart,
            _ if sample.is_slow_start => Estimated::SlowStart,
            _ => Estimated::CongestionAvoidance,
        };
        count += 1.0;
        let difference = cwnd.abs_diff(sample.cwnd_bytes);
        apart += difference as f64 / sample.cwnd_bytes as f64;
        close += f64::from(u8::from(difference <= outcome.mss));
        right += f64::from(u8::from(phase == series.phase[index]));
    }
    [apart / count, close / count, right / count]
}

const ALGORITHMS: [&str; 4] = ["cubic", "reno", "vegas", "htcp"];

#[test]
fn causes_are_those_of_the_sender() {
    for preset in ["linux-6.1", "rfc9438", "rfc5681", "ns3-3.29", "ns2-sack1"] {
        for cc in ALGORITHMS {
            for probability in [0.0, 0.001, 0.01] {
                let outcome = transfer(preset, cc, ENDLESS, seconds(20), losing(7, probability));
                let (counts, truth) = (counts(&outcome.sender), true_counts(&outcome.truth));
                assert_eq!(counts, truth, "{preset} {cc} {probability}");
                assert_eq!(losses(&outcome.sender).causes.unknown, 0, "{preset} {cc}");
            }
        }
    }
}

#[test]
fn causes_without_sack_are_those_of_the_sender() {
    for (cc, probability) in [("reno", 0.001), ("reno", 0.05), ("vegas", 0.05), ("htcp", 0.0)] {
        let path = losing(7, probability);
        let outcome = transfer("full-tcp", cc, ENDLESS, seconds(30), path);
        assert_eq!(counts(&outcome.sender), true_counts(&outcome.truth), "{cc} {probability}");
    }
}

#[test]
fn tails_of_short_transfers_are_probed_and_timed_out() {
    // Of nearly a thousand retransmissions no more than a handful may be told wrongly: with one
    // segment outstanding a probe and a timeout look the same.
    let (mut all, mut probes, mut timeouts, mut wrong) = (0, 0, 0, 0);
    for seed in 0..200 {
        let outcome = transfer("linux-6.1", "cubic", 40_000, seconds(60), losing(seed, 0.15));
        let (counts, truth) = (counts(&outcome.sender), true_counts(&outcome.truth));
        wrong += counts.iter().zip(&truth).map(|(a, b)| a.abs_diff(*b)).sum::<u64>() / 2;
        all += truth.iter().sum::<u64>();
        (timeouts, probes) = (timeouts + truth[1], probes + truth[3]);
    }
    assert!(all > 900 && timeouts > 30 && probes >= 10, "{all} {timeouts} {probes}");
    assert!(wrong <= 3, "{wrong} of {all}");
}

#[test]
fn a_delay_that_jumps_makes_a_timeout_for_nothing() {
    // Everything that leaves between 5.0 and 5.4 s is a second late, and nothing is lost.
    let (from, until) = (Time::from_nanos(5_000_000_000), Time::from_nanos(5_400_000_000));
    let path = narrow(move |_, now| match now {
        now if now >= from && now < until => Fate::Delay(Duration::from_secs(1)),
        _ => Fate::Pass,
    });
    let outcome = transfer("linux-6.1", "reno", ENDLESS, seconds(12), path);
    assert_eq!(counts(&outcome.sender), true_counts(&outcome.truth));
    let losses = losses(&outcome.sender);
    let [episode] = losses
        .episodes
        .iter()
        .filter(|episode| episode.kind == EpisodeKind::Timeout)
        .collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", losses.episodes)
    };
    assert!(episode.is_spurious && episode.begin_s > 5.0 && episode.begin_s < 6.0, "{episode:?}");
    // All that was sent again had arrived, and the receiver reports it (RFC 2883).
    assert_eq!(losses.spurious.segments, episode.retransmitted_segments);
}

#[test]
fn the_estimate_follows_the_window() {
    // Mean difference from the true window over four algorithms at most, and part of the time
    // with the right phase at least; where a window is a handful of segments, one is a lot.
    for (preset, probability, apart, right) in [
        ("linux-6.1", 0.0, 0.01, 0.98),
        ("linux-6.1", 0.001, 0.01, 0.98),
        ("linux-6.1", 0.01, 0.03, 0.97),
        ("linux-6.1", 0.05, 0.06, 0.97),
        ("rfc9438", 0.001, 0.01, 0.98),
        ("rfc5681", 0.001, 0.02, 0.97),
        ("ns2-sack1", 0.001, 0.02, 0.97),
    ] {
        let mut sum = [0.0; 3];
        for cc in ALGORITHMS {
            let outcome = transfer(preset, cc, ENDLESS, seconds(30), losing(7, probability));
            for (sum, part) in sum.iter_mut().zip(closeness(&outcome)) {
                *sum += part / ALGORITHMS.len() as f64;
            }
        }
        let what = format!("{preset} {probability}: {sum:?}");
        assert!(sum[0] < apart && sum[1] > 0.95 && sum[2] > right, "{what}");
    }
}

#[test]
fn the_receiver_sees_the_same_losses() {
    // What was dropped before the receiver it sees only when it comes again: everything but
    // retransmissions that were lost as well.
    for cc in ALGORITHMS {
        let outcome = transfer("linux-6.1", cc, ENDLESS, seconds(20), losing(7, 0.001));
        let [seen, sent] = [&outcome.receiver, &outcome.sender].map(|report| counts(report)[0]);
        assert!(seen <= sent && seen + 3 >= sent, "{cc}: {seen} of {sent}");
        let window = outcome.receiver.window.as_ref().expect("data");
        assert_eq!(window.vantage.position, Position::Receiver);
        assert_eq!(window.losses.reordered_before_capture, 0);
        assert_eq!(window.limit, Some(LimitedBy::CongestionWindow));
    }
}
