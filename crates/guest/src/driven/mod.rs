//! Applications that decide as they go, as the simulator has them: one thread works their connections
//! by events, and so those that come in great numbers. Their drivers are [`fairway_application`]'s.

mod collectors;
mod failure;
mod pair;
mod poll;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;

use fairway_application::{Context, Direction, Driver, Report, driver};
use fairway_guest::plan::Plan;
use fairway_guest::record::{ApplicationTotals, FlowTotals};
use fairway_spec::{Experiment, Source, from_document};
use fairway_units::Time;
use nix::sys::epoll::EpollFlags;

use crate::Error;
use crate::setup::Namespaces;
use crate::sys;
use collectors::Collectors;
use failure::Done;
use pair::{Pair, PairEvent};
use poll::Poll;

pub use failure::{SINK, SOURCE};

/// All of them.
pub struct Applications<'a> {
    plan: &'a Plan,
    namespaces: &'a Namespaces,
    experiment: Experiment,
    begin_ns: u64,
    now: Time,
    poll: Poll,
    collectors: Collectors,
    found: Vec<(u64, EpollFlags)>,
    due: BinaryHeap<Reverse<(Time, u64, Due)>>,
    scheduled: u64,
    pairs: Vec<Pair>,
    /// The connection of each flow of the plan, if it is one of these.
    of_flow: Vec<Option<usize>>,
    /// The driver of each application of the experiment, and its connections.
    drivers: Vec<Option<Box<dyn Driver>>>,
    own: Vec<Range<usize>>,
}

/// What the threads that receive whole transfers are called among the sockets.
const COLLECTED: u64 = u64::MAX - 1;

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Begin(usize),
    Wake(usize, u32),
    Open(usize),
    Write(usize),
    Read(usize),
    Stop(usize),
}

impl<'a> Applications<'a> {
    /// Those of a plan; none if it has no such connections.
    pub fn new(
        plan: &'a Plan,
        namespaces: &'a Namespaces,
        begin_ns: u64,
    ) -> Result<Option<Self>, Error> {
        if plan.experiment.is_null() {
            return Ok(None);
        }
        let experiment = from_document(&plan.experiment)
            .map_err(|error| Error::new("reading the experiment", error))?;
        let poll = Poll::new().map_err(|error| Error::new("making a poll", error))?;
        let failed = |error| Error::new("making room for threads", error);
        let collectors = Collectors::new().map_err(failed)?;
        poll.add(collectors.event(), COLLECTED, EpollFlags::EPOLLIN).map_err(failed)?;
        let mut applications = Applications {
            plan,
            namespaces,
            begin_ns,
            now: Time::ZERO,
            poll,
            collectors,
            found: Vec::new(),
            due: BinaryHeap::new(),
            scheduled: 0,
            pairs: Vec::new(),
            of_flow: vec![None; plan.flows.len()],
            drivers: Vec::new(),
            own: Vec::new(),
            experiment,
        };
        applications.take_flows()?;
        applications.take_drivers();
        Ok(Some(applications))
    }

    fn take_flows(&mut self) -> Result<(), Error> {
        for (index, flow) in self.plan.flows.iter().enumerate().filter(|(_, f)| f.is_driven) {
            let place = flow.place as usize;
            let failed = || Error::new("reading the plan", format!("there is no flow {place}"));
            let spec = self.experiment.flows.get(place).ok_or_else(failed)?;
            let number = self.pairs.len();
            self.pairs.push(Pair::new(number, index, spec));
            self.of_flow[index] = Some(number);
            let (start, stop, source) = (spec.start, spec.stop, spec.source);
            // A driver opens its connections itself.
            if source != Source::Driven {
                self.schedule(start, Due::Open(number));
            }
            if let Some(stop) = stop {
                self.schedule(stop, Due::Stop(number));
            }
        }
        Ok(())
    }

    fn take_drivers(&mut self) {
        for index in 0..self.experiment.applications.len() {
            let application = &self.experiment.applications[index];
            let place = |pair: &Pair| self.plan.flows[pair.flow].place as usize;
            let from = self.pairs.partition_point(|p| place(p) < application.connections.start);
            let to = self.pairs.partition_point(|p| place(p) < application.connections.end);
            let driver = if from < to { driver(application, self.experiment.seed) } else { None };
            let start = application.start;
            if driver.is_some() {
                for pair in &mut self.pairs[from..to] {
                    pair.application = Some(index);
                }
                self.schedule(start, Due::Begin(index));
            }
            self.drivers.push(driver);
            self.own.push(from..to);
        }
    }

    /// Works the connections until a time of the run.
    pub fn run_until(&mut self, until_ns: u64) -> io::Result<()> {
        let until = Time::from_nanos(until_ns);
        self.read_clock()?;
        loop {
            while let Some(Reverse((at, _, due))) = self.due.peek().copied()
                && at <= self.now
            {
                self.due.pop();
                self.carry_out(due);
            }
            if self.now >= until {
                return Ok(());
            }
            let next = self.due.peek().map_or(until, |Reverse((at, _, _))| until.min(*at));
            let mut found = std::mem::take(&mut self.found);
            self.poll.wait(self.begin_ns + next.as_nanos(), &mut found)?;
            self.read_clock()?;
            for (name, flags) in found.drain(..) {
                if name == COLLECTED {
                    self.take_collected()?;
                    continue;
                }
                let (pair, socket) = Pair::named(name);
                let work = |pair: &mut Pair,
                            now,
                            poll: &Poll,
                            events: &mut Vec<PairEvent>,
                            collectors: &mut Collectors| {
                    pair.handle(socket, flags, now, poll, events, collectors)
                };
                self.work(pair, work);
                if self.pairs[pair].is_ready_to_write() {
                    self.write_at_rate(pair);
                }
            }
            self.found = found;
        }
    }

    fn take_collected(&mut self) -> io::Result<()> {
        for found in self.collectors.done()? {
            let at = Time::from_nanos(found.at_ns.saturating_sub(self.begin_ns));
            let number = found.pair;
            self.try_on(number, |pair, _, poll| pair.collected(found, at, poll));
        }
        Ok(())
    }

    fn read_clock(&mut self) -> io::Result<()> {
        self.now = Time::from_nanos(sys::now_ns()?.saturating_sub(self.begin_ns));
        Ok(())
    }

    fn schedule(&mut self, at: Time, due: Due) {
        self.scheduled += 1;
        self.due.push(Reverse((at, self.scheduled, due)));
    }

    fn carry_out(&mut self, due: Due) {
        match due {
            Due::Begin(application) => self.drive(application, |driver, own| driver.begin(own)),
            Due::Wake(application, token) => {
                self.drive(application, |driver, own| driver.wake(own, token));
            }
            Due::Open(pair) => {
                self.open(pair);
                let again = self.try_on(pair, |pair, now, poll| pair.begin(now, poll)).flatten();
                self.write_again(pair, again);
            }
            Due::Write(pair) => self.write_at_rate(pair),
            Due::Read(pair) => {
                self.work(pair, |pair, now, poll, events, _| pair.read(now, poll, events));
            }
            Due::Stop(pair) => {
                self.try_on(pair, |pair, now, poll| pair.stop(now, poll));
            }
        }
    }

    fn open(&mut self, pair: usize) {
        let pair = &mut self.pairs[pair];
        let plan = &self.plan.flows[pair.flow];
        if let Err(error) = pair.open(plan, self.namespaces, &self.poll, self.now) {
            pair.error.get_or_insert_with(|| error.to_string());
        }
    }

    fn write_at_rate(&mut self, pair: usize) {
        let again = self.try_on(pair, |pair, now, poll| pair.write_at_rate(now, poll)).flatten();
        self.write_again(pair, again);
    }

    fn write_again(&mut self, pair: usize, at: Option<Time>) {
        if let Some(at) = at {
            self.schedule(at, Due::Write(pair));
        }
    }

    /// Does something to a connection; if it cannot, the connection is given up.
    fn try_on<T>(
        &mut self,
        pair: usize,
        act: impl FnOnce(&mut Pair, Time, &Poll) -> Done<T>,
    ) -> Option<T> {
        let (pair, now) = (&mut self.pairs[pair], self.now);
        match act(pair, now, &self.poll) {
            Ok(found) => Some(found),
            Err(failure) => {
                pair.give_up(&failure, now);
                None
            }
        }
    }

    /// Does something to a connection, and tells its application what came of it.
    fn work(
        &mut self,
        pair: usize,
        act: impl FnOnce(&mut Pair, Time, &Poll, &mut Vec<PairEvent>, &mut Collectors) -> Done,
    ) {
        let (mut events, now) = (Vec::new(), self.now);
        let worked = &mut self.pairs[pair];
        if let Err(failure) = act(worked, now, &self.poll, &mut events, &mut self.collectors) {
            worked.give_up(&failure, now);
        }
        for one in events {
            if let PairEvent::Read(at) = one {
                self.schedule(at, Due::Read(pair));
                continue;
            }
            let Some(application) = self.pairs[pair].application else { continue };
            let own = pair - self.own[application].start;
            self.drive(application, |driver, context| match one {
                PairEvent::Delivered(direction) => driver.delivered(context, own, direction),
                _ => driver.has_room(context, own),
            });
        }
    }

    fn drive(&mut self, application: usize, act: impl FnOnce(&mut dyn Driver, &mut Own<'_, 'a>)) {
        if let Some(mut driver) = self.drivers[application].take() {
            act(driver.as_mut(), &mut Own { all: self, application });
            self.drivers[application] = Some(driver);
        }
    }

    /// The measuring window begins.
    pub fn window_begins(&mut self) {
        self.drivers.iter_mut().flatten().for_each(|driver| driver.window_begins(self.now));
    }

    /// The measuring window ends.
    pub fn window_ends(&mut self) {
        self.drivers.iter_mut().flatten().for_each(|driver| driver.window_ends(self.now));
    }

    /// The connection of a flow of the plan.
    pub fn of_flow(&self, flow: usize) -> Option<&Pair> {
        self.of_flow[flow].map(|pair| &self.pairs[pair])
    }

    /// What became of a flow.
    pub fn note(&self, flow: usize, totals: &mut FlowTotals) {
        let Some(pair) = self.of_flow(flow) else { return };
        let nanos = |time: Option<Time>| time.map(Time::as_nanos);
        totals.completed_ns = nanos(pair.completed);
        totals.established_ns = nanos(pair.established);
        totals.opened_ns = nanos(pair.opened.filter(|_| pair.app == Source::Driven));
        totals.transfer_bytes = pair.transfer_bytes().filter(|_| pair.opened.is_some());
        totals.given_up.clone_from(&pair.given_up);
        totals.error.clone_from(&pair.error);
    }

    /// What the applications say of themselves, and what the run's end finds.
    pub fn reports(&self) -> Vec<ApplicationTotals> {
        let window = self.plan.window_ns.map(Time::from_nanos);
        let report = |driver: &Option<Box<dyn Driver>>| {
            let report = driver.as_ref().map_or_else(Report::default, |d| d.report(window));
            ApplicationTotals {
                goodput_bytes: report.goodput_bytes,
                completion_ns: report.completion.map(|time| time.as_nanos()),
                figures: report.figures.into_iter().map(|(_, value)| value).collect(),
            }
        };
        self.drivers.iter().map(report).collect()
    }
}

/// One application's connections.
struct Own<'b, 'a> {
    all: &'b mut Applications<'a>,
    application: usize,
}

impl Own<'_, '_> {
    fn place(&self, connection: usize) -> usize {
        self.all.own[self.application].start + connection
    }

    fn pair(&self, connection: usize) -> &Pair {
        &self.all.pairs[self.place(connection)]
    }

    fn act(&mut self, connection: usize, act: impl FnOnce(&mut Pair, Time, &Poll) -> Done) {
        let pair = self.place(connection);
        self.all.try_on(pair, act);
    }
}

impl Context for Own<'_, '_> {
    fn now(&self) -> Time {
        self.all.now
    }

    fn count(&self) -> usize {
        self.all.own[self.application].len()
    }

    fn is_stopped(&self, connection: usize) -> bool {
        self.pair(connection).is_stopped()
    }

    fn open(&mut self, connection: usize) {
        let pair = self.place(connection);
        if !self.all.pairs[pair].is_stopped() {
            self.all.open(pair);
        }
    }

    fn write(&mut self, connection: usize, direction: Direction, bytes: u64) {
        if !self.is_stopped(connection) {
            self.act(connection, |pair, _, poll| pair.write(direction, bytes, poll));
        }
    }

    fn close(&mut self, connection: usize) {
        self.act(connection, |pair, now, poll| pair.close(now, poll));
    }

    fn await_delivery(&mut self, connection: usize, direction: Direction, bytes: u64) {
        let pair = self.place(connection);
        self.all.pairs[pair].await_delivery(direction, bytes);
    }

    fn keep_filled(&mut self, connection: usize, bytes: u64) {
        self.act(connection, |pair, _, poll| pair.keep_filled(bytes, poll));
    }

    fn is_full(&self, connection: usize) -> bool {
        self.pair(connection).is_full()
    }

    fn await_room(&mut self, connection: usize) {
        let enough = self.pair(connection).enough();
        self.keep_filled(connection, enough);
    }

    fn delivered(&self, connection: usize, direction: Direction) -> u64 {
        self.pair(connection).delivered(direction)
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.all.schedule(at, Due::Wake(self.application, token));
    }
}
