//! Each end against what is not the protocol.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::channel::COOKIE_BYTES;
use super::{LONG, options, run, server};
use crate::Error;
use crate::iperf3::{ClientOptions, ServerOptions};

/// What a client sees of a server that says these bytes, and hangs up.
fn against_server(bytes: Vec<u8>) -> Result<Value, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut cookie = [0; COOKIE_BYTES];
        socket.read_exact(&mut cookie).unwrap();
        let _ = socket.write_all(&bytes);
    });
    let result = run(&ClientOptions { timeout_s: 1.0, ..options(address) });
    server.join().unwrap();
    result
}

#[test]
fn a_client_endures_states_in_any_order() {
    for bytes in [
        &[][..],
        &[1],
        &[9, 9],
        &[9, 13],
        &[9, 16],
        &[9, 254],
        &[9, 254, 0, 0, 0, 134, 0, 0, 0, 2],
        &[255],
    ] {
        assert!(against_server(bytes.to_vec()).is_err(), "{bytes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_client_endures_random_bytes(bytes in vec(any::<u8>(), 0..40), right: bool) {
        let prefix = if right { vec![9] } else { Vec::new() };
        prop_assert!(against_server([prefix, bytes].concat()).is_err());
    }
}

/// What comes after a cookie: nonsense, or something that is almost right.
fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    let framed = |bytes: Vec<u8>| [&(bytes.len() as u32).to_be_bytes()[..], &bytes].concat();
    let known = prop::sample::select(vec![
        json!({"tcp": true, "parallel": 0}),
        json!({"tcp": true, "parallel": 4_000_000_000_u64}),
        json!({"udp": true, "len": 1}),
        json!({"tcp": true, "time": 1e300, "len": -1}),
        json!({"tcp": "yes", "num": {"a": []}, "parallel": [1]}),
        json!([[[[]]]]),
        json!(null),
    ]);
    prop_oneof![
        vec(any::<u8>(), 0..200),
        vec(any::<u8>(), 0..100).prop_map(framed),
        known.prop_map(move |value| framed(value.to_string().into_bytes())),
        Just(vec![0xff, 0xff, 0xff, 0xff, b'{']),
    ]
}

#[test]
fn a_server_endures_random_clients() {
    let (task, address) = server(ServerOptions {
        timeout_s: 1.0,
        tests: 8,
        most_streams: Some(16),
        ..ServerOptions::default()
    });
    let case = |(cookie, bytes): (Vec<u8>, Vec<u8>)| {
        let mut socket = TcpStream::connect(address).unwrap();
        let _ = socket.write_all(&cookie);
        let _ = socket.write_all(&bytes);
        Ok(())
    };
    let cookies =
        prop_oneof![vec(any::<u8>(), COOKIE_BYTES..=COOKIE_BYTES), vec(any::<u8>(), 0..60),];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(256));
    runner.run(&(cookies, nonsense()), case).unwrap();
    // Whoever comes then is served, as soon as there is room.
    let until = Instant::now() + LONG;
    loop {
        match run(&options(address)) {
            Ok(_) => break,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    }
    assert!(!task.wait(Duration::ZERO), "it goes on");
}

#[test]
fn a_client_that_stops_half_way_does_not_hold_the_server() {
    let (task, address) = server(ServerOptions { timeout_s: 0.3, ..ServerOptions::default() });
    let tcp = (b'x', json!({"tcp": true, "parallel": 2}));
    let udp = (b'y', json!({"udp": true, "parallel": 2}));
    for (letter, told) in [tcp, udp] {
        let until = Instant::now() + LONG;
        let mut socket = loop {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.write_all(&[letter; COOKIE_BYTES]).unwrap();
            let mut state = [0];
            socket.read_exact(&mut state).unwrap();
            if state == [9] {
                break socket;
            }
            assert!(state == [255] && Instant::now() < until);
        };
        let text = told.to_string();
        socket.write_all(&(text.len() as u32).to_be_bytes()).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        let mut said = Vec::new();
        socket.read_to_end(&mut said).unwrap();
        // Create streams; and then that they did not come: 203.
        assert_eq!(said, [10, 254, 0, 0, 0, 203, 0, 0, 0, 0], "{told}");
    }
    task.control.cancel();
    assert!(task.wait(LONG));
}
