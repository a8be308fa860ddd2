//! Noise and changes before anything is proved.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::admission::{Admission, MOST_BYTES, Step};
use super::tests::held;
use super::*;
use crate::socket::{Wishes, connect};
use crate::wire::Channel;
use crate::{Control, Error};

/// Changed bytes may make either side wait for more.
const SHORT: Duration = Duration::from_millis(400);
/// Unchanged ones do not.
const LONG: Duration = Duration::from_secs(600);

fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| Identity::new().unwrap())
}

fn security() -> impl Strategy<Value = Security> {
    prop_oneof![Just(Security::Plain), Just(Security::Encrypted)]
}

/// The beginning of something that is right as far as it goes.
fn beginning() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(vec![]),
        Just(b"fairway2".to_vec()),
        Just(b"fairway2".to_vec()),
        Just(vec![22, 3, 1, 0, 100]),
        Just(vec![22, 3, 3, 0x1f, 0]),
        // A ClientHello as far as its length.
        Just(vec![22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]),
        Just(b"fairway2n".to_vec()),
        // Alerts, application data.
        Just(vec![21, 3, 3, 0, 2]),
        Just(vec![23, 3, 3, 0x40, 0x11]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nobody_is_admitted_by_chance(
        security in security(),
        beginning in beginning(),
        noise in vec(vec(any::<u8>(), 0..400), 0..6),
    ) {
        let mut admission = Admission::new(identity(), security);
        let mut answer = Vec::new();
        let mut over = false;
        for piece in [beginning].iter().chain(&noise) {
            match admission.take(piece, &mut answer) {
                Step::More => prop_assert!(!over),
                Step::Refused(_) => over = true,
                Step::Admitted(_) => prop_assert!(false, "it was let in"),
            }
        }
        prop_assert!(answer.len() < MOST_BYTES);
    }
}

#[test]
fn who_talks_on_and_on_is_refused() {
    for (security, beginning) in
        [(Security::Plain, &b"fairway"[..]), (Security::Encrypted, &[22, 3, 1, 0x1f, 0])]
    {
        let mut admission = Admission::new(identity(), security);
        assert!(matches!(admission.take(beginning, &mut Vec::new()), Step::More));
        let taken = (0..MOST_BYTES)
            .take_while(|_| matches!(admission.take(&[0], &mut Vec::new()), Step::More))
            .count();
        assert!(taken < MOST_BYTES);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_client_believes_no_noise(
        security in security(),
        beginning in beginning(),
        noise in vec(any::<u8>(), 0..3000),
    ) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut server, _) = listener.accept().unwrap();
            let _ = server.read(&mut [0; 1000]);
            // It may have been closed amid this.
            let _ = server.write_all(&beginning).and_then(|()| server.write_all(&noise));
            let _ = server.shutdown(Shutdown::Write);
            while server.read(&mut [0; 1000]).is_ok_and(|count| count > 0) {}
        });
        prop_assert!(entering(address, security, SHORT).is_err());
        serving.join().unwrap();
    }
}

fn entering(address: SocketAddr, security: Security, timeout: Duration) -> Result<Channel, Error> {
    let connection = connect(&[address], &Wishes::default(), LONG, &Control::new())?;
    greet(connection, identity().token(), security, &Purpose::Control, timeout)
}

/// Carries bytes one way, and flips a bit of one of them.
fn carry(mut from: TcpStream, mut to: TcpStream, flipped: Option<usize>) {
    let mut bytes = [0; 4096];
    let mut before = 0;
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if let Some(at) =
            flipped.map(|bit| bit / 8).filter(|at| (before..before + count).contains(at))
        {
            bytes[at - before] ^= 1 << (flipped.unwrap_or_default() % 8);
        }
        before += count;
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

/// What comes through when somebody between flips one bit of what client or server send.
fn between(security: Security, of_client: bool, bit: usize, timeout: Duration) -> Option<Vec<u8>> {
    let inner = TcpListener::bind("127.0.0.1:0").unwrap();
    let outer = TcpListener::bind("127.0.0.1:0").unwrap();
    let [inside, outside] = [&inner, &outer].map(|listener| listener.local_addr().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (client, _) = outer.accept().unwrap();
            let server = TcpStream::connect(inside).unwrap();
            for end in [&client, &server] {
                end.set_nodelay(true).unwrap();
            }
            let [back, forth] = [client.try_clone().unwrap(), server.try_clone().unwrap()];
            let answering = scope.spawn(move || carry(forth, back, (!of_client).then_some(bit)));
            carry(client, server, of_client.then_some(bit));
            answering.join().unwrap();
        });
        let serving = scope.spawn(move || {
            let connection = held(inner.accept().unwrap().0.into());
            let (mut channel, _) = admit(connection, identity(), security, timeout).ok()?;
            channel.set_patience(timeout).ok()?;
            channel.write_frame(&"come in").ok()?;
            channel.read_frame::<Vec<u8>>().ok()?
        });
        let talking = scope.spawn(move || {
            let mut channel = entering(outside, security, timeout).ok()?;
            channel.set_patience(timeout).ok()?;
            let said = channel.read_frame::<String>().ok()??;
            assert_eq!(said, "come in", "something else was believed");
            channel.write_frame(&vec![5_u8; 20]).ok()
        });
        let _ = talking.join().unwrap();
        serving.join().unwrap()
    })
}

#[test]
fn no_flipped_bit_of_a_plain_greeting_is_missed() {
    // Preamble, nonce, a frame of one byte and one of 21; preamble, letter, nonce, letter, a frame
    // of one byte and one of 8.
    let client_bytes = 8 + 32 + 29 + 49;
    let server_bytes = 9 + 32 + 1 + 29 + 36;
    assert_eq!(between(Security::Plain, true, 8 * client_bytes, LONG), Some(vec![5; 20]));
    assert_eq!(between(Security::Plain, false, 8 * server_bytes, LONG), Some(vec![5; 20]));
    for byte in 0..client_bytes.max(server_bytes) {
        let bit = 8 * byte + byte % 8;
        if byte < client_bytes {
            assert_eq!(between(Security::Plain, true, bit, SHORT), None, "bit {bit} of the client");
        }
        if byte < server_bytes {
            assert_eq!(
                between(Security::Plain, false, bit, SHORT),
                None,
                "bit {bit} of the server"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Some bits of the first records' headers mean nothing; all others end it.
    #[test]
    fn what_comes_through_tls_is_what_was_sent(of_client: bool, bit in 0..8 * 1200_usize) {
        if let Some(come) = between(Security::Encrypted, of_client, bit, SHORT) {
            prop_assert_eq!(come, vec![5; 20]);
        }
    }
}
