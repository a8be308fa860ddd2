//! The times in front of lines: `-t` to `-ttttt`.

use fairway_units::{NANOS_PER_SEC, Time};

const DAY_NS: u64 = 24 * 3600 * NANOS_PER_SEC;

/// A time as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamp {
    /// `-t`: there is none.
    None,
    /// `-tt`, and `-tttt` with its date: since 1970.
    Epoch(u64),
    /// Hours, minutes and seconds: of the day, since the line before (`-ttt`), or since the first
    /// (`-ttttt`).
    Clock(u64),
    /// Versions before 4.1 with `-ttt`: microseconds since the line before.
    Since(u64),
}

/// How the times of a file count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    OfDay,
    SinceFirst,
    SinceLast,
}

/// Turns times as they are written into times that go on.
pub struct Clock {
    meaning: Meaning,
    last_ns: u64,
    last_stamp_ns: u64,
    days: u64,
}

impl Clock {
    /// By the first times of a file; none without any. A file that begins at 0 counts from its
    /// first packet, or from packet to packet if its times ever go back.
    pub fn by_first(stamps: impl Iterator<Item = Stamp>) -> Option<Clock> {
        let mut first = None;
        let (mut last_ns, mut goes_back) = (0, false);
        for stamp in stamps {
            first.get_or_insert(stamp);
            if let Stamp::Clock(ns) = stamp {
                goes_back |= ns < last_ns;
                last_ns = ns;
            }
        }
        let meaning = match first? {
            Stamp::Clock(0) if goes_back => Meaning::SinceLast,
            Stamp::Clock(0) => Meaning::SinceFirst,
            _ => Meaning::OfDay,
        };
        Some(Clock { meaning, last_ns: 0, last_stamp_ns: 0, days: 0 })
    }

    /// When that is.
    pub fn time(&mut self, stamp: Stamp) -> Time {
        self.last_ns = match (stamp, self.meaning) {
            (Stamp::None, _) => self.last_ns,
            (Stamp::Epoch(ns), _) | (Stamp::Clock(ns), Meaning::SinceFirst) => ns,
            (Stamp::Since(ns), _) | (Stamp::Clock(ns), Meaning::SinceLast) => {
                self.last_ns.saturating_add(ns)
            }
            (Stamp::Clock(ns), Meaning::OfDay) => {
                // Back by more than half a day: midnight has passed.
                if self.last_stamp_ns > ns + DAY_NS / 2 {
                    self.days += 1;
                }
                self.last_stamp_ns = ns;
                (self.days * DAY_NS).saturating_add(ns)
            }
        };
        Time::from_nanos(self.last_ns.min(u64::MAX - 1))
    }
}

/// The time of a line, and the rest of it. Nothing if it begins with neither a time nor `IP`.
pub fn split(line: &str) -> Option<(Stamp, &str)> {
    let line = line.trim_start();
    if line.starts_with("IP ") || line.starts_with("IP6 ") || line.starts_with("ARP") {
        return Some((Stamp::None, line));
    }
    let (word, rest) = line.split_once(' ')?;
    if let Some(ns) = of_clock(word) {
        return Some((Stamp::Clock(ns), rest));
    }
    if let Some(day) = days_since_1970(word) {
        let (word, rest) = rest.trim_start().split_once(' ')?;
        let ns = day.checked_mul(DAY_NS)?.checked_add(of_clock(word)?)?;
        return Some((Stamp::Epoch(ns), rest));
    }
    if let Some((whole, part)) = word.split_once('.') {
        let whole_ns = number(whole)?.checked_mul(NANOS_PER_SEC)?;
        // `1. 000123`, seconds and microseconds since the line before.
        if part.is_empty() {
            let (word, rest) = rest.trim_start().split_once(' ')?;
            let ns = whole_ns.checked_add(number(word)?.checked_mul(1000)?)?;
            return (word.len() == 6).then_some((Stamp::Since(ns), rest));
        }
        return Some((Stamp::Epoch(whole_ns.checked_add(fraction_ns(part)?)?), rest));
    }
    if word.len() != 6 {
        return None;
    }
    Some((Stamp::Since(number(word)? * 1000), rest))
}

/// `16:37:47.185116`.
fn of_clock(word: &str) -> Option<u64> {
    let mut parts = word.split(':');
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds = parts.next()?;
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let seconds = number(seconds)?;
    if parts.next().is_some() || minutes > 59 || seconds > 60 || hours > 1_000_000 {
        return None;
    }
    Some(((hours * 60 + minutes) * 60 + seconds) * NANOS_PER_SEC + fraction_ns(fraction)?)
}

/// `2026-11-22`, as UTC: the text does not say where it was.
fn days_since_1970(word: &str) -> Option<u64> {
    let mut parts = word.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    // So many days lie between 1 March of year 0 and 1 January 1970.
    days.checked_sub(719_468)
}

fn fraction_ns(digits: &str) -> Option<u64> {
    let value = number(digits)?;
    let missing = 9_u32.checked_sub(u32::try_from(digits.len()).ok()?)?;
    Some(value * 10_u64.pow(missing))
}

fn number(digits: &str) -> Option<u64> {
    if digits.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(stamps: &[&str]) -> Vec<u64> {
        let stamps: Vec<_> = stamps
            .iter()
            .map(|text| split(&format!("{text} IP a")).unwrap_or_else(|| panic!("{text}")).0)
            .collect();
        let mut clock = Clock::by_first(stamps.iter().copied()).unwrap();
        stamps.iter().map(|&stamp| clock.time(stamp).as_nanos() / 1000).collect()
    }

    #[test]
    fn each_way_to_write_a_time() {
        assert_eq!(times(&["1.000001", "1795319321.989560"]), [1_000_001, 1_795_319_321_989_560]);
        assert_eq!(times(&["16:37:47.185116"]), [59_867_185_116]);
        // 20,779 days, as `date -ud 2026-11-22 +%s` says 1795305600 s.
        assert_eq!(times(&["2026-11-22 00:00:01.5"]), [1_795_305_601_500_000]);
        assert_eq!(times(&["2000-02-29 00:00:00"]), [951_782_400_000_000]);
        assert_eq!(times(&["000000", "000012", "1. 000001"]), [0, 12, 1_000_013]);
    }

    #[test]
    fn midnight_passes() {
        assert_eq!(
            times(&["23:59:59.000000", "00:00:01.000000", "23:59:58.0", "00:00:02.0"]),
            [86_399_000_000, 86_401_000_000, 172_798_000_000, 172_802_000_000],
        );
    }

    #[test]
    fn a_file_that_begins_at_zero_counts_from_packet_to_packet_or_from_its_first() {
        let zero = "00:00:00.000000";
        assert_eq!(times(&[zero, "00:00:00.000005", "00:00:00.000003"]), [0, 5, 8]);
        assert_eq!(times(&[zero, "00:00:00.000005", "00:00:00.000007"]), [0, 5, 7]);
    }

    #[test]
    fn what_is_no_time() {
        for line in [
            "tcpdump: x",
            "10 packets captured",
            "1:2 x",
            "1.2.3.4 > 5",
            "99999999999999999999.1 x",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
    }
}
