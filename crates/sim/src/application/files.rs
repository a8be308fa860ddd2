//! Files sent one after the other, each on a connection of its own, as FTP sends them (RFC 959 section
//! 3.2), with time to think between them.

use fairway_units::Time;
use fairway_units::random::Stream;

use super::times::Times;
use super::{Driver, Hands, Report};
use crate::direction::Way;
use fairway_spec::Exchanges;

/// The sender of the files.
pub(super) struct Files {
    what: Exchanges,
    stream: Stream,
    began: Time,
    times: Times,
    started: Time,
    finished: Option<Time>,
}

impl Files {
    pub(super) fn new(what: Exchanges, stream: Stream) -> Self {
        Files {
            what,
            stream,
            began: Time::ZERO,
            times: Times::default(),
            started: Time::ZERO,
            finished: None,
        }
    }
}

impl Driver for Files {
    fn begin(&mut self, hands: &mut Hands<'_>) {
        self.started = hands.now;
        self.wake(hands, 0);
    }

    fn wake(&mut self, hands: &mut Hands<'_>, _: u32) {
        let connection = self.times.count() as usize;
        let bytes = self.what.size.draw_bytes(&mut self.stream);
        self.began = hands.now;
        hands.open(connection);
        hands.write(connection, Way::Forward, bytes);
        hands.close(connection);
        hands.await_delivery(connection, Way::Forward, bytes);
    }

    fn delivered(&mut self, hands: &mut Hands<'_>, _: usize, _: Way) {
        self.times.note(self.began, hands.now);
        if self.times.count() as usize == hands.count() {
            self.finished = Some(hands.now);
        } else {
            hands.wake(hands.now + self.what.think.draw_time(&mut self.stream), 0);
        }
    }

    fn report(&self, window: [Time; 2]) -> Report {
        Report {
            completion: self.finished.map(|at| at.since(self.started)),
            figures: self.times.figures(
                window,
                [
                    "files",
                    "mean_file_time_s",
                    "median_file_time_s",
                    "p95_file_time_s",
                    "p99_file_time_s",
                ],
            ),
            ..Report::default()
        }
    }
}
