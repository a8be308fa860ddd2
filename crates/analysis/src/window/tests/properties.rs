use proptest::prelude::*;

use fairway_units::{Duration, Time};

use crate::event::{Acked, Flow, Observer, Sent, SentKind};
use crate::window::{Window, WindowReport};

/// Numbers that are small, large, or at the ends of their range.
fn offset() -> impl Strategy<Value = i64> {
    prop_oneof![-5_000i64..50_000, any::<i64>(), Just(i64::MAX), Just(i64::MIN)]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..20_000, any::<u64>(), Just(u64::MAX)]
}

fn span() -> impl Strategy<Value = Option<Duration>> {
    prop_oneof![
        Just(None),
        (0u64..1_000_000_000).prop_map(|nanos| Some(Duration::from_nanos(nanos))),
        Just(Some(Duration::from_nanos(u64::MAX))),
    ]
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        9 => (0u64..10_000_000_000).prop_map(Time::from_nanos),
        1 => any::<u64>().prop_map(Time::from_nanos),
    ]
}

fn kind() -> impl Strategy<Value = SentKind> {
    prop_oneof![
        Just(SentKind::New),
        Just(SentKind::Retransmission),
        Just(SentKind::FillsHole),
        Just(SentKind::WindowProbe),
        Just(SentKind::KeepAlive),
    ]
}

fn timestamps() -> impl Strategy<Value = Option<(u32, u32)>> {
    prop::option::of((any::<u32>(), any::<u32>()))
}

fn sent() -> impl Strategy<Value = Sent> {
    (time(), offset(), 1u32..70_000, kind(), prop::option::of(time()), bytes(), timestamps())
        .prop_map(|(at, offset, bytes, kind, previous, sacked_above_bytes, timestamps)| Sent {
            number: 1,
            at,
            offset,
            bytes,
            new_bytes: bytes,
            kind,
            previous,
            sacked_above_bytes,
            timestamps,
            ..Sent::default()
        })
}

fn acked() -> impl Strategy<Value = Acked> {
    let dsack = prop::option::of((offset(), offset()));
    let places = (offset(), offset());
    let amounts = (bytes(), bytes(), bytes(), bytes(), bytes());
    (time(), places, amounts, any::<bool>(), dsack, timestamps()).prop_map(
        |(
            at,
            (offset, highest),
            (acked, delivered, again, sacked, window),
            is_duplicate,
            dsack,
            timestamps,
        )| {
            Acked {
                number: 1,
                at,
                offset,
                acked_bytes: acked,
                delivered_bytes: delivered,
                delivered_again_bytes: again,
                sacked_bytes: sacked,
                highest_sacked_offset: highest,
                timestamps,
                is_duplicate,
                dsack,
                window_bytes: window,
                ..Acked::default()
            }
        },
    )
}

fn flow() -> impl Strategy<Value = Flow> {
    let spans = (span(), span(), span(), span());
    (prop_oneof![Just(0u32), 1u32..9000, Just(u32::MAX)], spans, any::<bool>(), offset()).prop_map(
        |(mss_bytes, (min_rtt, srtt, sender_rtt, receiver_rtt), has_sack, acked_offset)| Flow {
            mss_bytes,
            min_rtt,
            srtt,
            sender_rtt,
            receiver_rtt,
            has_sack,
            acked_offset,
            ..Flow::default()
        },
    )
}

#[derive(Clone, Debug)]
enum Event {
    Sent(Sent),
    Acked(Acked),
}

fn play(flow: &Flow, events: &[Event]) -> WindowReport {
    let mut window = Window::default();
    for event in events {
        match event {
            Event::Sent(sent) => window.sent(sent, flow),
            Event::Acked(acked) => window.acked(acked, flow),
        }
    }
    window.report()
}

proptest! {
    #[test]
    fn anything_can_come(
        flow in flow(),
        events in prop::collection::vec(
            prop_oneof![sent().prop_map(Event::Sent), acked().prop_map(Event::Acked)], 0..200),
    ) {
        let report = play(&flow, &events);
        let limits = report.limits;
        let sum = limits.receive_window + limits.congestion_window + limits.constant_window
            + limits.application + limits.pacing + limits.timeout;
        prop_assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-9, "{sum}");
        let phases = report.phases;
        let sum = phases.slow_start + phases.congestion_avoidance + phases.recovery
            + phases.limited + phases.idle;
        prop_assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-9, "{sum}");
        let causes = report.losses.causes;
        let sum = causes.fast + causes.partial_ack + causes.sack + causes.timeout
            + causes.after_timeout + causes.tail_loss_probe + causes.unknown;
        prop_assert_eq!(sum, causes.segments);
        let again = events.iter().filter(|event| matches!(event, Event::Sent(Sent {
            kind: SentKind::Retransmission | SentKind::FillsHole, ..
        })));
        prop_assert_eq!(again.count() as u64, causes.segments + report.losses.reordered_before_capture);
        prop_assert!(report.losses.spurious.segments <= causes.segments);
        prop_assert_eq!(report.losses.list.len() as u64 + report.losses.not_listed, causes.segments);
        for episode in &report.losses.episodes {
            prop_assert!(episode.lost_segments <= episode.retransmitted_segments);
        }
        prop_assert!(!report.limited_by.is_empty());
    }
}
