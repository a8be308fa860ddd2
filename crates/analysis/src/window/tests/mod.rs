//! Sequences by hand, with worked numbers.

mod causes;
mod limits;
mod properties;
mod windows;

use fairway_units::{Duration, Time};

use super::{Window, WindowReport};
use crate::event::{Acked, Flow, Observer, Sent, SentKind};

/// Payload of a full segment.
const MSS: u32 = 1000;
/// Round trip of the path.
const RTT_MS: u64 = 100;

/// Plays a sender and what comes back to a [`Window`], in segments of 1000 bytes.
struct Play {
    window: Window,
    flow: Flow,
    number: u64,
    /// When each segment was sent, and whether more than once.
    sent: Vec<(Time, bool)>,
    sacked: Vec<bool>,
    acked: usize,
}

fn ms(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6).round() as u64)
}

impl Play {
    fn new() -> Play {
        let rtt = Duration::from_millis(RTT_MS);
        let flow = Flow {
            mss_bytes: MSS,
            min_rtt: Some(rtt),
            srtt: Some(rtt),
            rttvar: Some(Duration::ZERO),
            sender_rtt: Some(Duration::ZERO),
            receiver_rtt: Some(rtt),
            has_sack: true,
            window_bytes: 1_000_000,
            ..Flow::default()
        };
        let (sent, sacked) = (Vec::new(), Vec::new());
        Play { window: Window::default(), flow, number: 0, sent, sacked, acked: 0 }
    }

    fn without_sack() -> Play {
        let mut play = Play::new();
        play.flow.has_sack = false;
        play
    }

    /// The sender sends segments `from` up to `to`, exclusive, at `at` milliseconds.
    fn send(&mut self, at: f64, from: usize, to: usize) {
        for segment in from..to {
            self.send_one(at, segment, MSS, None);
        }
    }

    fn send_one(&mut self, at: f64, segment: usize, bytes: u32, timestamps: Option<(u32, u32)>) {
        let previous = self.sent.get(segment).map(|(at, _)| *at);
        if segment >= self.sent.len() {
            self.sent.resize(segment + 1, (ms(at), false));
            self.sacked.resize(segment + 1, false);
        } else {
            self.sent[segment] = (ms(at), true);
        }
        let offset = segment as i64 * i64::from(MSS);
        self.flow.highest_offset = self.flow.highest_offset.max(offset + i64::from(bytes));
        let above = self.sacked[segment + 1..].iter().filter(|sacked| **sacked).count();
        self.number += 1;
        let sent = Sent {
            number: self.number,
            at: ms(at),
            offset,
            bytes,
            new_bytes: if previous.is_none() { bytes } else { 0 },
            kind: if previous.is_none() { SentKind::New } else { SentKind::Retransmission },
            previous,
            sacked_above_bytes: above as u64 * u64::from(MSS),
            timestamps,
            ..Sent::default()
        };
        self.window.sent(&sent, &self.flow);
    }

    /// The receiver acknowledges everything below segment `to`.
    fn ack(&mut self, at: f64, to: usize) {
        self.answer(at, to, &[], None, None);
    }

    /// It acknowledges everything below `to`, and segments above it.
    fn sack(&mut self, at: f64, to: usize, sacked: &[usize]) {
        self.answer(at, to, sacked, None, None);
    }

    fn answer(
        &mut self,
        at: f64,
        to: usize,
        sacked: &[usize],
        dsack: Option<usize>,
        timestamps: Option<(u32, u32)>,
    ) {
        let mss = u64::from(MSS);
        let news: Vec<usize> = (self.acked..to)
            .filter(|segment| !self.sacked[*segment])
            .chain(sacked.iter().copied().filter(|segment| !self.sacked[*segment]))
            .collect();
        let again = news.iter().filter(|segment| self.sent[**segment].1).count() as u64;
        for segment in sacked {
            self.sacked[*segment] = true;
        }
        let acked_bytes = (to.max(self.acked) - self.acked) as u64 * mss;
        self.acked = self.acked.max(to);
        let above: Vec<usize> =
            (self.acked..self.sacked.len()).filter(|segment| self.sacked[*segment]).collect();
        let offset = self.acked as i64 * i64::from(MSS);
        self.flow.acked_offset = offset;
        self.number += 1;
        let acked = Acked {
            number: self.number,
            at: ms(at),
            offset,
            acked_bytes,
            delivered_bytes: news.len() as u64 * mss,
            delivered_again_bytes: again * mss,
            sacked_bytes: above.len() as u64 * mss,
            highest_sacked_offset: above
                .last()
                .map_or(offset, |segment| (*segment as i64 + 1) * i64::from(MSS)),
            timestamps,
            is_duplicate: acked_bytes == 0,
            dsack: dsack.map(|segment| {
                let from = segment as i64 * i64::from(MSS);
                (from, from + i64::from(MSS))
            }),
            window_bytes: self.flow.window_bytes,
            ..Acked::default()
        };
        self.window.acked(&acked, &self.flow);
    }

    fn report(&self) -> WindowReport {
        self.window.report()
    }
}
