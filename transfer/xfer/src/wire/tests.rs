//! Two ends of a channel.

use std::time::Duration;

use super::*;
use crate::Error;
use crate::auth::{Security, tests::pair};

const BOTH: [Security; 2] = [Security::Encrypted, Security::Plain];

#[test]
fn messages_and_payload_come_in_their_order() {
    for security in BOTH {
        let (mut server, mut client) = pair(security);
        let payload: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let sent = payload.clone();
        let sending = std::thread::spawn(move || {
            for part in sent.chunks(1_000_000) {
                client.queue_frame(&(1_u32, part.len() as u64)).unwrap();
                client.write_payload(part).unwrap();
                client.write_frame(&"done").unwrap();
            }
            client.finish().unwrap();
            client
        });
        let mut got = Vec::new();
        while let Some((kind, length)) = server.read_frame::<(u32, u64)>().unwrap() {
            assert_eq!(kind, 1);
            let start = got.len();
            got.resize(start + usize::try_from(length).unwrap(), 0);
            server.read_payload(&mut got[start..]).unwrap();
            assert_eq!(server.read_frame::<String>().unwrap().unwrap(), "done");
        }
        assert!(got == payload);
        let mut client = sending.join().unwrap();
        server.write_frame(&"confirmed").unwrap();
        assert_eq!(client.read_frame::<String>().unwrap().unwrap(), "confirmed");
    }
}

#[test]
fn both_ends_of_a_control_channel_talk_at_once() {
    const EACH: u32 = 500;
    for security in BOTH {
        let (server, client) = pair(security);
        let ends = [server.into_control(), client.into_control()];
        std::thread::scope(|scope| {
            for (sender, mut receiver) in ends {
                for thread in 0..2_u32 {
                    let sender = sender.clone();
                    scope.spawn(move || {
                        for number in 0..EACH {
                            sender.keep_alive().unwrap();
                            sender.send(&(thread, number, vec![7_u8; 20_000])).unwrap();
                        }
                    });
                }
                scope.spawn(move || {
                    let mut next = [0; 2];
                    for _ in 0..2 * EACH {
                        let (thread, number, rest): (u32, u32, Vec<u8>) =
                            receiver.receive().unwrap().unwrap();
                        assert_eq!(number, next[thread as usize]);
                        assert_eq!(rest.len(), 20_000);
                        next[thread as usize] += 1;
                    }
                    drop(sender);
                });
            }
        });
    }
}

#[test]
fn silence_ends_in_words() {
    for security in BOTH {
        let (mut server, _client) = pair(security);
        server.set_patience(Duration::from_millis(1100)).unwrap();
        let Err(Error::Failed { what, why }) = server.read_frame::<u8>() else { panic!() };
        assert!(what.starts_with("receiving from 127.0.0.1:"), "{what}");
        assert_eq!(why, "the other side has said nothing for 2 s");
    }
}

#[test]
fn an_end_amid_a_message_or_payload_is_no_orderly_one() {
    let (mut server, mut client) = pair(Security::Plain);
    client.write_payload(&[5, 0, 0, 0, 1]).unwrap();
    client.finish().unwrap();
    assert!(server.read_frame::<u8>().unwrap_err().to_string().contains("before all data"));

    // With TLS only close_notify is an end.
    let (mut server, client) = pair(Security::Encrypted);
    client.socket().shutdown(std::net::Shutdown::Write).unwrap();
    assert!(server.read_frame::<u8>().unwrap_err().to_string().contains("before all data"));
}

#[test]
fn keys_that_change_on_the_way_are_followed() {
    let (mut server, mut client) = pair(Security::Encrypted);
    for round in 0..3_u32 {
        client.refresh_keys();
        client.write_frame(&round).unwrap();
        assert_eq!(server.read_frame::<u32>().unwrap(), Some(round));
        server.write_frame(&round).unwrap();
        assert_eq!(client.read_frame::<u32>().unwrap(), Some(round));
    }
}

#[test]
fn what_is_too_long_is_not_sent() {
    let (mut server, mut client) = pair(Security::Plain);
    assert!(client.write_frame(&vec![0_u8; MAX_MESSAGE_BYTES]).is_err());
    client.write_frame(&1_u8).unwrap();
    assert_eq!(server.read_frame::<u8>().unwrap(), Some(1));
}
