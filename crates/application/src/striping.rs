//! One application's data dealt in chunks to several connections, and put in order at the receiver.
//!
//! Source: M. A. Alrshah, "Performance Evaluation of Parallel TCP Variants …" (UPM, 2009), section
//! 3.2: each connection carries its chunks by sequence numbers of its own, and the receiver gathers
//! and orders what they deliver.

use fairway_units::Time;

use crate::deal::Deal;
use crate::reordering::{Counts, Reordering};
use crate::{Context, Direction, Driver, Report};
use fairway_spec::{Dealing, Striping};

/// The application at both ends.
pub(crate) struct Striped {
    dealing: Dealing,
    chunk: u64,
    /// Bytes of the transfer, if it has an end.
    bytes: Option<u64>,
    deal: Deal,
    /// What each connection has delivered, and all together.
    received: Vec<u64>,
    received_in_all: u64,
    /// Bytes that are in order, and the first chunk that is not complete.
    in_order: u64,
    frontier: u64,
    buffer: Buffer,
    reordering: Reordering,
    started: Time,
    finished: Option<Time>,
    /// What was in order when the measuring window began.
    in_order_before: u64,
    measured: Measured,
}

/// Figures of the measuring window.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    in_order: u64,
    buffer: Buffer,
    counts: Counts,
}

/// What waits for earlier data.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    bytes: u64,
    peak: u64,
    /// Bytes times nanoseconds, up to `since`.
    integral: u128,
    since: Time,
}

impl Buffer {
    fn set(&mut self, bytes: u64, now: Time) {
        self.integral += u128::from(self.bytes) * u128::from(now.since(self.since).as_nanos());
        self.since = now;
        self.bytes = bytes;
        self.peak = self.peak.max(bytes);
    }
}

impl Striped {
    pub(crate) fn new(connections: usize, striping: &Striping) -> Self {
        let bytes = striping.bytes.map(|bytes| bytes.get());
        let chunk = striping.chunk.get();
        Striped {
            dealing: striping.dealing,
            chunk,
            bytes,
            deal: Deal::new(connections, chunk, bytes.unwrap_or(u64::MAX)),
            received: vec![0; connections],
            received_in_all: 0,
            in_order: 0,
            frontier: 0,
            buffer: Buffer::default(),
            reordering: Reordering::default(),
            started: Time::ZERO,
            finished: None,
            in_order_before: 0,
            measured: Measured::default(),
        }
    }

    /// Chunks that were dealt beforehand are noted when one is missed.
    fn deal_in_turn(&mut self, upto: u64) {
        while self.deal.next() <= upto {
            let connection = (self.deal.next() % self.received.len() as u64) as usize;
            if self.deal.deal(connection) == 0 {
                break;
            }
        }
    }

    /// A connection has delivered `received` bytes by now.
    fn receive(&mut self, connection: usize, received: u64, now: Time) {
        self.received_in_all += received - self.received[connection];
        self.received[connection] = received;
        if self.dealing == Dealing::Static {
            // The last chunk that it may have completed.
            let round = received / self.chunk;
            self.deal_in_turn(round * self.received.len() as u64 + connection as u64);
        }
        while let Some(number) = self.deal.take_completed(connection, received) {
            self.reordering.arrive(number);
        }
        self.advance();
        self.buffer.set(self.received_in_all - self.in_order, now);
        if self.finished.is_none() && self.bytes == Some(self.in_order) {
            self.finished = Some(now);
        }
    }

    /// Find out how much is in order.
    fn advance(&mut self) {
        loop {
            if self.dealing == Dealing::Static {
                self.deal_in_turn(self.frontier);
            }
            let Some(place) = self.deal.place(self.frontier) else { break };
            let size = self.deal.size(self.frontier);
            let start = place.end - size;
            let here = self.received[place.connection].saturating_sub(start).min(size);
            self.in_order = self.frontier * self.chunk + here;
            if here < size {
                break;
            }
            self.frontier += 1;
        }
        self.deal.forget_before(self.frontier);
        self.reordering.all_before(self.frontier);
    }

    /// Give a connection its next chunk; where none is left, it has written everything.
    fn give(&mut self, context: &mut dyn Context, connection: usize) {
        match self.deal.deal(connection) {
            0 => {
                context.keep_filled(connection, 0);
                context.close(connection);
            }
            size => context.write(connection, Direction::Forward, size),
        }
    }
}

impl Driver for Striped {
    fn begin(&mut self, context: &mut dyn Context) {
        self.started = context.now();
        self.buffer.since = context.now();
        for connection in 0..context.count() {
            context.await_delivery(connection, Direction::Forward, 1);
            if self.dealing == Dealing::Dynamic {
                context.keep_filled(connection, self.chunk);
                context.open(connection);
            }
        }
    }

    fn delivered(&mut self, context: &mut dyn Context, connection: usize, _: Direction) {
        let received = context.delivered(connection, Direction::Forward);
        self.receive(connection, received, context.now());
        context.await_delivery(connection, Direction::Forward, received + 1);
    }

    fn has_room(&mut self, context: &mut dyn Context, connection: usize) {
        self.give(context, connection);
    }

    fn window_begins(&mut self, now: Time) {
        self.in_order_before = self.in_order;
        self.buffer.set(self.buffer.bytes, now);
        self.buffer.integral = 0;
        self.buffer.peak = self.buffer.bytes;
        self.reordering.reset();
    }

    fn window_ends(&mut self, now: Time) {
        self.buffer.set(self.buffer.bytes, now);
        self.measured = Measured {
            in_order: self.in_order - self.in_order_before,
            buffer: self.buffer,
            counts: self.reordering.counts(),
        };
    }

    fn report(&self, [from, to]: [Time; 2]) -> Report {
        let Measured { in_order, buffer, counts } = self.measured;
        let ratio = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        Report {
            goodput_bytes: Some(in_order),
            completion: self.finished.map(|at| at.since(self.started)),
            figures: vec![
                ("peak_reassembly_bytes", Some(buffer.peak as f64)),
                (
                    "mean_reassembly_bytes",
                    Some(buffer.integral as f64 / to.since(from).as_nanos() as f64),
                ),
                ("late_chunks_ratio", ratio(counts.late, counts.pieces)),
                ("mean_reordering_extent_chunks", ratio(counts.extents, counts.late)),
                ("largest_reordering_extent_chunks", Some(counts.largest_extent as f64)),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_units::{Bytes, Duration};

    fn striped(dealing: Dealing, bytes: Option<u64>) -> Striped {
        let bytes = bytes.map(Bytes::new);
        Striped::new(
            3,
            &Striping { chunk: Bytes::new(100), dealing, bytes, program: None, mptcp: false },
        )
    }

    fn state(of: &Striped) -> (u64, u64, u64) {
        (of.in_order, of.buffer.bytes, of.frontier)
    }

    #[test]
    fn chunks_come_together_in_their_order() {
        // Six chunks of 100 and one of 50, to connections 0 1 2 0 1 2 0.
        let mut of = striped(Dealing::Static, Some(650));
        let mut receive = |connection, received, second| {
            of.receive(connection, received, Time::ZERO + Duration::from_secs(second));
            state(&of)
        };
        assert_eq!(receive(0, 40, 1), (40, 0, 0));
        // All that connection 1 has, and half of what 2 has: it waits.
        assert_eq!(receive(1, 200, 2), (40, 200, 0));
        assert_eq!(receive(2, 100, 3), (40, 300, 0));
        // Chunk 0 is complete, and with it 1 and 2; 3 has begun; 4 waits for it.
        assert_eq!(receive(0, 130, 4), (330, 100, 3));
        assert_eq!(receive(0, 250, 5), (500, 50, 5));
        assert_eq!(receive(2, 200, 6), (650, 0, 7));
        assert_eq!(of.finished, Some(Time::ZERO + Duration::from_secs(6)));
        // 200 for a second, 300 for one, 100 and 50 for one each.
        of.window_ends(Time::ZERO + Duration::from_secs(10));
        let report = of.report([Time::ZERO, Time::ZERO + Duration::from_secs(10)]);
        let figure = |name| report.figures.iter().find(|(known, _)| *known == name).unwrap().1;
        assert_eq!(report.goodput_bytes, Some(650));
        assert_eq!(figure("peak_reassembly_bytes"), Some(300.0));
        assert_eq!(figure("mean_reassembly_bytes"), Some(65.0));
        // Complete in the order 1 4 2 0 3 6 5. Late: 2, one behind 4; 0, three behind 1; 3, three
        // behind 4; 5, one behind 6.
        assert_eq!(figure("late_chunks_ratio"), Some(4.0 / 7.0));
        assert_eq!(figure("mean_reordering_extent_chunks"), Some(2.0));
        assert_eq!(figure("largest_reordering_extent_chunks"), Some(3.0));
    }

    #[test]
    fn chunks_that_are_taken_as_they_can_be_sent() {
        let mut of = striped(Dealing::Dynamic, None);
        // Chunks 0 to 3 are taken by 2, 0, 2 and 1.
        for connection in [2, 0, 2, 1] {
            assert_eq!(of.deal.deal(connection), 100);
        }
        of.receive(1, 100, Time::ZERO);
        assert_eq!(state(&of), (0, 100, 0));
        of.receive(2, 150, Time::ZERO);
        assert_eq!(state(&of), (100, 150, 1));
        of.receive(0, 100, Time::ZERO);
        assert_eq!(state(&of), (250, 100, 2));
        of.receive(2, 200, Time::ZERO);
        assert_eq!(state(&of), (400, 0, 4));
        // Nobody has taken the next one yet.
        assert_eq!(of.deal.place(4), None);
    }
}
