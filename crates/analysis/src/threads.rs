//! A capture on several threads, which follow connections and take turns at reading.
//!
//! Every connection belongs to one thread, which sees its packets in order, and connections are
//! put in order at the end: the report does not depend on how many threads there are. There are as
//! many threads as processors, and whoever comes by reads on, so that none waits for another that
//! does nothing but read.

use std::collections::VecDeque;
use std::mem::take;
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, available_parallelism, panicking, scope};

use fairway_capture::packet::Packet;
use fairway_capture::read::Capture;
use fairway_units::Time;

use crate::analyser::{Analyser, Options};
use crate::flows::lane;
use crate::report::{Part, Report};

/// Packets that are handed over together: few enough to stay in a processor's cache, enough that
/// handing over costs nothing.
const BATCH_PACKETS: usize = 256;

/// Batches that wait for a thread before reading pauses.
const WAITING_BATCHES: usize = 4;

/// More threads than this would wait for the one that reads.
const MAX_THREADS: usize = 8;

/// A reader of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) packets: u64,
    /// Earliest in the file, and latest by the clock.
    pub(crate) first_at: Option<Time>,
    pub(crate) last_at: Time,
}

/// Reads a capture to its end and analyses it, on all processors. Calls `look` now and then, which
/// stops the reading by answering `true`; there is no report then.
pub(crate) fn analyse(
    capture: &mut Capture,
    options: &Options,
    look: impl FnMut(&Capture, u64) -> bool + Send,
) -> Option<(Report, Taken)> {
    let threads = available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    analyse_on(capture, options, look, |share| share < threads)
}

/// As [`analyse`]; `is_granted` says whether there is a thread of that number.
fn analyse_on(
    capture: &mut Capture,
    options: &Options,
    look: impl FnMut(&Capture, u64) -> bool + Send,
    is_granted: impl Fn(usize) -> bool,
) -> Option<(Report, Taken)> {
    let desk = OnceLock::new();
    let parts = scope(|scope| {
        // Shares are of the threads that the system has granted, so those wait until all were asked for.
        let mut others = Vec::new();
        while is_granted(others.len() + 1) {
            let ((begin, begun), desk, share) = (channel(), &desk, others.len() + 1);
            let task = move || {
                // The caller has panicked if it says nothing.
                let desk = begun.recv().ok().and_then(|()| desk.get())?;
                Some(follow(desk, share, options))
            };
            let Ok(other) = Builder::new().spawn_scoped(scope, task) else { break };
            others.push((begin, other));
        }
        // In order, one thread follows everything and the others read for it.
        let shares = if options.is_in_order() { 1 } else { others.len() + 1 };
        let desk =
            desk.get_or_init(|| Desk::new(Reader::new(capture, options, look, shares), shares));
        // A thread is there until it was told to begin.
        others.iter().for_each(|(begin, _)| begin.send(()).expect("its thread waits"));
        let mut parts = vec![follow(desk, 0, options)];
        for (_, other) in others {
            parts.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        parts.truncate(shares);
        parts
    });
    let reader = desk.into_inner()?.into_reader()?;
    Some((Report::together(parts, Options::intervals), reader.taken))
}

/// Follows the connections of a share, and reads on when it is this thread's turn.
fn follow<L>(desk: &Desk<'_, L>, share: usize, options: &Options) -> Part
where
    L: FnMut(&Capture, u64) -> bool,
{
    let _alarm = Alarm(desk);
    let mut analyser = Analyser::new(options.clone());
    loop {
        match desk.next(share) {
            Work::Read(mut reader) => {
                let batches = reader.read();
                desk.put_back(reader, batches);
            }
            Work::Follow(mut batch) => {
                batch.iter().for_each(|packet| analyser.packet(packet));
                batch.clear();
                desk.lock().used.push(batch);
            }
            // The part is made here, where its memory is: what is given back serves again.
            Work::Nothing => return analyser.part(),
        }
    }
}

/// Reads, and shares packets out. Whoever has it reads.
struct Reader<'a, L> {
    capture: &'a mut Capture,
    options: &'a Options,
    look: L,
    taken: Taken,
    /// The batch being filled for each share.
    batches: Vec<Vec<Packet>>,
    is_at_end: bool,
    is_stopped: bool,
}

impl<'a, L: FnMut(&Capture, u64) -> bool> Reader<'a, L> {
    fn new(capture: &'a mut Capture, options: &'a Options, look: L, shares: usize) -> Self {
        let batches = (0..shares).map(|_| Vec::with_capacity(BATCH_PACKETS)).collect();
        let taken = Taken::default();
        Reader { capture, options, look, taken, batches, is_at_end: false, is_stopped: false }
    }

    /// Reads until there is a batch, or to the end; says whose they are.
    fn read(&mut self) -> Vec<(usize, Vec<Packet>)> {
        let mut full = None;
        while full.is_none()
            && let Some(packet) = self.capture.next()
        {
            self.taken.packets += 1;
            self.taken.first_at.get_or_insert(packet.at);
            self.taken.last_at = self.taken.last_at.max(packet.at);
            let share = match self.batches.len() {
                1 => 0,
                shares => lane(&self.options.key(packet).0) % shares,
            };
            let batch = &mut self.batches[share];
            batch.push(*packet);
            full = (batch.len() == BATCH_PACKETS).then_some(share);
        }
        self.is_stopped = (self.look)(self.capture, self.taken.packets);
        self.is_at_end = full.is_none();
        match full {
            Some(share) => vec![(share, take(&mut self.batches[share]))],
            None => take(&mut self.batches).into_iter().enumerate().collect(),
        }
    }
}

/// The next task of a thread.
enum Work<'a, L> {
    Read(Reader<'a, L>),
    Follow(Vec<Packet>),
    Nothing,
}

/// Where threads find work and leave it for others.
struct Desk<'a, L> {
    papers: Mutex<Papers<'a, L>>,
    changed: Condvar,
}

struct Papers<'a, L> {
    /// None while a thread reads.
    reader: Option<Reader<'a, L>>,
    /// Batches waiting for each share.
    waiting: Vec<VecDeque<Vec<Packet>>>,
    /// Batches to be filled again.
    used: Vec<Vec<Packet>>,
    idle_threads: usize,
    /// Nothing more is read.
    is_over: bool,
}

impl<'a, L> Desk<'a, L> {
    fn new(reader: Reader<'a, L>, shares: usize) -> Self {
        let waiting = (0..shares).map(|_| VecDeque::new()).collect();
        let reader = Some(reader);
        let papers = Papers { reader, waiting, used: Vec::new(), idle_threads: 0, is_over: false };
        Desk { papers: Mutex::new(papers), changed: Condvar::new() }
    }

    /// Whoever panics takes its part with it, and leaves everything else as it should be.
    fn lock(&self) -> MutexGuard<'_, Papers<'a, L>> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds something to do for the thread of a share: to read, unless another does or too much
    /// waits; to follow what waits for it.
    fn next(&self, share: usize) -> Work<'a, L> {
        let mut papers = self.lock();
        loop {
            let is_full = papers.waiting.iter().any(|batches| batches.len() >= WAITING_BATCHES);
            if !is_full
                && !papers.is_over
                && let Some(reader) = papers.reader.take()
            {
                return Work::Read(reader);
            }
            if let Some(batch) = papers.waiting.get_mut(share).and_then(VecDeque::pop_front) {
                self.tell(&papers);
                return Work::Follow(batch);
            }
            if papers.is_over {
                return Work::Nothing;
            }
            papers.idle_threads += 1;
            papers = self.changed.wait(papers).unwrap_or_else(PoisonError::into_inner);
            papers.idle_threads -= 1;
        }
    }

    /// Takes a reader and what it has read.
    fn put_back(&self, mut reader: Reader<'a, L>, batches: Vec<(usize, Vec<Packet>)>) {
        let mut papers = self.lock();
        papers.is_over |= reader.is_at_end || reader.is_stopped;
        for (share, batch) in batches {
            papers.waiting[share].push_back(batch);
            if let Some(batch) = reader.batches.get_mut(share) {
                let used = papers.used.pop();
                *batch = used.unwrap_or_else(|| Vec::with_capacity(BATCH_PACKETS));
            }
        }
        papers.reader = Some(reader);
        self.tell(&papers);
    }

    fn tell(&self, papers: &Papers<'a, L>) {
        if papers.idle_threads > 0 {
            self.changed.notify_all();
        }
    }

    /// The reader at the end; none if it was stopped.
    fn into_reader(self) -> Option<Reader<'a, L>> {
        let papers = self.papers.into_inner().unwrap_or_else(PoisonError::into_inner);
        papers.reader.filter(|reader| !reader.is_stopped)
    }
}

/// Ends the work of all threads if the one that has it panics: they would wait for it.
struct Alarm<'d, 'a, L>(&'d Desk<'a, L>);

impl<L> Drop for Alarm<'_, '_, L> {
    fn drop(&mut self) {
        if panicking() {
            self.0.lock().is_over = true;
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn capture() -> Capture {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/ethernet.pcap");
        Capture::open(&path).expect("a capture")
    }

    #[test]
    fn who_looks_on_may_stop_it() {
        let all = Options::default();
        assert!(analyse(&mut capture(), &all, |_, _| true).is_none());
        assert!(analyse(&mut capture(), &all, |_, _| false).is_some());
    }

    #[test]
    fn in_order_it_is_the_same() {
        let look = |_: &Capture, _| false;
        let (shared, _) = analyse(&mut capture(), &Options::default(), look).expect("a report");
        let in_order = Options { identify: true, ..Options::default() };
        let (in_order, _) = analyse(&mut capture(), &in_order, look).expect("a report");
        assert!(shared.packets > 0);
        assert_eq!(shared.packets, in_order.packets);
        assert_eq!(shared.connections.len(), in_order.connections.len());
    }

    #[test]
    fn with_fewer_threads_it_is_the_same() {
        let report = |granted| {
            let look = |_: &Capture, _| false;
            let all = Options::default();
            let found = analyse_on(&mut capture(), &all, look, |share| share <= granted);
            serde_json::to_string(&found.expect("a report").0).expect("JSON")
        };
        let alone = report(0);
        assert!(alone.contains("connections"));
        assert!((1..5).all(|granted| report(granted) == alone));
    }

    #[test]
    #[should_panic(expected = "of its own")]
    fn a_panic_ends_it_for_all_threads() {
        analyse(&mut capture(), &Options::default(), |_, _| panic!("of its own"));
    }
}
