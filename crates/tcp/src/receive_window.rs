//! The window that a receiver offers: its whole buffer, or Linux's share of a buffer that grows.
//!
//! Source of the latter: Linux 6.1, `net/ipv4/tcp_output.c` (`tcp_select_initial_window`,
//! `__tcp_select_window`) and `tcp_input.c` (`tcp_init_buffer_space`, `tcp_grow_window`). Half of
//! the buffer is for data, the rest for the overhead of packets (`tcp_adv_win_scale` 1, here
//! `window_divisor`). Since Linux 6.6 the overhead is measured ([`Share`]).

mod right_sizing;
mod share;

use std::collections::VecDeque;

use fairway_units::{Duration, Time};

use crate::Stack;
use crate::memory::{BUFFER_HEAD, BUFFER_TAIL};
use right_sizing::RightSizing;
use share::Share;

pub(crate) use right_sizing::Progress;

/// Initial receive buffer (net.ipv4.tcp_rmem[1]).
const FIRST_BUFFER: u64 = 131_072;
/// Initial `rcvq_space.space`, in segments (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;
/// Largest window scale (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;
/// Packets with less data in order do not grow the window (`tcp_event_data_recv`); out of order they
/// do (`tcp_data_queue_ofo`).
const SMALL: u64 = 128;
/// Headroom of a received packet (`NET_SKB_PAD`).
const HEADROOM: u64 = 64;
/// Ethernet, IP and TCP headers with timestamps.
const HEADERS: u64 = 66;

/// A receiver's window.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveWindow {
    scale: u8,
    /// Last window offered (`rcv_wnd`), and the offset acknowledged with it (`rcv_wup`).
    wnd: u64,
    wup: u64,
    /// Whether the buffer is unchanged since.
    settled: bool,
    /// A fixed window's buffer, if the application decides when to read.
    fixed: Option<Fixed>,
    tuning: Option<Tuning>,
}

/// A buffer of fixed size in which data waits for the application.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    space: u64,
    unread: u64,
    mss: u64,
}

impl Fixed {
    fn free(self) -> u64 {
        self.space.saturating_sub(self.unread)
    }
}

/// A window tuned to the connection.
#[derive(Clone, Debug)]
struct Tuning {
    mss: u64,
    share: Share,
    /// Buffer (`sk_rcvbuf`), and its greatest value.
    buffer: u64,
    max_buffer: u64,
    /// Share of the buffer for data (`tcp_full_space`).
    full_space: u64,
    /// Upper bound of the window (`window_clamp`).
    clamp: u64,
    /// Window offered at most; grows as segments with little overhead arrive.
    rcv_ssthresh: u64,
    /// Memory of packets not yet read, and of packets out of order.
    unread: u64,
    out_of_order: u64,
    /// Start and memory of each packet out of order, in ascending order.
    packets: VecDeque<(u64, u64)>,
    right_sizing: RightSizing,
}

impl ReceiveWindow {
    /// The window before the handshake.
    pub(crate) fn new(stack: &Stack) -> Self {
        let tuned = stack.buffers.receive_window_tuning;
        let space = stack.buffers.receive_buffer / u64::from(stack.buffers.window_divisor.max(1));
        let scale = match (stack.options.window_scaling, tuned) {
            (false, _) => 0,
            (true, false) => smallest_scale(space),
            (true, true) => scale_of_buffer(stack.buffers.receive_buffer.max(FIRST_BUFFER)),
        };
        ReceiveWindow {
            scale,
            wnd: space.min(largest_window(stack.options.window_scaling)),
            wup: 0,
            settled: false,
            fixed: None,
            tuning: tuned.then(|| Tuning::new(stack)),
        }
    }

    /// Let unread data take room in a fixed window. Call before the handshake.
    pub(crate) fn keep_unread(&mut self, mss: u64) {
        if self.tuning.is_none() {
            self.fixed = Some(Fixed { space: self.wnd, unread: 0, mss });
        }
    }

    /// Window scale.
    pub(crate) fn scale(&self) -> u8 {
        self.scale
    }

    /// Window field of a SYN or SYN-ACK, for a peer that sends segments of `mss` bytes.
    pub(crate) fn offer_in_syn(&mut self, mss: u32) -> u16 {
        if let Some(tuning) = &self.tuning {
            let space = tuning.space();
            let mss = u64::from(mss);
            self.wnd = if space > mss { space / mss * mss } else { space };
            self.wnd = self.wnd.min(u64::from(u16::MAX));
        }
        // RFC 7323 section 2.2: the window of a SYN is not scaled.
        u16::try_from(self.wnd).unwrap_or(u16::MAX)
    }

    /// The connection is established, with segments of `mss` bytes.
    pub(crate) fn begin(&mut self, scaling: bool, mss: u32, now: Time) {
        if !scaling {
            self.scale = 0;
        }
        let largest = u64::from(u16::MAX) << self.scale;
        match &mut self.tuning {
            None => self.wnd = self.wnd.min(largest),
            Some(tuning) => tuning.begin(u64::from(mss), largest, self.wnd, now),
        }
    }

    /// Window field of a segment.
    pub(crate) fn field(&self) -> u16 {
        u16::try_from(self.wnd >> self.scale).unwrap_or(u16::MAX)
    }

    /// Last window offered, in bytes.
    pub(crate) fn wnd(&self) -> u64 {
        self.wnd
    }

    /// Offset acknowledged with the last window.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.wup
    }

    /// First offset beyond every window offered so far.
    pub(crate) fn right_edge(&self, rcv_nxt: u64, mss: u64) -> u64 {
        match (&self.tuning, &self.fixed) {
            (None, None) => rcv_nxt + self.wnd.max(mss),
            (Some(_), _) | (_, Some(_)) => self.wup + self.wnd,
        }
    }

    /// Unused part of the window offered.
    fn remaining(&self, rcv_nxt: u64) -> u64 {
        (self.wup + self.wnd).saturating_sub(rcv_nxt)
    }

    /// Set the window of an acknowledgement up to `rcv_nxt`. Returns whether memory is short.
    #[inline(always)]
    pub(crate) fn offer(&mut self, rcv_nxt: u64) -> bool {
        if self.tuning.is_none() && self.fixed.is_none() {
            self.wup = rcv_nxt;
            return false;
        }
        self.offer_adapted(rcv_nxt)
    }

    #[inline(never)]
    fn offer_adapted(&mut self, rcv_nxt: u64) -> bool {
        let Some(tuning) = &self.tuning else {
            if let Some(fixed) = self.fixed {
                self.wnd = self.window_of(fixed, rcv_nxt);
            }
            self.wup = rcv_nxt;
            return false;
        };
        if self.wup == rcv_nxt && self.settled {
            return false;
        }
        self.settled = true;
        let (wanted, pressed) = tuning.window(self.scale, self.wnd);
        let remaining = self.remaining(rcv_nxt);
        // Never shrink the window offered.
        self.wnd = if wanted < remaining { round_up(remaining, self.scale) } else { wanted };
        self.wup = rcv_nxt;
        pressed
    }

    /// Window of a fixed buffer. The right edge advances by at least a segment or half of the
    /// buffer, to avoid silly windows, and never retreats (RFC 9293 section 3.8.6.2.2).
    fn window_of(&self, fixed: Fixed, rcv_nxt: u64) -> u64 {
        let remaining = round_up(self.remaining(rcv_nxt), self.scale);
        let free = fixed.free() >> self.scale << self.scale;
        if free >= remaining + fixed.mss.min(fixed.space / 2) { free } else { remaining }
    }

    /// Whether an acknowledgement sent now would offer at least the last window, and whether memory
    /// is short.
    pub(crate) fn would_not_shrink(&self) -> (bool, bool) {
        let Some(tuning) = &self.tuning else { return (true, false) };
        let (wanted, pressed) = tuning.window(self.scale, self.wnd);
        (wanted >= self.wnd, pressed)
    }

    /// Whether reading has opened the window enough for a window update: at least doubled it.
    pub(crate) fn is_worth_an_update(&self, rcv_nxt: u64) -> bool {
        let remaining = self.remaining(rcv_nxt);
        let Some(tuning) = &self.tuning else {
            // By two segments or half of the buffer (4.4BSD `tcp_output`).
            return self.fixed.is_some_and(|fixed| {
                self.window_of(fixed, rcv_nxt) >= remaining + (2 * fixed.mss).min(fixed.space / 2)
            });
        };
        if 2 * remaining > tuning.clamp {
            return false;
        }
        let (wanted, _) = tuning.window(self.scale, self.wnd);
        wanted > 0 && wanted >= 2 * remaining
    }

    /// A segment of `bytes` arrived in order. Returns whether `rcv_ssthresh` grew.
    pub(crate) fn take_in_order(&mut self, progress: Progress, bytes: u64, now: Time) -> bool {
        self.settled = false;
        let wnd = self.wnd;
        self.tuning.as_mut().is_some_and(|tuning| {
            tuning.unread += memory_of(bytes);
            tuning.measure_share(bytes, progress.rcv_mss);
            tuning.right_sizing.measure_window(progress.rcv_nxt, wnd, now);
            bytes >= SMALL && tuning.grow(bytes, progress.rcv_mss)
        })
    }

    /// A segment from `start` on arrived out of order. Returns whether `rcv_ssthresh` grew.
    pub(crate) fn take_out_of_order(
        &mut self,
        start: u64,
        bytes: u64,
        rcv_mss: u64,
        may_grow: bool,
    ) -> bool {
        self.settled = false;
        self.tuning.as_mut().is_some_and(|tuning| {
            let grew = may_grow && tuning.grow(bytes, rcv_mss);
            tuning.keep_out_of_order(start, memory_of(bytes));
            grew
        })
    }

    /// All data below `rcv_nxt` is in order.
    pub(crate) fn make_readable(&mut self, rcv_nxt: u64) {
        if let Some(tuning) = &mut self.tuning {
            while let Some(&(start, memory)) = tuning.packets.front()
                && start < rcv_nxt
            {
                tuning.packets.pop_front();
                tuning.out_of_order -= memory;
                tuning.unread += memory;
            }
        }
    }

    /// A segment carried an echoed timestamp that is `age_ms` old.
    pub(crate) fn measure_echo(&mut self, echo: u32, age_ms: u32, full: bool) {
        if let Some(tuning) = &mut self.tuning {
            tuning.right_sizing.measure_echo(echo, age_ms, full);
        }
    }

    /// The receiver's own RTT estimate: zero before the first sample, `MAX` if it takes none.
    pub(crate) fn rtt(&self) -> Duration {
        self.tuning.as_ref().map_or(Duration::MAX, |tuning| tuning.right_sizing.rtt())
    }

    /// `bytes` more wait for the application.
    pub(crate) fn keep(&mut self, bytes: u64) {
        if let Some(fixed) = &mut self.fixed {
            fixed.unread += bytes;
        }
    }

    /// The application read `bytes` of `unread` bytes, up to `offset`.
    pub(crate) fn read_part(&mut self, bytes: u64, unread: u64, offset: u64, now: Time) {
        if let Some(fixed) = &mut self.fixed {
            fixed.unread = unread - bytes;
        }
        let memory = self.tuning.as_ref().map_or(0, |tuning| {
            let left = u128::from(tuning.unread) * u128::from(unread - bytes);
            (left / u128::from(unread.max(1))) as u64
        });
        self.read(offset, unread - bytes, now);
        if let Some(tuning) = &mut self.tuning {
            tuning.unread = memory;
        }
    }

    /// The application read everything, beginning with a packet that ends at `offset`, behind which
    /// were `waiting` bytes.
    pub(crate) fn read(&mut self, offset: u64, waiting: u64, now: Time) {
        self.settled = false;
        if let Some(tuning) = &mut self.tuning {
            tuning.unread = 0;
            let counted = offset.saturating_sub(tuning.share.uncounted(waiting));
            let wanted = tuning.right_sizing.window_wanted(offset, counted, tuning.mss, now);
            if let Some(window) = wanted {
                tuning.enlarge(window);
            }
        }
    }
}

impl Tuning {
    fn new(stack: &Stack) -> Self {
        let share = Share::new(stack);
        let buffer = FIRST_BUFFER.min(stack.buffers.receive_buffer);
        Tuning {
            mss: u64::from(stack.options.mss),
            share,
            buffer,
            max_buffer: stack.buffers.receive_buffer,
            full_space: share.of(buffer),
            clamp: 0,
            rcv_ssthresh: 0,
            unread: 0,
            out_of_order: 0,
            packets: VecDeque::new(),
            right_sizing: RightSizing::new(!stack.buffers.receive_scaling),
        }
    }

    fn keep_out_of_order(&mut self, start: u64, memory: u64) {
        self.out_of_order += memory;
        let at = match self.packets.back() {
            Some((last, _)) if *last > start => {
                self.packets.partition_point(|(at, _)| *at <= start)
            }
            _ => self.packets.len(),
        };
        self.packets.insert(at, (start, memory));
    }

    fn begin(&mut self, mss: u64, largest: u64, wnd: u64, now: Time) {
        self.mss = mss;
        let space = self.full_space;
        // One segment is held in reserve.
        self.clamp = if space > 3 * mss { space - mss } else { space.min(2 * mss) }.min(largest);
        self.rcv_ssthresh = wnd.min(self.clamp);
        self.right_sizing.begin(self.rcv_ssthresh.min(wnd).min(FIRST_SEGMENTS * mss), now);
    }

    /// Free space for data (`tcp_space`).
    fn space(&self) -> u64 {
        self.share.of(self.buffer.saturating_sub(self.unread + self.out_of_order))
    }

    /// A segment of `bytes` arrived in order; full ones have `rcv_mss`.
    fn measure_share(&mut self, bytes: u64, rcv_mss: u64) {
        if self.share.measure(bytes, memory_of(bytes), rcv_mss) {
            self.full_space = self.share.of(self.buffer);
            self.clamp = self.full_space;
            self.right_sizing.bound(self.clamp);
        }
    }

    /// Window to offer after `wnd`, and whether memory is short (`__tcp_select_window`).
    fn window(&self, scale: u8, wnd: u64) -> (u64, bool) {
        let mut space = self.space();
        let full = self.clamp.min(self.full_space);
        let mss = self.mss.min(full).max(1);
        let pressed = space < full / 2;
        if pressed {
            space = space >> scale << scale;
            if space < self.full_space / 16 || space < mss {
                return (0, true);
            }
        }
        let space = space.min(self.rcv_ssthresh);
        let window = if scale > 0 {
            round_up(space, scale)
        } else if wnd + mss <= space || wnd > space {
            // Whole segments, changed by at least one.
            space / mss * mss
        } else if mss == full && space > wnd + full / 2 {
            // No whole segment fits.
            space
        } else {
            wnd
        };
        (window, pressed)
    }

    /// Raise `rcv_ssthresh` if packets like this one will fit the buffer once it has grown
    /// (`tcp_grow_window`). Returns whether it did.
    fn grow(&mut self, bytes: u64, rcv_mss: u64) -> bool {
        let room = self.clamp.min(self.space()).saturating_sub(self.rcv_ssthresh);
        if room == 0 {
            return false;
        }
        let payload_of_memory = self.share.of(memory_of(bytes));
        let step = if payload_of_memory <= bytes {
            2 * self.mss
        } else if self.fits_later(payload_of_memory, bytes) {
            2 * rcv_mss
        } else {
            return false;
        };
        self.rcv_ssthresh += room.min(step.max(2 * bytes));
        true
    }

    /// Whether packets with much overhead will fit, because the buffer may grow to a multiple of
    /// `rcv_ssthresh` (`__tcp_grow_window`).
    fn fits_later(&self, payload_of_memory: u64, bytes: u64) -> bool {
        let mut cost = payload_of_memory / 2;
        let mut limit = self.share.of(self.max_buffer) / 2;
        while self.rcv_ssthresh <= limit {
            if cost <= bytes {
                return true;
            }
            cost /= 2;
            limit /= 2;
        }
        false
    }

    /// Enlarge the buffer until it can offer `window`.
    fn enlarge(&mut self, window: u64) {
        let buffer = self.share.buffer_for(window, self.mss).min(self.max_buffer);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.full_space = self.share.of(buffer);
            self.clamp = self.full_space;
        }
    }
}

/// Memory of a packet with `bytes` of data, whose buffer is a power of two.
fn memory_of(bytes: u64) -> u64 {
    BUFFER_HEAD + (HEADROOM + HEADERS + bytes + BUFFER_TAIL).next_power_of_two()
}

fn round_up(bytes: u64, scale: u8) -> u64 {
    bytes.next_multiple_of(1 << scale)
}

fn largest_window(scaling: bool) -> u64 {
    u64::from(u16::MAX) << if scaling { MAX_SCALE } else { 0 }
}

/// Least scale with which the window fits 16 bits.
fn smallest_scale(window: u64) -> u8 {
    let bits = 64 - window.leading_zeros() as u8;
    bits.saturating_sub(16).min(MAX_SCALE)
}

/// Linux's scale, which leaves the highest bit of the field unused.
fn scale_of_buffer(buffer: u64) -> u8 {
    (buffer.max(1).ilog2() as u8).saturating_sub(15).min(MAX_SCALE)
}

#[cfg(test)]
mod tests;
