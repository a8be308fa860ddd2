//! The headers of an IPv4 packet, as far as a network looks at them.

use std::net::Ipv4Addr;

use fairway_net::Ecn;

/// IP protocol numbers (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of a header without options (RFC 791, RFC 9293).
const LEAST_IP: usize = 20;
const LEAST_TCP: usize = 20;
const UDP_BYTES: usize = 8;
/// Of the flags and the fragment offset of an IP header (RFC 791).
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// What a network sees of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    /// Ports of the source and the destination; zero if it has none.
    pub ports: [u16; 2],
    /// Size with the IP header.
    pub ip_bytes: u32,
    pub has_payload: bool,
    /// Bytes behind the headers.
    pub payload_bytes: u32,
    pub ecn: Ecn,
}

impl Headers {
    /// Reads the first bytes of a packet; none if they are not those of IPv4.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let first = *bytes.first()?;
        let ip_header = usize::from(first & 0xf) * 4;
        if first >> 4 != 4 || ip_header < LEAST_IP || bytes.len() < ip_header {
            return None;
        }
        let ip_bytes = u32::from(number(bytes, 2)?);
        let transport = &bytes[ip_header..];
        let inside = (ip_bytes as usize).checked_sub(ip_header)?;
        // Ports are in the first fragment alone.
        let is_first = number(bytes, 6)? & FRAGMENT_OFFSET == 0;
        let (ports, header) = match bytes[9] {
            _ if !is_first => ([0; 2], 0),
            TCP if transport.len() >= LEAST_TCP => {
                (ports(transport)?, usize::from(transport[12] >> 4) * 4)
            }
            UDP if transport.len() >= UDP_BYTES => (ports(transport)?, UDP_BYTES),
            _ => ([0; 2], 0),
        };
        Some(Headers {
            source: address(bytes, 12),
            destination: address(bytes, 16),
            ports,
            ip_bytes,
            has_payload: inside > header,
            payload_bytes: inside.saturating_sub(header) as u32,
            ecn: match bytes[1] & 3 {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
        })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn ports(transport: &[u8]) -> Option<[u16; 2]> {
    Some([number(transport, 0)?, number(transport, 2)?])
}

/// The address at an offset of a header that was found to be long enough.
fn address(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A segment with 12 bytes of options and 100 bytes of data, ECT(0), from 10.0.0.1:40000 to
    /// 10.64.0.1:10000 (RFC 791 figure 4, RFC 9293 figure 1).
    fn segment() -> Vec<u8> {
        let mut bytes =
            vec![0x45, 0x02, 0, 152, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 64, 0, 1];
        bytes
            .extend([0x9c, 0x40, 0x27, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x10, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0; 12]);
        bytes
    }

    #[test]
    fn a_segment_is_read_without_its_payload() {
        let headers = Headers::read(&segment()).unwrap();
        assert_eq!((headers.ip_bytes, headers.ports), (152, [40_000, 10_000]));
        assert_eq!(headers.source, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!((headers.has_payload, headers.ecn), (true, Ecn::Ect0));
        let mut acknowledgement = segment();
        acknowledgement[3] = 52;
        assert!(!Headers::read(&acknowledgement).unwrap().has_payload);
    }

    /// A packet of this protocol with so many bytes of IP options, so many in all, and this behind its
    /// IP header.
    fn packet(protocol: u8, options: u8, total: u16, transport: &[u8]) -> Vec<u8> {
        let [high, low] = total.to_be_bytes();
        let first = 0x45 + options / 4;
        let mut bytes = vec![first, 0, high, low, 0, 1, 0, 0, 64, protocol, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 64, 0, 1]);
        bytes.extend(vec![1; usize::from(options)]);
        bytes.extend(transport);
        bytes
    }

    /// From port 5353 to port 443, 28 bytes long (RFC 768).
    const DATAGRAM: [u8; 8] = [0x14, 0xe9, 0x01, 0xbb, 0, 28, 0, 0];

    #[test]
    fn a_datagram_has_8_bytes_before_its_payload() {
        let headers = Headers::read(&packet(17, 0, 48, &DATAGRAM)).unwrap();
        assert_eq!((headers.ports, headers.payload_bytes), ([5353, 443], 20));
        assert_eq!(headers.destination, Ipv4Addr::new(10, 64, 0, 1));
        // Options of 8 bytes move everything behind them.
        let headers = Headers::read(&packet(17, 8, 56, &DATAGRAM)).unwrap();
        assert_eq!((headers.ports, headers.payload_bytes), ([5353, 443], 20));
        let empty = Headers::read(&packet(17, 0, 28, &DATAGRAM)).unwrap();
        assert_eq!((empty.has_payload, empty.payload_bytes), (false, 0));
    }

    #[test]
    fn other_protocols_have_no_ports() {
        let headers = Headers::read(&packet(1, 0, 84, &[8, 0, 0, 0, 0, 1, 0, 1])).unwrap();
        assert_eq!((headers.ports, headers.payload_bytes), ([0, 0], 64));
    }

    #[test]
    fn the_field_of_ecn_has_four_values() {
        // RFC 3168, figure 1.
        for (bits, expected) in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().enumerate()
        {
            let mut bytes = packet(17, 0, 48, &DATAGRAM);
            // With a code point of DiffServ in front: expedited forwarding (RFC 3246).
            bytes[1] = 46 << 2 | bits as u8;
            assert_eq!(Headers::read(&bytes).unwrap().ecn, expected);
        }
    }

    #[test]
    fn what_is_no_whole_header_of_ipv4_is_refused() {
        let whole = packet(17, 0, 48, &DATAGRAM);
        let with_first = |first: u8| [&[first], &whole[1..]].concat();
        for bytes in [
            vec![],
            whole[..19].to_vec(),
            // IPv6, a header of 16 bytes, and one of 60 in 28.
            with_first(0x65),
            with_first(0x44),
            with_first(0x4f),
            // 19 bytes in all.
            packet(17, 0, 19, &DATAGRAM),
        ] {
            assert_eq!(Headers::read(&bytes), None, "{bytes:?}");
        }
        // Ports that are cut off are none.
        assert_eq!(Headers::read(&whole[..27]).unwrap().ports, [0, 0]);
    }

    #[test]
    fn a_later_fragment_is_payload_alone() {
        let mut bytes = packet(17, 0, 48, &DATAGRAM);
        // More fragments follow the first (RFC 791, flags).
        bytes[6] = 0x20;
        assert_eq!(Headers::read(&bytes).unwrap().ports, [5353, 443]);
        // Offset 185 * 8 = 1480 bytes.
        bytes[7] = 185;
        let later = Headers::read(&bytes).unwrap();
        assert_eq!((later.ports, later.payload_bytes), ([0, 0], 28));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Headers::read(&bytes);
        }
    }
}
