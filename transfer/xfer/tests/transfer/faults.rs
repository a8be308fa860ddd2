//! Something fails: what arrives is what was sent all the same, or nothing has its name.

use std::fs;
use std::io::Write;

use fairway_xfer::Error;
use fairway_xfer::recv::ReceiveOptions;
use fairway_xfer::send::{SendOptions, Streams};

use crate::bench::{BLOCK, Receiver, Sender, Workspace, noise, receiving, send, tree, until};
use crate::proxy::{Fault, Proxy, random};

fn quick(options: SendOptions) -> SendOptions {
    SendOptions { timeout_s: Some(2.0), patience_s: Some(600.0), ..options }
}

fn quick_receiver(workspace: &Workspace, plain: bool) -> ReceiveOptions {
    ReceiveOptions { plain, timeout_s: Some(2.0), ..receiving(workspace) }
}

/// Sends a file through a proxy that has so many faults.
fn through(seed: &str, faults: &'static [Fault], most: u32, plain: bool) {
    let workspace = Workspace::new();
    let receiver = Receiver::start(quick_receiver(&workspace, plain));
    let path = workspace.file("in/data", 12 * BLOCK + 5);
    let proxy = Proxy::start(&receiver.address, random(seed, faults, most, 6 * BLOCK as u64));
    let options = SendOptions {
        plain,
        streams: Streams::Fixed(3),
        chunk_bytes: Some(BLOCK as u64),
        ..quick(SendOptions::new(&path, &proxy.address, &receiver.token))
    };
    // The very first words may be what is changed.
    let mut sent = send(options.clone());
    for _ in 0..most {
        if sent.is_ok() {
            break;
        }
        let at = workspace.at("out/data");
        assert!(!at.exists() || fs::read(&at).unwrap() == noise("in/data", 12 * BLOCK + 5));
        sent = send(options.clone());
    }
    sent.unwrap();
    drop(receiver.stop().unwrap());
    assert_eq!(tree(&workspace.at("out")), tree(&workspace.at("in")));
}

#[test]
fn connections_are_reset() {
    for seed in ["a", "b", "c"] {
        through(seed, &[Fault::Reset, Fault::Close], 12, true);
        through(seed, &[Fault::Reset, Fault::Close], 12, false);
    }
}

#[test]
fn connections_stall() {
    through("a", &[Fault::Stall], 3, true);
    through("b", &[Fault::Stall], 3, false);
}

#[test]
fn bytes_are_flipped() {
    for seed in ["a", "b", "c", "d", "e", "f"] {
        through(seed, &[Fault::Flip, Fault::FlipBack], 8, true);
        through(seed, &[Fault::Flip, Fault::FlipBack], 8, false);
    }
}

#[test]
fn standard_input_goes_on_after_the_control_connection_broke() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(quick_receiver(&workspace, true));
    let proxy = Proxy::start(
        &receiver.address,
        Box::new(|number| (number == 0).then_some((Fault::ResetBack, 600))),
    );
    let (read, write) = nix::unistd::pipe().unwrap();
    let options = quick(SendOptions {
        plain: true,
        streams: Streams::Fixed(2),
        ..SendOptions::new("-", &proxy.address, &receiver.token)
    });
    let sender = Sender::start(options, Some(read));
    let data = noise("stream", 60 * BLOCK + 3);
    let mut write = fs::File::from(write);
    let of = data.clone();
    let progress = sender.control.clone();
    let writing = std::thread::spawn(move || {
        // Each piece is confirmed by itself: that is more than 600 bytes.
        for (piece, written) in of.chunks(3 * BLOCK).zip((0_u64..).step_by(3 * BLOCK)) {
            until(|| progress.progress().done_bytes >= written);
            write.write_all(piece).unwrap();
        }
    });
    let outcome = sender.join().unwrap();
    writing.join().unwrap();
    assert!(outcome.counts.replaced_sessions > 0);
    receiver.stop().unwrap();
    assert!(fs::read(workspace.at("out/stdin")).unwrap() == data);
}

#[test]
fn the_receiver_is_started_again_with_its_token() {
    let workspace = Workspace::new();
    // An address of its own: while the port is free, no other test takes it.
    let mut options = ReceiveOptions {
        keep_token: Some(workspace.at("token")),
        bind: Some("127.7.7.7:0".into()),
        ..quick_receiver(&workspace, false)
    };
    let receiver = Receiver::start(options.clone());
    options.bind = Some(receiver.address.clone());
    let path = workspace.file("in/data", 30 * BLOCK);
    let sending = SendOptions {
        streams: Streams::Fixed(2),
        chunk_bytes: Some(BLOCK as u64),
        limit_bps: Some(200_000_000),
        ..quick(SendOptions::new(&path, &receiver.address, &receiver.token))
    };
    let sender = Sender::start(sending, None);
    until(|| receiver.control.progress().done_bytes > 6 * BLOCK as u64);
    receiver.stop().unwrap();
    let receiver = Receiver::start(options);
    let outcome = sender.join().unwrap();
    assert!(outcome.counts.held_bytes >= 5 * BLOCK as u64, "{outcome:?}");
    receiver.stop().unwrap();
    assert_eq!(tree(&workspace.at("out")), tree(&workspace.at("in")));
}

#[test]
fn the_sender_is_started_again() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let path = workspace.file("in/data", 30 * BLOCK);
    let options = SendOptions {
        streams: Streams::Fixed(2),
        chunk_bytes: Some(BLOCK as u64),
        limit_bps: Some(200_000_000),
        ..SendOptions::new(&path, &receiver.address, &receiver.token)
    };
    let sender = Sender::start(options.clone(), None);
    until(|| receiver.control.progress().done_bytes > 6 * BLOCK as u64);
    sender.control.cancel();
    assert_eq!(sender.join(), Err(Error::Cancelled));
    assert!(!workspace.at("out/data").exists());
    let outcome = send(SendOptions { limit_bps: None, ..options }).unwrap();
    assert!(outcome.counts.held_bytes >= 5 * BLOCK as u64, "{outcome:?}");
    receiver.stop().unwrap();
    assert_eq!(tree(&workspace.at("out")), tree(&workspace.at("in")));
}

#[test]
fn a_source_that_changes_does_not_get_its_name() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let path = workspace.file("in/data", 10 * BLOCK);
    workspace.file("in/other", 10);
    let options = SendOptions {
        limit_bps: Some(100_000_000),
        ..SendOptions::new(workspace.at("in"), &receiver.address, &receiver.token)
    };
    let sender = Sender::start(options, None);
    until(|| receiver.control.progress().done_bytes > 2 * BLOCK as u64);
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
    let said = sender.join().unwrap_err().to_string();
    assert!(said.contains("in/data") && said.contains("changed"), "{said}");
    assert!(!workspace.at("out/in/data").exists() && workspace.at("out/in/other").exists());
    receiver.stop().unwrap();
}

#[test]
fn a_wrong_token_is_refused() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let other =
        Receiver::start(ReceiveOptions { out: workspace.at("else"), ..receiving(&workspace) });
    let path = workspace.file("in/data", 10);
    for plain in [false, true] {
        let options = SendOptions::new(&path, &receiver.address, &other.token);
        let sent = send(SendOptions { plain, ..options });
        assert!(matches!(sent, Err(Error::Refused(_))), "{sent:?}");
    }
}

#[test]
fn nobody_is_there() {
    let workspace = Workspace::new();
    let receiver = Receiver::start(receiving(&workspace));
    let (address, token) = (receiver.address.clone(), receiver.token.clone());
    receiver.stop().unwrap();
    let sent = send(SendOptions::new(workspace.file("in/data", 10), address, token));
    assert!(matches!(sent, Err(Error::Failed { .. })), "{sent:?}");
}
