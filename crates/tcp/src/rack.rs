//! RACK (RFC 8985): a segment is lost when one sent later has been delivered and the reordering
//! window has passed.
//!
//! As in Linux 6.1 (`net/ipv4/tcp_recovery.c`): times are those of a clock of microseconds, and while
//! no reordering has been seen, the window is zero in recovery and after enough SACKed segments.

use fairway_units::{Duration, Time};

/// Recoveries for which a wider reordering window is kept (Linux `TCP_RACK_RECOVERY_THRESH`).
const PERSISTENCE: u32 = 16;
/// Most steps of a quarter round trip (`tcp_rack_update_reo_wnd`).
const MAX_STEPS: u32 = 255;
/// Most segments of reordering tolerated (`net.ipv4.tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// Rank of cumulatively acknowledged segments: after every SACKed one (`net/ipv4/tcp_input.c`,
/// `tcp_ack`: `tcp_sacktag_write_queue`, upwards by block, before `tcp_clean_rtx_queue`).
const ACKNOWLEDGED: u64 = u64::MAX;

/// State of RACK: the latest delivered segment and the reordering window.
#[derive(Clone, Debug)]
pub struct Rack {
    now: Time,
    min_rtt: Option<Duration>,
    /// Timestamp echoed by the acknowledgement, on the sender's millisecond clock.
    echo_ms: Option<u64>,
    /// Send time and end of the delivered segment sent last.
    latest: (Time, u64),
    /// RTT of the last segment processed, in the kernel's order.
    rtt: Duration,
    /// Rank of that segment in this acknowledgement: its end if SACKed, or [`ACKNOWLEDGED`].
    rtt_of: u64,
    /// Whether a segment was delivered since losses were last detected.
    advanced: bool,
    /// Segments of reordering tolerated initially.
    least_reordering: u32,
    reordering: u32,
    reordering_seen: bool,
    /// Reordering window in quarters of the minimum RTT.
    steps: u32,
    persistence: u32,
    /// The window is not widened again until this offset is acknowledged.
    widened_until: u64,
}

impl Rack {
    /// Initial state, tolerating `reordering` segments.
    pub fn new(reordering: u32) -> Self {
        Rack {
            now: Time::ZERO,
            min_rtt: None,
            echo_ms: None,
            latest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            rtt_of: 0,
            advanced: false,
            least_reordering: reordering,
            reordering,
            reordering_seen: false,
            steps: 1,
            persistence: 0,
            widened_until: 0,
        }
    }

    /// Segments of reordering tolerated.
    pub fn reordering(&self) -> u32 {
        self.reordering
    }

    /// Begin processing an acknowledgement. `echo_ms` is its echoed timestamp, on the sender's
    /// clock.
    pub fn begin(&mut self, now: Time, min_rtt: Option<Duration>, echo_ms: Option<u64>) {
        self.now = now;
        self.min_rtt = min_rtt;
        self.echo_ms = echo_ms;
        self.rtt_of = 0;
    }

    /// A segment last sent at `sent_at` is acknowledged and was not SACKed before. Ignored if the
    /// echoed timestamp precedes its retransmission (`tcp_clean_rtx_queue`,
    /// `tcp_skb_spurious_retrans`).
    #[inline]
    pub fn acknowledged(&mut self, sent_at: Time, end: u64, sent_again: bool) {
        if sent_again && self.echo_ms.is_some_and(|echo| echo < sent_at.as_millis()) {
            return;
        }
        self.arrived(sent_at, end, sent_again, ACKNOWLEDGED);
    }

    /// A segment last sent at `sent_at` is SACKed.
    #[inline]
    pub fn sacked(&mut self, sent_at: Time, end: u64, sent_again: bool) {
        self.arrived(sent_at, end, sent_again, end);
    }

    #[inline]
    fn arrived(&mut self, sent_at: Time, end: u64, sent_again: bool, rtt_of: u64) {
        let rtt = self.now.micros_since(sent_at);
        // An earlier transmission was delivered (RFC 8985 section 6.2 step 2).
        if sent_again && self.min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
            return;
        }
        self.advanced = true;
        if rtt_of >= self.rtt_of {
            (self.rtt, self.rtt_of) = (rtt, rtt_of);
        }
        self.latest = self.latest.max((sent_at.in_micros(), end));
    }

    /// Whether losses must be detected. Called once after each acknowledgement.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Request loss detection even if nothing is delivered.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Whether a segment was sent before the latest delivered one. Sequence order breaks ties.
    #[inline]
    pub fn is_overtaken(&self, sent_at: Time, end: u64) -> bool {
        (sent_at.in_micros(), end) < self.latest
    }

    /// Send time and end of the delivered segment sent last.
    pub fn latest(&self) -> (Time, u64) {
        self.latest
    }

    /// Time left until a segment is lost; none if it is lost now.
    pub fn remaining(&self, sent_at: Time, window: Duration, now: Time) -> Option<Duration> {
        let (allowed, age) = (self.rtt + window, now.micros_since(sent_at));
        (allowed > age).then(|| allowed - age)
    }

    /// The reordering window, given whether the sender is `recovering` and the number of `sacked`
    /// segments.
    pub fn window(
        &self,
        recovering: bool,
        sacked: u64,
        min_rtt: Option<Duration>,
        srtt: Option<Duration>,
    ) -> Duration {
        let enough = recovering || sacked >= u64::from(self.reordering);
        if !self.reordering_seen && enough {
            return Duration::ZERO;
        }
        let quarter = Duration::from_nanos(min_rtt.unwrap_or_default().as_nanos() / 4);
        let window = quarter.saturating_mul(u64::from(self.steps));
        srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// A segment that was never retransmitted was delivered `distance` bytes below the highest
    /// delivered one: raise the tolerance, in segments of `mss`.
    pub fn reordered(&mut self, distance: u64, mss: u64) {
        let segments = u32::try_from(distance.div_ceil(mss)).unwrap_or(u32::MAX);
        self.reordering = self.reordering.max(segments.min(MAX_REORDERING));
        self.reordering_seen = true;
    }

    /// The timer expired with `sacked` segments SACKed: reset the tolerance if they were enough to
    /// detect a loss, since the path does not reorder that far (Linux `tcp_enter_loss`).
    pub fn doubt_reordering(&mut self, sacked: u64) {
        if sacked >= u64::from(self.least_reordering) {
            self.reordering = self.reordering.min(self.least_reordering);
        }
    }

    /// A D-SACK reported a spurious retransmission: widen the window, at most once per round trip.
    /// `una` and `nxt` are SND.UNA and SND.NXT.
    pub fn duplicate(&mut self, una: u64, nxt: u64) {
        if self.reordering_seen && una >= self.widened_until {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.widened_until = nxt;
            self.persistence = PERSISTENCE;
        }
    }

    /// A recovery ended; `undone` if it was spurious.
    pub fn recovered(&mut self, undone: bool) {
        if undone {
            self.persistence = (self.persistence + 1).min(PERSISTENCE);
        } else {
            self.persistence = self.persistence.saturating_sub(1);
            if self.persistence == 0 {
                self.steps = 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Segments of 1000 bytes sent 1 ms apart; the fourth is delivered after 50 ms.
    fn fourth_arrived() -> Rack {
        let mut rack = Rack::new(3);
        rack.begin(at(53), Some(ms(50)), None);
        rack.sacked(at(3), 4000, false);
        rack
    }

    #[test]
    fn the_window_is_a_quarter_rtt_until_three_segments_are_sacked() {
        let rack = fourth_arrived();
        assert!(rack.is_overtaken(at(0), 1000) && !rack.is_overtaken(at(4), 5000));
        let one = rack.window(false, 1, Some(ms(50)), Some(ms(50)));
        assert_eq!(one, Duration::from_micros(12_500));
        // Sent 53 ms ago, lost after 50 + 12.5.
        assert_eq!(rack.remaining(at(0), one, at(53)), Some(Duration::from_micros(9_500)));
        let three = rack.window(false, 3, Some(ms(50)), Some(ms(50)));
        assert_eq!((three, rack.remaining(at(0), three, at(53))), (Duration::ZERO, None));
        assert_eq!(rack.window(true, 0, Some(ms(50)), None), Duration::ZERO);
    }

    #[test]
    fn acknowledged_segments_are_processed_after_sacked_ones() {
        // Segments 1 and 2 are sent at 0, 3 at 10 and 4 at 12 ms. At 50 ms 1 is acknowledged, 4 and
        // 3 are SACKed.
        let mut rack = Rack::new(3);
        rack.begin(at(50), Some(ms(40)), None);
        rack.acknowledged(at(0), 1000, false);
        rack.sacked(at(12), 4000, false);
        rack.sacked(at(10), 3000, false);
        let window = rack.window(false, 2, Some(ms(40)), None);
        // The RTT is that of segment 1, 50 ms: 2 has 50 + 10, though by 3 and 4 it is overdue.
        assert!(rack.is_overtaken(at(0), 2000));
        assert_eq!(rack.remaining(at(0), window, at(50)), Some(ms(10)));
        // The next only SACKs: the RTT is that of the upper block, 60 − 15 ms, and 2 is lost.
        rack.begin(at(60), Some(ms(40)), None);
        rack.sacked(at(15), 6000, false);
        rack.sacked(at(12), 5000, false);
        assert_eq!(rack.remaining(at(10), window, at(60)), Some(ms(5)));
        assert_eq!(rack.remaining(at(0), window, at(60)), None);
    }

    #[test]
    fn segments_sent_together_are_ordered_by_sequence() {
        let mut rack = Rack::new(3);
        rack.begin(at(50), None, None);
        rack.sacked(at(0), 2000, false);
        assert!(rack.is_overtaken(at(0), 1000) && !rack.is_overtaken(at(0), 2000));
    }

    #[test]
    fn an_rtt_below_the_minimum_is_not_of_the_retransmission() {
        let mut rack = fourth_arrived();
        rack.begin(at(80), Some(ms(50)), None);
        assert!(rack.take_advanced());
        rack.sacked(at(60), 1000, true);
        assert!(!rack.take_advanced() && !rack.is_overtaken(at(10), 11_000));
        rack.begin(at(110), Some(ms(50)), None);
        rack.sacked(at(60), 1000, true);
        assert!(rack.take_advanced() && rack.is_overtaken(at(10), 11_000));
    }

    #[test]
    fn an_echo_from_before_the_retransmission_is_ignored() {
        // Retransmitted at 60 ms and acknowledged at 120; the echo is that of a segment sent at 59.
        // SACKs are not checked.
        let mut rack = fourth_arrived();
        assert!(rack.take_advanced());
        rack.begin(at(120), Some(ms(50)), Some(59));
        rack.acknowledged(at(60), 1000, true);
        assert!(!rack.take_advanced() && !rack.is_overtaken(at(10), 11_000));
        rack.sacked(at(60), 1000, true);
        assert!(rack.take_advanced() && rack.is_overtaken(at(10), 11_000));
        // An echo of the same millisecond counts, and originals are not checked.
        for (echo, sent_again) in [(60, true), (59, false)] {
            let mut rack = fourth_arrived();
            rack.begin(at(120), Some(ms(50)), Some(echo));
            rack.acknowledged(at(60), 1000, sent_again);
            assert!(rack.is_overtaken(at(10), 11_000));
        }
    }

    #[test]
    fn reordering_ends_the_shortcuts_and_duplicates_widen_the_window() {
        let mut rack = fourth_arrived();
        // 5.5 segments, rounded up.
        rack.reordered(5_500, 1000);
        assert_eq!(rack.reordering, 6);
        let window = |rack: &Rack| rack.window(true, 9, Some(ms(40)), Some(ms(60))).as_millis();
        assert_eq!(window(&rack), 10);
        // Once per round trip: the second D-SACK is for data sent before the window was widened.
        rack.duplicate(1_000, 20_000);
        rack.duplicate(19_000, 21_000);
        assert_eq!(window(&rack), 20);
        rack.duplicate(20_000, 40_000);
        assert_eq!(window(&rack), 30);
        // At most the smoothed RTT.
        (0..20).for_each(|step| rack.duplicate(40_000 + 1000 * step, 41_000 + 1000 * step));
        assert_eq!(window(&rack), 60);
        // After sixteen recoveries it is reset.
        (0..16).for_each(|_| rack.recovered(false));
        assert_eq!(window(&rack), 10);
    }

    #[test]
    fn a_timeout_after_enough_sacked_segments_resets_the_tolerance() {
        // Linux `tcp_enter_loss`: net.ipv4.tcp_reordering SACKed segments, here 3.
        let mut rack = fourth_arrived();
        rack.reordered(5_500, 1000);
        rack.doubt_reordering(2);
        assert_eq!(rack.reordering, 6);
        rack.doubt_reordering(3);
        assert_eq!(rack.reordering, 3);
    }
}
