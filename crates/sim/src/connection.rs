//! A connection in the run: its two endpoints, its application, its packet balance.

use std::ptr::from_ref;
use std::sync::Arc;

use fairway_application::Reader;
use fairway_cc::{Catalogue, CcError, Init, Member, Variant};
use fairway_schema::{Cause, FlowBalance, FlowCounts, FlowMonitorSummary, Violation};
use fairway_tcp::{Config, Endpoint, Role, Segment, Stack, State, Transmit};
use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, Time};
use prefetch_index::prefetch_index;

use crate::coupling::members;
use crate::direction::{Direction, DirectionCounts};
use crate::flow_monitor::FlowMonitor;
use crate::packet_handle::PacketHandle;
use fairway_spec::{Experiment, Flow, Source};

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
    pub(crate) balance: FlowBalance,
    /// What ns-3 counts besides, of its stack.
    flow_monitor: Option<Box<FlowMonitor>>,
    forward: DirectionCounts,
    /// The sink's own data, if it sends any.
    reverse: Option<Box<DirectionCounts>>,
    started: Time,
    finished: Option<Time>,
    /// When the senders knew of it.
    acknowledged: Option<Time>,
    /// Whether the sink's application has closed, or will by itself.
    sink_closed: bool,
    /// Whether the sink opens the connection.
    sink_opens: bool,
    writer: Writer,
    app: Source,
    reader: Option<Reader>,
    watch: Watch,
    /// Whether anything that is done for few connections is to be done for this one.
    pub(crate) has_driver: bool,
    /// Whether its ends are in two regions, and the source does not see what the sink does.
    pub(crate) is_split: bool,
    /// Whether the application was told to stop writing.
    stopped: bool,
    mss: u32,
    /// Of its packets, 0 to 7.
    pub(crate) precedence: u8,
}

/// An application that writes at a rate.
#[derive(Clone, Copy, Debug)]
struct Writer {
    written: u64,
    /// When its next piece is due: behind the clock while it waits.
    due: Time,
    /// It waits for room while as much is still to be sent as the buffers of both ends hold: no more could
    /// be under way however soon it wrote.
    enough: u64,
    is_waiting: bool,
}

/// What a driver wants to be told of its connection.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// Which application drives or follows it.
    application: Option<u32>,
    /// Bytes delivered forwards and back that it waits for.
    delivered: [u64; 2],
    /// It is told when less than this waits to be sent forwards.
    filled: u64,
}

/// Delay added to each departure of a host that takes its time.
pub(crate) struct Jitter {
    stream: Stream,
    bound: Duration,
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
        let mut endpoint = |forward, isn, coupling| -> Result<Endpoint, CcError> {
            let role = if forward != flow.sink_opens { Role::Active } else { Role::Passive };
            let init = Init { coupling, seed: seeds.bits64(), ..stack.init(&flow.cc.name) };
            let mut endpoint = Endpoint::new(Config {
                connection: index,
                role,
                stack: Arc::clone(stack),
                cc: catalogue.create(&flow.cc, stack.window.cc_variant, &init)?,
                isn,
                timestamp_offset: clocks.bits32(),
            });
            endpoint.send_forward(forward);
            Ok(endpoint)
        };
        let transfer = match flow.source {
            Source::Bulk | Source::Driven => None,
            Source::File { bytes } => Some(bytes.get()),
            Source::Limited { bytes, .. } => bytes.map(Bytes::get),
        };
        let source = endpoint(true, source_isn, coupling)?;
        // What it sends goes another way than the data of its application's other connections.
        let mut sink = endpoint(false, sink_isn, None)?;
        if flow.reading.is_some() {
            sink.keep_unread();
        }
        Ok(Connection {
            source,
            sink,
            timer_at: [Time::NEVER; 2],
            jitter: (stack.sending.send_jitter > Duration::ZERO).then(|| Jitter {
                stream: random("send jitter"),
                bound: stack.sending.send_jitter,
            }),
            balance: FlowBalance::default(),
            flow_monitor: (stack.window.cc_variant == Variant::Ns3_29).then(Box::default),
            forward: DirectionCounts::new(source_isn, transfer),
            reverse: flow.both_ways.then(|| Box::new(DirectionCounts::new(sink_isn, transfer))),
            started: flow.start,
            finished: None,
            acknowledged: None,
            sink_closed: flow.both_ways,
            sink_opens: flow.sink_opens,
            writer: Writer {
                written: 0,
                due: Time::ZERO,
                enough: stack.buffers.send_buffer.min(stack.buffers.receive_buffer),
                is_waiting: false,
            },
            app: flow.source,
            reader: flow.reading.map(Reader::new),
            watch: Watch { application: None, delivered: [u64::MAX; 2], filled: 0 },
            has_driver: flow.reading.is_some(),
            is_split: false,
            stopped: false,
            mss: stack.options.mss,
            precedence: flow.precedence,
        })
    }

    /// Whether the sink's application sends too.
    pub(crate) fn is_both_ways(&self) -> bool {
        self.reverse.is_some()
    }

    /// Open the connection and write what the application has at once. Returns when it writes
    /// again, if it does.
    pub(crate) fn open(&mut self, now: Time) -> Option<Time> {
        if self.stopped && self.app == Source::Driven {
            return None;
        }
        if self.sink_opens {
            self.sink.connect();
        } else {
            self.source.connect();
        }
        match self.app {
            Source::Bulk => self.each_writes(ENDLESS),
            Source::File { bytes } => {
                self.each_writes(bytes.get());
                self.each_closes();
            }
            Source::Limited { .. } => {
                self.writer.due = now;
                return self.write(now);
            }
            Source::Driven => self.started = now,
        }
        None
    }

    /// Let an application be told of this connection.
    pub(crate) fn set_driver(&mut self, application: u32) {
        self.watch.application = Some(application);
        self.has_driver = true;
    }

    /// The application that is told of this connection.
    pub(crate) fn application(&self) -> Option<u32> {
        self.watch.application
    }

    /// The application waits for `bytes` to be delivered in `direction`, from the connection's
    /// beginning.
    pub(crate) fn await_delivery(&mut self, direction: Direction, bytes: u64) {
        self.watch.delivered[direction as usize] = bytes;
    }

    /// The application wants to know when less than `bytes` wait to be sent.
    pub(crate) fn keep_filled(&mut self, bytes: u64) {
        self.watch.filled = bytes;
    }

    /// Bytes given to the application that reads data in `direction`.
    pub(crate) fn delivered(&self, direction: Direction) -> u64 {
        self.ends(direction).1.receiver().delivered_bytes()
    }

    /// Whether as much has been delivered as the application waits for. It waits no longer, then.
    pub(crate) fn takes_delivery(&mut self, direction: Direction) -> bool {
        let is_due = self.delivered(direction) >= self.watch.delivered[direction as usize];
        if is_due {
            self.watch.delivered[direction as usize] = u64::MAX;
        }
        is_due
    }

    /// Whether so little waits to be sent that the application is to be told.
    pub(crate) fn has_room(&self) -> bool {
        let is_open = self.source.state() == State::Established && !self.stopped;
        is_open && unsent(&self.source) < self.watch.filled
    }

    /// Whether no more may be written.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// A driver writes data in `direction`, unless it was told to stop.
    pub(crate) fn write_of_application(&mut self, direction: Direction, bytes: u64) {
        if self.stopped {
            return;
        }
        match direction {
            Direction::Forward => self.source.write(bytes),
            Direction::Reverse => self.sink.write(bytes),
        }
    }

    /// A driver has written everything.
    pub(crate) fn close_of_application(&mut self, now: Time) {
        if self.stopped {
            return;
        }
        self.stopped = true;
        self.each_closes();
        self.forward.transfer = Some(self.source.sender().stream_end());
        if let Some(reverse) = &mut self.reverse {
            reverse.transfer = Some(self.sink.sender().stream_end());
        }
        self.note_completion(now);
        self.note_acknowledgement(now);
    }

    /// A rate-limited application writes what is due by now, a segment's worth at a time, as far as there
    /// is room. Returns when it writes again, unless it waits for room.
    pub(crate) fn write(&mut self, now: Time) -> Option<Time> {
        let Source::Limited { rate, bytes } = self.app else { return None };
        if self.stopped {
            return None;
        }
        while self.writer.due <= now {
            self.writer.is_waiting = self.has_enough();
            if self.writer.is_waiting {
                self.has_driver = true;
                return None;
            }
            let left = bytes.map_or(u64::MAX, |bytes| bytes.get() - self.writer.written);
            let piece = u64::from(self.mss).min(left);
            if piece > 0 {
                self.each_writes(piece);
                self.writer.written += piece;
            }
            if left == piece {
                self.each_closes();
                return None;
            }
            self.writer.due = self.writer.due + rate.time_for(piece);
        }
        Some(self.writer.due)
    }

    /// Bytes that fill the buffers of both ends.
    pub(crate) fn enough(&self) -> u64 {
        self.writer.enough
    }

    /// Whether an application that writes at a rate waits for room, and there is some.
    pub(crate) fn is_ready_to_write(&self) -> bool {
        self.writer.is_waiting && !self.stopped && !self.has_enough()
    }

    /// Whether every end that sends has so much to send that more would change nothing.
    pub(crate) fn has_enough(&self) -> bool {
        let has_enough = |end: &Endpoint| unsent(end) >= self.writer.enough;
        has_enough(&self.source) && (!self.is_both_ways() || has_enough(&self.sink))
    }

    /// When a slow application reads next, if that is to be scheduled.
    pub(crate) fn next_read(&mut self, now: Time) -> Option<Time> {
        let reader = self.reader.as_mut()?;
        reader.schedule(self.sink.receiver().unread(), self.mss, now)
    }

    /// A slow application reads. Returns when it reads again.
    pub(crate) fn read(&mut self, now: Time) -> Result<Option<Time>, Violation> {
        if let Some(reader) = &mut self.reader {
            let bytes = reader.read(self.mss, now);
            self.sink.read(bytes, now);
        }
        self.take_delivery(now)?;
        Ok(self.next_read(now))
    }

    /// The application writes, at both ends if both send.
    fn each_writes(&mut self, bytes: u64) {
        self.source.write(bytes);
        if self.is_both_ways() {
            self.sink.write(bytes);
        }
    }

    fn each_closes(&mut self) {
        self.source.close();
        if self.is_both_ways() {
            self.sink.close();
        }
    }

    /// The application stops writing: what it has sent by now is the whole transfer.
    pub(crate) fn stop(&mut self, now: Time) {
        self.stopped = true;
        let is_idle = |end: &Endpoint| matches!(end.state(), State::Closed | State::Listen);
        if self.app == Source::Driven && is_idle(&self.source) && is_idle(&self.sink) {
            // Its driver never opened it.
            return;
        }
        self.source.stop();
        self.forward.transfer = Some(self.source.sender().stream_end());
        if let Some(reverse) = &mut self.reverse {
            self.sink.stop();
            reverse.transfer = Some(self.sink.sender().stream_end());
        }
        self.note_completion(now);
        self.note_acknowledgement(now);
    }

    /// Note when the last byte of the transfer has been delivered, in both directions if both ends
    /// send.
    #[inline]
    fn note_completion(&mut self, now: Time) {
        if self.finished.is_none()
            && self.forward.is_complete(&self.sink)
            && self.reverse.as_ref().is_none_or(|reverse| reverse.is_complete(&self.source))
        {
            self.finished = Some(now);
        }
    }

    /// Note when the sender knows that all has arrived, both senders if both ends send.
    #[inline]
    fn note_acknowledgement(&mut self, now: Time) {
        // Of ends in two regions everything is acknowledged that has come to the sink's application.
        if (self.finished.is_some() || self.is_split)
            && self.acknowledged.is_none()
            && self.forward.is_acknowledged(&self.source)
            && self.reverse.as_ref().is_none_or(|reverse| reverse.is_acknowledged(&self.sink))
        {
            self.acknowledged = Some(now);
        }
    }

    /// Ask for the memory that a segment needs which will soon reach the sink or the source.
    #[inline(always)]
    pub(crate) fn prefetch(&self, forward: bool) {
        prefetch(&self.balance, 0);
        prefetch(&self.forward, 0);
        if forward && self.reverse.is_none() {
            // Its sending half rests, and lies in front.
            let receiver = from_ref(self.sink.receiver()).addr();
            prefetch(&self.sink, receiver.wrapping_sub(from_ref(&self.sink).addr()));
        } else {
            prefetch(if forward { &self.sink } else { &self.source }, 0);
        }
    }

    /// A segment reaches the source.
    #[inline(always)]
    pub(crate) fn deliver_to_source(
        &mut self,
        segment: &Segment,
        wire_bytes: u32,
        now: Time,
    ) -> Result<(), Violation> {
        self.balance.delivered += 1;
        self.forward.observe_window(segment, &self.source);
        let Some(reverse) = &mut self.reverse else {
            self.source.handle_segment(segment, now);
            self.note_acknowledgement(now);
            return Ok(());
        };
        reverse.arrive(segment, &self.source, wire_bytes, now)?;
        self.source.handle_segment(segment, now);
        reverse.check_delivery(&self.source, now)?;
        self.note_completion(now);
        self.note_acknowledgement(now);
        Ok(())
    }

    /// A segment reaches the sink. If that has answered in the segment's place, returns how.
    #[inline(always)]
    pub(crate) fn deliver_to_sink(
        &mut self,
        segment: &mut Segment,
        wire_bytes: u32,
        now: Time,
    ) -> Result<Option<Transmit>, Violation> {
        self.balance.delivered += 1;
        if let Some(monitor) = &mut self.flow_monitor {
            monitor.arrive(segment, now);
        }
        self.forward.arrive(segment, &self.sink, wire_bytes, now)?;
        let Some(reverse) = &mut self.reverse else {
            let answer = self.sink.answer(segment, now);
            match answer {
                None => self.sink.handle_segment(segment, now),
                Some(transmit) => self.balance.sent += u64::from(transmit != Transmit::Nothing),
            }
            self.take_delivery(now)?;
            return Ok(answer);
        };
        reverse.observe_window(segment, &self.sink);
        self.sink.handle_segment(segment, now);
        self.take_delivery(now)?;
        self.note_acknowledgement(now);
        Ok(None)
    }

    /// See what the sink's application has been given by now.
    #[inline(always)]
    fn take_delivery(&mut self, now: Time) -> Result<(), Violation> {
        let receiver = self.sink.receiver();
        let at_end = receiver.is_finished() && receiver.unread() == 0;
        self.forward.check_delivery(&self.sink, now)?;
        self.note_completion(now);
        if at_end && !self.sink_closed {
            self.sink_closed = true;
            self.sink.close();
        }
        Ok(())
    }

    /// The source (0) or the sink (1).
    #[inline(always)]
    pub(crate) fn end<const SIDE: usize>(&mut self) -> &mut Endpoint {
        if SIDE == 0 { &mut self.source } else { &mut self.sink }
    }

    /// The next segment of the source (0) or of the sink (1), if it has one to send.
    #[inline(always)]
    pub(crate) fn transmit_into<const SIDE: usize>(
        &mut self,
        segment: &mut Segment,
        now: Time,
    ) -> Result<Transmit, Violation> {
        let from = if SIDE == 0 { &mut self.source } else { &mut self.sink };
        let transmit = from.transmit_into(segment, now);
        if transmit == Transmit::Nothing {
            return Ok(transmit);
        }
        self.balance.sent += 1;
        let direction = if SIDE == 0 {
            if let Some(monitor) = &mut self.flow_monitor {
                monitor.send(segment, now);
            }
            Some(&mut self.forward)
        } else {
            self.reverse.as_deref_mut()
        };
        if let Some(direction) = direction {
            direction.check_departure(segment, from, self.mss, now)?;
        }
        Ok(transmit)
    }

    /// How long the next segment of the source (0) or of the sink (1) stays in its host, before order
    /// is kept.
    #[inline(always)]
    pub(crate) fn delay<const SIDE: usize>(&mut self) -> Duration {
        let sends = SIDE == 0 || self.is_both_ways();
        self.jitter.as_mut().filter(|_| sends).map_or(Duration::ZERO, Jitter::next)
    }

    /// Set the timer of the source (0) or of the sink (1). Returns when its event is to be scheduled,
    /// unless an earlier one is.
    #[inline(always)]
    pub(crate) fn set_timer<const SIDE: usize>(&mut self, now: Time) -> Option<Time> {
        let endpoint = if SIDE == 0 { &self.source } else { &self.sink };
        let deadline = endpoint.poll_timeout();
        if deadline >= self.timer_at[SIDE] {
            return None;
        }
        self.timer_at[SIDE] = deadline.max(now);
        Some(self.timer_at[SIDE])
    }

    /// A segment comes that has left its sender in another region.
    pub(crate) fn left_elsewhere(&mut self, segment: &Segment, forward: bool) {
        if forward {
            self.forward.left_elsewhere(segment);
        }
    }

    /// Takes over what has become of it in another region, and the ends that are there.
    pub(crate) fn absorb(&mut self, other: Connection, has_source: bool, has_sink: bool) {
        if has_source {
            self.source = other.source;
            self.acknowledged = other.acknowledged;
        }
        if has_sink {
            self.sink = other.sink;
            self.finished = other.finished;
        }
        self.balance += other.balance;
        self.forward.absorb(&other.forward);
        if let Some((monitor, elsewhere)) = self.flow_monitor.as_mut().zip(other.flow_monitor) {
            monitor.absorb(*elsewhere);
        }
    }

    /// A packet will not arrive.
    pub(crate) fn miss(&mut self, handle: &PacketHandle, cause: Cause, now: Time) {
        let forward = handle.forward();
        if let Some(monitor) = self.flow_monitor.as_mut().filter(|_| forward) {
            monitor.miss(cause, now);
        }
        if !handle.has_payload() {
            return;
        }
        let direction = if forward { Some(&mut self.forward) } else { self.reverse.as_deref_mut() };
        if let Some(direction) = direction {
            direction.missing += 1;
            direction.dropped += u64::from(cause == Cause::Dropped);
        }
    }

    /// What ns-3 says of its data at the end of the run, if its stack is ns-3's.
    pub(crate) fn flow_monitor(&self, end: Time) -> Option<FlowMonitorSummary> {
        self.flow_monitor.as_ref().map(|monitor| monitor.summary(end))
    }

    /// The sender and the receiver of data that goes in this direction.
    pub(crate) fn ends(&self, direction: Direction) -> (&Endpoint, &Endpoint) {
        match direction {
            Direction::Forward => (&self.source, &self.sink),
            Direction::Reverse => (&self.sink, &self.source),
        }
    }

    /// Counters now, from the start of the run.
    pub(crate) fn counts(&self, direction: Direction) -> FlowCounts {
        let (from, to) = self.ends(direction);
        match (direction, &self.reverse) {
            (Direction::Forward, _) => self.forward.counts(from, to),
            (Direction::Reverse, Some(reverse)) => reverse.counts(from, to),
            (Direction::Reverse, None) => FlowCounts::default(),
        }
    }

    /// Data packets that have reached either end.
    pub(crate) fn arrivals(&self) -> u64 {
        self.forward.arrivals + self.reverse.as_ref().map_or(0, |reverse| reverse.arrivals)
    }

    /// Bytes of its transfer towards the sink, once it has begun, if they are known and an application
    /// has them at once.
    pub(crate) fn transfer(&self) -> Option<u64> {
        let has_begun = !matches!(self.source.state(), State::Closed | State::Listen);
        let at_once = matches!(self.app, Source::File { .. } | Source::Driven);
        self.forward.transfer.filter(|_| has_begun && at_once)
    }

    /// When its application began.
    pub(crate) fn started(&self) -> Time {
        self.started
    }

    /// From the flow's start to its last byte.
    pub(crate) fn completion_time(&self) -> Option<Duration> {
        self.finished.map(|at| at.since(self.started))
    }

    /// From the flow's start to the last acknowledgement of its data.
    pub(crate) fn acknowledged_time(&self) -> Option<Duration> {
        self.acknowledged.map(|at| at.since(self.started))
    }
}

/// The connections; neighbours with equal stacks share one.
pub(crate) fn connections(experiment: &Experiment) -> Result<Vec<Connection>, CcError> {
    let mut shared: Option<Arc<Stack>> = None;
    let mut connections = Vec::with_capacity(experiment.flows.len());
    let members = members(&experiment.flows, &experiment.applications);
    for ((i, flow), member) in experiment.flows.iter().enumerate().zip(members) {
        let stack = match shared {
            Some(stack) if *stack == flow.stack => stack,
            _ => Arc::new(flow.stack.clone()),
        };
        connections.push(Connection::new(
            i as u32,
            flow,
            member,
            &stack,
            &experiment.catalogue,
            experiment.seed,
        )?);
        shared = Some(stack);
    }
    Ok(connections)
}

/// Bytes of a line of the caches, nearly everywhere.
const CACHE_LINE: usize = 64;

/// Ask for all lines of a value from an offset on: an index from an empty slice names any of them.
#[inline(always)]
fn prefetch<T>(value: &T, from: usize) {
    let none: &[u8] = &[];
    let first = from_ref(value).addr().wrapping_sub(none.as_ptr().addr());
    for offset in (from..size_of::<T>()).step_by(CACHE_LINE) {
        prefetch_index(none, first.wrapping_add(offset));
    }
}

/// Bytes that an end's application has written and that were not sent yet.
fn unsent(end: &Endpoint) -> u64 {
    end.sender().stream_end().saturating_sub(end.sender().snd_nxt())
}

impl Jitter {
    /// The delay of the next departure.
    pub(crate) fn next(&mut self) -> Duration {
        Duration::from_nanos(self.stream.below(self.bound.as_nanos()))
    }
}
