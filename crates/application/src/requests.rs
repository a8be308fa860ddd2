//! A client that asks, reads the whole answer, thinks, and asks again.

use fairway_units::Time;
use fairway_units::random::Stream;

use crate::exchange::Exchange;
use crate::times::Times;
use crate::{Context, Direction, Driver, Report};
use fairway_spec::Exchanges;

/// Both ends.
pub(crate) struct Requests {
    what: Exchanges,
    stream: Stream,
    exchange: Exchange,
    asked_at: Time,
    times: Times,
    started: Time,
    finished: Option<Time>,
}

impl Requests {
    pub(crate) fn new(what: Exchanges, stream: Stream) -> Self {
        Requests {
            what,
            stream,
            exchange: Exchange::default(),
            asked_at: Time::ZERO,
            times: Times::default(),
            started: Time::ZERO,
            finished: None,
        }
    }
}

impl Driver for Requests {
    fn begin(&mut self, context: &mut dyn Context) {
        self.started = context.now();
        self.wake(context, 0);
    }

    fn wake(&mut self, context: &mut dyn Context, _: u32) {
        self.asked_at = context.now();
        self.exchange.ask(context, 0, self.what.request.draw_bytes(&mut self.stream));
    }

    fn delivered(&mut self, context: &mut dyn Context, _: usize, direction: Direction) {
        if direction == Direction::Reverse {
            return self.exchange.answer(context, 0, self.what.size.draw_bytes(&mut self.stream));
        }
        self.times.note(self.asked_at, context.now());
        if self.what.is_over(self.times.count()) {
            self.finished = Some(context.now());
            return self.exchange.close(context, 0);
        }
        context.wake(context.now() + self.what.think.draw_time(&mut self.stream), 0);
    }

    fn report(&self, window: [Time; 2]) -> Report {
        Report {
            completion: self.finished.map(|at| at.since(self.started)),
            figures: self.times.figures(
                window,
                [
                    "responses",
                    "mean_response_time_s",
                    "median_response_time_s",
                    "p95_response_time_s",
                    "p99_response_time_s",
                ],
            ),
            ..Report::default()
        }
    }
}
