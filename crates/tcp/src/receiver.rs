//! The receiving half: reassembly, selective acknowledgements and window.

mod acknowledge;
mod blocks;

use fairway_units::{Duration, Time};

use crate::ack_compression::AckCompression;
use crate::ack_policy::AckPolicy;
use crate::duplicate_report::DuplicateReport;
use crate::quick_ack::{MAX_QUICK, QUICK_AFTER_MARK};
use crate::ranges::{Range, RangeSet};
use crate::receive_window::{Progress, ReceiveWindow};
use crate::segment::MAX_SACK_BLOCKS;
use crate::{DelayedAck, Stack};

/// An arriving segment.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its offsets; the FIN is the last.
    pub range: Range,
    /// Whether it ends with the FIN.
    pub fin: bool,
    /// Whether it carries PSH.
    pub push: bool,
    /// The echoed timestamp, and its age in milliseconds.
    pub echo: Option<(u32, u32)>,
}

/// Whether an acknowledgement must be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckDue {
    Nothing,
    Now,
    /// Yes, with its window already chosen.
    Settled,
    /// Yes, followed by another with a larger window.
    Twice,
}

/// Reassembly of one direction of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    rcv_nxt: u64,
    mss: u64,
    acks: AckPolicy,
    due: AckDue,
    /// Whether nothing has happened since the last acknowledgement was sent.
    idle: bool,
    /// Whether acknowledgements or windows adapt to the connection, as on Linux.
    adapts: bool,
    /// Whether it acknowledges as ns-3.29 (`src/internet/model/tcp-rx-buffer.cc`,
    /// `tcp-socket-base.cc`).
    is_ns3: bool,
    /// Whether the last gap was closed after the FIN had arrived.
    is_fin_overtaken: bool,
    fin_at: Option<u64>,
    delivered_bytes: u64,
    duplicate_bytes: u64,
    /// Unread bytes; none if the application reads everything at once.
    unread: Option<u64>,
    /// Whether more data follows at the same instant.
    expects_more: bool,
    /// Of data that waits for that: the end of its first segment, and when it came.
    held: Option<(u64, Time)>,
    out_of_order: RangeSet,
    window: ReceiveWindow,
    compression: Option<AckCompression>,
    /// Time in the timestamp of the next acknowledgement, if not when it is sent.
    stamp: Option<Time>,
    duplicate: DuplicateReport,
    max_sack_blocks: usize,
    /// Ranges to report, most recently changed first (RFC 2018 section 4).
    recent: Vec<Range>,
    /// A range to report only after the next acknowledgement.
    next_recent: Option<Range>,
}

impl Receiver {
    /// A receiver before the handshake.
    pub fn new(stack: &Stack) -> Self {
        let compression = stack.acks.ack_compression;
        Receiver {
            rcv_nxt: 0,
            mss: u64::from(stack.options.mss),
            acks: AckPolicy::new(stack),
            due: AckDue::Nothing,
            idle: false,
            adapts: stack.acks.delayed_ack == DelayedAck::Linux
                || stack.buffers.receive_window_tuning,
            is_ns3: stack.is_ns3(),
            is_fin_overtaken: false,
            fin_at: None,
            delivered_bytes: 0,
            duplicate_bytes: 0,
            unread: None,
            expects_more: false,
            held: None,
            out_of_order: RangeSet::default(),
            window: ReceiveWindow::new(stack),
            compression: (compression > Duration::ZERO).then(|| AckCompression::new(compression)),
            stamp: None,
            duplicate: DuplicateReport::new(stack.options.dsack),
            max_sack_blocks: 0,
            recent: Vec::with_capacity(MAX_SACK_BLOCKS + 1),
            next_recent: None,
        }
    }

    /// The window.
    pub(crate) fn window(&mut self) -> &mut ReceiveWindow {
        &mut self.window
    }

    /// The handshake is complete: the peer sends segments of `mss` bytes with `options` bytes of
    /// timestamps.
    pub(crate) fn negotiate(
        &mut self,
        sack: bool,
        scaling: bool,
        options: u32,
        mss: u32,
        now: Time,
    ) {
        self.max_sack_blocks = match (sack, options > 0) {
            (false, _) => 0,
            (true, true) => MAX_SACK_BLOCKS - 1,
            (true, false) => MAX_SACK_BLOCKS,
        };
        if let Some(linux) = self.acks.linux() {
            linux.negotiate(options);
        }
        self.window.begin(scaling, mss, now);
        self.idle = false;
    }

    /// Whether the receiver uses the age of echoes.
    pub(crate) fn adapts(&self) -> bool {
        self.adapts
    }

    /// Take over the round-trip estimates of the sending half.
    pub(crate) fn observe_path(&mut self, srtt: Option<Duration>, rto: Duration) {
        if let Some(linux) = self.acks.linux() {
            linux.observe_path(srtt, rto);
        }
    }

    /// Next offset expected.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Bytes read by the application.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes - self.unread()
    }

    /// Unread bytes.
    pub fn unread(&self) -> u64 {
        self.unread.unwrap_or(0)
    }

    /// Keep data until the application reads it. Call before the connection begins.
    pub(crate) fn keep_unread(&mut self) {
        self.unread = Some(0);
        self.window.keep_unread(self.mss);
    }

    /// The application reads up to `bytes`.
    pub(crate) fn read(&mut self, bytes: u64, now: Time) {
        let unread = self.unread();
        let taken = bytes.min(unread);
        if taken == 0 {
            return;
        }
        self.unread = Some(unread - taken);
        self.idle = false;
        self.window.read_part(taken, unread, self.delivered_bytes(), now);
        self.acknowledge_reading();
    }

    /// Whether the next data is followed by more at the same instant. A kernel handles all of it
    /// before any process runs (`__do_softirq`), so that the application has not read when the
    /// acknowledgement of each segment is decided.
    pub(crate) fn expect_more(&mut self, expects: bool) {
        self.expects_more = expects && self.adapts;
    }

    /// Bytes that arrived more than once.
    pub fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// Whether the peer's FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// First offset beyond the window offered.
    pub(crate) fn right_edge(&self) -> u64 {
        self.window.right_edge(self.rcv_nxt, self.mss)
    }

    /// Ask for an acknowledgement at once.
    pub fn acknowledge_now(&mut self) {
        if self.due == AckDue::Nothing {
            self.due = AckDue::Now;
            self.idle = false;
        }
    }

    /// This end closes. Returns whether the peer closed first. In ns-3.29 the FIN is then the only
    /// acknowledgement of the data that closed the last gap (`tcp-socket-base.cc`, `ReceivedData`).
    pub(crate) fn close(&mut self) -> bool {
        if self.is_ns3 && self.is_fin_overtaken {
            self.due = AckDue::Nothing;
        }
        self.is_finished()
    }

    /// This end sent data, with a piggybacked acknowledgement.
    pub(crate) fn data_sent(&mut self, now: Time) {
        if let Some(linux) = self.acks.linux() {
            linux.data_sent(now);
        }
    }

    /// The first congestion mark of an episode arrived (RFC 3168).
    pub(crate) fn marked(&mut self) {
        let wnd = self.window.wnd();
        if let Some(linux) = self.acks.linux() {
            linux.enter(QUICK_AFTER_MARK, wnd);
        }
    }

    /// The sender has reduced its window (CWR), perhaps to one segment: acknowledge at once.
    pub(crate) fn sender_reduced(&mut self) {
        if let Some(linux) = self.acks.linux() {
            linux.hurry();
        }
    }

    /// A segment was rejected by PAWS (RFC 7323 section 5.3).
    pub(crate) fn refuse_old(&mut self, range: Range) {
        self.idle = false;
        if range.start < self.rcv_nxt {
            self.duplicate.note(Range { end: range.end.min(self.rcv_nxt), ..range });
            let wnd = self.window.wnd();
            if let Some(linux) = self.acks.linux() {
                linux.enter(MAX_QUICK, wnd);
            }
        }
        self.leave();
    }

    /// A segment was outside the window.
    pub(crate) fn refuse(&mut self) {
        let wnd = self.window.wnd();
        if let Some(linux) = self.acks.linux() {
            linux.enter(MAX_QUICK, wnd);
            linux.owe();
        }
        self.idle = false;
        self.due = AckDue::Now;
    }

    /// Whether `bytes` in order would be plain: nothing is missing, and the application reads at once.
    #[inline(always)]
    pub(crate) fn expects(&self, bytes: u64) -> bool {
        self.fin_at.is_none()
            && self.unread.is_none()
            && self.out_of_order.is_empty()
            && self.rcv_nxt + bytes <= self.right_edge()
    }

    /// Such data arrived ([`Self::receive`]).
    #[inline(always)]
    pub(crate) fn take_expected(
        &mut self,
        bytes: u64,
        push: bool,
        echo: Option<(u32, u32)>,
        now: Time,
    ) {
        if self.adapts {
            let range = Range { start: self.rcv_nxt, end: self.rcv_nxt + bytes };
            return self.receive(&Arrival { range, fin: false, push, echo }, now);
        }
        self.idle = false;
        self.rcv_nxt += bytes;
        self.delivered_bytes += bytes;
        self.acknowledge_in_order(bytes, false, false, now);
    }

    /// A segment with data or FIN arrived.
    pub fn receive(&mut self, arrival: &Arrival, now: Time) {
        let Arrival { range, fin, push, echo } = *arrival;
        self.idle = false;
        // A report that waits for a delayed acknowledgement is forgotten (Linux `tcp_data_queue`).
        self.duplicate.forget();
        let bytes = range.bytes() - u64::from(fin);
        if fin {
            self.fin_at = Some(range.end - 1);
        }
        if let Some((value, age_ms)) = echo {
            let full = bytes >= self.sender_mss();
            self.window.measure_echo(value, age_ms, full);
        }
        if range.end <= self.rcv_nxt {
            self.receive_old(range);
        } else if range.start <= self.rcv_nxt {
            self.receive_in_order(range, fin, push, now);
        } else {
            self.receive_out_of_order(range, bytes, now);
        }
        if self.held.is_some() && !self.expects_more {
            self.read_held(now);
        }
    }

    /// Size of the sender's full segments.
    fn sender_mss(&mut self) -> u64 {
        let mss = self.mss;
        self.acks.linux().map_or(mss, |linux| u64::from(linux.rcv_mss()))
    }

    /// RFC 9293 section 3.10.7.4: old data is answered with an acknowledgement.
    fn receive_old(&mut self, range: Range) {
        self.duplicate_bytes += range.bytes();
        self.duplicate.note(range);
        let (wnd, acknowledged) = (self.window.wnd(), self.window.acknowledged());
        if let Some(linux) = self.acks.linux() {
            linux.enter(MAX_QUICK, wnd);
            if range.end >= acknowledged {
                linux.owe();
            }
        }
        self.leave();
    }

    fn receive_in_order(&mut self, range: Range, fin: bool, push: bool, now: Time) {
        let before = self.rcv_nxt;
        if range.start < before {
            self.duplicate_bytes += before - range.start;
            self.duplicate.note(Range { start: range.start, end: before });
        }
        self.rcv_nxt = range.end;
        if self.adapts {
            self.take(range.bytes() - u64::from(fin), push, now);
        }
        let had_gap = !self.out_of_order.is_empty();
        if had_gap {
            self.close_gap();
        }
        // A FIN counts as one offset but is no data.
        let bytes = self.rcv_nxt - before - u64::from(self.is_finished());
        self.delivered_bytes += bytes;
        if let Some(unread) = &mut self.unread {
            *unread += bytes;
            self.window.keep(bytes);
        }
        self.acknowledge_in_order(self.rcv_nxt - before, had_gap, fin, now);
        self.is_fin_overtaken = !fin && self.is_finished();
        if self.adapts && self.unread.is_none() {
            let first = self.held.map_or(range.end, |(first, _)| first);
            if self.expects_more {
                self.held = Some((first, now));
            } else {
                self.read_all(first, now);
            }
        }
    }

    /// The application reads everything, packet by packet; the first ends at `first`.
    #[inline(always)]
    fn read_all(&mut self, first: u64, now: Time) {
        self.held = None;
        self.window.read(first, self.rcv_nxt - first, now);
        self.acknowledge_reading();
    }

    /// The application reads data that was held.
    #[inline(never)]
    pub(super) fn read_held(&mut self, now: Time) {
        if let Some((first, _)) = self.held {
            self.read_all(first, now);
        }
    }

    /// Update acknowledgements and window for a segment of data in order.
    fn take(&mut self, bytes: u64, push: bool, now: Time) {
        if bytes == 0 {
            // A FIN alone.
            if let Some(linux) = self.acks.linux() {
                linux.owe();
            }
            return;
        }
        let wnd = self.window.wnd();
        if let Some(linux) = self.acks.linux() {
            linux.data(bytes as u32, push, wnd, now);
        }
        let progress = Progress { rcv_nxt: self.rcv_nxt, rcv_mss: self.sender_mss() };
        if self.window.take_in_order(progress, bytes, now)
            && let Some(linux) = self.acks.linux()
        {
            linux.window_grew();
        }
    }

    /// Move data after the filled gap into order.
    fn close_gap(&mut self) {
        while let Some(first) = self.out_of_order.first()
            && first.start <= self.rcv_nxt
        {
            if first.start < self.rcv_nxt {
                let end = first.end.min(self.rcv_nxt);
                self.duplicate.extend(Range { start: first.start, end });
            }
            self.rcv_nxt = self.rcv_nxt.max(first.end);
            self.window.make_readable(self.rcv_nxt);
            self.out_of_order.remove_below(first.end);
        }
        self.recent.retain(|r| r.start > self.rcv_nxt);
    }

    fn receive_out_of_order(&mut self, range: Range, bytes: u64, now: Time) {
        if let Some(linux) = self.acks.linux() {
            linux.owe();
        }
        let queued = self.queue(range);
        // In ns-3 a duplicate changes no block (`tcp-rx-buffer.cc`, `Add`).
        let is_listed = !self.is_ns3 || queued.new_bytes > 0;
        let left = is_listed && self.report(range, queued.merged);
        if queued.new_bytes > 0 {
            self.take_out_of_order(range.start, bytes);
        }
        if !left {
            self.acknowledge_out_of_order(now);
        }
    }

    fn queue(&mut self, range: Range) -> Queued {
        let mut new_bytes = 0;
        // The duplicate part is before the first gap filled, or between the first and the second.
        let mut known = range;
        let merged = self.out_of_order.insert(range, |gap| {
            if new_bytes == 0 && gap.start == range.start {
                known.start = gap.end;
            } else {
                known.end = known.end.min(gap.start);
            }
            new_bytes += gap.bytes();
        });
        if new_bytes < range.bytes() {
            self.duplicate.note(known);
            self.duplicate_bytes += range.bytes() - new_bytes;
        }
        Queued { merged, new_bytes }
    }

    /// Update the window for a segment out of order. Without SACK it does not grow, so that the
    /// sender recognises duplicate acknowledgements.
    fn take_out_of_order(&mut self, start: u64, bytes: u64) {
        let rcv_mss = self.sender_mss();
        let grew = self.window.take_out_of_order(start, bytes, rcv_mss, self.max_sack_blocks > 0);
        if grew && let Some(linux) = self.acks.linux() {
            linux.window_grew();
        }
    }
}

/// An out-of-order segment in the queue.
struct Queued {
    /// The range that contains it.
    merged: Range,
    /// Its new bytes.
    new_bytes: u64,
}

#[cfg(test)]
mod linux_tests;
#[cfg(test)]
mod tests;
