//! Numeric conversions of ns-3.29 compiled for x86-64.

use fairway_units::{Duration, Time};

/// `Time::Max`.
pub(crate) const TIME_MAX: i64 = i64::MAX;

/// `Time::Min`.
pub(crate) const TIME_MIN: i64 = i64::MIN;

/// A duration as ns-3's `Time`.
pub(crate) fn time(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(TIME_MAX)
}

/// A moment as ns-3's `Time`.
pub(super) fn now(time: Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(TIME_MAX)
}

/// `double` to `uint32_t`: the low half of the conversion to 64 bits (`cvttsd2si`), which gives
/// −2⁶³ for NaN and values out of range.
pub(crate) fn to_u32(value: f64) -> u32 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if value > -LIMIT && value < LIMIT { value as i64 as u32 } else { 0 }
}

/// `double` to `int32_t` (`cvttsd2si`), which gives −2³¹ for NaN and values out of range.
pub(crate) fn to_i32(value: f64) -> i32 {
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// `int64x64_t::Invert (1000000000)`: 2¹²⁸/10⁹, high and low 64 bits.
const PER_SECOND: (u64, u64) = (0x4_4b82_fa09, 0xb5a5_2cb9_8b40_5448);

/// `Time::GetSeconds` of a non-negative time (`nstime.h`, `int64x64-128.h`): a product in 64.64
/// bits (`UmulByInvert`), rounded to the 64 bits of `long double`, then to the 53 of `double`.
pub(crate) fn seconds(nanos: i64) -> f64 {
    let nanos = u128::from(nanos.unsigned_abs());
    let product = nanos * u128::from(PER_SECOND.0) + ((nanos * u128::from(PER_SECOND.1)) >> 64);
    let rounded = round(round(product, 64), 53);
    // Exact: 53 bits and a power of two.
    rounded as f64 / 18_446_744_073_709_551_616.0
}

/// `value` to `bits` significant bits, to the nearest, ties to even.
fn round(value: u128, bits: u32) -> u128 {
    let used = 128 - value.leading_zeros();
    let Some(cut @ 1..) = used.checked_sub(bits) else { return value };
    let (half, kept) = (1_u128 << (cut - 1), value >> cut);
    let rest = value - (kept << cut);
    let up = rest > half || (rest == half && kept & 1 == 1);
    (kept + u128::from(up)) << cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_become_integers_as_on_x86_64() {
        assert_eq!(to_u32(2_880.99), 2_880);
        // 2³² + 5; −1 becomes the greatest; infinity and NaN become the low half of −2⁶³.
        assert_eq!(
            [4_294_967_301.0, -1.5, f64::INFINITY, f64::NAN].map(to_u32),
            [5, u32::MAX, 0, 0]
        );
        assert_eq!([-2.9, 3e9, f64::NAN].map(to_i32), [-2, i32::MIN, i32::MIN]);
    }

    #[test]
    fn seconds_are_those_of_ns3() {
        // Printed by a program that calls `Time::GetSeconds` of ns-3.29.
        for (nanos, bits) in [
            (3, 0x3e29_c511_dc3a_0000),
            (75_446, 0x3f13_c718_6913_a608),
            (3_903_415_632_367_878_206, 0x41ed_152c_aa0b_c5a9),
        ] {
            assert_eq!(seconds(nanos).to_bits(), bits, "{nanos} ns");
        }
        // A division by 10⁹ would differ.
        assert_eq!((75_446.0_f64 / 1e9).to_bits(), 0x3f13_c718_6913_a60b);
        assert_eq!(seconds(0), 0.0);
    }
}
