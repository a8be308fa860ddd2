//! Single packets of a direction, as diagrams show them: a row for each segment, each
//! acknowledgement and each block of a selective acknowledgement.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairway_capture::packet::Fate;
use fairway_units::{Duration, Time};

use crate::event::{Acked, Flow, Observer, Sent, SentKind};

/// Stands for "none" in a column of bytes.
pub const NONE: i64 = -1;

/// Kinds of rows. The number is the column's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Row {
    /// A segment with new data.
    Data,
    /// A segment that was sent before.
    Retransmission,
    /// A segment that fills a hole.
    FillsHole,
    /// A probe of a closed window.
    WindowProbe,
    /// A keep-alive.
    KeepAlive,
    /// An acknowledgement: from what was acknowledged before to what is now.
    Ack,
    /// A block of a selective acknowledgement.
    Sack,
    /// A block that says that a segment has arrived twice (RFC 2883).
    Dsack,
}

impl Row {
    /// Names, by number.
    pub const NAMES: [&str; 8] = [
        "data",
        "retransmission",
        "fills hole",
        "window probe",
        "keep-alive",
        "ack",
        "sack",
        "dsack",
    ];
}

/// Fates of packets, by number: [`Fate`] without `Unknown`.
pub const FATES: [&str; 3] = ["dropped", "lost", "corrupted"];

/// Rows that may still be stored, by everything that shares the budget.
#[derive(Clone, Debug, Default)]
pub struct RowBudget(Arc<AtomicUsize>);

impl RowBudget {
    /// A budget of `rows`.
    pub fn new(rows: usize) -> RowBudget {
        RowBudget(Arc::new(AtomicUsize::new(rows)))
    }

    /// Takes one row from the budget; false if it is spent.
    fn take(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }
}

/// Rows of one direction between two times, in columns; those beyond a limit are counted only.
#[derive(Clone, Debug)]
pub struct Detail {
    from: Time,
    until: Time,
    budget: RowBudget,
    /// Rows beyond the budget.
    pub left_out: u64,
    /// When, as the capture counts.
    pub at_ns: Vec<u64>,
    /// Number of the packet.
    pub packet: Vec<u64>,
    /// A [`Row`].
    pub what: Vec<u8>,
    /// Offset of the first byte.
    pub from_byte: Vec<i64>,
    /// Offset of the last byte, exclusive.
    pub to_byte: Vec<i64>,
    /// Offset where the receive window ends, of acknowledgements; else [`NONE`].
    pub window_end_byte: Vec<i64>,
    /// Bytes in flight with it, of segments and acknowledgements; else [`NONE`].
    pub flight_bytes: Vec<i64>,
    /// Round trip by sequence numbers, of acknowledgements that give one; else NaN.
    pub rtt_s: Vec<f64>,
    /// Index in [`FATES`], or -1.
    pub fate: Vec<i8>,
    acked_offset: Option<i64>,
}

impl Detail {
    /// Nothing yet. Both ends of the time are included.
    pub fn new(from: Time, until: Time, budget: RowBudget) -> Detail {
        Detail {
            from,
            until,
            budget,
            left_out: 0,
            at_ns: Vec::new(),
            packet: Vec::new(),
            what: Vec::new(),
            from_byte: Vec::new(),
            to_byte: Vec::new(),
            window_end_byte: Vec::new(),
            flight_bytes: Vec::new(),
            rtt_s: Vec::new(),
            fate: Vec::new(),
            acked_offset: None,
        }
    }

    fn is_wanted(&self, at: Time) -> bool {
        self.from <= at && at <= self.until
    }

    fn add(&mut self, number: u64, at: Time, row: Row, bytes: (i64, i64), rest: Rest) {
        if !self.budget.take() {
            self.left_out += 1;
            return;
        }
        self.at_ns.push(at.as_nanos());
        self.packet.push(number);
        self.what.push(row as u8);
        self.from_byte.push(bytes.0);
        self.to_byte.push(bytes.1);
        self.window_end_byte.push(rest.window_end.unwrap_or(NONE));
        self.flight_bytes
            .push(rest.flight_bytes.and_then(|b| i64::try_from(b).ok()).unwrap_or(NONE));
        self.rtt_s.push(rest.rtt.map_or(f64::NAN, Duration::as_secs_f64));
        self.fate.push(rest.fate);
    }
}

/// Values that not every row has.
struct Rest {
    window_end: Option<i64>,
    flight_bytes: Option<u64>,
    rtt: Option<Duration>,
    fate: i8,
}

const NOTHING: Rest = Rest { window_end: None, flight_bytes: None, rtt: None, fate: -1 };

impl Observer for Detail {
    fn sent(&mut self, sent: &Sent, _flow: &Flow) {
        if !self.is_wanted(sent.at) {
            return;
        }
        let row = match sent.kind {
            SentKind::New => Row::Data,
            SentKind::Retransmission => Row::Retransmission,
            SentKind::FillsHole => Row::FillsHole,
            SentKind::WindowProbe => Row::WindowProbe,
            SentKind::KeepAlive => Row::KeepAlive,
        };
        let fate = match sent.fate {
            Fate::Unknown => -1,
            Fate::Dropped => 0,
            Fate::Lost => 1,
            Fate::Corrupted => 2,
        };
        let bytes = (sent.offset, sent.offset.saturating_add(i64::from(sent.bytes)));
        let rest = Rest { flight_bytes: Some(sent.flight_bytes), fate, ..NOTHING };
        self.add(sent.number, sent.at, row, bytes, rest);
    }

    fn acked(&mut self, acked: &Acked, _flow: &Flow) {
        let before = self.acked_offset.replace(acked.offset).unwrap_or(acked.offset);
        if !self.is_wanted(acked.at) {
            return;
        }
        let window = i64::try_from(acked.window_bytes).unwrap_or(i64::MAX);
        let rest = Rest {
            window_end: Some(acked.offset.saturating_add(window)),
            flight_bytes: Some(acked.flight_bytes),
            rtt: acked.rtt,
            ..NOTHING
        };
        self.add(acked.number, acked.at, Row::Ack, (before, acked.offset), rest);
        if let Some(twice) = acked.dsack {
            self.add(acked.number, acked.at, Row::Dsack, twice, NOTHING);
        }
        for block in acked.sack_blocks() {
            self.add(acked.number, acked.at, Row::Sack, *block, NOTHING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn all() -> Detail {
        Detail::new(Time::from_nanos(0), Time::from_nanos(u64::MAX), RowBudget::new(100))
    }

    #[test]
    fn a_segment_and_what_became_of_it() {
        let mut detail = all();
        let segment = Sent { offset: 3000, bytes: 1000, flight_bytes: 4000, ..Sent::default() };
        detail.sent(&Sent { fate: Fate::Lost, ..segment }, &Flow::default());
        assert_eq!((detail.from_byte[0], detail.to_byte[0]), (3000, 4000));
        assert_eq!((detail.flight_bytes[0], detail.window_end_byte[0]), (4000, NONE));
        assert_eq!(FATES[detail.fate[0] as usize], "lost");
        assert!(detail.rtt_s[0].is_nan());
    }

    #[test]
    fn an_acknowledgement_and_its_blocks_are_rows_of_one_packet() {
        let mut detail = all();
        let first = Acked { offset: 1000, window_bytes: 500, ..Acked::default() };
        detail.acked(&first, &Flow::default());
        let mut second = Acked { offset: 2000, window_bytes: 500, ..Acked::default() };
        second.sack[0] = (3000, 4000);
        second.sack_count = 1;
        second.dsack = Some((1000, 1500));
        second.rtt = Some(Duration::from_millis(40));
        detail.acked(&second, &Flow::default());
        assert_eq!(detail.what, [5, 5, 7, 6]);
        assert_eq!(detail.from_byte, [1000, 1000, 1000, 3000]);
        assert_eq!(detail.to_byte, [1000, 2000, 1500, 4000]);
        assert_eq!(detail.window_end_byte, [1500, 2500, NONE, NONE]);
        assert_eq!(detail.rtt_s[1], 0.04);
    }

    #[test]
    fn only_what_is_asked_for_and_no_more_than_there_is_room_for() {
        let mut detail = Detail::new(at_s(2), at_s(5), RowBudget::new(3));
        for second in 0..10 {
            detail.sent(&Sent { at: at_s(second), ..Sent::default() }, &Flow::default());
        }
        assert_eq!(detail.at_ns, [2_000_000_000, 3_000_000_000, 4_000_000_000]);
        assert_eq!(detail.left_out, 1);
    }
}
