//! The two sides of the greeting together.

use std::net::TcpListener;
use std::time::Duration;

use crate::rt::Socket;

use super::*;
use crate::socket::{Connection, Wishes, connect};
use crate::wire::Channel;
use crate::{Control, Error};

const TIMEOUT: Duration = Duration::from_secs(600);

type Admitted = Result<(Channel, Purpose), Error>;

pub(super) fn held(socket: Socket) -> Connection {
    let held = Control::new().hold(&socket).unwrap();
    Connection { socket, held }
}

/// What a receiver and a sender each make of the other.
fn meeting(
    identity: Identity,
    server: Security,
    token: &Token,
    client: Security,
) -> (Admitted, Result<Channel, Error>) {
    meeting_for(identity, server, token, client, Purpose::Data { session: 7, stream: 3 })
}

fn meeting_for(
    identity: Identity,
    server: Security,
    token: &Token,
    client: Security,
    purpose: Purpose,
) -> (Admitted, Result<Channel, Error>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        admit(held(socket.into()), &identity, server, TIMEOUT)
    });
    let connection = connect(&[address], &Wishes::default(), TIMEOUT, &Control::new()).unwrap();
    let greeted = greet(connection, token, client, &purpose, TIMEOUT);
    (serving.join().unwrap(), greeted)
}

/// Both channels of a greeting that succeeds.
pub(crate) fn pair(security: Security) -> (Channel, Channel) {
    let identity = Identity::new().unwrap();
    let token = identity.token().clone();
    let (admitted, greeted) = meeting(identity, security, &token, security);
    (admitted.unwrap().0, greeted.unwrap())
}

#[test]
fn who_knows_the_token_is_let_in_and_its_purpose_is_known() {
    for security in [Security::Encrypted, Security::Plain] {
        let identity = Identity::new().unwrap();
        let token = identity.token().to_string().parse().unwrap();
        let (admitted, greeted) = meeting(identity, security, &token, security);
        let ((mut server, purpose), mut client) = (admitted.unwrap(), greeted.unwrap());
        assert_eq!(purpose, Purpose::Data { session: 7, stream: 3 });
        assert_eq!(client.is_encrypted(), security == Security::Encrypted);
        client.write_frame(&"there").unwrap();
        assert_eq!(server.read_frame::<String>().unwrap().unwrap(), "there");
        server.write_frame(&"back").unwrap();
        assert_eq!(client.read_frame::<String>().unwrap().unwrap(), "back");
    }
}

#[test]
fn who_has_another_token_is_told() {
    for security in [Security::Encrypted, Security::Plain] {
        let other = Identity::new().unwrap().token().clone();
        let (admitted, greeted) = meeting(Identity::new().unwrap(), security, &other, security);
        assert!(matches!(admitted, Err(Error::Refused(_))));
        let Err(Error::Refused(said)) = greeted else { panic!("it was let in") };
        assert!(said.contains("token"), "{said}");
    }
}

#[test]
fn the_right_certificate_with_another_secret_does_not_help() {
    let identity = Identity::new().unwrap();
    let mut token = identity.token().clone();
    token.secret[0] ^= 1;
    let (admitted, greeted) = meeting(identity, Security::Encrypted, &token, Security::Encrypted);
    let said = admitted.err().unwrap().to_string();
    assert!(said.contains("it has a wrong token"), "{said}");
    let Err(Error::Refused(said)) = greeted else { panic!("it was let in") };
    assert!(said.contains("refuses the token"), "{said}");
}

#[test]
fn the_right_secret_with_another_certificate_does_not_help() {
    let identity = Identity::new().unwrap();
    let mut token = identity.token().clone();
    token.fingerprint[0] ^= 1;
    let (admitted, greeted) = meeting(identity, Security::Encrypted, &token, Security::Encrypted);
    assert!(matches!(admitted, Err(Error::Refused(_))));
    let Err(Error::Refused(said)) = greeted else { panic!("it was let in") };
    assert!(said.contains("is not the token's"), "{said}");
}

#[test]
fn who_encrypts_and_who_does_not_are_told_of_each_other() {
    let identity = Identity::new().unwrap();
    let token = identity.token().clone();
    let (admitted, greeted) = meeting(identity, Security::Plain, &token, Security::Encrypted);
    assert!(admitted.err().unwrap().to_string().contains("it encrypts"));
    let Err(Error::Refused(said)) = greeted else { panic!("it was let in") };
    assert!(said.contains("give --plain, too"), "{said}");

    let identity = Identity::new().unwrap();
    let token = identity.token().clone();
    let (admitted, greeted) = meeting(identity, Security::Encrypted, &token, Security::Plain);
    assert!(admitted.err().unwrap().to_string().contains("it runs with --plain"));
    let Err(Error::Refused(said)) = greeted else { panic!("it was let in") };
    assert!(said.contains("leave out --plain"), "{said}");
}

#[test]
fn generated_traffic_goes_plain_where_only_that_may() {
    let stream = Purpose::LoadData { session: 7, stream: 3 };
    for (purpose, client, comes_in) in [
        (stream, Security::PlainLoad, true),
        (stream, Security::Plain, true),
        (stream, Security::Encrypted, true),
        (Purpose::Load, Security::PlainLoad, true),
        (Purpose::Load, Security::Encrypted, true),
        (Purpose::Load, Security::Plain, false),
        (Purpose::Control, Security::Plain, false),
    ] {
        let identity = Identity::new().unwrap();
        let token = identity.token().clone();
        let (admitted, greeted) =
            meeting_for(identity, Security::PlainLoad, &token, client, purpose);
        assert_eq!(greeted.is_ok(), comes_in, "{purpose:?} {client:?}");
        match admitted {
            Ok((channel, said)) => {
                assert!(comes_in && said == purpose);
                let is_plain =
                    client == Security::Plain || client == Security::PlainLoad && purpose == stream;
                assert_eq!(channel.is_encrypted(), !is_plain);
            }
            Err(_) => assert!(!comes_in),
        }
    }
}
