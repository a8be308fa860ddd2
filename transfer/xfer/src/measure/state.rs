//! The flows of a meter and their rows.

use std::time::{Duration, Instant};

use super::flow::{Flow, Open, Told, Watch, load};
use super::rows::{MAX_ROWS, Row, Rows};
use super::{Counts, Cpu, Goal, INTERVAL, SHORTEST_INTERVAL, Subject};
use crate::Progress;

/// Samples of a flow at which an interval that adapts is doubled: a chart of half of them is smooth.
const SAMPLES: usize = 512;
/// A last sample that comes sooner after the one before than this share of an interval is no row
/// of its own: its rates would be chance.
const SHORTEST_ROW: f64 = 0.1;

#[derive(Debug)]
pub(super) struct State {
    pub(super) subject: Subject,
    pub(super) flows: Vec<Flow>,
    pub(super) rows: Rows,
    pub(super) goal: Goal,
    pub(super) cpu_before: Cpu,
    began: Option<Instant>,
    /// When the latest sample of all, or of one that closed, was taken.
    ended: Option<Instant>,
    interval: Duration,
    due: Option<Instant>,
    next_number: u64,
    told: Told,
}

impl State {
    pub(super) fn new(subject: Subject) -> Self {
        State {
            interval: first_interval(&subject),
            subject,
            flows: Vec::new(),
            rows: Rows::default(),
            goal: Goal::default(),
            cpu_before: Cpu::now(),
            began: None,
            ended: None,
            due: None,
            next_number: 0,
            told: Told::default(),
        }
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// What rates have to last for to be more than chance: the interval that was asked for, or a
    /// second.
    pub(super) fn rate_interval(&self) -> Duration {
        match self.subject.interval {
            Some(_) => self.interval,
            None => self.interval.max(INTERVAL),
        }
    }

    /// Rows at which two are made one.
    fn most_rows(&self) -> usize {
        match self.subject.interval {
            None if self.interval < INTERVAL => (SAMPLES * self.flows.len()).min(MAX_ROWS),
            _ => MAX_ROWS,
        }
    }

    /// When everything began, and what it has taken so far.
    pub(super) fn window(&self) -> (Option<Instant>, Duration) {
        let took = self.began.zip(self.ended).map(|(from, to)| to.saturating_duration_since(from));
        (self.began, took.unwrap_or_default())
    }

    /// Watches something new; returns the flow that it belongs to and its own number.
    pub(super) fn open(
        &mut self,
        id: &str,
        watch: Watch,
        open: Open,
        now: Instant,
    ) -> (usize, u64) {
        if self.began.is_none() {
            self.began = Some(now);
            self.due = Some(now + self.interval);
            self.told = Told::at(now);
        }
        let number = self.next_number;
        self.next_number += 1;
        let flow = match self.flows.iter().position(|flow| flow.id == id) {
            Some(flow) => {
                self.end(flow, now);
                flow
            }
            None => {
                self.flows.push(Flow::new(id, watch.clone(), open.is_sent(), now));
                self.flows.len() - 1
            }
        };
        let flow_of = &mut self.flows[flow];
        flow_of.watch = watch;
        flow_of.connections += 1;
        flow_of.closed_at = None;
        flow_of.row.0 = now;
        flow_of.open = Some((number, open));
        (flow, number)
    }

    /// Ends the watch of that number, unless another has taken its place already.
    pub(super) fn close(&mut self, flow: usize, number: u64, now: Instant) {
        if matches!(&self.flows[flow].open, Some((open, _)) if *open == number) {
            self.end(flow, now);
        }
    }

    pub(super) fn deliver_all(&mut self, flow: usize, number: u64) {
        match &mut self.flows[flow].open {
            Some((open, Open::Tcp(connection))) if *open == number => connection.deliver_all(),
            _ => {}
        }
    }

    fn end(&mut self, flow: usize, now: Instant) {
        if !self.flows[flow].is_open() {
            return;
        }
        self.flows[flow].look();
        self.row(flow, now, true);
        let flow = &mut self.flows[flow];
        flow.closed = flow.counts();
        flow.open = None;
        flow.closed_at = Some(now);
        self.ended = Some(now);
    }

    /// Looks at everything that is open, for rows if they are due.
    pub(super) fn sample(&mut self, now: Instant, is_last: bool) {
        for flow in &mut self.flows {
            flow.look();
        }
        // Looks come in steps of their own: one that is a little early is the one that is meant.
        let is_due = self.due.is_none_or(|due| now + self.interval / 4 >= due);
        if self.began.is_none() || !(is_last || is_due) {
            return;
        }
        for flow in 0..self.flows.len() {
            if self.flows[flow].is_open() {
                self.row(flow, now, is_last);
                self.ended = Some(now);
            }
        }
        if self.rows.reach(self.most_rows()) {
            self.rows.halve();
            self.interval *= 2;
        }
        let due = self.due.map_or(now, |due| due + self.interval);
        self.due = Some(due.max(now + self.interval / 2));
    }

    pub(super) fn counts(&self) -> Counts {
        self.flows.iter().fold(Counts::default(), |sum, flow| sum + flow.counts())
    }

    /// Forgets what was measured so far: the window begins now.
    pub(super) fn restart(&mut self, now: Instant) {
        for flow in &mut self.flows {
            flow.look();
            flow.restart(now);
        }
        self.rows = Rows::default();
        self.interval = first_interval(&self.subject);
        self.cpu_before = Cpu::now();
        if self.began.is_some() {
            (self.began, self.ended) = (Some(now), None);
            self.due = Some(now + self.interval);
        }
        self.told = Told::at(now);
    }

    pub(super) fn delivered_bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.counts().payload_bytes).sum()
    }

    fn row(&mut self, flow: usize, now: Instant, is_last: bool) {
        let Some(began) = self.began else { return };
        let shortest = self.interval.mul_f64(SHORTEST_ROW);
        let of = &mut self.flows[flow];
        let payload_bytes = of.counts().payload_bytes;
        let (from, from_bytes) = of.row;
        let news = payload_bytes.saturating_sub(from_bytes);
        let took = now.saturating_duration_since(from);
        let is_first = self.rows.has_none_of(flow as u32);
        if is_last && took < shortest && !(is_first && news > 0) {
            self.rows.lengthen(flow as u32, nanos(now, began), news);
            of.row = (now, payload_bytes);
            return;
        }
        of.row = (now, payload_bytes);
        self.rows.push(Row {
            flow: flow as u32,
            from_ns: nanos(from, began),
            to_ns: nanos(now, began),
            payload_bytes: news,
            record: of.latest().into(),
        });
    }

    pub(super) fn progress(&mut self, now: Instant) -> Progress {
        let delivered = self.delivered_bytes();
        let done_bytes = self.goal.done_bytes.as_deref().map_or(delivered, load);
        let open = self.flows.iter_mut().filter(|flow| flow.is_open());
        let streams = open.map(|flow| flow.progress(now));
        let streams = streams.collect();
        let elapsed = self.began.map(|began| now.saturating_duration_since(began));
        Progress {
            done_bytes,
            total_bytes: self.goal.total_bytes,
            duration_s: self.goal.duration.map(|duration| duration.as_secs_f64()),
            elapsed_s: elapsed.unwrap_or_default().as_secs_f64(),
            goodput_bps: self.told.rate(now, delivered),
            streams,
        }
    }
}

fn first_interval(subject: &Subject) -> Duration {
    subject.interval.unwrap_or_default().max(SHORTEST_INTERVAL)
}

fn nanos(at: Instant, began: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(began).as_nanos()).unwrap_or(u64::MAX)
}
