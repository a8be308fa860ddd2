//! A collector, and peers that know the token and say anything.

use std::net::UdpSocket;
use std::time::Duration;

use super::dialogue::Dialogue;
use super::gaps::Gaps;
use super::header::{self, Header, Kind};
use super::messages::{Message, Sent};
use super::plan::tests::{group, plan};
use super::plan::{Direction, Plan, Transport};
use super::tests::{House, flow, report};
use super::*;
use crate::auth::{Purpose, Security, Token, greet};
use crate::socket::{Wishes, connect};
use crate::wire::Channel;
use crate::{Control, Error};

const LONG: Duration = Duration::from_secs(600);

impl House {
    fn knock(&self, security: Security, purpose: &Purpose) -> Result<Channel, Error> {
        let address = self.address.parse().unwrap();
        let token: Token = self.token.parse().unwrap();
        let connection = connect(&[address], &Wishes::default(), LONG, &Control::new())?;
        greet(connection, &token, security, purpose, LONG)
    }

    fn dialogue(&self) -> Dialogue {
        Dialogue::new(self.knock(Security::PlainLoad, &Purpose::Load).unwrap(), LONG).unwrap()
    }
}

fn propose(plan: &Plan) -> Message {
    Message::Propose { plan: plan.clone(), clock: String::new() }
}

/// A session of one connection that has begun; its connection is open as long as it is kept.
fn begun(house: &House) -> (Dialogue, Channel) {
    let mut dialogue = house.dialogue();
    dialogue.send(&propose(&plan(vec![group("a", 1, 1000)]))).unwrap();
    let Message::Accept { session, .. } = dialogue.receive().unwrap() else { panic!("accepted") };
    let purpose = Purpose::LoadData { session, stream: 0 };
    let connection = house.knock(Security::PlainLoad, &purpose).unwrap();
    assert_eq!(dialogue.receive().unwrap(), Message::Ready);
    dialogue.send(&Message::Begin).unwrap();
    (dialogue, connection)
}

/// What it hears until the collector has nothing more to say to it.
fn refusal(dialogue: &mut Dialogue) -> String {
    loop {
        match dialogue.receive() {
            Ok(Message::Refuse(why)) => return why,
            Ok(_) => {}
            Err(error) => panic!("without a reason: {error}"),
        }
    }
}

#[test]
fn words_at_the_wrong_time_end_a_session_and_no_more() {
    let house = House::new(CollectOptions::default());
    for said in
        [Message::Begin, Message::Ready, Message::Received, Message::Seen(Vec::new()), Message::End]
    {
        // A proposal is expected: the connection just ends.
        let mut dialogue = house.dialogue();
        dialogue.send(&said).unwrap();
        assert!(dialogue.receive().is_err(), "{said:?}");
    }
    let sent = |flow| Sent { flow, bytes: u64::MAX, messages: u64::MAX, failure: None };
    let page = Message::Sent(vec![sent(1)]);
    for said in [Message::Begin, Message::Samples(vec![0; 1000]), propose(&plan(vec![])), page] {
        let (mut dialogue, _connection) = begun(&house);
        dialogue.send(&said).unwrap();
        assert!(refusal(&mut dialogue).contains("protocol"), "{said:?}");
    }
    report(house.run(flow(1000)));
    assert_eq!(house.end().sessions, 1);
}

#[test]
fn plans_that_nobody_can_carry_out_are_refused() {
    let bounds =
        CollectOptions { max_connections: 50, timeout_s: 2.0, ..CollectOptions::default() };
    let house = House::new(bounds);
    let mut endless = group("a", 1, 1);
    endless.bytes = None;
    let mut many = group("a", u32::MAX, 1);
    many.apart = Duration::MAX;
    for groups in [vec![], vec![endless], vec![many], vec![group("a", 26, 1), group("b", 26, 1)]] {
        let mut dialogue = house.dialogue();
        dialogue.send(&propose(&plan(groups))).unwrap();
        assert!(!refusal(&mut dialogue).is_empty());
    }
    let mut chatter = house.dialogue();
    chatter.send(&propose(&plan(vec![group("a", 1, 1)]))).unwrap();
    // Far more than is kept for later: it has to wait, and its session comes to nothing.
    for _ in 0..100 {
        if chatter.send(&Message::Samples(vec![0; 100_000])).is_err() {
            break;
        }
    }
    report(house.run(flow(1000)));
    drop(chatter);
    house.end();
}

#[test]
fn a_session_takes_only_the_flows_that_it_waits_for() {
    let house = House::new(CollectOptions::default());
    let mut dialogue = house.dialogue();
    dialogue.send(&propose(&plan(vec![group("a", 1, 1000)]))).unwrap();
    let Message::Accept { session, .. } = dialogue.receive().unwrap() else { panic!("accepted") };
    let stray = |session, stream| {
        house.knock(Security::PlainLoad, &Purpose::LoadData { session, stream }).unwrap()
    };
    let strays = [stray(session ^ 1, 0), stray(session, 1), stray(session, u32::MAX)];
    let first = stray(session, 0);
    assert_eq!(dialogue.receive().unwrap(), Message::Ready);
    // A second one for the same flow is too many.
    let second = stray(session, 0);
    for mut channel in strays.into_iter().chain([second]) {
        assert!(!matches!(channel.read_frame::<Message>(), Ok(Some(_))));
    }
    drop(first);
    // The flow has lost its connection before the beginning: that is said, not waited for.
    dialogue.send(&Message::Begin).unwrap();
    dialogue.send(&Message::AllSent).unwrap();
    dialogue.send(&Message::Received).unwrap();
    while dialogue.receive().unwrap() != Message::End {}
    dialogue.send(&Message::End).unwrap();
    house.end();
}

#[test]
fn datagrams_are_sent_to_nobody_but_the_generator_itself() {
    let house = House::new(CollectOptions::default());
    let mut reverse = group("a", 1, 1_000_000);
    (reverse.transport, reverse.direction) = (Transport::Udp, Direction::Reverse);
    reverse.gaps = Gaps::Fixed(Duration::from_millis(1));
    let mut plan = plan(vec![reverse]);
    plan.timeout = Duration::from_millis(500);
    let mut dialogue = house.dialogue();
    dialogue.send(&propose(&plan)).unwrap();
    let Message::Accept { session, .. } = dialogue.receive().unwrap() else { panic!("accepted") };
    let mut hello = [0; header::BYTES];
    let (kind, number, sent) = (Kind::Hello, 0, Duration::ZERO);
    Header { kind, flow: 0, session, number, sent }.write(&mut hello);
    // The right number from another host's address: a victim's, that was forged.
    let victim = UdpSocket::bind("127.0.0.2:0").unwrap();
    victim.send_to(&hello, &house.address).unwrap();
    assert!(refusal(&mut dialogue).contains("1 of 1 have not come in time"));
    victim.set_nonblocking(true).unwrap();
    assert!(victim.recv(&mut [0; 64]).is_err(), "the victim is left alone");
    assert_eq!(house.end().foreign_datagrams, 1);
}
