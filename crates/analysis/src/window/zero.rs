//! Receive windows that are closed, and the smallest and largest that were announced.

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Acked, Sent, SentKind};

/// The receive window of a direction, as the capture saw it announced.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct ReceiveWindow {
    /// The smallest that was announced; null if none was.
    pub min_bytes: Option<u64>,
    /// The largest.
    pub max_bytes: Option<u64>,
    /// Times that it closed.
    pub zero_windows: u64,
    /// How long it was closed altogether, in seconds.
    pub zero_window_s: f64,
    /// The longest time that it was closed, in seconds.
    pub longest_zero_window_s: f64,
    /// Probes of a closed window.
    pub window_probes: u64,
}

/// Follows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Zero {
    report: ReceiveWindow,
    closed: Option<Time>,
    total: Duration,
    longest: Duration,
}

impl Zero {
    pub(super) fn sent(&mut self, sent: &Sent) {
        self.report.window_probes += u64::from(sent.kind == SentKind::WindowProbe);
    }

    pub(super) fn acked(&mut self, acked: &Acked) {
        let window = acked.window_bytes;
        let report = &mut self.report;
        report.min_bytes = Some(report.min_bytes.map_or(window, |least| least.min(window)));
        report.max_bytes = Some(report.max_bytes.map_or(window, |most| most.max(window)));
        match (window, self.closed) {
            (0, None) => {
                report.zero_windows += 1;
                self.closed = Some(acked.at);
            }
            (1.., Some(since)) => {
                self.open(acked.at.since(since));
                self.closed = None;
            }
            _ => {}
        }
    }

    fn open(&mut self, span: Duration) {
        self.total += span;
        self.longest = self.longest.max(span);
    }

    /// The report, up to the last packet.
    pub(super) fn report(mut self, end: Option<Time>) -> ReceiveWindow {
        if let (Some(since), Some(end)) = (self.closed, end) {
            self.open(end.since(since));
        }
        ReceiveWindow {
            zero_window_s: self.total.as_secs_f64(),
            longest_zero_window_s: self.longest.as_secs_f64(),
            ..self.report
        }
    }
}
