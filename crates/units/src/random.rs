//! Random streams: one for each component, so that adding one never changes another's numbers.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The random numbers of one component, fixed by the run's seed and the component's name.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream of component `name` in a run with this seed.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut state = [0u8; 16];
        state[..8].copy_from_slice(&splitmix64(seed).to_le_bytes());
        state[8..].copy_from_slice(&splitmix64(fnv1a(name) ^ splitmix64(!seed)).to_le_bytes());
        Stream(Pcg64Mcg::from_seed(state))
    }

    /// A number in [0, 1), 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in 0..bound by multiplication (Lemire 2019, without the rejection: the bias is
    /// below bound / 2⁶⁴). Zero if the bound is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// 32 random bits.
    pub fn bits32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    pub fn bits64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An exponentially distributed number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// A normally distributed number with mean 0 and standard deviation 1 (Box and Muller 1958,
    /// of whose two numbers only the cosine's is used: a stream has no memory but its state).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// A log-normally distributed number with this mean and standard deviation; the mean is above
    /// zero. Its logarithm is normal with variance ln(1 + (σ/m)²) and mean ln m − variance/2.
    pub fn log_normal(&mut self, mean: f64, standard_deviation: f64) -> f64 {
        let ratio = standard_deviation / mean;
        let variance = libm::log1p(ratio * ratio);
        mean * libm::exp(libm::sqrt(variance) * self.normal() - variance / 2.0)
    }

    /// A Pareto-distributed number with this mean and shape, by inversion; the shape is above 1,
    /// below which there is no mean. The smallest is mean · (shape − 1) / shape, and P(X > x) falls
    /// as x^−shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) / shape * libm::pow(1.0 - self.unit(), -1.0 / shape)
    }
}

/// What SplitMix64 adds to its state at each step.
pub const SPLITMIX64_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): spreads seeds that differ
/// in few bits.
pub fn splitmix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(SPLITMIX64_STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 64-bit FNV-1a (Fowler, Noll, Vo) of a component's name.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_sequence() {
        // First outputs for seed 1234567 of the reference C program (Vigna, splitmix64.c), whose
        // state after k steps is seed + k·golden gamma.
        assert_eq!(splitmix64(1_234_567), 6_457_827_717_110_365_317);
        let second = 1_234_567u64.wrapping_add(0x9e37_79b9_7f4a_7c15);
        assert_eq!(splitmix64(second), 3_203_168_211_198_807_973);
    }

    #[test]
    fn fnv1a_gives_the_published_hashes() {
        // Test vectors of draft-eastlake-fnv: "" and "foobar".
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn streams_of_different_components_and_seeds_are_unlike() {
        let first = |seed, name: &str| Stream::new(seed, name).bits32();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
    }

    #[test]
    fn means_are_where_they_belong() {
        // Mean of n uniforms: ½ ± 4/√(12 n); of n exponentials: 1 ± 4/√n.
        let mut stream = Stream::new(7, "means");
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| stream.unit()).sum::<f64>() / f64::from(n);
        let exponential: f64 = (0..n).map(|_| stream.exponential()).sum::<f64>() / f64::from(n);
        assert!((uniform - 0.5).abs() < 4.0 / (12.0 * f64::from(n)).sqrt());
        assert!((exponential - 1.0).abs() < 4.0 / f64::from(n).sqrt());
    }
    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_distribution() {
        let mut stream = Stream::new(7, "normal");
        let n = 200_000;
        let drawn: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let moment = |power: i32| {
            drawn.iter().map(|x| libm::pow(*x, f64::from(power))).sum::<f64>() / f64::from(n)
        };
        // 0, 1, 0 and 3; four standard errors of x^k, whose variances are 1, 2, 15 and 96.
        let error = |variance: f64| 4.0 * (variance / f64::from(n)).sqrt();
        assert!(moment(1).abs() < error(1.0));
        assert!((moment(2) - 1.0).abs() < error(2.0));
        assert!(moment(3).abs() < error(15.0));
        assert!((moment(4) - 3.0).abs() < error(96.0));
    }

    #[test]
    fn log_normal_numbers_have_the_mean_and_deviation_asked_for() {
        let mut stream = Stream::new(7, "log-normal");
        let n = 200_000;
        let drawn: Vec<f64> = (0..n).map(|_| stream.log_normal(10.0, 5.0)).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(n);
        let variance = drawn.iter().map(|x| (x - 10.0) * (x - 10.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 10.0).abs() < 4.0 * 5.0 / f64::from(n).sqrt(), "{mean}");
        // With w = 1 + ¼ the fourth central moment is σ⁴ (w⁴ + 2w³ + 3w² − 3) = 8.04 σ⁴, so the
        // variance is off by √(7.04/n) = 0.6 % at one standard error.
        assert!((variance / 25.0 - 1.0).abs() < 0.024, "{variance}");
        // Half are below the median m / √(1 + ¼) = 8.944.
        let below = drawn.iter().filter(|x| **x < 8.944_27).count() as f64 / f64::from(n);
        assert!((below - 0.5).abs() < 4.0 * 0.5 / f64::from(n).sqrt(), "{below}");
    }

    #[test]
    fn the_tail_of_pareto_numbers_is_a_power() {
        // Shape 1.5, mean 3: the smallest is 1, and P(X > x) = x^−1.5.
        let mut stream = Stream::new(7, "pareto");
        let n = 400_000;
        let drawn: Vec<f64> = (0..n).map(|_| stream.pareto(3.0, 1.5)).collect();
        assert!(drawn.iter().all(|x| *x >= 1.0));
        for (x, share) in [(4.0, 0.125), (16.0, 1.0 / 64.0), (100.0, 0.001)] {
            let above = drawn.iter().filter(|drawn| **drawn > x).count() as f64 / f64::from(n);
            let error = 4.0 * (share * (1.0 - share) / f64::from(n)).sqrt();
            assert!((above - share).abs() < error, "beyond {x}: {above}");
        }
    }
}
