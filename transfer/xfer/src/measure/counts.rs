//! The kernel's counts of a connection.

use std::ops::{Add, Sub};

use fairway_schema::tcp_info::{Field, series as field};

/// Header of IPv4 without options (RFC 791 section 3.1) and of IPv6 (RFC 8200 section 3).
const IPV4_HEADER_BYTES: u64 = 20;
const IPV6_HEADER_BYTES: u64 = 40;
/// Header of TCP (RFC 9293 section 3.1), and its timestamps option with padding (RFC 7323
/// appendix A).
const TCP_HEADER_BYTES: u64 = 20;
const TIMESTAMPS_BYTES: u64 = 12;
/// `TCPI_OPT_TIMESTAMPS` of `include/uapi/linux/tcp.h`.
const TIMESTAMPS: u64 = 1;

/// Declares counters that are added and subtracted one by one.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $counter:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$of])* pub $counter: u64,)*
        }

        impl Add for $name {
            type Output = $name;

            fn add(self, other: $name) -> $name {
                $name { $($counter: self.$counter.saturating_add(other.$counter),)* }
            }
        }

        /// What was counted after an earlier moment; a counter that fell has counted nothing.
        impl Sub for $name {
            type Output = $name;

            fn sub(self, earlier: $name) -> $name {
                $name { $($counter: self.$counter.saturating_sub(earlier.$counter),)* }
            }
        }
    };
}

counters! {
    /// Counters of one connection, or of several added up, since they were opened. An older kernel
    /// leaves those at zero that it does not have.
    Counts {
        payload_bytes,
        /// Bytes that reached the other end, or came from it, with headers of IP and TCP.
        wire_bytes,
        sent_bytes,
        retransmitted_bytes,
        sent_segments,
        retransmitted_segments,
        /// Of them, those that the receiver reported to have had already.
        duplicate_segments,
        /// Data segments delivered, whichever end this is.
        delivered_segments,
        /// Retransmission timeouts (Linux 6.7).
        timeouts,
        busy_us,
        rwnd_limited_us,
        sndbuf_limited_us,
    }
}

impl Counts {
    /// What a record of `struct tcp_info` counts at the sending or the receiving end of a
    /// connection; its payload is left out.
    pub(super) fn of(record: &[u8], is_sent: bool, is_ipv6: bool) -> Self {
        let count = |field: &Field| field.raw(record).unwrap_or(0);
        let (bytes, segments) = match is_sent {
            true => (count(field::BYTES_ACKED), count(field::DELIVERED)),
            false => (count(field::BYTES_RECEIVED), count(field::DATA_SEGS_IN)),
        };
        let timestamps = count(field::OPTIONS) & TIMESTAMPS != 0;
        let headers = if is_ipv6 { IPV6_HEADER_BYTES } else { IPV4_HEADER_BYTES }
            + TCP_HEADER_BYTES
            + if timestamps { TIMESTAMPS_BYTES } else { 0 };
        Counts {
            payload_bytes: 0,
            wire_bytes: bytes + segments * headers,
            sent_bytes: count(field::BYTES_SENT),
            retransmitted_bytes: count(field::BYTES_RETRANS),
            sent_segments: count(field::DATA_SEGS_OUT),
            retransmitted_segments: count(field::TOTAL_RETRANS),
            duplicate_segments: count(field::DSACK_DUPS),
            delivered_segments: segments,
            timeouts: count(field::TOTAL_RTO),
            busy_us: count(field::BUSY),
            rwnd_limited_us: count(field::RWND_LIMITED),
            sndbuf_limited_us: count(field::SNDBUF_LIMITED),
        }
    }

    /// Segments that were lost: retransmitted, and not because of a mistake.
    pub fn lost_segments(&self) -> u64 {
        self.retransmitted_segments.saturating_sub(self.duplicate_segments)
    }
}
