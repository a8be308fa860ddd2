pub(crate) mod receiver;

use std::sync::mpsc;

use socket2::{Domain, Type};

use super::session::Session;
use super::*;
use crate::measure::{Meter, Subject};
use crate::store;

/// More than a thread that was woken needs, however busy the machine is.
const LONG: Duration = Duration::from_secs(600);

fn socket() -> crate::rt::Socket {
    crate::rt::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()
}

/// A session whose control connection is there.
fn session(directory: &std::path::Path) -> Arc<Session> {
    let settings = Arc::new(ReceiveOptions::new(directory).check().unwrap());
    let subject = Subject::new("a test", "transfer", "transfer");
    let meter = Meter::start(subject, &Control::new()).unwrap();
    let store = Store::open(directory, store::Options::default()).unwrap();
    let session = Session::new(0, [0; 16], 0, settings, meter, store, Arc::default());
    session.take_over(socket());
    Arc::new(session)
}

#[test]
fn a_session_does_not_wait_for_a_thread_that_has_panicked() {
    let directory = tempfile::tempdir().unwrap();
    let session = session(directory.path());
    let of = Arc::clone(&session);
    let panicked = std::thread::spawn(move || {
        let _connected = of.connect(1, socket()).unwrap();
        panic!("as this test wants");
    });
    assert!(panicked.join().is_err());
    assert!(session.state().connections.is_empty());
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        session.close();
        ended.send(()).unwrap();
    });
    end.recv_timeout(LONG).expect("it still waits for it");
}

#[test]
fn a_data_connection_has_a_number_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let session = session(directory.path());
    let first = session.connect(1, socket());
    assert!(first.is_some());
    assert!(session.connect(1, socket()).is_none(), "two of one number");
    let second = session.connect(2, socket());
    assert!(second.is_some());
    drop(first);
    assert!(session.connect(1, socket()).is_some());
    assert_eq!(session.state().connections.len(), 1);
}
