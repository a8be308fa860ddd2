//! Something is there already, or names lead elsewhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use fairway_xfer::Error;
use fairway_xfer::auth::{Purpose, Security, greet};
use fairway_xfer::recv::ReceiveOptions;
use fairway_xfer::send::SendOptions;
use fairway_xfer::socket::{Wishes, connect};
use fairway_xfer::wire::messages::{Begin, Kind, Offered, ToReceiver, ToSender};

use crate::bench::{BLOCK, Receiver, Workspace, receiving, send};
use fairway_xfer::wire::Channel;
use fairway_xfer::wire::messages::{ENTRIES_PER_PAGE, MOST_OPEN};

#[test]
fn the_same_file_is_not_sent_again_and_another_is_not_replaced() {
    let workspace = Workspace::new();
    let path = workspace.file("in/data", 3 * BLOCK);
    let receiver = Receiver::start(receiving(&workspace));
    let options = SendOptions::new(&path, &receiver.address, &receiver.token);
    send(options.clone()).unwrap();
    assert_eq!(send(options.clone()).unwrap().counts.held_bytes, 3 * BLOCK as u64);
    for bytes in [3 * BLOCK, 3 * BLOCK + 1, 0] {
        let before = fs::read(workspace.at("out/data")).unwrap();
        let mut content = before.clone();
        content[2 * BLOCK] ^= 1;
        content.resize(bytes, 7);
        fs::write(&path, &content).unwrap();
        let sent = send(options.clone());
        let Err(Error::Refused(said)) = sent else { panic!("{sent:?}") };
        assert!(said.contains("--overwrite"), "{said}");
        assert!(fs::read(workspace.at("out/data")).unwrap() == before);
    }
    receiver.stop().unwrap();
}

#[test]
fn a_file_that_differs_is_replaced_if_that_is_allowed() {
    let workspace = Workspace::new();
    let path = workspace.file("in/data", 3 * BLOCK);
    let receiver = Receiver::start(ReceiveOptions { overwrite: true, ..receiving(&workspace) });
    let options = SendOptions::new(&path, &receiver.address, &receiver.token);
    for bytes in [3 * BLOCK, 3 * BLOCK, 5, 0, 2 * BLOCK + 1] {
        let mut content = fs::read(&path).unwrap();
        content.resize(bytes, 9);
        if let Some(last) = content.last_mut() {
            *last ^= 1;
        }
        fs::write(&path, &content).unwrap();
        send(options.clone()).unwrap();
        assert!(fs::read(workspace.at("out/data")).unwrap() == content, "{bytes}");
    }
    receiver.stop().unwrap();
}

/// A control connection.
fn enter(receiver: &Receiver) -> Channel {
    let control = fairway_xfer::Control::new();
    let timeout = std::time::Duration::from_secs(600);
    let address = receiver.address.parse().unwrap();
    let connection = connect(&[address], &Wishes::default(), timeout, &control).unwrap();
    let token = receiver.token.parse().unwrap();
    greet(connection, &token, Security::Encrypted, &Purpose::Control, timeout).unwrap()
}

/// A transfer that was begun.
fn begin(receiver: &Receiver, transfer: u8) -> Channel {
    let mut channel = enter(receiver);
    let transfer = [transfer; 16];
    let begin = Begin { transfer, streams: 1, entries: 1, bytes: 1, patience_ms: 20_000 };
    channel.write_frame(&ToReceiver::Begin(begin)).unwrap();
    let welcome = channel.read_frame::<ToSender>().unwrap();
    assert!(matches!(welcome, Some(ToSender::Welcome { .. })), "{welcome:?}");
    channel
}

/// What the receiver answers to the offer of a name.
fn offered(receiver: &Receiver, name: &[u8], kind: Kind) -> ToSender {
    let mut channel = begin(receiver, name.len() as u8);
    let name = name.to_vec();
    let offered = Offered { name, kind, mode: 0o644, modified: None, hole_bytes: 0 };
    channel.write_frame(&ToReceiver::Offer { first: 0, entries: vec![offered] }).unwrap();
    let answer = channel.read_frame().unwrap().unwrap();
    channel.write_frame(&ToReceiver::GiveUp { why: "a test".into() }).unwrap();
    answer
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let outside = workspace.at("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, workspace.at("out/link")).unwrap();
    std::os::unix::fs::symlink(outside.join("x"), workspace.at("out/dangling")).unwrap();
    let names: [&[u8]; 12] = [
        b"../outside/x",
        b"/tmp/x",
        b"a/../../outside/x",
        b"a//b",
        b"./a",
        b"",
        b"a\0b",
        b".fairway-partial/x",
        b"link/x",
        b"dangling",
        b"link",
        b"..",
    ];
    for name in names {
        for kind in [Kind::Directory, Kind::File { bytes: Some(0) }] {
            let shown = String::from_utf8_lossy(name);
            let answer = offered(&receiver, name, kind);
            assert!(matches!(answer, ToSender::Refused { .. }), "{shown}: {answer:?}");
        }
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    receiver.stop().unwrap();
}

#[test]
fn of_a_private_file_nothing_is_told_but_that_its_name_is_taken() {
    let workspace = Workspace::new();
    let private = workspace.file("out/private", 10);
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    let public = workspace.file("out/public", 10);
    fs::set_permissions(&public, fs::Permissions::from_mode(0o644)).unwrap();
    fs::create_dir(workspace.at("out/folder")).unwrap();
    std::os::unix::fs::symlink(&private, workspace.at("out/link")).unwrap();
    let receiver = Receiver::start(receiving(&workspace));
    let refusal =
        |name: &str, bytes| match offered(&receiver, name.as_bytes(), Kind::File { bytes }) {
            ToSender::Refused { why } => why.replace(name, "NAME"),
            other => panic!("{name}: {other:?}"),
        };
    let said = refusal("private", Some(10));
    for (name, bytes) in [
        ("private", Some(11)),
        ("private", Some(0)),
        ("private", None),
        ("public", Some(11)),
        ("folder", Some(10)),
        ("link", Some(10)),
    ] {
        assert_eq!(refusal(name, bytes), said, "{name} {bytes:?}");
    }
    let told = offered(&receiver, b"public", Kind::File { bytes: Some(10) });
    assert!(matches!(told, ToSender::Claims { .. }), "{told:?}");
    receiver.stop().unwrap();
}

#[test]
fn a_private_file_is_not_sent_again_by_who_has_sent_it() {
    let workspace = Workspace::new();
    let path = workspace.file("in/data", BLOCK + 5);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let receiver = Receiver::start(receiving(&workspace));
    let options = SendOptions::new(&path, &receiver.address, &receiver.token);
    send(options.clone()).unwrap();
    assert_eq!(send(options.clone()).unwrap().counts.held_bytes, BLOCK as u64 + 5);
    // With another time it is another file, of the same content or not.
    fs::File::open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(matches!(send(options), Err(Error::Refused(_))));
    receiver.stop().unwrap();
}

#[test]
fn a_file_gets_no_permission_that_the_receivers_umask_forbids() {
    let workspace = Workspace::new();
    let path = workspace.file("in/data", 10);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let receiver = Receiver::start(receiving(&workspace));
    send(SendOptions::new(&path, &receiver.address, &receiver.token)).unwrap();
    // proc(5): in octal.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:\t")).unwrap();
    let umask = u32::from_str_radix(umask, 8).unwrap();
    assert_ne!(0o666 & umask, 0, "a umask that forbids nothing tests nothing");
    let mode = fs::metadata(workspace.at("out/data")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o666 & !umask);
    receiver.stop().unwrap();
}

#[test]
fn a_sender_cannot_offer_files_without_end() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let mut channel = begin(&receiver, 1);
    let most = (MOST_OPEN + ENTRIES_PER_PAGE) as u32;
    for first in (0..=most).step_by(ENTRIES_PER_PAGE) {
        let entries = (first..first + ENTRIES_PER_PAGE as u32).map(|number| Offered {
            name: format!("{number}").into(),
            kind: Kind::File { bytes: Some(1) },
            mode: 0o644,
            modified: None,
            hole_bytes: 0,
        });
        let page = ToReceiver::Offer { first, entries: entries.collect() };
        channel.write_frame(&page).unwrap();
    }
    let mut ready = 0;
    loop {
        match channel.read_frame::<ToSender>().unwrap() {
            Some(ToSender::Ready { .. }) => ready += 1,
            Some(ToSender::Refused { why }) => break assert!(why.contains("offered"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ready, most);
    drop(channel);
    receiver.stop().unwrap();
}

#[test]
fn control_connections_are_bounded() {
    let workspace = Workspace::new();
    let mut options = receiving(&workspace);
    options.limits.sessions = 1;
    let most = options.limits.control_connections();
    let receiver = Receiver::start(options);
    let held: Vec<_> = (0..most).map(|_| enter(&receiver)).collect();
    // Whoever comes then is let in, and finds the connection closed.
    assert!(!matches!(enter(&receiver).read_frame::<ToSender>(), Ok(Some(_))));
    drop(held);
    receiver.stop().unwrap();
}
