//! Counters of a flow at one end, readable while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::load::messages::Message;
use crate::measure::DatagramCounts;
use crate::rt::Mutex;

/// Counters of one flow at one end, since it was opened.
#[derive(Debug, Default)]
pub struct Counts {
    /// Payload written to the socket, or read from it; of datagrams without the copies.
    pub bytes: Arc<AtomicU64>,
    pub messages: AtomicU64,
    /// Pieces that were not as their position makes them.
    pub corrupt: AtomicU64,
    /// Datagrams that were of another session or of none.
    pub foreign: AtomicU64,
    pub datagrams: Arc<Mutex<DatagramCounts>>,
    /// How long datagrams were under way, if the clocks are one.
    pub delays: Mutex<Delays>,
    ended: AtomicBool,
    /// When it has started, and when it has ended.
    times: Mutex<(Option<Instant>, Option<Instant>)>,
    failure: Mutex<Option<String>>,
    listener: Mutex<Option<(Sender<Wake>, u32)>>,
}

/// What wakes the one who waits for the flows of a session.
#[derive(Debug)]
pub enum Wake {
    Ended(u32),
    Message(Message),
    Lost(Error),
}

impl Counts {
    /// Nothing yet of the flow of this number; `listener` is told of its end.
    pub fn new(listener: Sender<Wake>, flow: u32) -> Self {
        Counts { listener: Mutex::new(Some((listener, flow))), ..Counts::default() }
    }

    pub fn start_at(&self, at: Instant) {
        self.times.lock().0 = Some(at);
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.times.lock().1.get_or_insert_with(Instant::now);
        self.ended.store(true, Ordering::Release);
        if let Some((listener, flow)) = self.listener.lock().take() {
            // Nobody listens any longer if the session is over.
            let _ = listener.send(Wake::Ended(flow));
        }
    }

    /// From its start to its end, in seconds; none before the end.
    pub fn took_s(&self) -> Option<f64> {
        let (start, end) = *self.times.lock();
        Some(end?.saturating_duration_since(start?).as_secs_f64())
    }

    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    pub fn corrupt(&self) -> u64 {
        self.corrupt.load(Ordering::Relaxed)
    }

    pub fn foreign(&self) -> u64 {
        self.foreign.load(Ordering::Relaxed)
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub fn fail(&self, why: impl ToString) {
        self.failure.lock().get_or_insert(why.to_string());
        self.end();
    }

    /// Why it broke, if it did.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }
}

/// Buckets that a doubling of the delay is divided into: each is 2^(1/16) = 4.4 % wide.
const BUCKETS_PER_DOUBLING: u32 = 16;
/// Octaves of nanoseconds: up to 2^40 ns, some 18 minutes.
const DOUBLINGS: u32 = 40;

/// One-way delays of datagrams, in so many buckets that quantiles are within 5 %.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    count: u64,
    sum_nanos: u64,
    buckets: Vec<u64>,
}

impl Delays {
    pub fn add(&mut self, nanos: u64) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; (BUCKETS_PER_DOUBLING * DOUBLINGS) as usize];
        }
        self.count += 1;
        self.sum_nanos = self.sum_nanos.saturating_add(nanos);
        let bucket = bucket(nanos).min(self.buckets.len() - 1);
        self.buckets[bucket] += 1;
    }

    /// Mean in seconds; none without any.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_nanos as f64 / self.count as f64 / 1e9)
    }

    /// The delay that so large a share of them does not exceed, in seconds.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let at = self.buckets.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        // The middle of the bucket on the scale that they are equal on.
        let doublings = (at as f64 + 0.5) / f64::from(BUCKETS_PER_DOUBLING);
        Some(libm::exp2(doublings) / 1e9)
    }
}

fn bucket(nanos: u64) -> usize {
    (libm::log2(nanos.max(1) as f64) * f64::from(BUCKETS_PER_DOUBLING)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn delays_have_their_mean_and_quantiles() {
        let mut delays = Delays::default();
        assert_eq!((delays.mean_s(), delays.quantile_s(0.5)), (None, None));
        // 1 to 100 ms: median 50 ms, 95th percentile 95 ms, mean 50.5 ms.
        (1..=100).for_each(|ms| delays.add(ms * 1_000_000));
        assert!((delays.mean_s().unwrap() - 0.0505).abs() < 1e-9);
        let near = |share, expected: f64| {
            (delays.quantile_s(share).unwrap() / expected - 1.0).abs() < 0.05
        };
        assert!(near(0.5, 0.050) && near(0.95, 0.095) && near(1.0, 0.100));
    }

    proptest! {
        #[test]
        fn any_delay_is_counted(nanos: Vec<u64>) {
            let mut delays = Delays::default();
            nanos.iter().for_each(|nanos| delays.add(*nanos));
            prop_assert_eq!(delays.quantile_s(0.5).is_some(), !nanos.is_empty());
        }
    }
}
