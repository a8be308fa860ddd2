//! Somebody at a keyboard: small writes with gaps between them, each of which is awaited at the other end.

use std::collections::VecDeque;

use fairway_units::Time;
use fairway_units::random::Stream;

use crate::times::Times;
use crate::{Context, Direction, Driver, Report};
use fairway_spec::Exchanges;

/// The one who writes.
pub(crate) struct Writes {
    what: Exchanges,
    stream: Stream,
    written: u64,
    count: u64,
    /// What is on its way: where each write ends, and when it was.
    pending: VecDeque<(u64, Time)>,
    /// Since when a write waits for room.
    waits_since: Option<Time>,
    times: Times,
    started: Time,
    finished: Option<Time>,
}

impl Writes {
    pub(crate) fn new(what: Exchanges, stream: Stream) -> Self {
        Writes {
            what,
            stream,
            written: 0,
            count: 0,
            pending: VecDeque::new(),
            waits_since: None,
            times: Times::default(),
            started: Time::ZERO,
            finished: None,
        }
    }
}

impl Writes {
    /// What was begun at a time is written now.
    fn write(&mut self, context: &mut dyn Context, began: Time) {
        let bytes = self.what.size.draw_bytes(&mut self.stream);
        self.written += bytes;
        self.count += 1;
        context.write(0, Direction::Forward, bytes);
        self.pending.push_back((self.written, began));
        if self.pending.len() == 1 {
            context.await_delivery(0, Direction::Forward, self.written);
        }
        if self.what.is_over(self.count) {
            context.close(0);
        } else {
            context.wake(context.now() + self.what.think.draw_time(&mut self.stream), 0);
        }
    }
}

impl Driver for Writes {
    fn begin(&mut self, context: &mut dyn Context) {
        self.started = context.now();
        context.open(0);
        context.wake(context.now() + self.what.think.draw_time(&mut self.stream), 0);
    }

    fn wake(&mut self, context: &mut dyn Context, _: u32) {
        if context.is_stopped(0) {
            return;
        }
        if context.is_full(0) {
            self.waits_since = Some(context.now());
            context.await_room(0);
        } else {
            let now = context.now();
            self.write(context, now);
        }
    }

    fn has_room(&mut self, context: &mut dyn Context, _: usize) {
        context.keep_filled(0, 0);
        if let Some(since) = self.waits_since.take() {
            self.write(context, since);
        }
    }

    fn delivered(&mut self, context: &mut dyn Context, _: usize, _: Direction) {
        let delivered = context.delivered(0, Direction::Forward);
        while let Some((end, at)) = self.pending.front().copied()
            && end <= delivered
        {
            self.pending.pop_front();
            self.times.note(at, context.now());
        }
        match self.pending.front() {
            Some((end, _)) => context.await_delivery(0, Direction::Forward, *end),
            None if self.what.is_over(self.count) => self.finished = Some(context.now()),
            None => {}
        }
    }

    fn report(&self, window: [Time; 2]) -> Report {
        Report {
            completion: self.finished.map(|at| at.since(self.started)),
            figures: self.times.figures(
                window,
                ["writes", "mean_delay_s", "median_delay_s", "p95_delay_s", "p99_delay_s"],
            ),
            ..Report::default()
        }
    }
}
