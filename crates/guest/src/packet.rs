//! The headers of a TCP segment, or of a datagram of ours, in IPv4 in Ethernet.

use fairway_guest::plan::STAMP_BYTES;

/// What is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Identification of the IP header: the kernel numbers the packets of a connection.
    pub id: u16,
    pub length: u16,
    pub source_port: u16,
    pub destination_port: u16,
    /// Sequence number; of a datagram the low bits of its own.
    pub sequence: u32,
    pub payload: u16,
    /// When its application sent it, if it is a datagram that says so, from the beginning of the run.
    pub left_ns: Option<u64>,
}

impl Packet {
    /// Reads a frame; none if it is neither.
    pub fn read(frame: &[u8]) -> Option<Self> {
        const ETHERNET: usize = 14;
        const IPV4: [u8; 2] = [0x08, 0x00];
        let ip = frame.get(ETHERNET..).filter(|_| frame[12..14] == IPV4)?;
        let ip_header = usize::from(ip.first()? & 15) * 4;
        let inside = ip.get(ip_header..)?;
        match ip.get(9)? {
            6 => Self::segment(ip, inside, ip_header),
            17 => Self::datagram(ip, inside),
            _ => None,
        }
    }

    fn segment(ip: &[u8], tcp: &[u8], ip_header: usize) -> Option<Self> {
        let tcp_header = u16::from(tcp.get(..20)?[12] >> 4) * 4;
        let length = u16_at(ip, 2);
        Some(Packet {
            id: u16_at(ip, 4),
            length,
            source_port: u16_at(tcp, 0),
            destination_port: u16_at(tcp, 2),
            sequence: u32::from(u16_at(tcp, 4)) << 16 | u32::from(u16_at(tcp, 6)),
            payload: length.checked_sub(ip_header as u16 + tcp_header)?,
            left_ns: None,
        })
    }

    fn datagram(ip: &[u8], udp: &[u8]) -> Option<Self> {
        const HEADER: u16 = 8;
        let stamp = udp.get(..usize::from(HEADER))?.len();
        let payload = u16_at(udp, 4).checked_sub(HEADER)?;
        let is_stamped = u32::from(payload) >= STAMP_BYTES;
        let number = |at: usize| {
            let bytes = udp.get(stamp + at..stamp + at + 8).filter(|_| is_stamped)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        Some(Packet {
            id: u16_at(ip, 4),
            length: u16_at(ip, 2),
            source_port: u16_at(udp, 0),
            destination_port: u16_at(udp, 2),
            sequence: number(0).map_or(0, |sequence| sequence as u32),
            payload,
            left_ns: number(8),
        })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A SYN from port 40000 to 5000 as tcpdump shows one: 14 bytes of Ethernet, 20 of IP with
    /// id 0x1234, 40 of TCP.
    fn syn() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
        frame.extend([0x45, 0, 0, 60, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x9c, 0x40, 0x13, 0x88, 0, 1, 0, 2, 0, 0, 0, 0, 0xa0, 2, 0xfa, 0xf0]);
        frame.extend([0; 24]);
        frame
    }

    #[test]
    fn reads_a_syn() {
        let expected = Packet {
            id: 0x1234,
            length: 60,
            source_port: 40_000,
            destination_port: 5000,
            sequence: 0x0001_0002,
            payload: 0,
            left_ns: None,
        };
        assert_eq!(Packet::read(&syn()), Some(expected));
    }

    /// 20 bytes of payload in UDP, numbered 7, which left after a second; and one of 2 bytes.
    #[test]
    fn reads_a_datagram() {
        let mut frame = syn()[..34].to_vec();
        (frame[17], frame[23]) = (48, 17);
        frame.extend([0x9c, 0x40, 0x13, 0x88, 0, 28, 0, 0]);
        frame.extend([7, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend(1_000_000_000u64.to_le_bytes());
        let expected = Packet {
            id: 0x1234,
            length: 48,
            source_port: 40_000,
            destination_port: 5000,
            sequence: 7,
            payload: 20,
            left_ns: Some(1_000_000_000),
        };
        assert_eq!(Packet::read(&frame), Some(expected));
        (frame[17], frame[39]) = (30, 10);
        let short = Packet { length: 30, sequence: 0, payload: 2, left_ns: None, ..expected };
        assert_eq!(Packet::read(&frame), Some(short));
    }

    #[test]
    fn anything_else_is_none() {
        let frame = syn();
        for length in 0..54 {
            assert_eq!(Packet::read(&frame[..length]), None, "{length} bytes");
        }
        let arp = [&frame[..12], &[0x08, 0x06], &frame[14..]].concat();
        assert_eq!(Packet::read(&arp), None);
        let mut too_short = frame.clone();
        too_short[17] = 39;
        assert_eq!(Packet::read(&too_short), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_none_or_a_packet(bytes in vec(any::<u8>(), 0..160)) {
            // As TCP in IPv4 in Ethernet, so that most of them get to the headers.
            let mut bytes = bytes;
            for (at, value) in [(12, 0x08), (13, 0x00), (23, 6)] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            if let Some(packet) = Packet::read(&bytes) {
                prop_assert!(packet.payload <= packet.length);
            }
        }
    }
}
