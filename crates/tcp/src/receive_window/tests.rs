//! Expected values: Linux 6.1 observed in virtual time, or arithmetic.

use super::*;
use crate::PRESETS;

const MSS: u64 = 1448;

fn stack(receive_buffer: u64) -> Stack {
    let preset = PRESETS.iter().find(|preset| preset.name == "linux-6.1").unwrap();
    (preset.stack)().with(|s| {
        s.buffers.receive_buffer = receive_buffer;
        s.buffers.receive_window_tuning = true;
    })
}

fn at_micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// Window of the passive end after the handshake.
fn begun(receive_buffer: u64) -> ReceiveWindow {
    let mut window = ReceiveWindow::new(&stack(receive_buffer));
    window.offer_in_syn(1448);
    window.begin(true, 1448, Time::ZERO);
    window
}

fn tuning(window: &ReceiveWindow) -> &Tuning {
    window.tuning.as_ref().unwrap()
}

#[test]
fn the_first_windows() {
    // 131 072 / 2 = 65 536: 44 segments of 1460 bytes in a SYN, 45 of 1448 in the SYN-ACK.
    let mut window = ReceiveWindow::new(&stack(256 << 20));
    assert_eq!(window.offer_in_syn(1460), 64_240);
    assert_eq!(window.offer_in_syn(1448), 65_160);
    // 2²⁸: 28 − 15; 6 MiB: 22 − 15.
    assert_eq!(window.scale(), 13);
    assert_eq!(ReceiveWindow::new(&stack(6 << 20)).scale(), 7);
    // One segment in reserve: 65 536 − 1448, rounded up to 8 units of 8192.
    window.begin(true, 1448, Time::ZERO);
    assert_eq!((tuning(&window).clamp, tuning(&window).rcv_ssthresh), (64_088, 64_088));
    window.offer(0);
    assert_eq!((window.field(), window.wnd()), (8, 65_536));
}

#[test]
fn the_right_edge_never_retreats() {
    let mut window = begun(6 << 20);
    window.offer(0);
    // 64 088 would be less than the 65 160 of the SYN-ACK, rounded up to 510 units of 128.
    assert_eq!(window.wnd(), 65_280);
    // Twenty unread packets of 200 bytes take 1280 bytes each of 131 072: 52 736 could be offered
    // at 4000, less than the remaining 61 280, which is rounded up to 479 units.
    for n in 1..=20 {
        let progress = Progress { rcv_nxt: n * 200, rcv_mss: MSS };
        window.take_in_order(progress, 200, at_micros(n));
    }
    assert!(!window.would_not_shrink().0);
    window.offer(4_000);
    assert_eq!(window.wnd(), 61_312);
}

#[test]
fn the_buffer_grows_ahead_of_slow_start() {
    // Observed in Linux in slow start at 100 Mbit/s and 50 ms: the buffer grows with the first
    // segment of each round, by the data of the round before.
    let mut window = begun(256 << 20);
    let mut grown = Vec::new();
    let mut next = 0;
    for (round, segments) in [10, 20, 40, 80].into_iter().enumerate() {
        for n in 0..segments {
            let now = at_micros(round as u64 * 50_200 + n * 121);
            window.measure_echo(round as u32, 50, true);
            next += MSS;
            let progress = Progress { rcv_nxt: next, rcv_mss: MSS };
            window.take_in_order(progress, MSS, now);
            window.offer(next);
            window.read(next, 0, now);
            if n == 0 {
                grown.push((tuning(&window).right_sizing.most_read(), tuning(&window).clamp));
            }
        }
    }
    // 11, 20 and 40 segments. 15 928: 2 · 15 928 + 16 · 1448 = 55 024, plus 2 · 55 024 · 1448 / 14
    // 480: 66 028, 45 segments of 2984 bytes, half of it for data. 28 960: 81 088 + 2 · 66 345, 147
    // segments. 57 920: 139 008 + 2 · 139 008, 288 segments.
    assert_eq!(grown, [(14_480, 64_088), (15_928, 67_140), (28_960, 219_324), (57_920, 429_696)]);
}

#[test]
fn the_rtt_estimate_rises_slowly_and_falls_at_once() {
    let mut sizing = RightSizing::default();
    sizing.measure_echo(1, 50, true);
    assert_eq!(sizing.rtt(), Duration::from_millis(50));
    // A repeated echo, or one on a small segment, gives no sample.
    sizing.measure_echo(1, 90, true);
    sizing.measure_echo(2, 90, false);
    assert_eq!(sizing.rtt(), Duration::from_millis(50));
    // 50 + 8/8
    sizing.measure_echo(3, 58, true);
    assert_eq!(sizing.rtt(), Duration::from_millis(51));
    sizing.measure_echo(4, 49, true);
    assert_eq!(sizing.rtt(), Duration::from_millis(49));
    // A window that takes longer is ignored. The next takes 40 ms.
    sizing.measure_window(0, 1000, at_micros(0));
    sizing.measure_window(1000, 1000, at_micros(60_000));
    assert_eq!(sizing.rtt(), Duration::from_millis(49));
    sizing.measure_window(1999, 1000, at_micros(99_000));
    sizing.measure_window(2000, 1000, at_micros(100_000));
    assert_eq!(sizing.rtt(), Duration::from_millis(40));
}

#[test]
fn rcv_ssthresh_grows_with_each_segment_up_to_a_share_of_the_largest_buffer() {
    let mut window = begun(6 << 20);
    let tuning = window.tuning.as_mut().unwrap();
    tuning.buffer = 6 << 20;
    tuning.full_space = 3 << 20;
    tuning.clamp = 3 << 20;
    assert!(tuning.grow(MSS, MSS));
    // two segments for each
    assert_eq!(tuning.rcv_ssthresh, 64_088 + 2896);
    // A packet of 1448 bytes takes 2304 bytes, so its share for data suffices and only the clamp
    // bounds. One of 700 bytes takes as much: it fits once the buffer has doubled, and raises
    // rcv_ssthresh to at most half of 3 MiB.
    tuning.rcv_ssthresh = 1_572_864;
    assert!(tuning.grow(700, MSS));
    assert!(!tuning.grow(700, MSS));
    assert!(tuning.grow(MSS, MSS));
    // Packets with less than 128 bytes do not raise it.
    assert!(!tuning.grow(127, MSS));
}

#[test]
fn little_memory_closes_the_window() {
    let mut window = begun(6 << 20);
    window.offer(0);
    let field = |window: &mut ReceiveWindow, unread: u64| {
        window.tuning.as_mut().unwrap().unread = unread;
        window.settled = false;
        // The window offered before has been used.
        window.wup = 0;
        window.wnd = 0;
        let pressed = window.offer(0);
        (window.wnd(), pressed)
    };
    // 131 072 − 60 000 → 35 536 (278 units, rounded up); more than half of 64 088.
    assert_eq!(field(&mut window, 60_000), (35_584, false));
    // 131 072 − 80 000 → 25 536: less than half, rounded down.
    assert_eq!(field(&mut window, 80_000), (25_472, true));
    // Less than a sixteenth of 65 536 is none.
    assert_eq!(field(&mut window, 123_000), (0, true));
}

#[test]
fn without_scaling_the_window_moves_by_whole_segments() {
    let mut window = ReceiveWindow::new(&stack(6 << 20).with(|s| s.options.window_scaling = false));
    window.offer_in_syn(1448);
    window.begin(false, 1448, Time::ZERO);
    // The first offer stands until it is used; then 64 088 / 1448 = 44.3.
    window.offer(0);
    assert_eq!(window.wnd(), 45 * MSS);
    window.offer(MSS);
    assert_eq!(window.wnd(), 44 * MSS);
}

#[test]
fn room_for_less_than_a_segment_is_none() {
    // `__tcp_select_window`: free_space < mss. A buffer of 16 384 has 8192 for data; 14 384 unread
    // leave 1000, which is more than a sixteenth (512).
    let mut window = begun(16 << 10);
    let tuning = window.tuning.as_mut().unwrap();
    tuning.unread = 14_384;
    assert_eq!(tuning.window(2, 0), (0, true));
    // 13 488 leave 1448, a segment.
    tuning.unread = 13_488;
    assert_eq!(tuning.window(2, 0), (1448, true));
}

#[test]
fn a_window_below_a_segment_opens_again() {
    // `__tcp_select_window` without scaling: mss == full_space and free_space > window + full_space / 2.
    // A buffer of 2800 has 1400 for data, less than a segment; half of that is 700.
    let mut window = begun(2800);
    let tuning = window.tuning.as_mut().unwrap();
    tuning.rcv_ssthresh = 1000;
    assert_eq!(tuning.window(0, 0).0, 1000);
    tuning.rcv_ssthresh = 700;
    assert_eq!(tuning.window(0, 0).0, 0);
    // An offer that is less than half of the space away is kept.
    tuning.rcv_ssthresh = 1000;
    assert_eq!(tuning.window(0, 300).0, 300);
    assert_eq!(tuning.window(0, 299).0, 1000);
}

#[test]
fn buffers_grow_by_the_memory_of_a_small_segment() {
    // `tcp_rcv_space_adjust`: SKB_TRUESIZE(536 + 320) = 856 + 256 + 320 = 1432, half of which, 716,
    // holds 536 already. 200 segments.
    let mut window = begun(6 << 20);
    let tuning = window.tuning.as_mut().unwrap();
    tuning.mss = 536;
    tuning.enlarge(200 * 536);
    assert_eq!((tuning.buffer, tuning.clamp), (286_400, 143_200));
}

#[test]
fn a_measured_share_follows_the_first_full_segment() {
    let measured = stack(6 << 20).with(|s| s.buffers.receive_scaling = true);
    let mut window = ReceiveWindow::new(&measured);
    window.offer_in_syn(1448);
    window.begin(true, 1448, Time::ZERO);
    // A half of 131 072 at first, less a segment in reserve.
    assert_eq!((tuning(&window).full_space, tuning(&window).clamp), (65_536, 64_088));
    // A segment of 1448 bytes takes 256 + 2048: 1448 · 256 / 2304 = 160 256ths, and 81 920 of the
    // buffer.
    let progress = Progress { rcv_nxt: MSS, rcv_mss: MSS };
    window.take_in_order(progress, MSS, at_micros(1));
    assert_eq!((tuning(&window).full_space, tuning(&window).clamp), (81_920, 81_920));
    // Shorter ones change nothing.
    window.take_in_order(Progress { rcv_nxt: MSS + 100, rcv_mss: MSS }, 100, at_micros(2));
    assert_eq!(tuning(&window).full_space, 81_920);
}

#[test]
fn bytes_that_wait_do_not_count_as_read_with_a_measured_share() {
    // Fifteen segments are read in a round, the last of which filled a gap before ten others. Linux
    // 6.1 counts 15 for the round, more than the ten assumed; Linux 6.12 counts 15 - 10.
    for (scaling, most_read) in [(false, 15 * MSS), (true, 10 * MSS)] {
        let stack = stack(6 << 20).with(|s| s.buffers.receive_scaling = scaling);
        let mut window = ReceiveWindow::new(&stack);
        window.offer_in_syn(1448);
        window.begin(true, 1448, Time::ZERO);
        window.measure_echo(0, 50, true);
        window.read(15 * MSS, 10 * MSS, at_micros(60_000));
        assert_eq!(tuning(&window).right_sizing.most_read(), most_read);
    }
}

#[test]
fn an_echo_younger_than_a_millisecond_is_no_sample_with_a_measured_share() {
    for (scaling, rtt) in [(false, Duration::from_millis(1)), (true, Duration::ZERO)] {
        let stack = stack(6 << 20).with(|s| s.buffers.receive_scaling = scaling);
        let mut window = ReceiveWindow::new(&stack);
        window.measure_echo(7, 0, true);
        assert_eq!(window.rtt(), rtt);
    }
}

#[test]
fn packets_out_of_order_take_their_own_memory() {
    // A full segment takes 256 + 2048 bytes, one of 376 takes 256 + 1024. Two full ones and a short
    // one; the hole closes in front of the first two.
    let mut window = begun(256 << 20);
    for (start, bytes) in [(2 * MSS, 376), (MSS, MSS), (2 * MSS + 376, MSS)] {
        window.take_out_of_order(start, bytes, MSS, true);
    }
    assert_eq!(tuning(&window).out_of_order, 2 * 2_304 + 1_280);
    window.make_readable(2 * MSS + 376);
    assert_eq!((tuning(&window).unread, tuning(&window).out_of_order), (2_304 + 1_280, 2_304));
}

#[test]
fn small_packets_grow_the_window_out_of_order_only() {
    // With 4 MiB of buffer there is room. 72 bytes take 1280 of memory, and will fit if the buffer
    // grows eightfold (320, 160, 80, 40): two segments more, out of order.
    let mut window = begun(256 << 20);
    window.tuning.as_mut().unwrap().enlarge(2 << 20);
    let before = tuning(&window).rcv_ssthresh;
    let progress = Progress { rcv_nxt: 72, rcv_mss: MSS };
    window.take_in_order(progress, 72, at_micros(1));
    assert_eq!(tuning(&window).rcv_ssthresh, before);
    window.take_out_of_order(1_000, 72, MSS, true);
    assert_eq!(tuning(&window).rcv_ssthresh, before + 2 * MSS);
}
