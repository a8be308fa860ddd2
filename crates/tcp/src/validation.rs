//! Whether the window was in use: one that was not filled does not grow (RFC 7661, in the form of
//! Linux 6.1, `net/ipv4/tcp_output.c`, `tcp_cwnd_validate` and `include/net/tcp.h`,
//! `tcp_is_cwnd_limited`).

/// How far the window was used of late.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validation {
    limited: bool,
    /// Most that was outstanding, in bytes.
    most_outstanding: u64,
    /// Until this offset is acknowledged, the largest use counts.
    until: u64,
}

impl Validation {
    /// Everything that may leave has left. `limited`: the window held something back or is full;
    /// `una` and `nxt` are the ends of what is outstanding.
    pub fn after_sending(&mut self, limited: bool, una: u64, nxt: u64) {
        let outstanding = nxt - una;
        if una >= self.until || limited || (!self.limited && outstanding > self.most_outstanding) {
            self.limited = limited;
            self.most_outstanding = outstanding;
            self.until = nxt;
        }
    }

    /// Whether a window of `cwnd` may grow. In slow start, half of it used is enough.
    pub fn allows_growth(&self, cwnd: u64, ssthresh: u64) -> bool {
        self.limited || (cwnd < ssthresh && cwnd < 2 * self.most_outstanding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_that_was_filled_or_in_slow_start_half_filled() {
        let mut use_ = Validation::default();
        use_.after_sending(false, 0, 6_000);
        assert!(use_.allows_growth(10_000, u64::MAX) && !use_.allows_growth(12_000, u64::MAX));
        assert!(!use_.allows_growth(10_000, 10_000));
        use_.after_sending(true, 0, 10_000);
        assert!(use_.allows_growth(10_000, 10_000));
        // Held for a round trip: less in use counts only when what was sent is acknowledged.
        use_.after_sending(false, 9_000, 10_000);
        assert!(use_.allows_growth(10_000, 10_000));
        use_.after_sending(false, 10_000, 11_000);
        assert!(!use_.allows_growth(10_000, 10_000));
    }
}
