//! A collector, and peers that know the token and say anything.

use std::net::UdpSocket;
use std::time::Duration;

use super::gaps::Gaps;
use super::header::{self, Header, Kind};
use super::messages::{Said, Sent};
use super::plan::tests::{group, plan};
use super::plan::{Direction, Plan, Transport};
use super::talk::Talk;
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

    fn talk(&self) -> Talk {
        Talk::new(self.knock(Security::PlainLoad, &Purpose::Load).unwrap(), LONG).unwrap()
    }
}

fn propose(plan: &Plan) -> Said {
    Said::Propose { plan: plan.clone(), clock: String::new() }
}

/// A session of one connection that has begun; its connection is open as long as it is kept.
fn begun(house: &House) -> (Talk, Channel) {
    let mut talk = house.talk();
    talk.say(&propose(&plan(vec![group("a", 1, 1000)]))).unwrap();
    let Said::Accept { session, .. } = talk.hear().unwrap() else { panic!("accepted") };
    let purpose = Purpose::LoadData { session, stream: 0 };
    let connection = house.knock(Security::PlainLoad, &purpose).unwrap();
    assert_eq!(talk.hear().unwrap(), Said::Ready);
    talk.say(&Said::Begin).unwrap();
    (talk, connection)
}

/// What it hears until the collector has nothing more to say to it.
fn refusal(talk: &mut Talk) -> String {
    loop {
        match talk.hear() {
            Ok(Said::Refuse(why)) => return why,
            Ok(_) => {}
            Err(error) => panic!("without a reason: {error}"),
        }
    }
}

#[test]
fn words_at_the_wrong_time_end_a_session_and_no_more() {
    let house = House::new(CollectOptions::default());
    for said in [Said::Begin, Said::Ready, Said::Received, Said::Seen(Vec::new()), Said::End] {
        // A proposal is expected: the connection just ends.
        let mut talk = house.talk();
        talk.say(&said).unwrap();
        assert!(talk.hear().is_err(), "{said:?}");
    }
    let sent = |flow| Sent { flow, bytes: u64::MAX, messages: u64::MAX, failure: None };
    let page = Said::Sent(vec![sent(1)]);
    for said in [Said::Begin, Said::Samples(vec![0; 1000]), propose(&plan(vec![])), page] {
        let (mut talk, _connection) = begun(&house);
        talk.say(&said).unwrap();
        assert!(refusal(&mut talk).contains("protocol"), "{said:?}");
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
        let mut talk = house.talk();
        talk.say(&propose(&plan(groups))).unwrap();
        assert!(!refusal(&mut talk).is_empty());
    }
    let mut chatter = house.talk();
    chatter.say(&propose(&plan(vec![group("a", 1, 1)]))).unwrap();
    // Far more than is kept for later: it has to wait, and its session comes to nothing.
    for _ in 0..100 {
        if chatter.say(&Said::Samples(vec![0; 100_000])).is_err() {
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
    let mut talk = house.talk();
    talk.say(&propose(&plan(vec![group("a", 1, 1000)]))).unwrap();
    let Said::Accept { session, .. } = talk.hear().unwrap() else { panic!("accepted") };
    let stray = |session, stream| {
        house.knock(Security::PlainLoad, &Purpose::LoadData { session, stream }).unwrap()
    };
    let strays = [stray(session ^ 1, 0), stray(session, 1), stray(session, u32::MAX)];
    let first = stray(session, 0);
    assert_eq!(talk.hear().unwrap(), Said::Ready);
    // A second one for the same flow is too many.
    let second = stray(session, 0);
    for mut channel in strays.into_iter().chain([second]) {
        assert!(!matches!(channel.read_frame::<Said>(), Ok(Some(_))));
    }
    drop(first);
    // The flow has lost its connection before the beginning: that is said, not waited for.
    talk.say(&Said::Begin).unwrap();
    talk.say(&Said::AllSent).unwrap();
    talk.say(&Said::Received).unwrap();
    while talk.hear().unwrap() != Said::End {}
    talk.say(&Said::End).unwrap();
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
    let mut talk = house.talk();
    talk.say(&propose(&plan)).unwrap();
    let Said::Accept { session, .. } = talk.hear().unwrap() else { panic!("accepted") };
    let mut hello = [0; header::BYTES];
    let (kind, number, sent) = (Kind::Hello, 0, Duration::ZERO);
    Header { kind, flow: 0, session, number, sent }.write(&mut hello);
    // The right number from another host's address: a victim's, that was forged.
    let victim = UdpSocket::bind("127.0.0.2:0").unwrap();
    victim.send_to(&hello, &house.address).unwrap();
    assert!(refusal(&mut talk).contains("1 of 1 have not come in time"));
    victim.set_nonblocking(true).unwrap();
    assert!(victim.recv(&mut [0; 64]).is_err(), "the victim is left alone");
    assert_eq!(house.end().foreign_datagrams, 1);
}
