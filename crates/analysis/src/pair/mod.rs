//! What a pair of captures tells that were taken at both ends of the same transfers: what was
//! lost, how long each packet took, and which loss caused which retransmission.
//!
//! Both captures are read in step, twice: first to learn how their clocks run against each other,
//! then to find every packet of one in the other. Memory holds what is on its way and what was
//! lost of late, whatever the captures' length.

mod beginning;
mod clock;
mod delays;
mod directions;
mod findings;
mod giving_up;
mod hull;
mod identity;
mod matching;
mod reading;
mod reordering;
pub mod report;
mod slab;
#[cfg(test)]
mod tests;
mod watch;

use std::path::Path;

use fairway_capture::read::{Capture, ReadError};
use fairway_units::Time;

pub use self::delays::CourseRow;
pub use self::report::PairReport;

use self::clock::{Clock, Estimate, Estimator};
use self::findings::{Collector, Findings};
use self::identity::{Mixer, Side};
use self::reading::{Heard, Pairing, Step};
use self::watch::{Arrival, Coverage, Watcher};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// Nothing of a capture can be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A capture comes from a pipe.
    #[error(
        "{name}: two captures are read twice, which a pipe does not allow; write it to a file first"
    )]
    Pipe {
        /// Its name.
        name: String,
    },
    /// They are not of the same transfers.
    #[error(
        "{first} and {second}: no packets in common: looked for the same TCP sequence and \
         acknowledgement numbers, and the same datagrams, in both; are they of the same transfers, taken at the same time? \
         Something between that ends connections and opens its own, such as a proxy, or that \
         changes sequence numbers, leaves nothing to recognise packets by"
    )]
    NothingInCommon {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// It was asked to stop.
    #[error("stopped")]
    Cancelled,
}

/// Told now and then how many packets have been read, both captures and both readings together;
/// stops the work if it says so.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> bool;

/// Compares the capture at one end of transfers with that at the other. The order does not matter
/// but for how results are told.
///
/// # Errors
/// If nothing of a capture can be read, one is a pipe, or they have nothing in common.
pub fn analyse(
    paths: [&Path; 2],
    names: [&str; 2],
    progress: Progress<'_>,
) -> Result<PairReport, PairError> {
    for (path, name) in paths.iter().zip(names) {
        let is_file = std::fs::metadata(path).map(|meta| meta.is_file());
        if *path == Path::new("-") || matches!(is_file, Ok(false)) {
            return Err(PairError::Pipe { name: name.to_owned() });
        }
    }
    analyse_streams(&mut |side| Capture::open(paths[side]), names, progress)
}

/// The same for anything that can be opened again and again.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_streams(
    open: &mut dyn FnMut(usize) -> Result<Capture, ReadError>,
    names: [&str; 2],
    progress: Progress<'_>,
) -> Result<PairReport, PairError> {
    let mut open_both = || -> Result<[Capture; 2], ReadError> {
        let mut captures = [open(0)?, open(1)?];
        captures.iter_mut().for_each(|capture| capture.verify_checksums(false));
        Ok(captures)
    };
    let mixer = Mixer::new();
    let beginning = beginning::find(&mut open_both()?, mixer).ok_or_else(|| nothing(names))?;

    let rough = Clock { reference_ns: 0, offset_ns: beginning.offset_ns, drift: 0.0 };
    let mut first = Pairing::new(mixer, &beginning, Coverage::ALL);
    let mut listener = Listener::new(rough);
    let heard = reading::read(open_both()?, &mut first, &mut listener, 0, progress)?;
    let estimate = listener.estimate();

    let coverage = coverage(&heard, &estimate);
    let mut second = Pairing::new(mixer, &beginning, coverage);
    let mut collector = Collector::new(estimate.clock);
    let so_far = heard.packets.iter().sum();
    reading::read(open_both()?, &mut second, &mut collector, so_far, progress)?;
    let frame = report::Frame {
        names: names.map(str::to_owned),
        packets: heard.packets,
        start: heard.first[0].unwrap_or(Time::ZERO),
        level: beginning.level,
        is_crowded: second.matcher.is_crowded,
        estimate,
    };
    Ok(report::report(frame, &second.directions.connections, collector.directions))
}

fn nothing(names: [&str; 2]) -> PairError {
    PairError::NothingInCommon { first: names[0].to_owned(), second: names[1].to_owned() }
}

/// A time as a signed number: differences of clocks may be negative.
fn nanos(at: Time) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}

/// The time that both captures cover, by the first one's clock.
fn coverage(heard: &Heard, estimate: &Estimate) -> Coverage {
    let by_first = |side: Side, at: Time| match side {
        Side::First => nanos(at),
        Side::Second => estimate.clock.first_of(nanos(at)),
    };
    let zero = Time::ZERO;
    Coverage {
        from_ns: Side::BOTH.map(|side| by_first(side, heard.first[side.index()].unwrap_or(zero))),
        until_ns: Side::BOTH.map(|side| by_first(side, heard.last[side.index()])),
        // Both are taken to be equal; less a little, since a rounded clock may be before.
        least_delay_ns: [(estimate.least_round_trip_ns / 2.0) as i64 - 1000; 2],
    }
}

/// The first reading: learns how the clocks run, and follows them so far as packets have to be
/// read in step.
struct Listener {
    rough: Clock,
    estimator: Option<Estimator>,
    /// What the delay of late packets was there and back, by both clocks.
    recent_ns: [Option<i64>; 2],
}

/// Packets over which recent delays are averaged: few enough to follow a clock that drifts by
/// 1000 ppm, many enough to be steady.
const RECENT: i64 = 16;

impl Listener {
    fn new(rough: Clock) -> Listener {
        Listener { rough, estimator: None, recent_ns: [None; 2] }
    }

    fn estimate(&self) -> Estimate {
        match &self.estimator {
            Some(estimator) => estimator.estimate(),
            None => Estimate { clock: self.rough, ..Estimate::default() },
        }
    }
}

impl Watcher for Listener {
    #[inline]
    fn arrived(&mut self, _way: usize, source: Side, arrival: &Arrival) {
        let delay_ns = arrival.at_ns.saturating_sub(arrival.sent.at_ns);
        let second_ns = match source {
            Side::First => arrival.at_ns,
            Side::Second => arrival.sent.at_ns,
        };
        let offset_ns = self.rough.offset_ns;
        let estimator = self.estimator.get_or_insert_with(|| Estimator::new(second_ns, offset_ns));
        estimator.add(source, arrival);
        let recent = &mut self.recent_ns[source.index()];
        let before = recent.unwrap_or(delay_ns);
        let step = delay_ns.saturating_sub(before) / RECENT;
        *recent = Some(before.saturating_add(step).min(delay_ns));
        if let [Some(there), Some(back)] = self.recent_ns {
            self.rough.offset_ns = there / 2 - back / 2;
        }
    }
}

impl Step for Listener {
    fn clock(&self) -> Clock {
        self.rough
    }

    fn add_way(&mut self) {}
}

impl Step for Collector {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn add_way(&mut self) {
        self.directions.push(Findings::default());
    }
}
