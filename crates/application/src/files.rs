//! Files sent one after the other, each on a connection of its own, as FTP sends them (RFC 959 section
//! 3.2), with time to think between them.

use fairway_units::Time;
use fairway_units::random::Stream;

use crate::times::Times;
use crate::{Context, Direction, Driver, Report};
use fairway_spec::Exchanges;

/// The sender of the files.
pub(crate) struct Files {
    what: Exchanges,
    stream: Stream,
    began: Time,
    times: Times,
    started: Time,
    finished: Option<Time>,
}

impl Files {
    pub(crate) fn new(what: Exchanges, stream: Stream) -> Self {
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
    fn begin(&mut self, context: &mut dyn Context) {
        self.started = context.now();
        self.wake(context, 0);
    }

    fn wake(&mut self, context: &mut dyn Context, _: u32) {
        let connection = self.times.count() as usize;
        let bytes = self.what.size.draw_bytes(&mut self.stream);
        self.began = context.now();
        context.open(connection);
        context.write(connection, Direction::Forward, bytes);
        context.close(connection);
        context.await_delivery(connection, Direction::Forward, bytes);
    }

    fn delivered(&mut self, context: &mut dyn Context, _: usize, _: Direction) {
        self.times.note(self.began, context.now());
        if self.times.count() as usize == context.count() {
            self.finished = Some(context.now());
        } else {
            context.wake(context.now() + self.what.think.draw_time(&mut self.stream), 0);
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
