//! Packets made by hand.

use std::net::SocketAddr;

use fairway_capture::packet::flags::{ACK, PSH, SYN};
use fairway_capture::packet::{Fate, MAX_SACK_BLOCKS, Options};
use fairway_capture::{Packet, Tcp, Transport, Udp};
use fairway_units::Time;

use super::{Comparison, compare_packets};

/// One side's addresses and first sequence numbers.
#[derive(Clone, Copy)]
struct Side {
    net: u8,
    first: [u32; 2],
}

const SIM: Side = Side { net: 10, first: [1_000, 2_000] };
/// The opener's numbers wrap.
const KERNEL: Side = Side { net: 20, first: [u32::MAX - 99, 5_000] };

impl Side {
    fn end(self, end: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([self.net, 0, 0, end], port))
    }

    fn packet(self, at_us: u64, forward: bool, port: u16, transport: Transport) -> Packet {
        let ends = [self.end(1, port), self.end(2, 80)];
        let [source, destination] = if forward { ends } else { [ends[1], ends[0]] };
        Packet {
            number: 0,
            at: Time::from_nanos(at_us * 1000),
            interface: 0,
            source,
            destination,
            frame_bytes: 0,
            ip_bytes: 0,
            ip_id: 0,
            ttl: 64,
            traffic_class: 0,
            transport,
            fate: Fate::Unknown,
        }
    }

    fn tcp(self, at_us: u64, forward: bool, seq: u32, ack: u32, bytes: u32, flags: u16) -> Packet {
        self.tcp_at(1000, at_us, forward, (seq, ack, bytes, flags))
    }

    fn tcp_at(
        self,
        port: u16,
        at_us: u64,
        forward: bool,
        (seq, ack, payload_bytes, flags): (u32, u32, u32, u16),
    ) -> Packet {
        let [own, other] = if forward { [0, 1] } else { [1, 0] };
        let tcp = Tcp {
            seq: self.first[own].wrapping_add(seq),
            ack: self.first[other].wrapping_add(ack),
            flags,
            payload_bytes,
            ..Tcp::default()
        };
        self.packet(at_us, forward, port, Transport::Tcp(tcp))
    }

    fn data(self, at_us: u64, seq: u32) -> Packet {
        self.tcp(at_us, true, seq, 1, 100, ACK)
    }

    fn ack(self, at_us: u64, ack: u32) -> Packet {
        self.tcp(at_us, false, 1, ack, 0, ACK)
    }

    /// A handshake until 3 us, and two segments.
    fn beginning(self) -> Vec<Packet> {
        vec![
            self.tcp(1, true, 0, 0, 0, SYN),
            self.tcp(2, false, 0, 1, 0, SYN | ACK),
            self.tcp(3, true, 1, 1, 0, ACK),
            self.data(4, 1),
            self.data(5, 101),
        ]
    }
}

fn with(side: Side, more: &[Packet]) -> Vec<Packet> {
    [side.beginning(), more.to_vec()].concat()
}

fn compare(first: Vec<Packet>, second: Vec<Packet>) -> Comparison {
    let mut sides = [first.into_iter(), second.into_iter()];
    compare_packets(&mut |side| sides[side].next(), 3, &mut || true).unwrap()
}

#[test]
fn the_same_packets_do_not_part_whatever_their_first_numbers_times_and_push_bits() {
    let kernel = with(KERNEL, &[KERNEL.tcp(90, true, 201, 1, 100, ACK | PSH), KERNEL.ack(99, 301)]);
    let found = compare(with(SIM, &[SIM.data(70, 201), SIM.ack(71, 301)]), kernel);
    // From the SYN at 1 µs to the last acknowledgement of the second side.
    let span_ns = Some([1_000, 99_000]);
    let expected = Comparison { packets: [7, 7], same: [0, 7], span_ns, ..Comparison::default() };
    assert_eq!(found, expected);
}

#[test]
fn what_was_not_compared_is_counted() {
    let other = SIM.packet(20, true, 0, Transport::Other(1));
    let datagram =
        |side: Side| side.packet(30, true, 7, Transport::Udp(Udp { payload_bytes: 100 }));
    let sim = with(SIM, &[other, datagram(SIM), SIM.data(900, 201)]);
    let found = compare(sim, with(KERNEL, &[datagram(KERNEL)]));
    let expected = Comparison {
        packets: [8, 6],
        same: [1, 5],
        other: [1, 0],
        alone: [1, 0],
        span_ns: Some([1_000, 900_000]),
        parting: None,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_segment_sent_before_an_acknowledgement_on_one_side_and_after_it_on_the_other() {
    let sim = with(SIM, &[SIM.ack(100, 101), SIM.data(100, 201), SIM.ack(220, 201)]);
    let kernel = with(KERNEL, &[KERNEL.ack(101, 101), KERNEL.ack(221, 201), KERNEL.data(222, 201)]);
    let parting = compare(sim, kernel).parting.unwrap();
    // Five packets of the beginning and one acknowledgement are the same; three are shown.
    assert_eq!((parting.same, parting.at_ns), (6, 100_000));
    assert_eq!(parting.before.iter().map(|one| one.seq).collect::<Vec<_>>(), [1, 101, 1]);
    let first = parting.after.each_ref().map(|side| (side[0].forward, side[0].seq, side[0].ack));
    assert_eq!(first, [(true, 201, Some(1)), (false, 1, Some(201))]);
    assert_eq!(parting.ends[1], Some(["20.0.0.1:1000".to_owned(), "20.0.0.2:80".to_owned()]));
}

#[test]
fn what_is_sent_and_received_within_ten_microseconds_may_be_swapped() {
    let swapped = |apart: u64| {
        let sim = with(SIM, &[SIM.data(100, 201), SIM.data(100, 301), SIM.ack(100 + apart, 101)]);
        let kernel =
            [KERNEL.ack(102, 101), KERNEL.data(102 + apart, 201), KERNEL.data(102 + apart, 301)];
        let same = [KERNEL.ack(400, 401), KERNEL.data(410, 401)];
        let more = [SIM.ack(400, 401), SIM.data(410, 401)];
        compare([sim, more.to_vec()].concat(), with(KERNEL, &[&kernel[..], &same[..]].concat()))
    };
    assert_eq!(swapped(10).parting, None);
    assert_eq!(swapped(11).parting.unwrap().same, 5);
}

#[test]
fn blocks_and_control_bits_count() {
    let with_block = |side: Side, left: u32| {
        let mut packet = side.ack(100, 101);
        if let Transport::Tcp(tcp) = &mut packet.transport {
            let mut sack = [(0, 0); MAX_SACK_BLOCKS];
            sack[0] = (side.first[0].wrapping_add(left), side.first[0].wrapping_add(401));
            tcp.options = Options { sack, sack_count: 1, ..Options::default() };
        }
        with(side, &[packet, side.data(200, 201)])
    };
    assert_eq!(compare(with_block(SIM, 201), with_block(KERNEL, 201)).parting, None);
    let parting = compare(with_block(SIM, 201), with_block(KERNEL, 301)).parting.unwrap();
    assert_eq!(parting.after[1][0].sack, [(301, 401)]);

    let marked = with(KERNEL, &[KERNEL.tcp(100, false, 1, 101, 0, ACK | 1 << 6)]);
    let parting = compare(with(SIM, &[SIM.ack(100, 101)]), marked).parting.unwrap();
    assert_eq!(parting.after[1][0].flags, ["ACK", "ECE"]);
}

#[test]
fn of_several_connections_the_one_that_parts_first_is_told() {
    let open = |side: Side, port, at_us| side.tcp_at(port, at_us, true, (0, 0, 0, SYN));
    let data = |side: Side, port, at_us, bytes| side.tcp_at(port, at_us, true, (1, 0, bytes, ACK));
    let sim = vec![
        open(SIM, 1000, 1),
        open(SIM, 1001, 2),
        data(SIM, 1000, 100, 100),
        data(SIM, 1001, 400, 100),
    ];
    // The second connection sends at 50 us, which shows only when the first side has sent at 400.
    let kernel = vec![
        open(KERNEL, 1000, 1),
        open(KERNEL, 1001, 2),
        data(KERNEL, 1001, 50, 50),
        data(KERNEL, 1000, 101, 60),
    ];
    let parting = compare(sim, kernel).parting.unwrap();
    assert_eq!((parting.connection, parting.at_ns, parting.same), (1, 50_000, 1));
}

#[test]
fn a_side_that_falls_silent_parts_but_not_in_the_last_millisecond() {
    let silent = |end_us: u64| {
        compare(with(SIM, &[SIM.ack(100, 101), SIM.data(end_us, 201)]), with(KERNEL, &[]))
    };
    assert_eq!(silent(1_100).parting, None);
    let parting = silent(1_101).parting.unwrap();
    assert_eq!((parting.same, parting.at_ns), (5, 100_000));
    assert_eq!(parting.after.each_ref().map(Vec::len), [2, 0]);
}

#[test]
fn ports_that_are_used_again_begin_another_connection() {
    let again = |side: Side, bytes| {
        let later = Side { first: [77, 99], ..side };
        [later.tcp(500, true, 0, 0, 0, SYN), later.tcp(501, true, 1, 0, bytes, ACK)]
    };
    let parting = compare(with(SIM, &again(SIM, 10)), with(KERNEL, &again(KERNEL, 20))).parting;
    assert_eq!(parting.unwrap().connection, 1);
    let another_port = [
        KERNEL.tcp_at(2000, 500, true, (0, 0, 0, SYN)),
        KERNEL.tcp_at(2000, 501, true, (1, 0, 10, ACK)),
    ];
    assert_eq!(compare(with(SIM, &again(SIM, 10)), with(KERNEL, &another_port)).parting, None);
}

#[test]
fn datagrams_are_told_apart_by_size() {
    let datagrams = |side: Side, sizes: &[u32]| -> Vec<Packet> {
        let udp =
            |(at, &payload_bytes)| side.packet(at, true, 9, Transport::Udp(Udp { payload_bytes }));
        (0..).step_by(5000).zip(sizes).map(udp).collect()
    };
    let parting = compare(datagrams(SIM, &[10, 20]), datagrams(KERNEL, &[10, 30])).parting.unwrap();
    assert_eq!((parting.is_tcp, parting.same, parting.at_ns), (false, 1, 5_000_000));
}

#[test]
fn it_stops_when_asked() {
    let endless = SIM.data(100, 1);
    let mut left = 1u32 << 15;
    let mut next = |_| {
        left -= 1;
        Some(endless)
    };
    assert_eq!(compare_packets(&mut next, 3, &mut || false), None);
}
