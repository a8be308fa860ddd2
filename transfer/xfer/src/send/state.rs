//! The state shared by the threads of a sender: what is offered, in flight and acknowledged.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::blocks::{Arrival, Block, BlockQueue, Take};
use crate::Error;
use crate::patience::Patience;
use crate::rt::Socket;
use crate::store::{Blocks, Stat, Sum, TransferDigest};
use crate::wire::messages::{Kind, Offered, Run, ToReceiver, ToSender};

/// Damaged arrivals of one block after which the transfer fails: with TCP's checksum alone, chance
/// damages one block in 65536, and not the same one five times.
const MOST_BAD: u32 = 5;
/// Changed sources that the error names; further ones are counted.
const NAMED: usize = 5;

/// Where a file comes from.
#[derive(Debug)]
pub enum Origin {
    Disk { path: PathBuf, stat: Stat, blocks: Blocks },
    Stream,
}

/// What was offered and is not stored.
#[derive(Debug)]
pub struct Sending {
    pub offered: Offered,
    pub origin: Arc<Origin>,
    claims: BTreeMap<u32, Sum>,
    is_ready: bool,
    digest: Option<Sum>,
    /// Whether this control connection was told to finish it.
    is_finish_said: bool,
    /// Answers that the receiver owes to it.
    owed: u64,
}

/// What a connection is to do next.
#[derive(Debug)]
pub enum Task {
    Carry(Run, Arc<Origin>),
    Wait,
    /// To end: everything has arrived, or one connection less is wanted.
    End,
    Over,
}

/// How a control connection has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Confirmed,
    Fatal(Error),
    Broken(Error),
}

/// One connection's place among the streams.
#[derive(Debug, Default)]
pub struct Lane {
    pub open: Option<(u32, Socket)>,
    /// It is to end when it has carried what it has.
    pub is_leaving: bool,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub files: u64,
    pub directories: u64,
    pub bytes: u64,
    pub held_bytes: u64,
    /// Blocks that went again, because their connection broke or they were damaged.
    pub resent_blocks: u64,
    pub damaged_blocks: u64,
    pub replaced_connections: u64,
    pub replaced_sessions: u64,
}

/// All of it; whoever changes it holds the lock.
#[derive(Debug)]
pub struct State {
    pub queue: BlockQueue,
    pub entries: BTreeMap<u32, Sending>,
    pub next_entry: u32,
    pub is_all_offered: bool,
    pub outbox: VecDeque<ToReceiver>,
    pub lanes: BTreeMap<u32, Lane>,
    /// Blocks of standard input that have not arrived.
    pub window: BTreeMap<u32, Arc<[u8]>>,
    /// The first block of standard input as if there were no other.
    pub stream_digest: Option<Sum>,
    /// Blocks of standard input that have arrived: they cannot be had again.
    pub gone_blocks: u32,
    pub read_blocks: u32,
    pub stream_bytes: Option<u64>,
    pub ended: Option<End>,
    pub is_given_up: bool,
    pub is_known: bool,
    pub refusals: u32,
    pub connections: u32,
    pub counts: Counts,
    pub patience: Patience,
    /// Most that had arrived before the receiver forgot the transfer, and how often it has done so
    /// since without taking more.
    pub forgotten: (u64, u32),
    /// The last words of this control connection are sent, or cannot be.
    pub is_parted: bool,
    /// Why the last data connection broke.
    pub latest_failure: Option<Error>,
    /// Blocks of entries that are not stored.
    pub open_blocks: u64,
    digest: TransferDigest,
    is_end_said: bool,
    damaged: BTreeMap<Block, u32>,
    changed: Vec<String>,
    changed_count: u64,
}

/// What has to be done outside of the lock.
#[derive(Debug, Default, PartialEq)]
pub struct FollowUp {
    /// All blocks of these files have arrived: look at their sources.
    pub whole: Vec<u32>,
    pub arrived_bytes: u64,
    /// There are blocks to carry that nobody has.
    pub is_new_work: bool,
    pub stream: Option<u32>,
}

impl State {
    pub fn new(queue: BlockQueue, patience: Patience) -> Self {
        State {
            queue,
            entries: BTreeMap::new(),
            next_entry: 0,
            is_all_offered: false,
            outbox: VecDeque::new(),
            lanes: BTreeMap::new(),
            window: BTreeMap::new(),
            stream_digest: None,
            gone_blocks: 0,
            read_blocks: 0,
            stream_bytes: None,
            ended: None,
            is_given_up: false,
            is_known: false,
            refusals: 0,
            connections: 0,
            counts: Counts::default(),
            patience,
            forgotten: (0, 0),
            is_parted: false,
            latest_failure: None,
            open_blocks: 0,
            digest: TransferDigest::new(),
            is_end_said: false,
            damaged: BTreeMap::new(),
            changed: Vec::new(),
            changed_count: 0,
        }
    }

    /// Notes what is offered next; its number.
    pub fn offer(&mut self, offered: Offered, origin: Origin) -> u32 {
        let entry = self.next_entry;
        self.next_entry += 1;
        let blocks = blocks_of(&origin);
        self.open_blocks += blocks;
        self.patience.welcome(blocks);
        let sending = Sending {
            offered,
            origin: origin.into(),
            claims: BTreeMap::new(),
            is_ready: false,
            digest: None,
            is_finish_said: false,
            owed: 0,
        };
        self.entries.insert(entry, sending);
        self.ask(entry, 1);
        entry
    }

    /// Resets what a new control connection has to repeat: blocks in flight and unsent messages.
    pub fn reconnected(&mut self) {
        self.ended = None;
        self.is_parted = false;
        self.patience.restart();
        self.outbox.clear();
        self.is_end_said = false;
        self.entries.values_mut().for_each(|sending| sending.is_finish_said = false);
        self.damaged.clear();
        self.lanes.clear();
        self.counts.resent_blocks += self.queue.all_broken() as u64;
    }

    pub fn handle(&mut self, message: ToSender) -> FollowUp {
        let mut follow_up = FollowUp::default();
        match message {
            ToSender::Claims { file, sums } => {
                if let Some(sending) = self.entries.get_mut(&file).filter(|entry| !entry.is_ready) {
                    let most = blocks_of(&sending.origin);
                    let before = sending.claims.len();
                    let known = sums.into_iter().filter(|(block, _)| u64::from(*block) < most);
                    sending.claims.extend(known);
                    self.patience.answered_more((sending.claims.len() - before) as u64);
                }
            }
            ToSender::Ready { file } => self.ready(file, &mut follow_up),
            ToSender::Arrived(runs) => {
                for run in runs {
                    for block in self.queue.hashed_in(run) {
                        self.arrived(block, &mut follow_up);
                    }
                }
            }
            ToSender::Bad { file, block } => {
                self.damaged(Block { file, index: block }, &mut follow_up)
            }
            ToSender::Lost { connection, .. } => {
                self.lost(connection);
                follow_up.is_new_work = true;
            }
            ToSender::Stored { file } => self.stored(file),
            ToSender::Confirmed { digest } => {
                let ours = self.digest.digest(u64::from(self.next_entry));
                let is_right = self.is_end_said && ours == Some(digest);
                self.end(if is_right {
                    End::Confirmed
                } else {
                    let why = "it confirms other content than was sent; send again";
                    End::Fatal(Error::failed("the receiver's confirmation", why))
                });
            }
            ToSender::Refused { why } => self.end(End::Fatal(Error::Refused(why))),
            ToSender::Busy { why } => {
                self.end(End::Broken(Error::failed("the receiver is busy", why)));
            }
            ToSender::Welcome { .. } => {
                let why = "it sent two welcomes; use the same version of Fairway at both ends";
                self.end(End::Fatal(Error::failed("talking with the receiver", why)));
            }
        }
        follow_up
    }

    /// Notes answers that the receiver owes to a file.
    fn ask(&mut self, file: u32, answers: u64) {
        if let Some(sending) = self.entries.get_mut(&file) {
            sending.owed += answers;
            self.patience.asked(answers);
        }
    }

    /// Notes one of these answers, that was not there before.
    fn answered(&mut self, file: u32) {
        if let Some(sending) = self.entries.get_mut(&file).filter(|sending| sending.owed > 0) {
            sending.owed -= 1;
            self.patience.answered(1);
        }
    }

    /// Blocks that wait to be finished by the receiver's disk.
    pub fn is_finishing(&self) -> bool {
        self.is_end_said || self.entries.values().any(|sending| sending.is_finish_said)
    }

    /// A block of standard input is there to be sent.
    pub fn grow(&mut self, file: u32) {
        self.queue.grow(file);
        self.ask(file, 1);
    }

    pub fn end(&mut self, end: End) {
        self.ended.get_or_insert(end);
    }

    fn ready(&mut self, file: u32, follow_up: &mut FollowUp) {
        let Some(sending) = self.entries.get_mut(&file) else { return };
        if sending.offered.kind == Kind::Directory {
            self.answered(file);
            let sending = self.entries.remove(&file).expect("just found");
            self.digest.directory(u64::from(file), &sending.offered.name);
            self.counts.directories += 1;
            return;
        }
        if sending.is_ready {
            // After the control connection was replaced: the receiver may not have heard the end.
            if !sending.is_finish_said && self.queue.is_whole(file) {
                follow_up.whole.push(file);
            }
            return;
        }
        sending.is_ready = true;
        let claims = std::mem::take(&mut sending.claims);
        let origin = Arc::clone(&sending.origin);
        self.answered(file);
        self.ask(file, blocks_of(&origin));
        match &*origin {
            Origin::Disk { blocks, .. } => {
                let count = u32::try_from(blocks.count().unwrap_or(0)).unwrap_or(u32::MAX);
                self.queue.add(file, count, blocks.block_bytes(), claims);
                follow_up.is_new_work = true;
                if count == 0 {
                    follow_up.whole.push(file);
                }
            }
            Origin::Stream => {
                self.queue.add_growing(file, Blocks::of_stream().block_bytes(), claims);
                follow_up.stream = Some(file);
            }
        }
    }

    /// A block has arrived, or is there already.
    pub fn arrived(&mut self, block: Block, follow_up: &mut FollowUp) {
        let arrival = self.queue.arrived(block);
        let Some(sending) = self.entries.get(&block.file) else { return };
        if arrival == Arrival::Old {
            return;
        }
        follow_up.arrived_bytes += match &*sending.origin {
            Origin::Disk { blocks, .. } => blocks.bytes(u64::from(block.index)),
            Origin::Stream => {
                self.gone_blocks += 1;
                self.window.remove(&block.index).map_or(0, |data| data.len() as u64)
            }
        };
        if arrival == Arrival::Whole {
            follow_up.whole.push(block.file);
        }
        self.answered(block.file);
    }

    fn damaged(&mut self, block: Block, follow_up: &mut FollowUp) {
        if !self.queue.bad(block) {
            return;
        }
        follow_up.is_new_work = true;
        self.counts.damaged_blocks += 1;
        self.counts.resent_blocks += 1;
        let times = self.damaged.entry(block).or_default();
        *times += 1;
        if *times >= MOST_BAD {
            let name = self.shown(block.file);
            let why = format!(
                "block {} arrived damaged {MOST_BAD} times: something on the path changes the data, or \
                 the file is being written; leave out --plain, or send it when nobody writes it",
                block.index
            );
            self.end(End::Fatal(Error::failed(format!("sending {name}"), why)));
        }
    }

    /// A data connection is gone before its end: what it had out goes again.
    pub fn lost(&mut self, connection: u32) {
        self.counts.resent_blocks += self.queue.broken(connection) as u64;
        let open = self.lanes.values_mut().filter_map(|lane| lane.open.as_mut());
        for (_, socket) in open.filter(|(number, _)| *number == connection) {
            // Its thread may wait for it; if it is gone already, all the better.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    fn stored(&mut self, file: u32) {
        // What was not finished here is not stored there, whatever is said.
        if self.entries.get(&file).is_none_or(|sending| sending.digest.is_none()) {
            return;
        }
        self.answered(file);
        let sending = self.remove(file).expect("just found");
        let digest = sending.digest.expect("just found");
        let bytes = match &*sending.origin {
            Origin::Disk { stat, .. } => stat.bytes(),
            Origin::Stream => sending.told_bytes(),
        };
        self.digest.file(u64::from(file), &sending.offered.name, bytes, &digest);
        self.counts.files += 1;
        self.counts.bytes += bytes;
    }

    /// The source of a file is as it was, and all of it has arrived: it may get its name.
    pub fn finish(&mut self, file: u32) {
        let Some(mut digest) = self.queue.digest(file) else {
            let why = "not all of its blocks were summed; send it again";
            self.end(End::Fatal(Error::failed(format!("sending {}", self.shown(file)), why)));
            return;
        };
        let blocks = self.queue.blocks(file);
        let Some(sending) = self.entries.get_mut(&file) else { return };
        let is_first = sending.digest.is_none();
        sending.is_finish_said = true;
        if let (Origin::Stream, Kind::File { bytes: Some(bytes) }) =
            (&*sending.origin, sending.offered.kind)
        {
            if blocks == 1 {
                digest = self.stream_digest.unwrap_or(digest);
            }
            // Not before: the sum of an only block is another one.
            self.outbox.push_back(ToReceiver::Length { file, bytes });
        }
        sending.digest = Some(digest);
        self.outbox.push_back(ToReceiver::Finish { file, digest });
        self.ask(file, u64::from(is_first));
    }

    /// A stream has ended; whether all of it has arrived.
    pub fn stream_ended(&mut self, file: u32, bytes: u64) -> bool {
        if let Some(sending) = self.entries.get_mut(&file) {
            sending.offered.kind = Kind::File { bytes: Some(bytes) };
        }
        self.queue.close(file)
    }

    pub fn abandon(&mut self, file: u32) {
        if !self.entries.contains_key(&file) {
            return;
        }
        self.changed_count += 1;
        if self.changed.len() < NAMED {
            self.changed.push(self.shown(file));
        }
        self.outbox.push_back(ToReceiver::Abandon { file });
        self.remove(file);
    }

    fn remove(&mut self, file: u32) -> Option<Sending> {
        self.queue.remove(file);
        let sending = self.entries.remove(&file)?;
        self.patience.forget(sending.owed);
        self.open_blocks -= blocks_of(&sending.origin);
        Some(sending)
    }

    /// What is to be said when nothing is left to offer or to carry.
    pub fn conclusion(&mut self) -> Option<ToReceiver> {
        if !self.is_all_offered || !self.entries.is_empty() || self.is_end_said {
            return None;
        }
        if self.changed_count > 0 {
            let more = self.changed_count - self.changed.len() as u64;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let what = format!("sending {}{more}", self.changed.join(", "));
            let why = "changed while being sent; everything else has arrived; send again";
            self.end(End::Fatal(Error::failed(what, why)));
            return None;
        }
        let digest = self.digest.digest(u64::from(self.next_entry))?;
        self.is_end_said = true;
        if !self.patience.is_owed() {
            self.patience.asked(1);
        }
        Some(ToReceiver::End { entries: self.next_entry, digest })
    }

    pub fn take(&mut self, lane: u32, connection: u32) -> Task {
        if self.ended.is_some() {
            return Task::Over;
        }
        if self.lanes.get(&lane).is_none_or(|lane| lane.is_leaving) {
            return Task::End;
        }
        match self.queue.take(connection, lane) {
            Take::Run(run) => match self.entries.get(&run.file) {
                Some(sending) => Task::Carry(run, Arc::clone(&sending.origin)),
                None => Task::Wait,
            },
            // The plan does not know of files that the receiver has not answered.
            Take::End if self.entries.is_empty() => Task::End,
            Take::Wait | Take::End => Task::Wait,
        }
    }

    fn shown(&self, file: u32) -> String {
        match self.entries.get(&file).map(|sending| &*sending.origin) {
            Some(Origin::Disk { path, .. }) => path.display().to_string(),
            Some(Origin::Stream) => "standard input".into(),
            None => "a file".into(),
        }
    }
}

impl Sending {
    fn told_bytes(&self) -> u64 {
        match self.offered.kind {
            Kind::File { bytes } => bytes.unwrap_or(0),
            Kind::Directory => 0,
        }
    }
}

fn blocks_of(origin: &Origin) -> u64 {
    match origin {
        Origin::Disk { blocks, .. } => blocks.count().unwrap_or(0),
        Origin::Stream => 0,
    }
}
