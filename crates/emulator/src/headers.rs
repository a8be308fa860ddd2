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
        let (ports, header) = match bytes[9] {
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

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Headers::read(&bytes);
        }
    }
}
