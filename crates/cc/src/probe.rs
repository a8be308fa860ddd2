//! A minimal sender for worked examples, tests and figures: it fills its window, gets
//! acknowledgements evenly over a round trip, and its caller decides what happens.

use fairway_units::{Duration, Time};

use crate::{
    Ack, CongestionControl, Flow, Init, Member, Phase, RateSample, Selection, Signal, SlowStart,
    Timestamps, Variant, create,
};

/// Segment size of a probe, bytes.
pub const MSS: u32 = 1448;

/// Initial state of a probe.
#[derive(Clone, Debug)]
pub struct Start {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments; none for infinite.
    pub ssthresh: Option<u32>,
    /// Round-trip time.
    pub rtt: Duration,
    /// Parameters that differ from the variant's defaults.
    pub params: Vec<(String, f64)>,
    /// Slow start, if not the algorithm's own.
    pub slow_start: Option<SlowStart>,
    /// The connections it is coupled with.
    pub coupling: Option<Member>,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Whether marks reduce the window less than losses (ABE, RFC 8511).
    pub abe: bool,
}

impl Start {
    /// Congestion avoidance with a window of `cwnd` segments and an RTT of `rtt_ms`.
    pub fn avoidance(cwnd: u32, rtt_ms: u64) -> Self {
        Start { ssthresh: Some(2), ..Start::slow_start(cwnd, rtt_ms) }
    }

    /// Slow start with a window of `cwnd` segments and an RTT of `rtt_ms`.
    pub fn slow_start(cwnd: u32, rtt_ms: u64) -> Self {
        Start {
            cwnd,
            ssthresh: None,
            rtt: Duration::from_millis(rtt_ms),
            params: Vec::new(),
            slow_start: None,
            coupling: None,
            seed: 1,
            abe: false,
        }
    }

    /// The same with a parameter set.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.params.push((name.to_owned(), value));
        self
    }
}

/// An algorithm and the state of a connection that it sees.
pub struct Probe {
    /// The algorithm.
    pub cc: Box<dyn CongestionControl>,
    /// Time of the next event.
    pub now: Time,
    /// Round-trip time of the next acknowledgements.
    pub rtt: Duration,
    /// Minimum round-trip time so far.
    pub min_rtt: Duration,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// State of loss recovery.
    pub phase: Phase,
    /// Bytes marked lost so far.
    pub lost: u64,
    /// One-way delay of the acknowledged data, milliseconds.
    pub one_way_delay_ms: Option<u32>,
    /// Fraction of the acknowledged bytes that is marked.
    pub marked: f64,
    /// Delivery rate of the path, bytes per second; none for the window per RTT.
    pub delivery_rate: Option<f64>,
    /// Whether the stack allows the window to grow, if the phase does.
    pub may_grow: bool,
}

impl Probe {
    /// A probe of an algorithm by name and variant.
    ///
    /// # Panics
    /// If there is no such algorithm, variant or parameter.
    pub fn new(name: &str, variant: Variant, start: &Start) -> Self {
        let selection = Selection {
            name: name.to_owned(),
            variant: Some(variant),
            params: start.params.clone(),
        };
        let init = Init {
            mss: MSS,
            initial_window: bytes(start.cwnd),
            initial_ssthresh: start.ssthresh.map(bytes),
            slow_start: start.slow_start.clone(),
            seed: start.seed,
            coupling: start.coupling.clone(),
            abe: start.abe,
        };
        match create(&selection, variant, &init) {
            Ok(cc) => Probe::of(cc, start.rtt),
            Err(error) => panic!("a probe of {name}: {error}"),
        }
    }

    /// A probe of an existing algorithm.
    pub fn of(cc: Box<dyn CongestionControl>, rtt: Duration) -> Self {
        Probe {
            cc,
            now: Time::from_nanos(5_000_000_000),
            rtt,
            min_rtt: rtt,
            snd_una: 0,
            phase: Phase::Open,
            lost: 0,
            one_way_delay_ms: None,
            marked: 0.0,
            delivery_rate: None,
            may_grow: true,
        }
    }

    /// Congestion window, whole segments.
    pub fn cwnd(&self) -> u64 {
        self.cc.cwnd() / u64::from(MSS)
    }

    /// Congestion window in segments, as a real number.
    pub fn window(&self) -> f64 {
        self.cwnd() as f64
    }

    /// Slow-start threshold, whole segments; `None` while it is infinite.
    pub fn ssthresh(&self) -> Option<u64> {
        let ssthresh = self.cc.ssthresh();
        (ssthresh != u64::MAX).then_some(ssthresh / u64::from(MSS))
    }

    /// State of the connection for the algorithm.
    pub fn flow(&self) -> Flow {
        let pipe = self.cc.cwnd();
        Flow {
            now: self.now,
            mss: MSS,
            pipe,
            in_flight: pipe,
            srtt: Some(self.rtt),
            min_rtt: Some(self.min_rtt),
            snd_una: self.snd_una,
            snd_nxt: self.snd_una + pipe,
            snd_max: self.snd_una + pipe,
            delivered: self.snd_una,
            lost: self.lost,
            pacing_delay: Duration::ZERO,
            phase: self.phase,
        }
    }

    /// Acknowledge `segments`, spaced evenly over the round trip.
    pub fn ack(&mut self, segments: u32) -> &mut Self {
        let window = self.cwnd().max(1);
        let share = Duration::from_nanos(self.rtt.as_nanos() * u64::from(segments) / window);
        // At most the delivery rate.
        let rate = self.delivery_rate.unwrap_or(f64::INFINITY).max(1.0);
        let serialised = Duration::from_nanos((bytes(segments) as f64 / rate * 1e9) as u64);
        self.now = self.now + share.max(serialised);
        self.ack_now(segments)
    }

    /// Acknowledge `segments` without advancing time.
    pub fn ack_now(&mut self, segments: u32) -> &mut Self {
        let acked = bytes(segments);
        self.min_rtt = self.min_rtt.min(self.rtt);
        let prior_delivered = self.snd_una.saturating_sub(self.cc.cwnd());
        self.snd_una += acked;
        let delivered = match self.delivery_rate {
            Some(rate) => (rate * self.rtt.as_secs_f64()) as u64,
            None => self.cc.cwnd(),
        };
        let wants_rate = self.cc.needs().rate_samples;
        let sent_ms = Time::from_nanos(self.now.as_nanos().saturating_sub(self.rtt.as_nanos()));
        let echo = sent_ms.as_millis() as u32;
        let accurate = self.cc.needs().ecn.is_accurate();
        let may_raise = matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Loss);
        let ack = Ack {
            acked,
            delivered: acked,
            lost: 0,
            ce: if accurate { (acked as f64 * self.marked) as u64 } else { 0 },
            rtt: Some(self.rtt),
            one_way_delay_ms: self.one_way_delay_ms,
            timestamps: self
                .one_way_delay_ms
                .map(|delay| Timestamps { value: echo.wrapping_add(delay), echo }),
            rate: wants_rate.then_some(RateSample {
                delivered,
                interval: self.rtt,
                prior_delivered,
                sent_at: Time::from_nanos(self.now.as_nanos().saturating_sub(self.rtt.as_nanos())),
                prior_in_flight: self.cc.cwnd(),
                lost: 0,
                app_limited: false,
            }),
            may_raise,
            may_grow: may_raise && self.may_grow,
            is_plain: false,
        };
        let flow = self.flow();
        self.cc.on_ack(&ack, &flow);
        if self.phase == Phase::Open && self.cc.wants_reduction() {
            self.congestion(Signal::Delay);
            self.recover();
        }
        self
    }

    /// Process `count` acknowledgements of `segments` each.
    pub fn acks(&mut self, count: u32, segments: u32) -> &mut Self {
        for _ in 0..count {
            self.ack(segments);
        }
        self
    }

    /// Acknowledge one window, segment by segment.
    pub fn round(&mut self) -> &mut Self {
        self.acks(self.cwnd().max(1) as u32, 1)
    }

    /// Acknowledge `count` windows.
    pub fn rounds(&mut self, count: u32) -> &mut Self {
        for _ in 0..count {
            self.round();
        }
        self
    }

    /// Begin a congestion episode.
    pub fn congestion(&mut self, signal: Signal) -> &mut Self {
        let flow = self.flow();
        self.cc.on_congestion(signal, &flow);
        self.phase = if signal == Signal::Loss { Phase::Recovery } else { Phase::Cwr };
        self
    }

    /// End the episode, with the window at the threshold or where the algorithm holds it.
    pub fn recover(&mut self) -> &mut Self {
        self.phase = Phase::Open;
        let flow = self.flow();
        let cwnd = self.cc.cwnd();
        self.cc.on_recovered(cwnd, &flow);
        self
    }

    /// Lose and recover one segment.
    pub fn loss(&mut self) -> &mut Self {
        self.lost += u64::from(MSS);
        self.congestion(Signal::Loss).recover()
    }

    /// Let the retransmission timer expire once and recover the outstanding data.
    pub fn rto(&mut self) -> &mut Self {
        self.lost += self.cc.cwnd();
        let flow = self.flow();
        self.cc.on_rto(true, &flow);
        self.phase = Phase::Loss;
        self
    }
}

fn bytes(segments: u32) -> u64 {
    u64::from(segments) * u64::from(MSS)
}
