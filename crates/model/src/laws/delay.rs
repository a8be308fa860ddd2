//! Streams that keep a queue of their own choice: Vegas and FAST.

use super::Law;
use super::quantity::{parameters, quantities};
use crate::answer::Answer;
use crate::error::Error;

const NO_ROOM: &str = "the buffer does not hold the queue: losses set the windows";

quantities! {
    /// Where streams and their queue are in balance.
    Balance {
        /// Congestion window of the stream.
        window_packets,
        /// Its rate.
        rate_pps,
        /// Queue of all streams together.
        queue_packets,
        /// Round-trip time with that queue.
        rtt_with_queue_s,
    }
}

/// A stream that takes `rate_pps` of a path with a queue of `queue` packets.
fn balance(rate_pps: f64, queue_packets: f64, capacity_pps: f64, rtt_s: f64) -> Balance {
    let rtt_with_queue_s = rtt_s + queue_packets / capacity_pps;
    let window_packets = rate_pps * rtt_with_queue_s;
    Balance { window_packets, rate_pps, queue_packets, rtt_with_queue_s }
}

/// A queue that is as large as the buffer is dropped from.
fn overflow(queue_packets: f64, buffer_packets: f64) -> Option<&'static str> {
    (queue_packets >= buffer_packets).then_some(NO_ROOM)
}

parameters! {
    /// Streams that are alike, each of which keeps some packets queued and knows the round-trip time
    /// without a queue.
    Vegas {
        /// Streams.
        flows: OneOrMore,
        /// Packets that each stream keeps queued: between Vegas's alpha and beta.
        alpha_packets: Positive,
        /// Capacity of the bottleneck.
        capacity_pps: Positive,
        /// Round-trip time without a queue.
        rtt_s: Positive,
        /// Buffer of the bottleneck.
        buffer_packets: Limit = f64::INFINITY,
    }
}

impl Law for Vegas {
    const NAME: &'static str = "vegas";
    const TITLE: &'static str =
        "Vegas, and FAST with equal alphas: each stream keeps packets queued";
    const EQUATION: &'static str = "queue N·α, RTT T + N·α/C, w = C·T/N + α";
    const RANGE: &'static str = "a buffer of more than N·α packets, correct base RTTs";
    const SOURCE: &'static str =
        "Brakmo, Peterson, IEEE JSAC 13(8), 1995; Low, Peterson, Wang, J. ACM 49(2), 2002";
    type Value = Balance;

    #[inline]
    fn answer(&self) -> Answer<Balance> {
        let queue = self.flows * self.alpha_packets;
        let rate = self.capacity_pps / self.flows;
        let value = balance(rate, queue, self.capacity_pps, self.rtt_s);
        Answer::new(value, overflow(queue, self.buffer_packets))
    }
}

parameters! {
    /// One of several streams of FAST with different alphas.
    Fast {
        /// Packets that the stream keeps queued.
        alpha_packets: Positive,
        /// Packets that all streams together keep queued, this one included.
        sum_of_alphas_packets: Positive,
        /// Capacity of the bottleneck.
        capacity_pps: Positive,
        /// Round-trip time of this stream without a queue.
        rtt_s: Positive,
        /// Buffer of the bottleneck.
        buffer_packets: Limit = f64::INFINITY,
    }
}

impl Law for Fast {
    const NAME: &'static str = "fast";
    const TITLE: &'static str =
        "FAST: rates in proportion to alphas, whatever the round-trip times";
    const EQUATION: &'static str = "rate C·α/Σα, queue Σα, w = rate·(T + Σα/C)";
    const RANGE: &'static str = "a buffer of more than Σα packets, correct base RTTs";
    const SOURCE: &'static str = "Wei, Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006, section III";
    type Value = Balance;

    fn consistent(&self) -> Result<(), Error> {
        if self.sum_of_alphas_packets >= self.alpha_packets {
            return Ok(());
        }
        Err(Error {
            quantity: "sum_of_alphas_packets",
            expected: "at least alpha_packets, which it has in it",
            found: self.sum_of_alphas_packets,
        })
    }

    #[inline]
    fn answer(&self) -> Answer<Balance> {
        let queue = self.sum_of_alphas_packets;
        let rate = self.capacity_pps * self.alpha_packets / queue;
        let value = balance(rate, queue, self.capacity_pps, self.rtt_s);
        Answer::new(value, overflow(queue, self.buffer_packets))
    }
}

parameters! {
    /// A stream that comes when others already keep their queue, which it takes for propagation.
    LateJoiner {
        /// Earlier streams, which know the round-trip time without a queue.
        earlier_flows: OneOrMore,
        /// Packets that each stream aims to keep queued.
        alpha_packets: Positive,
        /// Capacity of the bottleneck.
        capacity_pps: Positive,
        /// Round-trip time without a queue.
        rtt_s: Positive,
        /// Buffer of the bottleneck.
        buffer_packets: Limit = f64::INFINITY,
    }
}

quantities! {
    /// How the last stream and the earlier ones share.
    Joined {
        /// Share of the capacity of the last stream.
        late_share,
        /// Share of each earlier stream.
        earlier_share,
        /// Rate of the last stream.
        late_pps,
        /// Rate of each earlier stream.
        earlier_pps,
        /// Queue of all streams together.
        queue_packets,
        /// Round-trip time with that queue.
        rtt_with_queue_s,
    }
}

impl Law for LateJoiner {
    const NAME: &'static str = "late-joiner";
    const TITLE: &'static str =
        "Vegas or FAST that mistakes the others' queue for propagation delay";
    const EQUATION: &'static str = "queue α·u, N/u + 1/(u−N) = 1; shares 1/u and 1/(u−N)";
    const RANGE: &'static str = "a buffer that holds the queue";
    const SOURCE: &'static str = "derived from the equilibrium of Vegas";
    type Value = Joined;

    #[inline]
    fn answer(&self) -> Answer<Joined> {
        // An earlier stream of rate x keeps x·q/C = α packets; the last one x·(q - N·α)/C = α.
        let n = self.earlier_flows;
        let u = (2.0 * n + 1.0 + libm::sqrt(4.0 * n + 1.0)) / 2.0;
        let (late_share, earlier_share) = (1.0 / (u - n), 1.0 / u);
        let queue_packets = self.alpha_packets * u;
        let value = Joined {
            late_share,
            earlier_share,
            late_pps: late_share * self.capacity_pps,
            earlier_pps: earlier_share * self.capacity_pps,
            queue_packets,
            rtt_with_queue_s: self.rtt_s + queue_packets / self.capacity_pps,
        };
        Answer::new(value, overflow(queue_packets, self.buffer_packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    const INFINITE: f64 = f64::INFINITY;

    #[test]
    fn vegas() {
        // N·α; T + N·α/C; C·T/N + α: 1000·0.1 + 3, 1250·0.04/4 + 2, 8333.33·0.1/10 + 3.
        for (flows, alpha, capacity, rtt, queue, with_queue, window) in [
            (1.0, 3.0, 1000.0, 0.1, 3.0, 0.103, 103.0),
            (4.0, 2.0, 1250.0, 0.04, 8.0, 0.0464, 14.5),
            (10.0, 3.0, 8333.33, 0.1, 30.0, 0.1036, 86.3333),
        ] {
            let law = Vegas {
                flows,
                alpha_packets: alpha,
                capacity_pps: capacity,
                rtt_s: rtt,
                buffer_packets: INFINITE,
            };
            let found = law.evaluate().unwrap().value;
            near(found.queue_packets, queue);
            near(found.rtt_with_queue_s, with_queue);
            near(found.window_packets, window);
            let tight = Vegas { buffer_packets: queue, ..law }.evaluate().unwrap();
            assert_eq!(tight.outside, Some(NO_ROOM));
        }
    }

    #[test]
    fn fast_shares_by_alpha() {
        // 2 of 8 packets: a quarter of 1250, and 312.5·(0.04 + 8/1250) = 14.5.
        let law = Fast {
            alpha_packets: 2.0,
            sum_of_alphas_packets: 8.0,
            capacity_pps: 1250.0,
            rtt_s: 0.04,
            buffer_packets: INFINITE,
        };
        let found = law.evaluate().unwrap().value;
        near(found.rate_pps, 312.5);
        near(found.window_packets, 14.5);
        let bad = Fast { sum_of_alphas_packets: 1.0, ..law }.evaluate().unwrap_err();
        assert_eq!(bad.quantity, "sum_of_alphas_packets");
    }

    #[test]
    fn late_joiner() {
        // u² − 3u + 1 = 0: u = (3 + √5)/2 = 2.61803, so 1/u = 0.38197 and 3·u = 7.8541.
        let law = LateJoiner {
            earlier_flows: 1.0,
            alpha_packets: 3.0,
            capacity_pps: 1000.0,
            rtt_s: 0.1,
            buffer_packets: INFINITE,
        };
        let found = law.evaluate().unwrap().value;
        near(found.earlier_share, 0.381_966);
        near(found.late_share, 0.618_034);
        near(found.queue_packets, 7.854_1);
        // Two before it: u = (5 + 3)/2 = 4, so a quarter each and a half.
        let three = LateJoiner { earlier_flows: 2.0, ..law }.evaluate().unwrap().value;
        assert_eq!((three.earlier_share, three.late_share), (0.25, 0.5));
    }
}
