//! A congestion control that asks of the stack what a test wants, and writes down what it is told.

use std::sync::{Arc, Mutex};

use fairway_cc::{Ack, CongestionControl, Flow, Needs, Signal};
use fairway_units::{Duration, Rate};

/// What the algorithm asks; the rest is the wrapped algorithm's.
#[derive(Clone, Debug, Default)]
pub struct Asks {
    /// A window of so many segments of 1000 bytes, whatever happens.
    pub window: Option<u64>,
    pub needs: Needs,
    pub pacing: Option<Rate>,
    /// To reduce the window once this many bytes are delivered.
    pub reduction_from: Option<u64>,
    pub restarts_after_loss: bool,
    pub min_rto: Option<Duration>,
    /// Another bound of the timeout, once anything is delivered.
    pub later_min_rto: Option<Duration>,
}

/// An event that the algorithm was told of.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    Ack(Ack, Flow),
    Congestion(Signal, Flow),
    Recovered,
    Rto(bool, Flow),
    Start(Duration, Flow),
}

/// What a witness wrote down.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<Told>>>);

impl Notes {
    fn note(&self, told: Told) {
        self.0.lock().expect("one thread").push(told);
    }

    /// Every event so far.
    pub fn all(&self) -> Vec<Told> {
        self.0.lock().expect("one thread").clone()
    }

    /// Every acknowledgement so far.
    pub fn acks(&self) -> Vec<(Ack, Flow)> {
        let acks = |told| if let Told::Ack(ack, flow) = told { Some((ack, flow)) } else { None };
        self.all().into_iter().filter_map(acks).collect()
    }

    /// When sending began with nothing in the network, and how long after the segment before, in
    /// milliseconds.
    pub fn starts(&self) -> Vec<(u64, u64)> {
        let starts = |told| match told {
            Told::Start(idle, flow) => Some((flow.now.as_millis(), idle.as_millis())),
            _ => None,
        };
        self.all().into_iter().filter_map(starts).collect()
    }

    /// The signals of every reduction so far, and when they came, in milliseconds.
    pub fn signals(&self) -> Vec<(u64, Signal)> {
        let signals = |told| match told {
            Told::Congestion(signal, flow) => Some((flow.now.as_millis(), signal)),
            _ => None,
        };
        self.all().into_iter().filter_map(signals).collect()
    }
}

pub struct Witness {
    pub inner: Box<dyn CongestionControl>,
    pub asks: Asks,
    pub notes: Notes,
    pub delivered: u64,
}

impl CongestionControl for Witness {
    fn cwnd(&self) -> u64 {
        self.asks.window.map_or_else(|| self.inner.cwnd(), |segments| segments * 1000)
    }

    fn ssthresh(&self) -> u64 {
        self.inner.ssthresh()
    }

    fn needs(&self) -> Needs {
        self.asks.needs
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.asks.pacing
    }

    fn wants_reduction(&self) -> bool {
        self.asks.reduction_from.is_some_and(|from| self.delivered >= from)
    }

    fn restarts_after_loss(&self) -> bool {
        self.asks.restarts_after_loss
    }

    fn min_rto(&self) -> Option<Duration> {
        let later = self.asks.later_min_rto.filter(|_| self.delivered > 0);
        later.or(self.asks.min_rto)
    }

    fn on_established(&mut self, flow: &Flow) {
        self.inner.on_established(flow);
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.delivered = flow.delivered;
        self.notes.note(Told::Ack(*ack, *flow));
        self.inner.on_ack(ack, flow);
    }

    fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        self.notes.note(Told::Congestion(signal, *flow));
        self.inner.on_congestion(signal, flow);
    }

    fn on_recovered(&mut self, cwnd: u64, flow: &Flow) {
        self.notes.note(Told::Recovered);
        self.inner.on_recovered(cwnd, flow);
    }

    fn on_rto(&mut self, first: bool, flow: &Flow) {
        self.notes.note(Told::Rto(first, *flow));
        self.inner.on_rto(first, flow);
    }

    fn on_spurious(&mut self, flow: &Flow) {
        self.inner.on_spurious(flow);
    }

    fn on_idle(&mut self, idle: Duration, rto: Duration, restart_window: u64, flow: &Flow) {
        self.inner.on_idle(idle, rto, restart_window, flow);
    }

    fn on_transmit_start(&mut self, idle: Duration, app_limited: bool, flow: &Flow) {
        self.notes.note(Told::Start(idle, *flow));
        self.inner.on_transmit_start(idle, app_limited, flow);
    }
}
