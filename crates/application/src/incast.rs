//! A client that asks many servers at once and goes on when all of them have answered (A. Phanishayee et
//! al., "Measurement and Analysis of TCP Throughput Collapse in Cluster-based Storage Systems", FAST
//! 2008).

use fairway_units::Time;
use fairway_units::random::Stream;

use crate::exchange::Exchange;
use crate::times::Times;
use crate::{Context, Direction, Driver, Report};
use fairway_spec::Exchanges;

/// The client and its servers, each on a connection of its own.
pub(crate) struct Incast {
    what: Exchanges,
    stream: Stream,
    exchanges: Vec<Exchange>,
    /// Servers that have not answered completely.
    missing: usize,
    round_began: Time,
    /// Bytes of the round, and their rates in rounds that are over.
    bytes: u64,
    rates: Vec<(Time, f64)>,
    times: Times,
    started: Time,
    finished: Option<Time>,
}

impl Incast {
    pub(crate) fn new(what: Exchanges, servers: usize, stream: Stream) -> Self {
        Incast {
            what,
            stream,
            exchanges: vec![Exchange::default(); servers],
            missing: 0,
            round_began: Time::ZERO,
            bytes: 0,
            rates: Vec::new(),
            times: Times::default(),
            started: Time::ZERO,
            finished: None,
        }
    }
}

impl Driver for Incast {
    fn begin(&mut self, context: &mut dyn Context) {
        self.started = context.now();
        self.wake(context, 0);
    }

    fn wake(&mut self, context: &mut dyn Context, _: u32) {
        self.round_began = context.now();
        self.missing = self.exchanges.len();
        self.bytes = 0;
        for (server, exchange) in self.exchanges.iter_mut().enumerate() {
            exchange.ask(context, server, self.what.request.draw_bytes(&mut self.stream));
        }
    }

    fn delivered(&mut self, context: &mut dyn Context, server: usize, direction: Direction) {
        if direction == Direction::Reverse {
            let bytes = self.what.size.draw_bytes(&mut self.stream);
            self.bytes += bytes;
            return self.exchanges[server].answer(context, server, bytes);
        }
        self.missing -= 1;
        if self.missing > 0 {
            return;
        }
        let took = context.now().since(self.round_began).as_secs_f64();
        self.rates.push((context.now(), self.bytes as f64 * 8.0 / took));
        self.times.note(self.round_began, context.now());
        if !self.what.is_over(self.times.count()) {
            return context.wake(context.now() + self.what.think.draw_time(&mut self.stream), 0);
        }
        self.finished = Some(context.now());
        for (server, exchange) in self.exchanges.iter_mut().enumerate() {
            exchange.close(context, server);
        }
    }

    fn report(&self, [from, to]: [Time; 2]) -> Report {
        let inside = self.rates.iter().filter(|(at, _)| (from..=to).contains(at));
        let rates: Vec<f64> = inside.map(|(_, rate)| *rate).collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let names = [
            "rounds",
            "mean_round_time_s",
            "median_round_time_s",
            "p95_round_time_s",
            "p99_round_time_s",
        ];
        let mut figures = self.times.figures([from, to], names);
        figures.push(("mean_round_goodput_bps", (!rates.is_empty()).then_some(mean)));
        Report {
            completion: self.finished.map(|at| at.since(self.started)),
            figures,
            ..Report::default()
        }
    }
}
