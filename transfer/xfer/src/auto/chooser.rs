//! The chooser: measures, tries another number of streams, compares, and goes on or back.

use fairway_model::Algorithm;

use super::Interval;
use super::point::{Measured, Measurement, Point};
use super::search::{self, Gain};
use super::words;

/// After settling, a path has changed if so many measurements in a row are so much off.
const CHANGED: f64 = 0.35;
const CHANGED_IN_A_ROW: u32 = 2;
/// Seconds after settling before it may begin again; twice as many each further time.
const REST_S: f64 = 10.0;
const LONGEST_REST_S: f64 = 3600.0;

/// How a chooser works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The congestion control of the streams, as `TCP_CONGESTION` has it.
    pub cc: String,
    pub first: u32,
    pub most: u32,
}

/// What to do with the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Stay,
    Add(u32),
    Remove(u32),
    /// Nothing, and nothing more to come unless the path changes.
    Settled,
}

/// What to do, and why: a line for the log with every decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub change: Change,
    /// Why, without a full stop; none where nothing was decided.
    pub why: Option<String>,
}

/// What is being measured.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Aim {
    First,
    /// Whether more are better than `base`.
    More {
        base: Point,
    },
    /// Whether fewer are as good as `base`; if so, `again` asks for still fewer.
    Fewer {
        base: Point,
        again: bool,
    },
    /// Whether the path is still as it was: what the number that was settled on carried, and how many
    /// measurements in a row said otherwise.
    Watch {
        settled: Option<Point>,
        off: u32,
    },
}

/// Chooses the number of streams of one transfer.
#[derive(Clone, Debug)]
pub struct Chooser {
    algorithm: Algorithm,
    most: u32,
    aim: Aim,
    measurement: Measurement,
    /// What was found since the search began, one point for each number.
    points: Vec<Point>,
    rest_s: f64,
    settled_at_s: f64,
    now_s: f64,
}

impl Chooser {
    /// A chooser for a transfer that begins with `settings.first` streams.
    ///
    /// An algorithm that the models do not know is taken for Reno: none is slower.
    pub fn new(settings: &Settings) -> Self {
        let most = settings.most.max(1);
        Chooser {
            algorithm: Algorithm::named(&settings.cc).unwrap_or(Algorithm::Reno),
            most,
            aim: Aim::First,
            measurement: Measurement::new(settings.first.clamp(1, most)),
            points: Vec::new(),
            rest_s: REST_S,
            settled_at_s: 0.0,
            now_s: 0.0,
        }
    }

    pub fn wanted(&self) -> u32 {
        self.measurement.streams()
    }

    pub fn is_settled(&self) -> bool {
        matches!(self.aim, Aim::Watch { .. })
    }

    /// There cannot be more than `most` streams, as the other end says or this host: it goes on with so many.
    pub fn bound(&mut self, most: u32) -> Answer {
        self.most = most.max(1);
        if self.wanted() <= self.most {
            return stay();
        }
        let why = format!("no more than {} can be opened", words::streams(self.most));
        self.settle(self.most, None, why)
    }

    /// Takes the next interval. Intervals of other numbers of streams than the one wanted tell nothing,
    /// so it waits for the change that it has asked for.
    pub fn observe(&mut self, interval: &Interval) -> Answer {
        self.now_s = interval.end_s;
        match self.measurement.take(interval) {
            Measured::NotYet => stay(),
            Measured::NothingToSend => self.nothing_to_send(),
            Measured::Done(point) => self.judge(point),
        }
    }

    fn nothing_to_send(&mut self) -> Answer {
        let streams = self.wanted();
        if self.is_settled() {
            self.measurement = Measurement::new(streams);
            return stay();
        }
        let why = format!("{} are enough for what there is to send", words::streams(streams));
        self.settle(streams, None, why)
    }

    fn judge(&mut self, point: Point) -> Answer {
        if let Aim::Watch { settled, off } = self.aim {
            return self.watch(point, settled, off);
        }
        let gain = match self.aim {
            Aim::More { base } | Aim::Fewer { base, .. } => Some(Gain::of(&base, &point)),
            Aim::First | Aim::Watch { .. } => None,
        };
        if gain.is_some_and(|gain| gain.is_open()) && self.measurement.extend() {
            return stay();
        }
        self.points.retain(|known| known.streams != point.streams);
        self.points.push(point);
        if let Some(answer) = self.make_room(&point) {
            return answer;
        }
        match self.aim {
            Aim::First => self.begin(point),
            Aim::More { base } => self.judge_more(base, point),
            Aim::Fewer { base, again } => self.judge_fewer(base, point, again),
            Aim::Watch { .. } => stay(),
        }
    }

    /// Goes back to the fair share if others lose what these streams gain.
    fn make_room(&mut self, point: &Point) -> Option<Answer> {
        if let Some(others) = search::others(&self.points, point) {
            let fair = search::fair_beside(&self.points, &others).min(self.most);
            let why = format!(
                "{}, on a path that was full before: about {:.0} others lose what they gain, so {} {} \
                 a fair share",
                words::carry(point.streams) + " " + &words::rate(point.goodput_bps),
                others.others.max(1.0),
                words::streams(fair),
                if fair == 1 { "is" } else { "are" },
            );
            return (fair < point.streams).then(|| self.settle(fair, None, why));
        }
        let fair = search::fair_by_loss(&self.points, point, self.algorithm)?;
        let why = format!(
            "{} on a path that others keep full: one without a limit of its window would carry as much \
             as {} at this loss",
            words::found(point),
            words::streams(fair)
        );
        Some(self.settle(fair, None, why))
    }

    fn begin(&mut self, point: Point) -> Answer {
        if point.queues() && point.streams > 1 {
            let fewer = point.streams / 2;
            let why = format!("{}: trying {fewer}", words::found(&point));
            return self.go(fewer, Aim::Fewer { base: point, again: true }, why);
        }
        self.climb(point, words::found(&point))
    }

    /// On to more, if there can be.
    fn climb(&mut self, point: Point, why: String) -> Answer {
        if point.queues() && !point.window_limited {
            let why = format!("{why}: the path is full, and others would lose what more gain");
            return self.settle(point.streams, Some(point), why);
        }
        match search::more(&point, self.algorithm, self.most) {
            Some(next) => {
                let why = format!("{why}: trying {next}");
                self.go(next, Aim::More { base: point }, why)
            }
            None => {
                let why = format!("{why}, and there may be no more than {}", self.most);
                self.settle(point.streams, Some(point), why)
            }
        }
    }

    fn judge_more(&mut self, base: Point, point: Point) -> Answer {
        let gain = Gain::of(&base, &point);
        let compared = words::comparison(&base, &point);
        if gain.share <= gain.needed() {
            let why = format!("{compared}, {}", words::within(&gain));
            return self.refine(base, why);
        }
        if !search::allows(&base, &point) {
            let why = format!("{compared}, but {}", words::losses(&base, &point));
            return self.refine(base, why);
        }
        if search::has_filled(&base, &point) {
            return self.refine(point, format!("{compared} and fill the path"));
        }
        self.climb(point, compared)
    }

    /// With the capacity known: the model's number, if that is fewer than `best`.
    fn refine(&mut self, best: Point, why: String) -> Answer {
        match search::fewer(&self.points, &best, self.algorithm) {
            Some(number) => {
                let rate = words::rate(best.goodput_bps);
                let why = format!("{why}; by the model {number} carry {rate}: trying {number}");
                self.go(number, Aim::Fewer { base: best, again: false }, why)
            }
            None => self.settle(best.streams, Some(best), why),
        }
    }

    fn judge_fewer(&mut self, base: Point, point: Point, again: bool) -> Answer {
        let gain = Gain::of(&base, &point);
        let compared = words::comparison(&base, &point);
        if gain.share < -gain.needed() {
            return self.settle(base.streams, Some(base), compared);
        }
        if again && point.streams > 1 {
            let fewer = point.streams / 2;
            let why = format!("{compared}: trying {fewer}");
            return self.go(fewer, Aim::Fewer { base: point, again }, why);
        }
        self.settle(point.streams, Some(point), format!("{compared}, and are enough"))
    }

    fn watch(&mut self, point: Point, settled: Option<Point>, off: u32) -> Answer {
        let streams = point.streams;
        let Some(before) = settled else {
            // The number that was gone back to has not been measured since: this is what it carries.
            self.aim = Aim::Watch { settled: Some(point), off: 0 };
            self.measurement = Measurement::new(streams);
            return stay();
        };
        let ratio = point.goodput_bps / before.goodput_bps.max(1.0);
        let is_off = !(1.0 / (1.0 + CHANGED)..=1.0 + CHANGED).contains(&ratio);
        let off = if is_off { off + 1 } else { 0 };
        let rested = self.now_s - self.settled_at_s >= self.rest_s;
        if off < CHANGED_IN_A_ROW || !rested {
            self.aim = Aim::Watch { settled, off };
            self.measurement = Measurement::new(streams);
            return stay();
        }
        self.rest_s = (2.0 * self.rest_s).min(LONGEST_REST_S);
        self.points = vec![point];
        let why = format!(
            "the path has changed: {} where it was {}",
            words::found(&point),
            words::rate(before.goodput_bps)
        );
        if point.queues() && streams > 1 {
            let fewer = streams / 2;
            let why = format!("{why}: trying {fewer}");
            return self.go(fewer, Aim::Fewer { base: point, again: true }, why);
        }
        self.climb(point, why)
    }

    fn go(&mut self, streams: u32, aim: Aim, why: String) -> Answer {
        let change = change(self.wanted(), streams);
        self.aim = aim;
        self.measurement = Measurement::new(streams);
        Answer { change, why: Some(why) }
    }

    fn settle(&mut self, streams: u32, point: Option<Point>, why: String) -> Answer {
        let now = self.wanted();
        let change = if streams == now { Change::Settled } else { change(now, streams) };
        let way = match change {
            Change::Remove(_) => "back to",
            Change::Add(_) => "on to",
            Change::Stay | Change::Settled => "staying with",
        };
        // Another number has to be seen again before a change of it can be told.
        let settled = point.filter(|_| streams == now);
        self.aim = Aim::Watch { settled, off: 0 };
        self.measurement = Measurement::new(streams);
        self.settled_at_s = self.now_s;
        Answer { change, why: Some(format!("{why}; {way} {streams}")) }
    }
}

fn stay() -> Answer {
    Answer { change: Change::Stay, why: None }
}

fn change(from: u32, to: u32) -> Change {
    match to.checked_sub(from) {
        Some(0) => Change::Stay,
        Some(more) => Change::Add(more),
        None => Change::Remove(from - to),
    }
}
