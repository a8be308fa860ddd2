//! The disciplines that the rules are tried on. A new one needs a line here.

use fairway_net::{
    AdaptiveRed, CeThreshold, CobaltConfig, CodelConfig, DelayFrom, DropHeadConfig, DropTailConfig,
    DrrConfig, DualPi2Config, DualScheduler, FqCodelConfig, FqPieConfig, Limit, LowLatencyMarks,
    PeakRate, PieConfig, PolicerConfig, QdiscConfig, RedConfig, RedQueueConfig, RouterOsRed,
    SfqConfig, ShaperQueue, StrictPriorityConfig, TokenBucketConfig, Waiting,
};
use fairway_units::{Bytes, Duration, Rate};

/// A discipline, and what it promises beyond what all do.
pub struct Entry {
    /// How failures call it.
    pub name: &'static str,
    /// Its parameters.
    pub config: QdiscConfig,
    /// Most that may wait.
    pub bound: Waiting,
    /// Whether it may keep packets back from a free line.
    pub shapes: bool,
}

const ANY_BYTES: u64 = u64::MAX;

fn entry(name: &'static str, config: QdiscConfig, packets: u64, bytes: u64) -> Entry {
    Entry { name, config, bound: Waiting { packets, bytes }, shapes: false }
}

/// Every discipline, most of them once as they come and once small and eager.
pub fn table() -> Vec<Entry> {
    let mut table = scheduling();
    table.extend(codel_like());
    table.extend(pie_like());
    table
}

fn codel_like() -> Vec<Entry> {
    let micros = Duration::from_micros;
    let eager = CodelConfig {
        target: micros(500),
        interval: micros(2000),
        limit_packets: 20,
        ecn: true,
        mtu_bytes: 100,
        ..CodelConfig::default()
    };
    let ce_threshold = Some(CeThreshold { delay: micros(100), only_ect1: true });
    let fq_eager = FqCodelConfig {
        codel: CodelConfig { ce_threshold, exact_root: true, ..eager.clone() },
        flows: 7,
        quantum_bytes: 300,
        memory_limit_bytes: 30_000,
        drop_batch_packets: 3,
    };
    let cobalt_eager = CobaltConfig {
        target: micros(500),
        interval: micros(2000),
        limit_packets: 20,
        blue_increment: 0.1,
        ..CobaltConfig::default()
    };
    vec![
        entry("codel", QdiscConfig::Codel(CodelConfig::default()), 1000, ANY_BYTES),
        entry("codel, eager", QdiscConfig::Codel(eager), 20, ANY_BYTES),
        entry("fq_codel", QdiscConfig::FqCodel(FqCodelConfig::default()), 10_240, ANY_BYTES),
        entry("fq_codel, eager", QdiscConfig::FqCodel(fq_eager), 20, 30_000),
        entry("cobalt", QdiscConfig::Cobalt(CobaltConfig::default()), 10_240, ANY_BYTES),
        entry("cobalt, eager", QdiscConfig::Cobalt(cobalt_eager), 20, ANY_BYTES),
    ]
}

fn pie_like() -> Vec<Entry> {
    let micros = Duration::from_micros;
    let eager = PieConfig {
        target: micros(500),
        update_interval: micros(1000),
        limit_packets: 30,
        alpha_sixteenths: 2000,
        beta_sixteenths: 20_000,
        burst_allowance: micros(1000),
        ecn: true,
        ecn_up_to_percent: 50,
        byte_mode: true,
        mtu_bytes: 100,
        bounded: true,
        ..PieConfig::default()
    };
    let by_rate =
        PieConfig { delay_from: DelayFrom::DepartureRate, bounded: false, ..eager.clone() };
    let fq_eager = FqPieConfig { pie: eager.clone(), flows: 7, quantum_bytes: 300 };
    let dual_eager = DualPi2Config {
        target: micros(500),
        update_interval: micros(1000),
        alpha_hz: 20.0,
        beta_hz: 200.0,
        limit_packets: 30,
        low_latency_marks: LowLatencyMarks::Ramp { from: micros(100), range: micros(200) },
        scheduler: DualScheduler::TimeShifted { shift: micros(1000) },
        drop_early: true,
        any_ect: true,
        mtu_bytes: 100,
        ..DualPi2Config::default()
    };
    vec![
        entry("pie", QdiscConfig::Pie(PieConfig::default()), 1000, ANY_BYTES),
        entry("pie, eager", QdiscConfig::Pie(eager), 30, ANY_BYTES),
        entry("pie, by rate", QdiscConfig::Pie(by_rate), 30, ANY_BYTES),
        entry("fq_pie", QdiscConfig::FqPie(FqPieConfig::default()), 10_240, ANY_BYTES),
        entry("fq_pie, eager", QdiscConfig::FqPie(fq_eager), 30, ANY_BYTES),
        entry("dualpi2", QdiscConfig::DualPi2(DualPi2Config::default()), 10_000, ANY_BYTES),
        entry("dualpi2, eager", QdiscConfig::DualPi2(dual_eager), 30, ANY_BYTES),
    ]
}

/// FIFOs, RED, schedulers and shapers.
fn scheduling() -> Vec<Entry> {
    let drop_tail = |limit| QdiscConfig::DropTail(DropTailConfig { limit });
    let drop_head = |limit| QdiscConfig::DropHead(DropHeadConfig { limit });
    let red = |red| QdiscConfig::Red(RedQueueConfig { limit: Limit::Packets(30), red });
    let eager = RedConfig { weight: 0.2, by_size: true, ..RedConfig::default() };
    let (router_limit, router) = RouterOsRed::default().to_red(Rate::from_bps(10_000_000)).unwrap();
    let router = RedQueueConfig { limit: router_limit, red: router };
    let sfq = SfqConfig {
        limit_packets: 20,
        depth_packets: 5,
        flows: 4,
        divisor: 8,
        quantum: Bytes::new(300),
        perturb: Some(Duration::from_millis(5)),
        head_drop: true,
    };
    let drr = DrrConfig { quantum: Bytes::new(1514), flow_limit_packets: 3 };
    let shaper = TokenBucketConfig {
        rate: Rate::from_bps(10_000_000),
        burst: Bytes::new(3000),
        peak: Some(PeakRate { rate: Rate::from_bps(50_000_000), mtu: Bytes::new(1400) }),
        queue: ShaperQueue::Bytes(Bytes::new(20_000)),
    };
    let shaped_red = TokenBucketConfig {
        peak: None,
        queue: ShaperQueue::Discipline(Box::new(red(eager.clone()))),
        ..shaper.clone()
    };
    let policer = PolicerConfig {
        rate: shaper.rate,
        burst: shaper.burst,
        peak: shaper.peak.clone(),
        queue: Box::new(drop_tail(Limit::Packets(10))),
    };
    let priority = StrictPriorityConfig {
        bands: vec![
            QdiscConfig::TokenBucket(shaper.clone()),
            QdiscConfig::Sfq(sfq.clone()),
            drop_tail(Limit::Packets(10)),
        ],
        ..StrictPriorityConfig::default()
    };
    let any = u64::MAX;
    let shapes = |entry: Entry| Entry { shapes: true, ..entry };
    vec![
        entry("drop-tail", drop_tail(Limit::Packets(20)), 20, ANY_BYTES),
        entry("drop-tail, bytes", drop_tail(Limit::Bytes(20_000)), any, 20_000),
        entry("drop-tail, unlimited", drop_tail(Limit::Unlimited), any, ANY_BYTES),
        entry("drop-head", drop_head(Limit::Packets(20)), 20, ANY_BYTES),
        entry("drop-head, bytes", drop_head(Limit::Bytes(20_000)), any, 20_000),
        entry("red", red(RedConfig::default()), 30, ANY_BYTES),
        entry(
            "red, adaptive, marks",
            red(RedConfig {
                adaptive: Some(AdaptiveRed::default()),
                ecn: true,
                ecn_beyond_max: true,
                ..eager
            }),
            30,
            ANY_BYTES,
        ),
        entry("red of a MikroTik router", QdiscConfig::Red(router), any, 60_000),
        entry("sfq", QdiscConfig::Sfq(SfqConfig::default()), 127, ANY_BYTES),
        entry("sfq, small", QdiscConfig::Sfq(sfq), 20, ANY_BYTES),
        entry("drr", QdiscConfig::Drr(DrrConfig::default()), 24_000, ANY_BYTES),
        entry("drr, small", QdiscConfig::Drr(drr), 3 * 24, ANY_BYTES),
        entry("policer", QdiscConfig::Policer(policer), 10, ANY_BYTES),
        shapes(entry("token bucket", QdiscConfig::TokenBucket(shaper), any, 20_000)),
        shapes(entry("token bucket, red", QdiscConfig::TokenBucket(shaped_red), 31, ANY_BYTES)),
        shapes(entry("priority", QdiscConfig::StrictPriority(priority), any, ANY_BYTES)),
    ]
}
