//! Quantities as people write them: "48 ms", "622 Mbit/s", "64 KiB".
//!
//! Reading is exact decimal arithmetic in integers; nothing passes through a floating-point
//! number. A quantity with more digits than its smallest unit can hold ("0.1 ns") is refused, not
//! rounded. Printing is exact too, so what is printed reads back as the same value.

use std::fmt;
use std::str::FromStr;

use crate::{Bytes, Duration, NANOS_PER_SEC, Rate, Time, meant_number};

/// A non-negative decimal number, exact: `digits` / 10^`scale`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    digits: u128,
    scale: u32,
}

/// Powers of ten that fit a `u128` number of places.
const MAX_SCALE: u32 = 38;

impl Decimal {
    /// The number zero.
    pub const ZERO: Decimal = Decimal { digits: 0, scale: 0 };
    /// The number one.
    pub const ONE: Decimal = Decimal { digits: 1, scale: 0 };

    /// The number written as digits, or digits, a point and digits. None for any other form, and
    /// for numbers of more digits than 128 bits hold.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return None,
            Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
            None => (text, ""),
        };
        if whole.is_empty() {
            return None;
        }
        let scale = u32::try_from(fraction.len()).ok().filter(|scale| *scale <= MAX_SCALE)?;
        let mut digits: u128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            if !digit.is_ascii_digit() {
                return None;
            }
            digits = digits.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
        }
        Some(Decimal { digits, scale })
    }

    /// The product with `factor`, if it is a whole number that fits; why not, otherwise.
    pub fn times(self, factor: u64) -> Result<u64, Problem> {
        let divisor = 10_u128.pow(self.scale);
        let Some(product) = self.digits.checked_mul(u128::from(factor)) else {
            // Either the number itself is large, or a small one has far too many digits.
            let fits = (self.digits / divisor).checked_mul(u128::from(factor)).is_some();
            return Err(if fits { Problem::TooFine } else { Problem::TooLarge });
        };
        if product % divisor != 0 {
            return Err(Problem::TooFine);
        }
        u64::try_from(product / divisor).map_err(|_| Problem::TooLarge)
    }

    /// It times ten to the power of `exponent`, if that fits.
    pub(crate) fn shifted(self, exponent: i32) -> Option<Self> {
        let Decimal { digits, scale } = self;
        if digits == 0 {
            return Some(self);
        }
        let scale = i64::from(scale) - i64::from(exponent);
        match u32::try_from(scale) {
            Ok(scale) => Some(Decimal { digits, scale }).filter(|_| scale <= MAX_SCALE),
            Err(_) => {
                let factor = 10_u128.checked_pow(u32::try_from(-scale).ok()?)?;
                Some(Decimal { digits: digits.checked_mul(factor)?, scale: 0 })
            }
        }
    }

    /// An eighth of it, if that fits.
    pub(crate) fn eighth(self) -> Option<Self> {
        // 1/8 = 125/1000.
        let digits = self.digits.checked_mul(125)?;
        Some(Decimal { digits, scale: self.scale + 3 }).filter(|eighth| eighth.scale <= MAX_SCALE)
    }

    /// The product with `factor`, rounded down, if it fits.
    pub fn times_rounded_down(self, factor: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(factor))?;
        u64::try_from(product / 10_u128.pow(self.scale)).ok()
    }
}

impl fmt::Display for Decimal {
    /// Prints "7.5": exact, without zeros behind the point.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divisor = 10_u128.pow(self.scale);
        let (whole, fraction) = (self.digits / divisor, self.digits % divisor);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let places = self.scale as usize;
        let digits = format!("{fraction:0places$}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// Splits "48 ms" into the text of its number and of its unit; either may be empty.
pub fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// What is wrong with a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// It does not begin with a number.
    NoNumber,
    /// It has no unit.
    NoUnit,
    /// Its unit is none of this quantity's.
    UnknownUnit,
    /// It is below zero.
    Negative,
    /// It is not a whole number of the smallest unit.
    TooFine,
    /// It is larger than 64 bits of the smallest unit hold.
    TooLarge,
}

/// Why a text is not a quantity: what was expected, what was found, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected {expected}, got {found}; {remedy}")]
pub struct QuantityError {
    /// What is wrong.
    pub problem: Problem,
    /// The quantity that was expected, with its units.
    pub expected: String,
    /// What was found, shortened and in quotes.
    pub found: String,
    /// What to write instead.
    pub remedy: String,
}

/// Nanoseconds in one millisecond.
const NANOS_PER_MS: u64 = 1_000_000;

/// The longest excerpt of a wrong text that an error repeats, in characters.
const EXCERPT: usize = 40;

/// One kind of quantity: its name, its units, and what is meant by other forms of it.
struct Quantity {
    /// With its article: "a duration".
    name: &'static str,
    /// A correct example.
    example: &'static str,
    /// The smallest unit, in words.
    whole: &'static str,
    /// Units by size; the first is the smallest.
    units: &'static [(&'static str, u64)],
    /// Other spellings of units.
    aliases: &'static [(&'static str, &'static str)],
    /// What to write for a text that is not right, if it has a reading.
    meant: fn(&str) -> Option<String>,
    /// Largest value that can be written, in the smallest unit.
    max: u64,
}

const DURATION: Quantity = Quantity {
    name: "a duration",
    example: "48 ms",
    whole: "whole nanoseconds",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", NANOS_PER_MS),
        ("s", NANOS_PER_SEC),
        ("min", 60 * NANOS_PER_SEC),
        ("h", 3600 * NANOS_PER_SEC),
    ],
    // The micro sign and the Greek letter look the same.
    aliases: &[("\u{b5}s", "us"), ("\u{3bc}s", "us")],
    meant: meant_duration,
    max: u64::MAX,
};

const RATE: Quantity = Quantity {
    name: "a rate",
    example: "10 Mbit/s",
    whole: "whole bits per second",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
    aliases: &[],
    meant: meant_rate,
    // The largest value is the unlimited rate, which has its own word.
    max: u64::MAX - 1,
};

const SIZE: Quantity = Quantity {
    name: "a size",
    example: "64 KiB",
    whole: "whole bytes",
    units: &[
        ("bytes", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ],
    aliases: &[("B", "bytes"), ("byte", "bytes")],
    meant: |text| Bytes::meant(text).map(|size| format!("\"{size}\"")),
    max: u64::MAX,
};

impl Quantity {
    /// The value of `text` in the smallest unit.
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let (number, unit) = split_unit(text);
        if number.is_empty() {
            let negative = text.trim().strip_prefix('-').filter(|rest| self.parse(rest).is_ok());
            let problem = if negative.is_some() { Problem::Negative } else { Problem::NoNumber };
            return Err(self.error(text, problem));
        }
        let Some(decimal) = Decimal::parse(number) else {
            let well_formed = number.matches('.').count() <= 1
                && !number.starts_with('.')
                && !number.ends_with('.');
            let problem = match number.split_once('.') {
                _ if !well_formed => Problem::NoNumber,
                // 38 digits before the point are too large for every unit; otherwise they
                // are too many after it.
                Some((whole, _)) if whole.len() < MAX_SCALE as usize => Problem::TooFine,
                _ => Problem::TooLarge,
            };
            return Err(self.error(text, problem));
        };
        if unit.is_empty() {
            return Err(self.error(text, Problem::NoUnit));
        }
        let Some(size) = self.unit(unit) else {
            return Err(self.error(text, Problem::UnknownUnit));
        };
        match decimal.times(size) {
            Ok(value) if value <= self.max => Ok(value),
            Ok(_) => Err(self.error(text, Problem::TooLarge)),
            Err(problem) => Err(self.error(text, problem)),
        }
    }

    /// The size of a unit in the smallest one.
    fn unit(&self, name: &str) -> Option<u64> {
        let name = self.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, u)| u);
        self.units.iter().find(|(unit, _)| *unit == name).map(|(_, size)| *size)
    }

    fn error(&self, text: &str, problem: Problem) -> QuantityError {
        let names: Vec<_> = self.units.iter().map(|(unit, _)| *unit).collect();
        let expected = match problem {
            Problem::TooFine => format!("{} in {}", self.name, self.whole),
            Problem::TooLarge => {
                format!("{} of at most {} {}", self.name, self.max, self.units[0].0)
            }
            Problem::Negative => format!("{} of zero or more", self.name),
            _ => format!("{} in {}", self.name, alternatives(&names)),
        };
        let remedy = match problem {
            Problem::TooFine => "write fewer digits after the point".to_owned(),
            Problem::TooLarge => "write less".to_owned(),
            Problem::Negative => format!("try \"{}\"", self.example),
            _ => match (self.meant)(text) {
                Some(meant) => format!("write {meant}"),
                None => format!("write a number and its unit, such as \"{}\"", self.example),
            },
        };
        QuantityError { problem, expected, found: excerpt(text), remedy }
    }
}

/// Seconds; for a bare number milliseconds too, in which delays are.
fn meant_duration(text: &str) -> Option<String> {
    let time = Duration::meant(text)?;
    let bare = meant_number(text, &[""]).filter(|number| *number != Decimal::ZERO);
    Some(match bare.filter(|number| number.times(NANOS_PER_MS).is_ok()) {
        Some(number) => format!("\"{time}\" or \"{number} ms\""),
        None => format!("\"{time}\""),
    })
}

/// Below this, in bits per second, nobody has a link: who left out the unit meant another one than bit/s.
const NO_LINK: u64 = 1_000;

fn meant_rate(text: &str) -> Option<String> {
    let rate = Rate::meant(text)?;
    let unit = text.trim_start_matches(|c: char| !c.is_alphabetic());
    Some(if unit.is_empty() && rate.as_bps() < NO_LINK {
        let mega = Rate::from_bps(rate.as_bps() * 1_000_000);
        format!("\"{rate}\", or \"{mega}\" if that is meant")
    } else if unit.contains('B') || unit.to_lowercase().contains("byte") {
        format!("\"{rate}\": a byte is 8 bits")
    } else {
        format!("\"{rate}\"")
    })
}

/// "a, b or c".
fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// The text in quotes, shortened, control characters escaped.
fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(EXCERPT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// Writes `value` / 10^`places`, exactly and without trailing zeros, and its unit.
fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, (unit, size): (&str, u64)) -> fmt::Result {
    let (whole, fraction) = (value / size, value % size);
    if fraction == 0 {
        return write!(f, "{whole} {unit}");
    }
    // `size` is a power of ten: as many places as it has zeros.
    let places = size.ilog10() as usize;
    let digits = format!("{fraction:0places$}");
    write!(f, "{whole}.{} {unit}", digits.trim_end_matches('0'))
}

/// The largest of `units` that is not larger than `value`, or the first.
fn largest_unit<'a>(units: &[(&'a str, u64)], value: u64) -> (&'a str, u64) {
    *units.iter().rev().find(|(_, size)| *size <= value).unwrap_or(&units[0])
}

impl FromStr for Duration {
    type Err = QuantityError;
    /// Reads "48 ms": a number and one of ns, us (µs), ms, s, min, h.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        DURATION.parse(text).map(Duration::from_nanos)
    }
}

impl fmt::Display for Duration {
    /// Prints "48 ms": exact, in the largest of ns, us, ms and s that leaves at least 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_nanos() {
            0 => f.write_str("0 s"),
            nanos => write_decimal(f, nanos, largest_unit(&DURATION.units[..4], nanos)),
        }
    }
}

impl FromStr for Time {
    type Err = QuantityError;
    /// Reads the time since the start of the run, as a duration, or "never".
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text.trim() {
            "never" => Ok(Time::NEVER),
            text => DURATION.parse(text).map(Time::from_nanos),
        }
    }
}

impl fmt::Display for Time {
    /// Prints seconds with all nine digits, so that times in a column line up, or "never".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Time::NEVER => f.write_str("never"),
            time => {
                let nanos = time.as_nanos();
                write!(f, "{}.{:09} s", nanos / NANOS_PER_SEC, nanos % NANOS_PER_SEC)
            }
        }
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    /// Reads "622 Mbit/s": a number and one of bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s (powers of
    /// 1000), or "unlimited".
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text.trim() {
            "unlimited" => Ok(Rate::UNLIMITED),
            text => RATE.parse(text).map(Rate::from_bps),
        }
    }
}

impl fmt::Display for Rate {
    /// Prints "622 Mbit/s": exact, in the largest unit that leaves at least 1, or "unlimited".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rate::UNLIMITED => f.write_str("unlimited"),
            rate => write_decimal(f, rate.as_bps(), largest_unit(RATE.units, rate.as_bps())),
        }
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    /// Reads "64 KiB": a number and one of bytes (B), kB, MB, GB (powers of 1000), KiB, MiB, GiB
    /// (powers of 1024).
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        SIZE.parse(text).map(Bytes::new)
    }
}

impl fmt::Display for Bytes {
    /// Prints "64 KiB": the largest unit of which it is a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.get();
        let whole = |(_, size): &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(*size);
        let (unit, size) = SIZE.units.iter().rev().find(whole).unwrap_or(&SIZE.units[0]);
        write!(f, "{} {unit}", bytes / size)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> u64 {
        text.parse::<Duration>().unwrap().as_nanos()
    }

    fn refusal<T: FromStr<Err = QuantityError> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn durations_are_exact() {
        assert_eq!(nanos("48 ms"), 48_000_000);
        assert_eq!(nanos("0.01 ms"), 10_000);
        // 0.1 has no exact binary fraction; 0.3 s must still be 300 000 000 ns.
        assert_eq!(nanos("0.3 s"), 300_000_000);
        assert_eq!(nanos("250us"), 250_000);
        assert_eq!(nanos("250 \u{b5}s"), 250_000);
        assert_eq!(nanos("250 \u{3bc}s"), 250_000);
        // 1.5 min = 90 s; 0.001 h = 3.6 s.
        assert_eq!(nanos("1.5 min"), 90_000_000_000);
        assert_eq!(nanos(" 0.001 h "), 3_600_000_000);
        assert_eq!(nanos("1.000000001 s"), 1_000_000_001);
        assert_eq!(nanos("007.0 ns"), 7);
        assert_eq!(nanos("18446744073709551615 ns"), u64::MAX);
    }

    #[test]
    fn rates_and_sizes_are_exact() {
        let bps = |text: &str| text.parse::<Rate>().unwrap().as_bps();
        assert_eq!(bps("622 Mbit/s"), 622_000_000);
        assert_eq!(bps("1.5 Gbit/s"), 1_500_000_000);
        assert_eq!(bps("0.064 kbit/s"), 64);
        assert_eq!(bps("1.544 Mbit/s"), 1_544_000);
        assert_eq!(bps("1 Tbit/s"), 1_000_000_000_000);
        assert_eq!("unlimited".parse(), Ok(Rate::UNLIMITED));
        let bytes = |text: &str| text.parse::<Bytes>().unwrap().get();
        assert_eq!(bytes("1000 bytes"), 1000);
        assert_eq!(bytes("1 B"), 1);
        assert_eq!(bytes("2 MiB"), 2_097_152);
        assert_eq!(bytes("100 MB"), 100_000_000);
        // 1.5 x 1024 = 1536.
        assert_eq!(bytes("1.5 KiB"), 1536);
    }

    #[test]
    fn quantities_print_as_people_write_them() {
        let print = |nanos| Duration::from_nanos(nanos).to_string();
        assert_eq!(print(48_000_000), "48 ms");
        assert_eq!(print(10_000), "10 us");
        assert_eq!(print(0), "0 s");
        assert_eq!(print(500_000_000_000), "500 s");
        assert_eq!(print(1_500_000_000), "1.5 s");
        assert_eq!(print(45_010_000), "45.01 ms");
        assert_eq!(print(1_000_000_001), "1.000000001 s");
        assert_eq!(Rate::from_bps(622_000_000).to_string(), "622 Mbit/s");
        assert_eq!(Rate::from_bps(1_500_000_000).to_string(), "1.5 Gbit/s");
        assert_eq!(Rate::from_bps(0).to_string(), "0 bit/s");
        assert_eq!(Bytes::new(0).to_string(), "0 bytes");
        assert_eq!(Bytes::new(1500).to_string(), "1500 bytes");
        assert_eq!(Bytes::new(65_536).to_string(), "64 KiB");
        assert_eq!(Bytes::new(100_000_000).to_string(), "100 MB");
        assert_eq!(Time::from_nanos(1_500_000_000).to_string(), "1.500000000 s");
        assert_eq!(Time::NEVER.to_string(), "never");
    }

    #[test]
    fn refusals_say_what_to_write() {
        let units = "ns, us, ms, s, min or h";
        let like = "write a number and its unit, such as \"48 ms\"";
        assert_eq!(
            refusal::<Duration>("50 miles"),
            format!("expected a duration in {units}, got \"50 miles\"; {like}")
        );
        assert_eq!(
            refusal::<Duration>("50"),
            format!(
                "expected a duration in {units}, got \"50\"; \
                 write \"50 s\" or \"50 ms\""
            )
        );
        // Milliseconds of it would not be whole nanoseconds, and zero is zero.
        assert!(refusal::<Duration>("0.0000001").ends_with("write \"100 ns\""));
        assert!(refusal::<Duration>("0").ends_with("write \"0 s\""));
        assert_eq!(
            refusal::<Duration>("soon"),
            format!("expected a duration in {units}, got \"soon\"; {like}")
        );
        assert_eq!(
            refusal::<Duration>("-1 s"),
            "expected a duration of zero or more, got \"-1 s\"; try \"48 ms\""
        );
        assert_eq!(
            refusal::<Duration>("0.1 ns"),
            "expected a duration in whole nanoseconds, got \"0.1 ns\"; \
             write fewer digits after the point"
        );
        assert_eq!(
            refusal::<Rate>("10 mbps"),
            "expected a rate in bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s, got \"10 mbps\"; \
             write \"10 Mbit/s\""
        );
        assert_eq!(
            refusal::<Bytes>("1.3 KiB"),
            "expected a size in whole bytes, got \"1.3 KiB\"; write fewer digits after the point"
        );
        assert_eq!(
            refusal::<Duration>("20000000000 s"),
            "expected a duration of at most 18446744073709551615 ns, got \"20000000000 s\"; \
             write less"
        );
        let units = "bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s";
        for (text, remedy) in [
            ("10000000", "write \"10 Mbit/s\""),
            ("10", "write \"10 bit/s\", or \"10 Mbit/s\" if that is meant"),
            ("10 MB/s", "write \"80 Mbit/s\": a byte is 8 bits"),
            ("10 MB", "write a number and its unit, such as \"10 Mbit/s\""),
        ] {
            assert_eq!(
                refusal::<Rate>(text),
                format!("expected a rate in {units}, got {text:?}; {remedy}")
            );
        }
    }

    #[test]
    fn forms_that_are_no_quantities_are_refused() {
        let problem = |text: &str| text.parse::<Duration>().unwrap_err().problem;
        assert_eq!(problem(""), Problem::NoNumber);
        assert_eq!(problem("NaN s"), Problem::NoNumber);
        assert_eq!(problem("inf"), Problem::NoNumber);
        assert_eq!(problem("+1 s"), Problem::NoNumber);
        assert_eq!(problem(".5 s"), Problem::NoNumber);
        assert_eq!(problem("5. s"), Problem::NoNumber);
        assert_eq!(problem("1.2.3 s"), Problem::NoNumber);
        assert_eq!(problem("1e3 s"), Problem::UnknownUnit);
        assert_eq!(problem("1,5 s"), Problem::UnknownUnit);
        assert_eq!(problem("10 Ms"), Problem::UnknownUnit);
        assert_eq!(problem(&format!("{} s", "9".repeat(100_000))), Problem::TooLarge);
        assert_eq!(problem(&format!("0.{} s", "1".repeat(100_000))), Problem::TooFine);
        assert_eq!(
            "18446744073709551615 bit/s".parse::<Rate>().unwrap_err().problem,
            Problem::TooLarge
        );
    }

    #[test]
    fn decimals_multiply_exactly() {
        let decimal = |text| Decimal::parse(text).unwrap();
        assert_eq!(decimal("1.5").times(10), Ok(15));
        assert_eq!(decimal("0.25").times(10), Err(Problem::TooFine));
        assert_eq!(decimal("0.25").times_rounded_down(10), Some(2));
        assert_eq!(decimal("2").times(u64::MAX), Err(Problem::TooLarge));
        assert_eq!(decimal("2").times_rounded_down(u64::MAX), None);
    }

    proptest! {
        #[test]
        fn durations_read_back(nanos: u64) {
            let span = Duration::from_nanos(nanos);
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }

        #[test]
        fn times_read_back(nanos: u64) {
            let time = Time::from_nanos(nanos);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }

        #[test]
        fn rates_read_back(bps: u64) {
            let rate = Rate::from_bps(bps);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn sizes_read_back(mantissa: u32, shift in 0u32..32) {
            let bytes = Bytes::new(u64::from(mantissa) << shift);
            prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (text.parse::<Duration>(), text.parse::<Rate>());
            let _ = (text.parse::<Bytes>(), text.parse::<Time>());
        }

        #[test]
        fn nothing_like_a_quantity_panics(text in "[-+]?[0-9.]{0,60} ?[a-zA-Zµ/]{0,6}") {
            let _ = (text.parse::<Duration>(), text.parse::<Rate>());
            let _ = (text.parse::<Bytes>(), text.parse::<Time>());
        }
    }
}
