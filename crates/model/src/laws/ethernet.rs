//! What a line of Ethernet carries at most: datagrams and TCP, with a share of the frames lost.

use super::Law;
use super::quantity::{parameters, quantities};
use crate::answer::Answer;

/// IEEE 802.3: preamble and delimiter 8, addresses and type 14, check sequence 4, gap 12; and the least
/// that a frame carries.
const FRAME_BYTES: f64 = 8.0 + 14.0 + 4.0 + 12.0;
const LEAST_BYTES: f64 = 46.0;
/// RFC 791: 20; RFC 768: 8; RFC 9293: 20.
const IP_BYTES: f64 = 20.0;
const UDP_BYTES: f64 = 8.0;
const TCP_BYTES: f64 = 20.0;
/// Payload of a frame (IEEE 802.3), without jumbo frames.
const MTU_BYTES: f64 = 1500.0;

const LARGE: &str = "packets above 1500 bytes: jumbo frames or fragments";

quantities! {
    /// The most that arrives.
    Ceiling {
        /// Payload delivered.
        goodput_bps,
        /// Packets delivered.
        rate_pps,
        /// Payload that the line would carry without loss.
        line_payload_bps,
    }
}

/// Of packets of `payload` bytes with `headers` more, as many as are offered and the line takes.
fn ceiling(
    line_bps: f64,
    payload: f64,
    headers: f64,
    offered_bps: f64,
    loss: f64,
) -> Answer<Ceiling> {
    let frame_bytes = f64::max(payload + headers, LEAST_BYTES) + FRAME_BYTES;
    let line_payload_bps = line_bps * payload / frame_bytes;
    // Lost on the way or at the end of it: what is lost has taken its part of the line.
    let goodput_bps = offered_bps.min(line_payload_bps) * (1.0 - loss);
    let value = Ceiling { goodput_bps, rate_pps: goodput_bps / (8.0 * payload), line_payload_bps };
    Answer::new(value, (payload + headers > MTU_BYTES).then_some(LARGE))
}

parameters! {
    /// Datagrams over a line of Ethernet.
    Udp {
        /// Offered payload; infinite to saturate the line.
        offered_bps: PositiveLimit,
        /// Rate of the line.
        line_bps: Positive,
        /// Payload of a datagram.
        payload_bytes: Positive = 1470.0,
        /// Share of datagrams lost beyond the line.
        loss: Share = 0.0,
    }
}

impl Law for Udp {
    const NAME: &'static str = "udp";
    const TITLE: &'static str = "Datagrams over Ethernet, with losses";
    const EQUATION: &'static str = "min(offered, line·payload/(payload + 28 + 38))·(1−p)";
    const RANGE: &'static str = "packets up to 1500 bytes, losses beyond the line";
    const SOURCE: &'static str = "IEEE 802.3; RFC 791; RFC 768";
    type Value = Ceiling;

    #[inline]
    fn answer(&self) -> Answer<Ceiling> {
        let headers = IP_BYTES + UDP_BYTES;
        ceiling(self.line_bps, self.payload_bytes, headers, self.offered_bps, self.loss)
    }
}

parameters! {
    /// TCP that fills a line of Ethernet, whatever repairs its losses.
    TcpCeiling {
        /// Rate of the line.
        line_bps: Positive,
        /// Payload of a packet: 1460 bytes, or 1448 with timestamps.
        payload_bytes: Positive = 1448.0,
        /// Options in each header: 12 bytes for timestamps.
        option_bytes: NotNegative = 12.0,
        /// Share of packets lost beyond the line, and retransmitted.
        loss: Share = 0.0,
    }
}

impl Law for TcpCeiling {
    const NAME: &'static str = "tcp-ceiling";
    const TITLE: &'static str = "The most that TCP can carry over Ethernet";
    const EQUATION: &'static str = "line·payload/(payload + 40 + options + 38)·(1−p)";
    const RANGE: &'static str = "packets up to 1500 bytes, losses beyond the line";
    const SOURCE: &'static str = "IEEE 802.3; RFC 791; RFC 9293; RFC 7323";
    type Value = Ceiling;

    #[inline]
    fn answer(&self) -> Answer<Ceiling> {
        let headers = IP_BYTES + TCP_BYTES + self.option_bytes;
        ceiling(self.line_bps, self.payload_bytes, headers, f64::INFINITY, self.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn datagrams() {
        // 1470 of 1470 + 28 + 38 = 1536 bytes: 95.7031 Mbit/s of 100, and 0.85 of that.
        for (offered_bps, loss, goodput) in
            [(f64::INFINITY, 0.0, 95.7031e6), (100e6, 0.15, 81.3477e6), (10e6, 0.05, 9.5e6)]
        {
            let law = Udp { offered_bps, line_bps: 100e6, payload_bytes: 1470.0, loss };
            let found = law.evaluate().unwrap();
            near(found.value.goodput_bps, goodput);
            near(found.value.rate_pps, goodput / 11_760.0);
            assert!(found.in_range());
        }
        // A byte goes in a frame of 46 + 38.
        let tiny =
            Udp { offered_bps: f64::INFINITY, line_bps: 84e6, payload_bytes: 1.0, loss: 0.0 };
        near(tiny.evaluate().unwrap().value.goodput_bps, 1e6);
    }

    #[test]
    fn tcp() {
        // 1460/1538 and 1448/1538.
        for (payload_bytes, option_bytes, share) in
            [(1460.0, 0.0, 0.949_285), (1448.0, 12.0, 0.941_482)]
        {
            let law = TcpCeiling { line_bps: 100e6, payload_bytes, option_bytes, loss: 0.0 };
            near(law.evaluate().unwrap().value.goodput_bps, share * 1e8);
            let lossy = TcpCeiling { loss: 0.5, ..law }.evaluate().unwrap().value;
            near(lossy.goodput_bps, share * 5e7);
        }
        let large =
            TcpCeiling { line_bps: 1e8, payload_bytes: 1461.0, option_bytes: 0.0, loss: 0.0 };
        assert_eq!(large.evaluate().unwrap().outside, Some(LARGE));
    }
}
