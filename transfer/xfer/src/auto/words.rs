//! Reasons of decisions as text, for the log.

use super::point::Point;
use super::search::Gain;
use crate::words::count;

pub(super) fn streams(number: u32) -> String {
    count(number.into(), "stream")
}

/// A verb with that subject: "carries", "carry".
pub(super) fn carry(number: u32) -> String {
    let verb = if number == 1 { "carries" } else { "carry" };
    format!("{} {verb}", streams(number))
}

/// "9.6 Mbit/s", to three digits.
pub(super) fn rate(bps: f64) -> String {
    let (scaled, unit) = match bps {
        _ if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
        _ if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
        _ if bps >= 1e3 => (bps / 1e3, "kbit/s"),
        _ => (bps, "bit/s"),
    };
    let digits = match scaled {
        _ if scaled >= 100.0 => 0,
        _ if scaled >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$} {unit}")
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = usize::from(percent.abs() < 10.0 && percent.fract().abs() > 1e-9);
    format!("{percent:.digits$} %")
}

/// "14 streams carry 3 % more than 10".
pub(super) fn comparison(from: &Point, to: &Point) -> String {
    let gain = Gain::of(from, to).share;
    let how = if gain >= 0.0 { "more" } else { "less" };
    format!("{} {} {how} than {}", carry(to.streams), percent(gain.abs()), from.streams)
}

/// "within the noise of 4 %".
pub(super) fn within(gain: &Gain) -> String {
    if gain.noise > super::search::WORTH {
        format!("within the noise of {}", percent(gain.noise))
    } else {
        format!("not the {} that would be worth it", percent(super::search::WORTH))
    }
}

/// What a point looks like, and what holds its streams back.
pub(super) fn found(point: &Point) -> String {
    let cause = match (point.window_limited, point.queues(), point.retransmitted > 0) {
        (true, false, _) => "; their windows hold them back".to_owned(),
        (_, true, _) => {
            let queue_ms = (point.srtt_s - point.min_rtt_s) * 1e3;
            format!("; {queue_ms:.0} ms wait in a queue")
        }
        (false, false, true) => format!("; {} of it was lost", percent(point.loss())),
        (false, false, false) => String::new(),
    };
    format!("{} {}{cause}", carry(point.streams), rate(point.goodput_bps))
}

pub(super) fn losses(from: &Point, to: &Point) -> String {
    format!("{} was lost where {} lost {}", percent(to.loss()), from.streams, percent(from.loss()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(rate(9_612_345.0), "9.61 Mbit/s");
        assert_eq!(rate(96_123_450.0), "96.1 Mbit/s");
        assert_eq!(rate(123.0), "123 bit/s");
        assert_eq!(
            (percent(0.034), percent(0.5), percent(0.03)),
            ("3.4 %".into(), "50 %".into(), "3 %".into())
        );
        assert_eq!((carry(1), carry(2)), ("1 stream carries".into(), "2 streams carry".into()));
    }
}
