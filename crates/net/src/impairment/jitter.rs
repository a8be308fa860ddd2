//! Delay that varies from packet to packet.

use fairway_units::Duration;
use fairway_units::random::Stream;

/// A distribution of deviations from the mean, in units of the deviation that is asked for.
///
/// NetEm reads the last three from tables of 4096 numbers of 16 bits (iproute2 netem/normal.c,
/// pareto.c, paretonormal.c), which end at four deviations. Here they are the distributions that
/// those tables are made from, cut off at four deviations too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// Even over −1 to 1.
    #[default]
    Uniform,
    /// Normal, with standard deviation 1.
    Normal,
    /// (X − 1.5)·4/3 of a Pareto X of index 3 from 1: it begins at −2/3, and cut off as it is has
    /// mean −0.033 and standard deviation 0.82.
    Pareto,
    /// A quarter of the normal and three quarters of the Pareto distribution's number of the same
    /// rank: as Pareto, with a tail to the left.
    ParetoNormal,
}

/// Extra delay of each packet, drawn for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Mean extra delay, on top of the propagation delay.
    pub mean: Duration,
    /// Deviation: of the uniform distribution, half its width. What would come to less than no
    /// delay is none, so a mean of less than the largest deviation is exceeded.
    pub deviation: Duration,
    /// Distribution.
    pub distribution: Distribution,
    /// Whether a packet waits for those before it that are delayed more, so that none overtakes.
    pub keep_order: bool,
}

/// Where NetEm's tables end: ±32767/8192 deviations.
const LARGEST: f64 = 4.0;

impl Jitter {
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        // Far beyond any experiment, and exact in a double.
        const LIMIT: Duration = Duration::from_secs(3600);
        for (key, value) in [("mean", self.mean), ("deviation", self.deviation)] {
            if value > LIMIT {
                return Err(format!(
                    "{name}.{key}: expected at most {LIMIT}, got {value}; write a shorter one"
                ));
            }
        }
        Ok(())
    }

    /// The extra delay of one packet.
    pub(super) fn draw(&self, stream: &mut Stream) -> Duration {
        let deviations = self.distribution.draw(stream);
        let nanos = self.mean.as_nanos() as f64
            + libm::round(deviations * self.deviation.as_nanos() as f64);
        // At most 5 hours by what is checked; negative numbers become zero.
        Duration::from_nanos(nanos as u64)
    }
}

impl Distribution {
    /// A number of it.
    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Distribution::Uniform => 2.0 * stream.unit() - 1.0,
            Distribution::Normal => stream.normal().clamp(-LARGEST, LARGEST),
            Distribution::Pareto => pareto(1.0 - stream.unit()).min(LARGEST),
            Distribution::ParetoNormal => {
                let normal = stream.normal();
                // The share of a normal distribution above its number is the rank of that number.
                let above = 0.5 * libm::erfc(normal / std::f64::consts::SQRT_2);
                let pareto = pareto(above).min(LARGEST);
                (0.25 * normal + 0.75 * pareto).clamp(-LARGEST, LARGEST)
            }
        }
    }
}

/// The number of NetEm's Pareto distribution above which a share `above` of it lies
/// (iproute2 netem/pareto.c: index 3).
fn pareto(above: f64) -> f64 {
    (1.0 / libm::cbrt(above) - 1.5) * (4.0 / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 400_000;

    /// Numbers drawn, in order of size.
    fn sample(distribution: Distribution) -> Vec<f64> {
        let mut stream = Stream::new(1, "wire/jitter");
        let mut numbers: Vec<f64> = (0..N).map(|_| distribution.draw(&mut stream)).collect();
        numbers.sort_by(f64::total_cmp);
        numbers
    }

    fn mean(numbers: &[f64]) -> f64 {
        numbers.iter().sum::<f64>() / f64::from(N)
    }

    fn assert_quantiles(numbers: &[f64], expected: [f64; 5], within: [f64; 5]) {
        for (i, share) in [0.01, 0.25, 0.5, 0.75, 0.99].into_iter().enumerate() {
            let found = numbers[(share * f64::from(N)) as usize];
            assert!((found - expected[i]).abs() < within[i], "{share}: {found}, {}", expected[i]);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_tables_of_netem() {
        // Quantiles of iproute2 6.1's normal.dist, pareto.dist and paretonormal.dist, divided by
        // 8192. An estimate of quantile q has standard error √(q(1−q)/N)/density, which is below
        // 0.006 for the normal distribution's outer ones, 0.0025 for its inner; a neighbouring
        // entry of a table of 4096 is up to 0.01 away there (q/density/4096).
        let normal = sample(Distribution::Normal);
        assert_quantiles(
            &normal,
            [-2.3253, -0.6746, -0.0003, 0.6740, 2.3185],
            [0.035, 0.012, 0.01, 0.012, 0.035],
        );
        // At 0.99 it is cut off.
        let pareto = sample(Distribution::Pareto);
        assert_quantiles(
            &pareto,
            [-0.6622, -0.5325, -0.3203, 0.1160, 3.9999],
            [0.002, 0.003, 0.006, 0.02, 0.001],
        );
        let mixed = sample(Distribution::ParetoNormal);
        assert_quantiles(
            &mixed,
            [-1.0780, -0.5680, -0.2402, 0.2554, 3.5795],
            [0.012, 0.006, 0.008, 0.02, 0.03],
        );
    }

    #[test]
    fn means_and_ends() {
        // Errors of means: 1/√3/√N = 0.0009 uniform, 0.0016 normal, 0.0013 Pareto.
        let uniform = sample(Distribution::Uniform);
        assert!(mean(&uniform).abs() < 0.0037);
        assert!(uniform[0] >= -1.0 && uniform[0] < -0.999 && uniform[N as usize - 1] < 1.0);
        assert!(mean(&sample(Distribution::Normal)).abs() < 0.0064);
        // Cut off at X = 4.5: E X = 1.5 − ∫ x⁻³ from 4.5 = 1.5 − 1/40.5; times 4/3: −0.03292.
        let pareto = sample(Distribution::Pareto);
        assert!((mean(&pareto) + 0.032_92).abs() < 0.0052);
        assert!(pareto[0] >= -2.0 / 3.0 - 1e-12 && pareto[N as usize - 1] == 4.0);
    }

    #[test]
    fn never_less_than_no_delay() {
        let jitter = Jitter {
            mean: Duration::from_millis(1),
            deviation: Duration::from_millis(2),
            distribution: Distribution::Uniform,
            keep_order: false,
        };
        let mut stream = Stream::new(2, "wire/jitter");
        let drawn: Vec<u64> = (0..N).map(|_| jitter.draw(&mut stream).as_nanos()).collect();
        // A quarter lies below −1 ms + 1 ms; ± 4·√(0.1875/N).
        let none = drawn.iter().filter(|nanos| **nanos == 0).count() as f64 / f64::from(N);
        assert!((none - 0.25).abs() < 0.0028, "{none}");
        assert!(drawn.iter().all(|nanos| *nanos <= 3_000_000));
    }

    #[test]
    fn an_hour_is_the_most() {
        let check = |mean, deviation| {
            let distribution = Distribution::Normal;
            Jitter { mean, deviation, distribution, keep_order: true }.check("jitter")
        };
        let (hour, more) = (Duration::from_secs(3_600), Duration::from_nanos(3_600_000_000_001));
        assert_eq!(check(hour, hour), Ok(()));
        assert!(check(more, hour).unwrap_err().starts_with("jitter.mean: expected at most"));
        assert!(check(hour, more).unwrap_err().starts_with("jitter.deviation: expected at most"));
    }
}
