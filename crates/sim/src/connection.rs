//! A connection in the run: its two endpoints, its application, its books.

use std::slice::from_ref;
use std::sync::Arc;

use fairway_cc::{Catalogue, CcError, Init, Member};
use fairway_random::Stream;
use fairway_tcp::{Config, Endpoint, Flags, Role, Segment, SeqNr, Stack};
use fairway_trace::{Allowance, FlowBooks, FlowCounts, StreamCheck, Violation};
use fairway_units::{Bytes, Duration, NANOS_PER_SEC, Time};
use prefetch_index::prefetch_index;

use crate::experiment::{Flow, Source};

/// An application that is always ahead of its connection: more than any run can carry.
const ENDLESS: u64 = 1 << 62;

/// One connection of the run. Begins at a cache line, so that its parts lie alike in all.
#[repr(align(64))]
pub(crate) struct Connection {
    pub(crate) source: Endpoint,
    pub(crate) sink: Endpoint,
    /// When a timer event is scheduled for the source and the sink.
    pub(crate) timer_at: [Time; 2],
    pub(crate) jitter: Option<Jitter>,
    pub(crate) books: FlowBooks,
    pub(crate) stream: StreamCheck,
    pub(crate) started: Time,
    pub(crate) finished: Option<Time>,
    sink_closed: bool,
    /// Bytes of the transfer, if it has an end.
    transfer: Option<u64>,
    pub(crate) written: u64,
    source_isn: u32,
    sink_window_shift: u8,
    app: Source,
    /// Whether the application was told to stop writing.
    stopped: bool,
    mss: u32,
    totals: Totals,
}

/// Delay added to each departure of a host that takes its time.
pub(crate) struct Jitter {
    stream: Stream,
    bound: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    wire_bytes: u64,
    delay_nanos: u128,
    arrivals: u64,
}

impl Connection {
    pub(crate) fn new(
        index: u32,
        flow: &Flow,
        coupling: Option<Member>,
        stack: &Arc<Stack>,
        catalogue: &Catalogue,
        seed: u64,
    ) -> Result<Self, CcError> {
        // By number, not by name: names follow the algorithm unless they are given, and runs that
        // differ in an algorithm alone share their random numbers.
        let random = |what: &str| Stream::new(seed, &format!("flow/{index}/{what}"));
        let mut isns = random("sequence numbers");
        let mut clocks = random("timestamp clocks");
        let mut seeds = random("congestion control");
        let (source_isn, sink_isn) = (isns.bits32(), isns.bits32());
        let mut endpoint = |role, isn, coupling| -> Result<Endpoint, CcError> {
            let init = Init { coupling, seed: seeds.bits64(), ..stack.init(&flow.cc.name) };
            Ok(Endpoint::new(Config {
                connection: index,
                role,
                stack: Arc::clone(stack),
                cc: catalogue.create(&flow.cc, stack.cc_variant, &init)?,
                isn,
                timestamp_offset: clocks.bits32(),
            }))
        };
        Ok(Connection {
            source: endpoint(Role::Active, source_isn, coupling)?,
            // It sends no data, so the others have nothing to know of it.
            sink: endpoint(Role::Passive, sink_isn, None)?,
            timer_at: [Time::NEVER; 2],
            jitter: (stack.send_jitter > Duration::ZERO)
                .then(|| Jitter { stream: random("send jitter"), bound: stack.send_jitter }),
            books: FlowBooks::default(),
            stream: StreamCheck::default(),
            started: flow.start,
            finished: None,
            sink_closed: false,
            transfer: match flow.source {
                Source::Bulk => None,
                Source::File { bytes } => Some(bytes.get()),
                Source::Limited { bytes, .. } => bytes.map(Bytes::get),
            },
            written: 0,
            source_isn,
            sink_window_shift: 0,
            app: flow.source,
            stopped: false,
            mss: stack.mss,
            totals: Totals::default(),
        })
    }

    /// Open the connection and write what the application has at once. Returns when it writes
    /// again, if it does.
    pub(crate) fn open(&mut self, now: Time) -> Option<Time> {
        self.source.connect();
        match self.app {
            Source::Bulk => self.source.write(ENDLESS),
            Source::File { bytes } => {
                self.written = bytes.get();
                self.source.write(self.written);
                self.source.close();
            }
            Source::Limited { .. } => return self.write(now),
        }
        None
    }

    /// A rate-limited application writes its next segment's worth. Returns when it writes again.
    pub(crate) fn write(&mut self, now: Time) -> Option<Time> {
        let Source::Limited { rate, bytes } = self.app else { return None };
        if self.stopped {
            return None;
        }
        let left = bytes.map_or(u64::MAX, |b| b.get() - self.written);
        let piece = u64::from(self.mss).min(left);
        if piece > 0 {
            self.source.write(piece);
            self.written += piece;
        }
        if left == piece {
            self.source.close();
            return None;
        }
        let nanos = u128::from(piece) * 8 * u128::from(NANOS_PER_SEC);
        let gap = nanos.div_ceil(u128::from(rate.as_bps().max(1)));
        Some(now + Duration::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX)))
    }

    /// The application stops writing: what it has sent by now is the whole transfer.
    pub(crate) fn stop(&mut self, now: Time) {
        self.stopped = true;
        self.source.stop();
        self.transfer = Some(self.source.sender().stream_end());
        self.note_completion(now);
    }

    /// Note when the last byte of the transfer has been delivered.
    fn note_completion(&mut self, now: Time) {
        let delivered = self.sink.receiver().delivered_bytes();
        if self.finished.is_none() && self.transfer.is_some_and(|bytes| delivered >= bytes) {
            self.finished = Some(now);
        }
    }

    /// Ask for the memory that a segment needs which will soon reach the sink or the source.
    pub(crate) fn prefetch(&self, forward: bool) {
        prefetch_index(from_ref(&self.books), 0);
        prefetch_index(from_ref(&self.stream), 0);
        if forward {
            prefetch_index(from_ref(&self.totals), 0);
            prefetch_index(from_ref(&self.sink), 0);
            prefetch_index(from_ref(self.sink.receiver()), 0);
        } else {
            prefetch_index(from_ref(&self.source), 0);
            prefetch_index(from_ref(self.source.sender()), 0);
        }
    }

    /// A segment reaches the source.
    pub(crate) fn deliver_to_source(&mut self, segment: &Segment, now: Time) {
        self.books.delivered += 1;
        self.observe_window(segment);
        self.source.handle_segment(segment, now);
    }

    /// A segment reaches the sink.
    pub(crate) fn deliver_to_sink(
        &mut self,
        segment: &Segment,
        wire_bytes: u32,
        now: Time,
    ) -> Result<(), Violation> {
        self.books.delivered += 1;
        if segment.payload_bytes > 0 {
            let start = segment.payload_offset;
            let end = start + u64::from(segment.payload_bytes);
            if SeqNr::of(self.source_isn, start) != segment.seq {
                let what = format!("sequence number {:?} stands for offset {start}", segment.seq);
                return Err(Violation::new(now, what));
            }
            self.stream.arrive(start, end, now)?;
            self.totals.arrivals += 1;
            self.totals.wire_bytes += u64::from(wire_bytes);
            self.totals.delay_nanos += u128::from(now.since(segment.sent_at).as_nanos());
        }
        self.sink.handle_segment(segment, now);
        let delivered = self.sink.receiver().delivered_bytes();
        self.stream.delivered(delivered, now)?;
        self.note_completion(now);
        if self.sink.receiver().is_finished() && !self.sink_closed {
            self.sink_closed = true;
            self.sink.close();
        }
        Ok(())
    }

    /// A segment has left the source.
    pub(crate) fn check_departure(
        &mut self,
        segment: &Segment,
        now: Time,
    ) -> Result<(), Violation> {
        if segment.payload_bytes == 0 {
            return Ok(());
        }
        let start = segment.payload_offset;
        let end = start + u64::from(segment.payload_bytes);
        let allowance = Allowance {
            flight: self.source.sender().flight_allowance(),
            episodes: self.source.counters().reductions,
            mss: u64::from(self.mss),
        };
        self.stream.send(start, end, self.source.sender().flight_size(), allowance, now)
    }

    /// The window that the sink offers, as its segments say it.
    fn observe_window(&mut self, segment: &Segment) {
        let shift = if segment.flags.has(Flags::SYN) {
            self.sink_window_shift =
                if segment.flags.has(Flags::WINDOW_SCALE) { segment.window_scale } else { 0 };
            0
        } else {
            self.sink_window_shift
        };
        if let Some(ack) = segment.ack.offset(self.source_isn, self.source.sender().una()) {
            self.stream.allow(ack + (u64::from(segment.window) << shift));
        }
    }

    /// Counters now, from the start of the run.
    pub(crate) fn counts(&self) -> FlowCounts {
        let sent = self.source.counters();
        FlowCounts {
            delivered_bytes: self.sink.receiver().delivered_bytes(),
            wire_bytes: self.totals.wire_bytes,
            segments: sent.segments,
            retransmissions: sent.retransmissions,
            missing: self.books.data_missing,
            reductions: sent.reductions,
            timeouts: sent.timeouts,
            arrivals: self.totals.arrivals,
            delay_nanos: self.totals.delay_nanos,
        }
    }

    /// Data packets that have reached the sink.
    pub(crate) fn arrivals(&self) -> u64 {
        self.totals.arrivals
    }

    /// From the flow's start to its last byte.
    pub(crate) fn completion_time(&self) -> Option<Duration> {
        self.finished.map(|at| at.since(self.started))
    }
}

impl Jitter {
    /// The delay of the next departure.
    pub(crate) fn next(&mut self) -> Duration {
        Duration::from_nanos(self.stream.below(self.bound.as_nanos()))
    }
}
