//! An application that writes at a rate for a while, and then not at all for a while.

use std::collections::VecDeque;

use fairway_random::Stream;
use fairway_units::Time;

use super::times::Times;
use super::{Driver, Hands, Report};
use crate::connection::time_of;
use crate::direction::Way;
use crate::experiment::OnOff;

/// The one who writes.
pub(super) struct Bursts {
    what: OnOff,
    stream: Stream,
    ends: Time,
    began: Time,
    written: u64,
    /// Bursts on their way: where each ends, and when it began.
    pending: VecDeque<(u64, Time)>,
    times: Times,
}

/// What a wake-up is for.
const BURST: u32 = 0;
const PIECE: u32 = 1;

impl Bursts {
    pub(super) fn new(what: OnOff, stream: Stream) -> Self {
        Bursts {
            what,
            stream,
            ends: Time::ZERO,
            began: Time::ZERO,
            written: 0,
            pending: VecDeque::new(),
            times: Times::default(),
        }
    }

    /// Write the next piece; behind the last of a burst comes the next burst.
    fn write(&mut self, hands: &mut Hands<'_>) {
        self.written += self.what.piece;
        hands.write(0, Way::Forward, self.what.piece);
        let next = hands.now + time_of(self.what.piece, self.what.rate);
        if next < self.ends {
            return hands.wake(next, PIECE);
        }
        self.pending.push_back((self.written, self.began));
        if self.pending.len() == 1 {
            hands.await_delivery(0, Way::Forward, self.written);
        }
        hands.wake(self.ends.max(hands.now) + self.what.pause.draw_time(&mut self.stream), BURST);
    }
}

impl Driver for Bursts {
    fn begin(&mut self, hands: &mut Hands<'_>) {
        hands.open(0);
        self.wake(hands, BURST);
    }

    fn wake(&mut self, hands: &mut Hands<'_>, token: u32) {
        if hands.is_stopped(0) {
            return;
        }
        if token == BURST {
            self.began = hands.now;
            self.ends = hands.now + self.what.burst.draw_time(&mut self.stream);
        }
        self.write(hands);
    }

    fn delivered(&mut self, hands: &mut Hands<'_>, _: usize, _: Way) {
        let delivered = hands.delivered(0, Way::Forward);
        while let Some((end, began)) = self.pending.front().copied()
            && end <= delivered
        {
            self.pending.pop_front();
            self.times.note(began, hands.now);
        }
        if let Some((end, _)) = self.pending.front() {
            hands.await_delivery(0, Way::Forward, *end);
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
