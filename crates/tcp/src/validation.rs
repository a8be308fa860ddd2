//! Congestion window validation: a window that was not filled does not grow (RFC 7661, as in Linux
//! 6.1, `net/ipv4/tcp_output.c`, `tcp_cwnd_validate` and `include/net/tcp.h`,
//! `tcp_is_cwnd_limited`).

/// Recent use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validation {
    limited: bool,
    /// Most packets outstanding (`max_packets_out`).
    most_outstanding: u64,
    /// That value holds until this offset is acknowledged.
    until: u64,
}

impl Validation {
    /// Sending has ended with so many packets `outstanding`. `limited`: the window held data back or
    /// is full; `una` and `nxt` are SND.UNA and SND.NXT.
    pub fn after_sending(&mut self, limited: bool, outstanding: u64, una: u64, nxt: u64) {
        if una >= self.until || limited || (!self.limited && outstanding > self.most_outstanding) {
            self.limited = limited;
            self.most_outstanding = outstanding;
            self.until = nxt;
        }
    }

    /// Whether a window of `cwnd` bytes, in segments of `mss`, may grow. In slow start, using half of it
    /// suffices.
    pub fn allows_growth(&self, cwnd: u64, ssthresh: u64, mss: u64) -> bool {
        self.limited || (cwnd < ssthresh && cwnd < 2 * self.most_outstanding * mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    #[test]
    fn a_window_grows_if_filled_or_in_slow_start_half_filled() {
        let mut use_ = Validation::default();
        use_.after_sending(false, 6, 0, 5_100);
        assert!(
            use_.allows_growth(11_000, u64::MAX, MSS) && !use_.allows_growth(12_000, u64::MAX, MSS)
        );
        assert!(!use_.allows_growth(10_000, 10_000, MSS));
        use_.after_sending(true, 10, 0, 10_000);
        assert!(use_.allows_growth(10_000, 10_000, MSS));
        // Held for a round trip: a lower use counts only after the data sent is acknowledged.
        use_.after_sending(false, 1, 9_000, 10_000);
        assert!(use_.allows_growth(10_000, 10_000, MSS));
        use_.after_sending(false, 1, 10_000, 11_000);
        assert!(!use_.allows_growth(10_000, 10_000, MSS));
    }
}
