//! A rate limit shared by all connections.

use std::time::Duration;

use crate::Control;
use crate::rt::{Instant, Mutex};

/// What may go at once after a pause: the pieces that go at 10 Gbit/s in 2 ms, less than a usual
/// queue, and enough that a late wake-up costs nothing.
const BURST: Duration = Duration::from_millis(20);

/// Shares a rate among threads: a token bucket, kept as the time at which it is empty.
#[derive(Debug)]
pub struct Limiter {
    bits_per_s: f64,
    /// When what was let through has gone at the rate.
    until: Mutex<Instant>,
}

impl Limiter {
    pub fn new(bits_per_s: u64) -> Self {
        Limiter { bits_per_s: bits_per_s.max(1) as f64, until: Mutex::new(Instant::now()) }
    }

    /// Waits until so many bytes may go; true if it was asked to end meanwhile.
    pub fn wait(&self, bytes: usize, control: &Control) -> bool {
        let now = Instant::now();
        let time = Duration::from_secs_f64(bytes as f64 * 8.0 / self.bits_per_s);
        let until = {
            let mut until = self.until.lock();
            let from = until.max(now.checked_sub(BURST).unwrap_or(now));
            *until = from + time;
            *until
        };
        match until.saturating_duration_since(now) {
            Duration::ZERO => control.is_cancelled(),
            wait => control.sleep(wait),
        }
    }

    /// How many bytes are asked for at once, at most: what takes 50 ms, so that a slow rate does
    /// not come in jumps.
    pub fn piece_bytes(&self) -> usize {
        (self.bits_per_s / 8.0 / 20.0) as usize + 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn threads_share_the_rate() {
        let limiter = Arc::new(Limiter::new(80_000_000));
        let from = Instant::now();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let limiter = Arc::clone(&limiter);
                std::thread::spawn(move || {
                    (0..10).for_each(|_| assert!(!limiter.wait(100_000, &Control::new())));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // 4 MB at 10 MB/s, less the burst.
        assert!(from.elapsed() >= Duration::from_millis(400) - BURST);
    }
}
