//! Which congestion control is that?
//!
//! A capture at the sender's end shows what the sender's algorithm was told: every acknowledgement
//! with its round trip, what was lost, when the timer expired. And it shows how much was in flight
//! when the sender stopped by itself, which is its window. So [every algorithm](candidates) is driven
//! by the same events, as a Linux sender would have told it of them ([`replica`]), and its window is
//! compared with what was in flight once in a round trip ([`hypothesis`]). Algorithms are then ranked
//! by how likely the differences are ([`ranking`]). No feature of any algorithm is looked for: what
//! Fairway's algorithms do is what is compared, and they follow the kernel's to the segment.
//!
//! Where an algorithm loses the sender, it is set to the window that was seen, and has paid for it:
//! growth and back-off are judged one by one.
//!
//! Others have looked for features: the windows of CAAI's probes, with a classifier (Yang et al.,
//! "TCP Congestion Avoidance Algorithm Identification", ICDCS 2011); the window under chosen losses
//! (Mishra et al., "The Great Internet TCP Congestion Control Census", SIGMETRICS 2019).

mod candidates;
mod evidence;
mod hypothesis;
mod random_backoff;
mod ranking;
mod replica;
mod scoreboard;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairway_cc::Init;
use fairway_units::Time;
use serde::Serialize;

use crate::event::{Acked, Flow, Observer, Sent};
use candidates::CANDIDATES;
use hypothesis::Hypothesis;
use replica::Replica;

/// Segments of the initial window (RFC 6928), if the capture shows less.
const INITIAL_WINDOW_SEGMENTS: u64 = 10;
/// Directions that are looked into at the same time. Each takes some 50 kB, and what is in flight.
const MOST_AT_ONCE: usize = 1_000;

/// Which algorithm a sender has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Identification {
    /// The algorithms, best first; none if nothing could be compared.
    pub ranked: Vec<Ranked>,
    /// Names of those that what was seen does not tell from the first.
    pub alike: Vec<&'static str>,
    /// Whether one of them explains what was seen. If not, the first is the least bad.
    pub is_explained: bool,
    /// Round trips in which the window could be compared.
    pub rounds: u32,
    /// Of these, those right after a loss or a mark: back-offs.
    pub backoffs: u32,
    /// Caveats.
    pub caveats: Vec<String>,
    /// The result in words.
    pub words: String,
}

/// How well one algorithm explains what was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// Its name in experiment files.
    pub algorithm: &'static str,
    /// How sure it is to be this one, of those that were asked: 0 to 1, and 1 in sum.
    pub confidence: f64,
    /// Mean logarithm of the likelihood of a round trip: 0 is a perfect match each time.
    pub score: f64,
    /// Share of round trips in which its window is the one seen, to 3 % and a segment.
    pub matched: f64,
}

/// How many directions may be looked into.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    taken: Arc<AtomicUsize>,
}

impl Slots {
    fn take(&self) -> Option<Slot> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        let slot = Slot { slots: self.clone() };
        (before < MOST_AT_ONCE).then_some(slot)
    }
}

/// One that is looked into; gives its place back.
struct Slot {
    slots: Slots,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Looks on, and asks every algorithm.
pub struct Identify {
    slots: Slots,
    state: State,
}

enum State {
    /// No data yet.
    Idle,
    Asking(Box<Asking>),
    Done(Box<Identification>),
}

/// The algorithms at work.
struct Asking {
    replica: Replica,
    hypotheses: Vec<Hypothesis>,
    /// Log likelihood of each candidate over the blocks of rounds that are complete.
    totals: Vec<f64>,
    has_ece: bool,
    is_far: bool,
    _slot: Slot,
}

impl Identify {
    /// Has seen nothing. `slots` are those of the whole analysis.
    pub fn new(slots: &Slots) -> Identify {
        Identify { slots: slots.clone(), state: State::Idle }
    }

    fn begin(&mut self, flow: &Flow) {
        let Some(slot) = self.slots.take() else {
            let caveat = format!("more than {MOST_AT_ONCE} senders at the same time");
            self.state = State::Done(Box::new(ranking::nothing(vec![caveat])));
            return;
        };
        let mut replica = Replica::new(flow.mss_bytes);
        if let Some(rtt) = flow.receiver_rtt {
            replica.sample_handshake(rtt);
        }
        let is_far = matches!((flow.sender_rtt, flow.receiver_rtt),
            (Some(sender), Some(receiver)) if sender > receiver);
        self.state = State::Asking(Box::new(Asking {
            replica,
            hypotheses: Vec::new(),
            totals: vec![0.0; CANDIDATES.len()],
            has_ece: false,
            is_far,
            _slot: slot,
        }));
    }

    /// The connection is over, or the capture.
    pub fn finish(&mut self) {
        if let State::Asking(asking) = &mut self.state {
            self.state = State::Done(Box::new(asking.rank()));
        }
    }

    /// The identification, at the end; none without data.
    pub fn into_found(self) -> Option<Identification> {
        match self.state {
            State::Done(identification) => Some(*identification),
            State::Idle | State::Asking(_) => None,
        }
    }
}

impl Observer for Identify {
    fn sent(&mut self, sent: &Sent, flow: &Flow) {
        if matches!(self.state, State::Idle) && sent.bytes > 0 {
            self.begin(flow);
        }
        if let State::Asking(asking) = &mut self.state {
            asking.replica.sent(sent, &mut asking.hypotheses);
        }
    }

    fn acked(&mut self, acked: &Acked, flow: &Flow) {
        if let State::Asking(asking) = &mut self.state {
            asking.acked(acked, flow);
        }
    }
}

impl Asking {
    fn acked(&mut self, acked: &Acked, flow: &Flow) {
        if self.hypotheses.is_empty() {
            self.ask(acked, flow);
        }
        self.has_ece |= acked.has_ece;
        self.replica.acked(acked, &mut self.hypotheses);
        if self.hypotheses.first().is_some_and(|first| first.evidence.has_block()) {
            self.add_block();
        }
    }

    /// The first acknowledgement has come: the initial window is what was sent until then.
    fn ask(&mut self, acked: &Acked, flow: &Flow) {
        let mss = u64::from(flow.mss_bytes.max(1));
        let initial_window = self.replica.board.pipe.max(INITIAL_WINDOW_SEGMENTS * mss);
        let init = Init {
            mss: flow.mss_bytes.max(1),
            initial_window,
            // In the middle of a connection slow start is over.
            initial_ssthresh: (!flow.has_syn).then_some(initial_window),
            slow_start: None,
            seed: 0,
            coupling: None,
            abe: false,
        };
        let start = Time::ZERO;
        self.hypotheses =
            CANDIDATES.iter().flat_map(|candidate| candidate.hypotheses(&init, start)).collect();
        let flow = self.replica.flow(0, acked.at);
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.established(&flow));
    }

    /// Of hypotheses with other seeds the best of each block counts.
    fn add_block(&mut self) {
        let mut first = 0;
        for (candidate, total) in CANDIDATES.iter().zip(&mut self.totals) {
            let end = first + candidate.seeds as usize;
            let Some(seeds) = self.hypotheses.get_mut(first..end) else { return };
            let best = seeds.iter_mut().map(|seed| seed.evidence.take_block());
            *total += best.fold(f64::NEG_INFINITY, f64::max) - libm::log(candidate.seeds as f64);
            first = end;
        }
    }

    fn rank(&mut self) -> Identification {
        self.add_block();
        let mut caveats = Vec::new();
        if self.replica.board.has_overflowed {
            caveats.push("more is outstanding than is followed".to_owned());
        }
        if self.is_far {
            caveats.push(
                "the capture is nearer to the receiver: what the sender has in flight shows at its own \
                 end"
                .to_owned(),
            );
        }
        let seen = ranking::Seen { has_ece: self.has_ece, caveats };
        ranking::rank(&self.hypotheses, &self.totals, seen)
    }
}
