//! Something is there already, or names lead elsewhere.

use std::fs;

use fairway_xfer::Error;
use fairway_xfer::auth::{Purpose, Security, greet};
use fairway_xfer::recv::ReceiveOptions;
use fairway_xfer::send::SendOptions;
use fairway_xfer::socket::{Wishes, connect};
use fairway_xfer::wire::messages::{Begin, Kind, Offered, ToReceiver, ToSender};

use crate::bench::{BLOCK, Receiver, Room, receiving, send};

#[test]
fn the_same_file_is_not_sent_again_and_another_is_not_replaced() {
    let room = Room::new();
    let path = room.file("in/data", 3 * BLOCK);
    let receiver = Receiver::start(receiving(&room));
    let options = SendOptions::new(&path, &receiver.address, &receiver.token);
    send(options.clone()).unwrap();
    assert_eq!(send(options.clone()).unwrap().counts.held_bytes, 3 * BLOCK as u64);
    for bytes in [3 * BLOCK, 3 * BLOCK + 1, 0] {
        let before = fs::read(room.at("out/data")).unwrap();
        let mut content = before.clone();
        content[2 * BLOCK] ^= 1;
        content.resize(bytes, 7);
        fs::write(&path, &content).unwrap();
        let sent = send(options.clone());
        let Err(Error::Refused(said)) = sent else { panic!("{sent:?}") };
        assert!(said.contains("--overwrite"), "{said}");
        assert!(fs::read(room.at("out/data")).unwrap() == before);
    }
    receiver.stop().unwrap();
}

#[test]
fn a_file_that_differs_is_replaced_if_that_is_allowed() {
    let room = Room::new();
    let path = room.file("in/data", 3 * BLOCK);
    let receiver = Receiver::start(ReceiveOptions { overwrite: true, ..receiving(&room) });
    let options = SendOptions::new(&path, &receiver.address, &receiver.token);
    for bytes in [3 * BLOCK, 3 * BLOCK, 5, 0, 2 * BLOCK + 1] {
        let mut content = fs::read(&path).unwrap();
        content.resize(bytes, 9);
        if let Some(last) = content.last_mut() {
            *last ^= 1;
        }
        fs::write(&path, &content).unwrap();
        send(options.clone()).unwrap();
        assert!(fs::read(room.at("out/data")).unwrap() == content, "{bytes}");
    }
    receiver.stop().unwrap();
}

/// What the receiver answers to the offer of a name.
fn offered(receiver: &Receiver, name: &[u8], kind: Kind) -> ToSender {
    let control = fairway_xfer::Control::new();
    let timeout = std::time::Duration::from_secs(20);
    let address = receiver.address.parse().unwrap();
    let connection = connect(&[address], &Wishes::default(), timeout, &control).unwrap();
    let token = receiver.token.parse().unwrap();
    let purpose = Purpose::Control;
    let mut channel = greet(connection, &token, Security::Encrypted, &purpose, timeout).unwrap();
    let begin = Begin {
        transfer: [name.len() as u8; 16],
        streams: 1,
        entries: 1,
        bytes: 1,
        patience_ms: 20_000,
    };
    channel.write_frame(&ToReceiver::Begin(begin)).unwrap();
    let welcome = channel.read_frame::<ToSender>().unwrap();
    assert!(matches!(welcome, Some(ToSender::Welcome { .. })), "{welcome:?}");
    let offered = Offered { name: name.to_vec(), kind, mode: 0o644, modified: None };
    channel.write_frame(&ToReceiver::Offer { first: 0, entries: vec![offered] }).unwrap();
    let answer = channel.read_frame().unwrap().unwrap();
    channel.write_frame(&ToReceiver::GiveUp { why: "a test".into() }).unwrap();
    answer
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let room = Room::new();
    let receiver = Receiver::start(receiving(&room));
    let outside = room.at("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, room.at("out/link")).unwrap();
    std::os::unix::fs::symlink(outside.join("x"), room.at("out/dangling")).unwrap();
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
