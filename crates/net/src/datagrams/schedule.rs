//! When the packets of a datagram flow leave.

use fairway_units::random::Stream;
use fairway_units::{Duration, NANOS_PER_SEC, Rate, Time};

use super::{Pattern, Periods};
use crate::serialiser::Serialiser;

/// The departures of one flow, one after the other.
#[derive(Debug)]
pub struct Schedule {
    rhythm: Rhythm,
    stream: Stream,
}

/// What a [`Pattern`] needs to know from one packet to the next.
#[derive(Debug)]
enum Rhythm {
    Constant(Serialiser),
    Variable(Variable),
    Poisson { rate_bps: f64 },
    OnOff(OnOff),
}

/// A rate that is drawn anew every period.
#[derive(Debug)]
struct Variable {
    mean_bps: f64,
    deviation_bps: f64,
    period: Duration,
    rate_bps: f64,
    period_ends: Time,
}

/// Periods with packets at a constant rate, and periods without any.
#[derive(Debug)]
struct OnOff {
    peak: Serialiser,
    on: Duration,
    off: Duration,
    periods: Periods,
    /// What is left of the period in which packets leave.
    left: Duration,
}

impl Schedule {
    /// The schedule of a flow, and when its first packet leaves if it starts at `start`: for
    /// Poisson traffic after a random gap as all others, for on–off traffic when it is first on.
    pub fn new(
        pattern: &Pattern,
        rate: Rate,
        payload_bytes: u32,
        start: Time,
        mut stream: Stream,
    ) -> (Self, Time) {
        let rate_bps = rate.as_bps() as f64;
        let mut first = start;
        let rhythm = match *pattern {
            Pattern::Constant => Rhythm::Constant(Serialiser::new(rate)),
            Pattern::Variable { deviation, period } => Rhythm::Variable(Variable {
                mean_bps: rate_bps,
                deviation_bps: deviation.as_bps() as f64,
                period,
                rate_bps: stream.log_normal(rate_bps, deviation.as_bps() as f64),
                period_ends: start + period,
            }),
            Pattern::Poisson => {
                first = start + poisson_gap(rate_bps, payload_bytes, &mut stream);
                Rhythm::Poisson { rate_bps }
            }
            Pattern::OnOff { on, off, periods } => {
                // As after a long time: on with the share of time in which it is on.
                let share = on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64());
                if stream.unit() >= share {
                    first = start + periods.draw(off, &mut stream);
                }
                let left = periods.draw(on, &mut stream);
                Rhythm::OnOff(OnOff { peak: Serialiser::new(rate), on, off, periods, left })
            }
        };
        (Schedule { rhythm, stream }, first)
    }

    /// When the packet after one of `payload_bytes` leaves, which left at `at`: when it was due, or
    /// later if its application had to wait. It does not catch up.
    pub fn next(&mut self, at: Time, payload_bytes: u32) -> Time {
        match &mut self.rhythm {
            Rhythm::Constant(serialiser) => at + serialiser.transmit(payload_bytes),
            Rhythm::Variable(variable) => variable.next(at, payload_bytes, &mut self.stream),
            Rhythm::Poisson { rate_bps } => {
                at + poisson_gap(*rate_bps, payload_bytes, &mut self.stream)
            }
            Rhythm::OnOff(on_off) => on_off.next(at, payload_bytes, &mut self.stream),
        }
    }
}

/// An exponential gap whose mean is the time of the payload at the rate.
fn poisson_gap(rate_bps: f64, payload_bytes: u32, stream: &mut Stream) -> Duration {
    nanos(nanos_of(payload_bytes, rate_bps) * stream.exponential())
}

/// How many nanoseconds a payload takes at a rate.
fn nanos_of(payload_bytes: u32, rate_bps: f64) -> f64 {
    f64::from(payload_bytes) * 8.0 * NANOS_PER_SEC as f64 / rate_bps
}

/// The nearest whole number of nanoseconds.
fn nanos(nanos: f64) -> Duration {
    Duration::from_nanos(nanos.round() as u64)
}

impl Variable {
    /// Bits flow at the rate of each period; a packet leaves when its last bit has.
    fn next(&mut self, at: Time, payload_bytes: u32, stream: &mut Stream) -> Time {
        if at >= self.period_ends {
            // Its application may have waited for many periods, of which the last is the one that
            // counts.
            let passed = at.since(self.period_ends).as_nanos() / self.period.as_nanos();
            self.period_ends =
                self.period_ends + self.period.saturating_mul(passed.saturating_add(1));
            self.rate_bps = stream.log_normal(self.mean_bps, self.deviation_bps);
        }
        let mut at = at;
        // Of the packet's payload, the part that has not flowed yet.
        let mut part = 1.0;
        loop {
            let whole_nanos = nanos_of(payload_bytes, self.rate_bps);
            let left_nanos = self.period_ends.since(at).as_nanos() as f64;
            if whole_nanos * part <= left_nanos {
                return at + nanos(whole_nanos * part);
            }
            part -= left_nanos / whole_nanos;
            at = self.period_ends;
            self.period_ends = at + self.period;
            self.rate_bps = stream.log_normal(self.mean_bps, self.deviation_bps);
        }
    }
}

impl OnOff {
    /// A gap of time in which the flow is on, and whatever time it is off meanwhile.
    fn next(&mut self, at: Time, payload_bytes: u32, stream: &mut Stream) -> Time {
        let mut at = at;
        let mut gap = self.peak.transmit(payload_bytes);
        while gap >= self.left {
            gap = gap - self.left;
            at = at + self.left + self.periods.draw(self.off, stream);
            self.left = self.periods.draw(self.on, stream);
            if at == Time::NEVER {
                return at;
            }
        }
        self.left = self.left - gap;
        at + gap
    }
}

impl Periods {
    /// The length of a period with this mean, at least a nanosecond.
    fn draw(self, mean: Duration, stream: &mut Stream) -> Duration {
        let mean_nanos = mean.as_nanos() as f64;
        let drawn = match self {
            Periods::Exponential => nanos(mean_nanos * stream.exponential()),
            Periods::Pareto { shape } => nanos(stream.pareto(mean_nanos, shape)),
        };
        drawn.max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 972 bytes of payload: 7776 bits.
    const PAYLOAD: u32 = 972;

    fn departures(pattern: &Pattern, bps: u64, count: usize) -> Vec<u64> {
        let stream = Stream::new(1, "test");
        let (mut schedule, mut at) =
            Schedule::new(pattern, Rate::from_bps(bps), PAYLOAD, Time::ZERO, stream);
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(at.as_nanos());
            at = schedule.next(at, PAYLOAD);
        }
        all
    }

    fn gaps(departures: &[u64]) -> Vec<f64> {
        departures.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
    }

    #[test]
    fn a_constant_rate_is_exact_over_any_number_of_packets() {
        // 7776 bits at 7 Mbit/s take 1 110 857 1/7 ns: every seventh packet is whole again.
        let all = departures(&Pattern::Constant, 7_000_000, 701);
        assert_eq!(all[..3], [0, 1_110_857, 2_221_714]);
        assert_eq!(all[7], 7_776_000);
        assert_eq!(all[700], 777_600_000);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        // Mean 7776 / 10⁶ s = 7.776 ms; standard deviation the same; e^−1 of them above the mean.
        let n = 100_000;
        let all = departures(&Pattern::Poisson, 1_000_000, n);
        assert!(all[0] > 0, "the first packet has a gap before it");
        let gaps = gaps(&all);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let error = 4.0 / (n as f64).sqrt();
        assert!((mean / 7_776_000.0 - 1.0).abs() < error, "{mean}");
        let squares = gaps.iter().map(|gap| libm::pow(gap / 7_776_000.0, 2.0)).sum::<f64>();
        // E X² = 2, with variance 24 − 4.
        assert!((squares / gaps.len() as f64 - 2.0).abs() < error * 20f64.sqrt());
        let above = gaps.iter().filter(|gap| **gap > 7_776_000.0).count() as f64;
        assert!((above / gaps.len() as f64 - 0.367_879).abs() < error);
    }

    #[test]
    fn a_variable_rate_has_its_mean_and_changes_with_the_period() {
        // 10 Mbit/s ± 5 Mbit/s, drawn every 40 ms: 25 draws a second.
        let pattern = Pattern::Variable {
            deviation: Rate::from_bps(5_000_000),
            period: Duration::from_millis(40),
        };
        let n = 3_000_000;
        let all = departures(&pattern, 10_000_000, n);
        let seconds = *all.last().unwrap() as f64 / 1e9;
        let mean_bps = 7776.0 * (n - 1) as f64 / seconds;
        let draws = seconds * 25.0;
        assert!((mean_bps / 1e7 - 1.0).abs() < 4.0 * 0.5 / draws.sqrt(), "{mean_bps}");
        // Packets in whole periods: their standard deviation is that of the rate, 25.72 packets of
        // 51.44, and a packet's worth of edges.
        let mut counts = vec![0.0; (seconds * 25.0) as usize];
        for at in &all {
            if let Some(count) = counts.get_mut((at / 40_000_000) as usize) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let squares = counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>();
        let deviation = (squares / counts.len() as f64).sqrt();
        assert!((deviation / 25.72 - 1.0).abs() < 0.03, "{deviation}");
    }

    #[test]
    fn after_a_wait_packets_leave_at_their_rate_and_do_not_catch_up() {
        let ms = Duration::from_millis;
        // 7776 bits at 7.776 Mbit/s: 1 ms, give or take what a deviation of a bit/s makes of it.
        let variable =
            Pattern::Variable { deviation: Rate::from_bps(1), period: Duration::from_millis(40) };
        let on_off =
            Pattern::OnOff { on: ms(1_000_000), off: ms(1), periods: Periods::Exponential };
        for pattern in [Pattern::Constant, variable, on_off] {
            let stream = Stream::new(1, "test");
            let rate = Rate::from_bps(7_776_000);
            let (mut schedule, first) = Schedule::new(&pattern, rate, PAYLOAD, Time::ZERO, stream);
            let mut late = first + ms(100_003);
            for _ in 0..100 {
                let next = schedule.next(late, PAYLOAD);
                let gap_ns = next.as_nanos().checked_sub(late.as_nanos()).expect("later");
                assert!((999_999..=1_000_001).contains(&gap_ns), "{pattern:?}: {gap_ns}");
                late = next;
            }
        }
    }

    #[test]
    fn gaps_of_a_flow_that_is_on_are_those_of_its_peak_rate() {
        for periods in [Periods::Exponential, Periods::Pareto { shape: 1.5 }] {
            let pattern = Pattern::OnOff {
                on: Duration::from_millis(500),
                off: Duration::from_millis(1500),
                periods,
            };
            // 7776 bits at 7.776 Mbit/s: 1 ms.
            let n = 1_000_000;
            let all = departures(&pattern, 7_776_000, n);
            let gaps = gaps(&all);
            assert!(gaps.iter().all(|gap| *gap >= 1e6), "{periods:?}");
            let regular = gaps.iter().filter(|gap| **gap == 1e6).count();
            // A period of 500 ms has 500 gaps, of which one is longer for the time off behind it.
            let longer = gaps.len() - regular;
            assert!((1_500..2_500).contains(&longer), "{periods:?}: {longer}");
        }
    }

    #[test]
    fn the_mean_rate_of_an_on_off_flow_is_its_share_of_the_peak() {
        // On for a quarter of the time: 10⁶ packets of 1 ms of time on take 4000 s. 2000 periods of
        // each kind with relative deviation 1 make √(2/2000) · ¾ = 2.4 % at one standard error.
        let pattern = Pattern::OnOff {
            on: Duration::from_millis(500),
            off: Duration::from_millis(1500),
            periods: Periods::Exponential,
        };
        let all = departures(&pattern, 7_776_000, 1_000_001);
        let seconds = *all.last().unwrap() as f64 / 1e9;
        assert!((seconds / 4000.0 - 1.0).abs() < 4.0 * 0.024, "{seconds}");
    }

    #[test]
    fn the_tail_of_pareto_periods_falls_as_a_power() {
        // Times off of mean 300 ms and shape 1.5 are at least 100 ms, and P(off > x) is
        // (100 ms/x)^1.5: an eighth of them are above 400 ms, a thousandth above 10 s.
        let pattern = Pattern::OnOff {
            on: Duration::from_millis(30),
            off: Duration::from_millis(300),
            periods: Periods::Pareto { shape: 1.5 },
        };
        let all = departures(&pattern, 7_776_000, 1_000_000);
        let off: Vec<f64> =
            gaps(&all).into_iter().filter(|gap| *gap > 1e6).map(|gap| gap - 1e6).collect();
        assert!(off.len() > 20_000, "{}", off.len());
        assert!(off.iter().all(|gap| *gap >= 1e8));
        for (nanos, share) in [(4e8, 0.125), (1e10, 0.001)] {
            let above = off.iter().filter(|gap| **gap > nanos).count() as f64 / off.len() as f64;
            let error = 4.0 * (share / off.len() as f64).sqrt();
            assert!((above - share).abs() < error, "above {nanos}: {above} of {}", off.len());
        }
    }
    /// The slope by which the variance of the mean over m seconds falls with m, as a Hurst parameter:
    /// m^(2H − 2). Of 60 flows that are on half of the time, over 16 384 s.
    fn hurst_parameter(periods: Periods) -> f64 {
        let mean = Duration::from_millis(100);
        let pattern = Pattern::OnOff { on: mean, off: mean, periods };
        let mut seconds = vec![0.0; 1 << 14];
        for flow in 0..60 {
            let stream = Stream::new(flow, "hurst");
            // 50 packets a second while it is on.
            let rate = Rate::from_bps(8 * 50 * u64::from(PAYLOAD));
            let (mut schedule, mut at) = Schedule::new(&pattern, rate, PAYLOAD, Time::ZERO, stream);
            while let Some(count) = seconds.get_mut((at.as_nanos() / NANOS_PER_SEC) as usize) {
                *count += 1.0;
                at = schedule.next(at, PAYLOAD);
            }
        }
        let log_variance = |m: usize| {
            let means: Vec<f64> =
                seconds.chunks(m).map(|part| part.iter().sum::<f64>() / m as f64).collect();
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            let squares = means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            libm::log2(squares / means.len() as f64)
        };
        1.0 + (log_variance(64) - log_variance(1)) / 6.0 / 2.0
    }

    #[test]
    fn many_flows_with_pareto_periods_are_self_similar() {
        // Willinger et al. 1997: H = (3 − α)/2, and ½ where the variance of periods is finite. The
        // variance of 256 means that depend on each other is known to some 15 %, which is 0.02 of H;
        // and on the way to its limit the slope is a little flatter or steeper than that.
        let pareto = hurst_parameter(Periods::Pareto { shape: 1.4 });
        assert!((pareto - 0.8).abs() < 0.1, "{pareto}");
        let exponential = hurst_parameter(Periods::Exponential);
        assert!((exponential - 0.5).abs() < 0.05, "{exponential}");
    }
}
