//! Limits of a direction, as a sentence with evidence.

use crate::window::limits::Limit;
use crate::window::vantage::Position;
use crate::window::{LossReport, WindowReport};

/// Share of the time from which a limit is worth a word beside the largest.
const WORTH_A_WORD: f64 = 0.1;

/// Limits of a direction; `mss` is the payload of a full segment in bytes.
pub(super) fn limited_by(report: &WindowReport, mss: u64) -> String {
    let Some((limit, share)) = report.limits.largest() else {
        return "nothing to tell by: no time passes between its segments".to_owned();
    };
    let mut text = format!("{} ({})", main(limit, report, mss), percent(share));
    let others = [
        (Limit::ReceiveWindow, "the receive window"),
        (Limit::CongestionWindow, "the congestion window"),
        (Limit::ConstantWindow, "a constant window"),
        (Limit::Application, "the application"),
        (Limit::Pacing, "pacing"),
        (Limit::Timeout, "waits for timers"),
    ];
    let mut others: Vec<(f64, &str)> = others
        .into_iter()
        .filter(|(other, _)| *other != limit)
        .map(|(other, name)| (report.limits.of(other), name))
        .filter(|(share, _)| *share >= WORTH_A_WORD)
        .collect();
    others.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (share, name) in others {
        text += &format!("; {name} ({})", percent(share));
    }
    text + match report.vantage.position {
        Position::Sender => "",
        Position::Middle => "; seen from the middle of the path",
        Position::Receiver => "; seen from the receiver",
        Position::Unknown => "; where the capture stands is not known, and taken to be the sender",
    }
}

fn main(limit: Limit, report: &WindowReport, mss: u64) -> String {
    let segments = |bytes: u64| format!("{:.0} segments", bytes as f64 / mss as f64);
    match limit {
        Limit::CongestionWindow => congestion(report, mss),
        Limit::ReceiveWindow => {
            let most = report.receive_window.max_bytes.unwrap_or(0);
            let closed = match report.receive_window.zero_windows {
                0 => String::new(),
                1 => ", closed once".to_owned(),
                times => format!(", closed {times} times"),
            };
            format!("the receive window, of {most} bytes at the most{closed}")
        }
        Limit::ConstantWindow => format!(
            "a window that stays at {}: the send buffer, a clamp, or a congestion control at rest",
            segments(report.constant_window_bytes.unwrap_or(0))
        ),
        Limit::Application => "the application, which had nothing to send".to_owned(),
        Limit::Pacing => "the sender's own clock: segments leave at an even pace and not with \
                          acknowledgements"
            .to_owned(),
        Limit::Timeout => format!(
            "timers, which expired {} times because acknowledgements stayed away",
            report.losses.causes.timeout + report.losses.causes.tail_loss_probe
        ),
    }
}

fn congestion(report: &WindowReport, mss: u64) -> String {
    let LossReport { causes, spurious, .. } = &report.losses;
    let lost = causes.segments.saturating_sub(spurious.segments);
    let most = report.max_cwnd_bytes.unwrap_or(0) as f64 / mss as f64;
    if causes.segments > 0 {
        let episodes = report.losses.episodes.len() as u64 + report.losses.episodes_not_listed;
        let times = if episodes == 1 { "episode" } else { "episodes" };
        return format!(
            "the congestion window, of {most:.0} segments at the most, which losses kept down: \
             {lost} segments in {episodes} {times}"
        );
    }
    if report.slow_start.is_none() {
        return format!(
            "the congestion window, still in slow start at {most:.0} segments: the transfer was \
             over before it could open"
        );
    }
    format!("the congestion window, of {most:.0} segments at the most, without losses")
}

fn percent(share: f64) -> String {
    format!("{:.0} % of the time", share * 100.0)
}
