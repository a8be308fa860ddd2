//! A quantity that changes over time in steps and ramps.

use fairway_units::{Duration, Time};

/// A time in which a quantity keeps its value, or goes from one to another in a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Begin, included.
    pub(crate) from: Time,
    /// End, excluded.
    pub(crate) until: Time,
    /// Value at the beginning.
    pub(crate) first: u64,
    /// Value at the end.
    pub(crate) last: u64,
    /// What is on the wire when it begins is lost.
    pub(crate) breaks: bool,
}

impl Piece {
    /// The value at `at`, which lies in the piece, rounded down.
    pub(crate) fn value(&self, at: Time) -> u64 {
        if self.first == self.last {
            return self.first;
        }
        let (gone, length) = (self.gone(at), self.length());
        let change = u128::from(self.first.abs_diff(self.last));
        if self.last > self.first {
            self.first + (change * gone / length) as u64
        } else {
            self.first - (change * gone).div_ceil(length) as u64
        }
    }

    /// The sum over all nanoseconds from the beginning to `at`, which is at most the end: the
    /// integral, rounded down.
    pub(crate) fn sum(&self, at: Time) -> u128 {
        let gone = self.gone(at);
        let level = u128::from(self.first) * gone;
        if self.first == self.last {
            return level;
        }
        // first·t + (last − first)·t² / 2L; `Schedule::check` sees to it that 128 bits are enough.
        let change = u128::from(self.first.abs_diff(self.last)) * gone * gone;
        let twice = 2 * self.length();
        if self.last > self.first { level + change / twice } else { level - change.div_ceil(twice) }
    }

    /// The last time at which the sum is at most `sum`, or the first where it is just that. The
    /// sum at the end is not below it, that at the beginning is.
    pub(crate) fn when(&self, sum: u128) -> Time {
        // The first time at which it is reached.
        let reached = if self.first == self.last {
            self.nanos() + u64::try_from(sum.div_ceil(u128::from(self.first))).unwrap_or(u64::MAX)
        } else {
            let (mut low, mut high) = (self.from.as_nanos(), self.until.as_nanos());
            while low < high {
                let middle = low + (high - low) / 2;
                if self.sum(Time::from_nanos(middle)) >= sum {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            high
        };
        let at = Time::from_nanos(reached);
        if self.sum(at) == sum { at } else { Time::from_nanos(reached - 1) }
    }

    fn nanos(&self) -> u64 {
        self.from.as_nanos()
    }

    fn gone(&self, at: Time) -> u128 {
        u128::from(at.since(self.from).as_nanos())
    }

    fn length(&self) -> u128 {
        u128::from(self.until.since(self.from).as_nanos())
    }
}

/// A change to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// When, since the beginning.
    pub(crate) at: Duration,
    /// The new value, if it is a new one.
    pub(crate) to: Option<u64>,
    /// How long it takes.
    pub(crate) over: Duration,
    /// What is on the wire then is lost.
    pub(crate) breaks: bool,
}

/// All pieces, from the start of the run to its end, or again and again.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// Their times are since the beginning of the run or of the period.
    pieces: Vec<Piece>,
    period: Option<Duration>,
}

impl Course {
    /// A quantity that is `first` until the first of these steps, which rise and do not overlap.
    pub(crate) fn new(
        first: u64,
        steps: impl Iterator<Item = Step>,
        period: Option<Duration>,
    ) -> Self {
        let end = period.map_or(Time::NEVER, |period| Time::ZERO + period);
        let whole = Piece { from: Time::ZERO, until: end, first, last: first, breaks: false };
        let mut course = Course { pieces: vec![whole], period };
        for step in steps {
            course.add(step, end);
        }
        // A change at the very beginning leaves nothing of what was before it.
        course.pieces.retain(|piece| piece.from < piece.until);
        course
    }

    fn add(&mut self, step: Step, end: Time) {
        let at = Time::ZERO + step.at;
        let before = self.pieces.len() - 1;
        self.pieces[before].until = at;
        let old = self.pieces[before].last;
        let new = step.to.unwrap_or(old);
        let mut breaks = step.breaks;
        if step.over > Duration::ZERO && new != old {
            let until = at + step.over;
            self.pieces.push(Piece { from: at, until, first: old, last: new, breaks });
            breaks = false;
        }
        let from = if self.pieces.len() - 1 > before { at + step.over } else { at };
        self.pieces.push(Piece { from, until: end, first: new, last: new, breaks });
    }

    /// The piece in force at `at`.
    pub(crate) fn at(&self, at: Time) -> Piece {
        let (start, within) = self.place(at);
        let next = self.pieces.partition_point(|piece| piece.from <= within);
        let mut piece = self.pieces[next.saturating_sub(1)];
        piece.from = piece.from + start;
        piece.until = piece.until + start;
        piece
    }

    /// When what is on the wire is lost next, after `at`.
    pub(crate) fn next_break(&self, at: Time) -> Time {
        let (start, within) = self.place(at);
        let mut breaks = self.pieces.iter().filter(|piece| piece.breaks).map(|piece| piece.from);
        let first = breaks.clone().next();
        match (breaks.find(|from| *from > within), first, self.period) {
            (Some(from), _, _) => from + start,
            (None, Some(first), Some(period)) => first + start + period,
            _ => Time::NEVER,
        }
    }

    /// The beginning of the period in which `at` lies, and the time within it.
    fn place(&self, at: Time) -> (Duration, Time) {
        let Some(period) = self.period else { return (Duration::ZERO, at) };
        let within = at.as_nanos() % period.as_nanos();
        (Duration::from_nanos(at.as_nanos() - within), Time::from_nanos(within))
    }
}
