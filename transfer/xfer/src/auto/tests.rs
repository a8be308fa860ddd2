//! Choosers on paths that are a few formulas.

use fairway_units::random::Stream;

use super::*;

/// A path by its limits: nothing of a real one but where they are.
#[derive(Clone, Copy)]
struct Fake {
    capacity_bps: f64,
    rtt_s: f64,
    /// Longest wait in its queue.
    buffer_s: f64,
    /// What each stream carries at most, by its window or by random losses.
    stream_bps: f64,
    window_limited: bool,
    loss: f64,
    /// Connections of others that take what they can get.
    others: f64,
    /// Share by which goodput differs between intervals.
    noise: f64,
}

const PATH: Fake = Fake {
    capacity_bps: 100e6,
    rtt_s: 0.05,
    buffer_s: 0.05,
    stream_bps: f64::INFINITY,
    window_limited: false,
    loss: 0.0,
    others: 0.0,
    noise: 0.02,
};

impl Fake {
    fn goodput_bps(&self, streams: u32) -> f64 {
        let n = f64::from(streams);
        f64::min(n * self.stream_bps, self.capacity_bps * n / (n + self.others))
    }

    fn interval(&self, streams: u32, end_s: f64, length_s: f64, random: &mut Stream) -> Interval {
        let n = f64::from(streams);
        let alone_full = n * self.stream_bps >= self.capacity_bps;
        let full = alone_full || self.others > 0.0;
        let queue_s = if full { 0.7 * self.buffer_s } else { 0.0 };
        let least_s = if self.others > 0.0 { 0.4 * self.buffer_s } else { 0.0 };
        let packets = self.capacity_bps / 12_000.0 * (self.rtt_s + self.buffer_s);
        let congestive = 1.5 * (n + self.others) * (n + self.others) / (packets * packets);
        let is_congested = full && !(self.window_limited && self.others == 0.0);
        let loss = self.loss + if is_congested { congestive } else { 0.0 };
        let goodput_bps =
            self.goodput_bps(streams) * (1.0 + self.noise * (2.0 * random.unit() - 1.0));
        let segments = (goodput_bps * length_s / 12_000.0) as u64;
        Interval {
            end_s,
            length_s,
            streams,
            goodput_bps,
            segments,
            retransmitted_segments: (loss * segments as f64 + 0.5) as u64,
            srtt_s: self.rtt_s + queue_s,
            min_rtt_s: self.rtt_s + least_s,
            cwnd_segments: goodput_bps / n / 12_000.0 * self.rtt_s,
            mss_bytes: 1448,
            rwnd_limited: if self.window_limited && !full { 0.99 } else { 0.0 },
            sndbuf_limited: 0.0,
            application_limited: 0.0,
            delivery_bps: goodput_bps,
        }
    }
}

/// A transfer that does what its chooser says at once.
struct Transfer {
    chooser: Chooser,
    random: Stream,
    now_s: f64,
    log: Vec<String>,
    most_used: u32,
}

impl Transfer {
    fn new(cc: &str, seed: u64) -> Self {
        Transfer::of(Settings { cc: cc.to_owned(), first: 1, most: 128 }, seed)
    }

    fn of(settings: Settings, seed: u64) -> Self {
        Transfer {
            chooser: Chooser::new(&settings),
            random: Stream::new(seed, "noise"),
            now_s: 0.0,
            log: Vec::new(),
            most_used: settings.first,
        }
    }

    fn run(&mut self, path: &Fake, seconds: f64) -> u32 {
        let until_s = self.now_s + seconds;
        while self.now_s < until_s {
            self.now_s += 0.25;
            let streams = self.chooser.wanted();
            let interval = path.interval(streams, self.now_s, 0.25, &mut self.random);
            let answer = self.chooser.observe(&interval);
            assert_eq!(answer.why.is_none(), answer.change == Change::Stay);
            match answer.change {
                Change::Stay | Change::Settled => assert_eq!(self.chooser.wanted(), streams),
                Change::Add(more) => assert_eq!(self.chooser.wanted(), streams + more),
                Change::Remove(less) => assert_eq!(self.chooser.wanted(), streams - less),
            }
            self.log.extend(answer.why);
            self.most_used = self.most_used.max(self.chooser.wanted());
        }
        self.chooser.wanted()
    }
}

/// Settles with at least 0.9 of what the best number carries, whatever the noise; returns the numbers.
fn settles(path: Fake, cc: &str) -> Vec<u32> {
    let best = (1..=128).map(|n| path.goodput_bps(n)).fold(0.0, f64::max);
    let settle = |seed| {
        let mut transfer = Transfer::new(cc, seed);
        let number = transfer.run(&path, 200.0);
        assert!(transfer.chooser.is_settled(), "{:#?}", transfer.log);
        assert!(path.goodput_bps(number) >= 0.9 * best, "{number}: {:#?}", transfer.log);
        number
    };
    (0..20).map(settle).collect()
}

#[test]
fn windows_of_64_kib_on_a_long_path() {
    // 524,288 bits in 200 ms are 2.62 Mbit/s: 4 streams fill 10 Mbit/s, by the model's 0.95 too.
    let path = Fake {
        capacity_bps: 10e6,
        rtt_s: 0.2,
        buffer_s: 0.24,
        stream_bps: 2.62e6,
        window_limited: true,
        ..PATH
    };
    assert!(settles(path, "cubic").iter().all(|number| *number == 4));
    // 10 of 1.05 Mbit/s: doubling goes 8, 16, and the model from 16 to 10.
    let narrow = Fake { stream_bps: 1.05e6, ..path };
    let found = settles(narrow, "cubic");
    assert!(found.iter().all(|number| (9..=10).contains(number)), "{found:?}");
}

#[test]
fn random_losses_on_a_path_that_is_not_full() {
    // Six streams fill it.
    let path = Fake { capacity_bps: 50e6, rtt_s: 0.06, stream_bps: 9e6, loss: 0.005, ..PATH };
    for number in settles(path, "cubic") {
        assert!((5..=8).contains(&number), "{number}");
    }
}

#[test]
fn one_is_enough_on_a_clean_short_path() {
    let path = Fake { rtt_s: 0.005, buffer_s: 0.005, ..PATH };
    assert!(settles(path, "cubic").iter().all(|number| *number == 1));
}

#[test]
fn a_full_path_is_shared_fairly() {
    for others in [1.0, 4.0, 10.0] {
        let path = Fake { others, ..PATH };
        for seed in 0..20 {
            let mut transfer = Transfer::new("cubic", seed);
            let number = transfer.run(&path, 200.0);
            assert_eq!(number, 1, "{others} others: {:#?}", transfer.log);
            assert!(transfer.chooser.is_settled());
            assert_eq!(transfer.most_used, 1, "the queue tells it at once");
        }
    }
}

#[test]
fn a_full_path_without_a_visible_queue_is_shared_fairly() {
    // So shallow a buffer that no delay tells of it: losses that rise with the streams do.
    let path = Fake { others: 4.0, buffer_s: 0.001, capacity_bps: 50e6, rtt_s: 0.03, ..PATH };
    let mut transfer = Transfer::new("cubic", 1);
    assert_eq!(transfer.run(&path, 200.0), 1, "{:#?}", transfer.log);
}

#[test]
fn a_path_that_changes_is_looked_at_again() {
    let long = Fake {
        capacity_bps: 10e6,
        rtt_s: 0.2,
        buffer_s: 0.24,
        stream_bps: 2.62e6,
        window_limited: true,
        ..PATH
    };
    let mut transfer = Transfer::new("cubic", 3);
    assert_eq!(transfer.run(&long, 200.0), 4);
    let decisions = transfer.log.len();
    assert_eq!(transfer.run(&long, 60.0), 4);
    assert_eq!(transfer.log.len(), decisions, "nothing has changed: {:#?}", transfer.log);
    // Another way, ten times as fast: 38 streams of 2.62 Mbit/s.
    let fast = Fake { capacity_bps: 100e6, ..long };
    assert_eq!(transfer.run(&fast, 10.0), 4, "four carry as much on it, which is no change");
    // A short way: one stream of 64 KiB carries 26.2 Mbit/s in 20 ms, and so all of it.
    let short =
        Fake { rtt_s: 0.02, buffer_s: 0.05, stream_bps: 26.2e6, capacity_bps: 20e6, ..long };
    assert_eq!(transfer.run(&short, 300.0), 1, "{:#?}", transfer.log);
}

#[test]
fn nothing_is_tried_where_there_is_nothing_to_send() {
    let mut transfer = Transfer::new("cubic", 1);
    for step in 1..400 {
        let idle = Interval {
            application_limited: 1.0,
            ..PATH.interval(1, f64::from(step) * 0.25, 0.25, &mut transfer.random)
        };
        let answer = transfer.chooser.observe(&idle);
        assert!(matches!(answer.change, Change::Stay | Change::Settled), "{answer:?}");
    }
    assert!(transfer.chooser.is_settled());
}

#[test]
fn it_waits_for_the_streams_that_it_asked_for() {
    let mut chooser = Chooser::new(&Settings { cc: "cubic".into(), first: 4, most: 8 });
    let mut random = Stream::new(1, "noise");
    for step in 1..400 {
        let interval = PATH.interval(3, f64::from(step) * 0.25, 0.25, &mut random);
        assert_eq!(chooser.observe(&interval).change, Change::Stay);
    }
}

#[test]
fn there_are_never_more_than_allowed() {
    let settings = Settings { cc: "cubic".into(), first: 1, most: 5 };
    let path = Fake { stream_bps: 1e6, window_limited: true, ..PATH };
    let mut transfer = Transfer::of(settings, 1);
    assert_eq!(transfer.run(&path, 200.0), 5, "{:#?}", transfer.log);
    assert_eq!(transfer.most_used, 5);
    assert!(transfer.log.last().is_some_and(|line| line.contains("there may be no more than 5")));
    // The other end takes two.
    let answer = transfer.chooser.bound(2);
    assert_eq!(answer.change, Change::Remove(3));
    assert_eq!((transfer.chooser.wanted(), transfer.chooser.is_settled()), (2, true));
}

#[test]
fn reasons_are_words() {
    let path = Fake {
        capacity_bps: 10e6,
        rtt_s: 0.2,
        buffer_s: 0.24,
        stream_bps: 1.05e6,
        window_limited: true,
        noise: 0.0,
        ..PATH
    };
    let mut transfer = Transfer::new("cubic", 1);
    transfer.run(&path, 200.0);
    assert_eq!(
        transfer.log,
        [
            "1 stream carries 1.05 Mbit/s; their windows hold them back: trying 2",
            "2 streams carry 100 % more than 1: trying 4",
            "4 streams carry 100 % more than 2: trying 8",
            "8 streams carry 100 % more than 4: trying 16",
            "16 streams carry 19 % more than 8 and fill the path; by the model 10 carry 10.0 Mbit/s: \
             trying 10",
            "10 streams carry 0 % more than 16, and are enough; staying with 10",
        ]
    );
}

proptest::proptest! {
    #[test]
    fn it_stays_within_its_bounds_whatever_it_is_told(
        most in 1_u32..40,
        first in 0_u32..60,
        told in proptest::collection::vec(
            (0.0..1e10_f64, 0.0..5.0_f64, 0.0..5.0_f64, 0_u64..100_000, 0.0..2.0_f64), 1..300),
    ) {
        let mut chooser = Chooser::new(&Settings { cc: "of my own".into(), first, most });
        let mut end_s = 0.0;
        for (goodput_bps, srtt_s, min_rtt_s, retransmitted_segments, limited) in told {
            end_s += 1.0;
            let before = chooser.wanted();
            let answer = chooser.observe(&Interval {
                end_s,
                length_s: 1.0,
                streams: before,
                goodput_bps,
                segments: 50_000,
                retransmitted_segments,
                srtt_s,
                min_rtt_s,
                rwnd_limited: limited,
                ..Interval::default()
            });
            let now = chooser.wanted();
            proptest::prop_assert!((1..=most).contains(&now));
            proptest::prop_assert_eq!(answer.change == Change::Add(now.saturating_sub(before)), now > before);
        }
    }
}
