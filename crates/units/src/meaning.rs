//! What somebody meant who wrote a quantity in another form, where there is one reading of it:
//! "10 MB/s" is "80 Mbit/s", "1e3 ms" is "1 s". What has none ("nan s", "10 miles") stays without.

use crate::{Bytes, Decimal, Duration, NANOS_PER_SEC, Rate};

impl Duration {
    /// The time that is meant; a bare number is in seconds.
    pub fn meant(text: &str) -> Option<Self> {
        let (number, unit) = split(text)?;
        let nanos = match unit.to_lowercase().as_str() {
            "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "usecs" | "microsecond" | "microseconds" => {
                1_000
            }
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 1_000_000,
            "" | "s" | "sec" | "secs" | "second" | "seconds" => NANOS_PER_SEC,
            "min" | "mins" | "minute" | "minutes" => 60 * NANOS_PER_SEC,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600 * NANOS_PER_SEC,
            "d" | "day" | "days" => 24 * 3600 * NANOS_PER_SEC,
            _ => return None,
        };
        number.times(nanos).ok().map(Duration::from_nanos)
    }
}

impl Rate {
    /// The rate above zero that is meant; a bare number is in bits per second.
    pub fn meant(text: &str) -> Option<Self> {
        let (number, unit) = split(text)?;
        let of_data = ["/sec", "/s", "ps"].iter().find_map(|end| unit.strip_suffix(end));
        let (factor, data) = prefix(of_data.unwrap_or(unit));
        let bits = match data {
            "b" => 1,
            "B" if of_data.is_some() => 8,
            // As iperf has it: "10M".
            "" if of_data.is_none() => 1,
            _ => match data.to_lowercase().as_str() {
                "bit" | "bits" => 1,
                "byte" | "bytes" if of_data.is_some() => 8,
                _ => return None,
            },
        };
        number.times(factor * bits).ok().filter(|bps| *bps > 0).map(Rate::from_bps)
    }
}

impl Bytes {
    /// The size that is meant; a bare number is in bytes.
    pub fn meant(text: &str) -> Option<Self> {
        let (number, unit) = split(text)?;
        let (factor, data) = prefix(unit);
        let number = match data {
            "" if factor == 1 => number,
            "B" => number,
            // "Mb" may be megabits; "mb" is a careless "MB", and nobody's millibit.
            "b" if factor > 1 && unit.chars().all(char::is_lowercase) => number,
            _ => match data.to_lowercase().as_str() {
                "byte" | "bytes" | "octet" | "octets" => number,
                "bit" | "bits" => number.eighth()?,
                _ => return None,
            },
        };
        number.times(factor).ok().map(Bytes::new)
    }
}

/// The number of things that is meant, whose units have these names, in lower case; "" if they may be
/// without.
pub fn meant_number(text: &str, units: &[&str]) -> Option<Decimal> {
    let (number, unit) = split(text)?;
    units.contains(&unit.to_lowercase().as_str()).then_some(number)
}

/// The factor of a prefix, and what stands behind it. Neither a link nor a file has thousandths of bits:
/// "m" is mega.
fn prefix(unit: &str) -> (u64, &str) {
    let rest = |chars: usize| unit.char_indices().nth(chars).map_or("", |(at, _)| &unit[at..]);
    let thousands = match unit.chars().next() {
        Some('k' | 'K') => 1,
        Some('m' | 'M') => 2,
        Some('g' | 'G') => 3,
        Some('t' | 'T') => 4,
        _ => return (1, unit),
    };
    match rest(1).strip_prefix('i') {
        Some(data) => (1 << (10 * thousands), data),
        None => (1000_u64.pow(thousands), rest(1)),
    }
}

/// A number, in any way that programs write numbers of zero or more, and what stands behind it.
fn split(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, mut rest) = text.split_at(end);
    let mut exponent = 0;
    if let Some(behind) = rest.strip_prefix(['e', 'E']) {
        let digits = behind.strip_prefix(['+', '-']).unwrap_or(behind);
        let digits = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let end = digits + usize::from(behind.starts_with(['+', '-']));
        if digits > 0 {
            (exponent, rest) = (behind[..end].parse().ok()?, &behind[end..]);
        }
    }
    // ".5" and "5." are numbers elsewhere.
    let whole = if digits.starts_with('.') { "0" } else { "" };
    let number = Decimal::parse(&format!("{whole}{}", digits.strip_suffix('.').unwrap_or(digits)))?;
    Some((number.shifted(exponent)?, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Spellings, with the units of 10^-12 s, bit/s or bits that they stand for: by hand.
    const TIMES: &[(&str, u128)] = &[
        ("ns", 1_000),
        ("usec", 1_000_000),
        ("\u{b5}s", 1_000_000),
        ("MS", 1_000_000_000),
        ("milliseconds", 1_000_000_000),
        ("", 1_000_000_000_000),
        ("sec", 1_000_000_000_000),
        ("Seconds", 1_000_000_000_000),
        ("mins", 60_000_000_000_000),
        ("hours", 3_600_000_000_000_000),
        ("days", 86_400_000_000_000_000),
    ];
    const RATES: &[(&str, u128)] = &[
        ("", 1),
        ("bps", 1),
        ("B/s", 8),
        ("kbps", 1_000),
        ("Kb/s", 1_000),
        ("mbps", 1_000_000),
        ("Mbit", 1_000_000),
        ("M", 1_000_000),
        ("MB/s", 8_000_000),
        ("MBps", 8_000_000),
        ("Mbyte/sec", 8_000_000),
        ("MiB/s", 8 << 20),
        ("Gibit/s", 1 << 30),
        ("gbit/s", 1_000_000_000),
        ("tbps", 1_000_000_000_000),
    ];
    const SIZES: &[(&str, u128)] = &[
        ("", 8),
        ("Bytes", 8),
        ("octets", 8),
        ("KB", 8_000),
        ("kbytes", 8_000),
        ("mb", 8_000_000),
        ("kib", 8 << 10),
        ("MiBytes", 8 << 20),
        ("TB", 8_000_000_000_000),
        ("TiB", 8 << 40),
        ("Mbit", 1_000_000),
        ("bits", 1),
    ];

    /// A number in one of several ways, times 10^6.
    fn number() -> impl Strategy<Value = (String, u128)> {
        let plain = (0u64..1_000_000).prop_map(|n| (n.to_string(), u128::from(n) * 1_000_000));
        let point = (0u64..10_000, 0u64..1_000).prop_map(|(whole, part)| {
            let value = u128::from(whole) * 1_000_000 + u128::from(part) * 1_000;
            (format!("{whole}.{part:03}"), value)
        });
        let exponent = (0u64..100, -3i32..6).prop_map(|(n, exponent)| {
            (format!("{n}e{exponent}"), u128::from(n) * 10_u128.pow((exponent + 6) as u32))
        });
        let bare = (0u64..1000).prop_map(|n| (format!(".{n:03}"), u128::from(n) * 1_000));
        let signed = (0u64..1000).prop_map(|n| (format!("+{n}."), u128::from(n) * 1_000_000));
        prop_oneof![plain, point, exponent, bare, signed]
    }

    /// The text in quotes behind "write".
    fn written(message: &str) -> Option<&str> {
        message.split_once("; write \"")?.1.split('"').next()
    }

    proptest! {
        #[test]
        fn what_is_suggested_is_what_was_given(
            (number, millionths) in number(),
            time in proptest::sample::select(TIMES),
            rate in proptest::sample::select(RATES),
            size in proptest::sample::select(SIZES),
            space in "[ ]?",
        ) {
            let text = |unit: &str| format!("{number}{space}{unit}");
            if let Err(error) = text(time.0).parse::<Duration>()
                && let Some(written) = written(&error.to_string())
            {
                let nanos = written.parse::<Duration>().unwrap().as_nanos();
                prop_assert_eq!(u128::from(nanos) * 1_000_000_000, millionths * time.1);
            }
            if let Err(error) = text(rate.0).parse::<Rate>()
                && let Some(written) = written(&error.to_string())
            {
                let bps = written.parse::<Rate>().unwrap().as_bps();
                prop_assert_eq!(u128::from(bps) * 1_000_000, millionths * rate.1);
            }
            if let Err(error) = text(size.0).parse::<Bytes>()
                && let Some(written) = written(&error.to_string())
            {
                let bytes = written.parse::<Bytes>().unwrap().get();
                prop_assert_eq!(u128::from(bytes) * 8_000_000, millionths * size.1);
            }
        }

        #[test]
        fn what_is_offered_for_any_text_is_right(text in "[-+]?[0-9.]{0,8}(e[0-9])?[ ]?\\PC{0,8}") {
            let offered = |message: String| -> Vec<String> {
                message.split("; write ").skip(1).flat_map(|remedy| remedy.split('"').skip(1).step_by(2))
                    .map(str::to_owned).collect()
            };
            for offer in text.parse::<Duration>().err().into_iter().flat_map(|e| offered(e.to_string())) {
                prop_assert!(offer.parse::<Duration>().is_ok(), "{} for {}", offer, text);
            }
            for offer in text.parse::<Rate>().err().into_iter().flat_map(|e| offered(e.to_string())) {
                prop_assert!(offer.parse::<Rate>().is_ok(), "{} for {}", offer, text);
            }
            for offer in text.parse::<Bytes>().err().into_iter().flat_map(|e| offered(e.to_string())) {
                prop_assert!(offer.parse::<Bytes>().is_ok(), "{} for {}", offer, text);
            }
        }
    }

    #[test]
    fn every_spelling_is_read() {
        for (unit, _) in TIMES {
            assert!(Duration::meant(&format!("7 {unit}")).is_some(), "{unit}");
        }
        for (unit, _) in RATES {
            assert!(Rate::meant(&format!("7 {unit}")).is_some(), "{unit}");
        }
        for (unit, _) in SIZES {
            assert!(Bytes::meant(&format!("8 {unit}")).is_some(), "{unit}");
        }
    }

    #[test]
    fn what_has_no_reading_or_two_is_not_guessed() {
        for text in ["nan s", "inf", "-1 s", "50 miles", "5 m", "1,000 s", "", "s", "1e999 s"] {
            assert_eq!(Duration::meant(text), None, "{text}");
        }
        for text in ["10 MB", "10 MBPS", "0 Mbps", "10 packets/s", "0.5 bps", "1 mps"] {
            assert_eq!(Rate::meant(text), None, "{text}");
        }
        for text in ["64 k", "10 Mb", "7 b", "9 bits", "10 MB/s", "3 packets"] {
            assert_eq!(Bytes::meant(text), None, "{text}");
        }
        let number = |text| meant_number(text, &["packets", ""]).map(|number| number.to_string());
        assert_eq!(number("1e3 Packets"), Some("1000".to_owned()));
        assert_eq!(number("7.50"), Some("7.5".to_owned()));
        assert_eq!(number("7 miles"), None);
    }
}
