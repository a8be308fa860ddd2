//! Frames by hand, and sums over whole packets.

use fairway_units::Time;
use proptest::prelude::*;

use super::*;
use crate::packet::{Fate, Udp, flags};

fn packet(ends: [&str; 2], transport: Transport) -> Packet {
    Packet {
        number: 1,
        at: Time::ZERO,
        interface: 0,
        source: ends[0].parse().unwrap(),
        destination: ends[1].parse().unwrap(),
        frame_bytes: 0,
        ip_bytes: 0,
        ip_id: 0,
        ttl: 64,
        traffic_class: 0,
        transport,
        fate: Fate::Unknown,
    }
}

/// The sum of all words without carries lost: all ones in what has a right checksum (RFC 1071).
fn folded(parts: &[&[u8]]) -> u32 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    sum
}

/// What Linux 6.1 sends to open a connection, and what follows from RFC 791 and RFC 9293.
#[test]
fn a_syn_by_hand() {
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some((0x0102_0304, 0)),
        ..Options::default()
    };
    let syn =
        Tcp { seq: 0x1122_3344, flags: flags::SYN, window: 64_240, options, ..Tcp::default() };
    let mut packet = packet(["10.0.0.1:50000", "10.0.0.2:42000"], Transport::Tcp(syn));
    packet.ip_id = 0x1234;
    let frame = Frame::of(&packet).unwrap();
    let ethernet = [2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1, 8, 0];
    // 4500 + 003c + 1234 + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = eb79, and its complement.
    let ip = [0x45, 0, 0, 60, 0x12, 0x34, 0x40, 0, 64, 6, 0x14, 0x86, 10, 0, 0, 1, 10, 0, 0, 2];
    // Pseudo-header 0a00 + 0001 + 0a00 + 0002 + 0006 + 0028 = 1431; ports c350 + a410; sequence
    // 1122 + 3344; a002 + faf0; options 0204 + 05b4, 0402 + 080a + 0102 + 0304, 0103 + 0307:
    // 1431 + 16760 + 4466 + 19af2 + 07b8 + 0c0c + 0406 + 040a = 376bd, folded 76c0, complement 893f.
    let tcp = [
        0xc3, 0x50, 0xa4, 0x10, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, 0x89,
        0x3f, 0, 0, 2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    assert_eq!(frame.header(), [&ethernet[..], &ip, &tcp].concat());
    assert_eq!(frame.frame_bytes(), 74);
}

#[test]
fn options_as_linux_pads_them() {
    let laid_out = |options| {
        let transport = Transport::Tcp(Tcp { options, ..Tcp::default() });
        let frame = Frame::of(&packet(["10.0.0.1:1", "10.0.0.2:2"], transport)).unwrap();
        frame.header()[ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES..].to_vec()
    };
    let none = Options::default();
    assert_eq!(laid_out(none), []);
    let timestamps = Some((1, 2));
    let only_timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(laid_out(Options { timestamps, ..none }), only_timestamps);
    assert_eq!(laid_out(Options { sack_permitted: true, ..none }), [1, 1, 4, 2]);
    let mut sack = [(0, 0); 4];
    sack[..2].copy_from_slice(&[(5, 6), (7, 8)]);
    let blocks = [1, 1, 5, 18, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8];
    let both = Options { timestamps, sack, sack_count: 2, ..none };
    assert_eq!(laid_out(both), [&only_timestamps[..], &blocks].concat());
}

#[test]
fn what_has_no_frame_is_refused() {
    let tcp = Transport::Tcp(Tcp::default());
    let refused = |packet| Frame::of(&packet).unwrap_err();
    let mixed = packet(["10.0.0.1:1", "[::2]:2"], tcp);
    assert_eq!(refused(mixed), NotWritable::TwoFamilies);
    let ends = ["10.0.0.1:1", "10.0.0.2:2"];
    assert_eq!(refused(packet(ends, Transport::Other(1))), NotWritable::NoTransport);
    // 20 of IP, 8 of UDP.
    let udp = |payload_bytes| packet(ends, Transport::Udp(Udp { payload_bytes }));
    assert_eq!(refused(udp(65_508)), NotWritable::TooLong);
    assert_eq!(refused(udp(u32::MAX)), NotWritable::TooLong);
    assert_eq!(Frame::of(&udp(65_507)).unwrap().frame_bytes(), 14 + 65_535);
    // 12 and 4 + 4 · 8 are more than 40.
    let options = Options { timestamps: Some((1, 2)), sack_count: 4, ..Options::default() };
    let tcp = Transport::Tcp(Tcp { options, ..Tcp::default() });
    assert_eq!(refused(packet(ends, tcp)), NotWritable::TooManyOptions);
}

proptest! {
    /// Every sum is all ones, over headers, pseudo-header and a payload of zeros, before and after
    /// routers have changed what they may.
    #[test]
    fn every_checksum_is_right(
        numbers in any::<[u32; 4]>(),
        (flags, window, id) in (0u16..512, any::<u16>(), any::<u16>()),
        payload_bytes in 0u32..65_000,
        (is_v6, is_udp) in any::<(bool, bool)>(),
        timestamps in any::<Option<(u32, u32)>>(),
        (sack_count, sack) in (0u8..4, any::<[(u32, u32); 4]>()),
        (ttl, traffic_class) in any::<(u8, u8)>(),
    ) {
        let ends = match is_v6 {
            true => ["[fd00::1:2]:50000", "[fd00::ffff:3]:42000"],
            false => ["10.1.2.3:50000", "10.255.0.1:42000"],
        };
        let options = Options { timestamps, sack_count, sack, ..Options::default() };
        let [seq, ack, ..] = numbers;
        let tcp = Tcp { seq, ack, flags, window, payload_bytes, options, is_checksum_wrong: false };
        let transport = match is_udp {
            true => Transport::Udp(Udp { payload_bytes }),
            false => Transport::Tcp(tcp),
        };
        let mut packet = packet(ends, transport);
        packet.ip_id = id;
        let mut frame = Frame::of(&packet).unwrap();
        for _ in 0..2 {
            let ip = &frame.header()[ETHERNET_BYTES..];
            let header = if is_v6 { IPV6_BYTES } else { IPV4_BYTES };
            let addresses = if is_v6 { &ip[8..40] } else { &ip[12..20] };
            if !is_v6 {
                prop_assert_eq!(folded(&[&ip[..header]]), 0xffff);
            }
            let transport = &ip[header..];
            let length = transport.len() as u16 + payload_bytes as u16;
            let pseudo = [0, if is_udp { 17 } else { 6 }];
            let parts = [addresses, &pseudo, &length.to_be_bytes(), transport];
            prop_assert_eq!(folded(&parts), 0xffff);
            prop_assert_eq!(frame.frame_bytes() as usize, 14 + ip.len() + payload_bytes as usize);
            frame.set_on_its_way(ttl, traffic_class);
        }
        let ip = &frame.header()[ETHERNET_BYTES..];
        let found = match is_v6 {
            true => (ip[7], ip[0] << 4 | ip[1] >> 4),
            false => (ip[8], ip[1]),
        };
        prop_assert_eq!(found, (ttl, traffic_class));
    }
}

/// The first request of a ping: its sum over 0800 0000 0019 0001 and zeros is 081a (RFC 792).
#[test]
fn a_ping_by_hand() {
    let ends = ["10.128.0.1:0", "10.128.0.2:0"];
    let request = Packet { ip_bytes: 84, ..packet(ends, Transport::Other(ICMP)) };
    let frame = Frame::of_icmp(&request, [8, 0, 0xab, 0xcd, 0, 0x19, 0, 1]).unwrap();
    assert_eq!(frame.frame_bytes(), 14 + 84);
    let [ip, message] = [&frame.header()[14..34], &frame.header()[34..]];
    assert_eq!((&ip[2..4], ip[9]), (&[0, 84][..], 1));
    assert_eq!(folded(&[ip]), 0xffff);
    assert_eq!(message, [8, 0, 0xf7, 0xe5, 0, 0x19, 0, 1]);
    assert_eq!(
        Frame::of_icmp(&packet(ends, Transport::Other(17)), [0; 8]).unwrap_err(),
        NotWritable::NoTransport
    );
}

/// Three bytes of options are padded to a word, and the sums count them.
#[test]
fn options_as_they_are() {
    let tcp = Tcp { payload_bytes: 2, flags: flags::ACK, ..Tcp::default() };
    let packet = packet(["10.0.0.1:50000", "10.0.0.2:42000"], Transport::Tcp(tcp));
    let frame = Frame::with_options(&packet, &[1, 30, 2]).unwrap();
    let header = frame.header();
    assert_eq!((header.len(), frame.frame_bytes()), (58, 60));
    assert_eq!((header[46], &header[54..]), (0x60, &[1, 30, 2, 0][..]));
    // Protocol 6 and 26 bytes of TCP in the pseudo-header.
    assert_eq!(folded(&[&header[26..34], &[0, 6, 0, 26], &header[34..]]), 0xffff);
    assert_eq!(Frame::with_options(&packet, &[1; 41]).err(), Some(NotWritable::TooManyOptions));
}
