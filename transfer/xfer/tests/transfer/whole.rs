//! Nothing fails.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

use fairway_xfer::recv::ReceiveOptions;
use fairway_xfer::send::{Auto, SendOptions, Streams, Striping};

use crate::bench::{BLOCK, Receiver, Sender, Workspace, noise, receiving, send, tree};

fn files_of_all_sizes(streams: u32, plain: bool, striping: Striping) {
    let workspace = Workspace::new();
    let mut options = receiving(&workspace);
    options.plain = plain;
    let receiver = Receiver::start(options);
    for bytes in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 20 * BLOCK + 77] {
        let path = workspace.file(&format!("in/file-{bytes}"), bytes);
        let options = SendOptions {
            streams: Streams::Fixed(streams),
            plain,
            striping,
            chunk_bytes: Some(2 * BLOCK as u64),
            ..SendOptions::new(&path, &receiver.address, &receiver.token)
        };
        let outcome = send(options).unwrap();
        assert_eq!((outcome.counts.files, outcome.counts.bytes), (1, bytes as u64));
    }
    let outcome = receiver.stop().unwrap();
    assert_eq!(outcome.transfers.len(), 6);
    assert_eq!(tree(&workspace.at("out")), tree(&workspace.at("in")));
}

#[test]
fn files_of_all_sizes_over_one_plain_stream() {
    files_of_all_sizes(1, true, Striping::Dynamic);
}

#[test]
fn files_of_all_sizes_over_four_encrypted_streams() {
    files_of_all_sizes(4, false, Striping::Dynamic);
}

#[test]
fn files_of_all_sizes_over_sixteen_plain_streams() {
    files_of_all_sizes(16, true, Striping::Dynamic);
}

#[test]
fn files_of_all_sizes_in_static_stripes() {
    files_of_all_sizes(4, true, Striping::Static);
}

/// Sends files of this many MiB, in which only these pages are no hole; whether the file system has holes.
fn files_with_holes(plain: bool, streams: u32) {
    let workspace = Workspace::new();
    let (mib, page) = (BLOCK as u64, 4096);
    fs::create_dir(workspace.at("in")).unwrap();
    let files: [(&str, u64, &[u64]); 5] = [
        ("only-a-hole", 40 * mib, &[]),
        ("small-hole", 70_000, &[]),
        ("end", 40 * mib + 5, &[0]),
        ("middle", 40 * mib, &[20 * mib + page]),
        ("both-ends", 40 * mib, &[0, 40 * mib - page]),
    ];
    for (name, bytes, data) in files {
        let file = fs::File::create(workspace.at(&format!("in/{name}"))).unwrap();
        file.set_len(bytes).unwrap();
        data.iter().for_each(|at| file.write_all_at(&[7; 4096], *at).unwrap());
    }
    let stored = |at: &str| fs::metadata(workspace.at(at)).unwrap().blocks() * 512;
    if stored("in/middle") > mib {
        return println!("skipped: the file system of the temporary directory has no holes");
    }
    let receiver = Receiver::start(ReceiveOptions { plain, ..receiving(&workspace) });
    let streams = Streams::Fixed(streams);
    let options = SendOptions::new(workspace.at("in"), &receiver.address, &receiver.token);
    let sent = send(SendOptions { plain, streams, ..options }).unwrap();
    assert_eq!(sent.counts.bytes, files.iter().map(|(_, bytes, _)| bytes).sum::<u64>());
    receiver.stop().unwrap();
    assert!(tree(&workspace.at("out/in")) == tree(&workspace.at("in")));
    for (name, ..) in files {
        let (there, here) = (stored(&format!("out/in/{name}")), stored(&format!("in/{name}")));
        // A file system may keep some pages for what holds the map of the holes.
        assert!(there <= here + 4 * page, "{name}: {there} bytes stored, {here} at the sender");
    }
}

#[test]
fn holes_stay_holes() {
    files_with_holes(true, 1);
    files_with_holes(false, 4);
}

#[test]
fn a_directory_with_everything_in_it() {
    let workspace = Workspace::new();
    for (name, bytes) in [("a", 0), ("b/c", 1), ("b/d", 3 * BLOCK), ("b/e/f", 70_000)] {
        workspace.file(&format!("in/top/{name}"), bytes);
    }
    fs::create_dir_all(workspace.at("in/top/empty/very")).unwrap();
    fs::set_permissions(workspace.at("in/top/a"), fs::Permissions::from_mode(0o750)).unwrap();
    for number in 0..700 {
        workspace.file(&format!("in/top/many/{number}"), number % 13 * 100);
    }
    for plain in [true, false] {
        let mut options = receiving(&workspace);
        (options.plain, options.once) = (plain, true);
        options.sync = true;
        options.out = workspace.at(if plain { "plain" } else { "encrypted" });
        let out = options.out.clone();
        let receiver = Receiver::start(options);
        let options = SendOptions {
            plain,
            streams: Streams::Fixed(4),
            ..SendOptions::new(workspace.at("in/top"), &receiver.address, &receiver.token)
        };
        let outcome = send(options).unwrap();
        assert_eq!((outcome.counts.files, outcome.counts.directories), (704, 6));
        assert_eq!(receiver.join().unwrap().transfers.len(), 1);
        assert_eq!(tree(&out), tree(&workspace.at("in")));
        let (there, here) = (out.join("top/a"), workspace.at("in/top/a"));
        let [there, here] = [there, here].map(|path| fs::metadata(path).unwrap());
        assert_eq!((there.mode(), there.mtime_nsec()), (here.mode(), here.mtime_nsec()));
    }
}

fn standard_input(bytes: usize, plain: bool) {
    let workspace = Workspace::new();
    let mut options = receiving(&workspace);
    (options.plain, options.once) = (plain, true);
    let receiver = Receiver::start(options);
    let (read, write) = nix::unistd::pipe().unwrap();
    let options = SendOptions {
        plain,
        streams: Streams::Fixed(3),
        name: Some("stream".into()),
        ..SendOptions::new("-", &receiver.address, &receiver.token)
    };
    let sender = Sender::start(options, Some(read));
    let data = noise("stream", bytes);
    let mut write = fs::File::from(write);
    write.write_all(&data).unwrap();
    drop(write);
    sender.join().unwrap();
    receiver.join().unwrap();
    assert!(fs::read(workspace.at("out/stream")).unwrap() == data);
}

#[test]
fn standard_input_of_all_lengths() {
    for bytes in [0, 1, BLOCK, BLOCK + 1] {
        standard_input(bytes, true);
    }
}

#[test]
fn standard_input_longer_than_the_window() {
    standard_input(70 * BLOCK + 3, false);
}

#[test]
fn as_many_streams_as_gain_something() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let path = workspace.file("in/data", 60 * BLOCK + 9);
    let options = SendOptions {
        streams: Streams::Auto(Auto::Auto),
        // For the choice to be asked for a few times.
        limit_bps: Some(160_000_000),
        ..SendOptions::new(path, &receiver.address, &receiver.token)
    };
    send(options).unwrap();
    receiver.stop().unwrap();
    assert_eq!(tree(&workspace.at("out")), tree(&workspace.at("in")));
}

#[test]
fn several_senders_at_once() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let senders: Vec<_> = (0..5)
        .map(|number| {
            let path = workspace.file(&format!("in/{number}"), 5 * BLOCK + number);
            let options = SendOptions {
                streams: Streams::Fixed(2),
                ..SendOptions::new(path, &receiver.address, &receiver.token)
            };
            Sender::start(options, None)
        })
        .collect();
    for sender in senders {
        sender.join().unwrap();
    }
    assert_eq!(receiver.stop().unwrap().transfers.len(), 5);
    assert_eq!(tree(&workspace.at("out")), tree(&workspace.at("in")));
}
