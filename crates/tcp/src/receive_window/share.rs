//! Share of a receive buffer for data; the rest is for the overhead of packets.
//!
//! Source: Linux 6.1 and 6.12, `include/net/tcp.h` (`tcp_win_from_space`, `tcp_space_from_win`) and
//! `net/ipv4/tcp_input.c` (`tcp_measure_rcv_mss`, `tcp_rcv_space_adjust`).

use crate::Stack;
use crate::memory::{BUFFER_HEAD, BUFFER_TAIL, MAX_TCP_HEADER};

/// A ratio is in 256ths (`TCP_RMEM_TO_WIN_SCALE`).
const SCALE: u32 = 8;
/// Assumed size of a full segment before any arrives (`TCP_MSS_DEFAULT`).
const FIRST_SEGMENT: u64 = 536;

/// How much of a buffer is for data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    /// A fixed part, by `tcp_adv_win_scale`.
    Divided(u64),
    /// What full segments have of their memory (since Linux 6.6, `scaling_ratio`).
    Measured {
        /// In 256ths.
        ratio: u64,
        /// Size of a full segment so far (`rcv_mss`).
        full: u64,
    },
}

impl Share {
    pub(super) fn new(stack: &Stack) -> Self {
        let divisor = u64::from(stack.buffers.window_divisor.max(1));
        if !stack.buffers.receive_scaling {
            return Share::Divided(divisor);
        }
        let full = FIRST_SEGMENT.min(u64::from(stack.options.mss));
        Share::Measured { ratio: ((1 << SCALE) / divisor).max(1), full }
    }

    /// Data that a buffer has room for.
    pub(super) fn of(self, buffer: u64) -> u64 {
        match self {
            Share::Divided(divisor) => buffer / divisor,
            Share::Measured { ratio, .. } => (buffer * ratio) >> SCALE,
        }
    }

    /// Buffer for a window, with segments of `mss` bytes.
    pub(super) fn buffer_for(self, window: u64, mss: u64) -> u64 {
        match self {
            Share::Divided(divisor) => {
                // Least memory whose share for data holds a segment.
                let mut memory = mss + MAX_TCP_HEADER + BUFFER_HEAD + BUFFER_TAIL;
                while memory / divisor < mss {
                    memory += 128;
                }
                window / mss * memory
            }
            Share::Measured { ratio, .. } => window.saturating_mul(1 << SCALE) / ratio,
        }
    }

    /// A segment of `bytes` arrived that takes `memory`; full ones have `rcv_mss` from now on.
    /// Returns whether the share has changed.
    pub(super) fn measure(&mut self, bytes: u64, memory: u64, rcv_mss: u64) -> bool {
        let Share::Measured { ratio, full } = self else { return false };
        let is_larger = bytes > std::mem::replace(full, rcv_mss);
        let measured = ((bytes << SCALE) / memory).max(1);
        is_larger && std::mem::replace(ratio, measured) != measured
    }

    /// Of `waiting` bytes that the application has not come to yet, those that do not count as read
    /// in a round trip.
    pub(super) fn uncounted(self, waiting: u64) -> u64 {
        if matches!(self, Share::Measured { .. }) { waiting } else { 0 }
    }
}
