//! RACK (RFC 8985): a segment is lost when one that was sent later has arrived, and the time that
//! reordering may take is over.
//!
//! As Linux 6.1 has it (`net/ipv4/tcp_recovery.c`): while no reordering was seen, enough selective
//! acknowledgements or an episode of recovery do without that time.

use fairway_units::{Duration, Time};

/// Recoveries for which a wider reordering window is kept (Linux `TCP_RACK_RECOVERY_THRESH`).
const PERSISTENCE: u32 = 16;
/// Most steps of a quarter round trip (`tcp_rack_update_reo_wnd`).
const MAX_STEPS: u32 = 255;
/// Most segments of reordering that are tolerated (`net.ipv4.tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// Comes after every SACKed segment (`net/ipv4/tcp_input.c`, `tcp_ack`: `tcp_sacktag_write_queue`, block
/// by block upwards, before `tcp_clean_rtx_queue`).
const ACKNOWLEDGED: u64 = u64::MAX;

/// What the latest arrivals say about what was sent before them.
#[derive(Clone, Debug)]
pub struct Rack {
    now: Time,
    min_rtt: Option<Duration>,
    /// What the acknowledgement echoes, by the sender's clock of whole milliseconds.
    echo_ms: Option<u64>,
    /// Of the segment that was sent last of all that arrived: when it was sent, and its end.
    latest: (Time, u64),
    /// Round-trip time of the segment that was looked at last, as the kernel goes through them.
    rtt: Duration,
    /// What that was in this acknowledgement: the end of a SACKed segment, or [`ACKNOWLEDGED`].
    rtt_of: u64,
    /// Whether something has arrived since losses were looked for.
    advanced: bool,
    /// Segments of reordering tolerated before anything else is known.
    least_reordering: u32,
    reordering: u32,
    reordering_seen: bool,
    /// Reordering window in quarters of the smallest round-trip time.
    steps: u32,
    persistence: u32,
    /// Until this offset is acknowledged the window is not widened again.
    widened_until: u64,
}

impl Rack {
    /// Nothing sent yet; `reordering` segments are tolerated at first.
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

    /// Segments of reordering that are tolerated.
    pub fn reordering(&self) -> u32 {
        self.reordering
    }

    /// An acknowledgement arrives, before it is looked at; `echo_ms` is the timestamp that it echoes, as
    /// a time of the sender's clock.
    pub fn begin(&mut self, now: Time, min_rtt: Option<Duration>, echo_ms: Option<u64>) {
        self.now = now;
        self.min_rtt = min_rtt;
        self.echo_ms = echo_ms;
        self.rtt_of = 0;
    }

    /// A segment that was last sent at `sent_at` is acknowledged, and was not SACKed before. An echo
    /// from before its retransmission says nothing of that (`tcp_clean_rtx_queue`,
    /// `tcp_skb_spurious_retrans`).
    #[inline]
    pub fn acknowledged(&mut self, sent_at: Time, end: u64, sent_again: bool) {
        if sent_again && self.echo_ms.is_some_and(|echo| echo < sent_at.as_millis()) {
            return;
        }
        self.arrived(sent_at, end, sent_again, ACKNOWLEDGED);
    }

    /// A segment that was last sent at `sent_at` is SACKed.
    #[inline]
    pub fn sacked(&mut self, sent_at: Time, end: u64, sent_again: bool) {
        self.arrived(sent_at, end, sent_again, end);
    }

    #[inline]
    fn arrived(&mut self, sent_at: Time, end: u64, sent_again: bool, rtt_of: u64) {
        let rtt = self.now.since(sent_at);
        // Then it was an earlier transmission that arrived (RFC 8985 section 6.2 step 2).
        if sent_again && self.min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
            return;
        }
        self.advanced = true;
        if rtt_of >= self.rtt_of {
            (self.rtt, self.rtt_of) = (rtt, rtt_of);
        }
        self.latest = self.latest.max((sent_at, end));
    }

    /// Whether losses have to be looked for, asked once after each acknowledgement.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Look again, whatever arrives.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Whether a segment was sent before the latest that arrived; at one time, in order.
    #[inline]
    pub fn is_overtaken(&self, sent_at: Time, end: u64) -> bool {
        (sent_at, end) < self.latest
    }

    /// How much longer a segment may take; none if it is lost.
    pub fn remaining(&self, sent_at: Time, window: Duration, now: Time) -> Option<Duration> {
        let (allowed, age) = (self.rtt + window, now.since(sent_at));
        (allowed > age).then(|| allowed - age)
    }

    /// How long reordering may take. `recovering`: losses are being repaired; `sacked`: segments
    /// that arrived out of order.
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

    /// Data below what had arrived already, and never sent again, has arrived only now: `distance`
    /// bytes in segments of `mss` below the highest.
    pub fn reordered(&mut self, distance: u64, mss: u64) {
        let segments = u32::try_from(distance.div_ceil(mss)).unwrap_or(u32::MAX);
        self.reordering = self.reordering.max(segments.min(MAX_REORDERING));
        self.reordering_seen = true;
    }

    /// The timer expired though so much had arrived out of order: the path does not reorder that far
    /// (Linux `tcp_enter_loss`).
    pub fn doubt_reordering(&mut self, sacked: u64) {
        if sacked >= u64::from(self.least_reordering) {
            self.reordering = self.reordering.min(self.least_reordering);
        }
    }

    /// A segment arrived twice though reordering was allowed for: the window is too narrow. It becomes
    /// wider at most once in a round trip; `una` and `nxt` are the ends of what is outstanding.
    pub fn duplicate(&mut self, una: u64, nxt: u64) {
        if self.reordering_seen && una >= self.widened_until {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.widened_until = nxt;
            self.persistence = PERSISTENCE;
        }
    }

    /// An episode is over; `undone` if it was for nothing.
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

    /// Segments of 1000 bytes left 1 ms apart; the fourth has arrived after 50 ms.
    fn fourth_arrived() -> Rack {
        let mut rack = Rack::new(3);
        rack.begin(at(53), Some(ms(50)), None);
        rack.sacked(at(3), 4000, false);
        rack
    }

    #[test]
    fn what_was_sent_before_has_a_quarter_round_trip_until_three_have_overtaken_it() {
        let rack = fourth_arrived();
        assert!(rack.is_overtaken(at(0), 1000) && !rack.is_overtaken(at(4), 5000));
        let one = rack.window(false, 1, Some(ms(50)), Some(ms(50)));
        assert_eq!(one, Duration::from_micros(12_500));
        // Sent at 0, 53 ms ago; it may take 50 + 12.5.
        assert_eq!(rack.remaining(at(0), one, at(53)), Some(Duration::from_micros(9_500)));
        let three = rack.window(false, 3, Some(ms(50)), Some(ms(50)));
        assert_eq!((three, rack.remaining(at(0), three, at(53))), (Duration::ZERO, None));
        assert_eq!(rack.window(true, 0, Some(ms(50)), None), Duration::ZERO);
    }

    #[test]
    fn what_is_acknowledged_counts_after_what_is_sacked() {
        // Segments 1 and 2 left at 0, 3 at 10 and 4 at 12 ms. At 50 ms 1 is acknowledged, 4 and 3
        // SACKed.
        let mut rack = Rack::new(3);
        rack.begin(at(50), Some(ms(40)), None);
        rack.acknowledged(at(0), 1000, false);
        rack.sacked(at(12), 4000, false);
        rack.sacked(at(10), 3000, false);
        let window = rack.window(false, 2, Some(ms(40)), None);
        // Segment 1 took 50 ms: 2 may take 50 + 10, though by 3 and 4 it is late.
        assert!(rack.is_overtaken(at(0), 2000));
        assert_eq!(rack.remaining(at(0), window, at(50)), Some(ms(10)));
        // The next brings SACKs alone: the upper block counts, 60 − 15 ms, and 2 is lost.
        rack.begin(at(60), Some(ms(40)), None);
        rack.sacked(at(15), 6000, false);
        rack.sacked(at(12), 5000, false);
        assert_eq!(rack.remaining(at(10), window, at(60)), Some(ms(5)));
        assert_eq!(rack.remaining(at(0), window, at(60)), None);
    }

    #[test]
    fn segments_of_one_burst_have_their_order() {
        let mut rack = Rack::new(3);
        rack.begin(at(50), None, None);
        rack.sacked(at(0), 2000, false);
        assert!(rack.is_overtaken(at(0), 1000) && !rack.is_overtaken(at(0), 2000));
    }

    #[test]
    fn what_arrives_too_early_was_not_the_retransmission() {
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
    fn an_echo_from_before_the_retransmission_does_not_speak_of_it() {
        // Sent again at 60 ms, acknowledged at 120: by the echo, for what had left at 59. SACKs are
        // believed.
        let mut rack = fourth_arrived();
        assert!(rack.take_advanced());
        rack.begin(at(120), Some(ms(50)), Some(59));
        rack.acknowledged(at(60), 1000, true);
        assert!(!rack.take_advanced() && !rack.is_overtaken(at(10), 11_000));
        rack.sacked(at(60), 1000, true);
        assert!(rack.take_advanced() && rack.is_overtaken(at(10), 11_000));
        // An echo of the same millisecond may be its own; what was sent once is known by itself.
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
        // 5 segments early: 6 tolerated with the one that was late.
        rack.reordered(5_500, 1000);
        assert_eq!(rack.reordering, 6);
        let window = |rack: &Rack| rack.window(true, 9, Some(ms(40)), Some(ms(60))).as_millis();
        assert_eq!(window(&rack), 10);
        // Once in a round trip: the second report is of data sent before the first was acted on.
        rack.duplicate(1_000, 20_000);
        rack.duplicate(19_000, 21_000);
        assert_eq!(window(&rack), 20);
        rack.duplicate(20_000, 40_000);
        assert_eq!(window(&rack), 30);
        // Never more than a round trip.
        (0..20).for_each(|step| rack.duplicate(40_000 + 1000 * step, 41_000 + 1000 * step));
        assert_eq!(window(&rack), 60);
        // Sixteen recoveries later it is as it was.
        (0..16).for_each(|_| rack.recovered(false));
        assert_eq!(window(&rack), 10);
    }

    #[test]
    fn a_timeout_after_many_arrivals_takes_reordering_back() {
        // Linux `tcp_enter_loss`: from net.ipv4.tcp_reordering SACKed segments on, 3 here.
        let mut rack = fourth_arrived();
        rack.reordered(5_500, 1000);
        rack.doubt_reordering(2);
        assert_eq!(rack.reordering, 6);
        rack.doubt_reordering(3);
        assert_eq!(rack.reordering, 3);
    }
}
