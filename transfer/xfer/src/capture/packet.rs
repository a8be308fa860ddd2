//! Which packets are of a transfer, and how much of them is kept: a filter for the kernel, and what
//! is looked at behind it.

use libc::{
    ARPHRD_LOOPBACK, BPF_ABS, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD,
    BPF_LDX, BPF_MSH, BPF_RET, BPF_W, ETH_P_IP, ETH_P_IPV6, SKF_AD_HATYPE, SKF_AD_OFF,
    SKF_AD_PKTTYPE, SKF_AD_PROTOCOL,
};
use socket2::SockFilter;

/// Bytes of a packet that are kept at most: IPv4 and TCP have 60 bytes each with all their options,
/// IPv6 has 40.
pub const SNAP_BYTES: u32 = 128;

/// Protocol number of TCP.
const TCP: u8 = 6;
/// Length of the header of IPv6 (RFC 8200).
const IPV6_BYTES: usize = 40;
/// The offset of a fragment in its field (RFC 791).
const FRAGMENT_OFFSET: u32 = 0x1fff;

/// A program for a packet socket that gives IP (filter.rst of the kernel): TCP from or to a port,
/// over IPv4 or IPv6 without extension headers. A loopback device has every packet twice, on its way
/// out and on its way in: only the first is taken.
pub fn filter(port: u16) -> Vec<SockFilter> {
    let does = |code: u32, k: u32| (code, k, 0, 0);
    let of_kernel = |what: libc::c_int| (SKF_AD_OFF + what).cast_unsigned();
    let is = |k: u32, jt: u8, jf: u8| (BPF_JMP | BPF_JEQ | BPF_K, k, jt, jf);
    let (port, tcp) = (u32::from(port), u32::from(TCP));
    let (source, destination) = (0, 2);
    let program = [
        /*  0 */ does(BPF_LD | BPF_W | BPF_ABS, of_kernel(SKF_AD_HATYPE)),
        /*  1 */ is(u32::from(ARPHRD_LOOPBACK), 0, 2),
        /*  2 */ does(BPF_LD | BPF_W | BPF_ABS, of_kernel(SKF_AD_PKTTYPE)),
        /*  3 */ is(u32::from(libc::PACKET_OUTGOING), 0, 19),
        /*  4 */ does(BPF_LD | BPF_W | BPF_ABS, of_kernel(SKF_AD_PROTOCOL)),
        /*  5 */ is(ETH_P_IP.cast_unsigned(), 0, 9),
        // IPv4: the protocol, no later fragment, and the ports behind its options.
        /*  6 */
        does(BPF_LD | BPF_B | BPF_ABS, 9),
        /*  7 */ is(tcp, 0, 15),
        /*  8 */ does(BPF_LD | BPF_H | BPF_ABS, 6),
        /*  9 */ (BPF_JMP | BPF_JSET | BPF_K, FRAGMENT_OFFSET, 13, 0),
        /* 10 */ does(BPF_LDX | BPF_B | BPF_MSH, 0),
        /* 11 */ does(BPF_LD | BPF_H | BPF_IND, source),
        /* 12 */ is(port, 9, 0),
        /* 13 */ does(BPF_LD | BPF_H | BPF_IND, destination),
        /* 14 */ is(port, 7, 8),
        // IPv6.
        /* 15 */ is(ETH_P_IPV6.cast_unsigned(), 0, 7),
        /* 16 */ does(BPF_LD | BPF_B | BPF_ABS, 6),
        /* 17 */ is(tcp, 0, 5),
        /* 18 */ does(BPF_LD | BPF_H | BPF_ABS, IPV6_BYTES as u32 + source),
        /* 19 */ is(port, 2, 0),
        /* 20 */ does(BPF_LD | BPF_H | BPF_ABS, IPV6_BYTES as u32 + destination),
        /* 21 */ is(port, 0, 1),
        /* 22 */ does(BPF_RET | BPF_K, SNAP_BYTES),
        /* 23 */ does(BPF_RET | BPF_K, 0),
    ];
    program.into_iter().map(|(code, k, jt, jf)| SockFilter::new(code as u16, jt, jf, k)).collect()
}

/// Bytes of the headers of IP and TCP at the beginning of a packet; none if it has others. Payload is
/// not kept: it belongs to the user.
pub fn header_bytes(packet: &[u8]) -> Option<usize> {
    let first = *packet.first()?;
    let (ip_bytes, protocol) = match first >> 4 {
        4 => (usize::from(first & 15) * 4, *packet.get(9)?),
        6 => (IPV6_BYTES, *packet.get(6)?),
        _ => return None,
    };
    let words = packet.get(ip_bytes + 12)? >> 4;
    (protocol == TCP).then_some(ip_bytes + usize::from(words) * 4)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headers_end_where_they_say() {
        // IPv4 with one word of options, TCP with three of options: 24 + 32 bytes.
        let mut v4 = [0; 90];
        (v4[0], v4[9], v4[24 + 12]) = (0x46, 6, 0x80);
        assert_eq!(header_bytes(&v4), Some(56));
        let mut v6 = [0; 90];
        (v6[0], v6[6], v6[40 + 12]) = (0x60, 6, 0x50);
        assert_eq!(header_bytes(&v6), Some(60));
        v6[6] = 17;
        assert_eq!(header_bytes(&v6), None);
        assert_eq!(header_bytes(&v4[..30]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_have_headers_or_none(bytes in vec(any::<u8>(), 0..128)) {
            header_bytes(&bytes);
        }
    }
}
