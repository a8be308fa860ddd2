//! A disk in memory that does what POSIX allows: what was not synced may be lost, in part and in any
//! order, when the power fails, and anything may fail.
//!
//! Every file has the content that a process sees and the content that is on the medium, with the
//! changes between the two; `sync` takes them over. The same holds for names: each change of a
//! directory is kept until that directory is synced. A process that has died ([`Disk::kill`]) can no
//! longer do anything: its handles belong to an earlier life of the disk.

pub mod either;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fairway_units::random::Stream;
use nix::errno::Errno;
use nix::unistd::geteuid;

use crate::rt;
use crate::store::Modified;
use crate::store::disk::{self, About, Access, Kind};
use write::{Write, torn};

const ROOT: u64 = 1;

/// How often what goes wrong, as probabilities of one operation, and what the file system can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Less is read or written than was asked for.
    pub short: f64,
    /// A call is interrupted by a signal.
    pub interrupted: f64,
    /// A sync fails: what was to be written is lost, and what a process reads is not what is on disk.
    pub sync_fails: f64,
    /// A read or write fails.
    pub broken: f64,
    /// The disk has no room for a write, for once.
    pub full: f64,
    /// No rename without replacing, no space set aside (NFS).
    pub is_plain: bool,
    /// An operation takes long: seconds, or a minute.
    pub slow: f64,
}

/// A disk; clones are the same.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<Model>>);

#[derive(Debug)]
struct Model {
    nodes: BTreeMap<u64, Node>,
    next_node: u64,
    /// Changes of names that are not on the medium, the oldest first.
    changes: Vec<Change>,
    locked: BTreeSet<u64>,
    random: Stream,
    faults: Faults,
    capacity: u64,
    life: u64,
    operations: u64,
    /// The operation in which the process dies.
    dies_at: Option<u64>,
    is_dead: bool,
    is_told: bool,
}

/// What one operation has changed: names, and what each means from then on.
#[derive(Clone, Debug)]
struct Change(Vec<(Key, Option<u64>)>);

/// A directory and a name in it.
type Key = (u64, Vec<u8>);

#[derive(Clone, Debug)]
struct Node {
    mode: u32,
    modified: Option<Modified>,
    durable: (u32, Option<Modified>),
    changed: Duration,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Directory { names: BTreeMap<Vec<u8>, u64>, durable: BTreeMap<Vec<u8>, u64> },
    File { bytes: Vec<u8>, durable: Vec<u8>, unsynced: Vec<Write>, is_lost: bool },
}

impl Disk {
    /// An empty disk.
    pub fn new(seed: u64, faults: Faults, capacity: u64) -> Self {
        let model = Model {
            nodes: BTreeMap::from([(ROOT, Node::directory(0o755))]),
            next_node: ROOT + 1,
            changes: Vec::new(),
            locked: BTreeSet::new(),
            random: Stream::new(seed, "disk"),
            faults,
            capacity,
            life: 0,
            operations: 0,
            dies_at: None,
            is_dead: false,
            is_told: std::env::var_os("FAIRWAY_CRASH_TRACE").is_some(),
        };
        Disk(Arc::new(Mutex::new(model)))
    }

    /// Its outermost directory, for a process that begins now.
    pub fn root(&self) -> disk::Directory {
        let life = self.model().life;
        disk::Directory::Simulated(Directory { disk: self.clone(), node: ROOT, life })
    }

    /// The process dies in the operation after so many.
    pub fn die_after(&self, operations: u64) {
        let mut model = self.model();
        model.dies_at = Some(model.operations + operations);
    }

    /// Whether the process has died.
    pub fn is_dead(&self) -> bool {
        self.model().is_dead
    }

    /// Nothing fails from now on, and there is room for everything.
    pub fn mend(&self) {
        let mut model = self.model();
        let is_plain = model.faults.is_plain;
        model.faults = Faults { is_plain, ..Faults::default() };
        (model.capacity, model.dies_at) = (u64::MAX, None);
    }

    /// The process ends, wherever it is; another may begin.
    pub fn kill(&self) {
        let mut model = self.model();
        model.tell(|| "the process ends".into());
        model.life += 1;
        model.locked.clear();
        (model.dies_at, model.is_dead) = (None, false);
    }

    /// The power fails: what is on the medium is all that is left.
    pub fn lose_power(&self) {
        self.kill();
        self.model().lose_power();
    }

    /// Memory is needed for something else: what is read from now on is what is on the medium, and
    /// what is still to be written there.
    pub fn evict(&self) {
        self.model().nodes.values_mut().for_each(Node::evict);
    }

    /// What a process reads at a path.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        let model = self.model();
        match &model.nodes[&model.find(path, false)?].content {
            Content::File { bytes, .. } => Some(bytes.clone()),
            Content::Directory { .. } => None,
        }
    }

    /// Puts a file there as another program does, on the medium at once.
    pub fn put(&self, name: &str, bytes: &[u8], modified: Modified) {
        let mut model = self.model();
        let node = model.add(Node::file(0o640));
        model.node(node).modified = Some(modified);
        model.node(node).durable = (0o640, Some(modified));
        if let Content::File { bytes: seen, durable, .. } = &mut model.node(node).content {
            (*seen, *durable) = (bytes.to_vec(), bytes.to_vec());
        }
        if let Content::Directory { names, durable } = &mut model.node(ROOT).content {
            names.insert(name.into(), node);
            durable.insert(name.into(), node);
        }
    }

    /// Why a file or directory would not be there, or not like this, if the power failed now.
    pub fn is_durable(
        &self,
        path: &str,
        content: Option<&[u8]>,
        mode: Option<u32>,
    ) -> Result<(), String> {
        let model = self.model();
        let Some(node) = model.find(path, true) else {
            return Err(format!("{path} has no name on the medium"));
        };
        if model.find(path, false) != Some(node) {
            return Err(format!("{path} is something else on the medium"));
        }
        let node = &model.nodes[&node];
        match (&node.content, content) {
            (Content::File { durable, unsynced, .. }, Some(content)) => {
                if durable != content {
                    return Err(format!("{path} has another content on the medium"));
                }
                if !unsynced.is_empty() {
                    return Err(format!("{path} has writes that are not on the medium"));
                }
            }
            (Content::Directory { .. }, None) => {}
            _ => return Err(format!("{path} is not what it was sent as")),
        }
        match mode.is_none_or(|mode| node.durable.0 == mode) {
            true => Ok(()),
            false => Err(format!("{path} has the mode {:o} on the medium", node.durable.0)),
        }
    }

    /// Every file by its path, as a process sees it.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let model = self.model();
        let mut all = BTreeMap::new();
        let mut left = vec![(String::new(), ROOT)];
        while let Some((path, node)) = left.pop() {
            match &model.nodes[&node].content {
                Content::File { bytes, .. } => drop(all.insert(path, bytes.clone())),
                Content::Directory { names, .. } => {
                    left.extend(names.iter().map(|(name, node)| {
                        let name = String::from_utf8_lossy(name);
                        (format!("{path}/{name}").trim_start_matches('/').to_owned(), *node)
                    }))
                }
            }
        }
        all
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a process dies in its next operation.
    fn dying(&self, life: u64) -> Option<MutexGuard<'_, Model>> {
        let model = self.model();
        let is_next = model.dies_at.is_some_and(|at| model.operations >= at);
        (is_next && model.life == life && !model.is_dead).then_some(model)
    }

    /// Begins an operation of a process: not if it is dead, and maybe it dies in it.
    fn enter(&self, life: u64) -> Result<MutexGuard<'_, Model>, Errno> {
        let slow = self.model().slow();
        crate::tests::simulated::step(slow);
        let mut model = self.model();
        if model.life != life || model.is_dead {
            return Err(Errno::EIO);
        }
        model.operations += 1;
        if model.dies_at.is_some_and(|at| model.operations > at) {
            model.is_dead = true;
            return Err(Errno::EIO);
        }
        Ok(model)
    }
}

impl Node {
    fn directory(mode: u32) -> Self {
        let content = Content::Directory { names: BTreeMap::new(), durable: BTreeMap::new() };
        Node { mode, modified: None, durable: (mode, None), changed: rt::wall_clock(), content }
    }

    fn file(mode: u32) -> Self {
        let content =
            Content::File { bytes: vec![], durable: vec![], unsynced: vec![], is_lost: false };
        Node { mode, modified: None, durable: (mode, None), changed: rt::wall_clock(), content }
    }

    fn evict(&mut self) {
        if let Content::File { bytes, durable, unsynced, .. } = &mut self.content {
            bytes.clone_from(durable);
            unsynced.iter().for_each(|write| write.apply(bytes));
        }
    }

    fn sync(&mut self) {
        self.durable = (self.mode, self.modified);
        if let Content::File { durable, unsynced, .. } = &mut self.content {
            unsynced.drain(..).for_each(|write| write.apply(durable));
        }
    }
}

impl Model {
    /// How long an operation takes.
    fn slow(&mut self) -> Duration {
        let probability = self.faults.slow;
        if !self.chance(probability) {
            return Duration::ZERO;
        }
        Duration::from_secs_f64([0.01, 1.0, 20.0, 70.0][self.random.below(4) as usize])
    }

    fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.random.unit() < probability
    }

    fn add(&mut self, node: Node) -> u64 {
        let number = self.next_node;
        self.next_node += 1;
        self.nodes.insert(number, node);
        number
    }

    fn node(&mut self, number: u64) -> &mut Node {
        self.nodes.get_mut(&number).expect("an open node is kept")
    }

    fn find(&self, path: &str, is_durable: bool) -> Option<u64> {
        path.split('/').try_fold(ROOT, |at, name| match &self.nodes[&at].content {
            Content::Directory { names, durable } => {
                if is_durable { durable } else { names }.get(name.as_bytes()).copied()
            }
            Content::File { .. } => None,
        })
    }

    fn names(&mut self, directory: u64) -> Result<&mut BTreeMap<Vec<u8>, u64>, Errno> {
        match &mut self.node(directory).content {
            Content::Directory { names, .. } => Ok(names),
            Content::File { .. } => Err(Errno::ENOTDIR),
        }
    }

    fn look(&mut self, directory: u64, name: &[u8]) -> Result<u64, Errno> {
        self.names(directory)?.get(name).copied().ok_or(Errno::ENOENT)
    }

    fn rename(&mut self, effects: Vec<(Key, Option<u64>)>) -> Result<(), Errno> {
        for ((directory, name), node) in &effects {
            self.tell(|| format!("{directory}/{} is {node:?}", String::from_utf8_lossy(name)));
            let names = self.names(*directory)?;
            match node {
                Some(node) => names.insert(name.clone(), *node),
                None => names.remove(name),
            };
        }
        self.changes.push(Change(effects));
        Ok(())
    }

    fn links(&self, node: u64) -> u64 {
        let all = self.nodes.values().map(|other| match &other.content {
            Content::Directory { names, .. } => names.values().filter(|it| **it == node).count(),
            Content::File { .. } => 0,
        });
        all.sum::<usize>() as u64
    }

    fn about(&self, number: u64) -> About {
        let node = &self.nodes[&number];
        let (kind, bytes) = match &node.content {
            Content::File { bytes, .. } => (Kind::File, bytes.len() as u64),
            Content::Directory { .. } => (Kind::Directory, 0),
        };
        About {
            kind,
            bytes,
            owner: geteuid().as_raw(),
            mode: node.mode,
            has_more_names: self.links(number) > 1,
            modified: node.modified.unwrap_or_default(),
            changed: node.changed,
            identity: (1, number),
        }
    }

    fn used_bytes(&self) -> u64 {
        let named = self.named();
        let all = self.nodes.iter().map(|(number, node)| match &node.content {
            Content::File { bytes, .. } if named.contains(number) => bytes.len() as u64,
            _ => 0,
        });
        all.sum()
    }

    fn write(&mut self, number: u64, write: Write) {
        self.tell(|| match &write {
            Write::Length(bytes) => format!("node {number} has {bytes} bytes"),
            Write::Bytes(at, bytes) => format!("node {number}: {} bytes at {at}", bytes.len()),
        });
        let node = self.node(number);
        node.changed = rt::wall_clock();
        if let Content::File { bytes, unsynced, .. } = &mut node.content {
            write.apply(bytes);
            unsynced.push(write);
        }
    }

    /// Whether so many bytes more have room.
    fn reserve(&mut self, number: u64, length: u64) -> Result<(), Errno> {
        let now = self.about(number).bytes;
        let more = length.saturating_sub(now);
        let full = self.faults.full;
        if more > 0 && (self.used_bytes().saturating_add(more) > self.capacity || self.chance(full))
        {
            return Err(Errno::ENOSPC);
        }
        Ok(())
    }

    /// Puts the changes that `which` chooses on the medium, and with each those before it that
    /// concern the same names.
    fn commit(&mut self, mut which: impl FnMut(&Change) -> bool) {
        let changes = std::mem::take(&mut self.changes);
        let mut chosen = vec![false; changes.len()];
        let mut keys = BTreeSet::new();
        for (index, change) in changes.iter().enumerate().rev() {
            let is_needed = change.0.iter().any(|(key, _)| keys.contains(key));
            if which(change) || is_needed {
                chosen[index] = true;
                keys.extend(change.0.iter().map(|(key, _)| key.clone()));
            }
        }
        for (change, chosen) in changes.into_iter().zip(chosen) {
            if !chosen {
                self.changes.push(change);
                continue;
            }
            for ((directory, name), node) in change.0 {
                if let Some(Node { content: Content::Directory { durable, .. }, .. }) =
                    self.nodes.get_mut(&directory)
                {
                    match node {
                        Some(node) => durable.insert(name, node),
                        None => durable.remove(&name),
                    };
                }
            }
        }
    }

    fn lose_power(&mut self) {
        self.tell(|| "the power fails".into());
        // Nothing, everything or some of what was not synced has reached the medium by itself.
        let share = [0.0, 0.5, 0.9, 1.0][self.random.below(4) as usize];
        let mut random = Stream::new(self.random.bits64(), "names");
        if self.chance(0.5) {
            self.commit(|_| random.unit() < share);
        } else {
            // As by a file system with a journal: all up to some moment.
            let reached = (self.changes.len() as f64 * share) as usize;
            self.changes.truncate(reached);
            self.commit(|_| true);
        }
        self.changes.clear();
        let numbers: Vec<u64> = self.nodes.keys().copied().collect();
        for number in numbers {
            let mut random = Stream::new(self.random.bits64(), "file");
            let node = self.node(number);
            if random.unit() >= share {
                (node.mode, node.modified) = node.durable;
            }
            node.durable = (node.mode, node.modified);
            match &mut node.content {
                Content::Directory { names, durable } => names.clone_from(durable),
                Content::File { bytes, durable, unsynced, is_lost } => {
                    *is_lost = false;
                    let before = durable.len();
                    torn(durable, unsynced, share, &mut random);
                    // The length is part of the metadata, that may be lost as well.
                    if random.unit() >= share && durable.len() > before {
                        durable.truncate(before);
                    }
                    unsynced.clear();
                    bytes.clone_from(durable);
                }
            }
        }
        let named = self.named();
        self.nodes.retain(|number, _| named.contains(number));
    }

    /// The files of which not all is on the medium.
    fn unsynced(&self) -> impl Iterator<Item = u64> {
        let is_unsynced = |node: &Node| match &node.content {
            Content::File { unsynced, .. } => !unsynced.is_empty(),
            Content::Directory { .. } => false,
        };
        self.nodes.iter().filter(move |(_, node)| is_unsynced(node)).map(|(number, _)| *number)
    }

    /// As Linux does when a write to the medium has failed: the pages count as written.
    fn lose(&mut self, number: u64) {
        self.tell(|| format!("node {number} is not written"));
        if let Content::File { unsynced, is_lost, .. } = &mut self.node(number).content {
            *is_lost |= !unsynced.is_empty();
            unsynced.clear();
        }
    }

    /// With `FAIRWAY_CRASH_TRACE`, what happens to the disk.
    fn tell(&self, what: impl FnOnce() -> String) {
        if self.is_told {
            eprintln!("{:6} {}", self.operations, what());
        }
    }

    /// How much of a read or write is done at once, if it does not fail.
    fn some_of(&mut self, wanted: usize) -> Result<usize, Errno> {
        let Faults { short, interrupted, broken, .. } = self.faults;
        if self.chance(interrupted) {
            return Err(Errno::EINTR);
        }
        if self.chance(broken) {
            return Err(Errno::EIO);
        }
        let is_short = wanted > 1 && self.chance(short);
        Ok(if is_short { 1 + self.random.below(wanted as u64 - 1) as usize } else { wanted })
    }

    /// What has a name.
    fn named(&self) -> BTreeSet<u64> {
        let (mut named, mut left) = (BTreeSet::from([ROOT]), vec![ROOT]);
        while let Some(node) = left.pop() {
            if let Content::Directory { names, .. } = &self.nodes[&node].content {
                left.extend(names.values());
                named.extend(names.values());
            }
        }
        named
    }
}

/// A directory of one life of a disk.
#[derive(Debug)]
pub struct Directory {
    disk: Disk,
    node: u64,
    life: u64,
}

/// A file of one life of a disk.
#[derive(Debug)]
pub struct File {
    disk: Disk,
    node: u64,
    life: u64,
    is_locked: bool,
}

impl Directory {
    fn enter(&self) -> Result<MutexGuard<'_, Model>, Errno> {
        self.disk.enter(self.life)
    }

    pub fn step(&self, name: &[u8]) -> Result<Self, Errno> {
        let mut model = self.enter()?;
        let node = model.look(self.node, name)?;
        model.names(node)?;
        Ok(Directory { disk: self.disk.clone(), node, life: self.life })
    }

    pub fn make(&self, name: &[u8], mode: u32) -> Result<(), Errno> {
        let mut model = self.enter()?;
        if model.look(self.node, name).is_ok() {
            return Err(Errno::EEXIST);
        }
        let node = model.add(Node::directory(mode & !0o022));
        model.rename(vec![((self.node, name.to_vec()), Some(node))])
    }

    pub fn about(&self) -> Result<About, Errno> {
        self.enter().map(|model| model.about(self.node))
    }

    pub fn look(&self, name: &[u8]) -> Result<About, Errno> {
        let mut model = self.enter()?;
        let node = model.look(self.node, name)?;
        Ok(model.about(node))
    }

    pub fn file(&self, name: &[u8], access: Access) -> Result<File, Errno> {
        let mut model = self.enter()?;
        let node = match model.look(self.node, name) {
            Ok(node) if model.about(node).kind == Kind::Directory => return Err(Errno::EISDIR),
            Err(Errno::ENOENT) if access == Access::Make => {
                let node = model.add(Node::file(0o600));
                model.rename(vec![((self.node, name.to_vec()), Some(node))])?;
                node
            }
            found => found?,
        };
        Ok(File { disk: self.disk.clone(), node, life: self.life, is_locked: false })
    }

    pub fn rename(&self, from: &[u8], to: &Self, name: &[u8], replace: bool) -> Result<(), Errno> {
        let mut model = self.enter()?;
        if model.faults.is_plain && !replace {
            return Err(Errno::EINVAL);
        }
        let node = model.look(self.node, from)?;
        match model.look(to.node, name) {
            Ok(_) if !replace => return Err(Errno::EEXIST),
            Ok(other) if model.about(other).kind == Kind::Directory => return Err(Errno::EISDIR),
            _ => {}
        }
        let away = ((self.node, from.to_vec()), None);
        model.rename(vec![away, ((to.node, name.to_vec()), Some(node))])
    }

    pub fn link(&self, from: &[u8], to: &Self, name: &[u8]) -> Result<(), Errno> {
        let mut model = self.enter()?;
        let node = model.look(self.node, from)?;
        match model.look(to.node, name) {
            Ok(_) => Err(Errno::EEXIST),
            Err(_) => model.rename(vec![((to.node, name.to_vec()), Some(node))]),
        }
    }

    pub fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        let mut model = self.enter()?;
        model.look(self.node, name)?;
        model.rename(vec![((self.node, name.to_vec()), None)])
    }

    pub fn remove_directory(&self, name: &[u8]) -> Result<(), Errno> {
        let mut model = self.enter()?;
        let node = model.look(self.node, name)?;
        if !model.names(node)?.is_empty() {
            return Err(Errno::ENOTEMPTY);
        }
        model.rename(vec![((self.node, name.to_vec()), None)])
    }

    pub fn names(&self) -> Result<Vec<Vec<u8>>, Errno> {
        Ok(self.enter()?.names(self.node)?.keys().cloned().collect())
    }

    pub fn sync(&self) -> Result<(), Errno> {
        let mut model = self.enter()?;
        let fails = model.faults.sync_fails;
        if model.chance(fails) {
            return Err(Errno::EIO);
        }
        let node = self.node;
        model.commit(|change| change.0.iter().any(|((directory, _), _)| *directory == node));
        model.node(node).sync();
        Ok(())
    }

    pub fn sync_file_system(&self) -> Result<(), Errno> {
        let mut model = self.enter()?;
        let fails = model.faults.sync_fails;
        if model.chance(fails) {
            let unsynced: Vec<u64> = model.unsynced().collect();
            if let Some(most) = std::num::NonZero::new(unsynced.len() as u64) {
                let lost = model.random.below(most.get()) as usize;
                model.lose(unsynced[lost]);
            }
            return Err(Errno::EIO);
        }
        model.tell(|| "everything is synced".into());
        model.commit(|_| true);
        model.nodes.values_mut().for_each(Node::sync);
        Ok(())
    }

    pub fn dress(&self, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
        let mut model = self.enter()?;
        let node = model.node(self.node);
        node.mode = mode;
        node.modified = modified.or(node.modified);
        Ok(())
    }

    pub fn free_bytes(&self) -> Result<u64, Errno> {
        let model = self.enter()?;
        Ok(model.capacity.saturating_sub(model.used_bytes()))
    }
}

impl File {
    fn enter(&self) -> Result<MutexGuard<'_, Model>, Errno> {
        self.disk.enter(self.life)
    }

    pub fn about(&self) -> Result<About, Errno> {
        self.enter().map(|model| model.about(self.node))
    }

    pub fn set_len(&self, bytes: u64) -> Result<(), Errno> {
        let mut model = self.enter()?;
        model.reserve(self.node, bytes)?;
        model.write(self.node, Write::Length(bytes as usize));
        Ok(())
    }

    pub fn allocate(&self, bytes: u64) -> Result<bool, Errno> {
        let mut model = self.enter()?;
        model.reserve(self.node, bytes)?;
        if model.about(self.node).bytes < bytes {
            model.write(self.node, Write::Length(bytes as usize));
        }
        Ok(!model.faults.is_plain)
    }

    pub fn punch(&self, offset: u64, bytes: u64) -> Result<(), Errno> {
        let mut model = self.enter()?;
        if model.faults.is_plain {
            return Err(Errno::EOPNOTSUPP);
        }
        let there = model.about(self.node).bytes;
        let (from, to) = (offset.min(there), (offset + bytes).min(there));
        if to > from {
            let zeros = vec![0; (to - from) as usize];
            model.write(self.node, Write::Bytes(from as usize, zeros));
        }
        Ok(())
    }

    pub fn sync(&self) -> Result<(), Errno> {
        let mut model = self.enter()?;
        let fails = model.faults.sync_fails;
        if model.chance(fails) {
            model.lose(self.node);
        }
        // It is told once, to whoever syncs that file next.
        if let Content::File { is_lost, .. } = &mut model.node(self.node).content
            && std::mem::take(is_lost)
        {
            return Err(Errno::EIO);
        }
        model.tell(|| format!("node {} is synced", self.node));
        model.node(self.node).sync();
        Ok(())
    }

    pub fn forget_cached(&self) {
        let Ok(mut model) = self.enter() else { return };
        model.node(self.node).evict();
    }

    pub fn dress(&self, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
        let mut model = self.enter()?;
        let node = model.node(self.node);
        node.mode = mode;
        node.modified = modified.or(node.modified);
        Ok(())
    }

    pub fn lock(mut self) -> Result<Self, Errno> {
        let mut model = self.disk.enter(self.life)?;
        if !model.locked.insert(self.node) {
            return Err(Errno::EWOULDBLOCK);
        }
        drop(model);
        self.is_locked = true;
        Ok(self)
    }

    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut model = self.enter()?;
        let wanted = model.some_of(buffer.len())?;
        let Content::File { bytes, .. } = &model.node(self.node).content else {
            return Err(Errno::EISDIR.into());
        };
        let from = bytes.len().min(offset as usize);
        let count = wanted.min(bytes.len() - from);
        buffer[..count].copy_from_slice(&bytes[from..from + count]);
        Ok(count)
    }

    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let at = offset as usize;
        if let Some(mut model) = self.disk.dying(self.life) {
            // A process that dies amid a write has written some of it.
            let count = model.random.below(bytes.len() as u64 + 1) as usize;
            model.write(self.node, Write::Bytes(at, bytes[..count].to_vec()));
        }
        let mut model = self.enter()?;
        let count = model.some_of(bytes.len())?;
        model.reserve(self.node, offset + count as u64)?;
        model.write(self.node, Write::Bytes(at, bytes[..count].to_vec()));
        Ok(count)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let mut model = self.disk.model();
        if self.is_locked && model.life == self.life {
            model.locked.remove(&self.node);
        }
    }
}
