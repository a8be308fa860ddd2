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
}
