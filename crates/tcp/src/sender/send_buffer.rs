//! Growth of the send buffer, well ahead of the congestion window (Linux 6.1
//! `net/ipv4/tcp_input.c`, `tcp_sndbuf_expand`, `tcp_should_expand_sndbuf`).

use super::Sender;
use crate::memory;

/// Initial size (net.ipv4.tcp_wmem[1]).
const FIRST: u64 = 16_384;
/// Minimum size in segments (`TCP_INIT_CWND`).
const LEAST_SEGMENTS: u64 = 10;

impl Sender {
    /// Set the size when the connection is established.
    pub(super) fn size_send_buffer(&mut self) {
        let largest = self.stack.buffers.send_buffer;
        self.send_buffer = if self.stack.buffers.send_buffer_tuning {
            FIRST.max(self.wanted_buffer()).min(largest)
        } else {
            largest
        };
        if let Some(queue) = &mut self.queue {
            queue.grow(self.send_buffer);
        }
    }

    /// Grow for an application that waits for memory (`tcp_check_space`).
    #[inline(never)]
    pub(super) fn expand_for_writer(&mut self) {
        let wanted = self.wanted_buffer().min(self.stack.buffers.send_buffer);
        if let Some(queue) = &mut self.queue {
            queue.grow(wanted);
        }
    }

    /// Grow if the send buffer, and not the congestion window, leaves room for less than a segment.
    /// Returns whether it grew.
    #[inline(never)]
    pub(super) fn expand_send_buffer(&mut self) -> bool {
        let end = self.board.una().saturating_add(self.send_buffer);
        let limits = end < self.stream_end.min(self.right_edge);
        if !limits || self.flight_segments() >= self.cwnd() / u64::from(self.stack.options.mss) {
            return false;
        }
        let wanted = self.wanted_buffer().min(self.stack.buffers.send_buffer);
        let grows = wanted > self.send_buffer;
        self.send_buffer = self.send_buffer.max(wanted);
        grows
    }

    fn wanted_buffer(&self) -> u64 {
        let cwnd = self.cwnd() / u64::from(self.stack.options.mss);
        let reordering = u64::from(self.board.reordering());
        let segments = LEAST_SEGMENTS.max(cwnd).max(reordering + 1);
        let segment = memory::of_buffer(self.segment_bytes, self.stack.buffers.header_room);
        segments.saturating_mul(self.cc.send_buffer_windows()).saturating_mul(segment)
    }
}
