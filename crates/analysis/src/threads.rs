//! A capture on several threads: one reads, the others follow connections.
//!
//! Every connection belongs to one thread, which sees its packets in order, and connections are
//! put in order at the end: the report does not depend on how many threads there are.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle, available_parallelism, scope};

use fairway_capture::packet::Packet;
use fairway_capture::read::Capture;
use fairway_units::Time;

use crate::analyser::{Analyser, Options};
use crate::report::{Part, Report};

/// Packets that are handed over together: few enough to stay in a processor's cache, enough that
/// handing over costs nothing.
const BATCH_PACKETS: usize = 256;

/// Batches that wait for a thread.
const WAITING_BATCHES: usize = 4;

/// More threads than this would wait for the one that reads.
const MAX_FOLLOWERS: usize = 8;

/// What is read of a capture.
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
    look: impl FnMut(&Capture, u64) -> bool,
) -> Option<(Report, Taken)> {
    let processors = available_parallelism().map_or(1, usize::from);
    let followers = if options.is_in_order() { 1 } else { processors.min(MAX_FOLLOWERS) };
    scope(|threads| {
        let mut followers: Vec<_> =
            (0..followers).map(|_| Follower::begin(threads, options)).collect();
        let taken = share_out(capture, options, &mut followers, look)?;
        let parts = followers.into_iter().map(Follower::end).collect();
        Some((Report::together(parts, Options::intervals), taken))
    })
}

fn share_out(
    capture: &mut Capture,
    options: &Options,
    followers: &mut [Follower],
    mut look: impl FnMut(&Capture, u64) -> bool,
) -> Option<Taken> {
    let mut taken = Taken::default();
    while let Some(packet) = capture.next() {
        taken.packets += 1;
        taken.first_at.get_or_insert(packet.at);
        taken.last_at = taken.last_at.max(packet.at);
        let share = options.key(packet).0.share() as usize % followers.len();
        let is_full = followers[share].take(packet);
        if is_full && look(capture, taken.packets) {
            return None;
        }
    }
    (!look(capture, taken.packets)).then_some(taken)
}

/// A thread that follows connections, and the batch that is being filled for it.
struct Follower<'scope> {
    batch: Vec<Packet>,
    full: SyncSender<Vec<Packet>>,
    empty: Receiver<Vec<Packet>>,
    thread: ScopedJoinHandle<'scope, Part>,
}

impl<'scope> Follower<'scope> {
    fn begin(threads: &'scope Scope<'scope, '_>, options: &Options) -> Follower<'scope> {
        let (full, batches) = sync_channel::<Vec<Packet>>(WAITING_BATCHES);
        let (used, empty) = channel();
        let mut analyser = Analyser::new(options.clone());
        let thread = threads.spawn(move || {
            for mut batch in batches {
                for packet in &batch {
                    analyser.packet(packet);
                }
                batch.clear();
                // Whoever reads has ended if it does not take it.
                let _ = used.send(batch);
            }
            // Here, where its memory is: what is given back serves again.
            analyser.part()
        });
        Follower { batch: Vec::with_capacity(BATCH_PACKETS), full, empty, thread }
    }

    /// Takes a packet; says whether a batch was handed over.
    #[inline]
    fn take(&mut self, packet: &Packet) -> bool {
        self.batch.push(*packet);
        self.batch.len() == BATCH_PACKETS && {
            self.hand_over();
            true
        }
    }

    fn hand_over(&mut self) {
        let next = self.empty.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(BATCH_PACKETS));
        // A thread that has ended early has panicked, which `end` tells.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }

    fn end(mut self) -> Part {
        self.hand_over();
        drop(self.full);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
