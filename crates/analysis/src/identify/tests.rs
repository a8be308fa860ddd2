//! What holds for any events, sensible or not. Whether algorithms are told apart is tested on captures,
//! in `crates/analysis/tests/identify.rs`.

use fairway_units::{Duration, Time};
use proptest::prelude::*;

use super::*;
use crate::event::SentKind;

const MSS: u32 = 1_000;

#[derive(Clone, Debug)]
enum Event {
    Sent { offset: i64, bytes: u32, kind: u8 },
    Acked { offset: i64, sack: (i64, i64), dsack: bool, ece: bool, window: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let offset = -3_000_i64..60_000;
    prop_oneof![
        (offset.clone(), 0_u32..70_000, 0_u8..5).prop_map(|(offset, bytes, kind)| Event::Sent {
            offset,
            bytes,
            kind
        }),
        (offset.clone(), (offset.clone(), offset), any::<bool>(), any::<bool>(), 0_u64..1 << 30)
            .prop_map(|(offset, sack, dsack, ece, window)| Event::Acked {
                offset,
                sack,
                dsack,
                ece,
                window
            }),
    ]
}

fn tell(identify: &mut Identify, event: &Event, at: Time, flow: &Flow) {
    match *event {
        Event::Sent { offset, bytes, kind } => {
            let kinds = [
                SentKind::New,
                SentKind::Retransmission,
                SentKind::FillsHole,
                SentKind::WindowProbe,
                SentKind::KeepAlive,
            ];
            let kind = kinds[usize::from(kind)];
            identify.sent(&Sent { at, offset, bytes, kind, ..Sent::default() }, flow);
        }
        Event::Acked { offset, sack, dsack, ece, window } => {
            let mut acked =
                Acked { at, offset, window_bytes: window, has_ece: ece, ..Acked::default() };
            (acked.sack[0], acked.sack_count) = (sack, 1);
            acked.dsack = dsack.then_some(sack);
            identify.acked(&acked, flow);
        }
    }
}

fn flow() -> Flow {
    Flow {
        mss_bytes: MSS,
        has_syn: true,
        receiver_rtt: Some(Duration::from_millis(20)),
        ..Flow::default()
    }
}

fn found(events: &[Event], step_us: u64) -> Option<Identification> {
    let mut identify = Identify::new(&Slots::default());
    for (index, event) in events.iter().enumerate() {
        let at = Time::from_nanos((index as u64 + 1) * step_us * 1_000);
        tell(&mut identify, event, at, &flow());
    }
    identify.finish();
    identify.into_found()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_too_strange(events in proptest::collection::vec(event(), 1..200), step_us in 1_u64..100_000) {
        let first = found(&events, step_us);
        if let Some(found) = &first {
            let sum: f64 = found.ranked.iter().map(|one| one.confidence).sum();
            prop_assert!(found.ranked.is_empty() || (sum - 1.0).abs() < 1e-9, "{sum}");
        }
        prop_assert_eq!(first, found(&events, step_us));
    }
}

#[test]
fn without_data_there_is_nothing_to_say() {
    assert_eq!(found(&[], 1), None);
    let ack = Event::Acked { offset: 0, sack: (0, 0), dsack: false, ece: false, window: 65_535 };
    assert_eq!(found(&[ack], 1), None);
}

#[test]
fn what_is_never_acknowledged_is_undecided() {
    let sent = Event::Sent { offset: 0, bytes: MSS, kind: 0 };
    let found = found(&[sent], 1).unwrap();
    assert!(found.ranked.is_empty() && !found.is_explained);
    assert_eq!(found.words, "undecided: nothing was acknowledged");
}

#[test]
fn places_are_given_back() {
    let slots = Slots::default();
    let sent = Event::Sent { offset: 0, bytes: MSS, kind: 0 };
    let mut all: Vec<Identify> = (0..=MOST_AT_ONCE).map(|_| Identify::new(&slots)).collect();
    all.iter_mut().for_each(|one| tell(one, &sent, Time::ZERO, &flow()));
    let last = all.pop().and_then(Identify::into_found).unwrap();
    assert_eq!(last.words, "undecided: more than 1000 senders at the same time");
    all[0].finish();
    let mut another = Identify::new(&slots);
    tell(&mut another, &sent, Time::ZERO, &flow());
    assert!(matches!(another.state, State::Asking(_)));
}
