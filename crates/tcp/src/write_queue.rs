//! Linux's write queue: data written and not yet acknowledged, in buffers (`struct sk_buff`). A
//! burst never spans two buffers, and the send buffer limits their memory (Linux 6.1
//! `net/ipv4/tcp.c`, `tcp_sendmsg_locked`; `include/net/sock.h`, `sk_stream_memory_free`,
//! `sk_stream_is_writeable`).

use std::collections::VecDeque;

use crate::memory;

/// Size of one write of a bulk application. What it leaves is pushed at its end (`tcp_push`).
const PIECE_BYTES: u64 = 65_536;
/// Most memory: `sk_sndbuf` is an `int`.
const MOST_MEMORY: u64 = i32::MAX as u64;

/// Data of one buffer, sent in one burst or several.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    end: u64,
    /// Whether its last segment carries PSH even if sent alone (`tcp_mark_push`).
    is_marked: bool,
}

/// Action of the kernel after the application has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// Nothing was written, or there is no memory for it.
    Nothing,
    /// Send all that the window allows (`tcp_push`, `__tcp_push_pending_frames`).
    Push,
    /// Send one burst without waiting for more data (`tcp_push_one`).
    PushOne,
}

/// Buffers of a connection, by stream offset.
#[derive(Debug)]
pub struct WriteQueue {
    /// Buffers with unsent data, oldest first.
    unsent: VecDeque<Buffer>,
    /// Buffers sent and not acknowledged.
    outstanding: u64,
    /// End of the data in buffers (`write_seq`).
    written: u64,
    /// End of the data at the last push (`pushed_seq`).
    marked: u64,
    /// Memory of a buffer without its data, which is in separate pages (`tcp_stream_alloc_skb`).
    head: u64,
    /// Memory limit at which the application waits (`sk_sndbuf`).
    limit: u64,
    /// Whether the application waits for memory (`SOCK_NOSPACE`).
    waits: bool,
    /// Whether the application is in the middle of a write.
    mid_write: bool,
    /// Size of each write.
    piece_bytes: u64,
}

impl WriteQueue {
    /// An empty queue without memory. A buffer has `header_room` bytes for its headers.
    pub fn new(header_room: u64) -> Self {
        WriteQueue {
            unsent: VecDeque::new(),
            outstanding: 0,
            written: 0,
            marked: 0,
            head: memory::of_buffer(0, header_room),
            limit: 0,
            waits: false,
            mid_write: false,
            piece_bytes: PIECE_BYTES,
        }
    }

    /// All data is of one write, however much it is.
    pub fn write_at_once(&mut self) {
        self.piece_bytes = u64::MAX;
    }

    /// Raise the send buffer to `limit` bytes, or set it.
    pub fn grow(&mut self, limit: u64) {
        self.limit = self.limit.max(limit.min(MOST_MEMORY));
    }

    /// End of the data in buffers.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether the application waits for memory.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// End of the buffer to send next.
    pub fn end_of_first(&self) -> u64 {
        self.unsent.front().map_or(self.written, |first| first.end)
    }

    /// Whether that buffer ends with PSH even if its last segment is sent alone.
    pub fn marks_first(&self) -> bool {
        self.unsent.front().is_some_and(|first| first.is_marked)
    }

    /// Move `bytes` of the second buffer to the first, or all that it has (`tcp_grow_skb`).
    pub fn fill_first(&mut self, bytes: u64) {
        let [Some(first), Some(second)] = [0, 1].map(|i| self.unsent.get(i).copied()) else {
            return;
        };
        let end = second.end.min(first.end + bytes);
        let is_whole = end == second.end;
        if is_whole {
            self.unsent.pop_front();
        }
        let is_marked = first.is_marked || (is_whole && second.is_marked);
        self.unsent[0] = Buffer { end, is_marked };
    }

    /// A burst was sent that ends at `end`; it becomes one of the `outstanding` buffers.
    #[inline]
    pub fn sent(&mut self, end: u64, outstanding: u64) {
        while self.unsent.front().is_some_and(|first| first.end <= end) {
            self.unsent.pop_front();
        }
        self.outstanding = outstanding;
    }

    /// Withdraw unsent data beyond `end`; the application writes no more.
    pub fn cut(&mut self, end: u64) {
        self.unsent.clear();
        self.written = self.written.min(end);
    }

    /// Everything up to `una` is acknowledged, and `outstanding` buffers are not. Returns whether
    /// the application may write: if it waited, a third of the memory must be free.
    #[inline]
    pub fn wakes(&mut self, una: u64, outstanding: u64) -> bool {
        self.outstanding = outstanding;
        let taken = self.memory(una);
        self.waits &= taken >= self.limit || self.limit - taken < taken / 2;
        !self.waits
    }

    /// Write up to the offset `end`, until a burst may have to be sent. A buffer holds at most
    /// `most` bytes, not counting those before `next`, which were sent.
    pub fn write(&mut self, end: u64, next: u64, una: u64, sizes: Sizes) -> Written {
        while !self.waits && self.written < end {
            let room = self.room_of_last(next, sizes.most);
            if room == 0 && self.memory(una) >= self.limit {
                self.waits = true;
                return self.push();
            }
            let piece_end = (self.written / self.piece_bytes + 1).saturating_mul(self.piece_bytes);
            let write_end = end.min(piece_end);
            self.copy(write_end, room, sizes.most);
            if self.written == write_end {
                self.mid_write = false;
                return self.push();
            }
            if self.written > self.marked + sizes.unmarked {
                return self.push();
            }
            if self.unsent.len() == 1 {
                return Written::PushOne;
            }
        }
        Written::Nothing
    }

    /// Fill the last buffer, which has `room` bytes, or a new one. Its mark stays while the same
    /// write continues.
    fn copy(&mut self, end: u64, room: u64, most: u64) {
        let left = end - self.written;
        let continues = std::mem::replace(&mut self.mid_write, true);
        match self.unsent.back_mut() {
            Some(last) if room > 0 => {
                self.written += room.min(left);
                last.end = self.written;
                last.is_marked &= continues;
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

    /// Free bytes of the last buffer; `next` is the first unsent byte.
    fn room_of_last(&self, next: u64, most: u64) -> u64 {
        let Some(last) = self.unsent.back() else { return 0 };
        let before = self.unsent.len().checked_sub(2).map_or(next, |i| self.unsent[i].end);
        most.saturating_sub(last.end.saturating_sub(before.max(next)))
    }

    /// Memory of all buffers (`sk_wmem_queued`).
    fn memory(&self, una: u64) -> u64 {
        let buffers = self.unsent.len() as u64 + self.outstanding;
        self.written.saturating_sub(una).saturating_add(buffers.saturating_mul(self.head))
    }
}

/// Limits of a write, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Greatest buffer (`tcp_xmit_size_goal`).
    pub most: u64,
    /// Data written since the last push that forces another (`forced_push`).
    pub unmarked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Header room of a kernel without wireless links and tunnels, as the instrumented one.
    fn queue(limit: u64) -> WriteQueue {
        let mut queue = WriteQueue::new(192);
        queue.grow(limit);
        queue
    }

    fn sizes(max_window: u64) -> Sizes {
        Sizes { most: (max_window / 2).min(65_343) / MSS * MSS, unmarked: max_window / 2 }
    }

    /// A queue and its sender.
    struct Source {
        queue: WriteQueue,
        next: u64,
        /// Ends of the bursts sent.
        ends: Vec<u64>,
    }

    impl Source {
        /// Bursts not acknowledged.
        fn outstanding(&self, una: u64) -> u64 {
            self.ends.iter().filter(|end| **end > una).count() as u64
        }

        fn wakes(&mut self, una: u64) -> bool {
            let outstanding = self.outstanding(una);
            self.queue.wakes(una, outstanding)
        }

        /// Send everything up to segment `end`, in bursts of two that end with their buffers.
        fn leave(&mut self, end: u64, una: u64) {
            while self.next < end * MSS {
                self.next = (self.next + 2 * MSS).min(end * MSS).min(self.queue.end_of_first());
                self.ends.push(self.next);
                let outstanding = self.outstanding(una);
                self.queue.sent(self.next, outstanding);
            }
        }

        /// Write as much as possible, sending segments up to `end` as soon as they are written.
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

    /// Linux 6.1.192 at 5 Mbit/s and 200 ms: the write queue of an instrumented kernel whenever the
    /// application had to wait or could continue. Windows of the peer: 65160, 73728 and 122880.
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

        // The last buffer, 25 unsent segments, takes 17 more, and another after one is sent.
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
    fn a_marked_buffer_keeps_its_mark_until_the_next_write() {
        // Memory for one buffer of 22 segments, 31,856 bytes: the application waits and the buffer
        // is marked.
        let mut queue = queue(20_000);
        let sizes = Sizes { most: 22 * MSS, unmarked: 1 << 20 };
        assert_eq!(queue.write(u64::MAX, 0, 0, sizes), Written::PushOne);
        assert_eq!(queue.write(u64::MAX, 0, 0, sizes), Written::Push);
        // Ten are sent and acknowledged; ten more are added in two steps, within the same 65,536
        // bytes.
        queue.sent(10 * MSS, 1);
        queue.grow(46_080);
        assert!(queue.wakes(10 * MSS, 0));
        for next in [5, 10] {
            queue.copy(PIECE_BYTES, queue.room_of_last(next * MSS, 22 * MSS), 22 * MSS);
        }
        assert!(queue.marks_first());
        assert_eq!(queue.end_of_first(), 32 * MSS);
        // 32 · 1448 = 46,336: the write ends after 19,200 more, 376 of them in a segment of their
        // own, and its end is pushed.
        queue.grow(200_000);
        let ample = Sizes { most: 46 * MSS, ..sizes };
        assert_eq!(queue.write(u64::MAX, 10 * MSS, 10 * MSS, ample), Written::Push);
        assert_eq!((queue.written(), queue.marks_first()), (65_536, true));
        // The next write has begun in the same buffer, and is not yet marked.
        queue.copy(2 * PIECE_BYTES, MSS, 46 * MSS);
        assert_eq!((queue.end_of_first(), queue.marks_first()), (65_536 + MSS, false));
    }

    #[test]
    fn small_writes_share_a_buffer() {
        // Writes of 1000 bytes. Two are sent at once; the others fill one buffer, marked as the end
        // of a write.
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
        // An abort withdraws the unsent data.
        queue.cut(2000);
        assert_eq!((queue.written(), queue.unsent.len()), (2000, 0));
    }

    #[test]
    fn a_buffer_is_filled_from_the_next() {
        let mut queue = queue(1 << 20);
        for end in [3 * MSS, 8 * MSS, 9 * MSS] {
            queue.unsent.push_back(Buffer { end, is_marked: end == 8 * MSS });
        }
        // Two of the five segments of the second; then its other three, with the mark; then the last.
        queue.fill_first(2 * MSS);
        assert_eq!((queue.end_of_first(), queue.marks_first()), (5 * MSS, false));
        queue.fill_first(4 * MSS);
        assert_eq!((queue.end_of_first(), queue.marks_first()), (8 * MSS, true));
        queue.fill_first(MSS);
        assert_eq!((queue.end_of_first(), queue.unsent.len()), (9 * MSS, 1));
        queue.fill_first(MSS);
        assert_eq!((queue.end_of_first(), queue.unsent.len()), (9 * MSS, 1));
    }
}
