//! An application that writes at a rate for a while, and then not at all for a while.

use std::collections::VecDeque;

use fairway_units::random::Stream;
use fairway_units::{Duration, Time};

use crate::times::Times;
use crate::{Context, Direction, Driver, Report};
use fairway_spec::OnOff;

/// The one who writes.
pub(crate) struct Bursts {
    what: OnOff,
    stream: Stream,
    ends: Time,
    began: Time,
    /// When the next piece of the burst is due; nothing once all are written.
    due: Option<Time>,
    /// Whether the beginning of the next burst is scheduled.
    knows_next: bool,
    written: u64,
    /// Bursts on their way: where each ends, and when it began.
    pending: VecDeque<(u64, Time)>,
    times: Times,
}

/// What a wake-up is for.
const BURST: u32 = 0;
const PIECE: u32 = 1;

impl Bursts {
    pub(crate) fn new(what: OnOff, stream: Stream) -> Self {
        Bursts {
            what,
            stream,
            ends: Time::ZERO,
            began: Time::ZERO,
            due: None,
            knows_next: false,
            written: 0,
            pending: VecDeque::new(),
            times: Times::default(),
        }
    }

    /// Write what is due of the burst, piece by piece, as far as there is room.
    fn write(&mut self, context: &mut dyn Context) {
        while let Some(due) = self.due {
            if due > context.now() {
                return context.wake(due, PIECE);
            }
            if context.is_full(0) {
                // The clock does not wait.
                self.begin_next(context);
                return context.await_room(0);
            }
            self.write_pieces(context, 1);
        }
    }

    /// Write so many pieces; behind the last of a burst comes the next burst.
    fn write_pieces(&mut self, context: &mut dyn Context, pieces: u64) {
        let Some(due) = self.due else { return };
        let bytes = self.what.piece.saturating_mul(pieces);
        self.written = self.written.saturating_add(bytes);
        context.write(0, Direction::Forward, bytes);
        let next = due + self.interval().saturating_mul(pieces);
        self.due = Some(next).filter(|next| *next < self.ends);
        if self.due.is_some() {
            return;
        }
        self.pending.push_back((self.written, self.began));
        if self.pending.len() == 1 {
            context.await_delivery(0, Direction::Forward, self.written);
        }
        self.begin_next(context);
    }

    /// Write what is left of the burst: all of it is due.
    fn finish(&mut self, context: &mut dyn Context) {
        let Some(due) = self.due else { return };
        let left = self.ends.since(due).as_nanos();
        self.write_pieces(context, left.div_ceil(self.interval().as_nanos()));
    }

    /// The next burst begins when this one is over and the pause behind it.
    fn begin_next(&mut self, context: &mut dyn Context) {
        if !std::mem::replace(&mut self.knows_next, true) {
            context.wake(self.ends + self.what.pause.draw_time(&mut self.stream), BURST);
        }
    }

    fn interval(&self) -> Duration {
        self.what.rate.time_for(self.what.piece)
    }
}

impl Driver for Bursts {
    fn begin(&mut self, context: &mut dyn Context) {
        context.open(0);
        self.wake(context, BURST);
    }

    fn wake(&mut self, context: &mut dyn Context, token: u32) {
        if context.is_stopped(0) {
            return;
        }
        if token == BURST {
            self.finish(context);
            context.keep_filled(0, 0);
            self.knows_next = false;
            self.began = context.now();
            self.ends = context.now() + self.what.burst.draw_time(&mut self.stream);
            self.due = Some(context.now());
        }
        self.write(context);
    }

    fn has_room(&mut self, context: &mut dyn Context, _: usize) {
        context.keep_filled(0, 0);
        self.write(context);
    }

    fn delivered(&mut self, context: &mut dyn Context, _: usize, _: Direction) {
        let delivered = context.delivered(0, Direction::Forward);
        while let Some((end, began)) = self.pending.front().copied()
            && end <= delivered
        {
            self.pending.pop_front();
            self.times.note(began, context.now());
        }
        if let Some((end, _)) = self.pending.front() {
            context.await_delivery(0, Direction::Forward, *end);
        }
    }

    fn report(&self, window: [Time; 2]) -> Report {
        Report {
            figures: self.times.figures(
                window,
                [
                    "bursts",
                    "mean_burst_time_s",
                    "median_burst_time_s",
                    "p95_burst_time_s",
                    "p99_burst_time_s",
                ],
            ),
            ..Report::default()
        }
    }
}
