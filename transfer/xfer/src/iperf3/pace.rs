//! How much a test sends, and how fast.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Parameters;

/// Wait that is longer than any other.
const LONGEST: Duration = Duration::from_secs(1 << 32);

/// Payload that is left to do, if there is an end to it.
#[derive(Debug)]
pub(super) struct Amount {
    limit: Option<u64>,
    left: AtomicU64,
}

impl Amount {
    pub(super) fn new(limit: Option<u64>) -> Amount {
        Amount { limit, left: AtomicU64::new(limit.unwrap_or(0)) }
    }

    /// Takes up to so many bytes of it; none if nothing is left.
    pub(super) fn take(&self, bytes: usize) -> Option<usize> {
        if self.limit.is_none() {
            return Some(bytes);
        }
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then(|| left.saturating_sub(bytes as u64))
        });
        Some(bytes.min(usize::try_from(before.ok()?).unwrap_or(bytes)))
    }

    pub(super) fn is_done(&self) -> bool {
        self.limit.is_some() && self.left.load(Ordering::Relaxed) == 0
    }

    pub(super) fn restart(&self) {
        self.left.store(self.limit.unwrap_or(0), Ordering::Relaxed);
    }
}

/// Payload after which a test ends, if that ends it.
pub(super) fn limit_bytes(parameters: &Parameters) -> Option<u64> {
    match (parameters.bytes, parameters.blocks) {
        (0, 0) => None,
        (0, blocks) => Some(blocks.saturating_mul(u64::from(parameters.block_bytes))),
        (bytes, _) => Some(bytes),
    }
}

/// Keeps a stream to its mean rate since its start, as iperf3 does.
pub(super) struct Pace {
    bandwidth_bps: Option<u64>,
    burst: u64,
    start: Instant,
    bytes: u64,
    blocks: u64,
}

impl Pace {
    /// From now on, at that rate if there is one.
    pub(super) fn new(bandwidth_bps: Option<u64>, burst: u64) -> Pace {
        Pace { bandwidth_bps, burst, start: Instant::now(), bytes: 0, blocks: 0 }
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.blocks += 1;
    }

    /// How long to wait for the next block; none if it is due.
    pub(super) fn wait(&self) -> Option<Duration> {
        let bandwidth_bps = self.bandwidth_bps? as f64;
        if !self.blocks.is_multiple_of(self.burst.max(1)) {
            return None;
        }
        let due_s = self.bytes as f64 * 8.0 / bandwidth_bps;
        let wait_s = due_s - self.start.elapsed().as_secs_f64();
        (wait_s > 0.0).then(|| Duration::try_from_secs_f64(wait_s).unwrap_or(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_ends_with_its_last_byte() {
        let parameters = Parameters { bytes: 250, ..Parameters::default() };
        let amount = Amount::new(limit_bytes(&parameters));
        let taken: Vec<Option<usize>> = (0..4).map(|_| amount.take(100)).collect();
        assert_eq!(taken, [Some(100), Some(100), Some(50), None]);
        assert!(amount.is_done());
        amount.restart();
        assert!(!amount.is_done());
        let endless = Amount::new(limit_bytes(&Parameters::default()));
        assert!(endless.take(100) == Some(100) && !endless.is_done());
        let parameters = Parameters { blocks: 3, block_bytes: 100, ..Parameters::default() };
        assert_eq!(limit_bytes(&parameters), Some(300));
    }

    #[test]
    fn a_rate_is_kept_between_bursts() {
        let start = Instant::now();
        let mut pace = Pace { bandwidth_bps: Some(8), burst: 2, start, bytes: 0, blocks: 0 };
        assert_eq!(pace.wait(), None);
        pace.sent(100);
        assert_eq!(pace.wait(), None, "a burst of two");
        pace.sent(100);
        // 200 bytes at one byte a second.
        assert!(pace.wait().unwrap() > Duration::from_secs(100));
    }
}
