use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use fairway_spec::{Experiment, from_document, plan};

use super::*;

const EXPERIMENT: &str = r#"
    duration = "1 s"
    [topology]
    kind = "dumbbell"
    [topology.bottleneck]
    rate  = "10 Mbit/s"
    delay = "25 ms"
    [[flow]]
    cc = "reno"
"#;

fn experiment() -> Experiment {
    from_document(&plan(EXPERIMENT, "one flow").unwrap().points[0].document).unwrap()
}

/// A connection over the loopback device, as after its handshake.
fn connected(poll: &Poll) -> Pair {
    let mut pair = Pair::new(0, 0, &experiment().flows[0]);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let source = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (sink, _) = listener.accept().unwrap();
    for (side, socket) in [(SOURCE, source), (SINK, sink)] {
        socket.set_nonblocking(true).unwrap();
        poll.add(socket.as_fd(), side as u64, EpollFlags::EPOLLIN).unwrap();
        pair.sides[side].interest = Some(EpollFlags::EPOLLIN);
        pair.sides[side].socket = Some(socket.into());
    }
    pair.opened = Some(Time::ZERO);
    pair.established = Some(Time::ZERO);
    pair
}

/// Closes one side with a reset, and gives up as the other finds it.
fn reset(closed: usize) -> Pair {
    let poll = Poll::new().unwrap();
    let mut pair = connected(&poll);
    let socket = pair.sides[closed].socket.take().unwrap();
    socket.set_linger(Some(Duration::ZERO)).unwrap();
    drop(socket);
    let other = 1 - closed;
    let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP;
    let mut collectors = Collectors::new().unwrap();
    let failure = pair
        .handle(other as u64, flags, Time::ZERO, &poll, &mut Vec::new(), &mut collectors)
        .unwrap_err();
    pair.give_up(&failure, Time::from_nanos(5));
    pair
}

#[test]
fn the_side_that_was_told_is_named() {
    for (closed, told) in [(SINK, "source"), (SOURCE, "sink")] {
        let given_up = reset(closed).given_up.unwrap();
        assert_eq!((given_up.end.as_str(), given_up.errno.as_str()), (told, "ECONNRESET"));
        assert_eq!(given_up.at_ns, 5);
    }
}

#[test]
fn the_first_error_is_kept_with_what_the_kernel_said_then() {
    let mut pair = reset(SOURCE);
    let mut info = vec![0; MAX_TCP_INFO];
    let length = pair.info(SINK, &mut info).unwrap();
    assert!(length > 0);
    for error in [libc::ETIMEDOUT, libc::ENOMEM] {
        let failure = at(SOURCE)(io::Error::from_raw_os_error(error));
        pair.give_up(&failure, Time::from_nanos(9));
    }
    assert_eq!(
        pair.given_up.as_ref().map(|found| (found.at_ns, found.end.as_str())),
        Some((5, "sink"))
    );
    assert_eq!(pair.error, None);
    assert_eq!(pair.info(SINK, &mut info).unwrap(), length);
}

#[test]
fn a_fault_of_the_guest_names_its_side_and_stays_the_first() {
    let mut pair = connected(&Poll::new().unwrap());
    for (side, error) in [(SINK, libc::ENOMEM), (SOURCE, libc::EINVAL), (SOURCE, libc::ECONNRESET)]
    {
        pair.give_up(&at(side)(io::Error::from_raw_os_error(error)), Time::ZERO);
    }
    assert_eq!(pair.error.as_deref(), Some("sink: Cannot allocate memory (os error 12)"));
    assert_eq!(pair.given_up, None);
}
