//! Independent chances by packet, byte or bit.

use fairway_units::random::Stream;

/// What a probability is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A packet, whatever its size.
    Packet,
    /// Each of its bytes.
    Byte,
    /// Each of its bits.
    Bit,
}

/// The probability that something happens to a packet, byte or bit, independently of all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// The probability, 0 to 1.
    pub probability: f64,
    /// What of.
    pub unit: Unit,
}

impl Chance {
    /// What is wrong with it, if anything; `name` is where it was written.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        check_probability(&format!("{name}.probability"), self.probability)
    }
}

/// What is wrong with a probability, if anything.
pub(super) fn check_probability(name: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(format!("{name}: expected a probability from 0 to 1, got {value}; write 0.01 for 1 %"))
}

/// Chances taken from a random stream.
#[derive(Clone, Debug)]
pub(super) struct Trials {
    chance: Chance,
    stream: Stream,
    /// Most packets of a link are alike: the last size, and the probability for it.
    last_bytes: u32,
    last_probability: f64,
}

impl Trials {
    pub(super) fn new(chance: Chance, stream: Stream) -> Self {
        Trials { chance, stream, last_bytes: 0, last_probability: 0.0 }
    }

    /// Whether it happens to a packet of `bytes`.
    pub(super) fn happens(&mut self, bytes: u32) -> bool {
        let probability = match self.chance.unit {
            Unit::Packet => self.chance.probability,
            Unit::Byte => self.for_size(bytes, f64::from(bytes)),
            Unit::Bit => self.for_size(bytes, 8.0 * f64::from(bytes)),
        };
        probability > 0.0 && self.stream.unit() < probability
    }

    /// The probability that it happens to at least one of the packet's `units`: 1 − (1 − p)ⁿ,
    /// without the cancellation of its plain form where p is small.
    fn for_size(&mut self, bytes: u32, units: f64) -> f64 {
        if bytes != self.last_bytes {
            self.last_bytes = bytes;
            self.last_probability = -libm::expm1(units * libm::log1p(-self.chance.probability));
        }
        self.last_probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(probability: f64, unit: Unit) -> Trials {
        Trials::new(Chance { probability, unit }, Stream::new(1, "chance"))
    }

    #[test]
    fn a_packet_is_as_likely_hit_as_any_of_its_bytes_or_bits() {
        // 1 − (1 − 10⁻⁷)^12000 = 1 − e^(12000·ln(1 − 10⁻⁷)) = 1.1992803478e-3 (Python, decimal).
        let mut bits = trials(1e-7, Unit::Bit);
        assert!((bits.for_size(1500, 12_000.0) - 1.199_280_347_8e-3).abs() < 1e-13);
        // 10⁻¹⁸ is less than the last bit of 1: 1500 bytes still make 1.5·10⁻¹⁵.
        let mut bytes = trials(1e-18, Unit::Byte);
        assert!((bytes.for_size(1500, 1500.0) - 1.5e-15).abs() < 1e-24);
    }

    #[test]
    fn certain_and_impossible() {
        for unit in [Unit::Packet, Unit::Byte, Unit::Bit] {
            assert!((0..100).all(|i| trials(1.0, unit).happens(40 + i)));
            assert!(!(0..100).any(|i| trials(0.0, unit).happens(40 + i)));
        }
    }

    #[test]
    fn large_packets_are_hit_more_often() {
        // p = 10⁻⁴ a byte: 40 bytes 0.0039922, 1500 bytes 0.1393 (1 − 0.9999ⁿ). Standard errors at
        // n = 100 000 are 0.0002 and 0.0011; bounds are four of them.
        let mut chance = trials(1e-4, Unit::Byte);
        let mut hits = [0u32; 2];
        let n = 100_000;
        for _ in 0..n {
            hits[0] += u32::from(chance.happens(40));
            hits[1] += u32::from(chance.happens(1500));
        }
        assert!((f64::from(hits[0]) / f64::from(n) - 0.003_992_2).abs() < 0.000_8, "{hits:?}");
        assert!((f64::from(hits[1]) / f64::from(n) - 0.139_3).abs() < 0.004_4, "{hits:?}");
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        let error = Chance { probability: 1.5, unit: Unit::Packet }.check("loss").unwrap_err();
        assert!(error.starts_with("loss.probability: expected a probability from 0 to 1, got 1.5"));
        assert!(check_probability("p", f64::NAN).is_err());
    }
}
