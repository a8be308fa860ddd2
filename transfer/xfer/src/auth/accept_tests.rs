//! The acceptor, and strangers that connect to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::files::raise_limit;
use crate::socket::{Wishes, connect, listen};
use crate::wire::Channel;
use crate::{Control, Error};

/// Longer than any of these tests takes.
const LONG: Duration = Duration::from_secs(600);

struct House {
    address: SocketAddr,
    token: Token,
    control: Control,
    admitted: Receiver<(Channel, Purpose)>,
    keeping: Option<JoinHandle<Result<(), Error>>>,
}

impl House {
    fn new(security: Security, deadline: Duration) -> Self {
        let listener = listen("127.0.0.1:0".parse().unwrap(), &Wishes::default()).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let identity = Identity::new().unwrap();
        let token = identity.token().clone();
        let control = Control::new();
        let (sender, admitted) = channel();
        let keeper = control.clone();
        let keeping = std::thread::spawn(move || {
            let acceptor = Acceptor { identity: &identity, security, deadline };
            let send = |channel, purpose| drop(sender.send((channel, purpose)));
            acceptor.run(&listener, &keeper, || true, send)
        });
        House { address, token, control, admitted, keeping: Some(keeping) }
    }

    fn enter(&self, security: Security, purpose: Purpose) -> Result<Channel, Error> {
        let connection = connect(&[self.address], &Wishes::default(), LONG, &Control::new())?;
        greet(connection, &self.token, security, &purpose, LONG)
    }

    /// Someone who knows the token gets in, and can be talked to.
    fn a_sender_gets_in(&self, security: Security) {
        let mut near = self.enter(security, Purpose::Control).unwrap();
        let (mut far, purpose) = self.admitted.recv_timeout(LONG).unwrap();
        assert_eq!(purpose, Purpose::Control);
        near.write_frame(&1_u8).unwrap();
        assert_eq!(far.read_frame::<u8>().unwrap(), Some(1));
    }

    fn knock(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.control.cancel();
        let kept = self.keeping.take().unwrap().join().unwrap();
        assert_eq!(kept, Ok(()));
    }
}

#[test]
fn many_are_let_in_with_their_purposes() {
    const STREAMS: u32 = 40;
    for security in [Security::Encrypted, Security::Plain] {
        let house = House::new(security, LONG);
        let purpose = |stream| Purpose::Data { session: 9, stream };
        let channels: Vec<Channel> = std::thread::scope(|scope| {
            let entering = |stream| {
                let house = &house;
                // The receiving end of a queue is not for several threads.
                let (address, token) = (house.address, &house.token);
                scope.spawn(move || {
                    let control = Control::new();
                    let open = connect(&[address], &Wishes::default(), LONG, &control).unwrap();
                    greet(open, token, security, &purpose(stream), LONG).unwrap()
                })
            };
            let entering: Vec<_> = (0..STREAMS).map(entering).collect();
            entering.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let mut purposes: Vec<_> =
            channels.iter().map(|_| house.admitted.recv_timeout(LONG).unwrap().1).collect();
        purposes.sort_by_key(|purpose| match purpose {
            Purpose::Data { stream, .. } => *stream,
            _ => u32::MAX,
        });
        assert_eq!(purposes, (0..STREAMS).map(purpose).collect::<Vec<_>>());
    }
}

#[test]
fn who_is_refused_is_told_and_so_is_the_user() {
    let house = House::new(Security::Encrypted, LONG);
    let Err(Error::Refused(said)) = house.enter(Security::Plain, Purpose::Control) else {
        panic!("it was let in")
    };
    assert!(said.contains("leave out --plain"), "{said}");
    let told = "refused a connection from 127.0.0.1: it runs with --plain";
    let mut notes = String::new();
    while !notes.contains(told) {
        notes += &format!("{:?}", house.control.take_events());
        assert!(!house.control.sleep(Duration::from_millis(1)));
    }
    house.a_sender_gets_in(Security::Encrypted);
}

#[test]
fn who_says_nothing_is_closed_in_the_end() {
    let house = House::new(Security::Encrypted, Duration::from_millis(300));
    let mut silent = house.knock();
    let mut dripping = house.knock();
    dripping.write_all(&[22, 3]).unwrap();
    for one in [&mut silent, &mut dripping] {
        one.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(one.read(&mut [0]).unwrap_or(0), 0);
    }
}

/// What a client says first.
fn first_words(security: Security) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let listening = std::thread::spawn(move || {
        let mut words = vec![0; 4096];
        let count = listener.accept().unwrap().0.read(&mut words).unwrap();
        words.truncate(count);
        words
    });
    let connection = connect(&[address], &Wishes::default(), LONG, &Control::new()).unwrap();
    let token = Identity::new().unwrap().token().clone();
    assert!(greet(connection, &token, security, &Purpose::Control, LONG).is_err());
    listening.join().unwrap()
}

#[test]
fn a_crowd_that_is_silent_or_drips_or_stops_halfway_does_not_shut_out_a_sender() {
    // Both ends are files of this process, and other tests have some, too.
    let crowd = (raise_limit(16 << 10) / 3).min(9000);
    for security in [Security::Encrypted, Security::Plain] {
        let house = House::new(security, LONG);
        let words = first_words(security);
        let mut standing = Vec::new();
        for number in 0..crowd {
            let mut one = house.knock();
            let said = match number % 4 {
                0 => 0,
                1 => 1,
                2 => words.len() - 1,
                _ => words.len(),
            };
            // Those that were turned out already cannot be written to.
            let _ = one.write_all(&words[..said]);
            standing.push(one);
        }
        house.a_sender_gets_in(security);
        // All of them drip on while others come and go.
        for one in &mut standing {
            let _ = one.write_all(&[0]);
        }
        house.a_sender_gets_in(security);
    }
}

#[test]
fn noise_is_refused_and_nothing_else_happens() {
    for security in [Security::Encrypted, Security::Plain] {
        let house = House::new(security, LONG);
        let mut random = fairway_units::random::Stream::new(1, "noise");
        for _ in 0..300 {
            let mut noise = vec![0; 1 + random.below(2000) as usize];
            noise.fill_with(|| random.below(256) as u8);
            if random.below(2) == 0 {
                noise[0] = 22;
            }
            let _ = house.knock().write_all(&noise);
        }
        house.a_sender_gets_in(security);
    }
}
