//! Applications that have several connections, or do more with one than write and close.
//!
//! An application is a [`Driver`]: it is told when it begins, when a connection has delivered what it
//! waits for, and when one has room for more; and it acts through a [`Context`], which the simulator
//! has over its connections and the agent of a kernel over sockets. So an application has one definition
//! and the same random numbers in both. Connections whose application only writes and closes need none.

mod bursts;
mod context;
mod deal;
mod direction;
mod exchange;
mod files;
mod incast;
mod reader;
mod reordering;
mod requests;
mod striping;
mod times;
mod video;
mod web;
mod writes;

use fairway_schema::{ApplicationSummary, FlowSummary};
use fairway_units::random::Stream;
use fairway_units::{Duration, Time};

pub use context::Context;
pub use direction::Direction;
pub use reader::Reader;

use fairway_spec::{Application, Workload};

/// What an application does.
pub trait Driver: Send {
    /// Its start has come.
    fn begin(&mut self, context: &mut dyn Context);

    /// A connection has delivered as many bytes in `direction` as were waited for, or more.
    fn delivered(&mut self, context: &mut dyn Context, connection: usize, direction: Direction);

    /// Less of what was written to a connection waits to be sent than it was asked to have.
    fn has_room(&mut self, _context: &mut dyn Context, _connection: usize) {}

    /// The time has come that it asked for, with this token.
    fn wake(&mut self, _context: &mut dyn Context, _token: u32) {}

    /// The measuring window begins.
    fn window_begins(&mut self, _now: Time) {}

    /// The measuring window ends.
    fn window_ends(&mut self, _now: Time) {}

    /// What it got done in a measuring window from then to then.
    fn report(&self, window: [Time; 2]) -> Report;
}

/// What an application says of itself.
#[derive(Default)]
pub struct Report {
    /// Bytes that were of use to it, in the measuring window; all that was delivered, if it does not say.
    pub goodput_bytes: Option<u64>,
    /// From its start to its end, if it has ended.
    pub completion: Option<Duration>,
    /// Figures of its kind, with their units in their names.
    pub figures: Vec<(&'static str, Option<f64>)>,
}

/// The names of an application's figures, in the order of [`Report::figures`].
pub fn figure_names(application: &Application) -> Vec<&'static str> {
    let report = driver(application, 0).map(|driver| driver.report([Time::ZERO; 2]));
    let figures = report.map(|report| report.figures).unwrap_or_default();
    figures.into_iter().map(|(name, _)| name).collect()
}

/// The driver of an application, if its connections do not go by themselves.
pub fn driver(application: &Application, seed: u64) -> Option<Box<dyn Driver>> {
    let connections = application.connections.len();
    let stream =
        || Stream::new(seed, &format!("flow/{}/application", application.connections.start));
    Some(match &application.workload {
        Workload::Striped(striping) => Box::new(striping::Striped::new(connections, striping)),
        // Commands run on a kernel alone.
        Workload::Arrivals | Workload::Program(_) => return None,
        Workload::Files(what) => Box::new(files::Files::new(what.clone(), stream())),
        Workload::Writes(what) => Box::new(writes::Writes::new(what.clone(), stream())),
        Workload::Requests(what) => Box::new(requests::Requests::new(what.clone(), stream())),
        Workload::Web(what) => Box::new(web::Web::new(what.clone(), connections, stream())),
        Workload::Incast(what) => {
            Box::new(incast::Incast::new(what.clone(), connections, stream()))
        }
        Workload::Bursts(what) => Box::new(bursts::Bursts::new(what.clone(), stream())),
        Workload::Video(film) => Box::new(video::Video::new(film.clone(), stream())),
    })
}

/// The row of an application in the summary.
pub fn summary(
    application: &Application,
    report: Report,
    flows: &[&FlowSummary],
    window: Duration,
) -> ApplicationSummary {
    let of_flows =
        ApplicationSummary::of_flows(&application.id, application.workload.name(), flows);
    let goodput_bps = |bytes: u64| bytes as f64 * 8.0 / window.as_secs_f64();
    ApplicationSummary {
        connections: application.connections.len() as u64,
        goodput_bps: report.goodput_bytes.map_or(of_flows.goodput_bps, goodput_bps),
        fct_s: report.completion.map(Duration::as_secs_f64),
        figures: report.figures,
        ..of_flows
    }
}
