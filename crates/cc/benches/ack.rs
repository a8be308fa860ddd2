//! What an acknowledgement costs each algorithm, in nanoseconds: the cheapest of several runs, on
//! a window of about a hundred segments that now and then loses one.
//!
//!     cargo bench -p fairway-cc

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::Instant;

use fairway_cc::probe::{MSS, Probe, Start};
use fairway_cc::{Ack, RateSample, Signal, Timestamps, Variant, algorithms};
use fairway_units::{Duration, Time};

const ACKS: u32 = 200_000;
const RUNS: u32 = 7;
/// Acknowledgements between two losses, a round of marks, and a change of the round-trip time.
const EPISODE: u32 = 5_000;

fn main() {
    println!("{:24} {:>14}  (ns, least of {RUNS} runs of {ACKS})", "algorithm", "per ACK");
    for algorithm in algorithms() {
        for variant in algorithm.variants {
            let cost = (0..RUNS).map(|_| run(algorithm.name, *variant)).fold(f64::MAX, f64::min);
            println!("{:12} {:12} {cost:13.1}", algorithm.name, variant.name());
        }
    }
}

/// Nanoseconds per acknowledgement.
fn run(name: &str, variant: Variant) -> f64 {
    let mut probe = Probe::new(name, variant, &Start::avoidance(100, 50));
    let needs = probe.cc.needs();
    let rtt = Duration::from_millis(50);
    let (mut now, mut una) = (Time::from_nanos(5_000_000_000), 0u64);
    let mut flow = probe.flow();
    let started = Instant::now();
    for i in 0..ACKS {
        now = now + Duration::from_micros(500);
        una += u64::from(MSS);
        flow.now = now;
        flow.snd_una = una;
        flow.delivered = una;
        flow.snd_nxt = una + 100 * u64::from(MSS);
        let jitter = Duration::from_micros(u64::from(i.wrapping_mul(2_654_435_761) >> 22));
        let ack = Ack {
            acked: u64::from(MSS),
            delivered: u64::from(MSS),
            ce: if needs.ecn.is_accurate() && i % 7 == 0 { u64::from(MSS) } else { 0 },
            rtt: Some(rtt + jitter),
            one_way_delay_ms: Some(25 + (i % 3)),
            timestamps: Some(Timestamps {
                value: now.as_millis() as u32,
                echo: now.as_millis() as u32 - 25,
            }),
            rate: needs.rate_samples.then_some(RateSample {
                delivered: 100 * u64::from(MSS),
                interval: rtt + jitter,
                prior_delivered: una.saturating_sub(100 * u64::from(MSS)),
                sent_at: Time::from_nanos(now.as_nanos() - rtt.as_nanos()),
                prior_in_flight: 100 * u64::from(MSS),
                lost: 0,
                app_limited: false,
            }),
            may_raise: true,
            may_grow: true,
            ..Ack::default()
        };
        probe.cc.on_ack(&ack, &flow);
        if i % EPISODE == EPISODE - 1 {
            probe.cc.on_congestion(Signal::Loss, &flow);
            let cwnd = probe.cc.cwnd();
            probe.cc.on_recovered(cwnd, &flow);
        }
    }
    started.elapsed().as_nanos() as f64 / f64::from(ACKS)
}
