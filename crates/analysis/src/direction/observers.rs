//! Who looks on while a direction is followed.

use fairway_units::Time;

use crate::analyser::FitOptions;
use crate::detail::{Detail, RowBudget};
use crate::event::{Acked, Flow, Observer, Sent};
use crate::fit::Fit;
use crate::identify::{Identify, Slots};
use crate::series::Series;
use crate::window::{Window, WindowReport};

/// What is kept of a connection besides counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Intervals of a series; 0 for no series.
    pub(crate) intervals: usize,
    /// Single packets between two times, within the budget.
    pub(crate) detail: Option<(Time, Time, RowBudget)>,
    /// Which congestion control its senders have.
    pub(crate) identify: Option<Slots>,
    /// The path that it took.
    pub(crate) fit: Option<FitOptions>,
}

/// Everybody who looks on, made when the direction first carries data: most directions of most
/// captures never do. A new observer is a field here, a line in `new` and one in both functions of
/// [`Observer`]; one that needs more than a few hundred bytes is boxed.
pub(crate) struct Observers {
    pub(crate) series: Option<Box<Series>>,
    pub(crate) detail: Option<Box<Detail>>,
    /// The window, causes of retransmissions, and limits.
    pub(crate) window: WindowSoFar,
    pub(crate) identify: Option<Identify>,
    pub(crate) fit: Option<Box<Fit>>,
}

/// The window of a direction that goes on, or what it was of one that is over, which is smaller.
pub(crate) enum WindowSoFar {
    Open(Box<Window>),
    Over(Box<WindowReport>),
}

impl WindowSoFar {
    /// Its kind.
    pub(crate) fn into_report(self) -> Box<WindowReport> {
        match self {
            WindowSoFar::Open(window) => Box::new(window.report()),
            WindowSoFar::Over(report) => report,
        }
    }
}

impl Observers {
    pub(crate) fn new(watch: &Watch) -> Observers {
        let intervals = Some(watch.intervals).filter(|&intervals| intervals > 0);
        Observers {
            series: intervals.map(|intervals| Box::new(Series::new(intervals))),
            detail: watch.detail.as_ref().map(|(from, until, budget)| {
                let detail = Detail::new(*from, *until, budget.clone());
                Box::new(detail)
            }),
            window: WindowSoFar::Open(Box::default()),
            identify: watch.identify.as_ref().map(Identify::new),
            fit: watch.fit.map(|fit| Box::new(Fit::new(fit.overhead_bytes))),
        }
    }

    /// Both directions are over: keeps what the window was.
    pub(crate) fn fold(&mut self) {
        if let WindowSoFar::Open(window) = &self.window {
            self.window = WindowSoFar::Over(Box::new(window.report()));
        }
    }
}

impl Observer for Observers {
    #[inline]
    fn sent(&mut self, sent: &Sent, flow: &Flow) {
        if let Some(series) = &mut self.series {
            series.sent(sent, flow);
        }
        if let Some(detail) = &mut self.detail {
            detail.sent(sent, flow);
        }
        if let WindowSoFar::Open(window) = &mut self.window {
            window.sent(sent, flow);
        }
        if let Some(identify) = &mut self.identify {
            identify.sent(sent, flow);
        }
        if let Some(fit) = &mut self.fit {
            fit.sent(sent, flow);
        }
    }

    #[inline]
    fn acked(&mut self, acked: &Acked, flow: &Flow) {
        if let Some(series) = &mut self.series {
            series.acked(acked, flow);
        }
        if let Some(detail) = &mut self.detail {
            detail.acked(acked, flow);
        }
        if let WindowSoFar::Open(window) = &mut self.window {
            window.acked(acked, flow);
        }
        if let Some(identify) = &mut self.identify {
            identify.acked(acked, flow);
        }
        if let Some(fit) = &mut self.fit {
            fit.acked(acked, flow);
        }
    }
}
