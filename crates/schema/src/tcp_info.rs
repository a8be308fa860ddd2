//! `struct tcp_info`, as `getsockopt(TCP_INFO)` gives it on a little-endian machine.
//!
//! The kernel only ever appends fields, so one table serves every version: a record ends where its
//! version's struct ends, and fields behind its end are missing. Source: `include/uapi/linux/tcp.h`
//! of Linux 6.1 and 6.18, and `tcp_get_info` in `net/ipv4/tcp.c`. Left out is the word at offset
//! 276, whose meaning is not the same in the versions that have it.

use crate::{Column, Values};

/// A field of the struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of its column: the kernel's without `tcpi_`, with the unit where it does not say it.
    pub name: &'static str,
    /// First version of Linux that has it.
    pub since: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Its first byte.
    offset: usize,
    /// Its bytes.
    size: usize,
    /// Its bits in these bytes: how far they are shifted, and the mask after that.
    bits: (u32, u64),
    unit: Unit,
    /// What stands for "none yet" or "no limit".
    none: Option<u64>,
}

/// What the kernel counts a field in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// As it is.
    One,
    Microseconds,
    Milliseconds,
    BytesPerSecond,
}

impl Field {
    const fn new(
        name: &'static str,
        since: &'static str,
        offset: usize,
        size: usize,
        meaning: &'static str,
    ) -> Self {
        let bits = (0, u64::MAX);
        Field { name, since, meaning, offset, size, bits, unit: Unit::One, none: None }
    }

    const fn bits(self, shift: u32, mask: u64) -> Self {
        Field { bits: (shift, mask), ..self }
    }

    const fn in_unit(self, unit: Unit) -> Self {
        Field { unit, ..self }
    }

    const fn none(self, value: u64) -> Self {
        Field { none: Some(value), ..self }
    }

    /// Whether its values are whole numbers that are always there.
    pub fn is_whole(&self) -> bool {
        self.unit == Unit::One && self.none.is_none()
    }

    /// Whether a record of that many bytes has it.
    pub fn is_in(&self, record_bytes: usize) -> bool {
        self.offset + self.size <= record_bytes
    }

    /// The number that stands in a record; none if the record is too short.
    pub fn raw(&self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset + self.size)?;
        let mut number = [0; 8];
        number[..self.size].copy_from_slice(bytes);
        Some(u64::from_le_bytes(number) >> self.bits.0 & self.bits.1)
    }

    /// The value in a record in the unit of the column; NaN where there is none.
    pub fn real(&self, record: &[u8]) -> f64 {
        let Some(raw) = self.raw(record).filter(|raw| Some(*raw) != self.none) else {
            return f64::NAN;
        };
        let number = raw as f64;
        match self.unit {
            Unit::One => number,
            Unit::Microseconds => number / 1e6,
            Unit::Milliseconds => number / 1e3,
            Unit::BytesPerSecond => number * 8.0,
        }
    }
}

/// The field of that name; the name is one of the table.
#[cfg(test)]
fn field(name: &str) -> &'static Field {
    FIELDS.iter().find(|field| field.name == name).expect("a field of the table")
}

/// Fields that time series and summaries are made of.
pub mod series {
    use super::{FIELDS, Field};
    use crate::column::is_same;

    const fn named(name: &str) -> &'static Field {
        let mut i = 0;
        while i < FIELDS.len() {
            if is_same(FIELDS[i].name, name) {
                return &FIELDS[i];
            }
            i += 1;
        }
        panic!("no such field of tcp_info")
    }

    macro_rules! fields {
        ($($constant:ident = $name:literal,)+) => {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: &Field = named($name);
            )+
        };
    }

    fields! {
        CWND = "snd_cwnd_segments",
        SSTHRESH = "snd_ssthresh_segments",
        RTT = "rtt_s",
        UNACKED = "unacked_segments",
        SACKED = "sacked_segments",
        LOST = "lost_segments",
        RETRANS = "retrans_segments",
        DELIVERED = "delivered_segments",
        SND_WND = "snd_wnd_bytes",
        RCV_WND = "rcv_wnd_bytes",
        OPTIONS = "options",
        SND_MSS = "snd_mss_bytes",
        PMTU = "pmtu_bytes",
        MIN_RTT = "min_rtt_s",
        BYTES_ACKED = "bytes_acked",
        BYTES_RECEIVED = "bytes_received",
        BYTES_SENT = "bytes_sent",
        BYTES_RETRANS = "bytes_retrans",
        DATA_SEGS_OUT = "data_segs_out",
        DATA_SEGS_IN = "data_segs_in",
        TOTAL_RETRANS = "total_retrans_segments",
        DSACK_DUPS = "dsack_dups_segments",
        TOTAL_RTO = "total_rto",
        DELIVERY_RATE = "delivery_rate_bps",
        BUSY = "busy_time_s",
        RWND_LIMITED = "rwnd_limited_s",
        SNDBUF_LIMITED = "sndbuf_limited_s",
    }
}

/// `TCP_INFINITE_SSTHRESH` of `include/net/tcp.h`.
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;
/// A smallest round-trip time before the first sample: `tcp_init_sock` sets all bits.
const NO_MIN_RTT: u64 = u32::MAX as u64;
/// A pacing rate without a limit: `sk_pacing_rate` with all bits set.
const UNLIMITED: u64 = u64::MAX;

/// Every field, in the order of the struct.
#[rustfmt::skip]
pub const FIELDS: &[Field] = &[
    Field::new("state", "2.6.12", 0, 1, "state of the connection: 1 established, 2 SYN sent, 7 closed, …"),
    Field::new("ca_state", "2.6.12", 1, 1, "what it does about loss: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
    Field::new("retransmits", "2.6.12", 2, 1, "timeouts in a row without progress"),
    Field::new("probes", "2.6.12", 3, 1, "probes of a zero window that were not answered"),
    Field::new("backoff", "2.6.12", 4, 1, "doublings of the timeout"),
    Field::new("options", "2.6.12", 5, 1, "bits: 1 timestamps, 2 SACK, 4 window scaling, 8 ECN negotiated, 16 ECN seen, 32 data in SYN"),
    Field::new("snd_wscale", "2.6.12", 6, 1, "window scale of the peer").bits(0, 0xf),
    Field::new("rcv_wscale", "2.6.12", 6, 1, "window scale of its own").bits(4, 0xf),
    Field::new("delivery_rate_app_limited", "4.9", 7, 1, "whether the delivery rate was limited by the application").bits(0, 1),
    Field::new("fastopen_client_fail", "5.5", 7, 1, "why TCP Fast Open failed; 0 if it did not").bits(1, 3),
    Field::new("rto_s", "2.6.12", 8, 4, "retransmission timeout").in_unit(Unit::Microseconds),
    Field::new("ato_s", "2.6.12", 12, 4, "timeout of delayed acknowledgements").in_unit(Unit::Microseconds),
    Field::new("snd_mss_bytes", "2.6.12", 16, 4, "segment size that it sends"),
    Field::new("rcv_mss_bytes", "2.6.12", 20, 4, "segment size that it believes to receive"),
    Field::new("unacked_segments", "2.6.12", 24, 4, "sent and not acknowledged"),
    Field::new("sacked_segments", "2.6.12", 28, 4, "of them, acknowledged selectively"),
    Field::new("lost_segments", "2.6.12", 32, 4, "of them, marked lost"),
    Field::new("retrans_segments", "2.6.12", 36, 4, "of them, retransmitted"),
    Field::new("fackets_segments", "2.6.12", 40, 4, "furthest one acknowledged selectively; 0 since 4.15"),
    Field::new("last_data_sent_s", "2.6.12", 44, 4, "time since data was sent").in_unit(Unit::Milliseconds),
    Field::new("last_ack_sent_s", "2.6.12", 48, 4, "not filled by the kernel").in_unit(Unit::Milliseconds),
    Field::new("last_data_recv_s", "2.6.12", 52, 4, "time since data was received").in_unit(Unit::Milliseconds),
    Field::new("last_ack_recv_s", "2.6.12", 56, 4, "time since an acknowledgement was received").in_unit(Unit::Milliseconds),
    Field::new("pmtu_bytes", "2.6.12", 60, 4, "path MTU"),
    Field::new("rcv_ssthresh_bytes", "2.6.12", 64, 4, "largest window that it will offer now"),
    Field::new("rtt_s", "2.6.12", 68, 4, "smoothed round-trip time; 0 before the first sample").in_unit(Unit::Microseconds),
    Field::new("rttvar_s", "2.6.12", 72, 4, "mean deviation of the round-trip time").in_unit(Unit::Microseconds),
    Field::new("snd_ssthresh_segments", "2.6.12", 76, 4, "slow-start threshold; null while infinite").none(INFINITE_SSTHRESH),
    Field::new("snd_cwnd_segments", "2.6.12", 80, 4, "congestion window"),
    Field::new("advmss_bytes", "2.6.12", 84, 4, "segment size that it has advertised"),
    Field::new("reordering_segments", "2.6.12", 88, 4, "reordering that it reckons with"),
    Field::new("rcv_rtt_s", "2.6.12", 92, 4, "round-trip time as the receiver estimates it").in_unit(Unit::Microseconds),
    Field::new("rcv_space_bytes", "2.6.12", 96, 4, "what the receiving application reads in a round-trip time"),
    Field::new("total_retrans_segments", "2.6.12", 100, 4, "retransmitted since the start"),
    Field::new("pacing_rate_bps", "3.15", 104, 8, "pacing rate; null without one").in_unit(Unit::BytesPerSecond).none(UNLIMITED),
    Field::new("max_pacing_rate_bps", "3.15", 112, 8, "largest pacing rate; null without a limit").in_unit(Unit::BytesPerSecond).none(UNLIMITED),
    Field::new("bytes_acked", "4.1", 120, 8, "bytes acknowledged cumulatively since the start"),
    Field::new("bytes_received", "4.1", 128, 8, "bytes received in order since the start"),
    Field::new("segs_out", "4.2", 136, 4, "segments sent since the start"),
    Field::new("segs_in", "4.2", 140, 4, "segments received since the start"),
    Field::new("notsent_bytes", "4.6", 144, 4, "bytes written and never sent"),
    Field::new("min_rtt_s", "4.6", 148, 4, "smallest round-trip time of the last minutes; null before the first").in_unit(Unit::Microseconds).none(NO_MIN_RTT),
    Field::new("data_segs_in", "4.6", 152, 4, "segments with data received since the start"),
    Field::new("data_segs_out", "4.6", 156, 4, "segments with data sent since the start, retransmissions included"),
    Field::new("delivery_rate_bps", "4.9", 160, 8, "latest delivery rate").in_unit(Unit::BytesPerSecond),
    Field::new("busy_time_s", "4.10", 168, 8, "time with data to send or to be acknowledged").in_unit(Unit::Microseconds),
    Field::new("rwnd_limited_s", "4.10", 176, 8, "of it, limited by the receive window").in_unit(Unit::Microseconds),
    Field::new("sndbuf_limited_s", "4.10", 184, 8, "of it, limited by the send buffer").in_unit(Unit::Microseconds),
    Field::new("delivered_segments", "4.18", 192, 4, "delivered since the start, in order or not"),
    Field::new("delivered_ce_segments", "4.18", 196, 4, "of them, with a congestion mark echoed"),
    Field::new("bytes_sent", "4.19", 200, 8, "payload bytes sent since the start, retransmissions included"),
    Field::new("bytes_retrans", "4.19", 208, 8, "payload bytes retransmitted since the start"),
    Field::new("dsack_dups_segments", "4.19", 216, 4, "duplicates that the receiver has reported (DSACK)"),
    Field::new("reord_seen", "4.19", 220, 4, "times that reordering was seen"),
    Field::new("rcv_ooopack_segments", "5.4", 224, 4, "segments received out of order"),
    Field::new("snd_wnd_bytes", "5.4", 228, 4, "window that the peer offers"),
    Field::new("rcv_wnd_bytes", "6.2", 232, 4, "window that it offers itself"),
    Field::new("rehash", "6.2", 236, 4, "changes of the flow label for another path"),
    Field::new("total_rto", "6.7", 240, 2, "timeouts since the start, that of the SYN included"),
    Field::new("total_rto_recoveries", "6.7", 242, 2, "recoveries from timeouts since the start"),
    Field::new("total_rto_time_s", "6.7", 244, 4, "time spent in them").in_unit(Unit::Milliseconds),
    Field::new("received_ce_segments", "6.18", 248, 4, "segments received with a congestion mark"),
    Field::new("delivered_e1_bytes", "6.18", 252, 4, "delivered bytes whose packets arrived with ECT(1) (AccECN)"),
    Field::new("delivered_e0_bytes", "6.18", 256, 4, "delivered bytes whose packets arrived with ECT(0) (AccECN)"),
    Field::new("delivered_ce_bytes", "6.18", 260, 4, "delivered bytes whose packets arrived with a mark (AccECN)"),
    Field::new("received_e1_bytes", "6.18", 264, 4, "received bytes with ECT(1)"),
    Field::new("received_e0_bytes", "6.18", 268, 4, "received bytes with ECT(0)"),
    Field::new("received_ce_bytes", "6.18", 272, 4, "received bytes with a congestion mark"),
];

/// The columns of [`TcpInfo`].
pub(crate) fn columns() -> Vec<Column> {
    let mut columns = vec![
        Column::new::<f64>("t_s", "Time of the sample."),
        Column::new::<u32>("flow", "Name of the flow."),
    ];
    columns.extend(FIELDS.iter().map(|field| {
        let column = match field.is_whole() {
            true => Column::new::<u64>(field.name, field.meaning).nullable(),
            false => Column::new::<Option<f64>>(field.name, field.meaning),
        };
        column.source(field.since)
    }));
    columns
}

/// Samples of `struct tcp_info`, column by column: one row for each flow and sample that had a socket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpInfo {
    /// Time of the sample in seconds.
    pub t_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// The fields in the order of [`FIELDS`]; without values if the kernel does not have one.
    pub columns: Vec<Values>,
    /// Bytes of every record.
    record_bytes: usize,
}

impl TcpInfo {
    /// No rows yet.
    pub fn new() -> Self {
        let empty = |field: &Field| match field.is_whole() {
            true => Values::Count(Vec::new()),
            false => Values::Real(Vec::new()),
        };
        TcpInfo { columns: FIELDS.iter().map(empty).collect(), ..TcpInfo::default() }
    }

    /// Adds a row; returns whether the record is as long as those before.
    pub fn push(&mut self, t_s: f64, flow: u32, record: &[u8]) -> bool {
        if self.t_s.is_empty() {
            self.record_bytes = record.len();
        }
        self.t_s.push(t_s);
        self.flow.push(flow);
        for (field, column) in FIELDS.iter().zip(&mut self.columns) {
            match column {
                Values::Count(values) => values.extend(field.raw(record)),
                Values::Real(values) if field.is_in(record.len()) => {
                    values.push(field.real(record));
                }
                _ => {}
            }
        }
        record.len() == self.record_bytes
    }

    /// The columns by their names; those of fields that the kernel lacks are empty.
    pub fn into_columns(self) -> impl Iterator<Item = (&'static str, Values)> {
        let key = [("t_s", self.t_s.into()), ("flow", self.flow.into())];
        key.into_iter().chain(FIELDS.iter().map(|field| field.name).zip(self.columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `offsetof` and `sizeof` that GCC gives for the header of Linux 6.1.
    const LAYOUT_6_1: &str = "
        state 0 1, ca_state 1 1, retransmits 2 1, probes 3 1, backoff 4 1, options 5 1,
        rto_s 8 4, ato_s 12 4, snd_mss_bytes 16 4, rcv_mss_bytes 20 4, unacked_segments 24 4,
        sacked_segments 28 4, lost_segments 32 4, retrans_segments 36 4, fackets_segments 40 4,
        last_data_sent_s 44 4, last_ack_sent_s 48 4, last_data_recv_s 52 4, last_ack_recv_s 56 4,
        pmtu_bytes 60 4, rcv_ssthresh_bytes 64 4, rtt_s 68 4, rttvar_s 72 4,
        snd_ssthresh_segments 76 4, snd_cwnd_segments 80 4, advmss_bytes 84 4,
        reordering_segments 88 4, rcv_rtt_s 92 4, rcv_space_bytes 96 4, total_retrans_segments 100 4,
        pacing_rate_bps 104 8, max_pacing_rate_bps 112 8, bytes_acked 120 8, bytes_received 128 8,
        segs_out 136 4, segs_in 140 4, notsent_bytes 144 4, min_rtt_s 148 4, data_segs_in 152 4,
        data_segs_out 156 4, delivery_rate_bps 160 8, busy_time_s 168 8, rwnd_limited_s 176 8,
        sndbuf_limited_s 184 8, delivered_segments 192 4, delivered_ce_segments 196 4,
        bytes_sent 200 8, bytes_retrans 208 8, dsack_dups_segments 216 4, reord_seen 220 4,
        rcv_ooopack_segments 224 4, snd_wnd_bytes 228 4";
    /// Its size.
    const SIZE_6_1: usize = 232;

    #[test]
    fn fields_lie_where_the_compiler_puts_them() {
        let expected: Vec<(&str, usize, usize)> = LAYOUT_6_1
            .split(',')
            .map(|entry| {
                let words: Vec<&str> = entry.split_whitespace().collect();
                (words[0], words[1].parse().unwrap(), words[2].parse().unwrap())
            })
            .collect();
        let whole = |f: &&Field| f.is_in(SIZE_6_1) && f.bits == (0, u64::MAX);
        let found: Vec<(&str, usize, usize)> =
            FIELDS.iter().filter(whole).map(|f| (f.name, f.offset, f.size)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn bit_fields_lie_where_the_compiler_puts_them() {
        // From a struct with all bits of one field set: the byte, and the bits that are set in it.
        for (name, byte, mask) in [
            ("snd_wscale", 6, 0x0f_u8),
            ("rcv_wscale", 6, 0xf0),
            ("delivery_rate_app_limited", 7, 0x01),
            ("fastopen_client_fail", 7, 0x06),
        ] {
            let mut record = [0; SIZE_6_1];
            record[byte] = mask;
            let all = u64::from(mask >> mask.trailing_zeros());
            assert_eq!(field(name).raw(&record), Some(all), "{name}");
            record[byte] = !mask;
            assert_eq!(field(name).raw(&record), Some(0), "{name}");
        }
    }

    #[test]
    fn fields_follow_each_other_without_gaps() {
        // After the bytes and bit-fields every field begins where the one before ends; the struct
        // of 6.18 has one more word.
        let mut end = 8;
        for field in FIELDS.iter().filter(|f| f.offset >= 8) {
            assert_eq!(field.offset, end, "{}", field.name);
            end += field.size;
        }
        assert_eq!(end, 280 - 4);
    }

    #[test]
    fn values_come_in_the_units_of_their_columns() {
        let mut record = vec![0; 248];
        record[8..12].copy_from_slice(&204_000u32.to_le_bytes());
        record[44..48].copy_from_slice(&7u32.to_le_bytes());
        record[76..80].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
        record[104..112].copy_from_slice(&1_250_000u64.to_le_bytes());
        record[112..120].copy_from_slice(&u64::MAX.to_le_bytes());
        record[148..152].copy_from_slice(&u32::MAX.to_le_bytes());
        record[242..244].copy_from_slice(&3u16.to_le_bytes());
        assert_eq!(field("rto_s").real(&record), 0.204);
        assert_eq!(field("last_data_sent_s").real(&record), 0.007);
        assert!(field("snd_ssthresh_segments").real(&record).is_nan());
        assert_eq!(field("pacing_rate_bps").real(&record), 1e7);
        assert!(field("max_pacing_rate_bps").real(&record).is_nan());
        assert!(field("min_rtt_s").real(&record).is_nan());
        assert_eq!(field("total_rto_recoveries").raw(&record), Some(3));
        assert_eq!(field("received_ce_segments").raw(&record), None);
    }

    #[test]
    fn a_shorter_record_has_empty_columns_for_what_it_lacks() {
        // Linux 2.6.12 ends behind total_retrans.
        let mut info = TcpInfo::new();
        assert!(info.push(0.5, 0, &[1; 104]));
        let has_values = |name: &str| {
            let at = FIELDS.iter().position(|f| f.name == name).unwrap();
            match &info.columns[at] {
                Values::Count(values) => !values.is_empty(),
                Values::Real(values) => !values.is_empty(),
                _ => unreachable!("neither a count nor a real number"),
            }
        };
        assert!(has_values("total_retrans_segments") && has_values("rtt_s"));
        assert!(!has_values("pacing_rate_bps") && !has_values("bytes_acked"));
        assert!(!info.push(0.6, 0, &[1; 232]), "another length");
    }
}
