//! What an application has written and the network has not acknowledged, in the buffers that Linux
//! keeps it in (`struct sk_buff`). No burst reaches over the end of one, and their memory is what a
//! send buffer is filled by (Linux 6.1 `net/ipv4/tcp.c`, `tcp_sendmsg_locked`; `include/net/sock.h`,
//! `sk_stream_memory_free`, `sk_stream_is_writeable`).

use std::collections::VecDeque;

use crate::memory;

/// What a source of much data writes at once. Only the mark on its last byte shows.
const PIECE_BYTES: u64 = 65_536;
/// Most memory: `sk_sndbuf` is an `int`.
const MOST_MEMORY: u64 = i32::MAX as u64;

/// Data that leave together, in one burst or in several.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    end: u64,
    /// Whether PSH is on its last segment even if that leaves alone (`tcp_mark_push`).
    is_marked: bool,
}

/// What the kernel does when the application has written as much as it could.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// There is nothing to write, or no memory for it.
    Nothing,
    /// What may leave does (`tcp_push`, `__tcp_push_pending_frames`).
    Push,
    /// One burst leaves if it may, and waits for no more (`tcp_push_one`).
    PushOne,
}

/// The buffers of a connection, by stream offsets.
#[derive(Debug)]
pub struct WriteQueue {
    /// Those of which something has not left, the first of them first.
    unsent: VecDeque<Buffer>,
    /// Buffers whose data have left and are not acknowledged.
    outstanding: u64,
    /// End of what lies in buffers (`write_seq`).
    written: u64,
    /// End of what the application had written when it was last pushed (`pushed_seq`).
    marked: u64,
    /// Memory of a buffer but for its bytes, which lie in pages of their own (`tcp_stream_alloc_skb`).
    head: u64,
    /// Memory that may be taken before the application waits (`sk_sndbuf`).
    limit: u64,
    /// Whether it waits (`SOCK_NOSPACE`).
    waits: bool,
    /// Whether it is in the middle of what it writes at once.
    goes_on: bool,
}

impl WriteQueue {
    /// Empty, and without memory as yet. A buffer has `header_room` bytes for its headers.
    pub fn new(header_room: u64) -> Self {
        WriteQueue {
            unsent: VecDeque::new(),
            outstanding: 0,
            written: 0,
            marked: 0,
            head: memory::of_buffer(0, header_room),
            limit: 0,
            waits: false,
            goes_on: false,
        }
    }

    /// The send buffer has grown to `limit` bytes, or is set for the first time.
    pub fn grow(&mut self, limit: u64) {
        self.limit = self.limit.max(limit.min(MOST_MEMORY));
    }

    /// End of what lies in buffers.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether the application waits for memory.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// End of the buffer that leaves next.
    pub fn end_of_first(&self) -> u64 {
        self.unsent.front().map_or(self.written, |first| first.end)
    }

    /// Whether that buffer ends with PSH even if its last segment leaves alone.
    pub fn marks_first(&self) -> bool {
        self.unsent.front().is_some_and(|first| first.is_marked)
    }

    /// A burst has left that ends at `end`: a buffer of its own, one of `outstanding`.
    #[inline]
    pub fn sent(&mut self, end: u64, outstanding: u64) {
        while self.unsent.front().is_some_and(|first| first.end <= end) {
            self.unsent.pop_front();
        }
        self.outstanding = outstanding;
    }

    /// The application takes back what lies beyond `end`, which has not left, and writes no more.
    pub fn cut(&mut self, end: u64) {
        self.unsent.clear();
        self.written = self.written.min(end);
    }

    /// Everything up to `una` is acknowledged, and `outstanding` buffers hold what has left and is not.
    /// Whether an application that waits goes on: a third of the memory has to be free.
    #[inline]
    pub fn wakes(&mut self, una: u64, outstanding: u64) -> bool {
        self.outstanding = outstanding;
        let taken = self.memory(una);
        self.waits &= taken >= self.limit || self.limit - taken < taken / 2;
        !self.waits
    }

    /// The application, which wants to write up to `end` in all, writes until something may have to
    /// leave. A new buffer takes `most` bytes, and so does the last if a part of it has not left;
    /// `next` has not.
    pub fn write(&mut self, end: u64, next: u64, una: u64, sizes: Sizes) -> Written {
        while !self.waits && self.written < end {
            let room = self.room_of_last(next, sizes.most);
            if room == 0 && self.memory(una) >= self.limit {
                self.waits = true;
                return self.push();
            }
            self.copy(end, room, sizes.most);
            if self.written == end {
                self.goes_on = false;
                return self.push();
            }
            self.marked = self.marked.max(self.written - self.written % PIECE_BYTES);
            if self.written > self.marked + sizes.unmarked {
                return self.push();
            }
            if self.unsent.len() == 1 {
                return Written::PushOne;
            }
        }
        Written::Nothing
    }

    /// Fills the last buffer, which takes `room` bytes, or a new one. A mark stays if it is not the end
    /// of what was written at once.
    fn copy(&mut self, end: u64, room: u64, most: u64) {
        let left = end - self.written;
        let goes_on =
            std::mem::replace(&mut self.goes_on, true) && !self.written.is_multiple_of(PIECE_BYTES);
        match self.unsent.back_mut() {
            Some(last) if room > 0 => {
                let until = self.written + room.min(left);
                let same_piece = self.written / PIECE_BYTES == (until - 1) / PIECE_BYTES;
                last.end = until;
                last.is_marked &= goes_on && same_piece;
                self.written = until;
            }
            _ => {
                self.written += most.min(left);
                self.unsent.push_back(Buffer { end: self.written, is_marked: false });
            }
        }
    }

    fn push(&mut self) -> Written {
        self.marked = self.written;
        if let Some(last) = self.unsent.back_mut() {
            last.is_marked = true;
        }
        Written::Push
    }

    /// What the last buffer still takes, `next` being the first byte that has not left.
    fn room_of_last(&self, next: u64, most: u64) -> u64 {
        let Some(last) = self.unsent.back() else { return 0 };
        let before = self.unsent.len().checked_sub(2).map_or(next, |i| self.unsent[i].end);
        most.saturating_sub(last.end.saturating_sub(before.max(next)))
    }

    /// What the buffers take (`sk_wmem_queued`).
    fn memory(&self, una: u64) -> u64 {
        let buffers = self.unsent.len() as u64 + self.outstanding;
        self.written.saturating_sub(una).saturating_add(buffers.saturating_mul(self.head))
    }
}

/// Bytes that bound what is written.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Most in a buffer (`tcp_xmit_size_goal`).
    pub most: u64,
    /// Written since the last push, more is pushed (`forced_push`).
    pub unmarked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// A kernel without wireless links and tunnels, as the one whose queue was read.
    fn queue(limit: u64) -> WriteQueue {
        let mut queue = WriteQueue::new(192);
        queue.grow(limit);
        queue
    }

    fn sizes(max_window: u64) -> Sizes {
        Sizes { most: (max_window / 2).min(65_343) / MSS * MSS, unmarked: max_window / 2 }
    }

    /// A queue whose data leave.
    struct Source {
        queue: WriteQueue,
        next: u64,
        /// Ends of the bursts that left.
        ends: Vec<u64>,
    }

    impl Source {
        /// Bursts that are not acknowledged.
        fn outstanding(&self, una: u64) -> u64 {
            self.ends.iter().filter(|end| **end > una).count() as u64
        }

        fn wakes(&mut self, una: u64) -> bool {
            let outstanding = self.outstanding(una);
            self.queue.wakes(una, outstanding)
        }

        /// Everything up to segment `end` leaves, in bursts of two that end with their buffers.
        fn leave(&mut self, end: u64, una: u64) {
            while self.next < end * MSS {
                self.next = (self.next + 2 * MSS).min(end * MSS).min(self.queue.end_of_first());
                self.ends.push(self.next);
                let outstanding = self.outstanding(una);
                self.queue.sent(self.next, outstanding);
            }
        }

        /// The application writes what it can; the segments up to `end` leave as soon as they are there.
        fn fill(&mut self, end: u64, una: u64, sizes: Sizes) {
            loop {
                match self.queue.write(u64::MAX, self.next, una, sizes) {
                    Written::Nothing => return,
                    Written::Push => self.leave(end, una),
                    Written::PushOne => self.leave((self.next / MSS + 2).min(end), una),
                }
            }
        }

        fn taken(&self, una: u64) -> (u64, u64) {
            (self.queue.written(), self.queue.memory(una))
        }

        fn ends_of_unsent(&self) -> Vec<u64> {
            self.queue.unsent.iter().map(|buffer| buffer.end / MSS).collect()
        }
    }

    /// Linux 6.1.192 at 5 Mbit/s and 200 ms: what an instrumented kernel said of its queue when the
    /// application had to wait and when it went on. Windows of the peer: 65160, 73728 and 122880.
    #[test]
    fn buffers_end_where_a_kernel_s_do() {
        let mut source = Source { queue: queue(46_080), next: 0, ends: Vec::new() };
        source.fill(10, 0, sizes(65_160));
        assert_eq!((source.taken(0), source.queue.limit), ((46_336, 50_944), 46_080));
        assert_eq!(source.queue.end_of_first(), 32 * MSS);

        let una = 12 * MSS;
        source.leave(32, 0);
        assert!(!source.wakes(una));
        source.queue.grow(101_376);
        assert!(source.wakes(una));
        assert_eq!(source.queue.memory(una), 36_640);
        source.fill(34, una, sizes(73_728));
        assert_eq!(source.taken(una), (121_632, 114_240));
        assert_eq!(source.ends_of_unsent(), [59, 84]);

        let una = 24 * MSS;
        source.leave(58, una);
        source.queue.grow(156_672);
        assert!(source.wakes(una));
        assert_eq!(source.queue.memory(una), 101_472);
        source.fill(58, una, sizes(73_728));
        assert_eq!(source.taken(una), (194_032, 175_408));

        // The last buffer, 25 segments of which none has left, takes 17 more, and one when one has left.
        let una = 50 * MSS;
        source.leave(109, una);
        source.queue.grow(276_480);
        assert!(source.wakes(una));
        assert_eq!(source.queue.memory(una), 146_208);
        source.fill(110, una, sizes(122_880));
        assert_eq!(source.taken(una), (341_728, 296_208));
        assert_eq!(source.ends_of_unsent(), [152, 194, 236]);
    }

    #[test]
    fn a_buffer_that_was_waited_with_keeps_its_mark_until_the_next_piece() {
        // Room for one buffer of 22 segments, 31,856 bytes: the application waits, and that is marked.
        let mut queue = queue(20_000);
        let sizes = Sizes { most: 22 * MSS, unmarked: 1 << 20 };
        assert_eq!(queue.write(u64::MAX, 0, 0, sizes), Written::PushOne);
        assert_eq!(queue.write(u64::MAX, 0, 0, sizes), Written::Push);
        // Ten have left and arrived; ten more come to it in two steps, within the same 65,536 bytes.
        queue.sent(10 * MSS, 1);
        queue.grow(46_080);
        assert!(queue.wakes(10 * MSS, 0));
        for next in [5, 10] {
            queue.copy(u64::MAX, queue.room_of_last(next * MSS, 22 * MSS), 22 * MSS);
        }
        assert!(queue.marks_first());
        assert_eq!(queue.end_of_first(), 32 * MSS);
        // 32 · 1448 = 46,336, and with 14 more 66,608: the next 65,536 have begun, unmarked as yet.
        queue.copy(u64::MAX, 14 * MSS, 46 * MSS);
        assert!(!queue.marks_first());
    }

    #[test]
    fn what_is_written_in_pieces_lies_together() {
        // Pieces of 1000 bytes, two of which leave as they come: the others fill one buffer, marked as
        // the end of what was written.
        let mut queue = queue(46_080);
        let sizes = sizes(65_160);
        for end in [1000, 2000] {
            assert_eq!(queue.write(end, end - 1000, 0, sizes), Written::Push);
            assert!(queue.marks_first());
            queue.sent(end, end / 1000);
        }
        for end in [3000, 4000, 5000] {
            assert_eq!(queue.write(end, 2000, 0, sizes), Written::Push);
        }
        assert_eq!((queue.end_of_first(), queue.unsent.len()), (5000, 1));
        assert_eq!(queue.write(5000, 2000, 0, sizes), Written::Nothing);
        // Stopped: nothing waits any more.
        queue.cut(2000);
        assert_eq!((queue.written(), queue.unsent.len()), (2000, 0));
    }
}
