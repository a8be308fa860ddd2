//! Laws that hold for any packets.

use fairway_analysis::report::DirectionReport;
use fairway_capture::Options;
use proptest::collection::vec;
use proptest::prelude::*;

use super::wire::{Segment, Wire};

/// Numbers that meet: a few places in the space, its end among them, and anything.
fn number() -> impl Strategy<Value = u32> {
    let near =
        (0_u32..6, 0_u32..5).prop_map(|(step, rest)| (step * 1000 + rest).wrapping_sub(2500));
    prop_oneof![8 => near, 1 => any::<u32>()]
}

fn options() -> impl Strategy<Value = Options> {
    let blocks = vec((number(), number()), 0..4);
    let timestamps = proptest::option::of((0_u32..9, 0_u32..9));
    (blocks, timestamps, any::<(Option<u16>, Option<u8>, bool)>()).prop_map(
        |(blocks, timestamps, (mss, window_scale, sack_permitted))| {
            let mut options =
                Options { mss, window_scale, sack_permitted, timestamps, ..Options::default() };
            options.sack[..blocks.len()].copy_from_slice(&blocks);
            options.sack_count = blocks.len() as u8;
            options
        },
    )
}

fn segment() -> impl Strategy<Value = Segment> {
    // Mostly data and acknowledgements; sometimes any control bits.
    let flags = prop_oneof![9 => Just(0x10_u16), 1 => 0_u16..512];
    let bytes = prop_oneof![0_u32..3, Just(500), Just(1000), 0_u32..70_000];
    let window = prop_oneof![Just(0_u16), Just(500), any::<u16>()];
    (number(), number(), flags, bytes, window, options(), 0_u16..3).prop_map(
        |(seq, ack, flags, bytes, window, options, ip_id)| Segment {
            seq,
            ack,
            flags,
            bytes,
            window,
            options,
            ip_id,
        },
    )
}

fn balance(direction: &DirectionReport) {
    assert_eq!(
        direction.data.data_bytes,
        direction.data.unique_bytes
            + direction.data.retransmitted_bytes
            + direction.data.window_probe_bytes
    );
    assert!(direction.data.data_segments <= direction.data.packets);
    assert!(
        direction.data.retransmitted_segments + direction.data.window_probes
            <= direction.data.data_segments
    );
    assert!(
        direction.headers.pure_acks <= direction.headers.acks
            && direction.headers.acks <= direction.data.packets
    );
    if let Some(rtt) = direction.rtt_s {
        assert!(rtt.min <= rtt.p50 && rtt.p50 <= rtt.p99 && rtt.p99 <= rtt.max);
        assert!(rtt.min <= rtt.mean + 1e-9 && rtt.mean <= rtt.max + 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_packets_balance(
        packets in vec((any::<bool>(), 0_u64..3000, segment()), 1..80),
    ) {
        let mut wire = Wire::new();
        for (is_client, ms, segment) in &packets {
            // Clocks of captures run backwards at times.
            wire.at_ms(*ms);
            if *is_client { wire.client(*segment) } else { wire.server(*segment) };
        }
        let report = wire.report();
        let directions = report.connections.iter().flat_map(|one| &one.directions);
        let seen: u64 = directions.clone().map(|one| one.data.packets).sum();
        prop_assert_eq!(seen, packets.len() as u64);
        directions.for_each(balance);
    }

    #[test]
    fn a_clean_transfer_is_what_was_sent(
        first in any::<u32>(),
        lengths in vec(1_u32..3000, 1..60),
    ) {
        let mut wire = Wire::new();
        let mut seq = first;
        for bytes in &lengths {
            wire.client(super::wire::data(seq, *bytes));
            seq = seq.wrapping_add(*bytes);
            wire.server(super::wire::ack(seq));
        }
        let total: u32 = lengths.iter().sum();
        let sent = wire.sent();
        prop_assert_eq!(sent.data.unique_bytes, u64::from(total));
        prop_assert_eq!(sent.data.acked_bytes, u64::from(total));
        prop_assert_eq!(sent.rtt_s.expect("samples").count, lengths.len() as u64);
    }
}
