//! Size and deferral of TSO bursts, as in Linux 6.1 (`net/ipv4/tcp_output.c`, `tcp_tso_autosize`,
//! `tcp_tso_should_defer`) or before 3.12.

use fairway_units::{Duration, Time};

use crate::memory::MAX_TCP_HEADER;

/// A burst is 1/1024 s of the pacing rate (`net/core/sock.c`, `sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Largest buffer in bytes: 64 KiB less the room for headers
/// (`include/linux/netdevice.h`, `GSO_LEGACY_MAX_SIZE`; `net/ipv4/tcp_output.c`, `tcp_tso_autosize`).
pub const MAX_BUFFER_BYTES: u64 = 65_536 - 1 - MAX_TCP_HEADER;
/// On short paths a full buffer is added, halved for every 512 us of the minimum RTT
/// (`net.ipv4.tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
const MAX_HALVINGS: u64 = 32;
/// Minimum segments of a burst (`net.ipv4.tcp_min_tso_segs`).
const MIN_SEGMENTS: u64 = 2;
/// A burst of the window divided by this is not deferred (`net.ipv4.tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Largest burst of a device, in bytes (2.6.27 `net/core/dev.c`, `GSO_MAX_SIZE`).
pub const MAX_DEVICE_BYTES: u64 = 65_536;
/// Longest deferral (`tcp_tso_should_defer`).
const PATIENCE: Duration = Duration::from_millis(1);

/// Inputs of the decision about the next burst; sizes in segments unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Payload of a segment.
    pub mss: u64,
    /// Segments in flight.
    pub in_flight: u64,
    /// Congestion window.
    pub cwnd: u64,
    /// Room in the peer's window.
    pub window_room_bytes: u64,
    /// The peer's whole window.
    pub window_bytes: u64,
    /// Data available from the application.
    pub available: u64,
    /// Limit of a burst.
    pub size: Size,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time.
    pub min_rtt: Option<Duration>,
    /// When the oldest outstanding segment was sent; none if nothing is outstanding.
    pub oldest_sent_at: Option<Time>,
    /// When the last segment was sent.
    pub last_sent_at: Time,
    /// Whether bursts are not deferred, as in recovery.
    pub waits_for_nothing: bool,
}

/// Limit of a burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// About a millisecond of the pacing rate, if known.
    Paced {
        /// Bytes per second.
        bytes_per_s: Option<u64>,
    },
    /// A device's largest burst. A burst is deferred for two ticks at most
    /// (2.6.27 `net/ipv4/tcp_output.c`, `tcp_tso_should_defer`).
    Device {
        /// The kernel's tick.
        tick: Duration,
        /// When a burst was last deferred.
        deferred_at: Option<Time>,
    },
}

/// Decision about the next burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Burst {
    /// Send this many segments.
    Send(u64),
    /// Nothing: the windows are full.
    Full,
    /// Wait for the next acknowledgement to open the window.
    Wait {
        /// Whether the congestion window is the limit.
        by_cwnd: bool,
    },
}

/// Largest burst (`tcp_tso_autosize`).
pub fn size(allowance: &Allowance) -> u64 {
    let rate = match allowance.size {
        Size::Paced { bytes_per_s: Some(rate) } => rate,
        Size::Paced { bytes_per_s: None } => return most(allowance.mss),
        Size::Device { .. } => return (MAX_DEVICE_BYTES / allowance.mss).max(1),
    };
    let mut bytes = rate >> PACING_SHIFT;
    let micros = allowance.min_rtt.map_or(u64::MAX, |rtt| rtt.as_nanos() / 1000);
    if (micros >> RTT_SHIFT) < MAX_HALVINGS {
        bytes += MAX_BUFFER_BYTES >> (micros >> RTT_SHIFT);
    }
    (bytes.min(MAX_BUFFER_BYTES) / allowance.mss).max(MIN_SEGMENTS)
}

fn most(mss: u64) -> u64 {
    (MAX_BUFFER_BYTES / mss).max(MIN_SEGMENTS)
}

impl Allowance {
    /// What may leave now (`limit` in `tcp_tso_should_defer`).
    fn limit_bytes(&self) -> u64 {
        let room = self.cwnd.saturating_sub(self.in_flight);
        room.saturating_mul(self.mss).min(self.window_room_bytes)
    }

    /// Whether that is so much of the window that it is sent.
    fn is_share_of_window(&self) -> bool {
        let window = self.cwnd.saturating_mul(self.mss).min(self.window_bytes);
        self.limit_bytes() >= window / WINDOW_DIVISOR
    }
}

/// Decide on a buffer of so many bytes.
pub fn next(allowance: &Allowance, buffer_bytes: u64, now: Time) -> Burst {
    if allowance.in_flight >= allowance.cwnd
        || allowance.window_room_bytes == 0
        || allowance.available == 0
    {
        return Burst::Full;
    }
    let cwnd_room = allowance.cwnd - allowance.in_flight;
    let window_room = allowance.window_room_bytes.div_ceil(allowance.mss);
    let quota = quota(allowance);
    let largest = size(allowance);
    let buffer = buffer_bytes.div_ceil(allowance.mss).min(allowance.available);
    let puts_off = || match allowance.size {
        Size::Paced { .. } => {
            let may_grow = buffer == allowance.available;
            defers(allowance, largest, (!may_grow).then_some(buffer_bytes), now)
        }
        Size::Device { .. } => defers_for_device(allowance, largest, now),
    };
    if buffer >= 2 && !allowance.waits_for_nothing && puts_off() {
        let by_cwnd = cwnd_room < window_room && cwnd_room <= buffer;
        return Burst::Wait { by_cwnd };
    }
    Burst::Send(quota.min(largest).min(window_room).min(buffer))
}

/// Most segments of a burst by the congestion window (`tcp_cwnd_test`).
fn quota(allowance: &Allowance) -> u64 {
    let room = allowance.cwnd.saturating_sub(allowance.in_flight);
    match allowance.size {
        Size::Paced { .. } => (allowance.cwnd / 2).max(1).min(room),
        Size::Device { .. } => room,
    }
}

/// Segments that a buffer should have to be sent in one burst (as in Linux 6.12, `tcp_write_xmit`).
pub fn ideal(allowance: &Allowance) -> u64 {
    quota(allowance).min(size(allowance))
}

/// Whether to defer a burst until the next acknowledgement allows a larger one. A `whole` buffer
/// gets no more data.
fn defers(allowance: &Allowance, largest: u64, whole: Option<u64>, now: Time) -> bool {
    let limit = allowance.limit_bytes();
    if now.since(allowance.last_sent_at) > PATIENCE
        || limit >= largest * allowance.mss
        || whole.is_some_and(|bytes| limit >= bytes)
        || allowance.is_share_of_window()
    {
        return false;
    }
    // The next acknowledgement is not due soon.
    let (Some(oldest), Some(srtt)) = (allowance.oldest_sent_at, allowance.srtt) else {
        return false;
    };
    let soon = PATIENCE.min(Duration::from_nanos(srtt.as_nanos() / 2));
    oldest + srtt <= now + soon
}

/// [`defers`] before Linux 3.12: wait for a third of the window or a device's largest burst, while
/// acknowledgements arrive in quick succession.
fn defers_for_device(allowance: &Allowance, largest: u64, now: Time) -> bool {
    let waited = match allowance.size {
        Size::Device { tick, deferred_at: Some(at) } => now.since(at) >= tick * 2,
        _ => false,
    };
    !waited
        && allowance.in_flight > 0
        && allowance.limit_bytes() < largest * allowance.mss
        && !allowance.is_share_of_window()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    fn of_segments(allowance: &Allowance, buffer: u64, now: Time) -> Burst {
        next(allowance, buffer * allowance.mss, now)
    }

    fn paced(bytes_per_s: u64) -> Size {
        Size::Paced { bytes_per_s: Some(bytes_per_s) }
    }

    /// Congestion avoidance at 100 Mbit/s and 40 ms, paced at 14.5 MB/s.
    fn allowance(in_flight: u64) -> Allowance {
        Allowance {
            mss: 1448,
            in_flight,
            cwnd: 340,
            window_room_bytes: 14_480_000,
            window_bytes: 14_480_000,
            available: 1_000_000,
            size: paced(14_500_000),
            srtt: Some(Duration::from_millis(41)),
            min_rtt: Some(Duration::from_millis(40)),
            oldest_sent_at: Some(at(0)),
            last_sent_at: at(40_900),
            waits_for_nothing: false,
        }
    }

    #[test]
    fn a_burst_is_a_millisecond_of_the_pacing_rate() {
        // 14,500,000 / 1024 = 14,160 bytes, 9.8 segments; at 10 Mbit/s the minimum.
        assert_eq!(size(&allowance(0)), 9);
        let slow = Allowance { size: paced(1_450_000), ..allowance(0) };
        assert_eq!(size(&slow), 2);
        // On a path of 0.6 ms, half a buffer is added.
        let near = Allowance { min_rtt: Some(Duration::from_micros(600)), ..slow };
        assert_eq!(size(&near), (1_450_000 / 1024 + 65_215 / 2) / 1448);
    }

    #[test]
    fn small_room_waits_for_the_next_acknowledgement() {
        // Room for 2, 4, 6 or 7 segments waits; 9 are sent at once.
        for held in [2, 4, 6, 7] {
            assert_eq!(
                of_segments(&allowance(340 - held), 45, at(41_000)),
                Burst::Wait { by_cwnd: true }
            );
        }
        assert_eq!(of_segments(&allowance(331), 45, at(41_000)), Burst::Send(9));
        assert_eq!(of_segments(&allowance(340), 45, at(41_000)), Burst::Full);
    }

    #[test]
    fn a_burst_is_sent_if_waiting_is_long_or_useless() {
        let little = allowance(338);
        // A millisecond since the last segment; no acknowledgement due; recovery; one segment.
        assert_eq!(of_segments(&little, 45, at(41_901)), Burst::Send(2));
        let young = Allowance { oldest_sent_at: Some(at(5_000)), ..little };
        assert_eq!(of_segments(&young, 45, at(41_000)), Burst::Send(2));
        assert_eq!(
            of_segments(&Allowance { waits_for_nothing: true, ..little }, 45, at(41_000)),
            Burst::Send(2)
        );
        assert_eq!(of_segments(&little, 1, at(41_000)), Burst::Send(1));
        // A third of a small window is sent.
        let small = Allowance { cwnd: 6, in_flight: 4, ..little };
        assert_eq!(of_segments(&small, 45, at(41_000)), Burst::Send(2));
    }

    #[test]
    fn a_third_of_the_window_is_not_rounded_down_to_whole_segments() {
        // 14 · 1448 / 3 = 6757 bytes: four segments, 5792, wait; five, 7240, are sent.
        let device = Size::Device { tick: Duration::from_millis(4), deferred_at: None };
        for size in [paced(14_500_000), device] {
            let window = |cwnd, in_flight| {
                of_segments(&Allowance { cwnd, in_flight, size, ..allowance(0) }, 45, at(41_000))
            };
            assert_eq!(window(14, 10), Burst::Wait { by_cwnd: true });
            assert_eq!(window(14, 9), Burst::Send(5));
            // 5 · 1448 / 3 = 2413 bytes: one segment waits for another.
            assert_eq!(window(5, 4), Burst::Wait { by_cwnd: true });
            assert_eq!(window(5, 3), Burst::Send(2));
            // A third of three segments is one.
            assert_eq!(window(3, 2), Burst::Send(1));
        }
    }

    #[test]
    fn a_burst_takes_half_of_the_window_at_most_and_ends_with_its_buffer() {
        let fast = Allowance {
            size: Size::Paced { bytes_per_s: None },
            cwnd: 20,
            in_flight: 0,
            ..allowance(0)
        };
        assert_eq!(of_segments(&fast, 45, at(41_000)), Burst::Send(10));
        assert_eq!(of_segments(&fast, 3, at(41_000)), Burst::Send(3));
    }

    #[test]
    fn before_3_12_a_third_of_the_window_is_waited_for() {
        let device = |deferred_at: Option<u64>| Size::Device {
            tick: Duration::from_millis(4),
            deferred_at: deferred_at.map(at),
        };
        let allowance = |left: u64, deferred_at| Allowance {
            size: device(deferred_at),
            ..allowance(340 - left)
        };
        // A third of 340 is 113, but a device takes 65,536 / 1448 = 45.
        assert_eq!(
            of_segments(&allowance(44, None), 45, at(41_000)),
            Burst::Wait { by_cwnd: true }
        );
        assert_eq!(of_segments(&allowance(45, None), 45, at(41_000)), Burst::Send(45));
        let small = Allowance { cwnd: 30, in_flight: 21, ..allowance(0, None) };
        assert_eq!(of_segments(&small, 45, at(41_000)), Burst::Wait { by_cwnd: true });
        assert_eq!(
            of_segments(&Allowance { in_flight: 20, ..small }, 45, at(41_000)),
            Burst::Send(10)
        );
        // Deferred 8 ms ago, two ticks; or nothing in flight; or in recovery.
        assert_eq!(of_segments(&allowance(2, Some(33_000)), 45, at(41_000)), Burst::Send(2));
        assert_eq!(
            of_segments(&allowance(2, Some(33_001)), 45, at(41_000)),
            Burst::Wait { by_cwnd: true }
        );
        assert_eq!(
            of_segments(&Allowance { in_flight: 0, ..small }, 45, at(41_000)),
            Burst::Send(30)
        );
        let wrong = Allowance { waits_for_nothing: true, ..allowance(2, None) };
        assert_eq!(of_segments(&wrong, 45, at(41_000)), Burst::Send(2));
    }

    #[test]
    fn part_of_a_segment_of_the_peers_window_makes_no_burst() {
        // 1824 bytes are more than a segment and less than a burst of two.
        let slow = Allowance { size: paced(1_450_000), ..allowance(300) };
        let little = Allowance { window_room_bytes: 1824, ..slow };
        assert_eq!(of_segments(&little, 22, at(41_000)), Burst::Wait { by_cwnd: false });
        let enough = Allowance { window_room_bytes: 2896, ..slow };
        assert_eq!(of_segments(&enough, 22, at(41_000)), Burst::Send(2));
        // All of a buffer that gets no more data.
        assert_eq!(next(&little, 1824, at(41_000)), Burst::Send(2));
    }
}
