//! What BBR, version 1, leaves to others: Ware, Mukerjee, Seshan, Sherry 2019 ("Modeling BBR's Interactions
//! with Loss-Based Congestion Control"), whose equations are numbered below.

use super::Law;
use super::quantity::{parameters, quantities};
use crate::answer::Answer;
use crate::constants::{BBR_PROBE_INTERVAL_S, BBR_PROBE_S};

const SHALLOW: &str = "a buffer of one bandwidth-delay product or less";
const DRAINING: &str = "a buffer that takes longer than ten seconds to drain";
const CLAMPED: &str = "so many BBR flows that the equation leaves nothing to others";

parameters! {
    /// BBR beside streams that only losses stop, in front of a buffer that they keep full.
    BbrShare {
        /// Capacity of the bottleneck.
        capacity_pps: Positive,
        /// Round-trip time without a queue.
        rtt_s: Positive,
        /// Buffer in bandwidth-delay products.
        buffer_bdp: Positive,
        /// Streams of BBR; the number of others does not matter.
        bbr_flows: OneOrMore = 1.0,
    }
}

quantities! {
    /// How they share.
    BbrShares {
        /// Share of the capacity of all BBR streams together.
        bbr_share,
        /// Rate of all BBR streams together.
        bbr_pps,
        /// Share of the buffer that the others hold while BBR does not probe (equation 9).
        loss_based_share,
        /// Share of the time BBR spends probing for the round-trip time (equation 10).
        probing_share,
    }
}

impl Law for BbrShare {
    const NAME: &'static str = "bbr-share";
    const TITLE: &'static str = "BBR, version 1, beside streams that only losses stop";
    const EQUATION: &'static str = "(1−p)·(1−(q/C+0.2+T)/10), p = 1/2 − 1/(2X) − 4N/q, q = X·C·T";
    const RANGE: &'static str = "drop-tail, more than one BDP of buffer, kept full";
    const SOURCE: &'static str = "Ware, Mukerjee, Seshan, Sherry, IMC 2019, equations 9 to 11";
    type Value = BbrShares;

    #[inline]
    fn answer(&self) -> Answer<BbrShares> {
        let buffer = self.buffer_bdp * self.capacity_pps * self.rtt_s;
        let free = 0.5 - 0.5 / self.buffer_bdp - 4.0 * self.bbr_flows / buffer;
        let probing =
            (buffer / self.capacity_pps + BBR_PROBE_S + self.rtt_s) / BBR_PROBE_INTERVAL_S;
        let (loss_based_share, probing_share) = (free.clamp(0.0, 1.0), probing.min(1.0));
        let bbr_share = (1.0 - loss_based_share) * (1.0 - probing_share);
        let bbr_pps = bbr_share * self.capacity_pps;
        let value = BbrShares { bbr_share, bbr_pps, loss_based_share, probing_share };
        let outside = if self.buffer_bdp <= 1.0 {
            Some(SHALLOW)
        } else if probing >= 1.0 {
            Some(DRAINING)
        } else {
            (free < 0.0).then_some(CLAMPED)
        };
        Answer::new(value, outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn by_hand() {
        // The first: q = 10·166.667, 0.5 − 0.05 − 4/1666.67 = 0.4476; (0.4 + 0.2 + 0.04)/10 = 0.064;
        // 0.5524·0.936 = 0.517046.
        for (capacity_pps, buffer_bdp, bbr_flows, others, probing, share) in [
            (4166.667, 10.0, 1.0, 0.4476, 0.064, 0.517_046),
            (4166.667, 32.0, 4.0, 0.481_375, 0.152, 0.439_794),
            (833.333, 2.0, 1.0, 0.19, 0.032, 0.784_08),
        ] {
            let law = BbrShare { capacity_pps, rtt_s: 0.04, buffer_bdp, bbr_flows };
            let found = law.evaluate().unwrap();
            near(found.value.loss_based_share, others);
            near(found.value.probing_share, probing);
            near(found.value.bbr_share, share);
            assert!(found.in_range());
        }
    }

    #[test]
    fn where_it_does_not_hold() {
        let law = BbrShare { capacity_pps: 1000.0, rtt_s: 0.1, buffer_bdp: 2.0, bbr_flows: 1.0 };
        assert!(law.evaluate().unwrap().in_range());
        for (law, reason) in [
            (BbrShare { buffer_bdp: 1.0, ..law }, SHALLOW),
            (BbrShare { buffer_bdp: 100.0, ..law }, DRAINING),
            (BbrShare { bbr_flows: 100.0, ..law }, CLAMPED),
        ] {
            let found = law.evaluate().unwrap();
            assert_eq!(found.outside, Some(reason));
            assert!((0.0..=1.0).contains(&found.value.bbr_share));
        }
    }
}
