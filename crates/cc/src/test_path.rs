//! A path for tests: one bottleneck with a tail-drop queue, and a sender that follows the window
//! and the pacing rate and takes rate samples (draft-ietf-ccwg-bbr section 4.1).

use std::collections::VecDeque;

use fairway_units::random::Stream;
use fairway_units::{Duration, Time};

use crate::probe::MSS;
use crate::{Ack, CongestionControl, Flow, Init, Phase, RateSample, Selection, Signal, create};

/// Later segments that must arrive before a missing one is marked lost.
const REORDERING: u64 = 3;

struct Sent {
    number: u64,
    at: Time,
    prior_delivered: u64,
    prior_delivered_at: Time,
    first_sent_at: Time,
    in_flight: u64,
    prior_lost: u64,
    app_limited: bool,
    /// When it is acknowledged; none if dropped.
    acknowledged: Option<Time>,
}

/// The sender and its path. Times are since the start.
pub(crate) struct TestPath {
    pub(crate) cc: Box<dyn CongestionControl>,
    /// Bottleneck rate, bytes per second.
    pub(crate) rate: f64,
    pub(crate) base: Duration,
    /// Queue limit, segments.
    pub(crate) limit: u64,
    /// Probability of random loss.
    pub(crate) loss: f64,
    random: Stream,
    pub(crate) now: Time,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) in_flight: u64,
    pub(crate) srtt: Duration,
    pub(crate) last_rtt: Duration,
    pub(crate) app_limited: bool,
    phase: Phase,
    recover: u64,
    sent: VecDeque<Sent>,
    sent_count: u64,
    busy_until_ns: f64,
    next_send: Time,
    min_rtt: Duration,
    delivered_at: Time,
    first_sent_at: Time,
}

impl TestPath {
    /// Algorithm `name` at `megabits` per second with an RTT of `rtt_ms` and a queue of `limit`
    /// segments.
    pub(crate) fn new(name: &str, megabits: f64, rtt_ms: f64, limit: u64) -> Self {
        TestPath::seeded(name, 1, megabits, rtt_ms, limit)
    }

    /// The same with another seed.
    pub(crate) fn seeded(name: &str, seed: u64, megabits: f64, rtt_ms: f64, limit: u64) -> Self {
        TestPath::with(name, &[], seed, (megabits, rtt_ms, limit))
    }

    /// The same with parameters, on a path of rate, RTT and queue limit.
    pub(crate) fn with(
        name: &str,
        params: &[(&str, f64)],
        seed: u64,
        (megabits, rtt_ms, limit): (f64, f64, u64),
    ) -> Self {
        let variant = crate::algorithms().iter().find(|a| a.name == name).expect(name).variants[0];
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let selection = Selection { name: name.to_owned(), variant: Some(variant), params };
        let init = Init {
            mss: MSS,
            initial_window: 10 * u64::from(MSS),
            initial_ssthresh: None,
            slow_start: None,
            seed,
            coupling: None,
            abe: false,
        };
        let base = Duration::from_nanos((rtt_ms * 1e6) as u64);
        TestPath {
            cc: create(&selection, variant, &init).expect("a listed name"),
            rate: megabits * 1e6 / 8.0,
            base,
            limit,
            loss: 0.0,
            random: Stream::new(1, "losses"),
            now: Time::from_nanos(1_000_000),
            delivered: 0,
            lost: 0,
            in_flight: 0,
            srtt: base,
            last_rtt: base,
            app_limited: false,
            phase: Phase::Open,
            recover: 0,
            sent: VecDeque::new(),
            sent_count: 0,
            busy_until_ns: 0.0,
            next_send: Time::ZERO,
            min_rtt: base,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
        }
    }

    /// Window, segments.
    pub(crate) fn cwnd(&self) -> u64 {
        self.cc.cwnd() / u64::from(MSS)
    }

    /// Ratio of the pacing rate to the bottleneck rate.
    pub(crate) fn pacing_share(&self) -> f64 {
        self.cc.pacing_rate().map_or(0.0, |rate| rate.as_bps() as f64 / 8.0 / self.rate)
    }

    /// Run until `millis`, calling `look` after each acknowledgement.
    pub(crate) fn run(&mut self, millis: u64, mut look: impl FnMut(&Self)) {
        let end = Time::from_nanos(millis * 1_000_000);
        while self.now < end {
            let may_send = self.in_flight + u64::from(MSS) <= self.cc.cwnd().max(u64::from(MSS));
            let ack_at = self.sent.iter().find_map(|sent| sent.acknowledged);
            let send_at = may_send.then(|| self.next_send.max(self.now));
            match (ack_at, send_at) {
                (Some(ack), Some(send)) if send < ack => self.send(send),
                (None, Some(send)) if self.in_flight == 0 => self.send(send),
                (Some(ack), _) => {
                    self.now = ack;
                    self.acknowledge();
                    look(self);
                }
                (None, Some(send)) => self.send(send),
                (None, None) => self.time_out(),
            }
        }
    }

    fn flow(&self, pipe: u64) -> Flow {
        Flow {
            now: self.now,
            mss: MSS,
            pipe,
            in_flight: self.in_flight,
            srtt: Some(self.srtt),
            min_rtt: Some(self.min_rtt),
            snd_una: self.delivered,
            snd_nxt: self.delivered + self.in_flight,
            snd_max: self.delivered + self.in_flight,
            delivered: self.delivered,
            lost: self.lost,
            pacing_delay: self.next_send.since(self.now),
            phase: self.phase,
        }
    }

    fn send(&mut self, at: Time) {
        self.now = at;
        let mss = u64::from(MSS);
        if self.in_flight == 0 {
            self.first_sent_at = at;
            self.delivered_at = at;
        }
        self.in_flight += mss;
        let now_ns = at.as_nanos() as f64;
        let queued = ((self.busy_until_ns - now_ns).max(0.0) / 1e9 * self.rate) as u64 / mss;
        let is_lost = self.random.unit() < self.loss;
        let acknowledged = (queued <= self.limit && !is_lost).then(|| {
            self.busy_until_ns = self.busy_until_ns.max(now_ns) + f64::from(MSS) / self.rate * 1e9;
            // Up to 10 µs of noise, so that RTTs differ.
            let noise = Duration::from_nanos(self.sent_count * 7_919 % 97 * 100);
            Time::from_nanos(self.busy_until_ns as u64) + self.base + noise
        });
        self.sent.push_back(Sent {
            number: self.sent_count,
            at,
            prior_delivered: self.delivered,
            prior_delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: self.in_flight,
            prior_lost: self.lost,
            app_limited: self.app_limited,
            acknowledged,
        });
        self.sent_count += 1;
        if let Some(rate) = self.cc.pacing_rate() {
            let gap_ns = f64::from(MSS) * 8e9 / rate.as_bps() as f64;
            self.next_send = at + Duration::from_nanos(gap_ns as u64);
        }
    }

    fn acknowledge(&mut self) {
        let mss = u64::from(MSS);
        let pipe = self.in_flight;
        let index = self.sent.iter().position(|s| s.acknowledged.is_some()).expect("one to come");
        let Some(sent) = self.sent.remove(index) else { return };
        self.in_flight -= mss;
        self.delivered += mss;
        let rtt = self.now.since(sent.at);
        self.last_rtt = rtt;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = Duration::from_nanos((self.srtt.as_nanos() * 7 + rtt.as_nanos()) / 8);
        let send_span = sent.at.since(sent.first_sent_at);
        let ack_span = self.now.since(sent.prior_delivered_at);
        let interval = send_span.max(ack_span);
        self.delivered_at = self.now;
        self.first_sent_at = sent.at;
        let lost_before = self.lost;
        while let Some(head) = self.sent.front()
            && head.acknowledged.is_none()
            && head.number + REORDERING <= sent.number
        {
            self.sent.pop_front();
            self.in_flight -= mss;
            self.lost += mss;
        }
        let newly_lost = self.lost - lost_before;
        let rate = RateSample {
            delivered: self.delivered - sent.prior_delivered,
            interval: if interval < self.min_rtt { Duration::ZERO } else { interval },
            prior_delivered: sent.prior_delivered,
            sent_at: sent.at,
            prior_in_flight: sent.in_flight,
            lost: self.lost - sent.prior_lost,
            app_limited: sent.app_limited,
        };
        let ack = Ack {
            acked: mss,
            delivered: mss,
            lost: newly_lost,
            rtt: Some(rtt),
            rate: self.cc.needs().rate_samples.then_some(rate),
            may_raise: self.phase == Phase::Open,
            may_grow: self.phase == Phase::Open,
            ..Ack::default()
        };
        self.cc.on_ack(&ack, &self.flow(pipe));
        if self.phase != Phase::Open && sent.number >= self.recover {
            self.phase = Phase::Open;
            self.cc.on_recovered(self.cc.cwnd(), &self.flow(pipe));
        }
        if self.phase == Phase::Open && newly_lost > 0 {
            self.cc.on_congestion(Signal::Loss, &self.flow(pipe));
            self.phase = Phase::Recovery;
            self.recover = self.sent_count;
        }
    }

    /// Time out: nothing is in flight and nothing may be sent.
    fn time_out(&mut self) {
        self.now = self.now + Duration::from_secs(1);
        self.lost += self.in_flight;
        self.in_flight = 0;
        self.sent.clear();
        self.cc.on_rto(true, &self.flow(0));
        self.phase = Phase::Loss;
        self.recover = self.sent_count;
    }
}

/// Mean of `value` after each acknowledgement from `from_ms` to `to_ms`.
pub(crate) fn mean(
    path: &mut TestPath,
    from_ms: u64,
    to_ms: u64,
    value: impl Fn(&TestPath) -> f64,
) -> f64 {
    path.run(from_ms, |_| {});
    let (mut sum, mut count) = (0.0, 0.0);
    path.run(to_ms, |path| {
        sum += value(path);
        count += 1.0;
    });
    sum / count
}
