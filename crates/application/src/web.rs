//! A browser: pages of objects, the first one alone, the others over several connections at a time.

use fairway_units::Time;
use fairway_units::random::Stream;

use crate::exchange::Exchange;
use crate::times::Times;
use crate::{Context, Direction, Driver, Report};
use fairway_spec::Exchanges;

/// The browser and its server.
pub(crate) struct Web {
    what: Exchanges,
    stream: Stream,
    exchanges: Vec<Exchange>,
    /// Objects of the page that were not asked for yet, and that were asked for and have not come.
    unasked: u64,
    expected: u64,
    page_began: Time,
    times: Times,
    started: Time,
    finished: Option<Time>,
}

impl Web {
    pub(crate) fn new(what: Exchanges, connections: usize, stream: Stream) -> Self {
        Web {
            what,
            stream,
            exchanges: vec![Exchange::default(); connections],
            unasked: 0,
            expected: 0,
            page_began: Time::ZERO,
            times: Times::default(),
            started: Time::ZERO,
            finished: None,
        }
    }

    /// Ask for the next object on a connection that waits for nothing, if there is one.
    fn ask(&mut self, context: &mut dyn Context, connection: usize) {
        if self.unasked == 0 {
            return;
        }
        self.unasked -= 1;
        self.expected += 1;
        let bytes = self.what.request.draw_bytes(&mut self.stream);
        self.exchanges[connection].ask(context, connection, bytes);
    }

    fn page_is_there(&mut self, context: &mut dyn Context) {
        self.times.note(self.page_began, context.now());
        if !self.what.is_over(self.times.count()) {
            return context.wake(context.now() + self.what.think.draw_time(&mut self.stream), 0);
        }
        self.finished = Some(context.now());
        for (connection, exchange) in self.exchanges.iter_mut().enumerate() {
            exchange.close(context, connection);
        }
    }
}

impl Driver for Web {
    fn begin(&mut self, context: &mut dyn Context) {
        self.started = context.now();
        self.wake(context, 0);
    }

    fn wake(&mut self, context: &mut dyn Context, _: u32) {
        self.page_began = context.now();
        self.unasked = self.what.objects;
        self.ask(context, 0);
    }

    fn delivered(&mut self, context: &mut dyn Context, connection: usize, direction: Direction) {
        if direction == Direction::Reverse {
            let bytes = self.what.size.draw_bytes(&mut self.stream);
            return self.exchanges[connection].answer(context, connection, bytes);
        }
        self.expected -= 1;
        let is_first = self.unasked + self.expected + 1 == self.what.objects;
        if is_first {
            (0..self.exchanges.len()).for_each(|connection| self.ask(context, connection));
        } else {
            self.ask(context, connection);
        }
        if self.unasked + self.expected == 0 {
            self.page_is_there(context);
        }
    }

    fn report(&self, window: [Time; 2]) -> Report {
        Report {
            completion: self.finished.map(|at| at.since(self.started)),
            figures: self.times.figures(
                window,
                [
                    "pages",
                    "mean_page_load_time_s",
                    "median_page_load_time_s",
                    "p95_page_load_time_s",
                    "p99_page_load_time_s",
                ],
            ),
            ..Report::default()
        }
    }
}
