use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const MIB: usize = 1 << 20;

/// A directory to receive into, beside one that nothing may be written to.
pub(super) struct Ground {
    top: TempDir,
}

impl Ground {
    pub(super) fn new() -> Self {
        let ground = Ground { top: tempfile::tempdir().unwrap() };
        std::fs::create_dir(ground.top.path().join("outside")).unwrap();
        std::fs::write(ground.top.path().join("outside/there"), "before").unwrap();
        ground
    }

    pub(super) fn path(&self) -> PathBuf {
        self.top.path().join("inside")
    }

    pub(super) fn store(&self) -> Store {
        self.open(Options::default())
    }

    fn open(&self, options: Options) -> Store {
        // The disks of machines that test may be full of other things.
        let limits = Limits { spare_bytes: 0, ..options.limits };
        Store::open(&self.path(), Options { limits, ..options }).unwrap()
    }

    /// What is outside of the directory, which must never change.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(self.top.path().join("outside")).unwrap() {
            let path = entry.unwrap().path();
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
        all
    }

    fn partials(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path().join(PARTIAL_DIRECTORY)) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

pub(super) fn content(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|at| (at / 7) as u8 ^ (at >> 15) as u8 ^ seed).collect()
}

pub(super) fn entry(name: &str, bytes: usize) -> Entry {
    let modified = Some(Modified { seconds: 1_000_000_000, nanos: 5 });
    Entry {
        name: Name::new(name).unwrap(),
        bytes: Some(bytes as u64),
        mode: 0o106_640,
        modified,
        hole_bytes: 0,
    }
}

fn block(data: &[u8], blocks: Blocks, index: u64) -> &[u8] {
    let from = blocks.offset(index) as usize;
    &data[from..from + blocks.bytes(index) as usize]
}

pub(super) fn put(incoming: &Incoming, data: &[u8], index: u64) -> Result<(), Error> {
    let mut writing = incoming.write(index)?;
    let sum = writing.write(block(data, incoming.blocks(), index))?;
    writing.done(&sum)
}

fn receive(delivery: &Delivery, name: &str, data: &[u8]) -> Result<Sum, Error> {
    let incoming = delivery.begin(entry(name, data.len()))?;
    for index in 0..incoming.blocks().count().unwrap() {
        put(&incoming, data, index)?;
    }
    incoming.finish()
}

fn held(incoming: &Incoming) -> Vec<u64> {
    let mut all = Vec::new();
    incoming
        .held(|index, _| {
            all.push(index);
            Ok(())
        })
        .unwrap();
    all
}

#[test]
fn files_of_all_sizes_arrive_with_their_modes_and_times() {
    let ground = Ground::new();
    let delivery = ground.store().delivery();
    for (name, bytes) in [("empty", 0), ("one", 1), ("a/b/full", MIB), ("a/more", 2 * MIB + 1)] {
        let data = content(bytes, 3);
        assert_eq!(receive(&delivery, name, &data).unwrap(), *blake3::hash(&data).as_bytes());
    }
    delivery.settle().unwrap();
    for (name, bytes) in [("empty", 0), ("one", 1), ("a/b/full", MIB), ("a/more", 2 * MIB + 1)] {
        let path = ground.path().join(name);
        assert_eq!(std::fs::read(&path).unwrap(), content(bytes, 3));
        let found = path.metadata().unwrap();
        // Without the set-group-ID bit that was asked for.
        assert_eq!(found.permissions().mode() & 0o7777, 0o640);
        assert_eq!((found.mtime(), found.mtime_nsec()), (1_000_000_000, 5));
    }
    assert!(!ground.path().join(PARTIAL_DIRECTORY).exists());
}

#[test]
fn many_small_files_have_their_names_after_settling() {
    let ground = Ground::new();
    for sync in [true, false] {
        let delivery =
            ground.open(Options { sync, overwrite: true, ..Options::default() }).delivery();
        for number in 0..600 {
            receive(&delivery, &format!("{sync}{}/{number}", number % 7), &[number as u8; 9])
                .unwrap();
        }
        delivery.settle().unwrap();
        for number in 0..600 {
            let path = ground.path().join(format!("{sync}{}/{number}", number % 7));
            assert_eq!(std::fs::read(path).unwrap(), [number as u8; 9]);
        }
    }
    assert!(ground.partials().is_empty());
}

#[test]
fn an_interrupted_file_is_taken_up_where_it_was() {
    let ground = Ground::new();
    let data = content(4 * MIB + 5, 1);
    let first = ground.store().delivery().begin(entry("a", data.len())).unwrap();
    for index in [0, 3, 4] {
        put(&first, &data, index).unwrap();
    }
    // The process is killed while it writes the second block, which is not done.
    let mut torn = first.write(1).unwrap();
    torn.write(block(&data, first.blocks(), 1)).unwrap();
    drop(torn);
    assert!(first.finish().unwrap_err().to_string().contains("2 of its blocks are missing"));
    drop(first);
    assert!(!ground.path().join("a").exists());
    assert_eq!(ground.partials().len(), 2);

    // A byte of the fourth block changes on disk meanwhile.
    let partial = ground.partials().into_iter().find(|name| name.ends_with(".data")).unwrap();
    let path = ground.path().join(PARTIAL_DIRECTORY).join(partial);
    let mut on_disk = std::fs::read(&path).unwrap();
    on_disk[3 * MIB + 17] ^= 1;
    std::fs::write(&path, on_disk).unwrap();

    let store = ground.store();
    let delivery = store.delivery();
    let again = delivery.begin(entry("a", data.len())).unwrap();
    assert_eq!(held(&again), [0, 4]);
    // The sender's first block is another one now.
    let mut changed = data.clone();
    changed[0] ^= 1;
    for index in [0, 1, 2, 3] {
        put(&again, &changed, index).unwrap();
    }
    assert_eq!(again.finish().unwrap(), *blake3::hash(&changed).as_bytes());
    delivery.settle().unwrap();
    assert_eq!(std::fs::read(ground.path().join("a")).unwrap(), changed);
    assert!(ground.partials().is_empty());
}

#[test]
fn a_file_that_is_there_need_not_come_again() {
    let ground = Ground::new();
    let data = content(2 * MIB + 9, 1);
    std::fs::create_dir(ground.path()).unwrap();
    for name in ["a", "b"] {
        std::fs::write(ground.path().join(name), &data).unwrap();
    }
    let delivery = ground.store().delivery();
    let same = delivery.begin(entry("a", data.len())).unwrap();
    assert_eq!(held(&same), [0, 1, 2]);
    assert_eq!(same.finish().unwrap(), *blake3::hash(&data).as_bytes());

    // A different one is left alone, whether its size tells that or its content.
    let refused = delivery.begin(entry("a", 5)).unwrap_err();
    assert!(matches!(&refused, Error::Refused(said) if said.contains("--overwrite")), "{refused}");
    let other = delivery.begin(entry("b", data.len())).unwrap();
    assert_eq!(held(&other).len(), 3);
    assert!(
        matches!(put(&other, &data, 1), Err(Error::Refused(said)) if said.contains("overwrite"))
    );
    drop(other);

    // Or replaced, but for what is the same.
    let delivery = ground.open(Options { overwrite: true, ..Options::default() }).delivery();
    let mut changed = data.clone();
    changed[MIB + 1] ^= 1;
    let other = delivery.begin(entry("b", data.len())).unwrap();
    assert_eq!(held(&other).len(), 3);
    put(&other, &changed, 1).unwrap();
    assert_eq!(std::fs::read(ground.path().join("b")).unwrap(), data, "until it is finished");
    assert_eq!(other.finish().unwrap(), *blake3::hash(&changed).as_bytes());
    delivery.settle().unwrap();
    assert_eq!(std::fs::read(ground.path().join("b")).unwrap(), changed);
    assert_eq!(receive(&delivery, "a", b"short").unwrap(), *blake3::hash(b"short").as_bytes());
    delivery.settle().unwrap();
    assert_eq!(std::fs::read(ground.path().join("a")).unwrap(), b"short");
}

#[test]
fn a_small_file_whose_name_was_still_to_come_is_held() {
    let ground = Ground::new();
    let (store, data) = (ground.store(), content(100, 1));
    receive(&store.delivery(), "a", &data).unwrap();
    // Killed before it was settled.
    assert!(!ground.path().join("a").exists());
    drop(store);
    let delivery = ground.store().delivery();
    let again = delivery.begin(entry("a", 100)).unwrap();
    assert_eq!(held(&again), [0]);
    assert_eq!(again.finish().unwrap(), *blake3::hash(&data).as_bytes());
    delivery.settle().unwrap();
    assert_eq!(std::fs::read(ground.path().join("a")).unwrap(), data);
}

#[test]
fn nobody_else_receives_the_same_file_meanwhile() {
    let ground = Ground::new();
    let store = ground.store();
    let first = store.delivery().begin(entry("a", 2 * MIB)).unwrap();
    let second = store.delivery().begin(entry("a", 7)).unwrap_err();
    assert!(matches!(second, Error::Refused(said) if said.contains("already")));
    // Another process has another registry, but the same lock.
    let data = content(2 * MIB, 0);
    put(&first, &data, 0).unwrap();
    let elsewhere = ground.store().delivery().begin(entry("a", 2 * MIB)).unwrap();
    assert!(
        matches!(put(&elsewhere, &data, 0), Err(Error::Refused(said)) if said.contains("process"))
    );
    drop((first, elsewhere));
    assert_eq!(held(&store.delivery().begin(entry("a", 2 * MIB)).unwrap()), [0]);
}

#[test]
fn a_digest_can_be_looked_at_before_there_is_a_file() {
    let ground = Ground::new();
    let delivery = ground.store().delivery();
    for (name, bytes) in [("none", 0), ("one", 100), ("many", 2 * MIB)] {
        let (incoming, data) = (delivery.begin(entry(name, bytes)).unwrap(), content(bytes, 1));
        for index in 0..incoming.blocks().count().unwrap() {
            assert!(incoming.digest().is_err(), "{name} has not come");
            put(&incoming, &data, index).unwrap();
        }
        assert_eq!(incoming.digest().unwrap(), *blake3::hash(&data).as_bytes());
        drop(incoming);
        delivery.settle().unwrap();
        assert!(!ground.path().join(name).exists());
    }
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let ground = Ground::new();
    let delivery = ground.store().delivery();
    for bytes in [100, 2 * MIB] {
        let incoming = delivery.begin(entry("a", bytes)).unwrap();
        let data = content(bytes, 1);
        for index in 0..incoming.blocks().count().unwrap() {
            put(&incoming, &data, index).unwrap();
        }
        std::fs::write(ground.path().join("a"), "mine").unwrap();
        let refused = incoming.finish().and_then(|_| delivery.settle()).unwrap_err();
        assert!(refused.to_string().contains("--overwrite"), "{refused}");
        assert_eq!(std::fs::read(ground.path().join("a")).unwrap(), b"mine");
        std::fs::remove_file(ground.path().join("a")).unwrap();
    }
}

#[test]
fn streams_grow_and_end() {
    let ground = Ground::new();
    let delivery = ground.store().delivery();
    let stream = |name: &str| {
        let entry = Entry { bytes: None, ..entry(name, 0) };
        delivery.begin(entry).unwrap()
    };
    for bytes in [0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB] {
        let (incoming, data) = (stream("a"), content(bytes, 9));
        assert!(held(&incoming).is_empty());
        for (index, piece) in data.chunks(MIB).enumerate().rev() {
            let mut writing = incoming.write(index as u64).unwrap();
            let sum = writing.write(piece).unwrap();
            writing.done(&sum).unwrap();
        }
        assert!(incoming.finish().is_err(), "its end is not known");
        incoming.end(bytes as u64).unwrap();
        assert_eq!(incoming.finish().unwrap(), *blake3::hash(&data).as_bytes());
        delivery.settle().unwrap();
        assert_eq!(std::fs::read(ground.path().join("a")).unwrap(), data);
        std::fs::remove_file(ground.path().join("a")).unwrap();
    }
    let incoming = stream("b");
    let mut writing = incoming.write(1).unwrap();
    let sum = writing.write(&[0; 5]).unwrap();
    writing.done(&sum).unwrap();
    assert!(incoming.write(2).unwrap().write(&[0; 5]).is_err(), "there is one last block");
    assert!(incoming.write(2).unwrap().write(&[]).is_err());
    assert!(incoming.write(2).unwrap().write(&vec![0; MIB + 1]).is_err());
    for end in [0, 5, MIB as u64 + 4, MIB as u64 + 6, 3 * MIB as u64, u64::MAX] {
        assert!(matches!(incoming.end(end), Err(Error::Refused(_))), "{end}");
    }
    incoming.end(MIB as u64 + 5).unwrap();
    assert!(incoming.finish().unwrap_err().to_string().contains("missing"));
    drop(incoming);
    assert!(ground.partials().is_empty());
}

#[test]
fn blocks_come_from_many_threads() {
    let ground = Ground::new();
    let delivery = ground.store().delivery();
    let data = content(16 * MIB - 1, 4);
    let incoming = delivery.begin(entry("a", data.len())).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (incoming, data) = (&incoming, &data);
            scope.spawn(move || {
                let mut buffer = scratch();
                // Each block by two of them, as when a connection was given up too early.
                for index in (0..16).filter(|index| index % 4 == thread || index % 4 == 3 - thread)
                {
                    let mut from = block(data, incoming.blocks(), index);
                    let mut writing = incoming.write(index).unwrap();
                    let bytes = from.len() as u64;
                    let sum = writing.receive(&mut from, bytes, &mut buffer).unwrap();
                    writing.done(&sum).unwrap();
                }
            });
        }
    });
    assert_eq!(incoming.finish().unwrap(), *blake3::hash(&data).as_bytes());
}

#[test]
fn a_connection_that_breaks_leaves_its_block_missing() {
    let ground = Ground::new();
    let data = content(2 * MIB, 4);
    let incoming = ground.store().delivery().begin(entry("a", data.len())).unwrap();
    put(&incoming, &data, 0).unwrap();
    let mut writing = incoming.write(0).unwrap();
    let broken = writing.receive(&mut &data[..MIB / 2], MIB as u64, &mut scratch());
    assert!(matches!(broken, Err(Stopped::Connection(_))));
    drop(writing);
    let missing = incoming.digest().unwrap_err().to_string();
    assert!(missing.contains("2 of its blocks are missing"), "{missing}");
    assert!(matches!(incoming.write(2), Err(Error::Refused(_))));
    let wrong = incoming.write(1).unwrap().receive(&mut &data[..], 5, &mut scratch());
    assert!(matches!(wrong, Err(Stopped::Store(Error::Refused(_)))));
    assert!(incoming.write(1).unwrap().done(&[0; 32]).is_err());
}

#[test]
fn limits_are_told() {
    let ground = Ground::new();
    let limits = Limits { bytes: 100, files: 3, ..Limits::default() };
    let delivery = ground.open(Options { limits, ..Options::default() }).delivery();
    let said = |result: Result<(), Error>| result.unwrap_err().to_string();
    receive(&delivery, "a", &[0; 60]).unwrap();
    assert!(said(receive(&delivery, "b", &[0; 41]).map(drop)).contains("at most 100 bytes"));
    let stream = delivery.begin(Entry { bytes: None, ..entry("c", 0) }).unwrap();
    assert!(said(stream.write(0).unwrap().write(&[0; 41]).map(drop)).contains("at most 100 bytes"));
    delivery.directory(&Name::new("d").unwrap(), 0o755, Modified::default()).unwrap();
    assert!(said(receive(&delivery, "e", &[]).map(drop)).contains("at most 3 files"));
    // More than any disk has; that it is one file's is known before anything comes.
    let huge = Entry { bytes: Some(1 << 60), ..entry("huge", 0) };
    let full = ground.store().delivery().begin(huge).unwrap_err().to_string();
    assert!(full.contains("is full") && full.contains("MB more"), "{full}");
    drop(stream);
    assert!(!ground.path().join("huge").exists());
}

#[test]
fn directories_keep_what_they_are() {
    let ground = Ground::new();
    let delivery = ground.store().delivery();
    let modified = Modified { seconds: 1_000_000_000, nanos: 0 };
    let name = |name: &str| Name::new(name).unwrap();
    std::fs::create_dir_all(ground.path().join("old")).unwrap();
    for made in ["a", "a/b", "a/b/empty", "old"] {
        delivery.directory(&name(made), 0o2500, modified).unwrap();
    }
    receive(&delivery, "a/b/c", b"x").unwrap();
    delivery.settle().unwrap();
    for made in ["a", "a/b", "a/b/empty"] {
        let found = ground.path().join(made).metadata().unwrap();
        assert_eq!((found.mode() & 0o7777, found.mtime()), (0o500, 1_000_000_000), "{made}");
    }
    let old = ground.path().join("old").metadata().unwrap();
    assert_ne!((old.mode() & 0o7777, old.mtime()), (0o500, 1_000_000_000));
    assert!(delivery.directory(&name("a/b/c"), 0o755, modified).is_err(), "a file is there");
    std::fs::set_permissions(ground.path().join("a"), PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::set_permissions(ground.path().join("a/b"), PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn no_link_is_followed() {
    let ground = Ground::new();
    let (inside, outside) = (ground.path(), ground.top.path().join("outside"));
    std::fs::create_dir(&inside).unwrap();
    symlink(&outside, inside.join("out")).unwrap();
    symlink("../outside", inside.join("relative")).unwrap();
    symlink(outside.join("there"), inside.join("file")).unwrap();
    symlink(outside.join("new"), inside.join("dangling")).unwrap();
    symlink(".", inside.join("self")).unwrap();
    let before = ground.outside();
    let delivery = ground.open(Options { overwrite: true, ..Options::default() }).delivery();
    for name in ["out/x", "relative/x", "out/there", "file", "dangling", "self/x", "file/x"] {
        let refused = receive(&delivery, name, b"evil").and_then(|_| delivery.settle());
        assert!(refused.is_err(), "{name}");
        let made = delivery.directory(&Name::new(name).unwrap(), 0o700, Modified::default());
        assert!(made.is_err(), "{name}");
    }
    assert_eq!(ground.outside(), before);

    // Where incomplete files are may be a link, too, or one of them.
    std::fs::remove_dir(inside.join(PARTIAL_DIRECTORY)).unwrap();
    symlink(&outside, inside.join(PARTIAL_DIRECTORY)).unwrap();
    assert!(receive(&delivery, "x", b"evil").is_err());
    assert!(Store::open(&inside, Options::default()).is_err());
    std::fs::remove_file(inside.join(PARTIAL_DIRECTORY)).unwrap();
    std::fs::create_dir(inside.join(PARTIAL_DIRECTORY)).unwrap();
    let id = partial::Id::of(&Name::new("x").unwrap(), Some(4));
    symlink(outside.join("there"), inside.join(PARTIAL_DIRECTORY).join(id.data())).unwrap();
    let refused = receive(&delivery, "x", b"evil").unwrap_err().to_string();
    assert!(refused.contains("link"), "{refused}");
    assert_eq!(ground.outside(), before);
}

#[test]
fn files_begin_while_other_transfers_tidy_up() {
    let ground = Ground::new();
    let store = ground.store();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let place = super::destination::Destination::open(&ground.path()).unwrap();
        let tidying = scope.spawn({
            let done = &done;
            move || {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    place.tidy();
                }
            }
        });
        let delivery = store.delivery();
        let received: Vec<_> =
            (0..2000).map(|number| receive(&delivery, &number.to_string(), b"whole")).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        tidying.join().unwrap();
        for outcome in received {
            outcome.unwrap();
        }
        delivery.settle().unwrap();
    });
}

#[test]
fn old_partial_files_are_swept_and_nothing_else() {
    let ground = Ground::new();
    let data = content(2 * MIB, 0);
    for name in ["one", "another", "busy"] {
        let incoming = ground.store().delivery().begin(entry(name, data.len())).unwrap();
        put(&incoming, &data, 0).unwrap();
    }
    let busy = ground.store().delivery().begin(entry("busy", data.len())).unwrap();
    put(&busy, &data, 0).unwrap();
    let partial = ground.path().join(PARTIAL_DIRECTORY);
    let others = ["notes.txt", "0123.data", &format!("{}.dat", "0".repeat(32))];
    for other in others {
        std::fs::write(partial.join(other), "mine").unwrap();
    }
    std::fs::create_dir(partial.join(format!("{}.data", "0".repeat(32)))).unwrap();
    assert_eq!(ground.partials().len(), 6 + 4);
    let busy_id = partial::Id::of(&Name::new("busy").unwrap(), Some(data.len() as u64));
    let keep_days = 1;
    drop(ground.open(Options { keep_days, ..Options::default() }));
    assert_eq!(ground.partials().len(), 6 + 4, "a day old they are not");
    drop(ground.open(Options { keep_days: 0, ..Options::default() }));
    let mut left = ground.partials();
    left.retain(|name| !others.contains(&name.as_str()) && !name.starts_with('0'));
    left.sort();
    let mut expected = vec![busy_id.data(), busy_id.blocks()];
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(ground.partials().len(), 2 + 4);
}

#[test]
fn a_directory_that_is_removed_meanwhile_is_made_again() {
    let ground = Ground::new();
    let delivery = ground.open(Options { sync: false, ..Options::default() }).delivery();
    receive(&delivery, "a/b/c", b"x").unwrap();
    std::fs::remove_dir_all(ground.path().join("a")).unwrap();
    receive(&delivery, "a/b/d", b"x").unwrap();
    assert_eq!(std::fs::read(ground.path().join("a/b/d")).unwrap(), b"x");
}

/// A small disk of its own, unmounted in the end.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        let command = |name: &str| std::process::Command::new(name);
        let mut mount = command("mount");
        mount.args(["-t", "tmpfs", "-o", size, "tmpfs"]).arg(&at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Disk(at))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_no_file() {
    let ground = Ground::new();
    let Some(disk) = Disk::mount(ground.path(), "size=8m") else {
        println!("skipped: only root can mount a small disk");
        return;
    };
    let told = |result: Result<(), Error>| {
        let said = result.unwrap_err().to_string();
        assert!(said.contains("is full") && said.contains("MB more"), "{said}");
    };
    let delivery = ground.store().delivery();
    told(delivery.begin(entry("a", 9 * MIB)).map(drop));
    // Two that have room alone.
    let data = content(5 * MIB, 3);
    let first = delivery.begin(entry("a", data.len())).unwrap();
    told(delivery.begin(entry("b", data.len())).map(drop));
    put(&first, &data, 0).unwrap();
    // Or somebody else takes the room.
    let second = delivery.begin(entry("b", 2 * MIB)).unwrap();
    std::fs::write(disk.0.join("other"), content(6 * MIB + MIB / 2, 0)).unwrap();
    told(put(&second, &data, 0));
    let stream = delivery.begin(Entry { bytes: None, ..entry("c", 0) }).unwrap();
    told((0..8).try_for_each(|index| put(&stream, &vec![1; 9 * MIB], index)));
    drop((second, stream));
    std::fs::remove_file(disk.0.join("other")).unwrap();
    for index in 1..5 {
        put(&first, &data, index).unwrap();
    }
    first.finish().unwrap();
    delivery.settle().unwrap();
    assert_eq!(std::fs::read(disk.0.join("a")).unwrap(), data);
    assert!(!disk.0.join("b").exists() && !disk.0.join("c").exists());

    // With room again it goes on.
    std::fs::remove_file(disk.0.join("a")).unwrap();
    receive(&delivery, "b", &data[..2 * MIB]).unwrap();
    delivery.settle().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_ever_written_elsewhere(names in vec(vec(prop::sample::select(vec![
        "..", ".", "/", "", "link", "a", "b", "\0", "there", PARTIAL_DIRECTORY, "\u{e9}",
    ]), 1..5), 1..6), directory in any::<bool>()) {
        let ground = Ground::new();
        std::fs::create_dir(ground.path()).unwrap();
        symlink("../outside", ground.path().join("link")).unwrap();
        let before = ground.outside();
        let options = Options { overwrite: true, sync: false, ..Options::default() };
        let delivery = ground.open(options).delivery();
        for components in names {
            let Ok(name) = Name::new(components.join("/")) else { continue };
            let entry = Entry { name, ..entry("x", 1) };
            if directory {
                let _ = delivery.directory(&entry.name, 0o755, Modified::default());
            } else if let Ok(incoming) = delivery.begin(entry) {
                let _ = put(&incoming, b"x", 0).and_then(|()| incoming.finish());
            }
        }
        let _ = delivery.settle();
        prop_assert_eq!(ground.outside(), before);
        let top: Vec<_> = std::fs::read_dir(ground.top.path()).unwrap().collect();
        prop_assert_eq!(top.len(), 2);
    }
}
