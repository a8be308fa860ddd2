//! CDG's own HyStart in Linux 6.1 (`net/ipv4/tcp_cdg.c`, `tcp_cdg_hystart_update`): it works at any
//! window, with ACK trains of gaps below 3 ms and no allowance for bursts, and with a delay
//! increase of an eighth of the minimum RTT without bounds.

use crate::Flow;

/// `HYSTART_ACK_TRAIN` and `HYSTART_DELAY`.
const TRAIN: u8 = 1;
const DELAY: u8 = 2;
/// Least gap between acknowledgements that ends a train, µs.
const TRAIN_GAP_US: u64 = 3_000;
/// Least ACK train and least RTT that end slow start, µs.
const SHORTEST_US: i64 = 125;
/// Acknowledgements of a round before its minimum RTT is used.
const ENOUGH_SAMPLES: u8 = 8;

/// State of CDG's HyStart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CdgHyStart {
    detect: u8,
    min_rtt_us: Option<i64>,
    last_ack_us: Option<u64>,
    train_start_us: u64,
    samples: u8,
}

impl CdgHyStart {
    /// `hystart_detect`: 1 for trains, 2 for delay, 3 for both, 0 for none.
    pub(crate) fn new(detect: u8) -> Self {
        CdgHyStart { detect, min_rtt_us: None, last_ack_us: None, train_start_us: 0, samples: 0 }
    }

    /// Reset.
    pub(crate) fn clear(&mut self) {
        *self = CdgHyStart::new(self.detect);
    }

    /// Begin a round.
    pub(crate) fn start_round(&mut self) {
        self.last_ack_us = None;
        self.samples = 0;
    }

    /// Whether slow start must end; `round_us` is the minimum RTT of the round.
    pub(crate) fn finds_queue(
        &mut self,
        round_us: Option<i64>,
        is_in_use: bool,
        flow: &Flow,
    ) -> bool {
        if self.detect == 0 {
            return false;
        }
        self.min_rtt_us = [self.min_rtt_us, round_us].into_iter().flatten().min();
        let Some(min_rtt_us) = self.min_rtt_us else { return false };
        if self.detect & TRAIN != 0 && self.train_is_long(min_rtt_us, is_in_use, flow) {
            return true;
        }
        self.detect & DELAY != 0 && self.delay_has_risen(min_rtt_us, round_us)
    }

    fn train_is_long(&mut self, min_rtt_us: i64, is_in_use: bool, flow: &Flow) -> bool {
        let now_us = flow.now.as_nanos() / 1_000;
        match self.last_ack_us {
            Some(last_us) if is_in_use => {
                if now_us >= last_us + TRAIN_GAP_US {
                    return false;
                }
                self.last_ack_us = Some(now_us);
                let span = (min_rtt_us / 2).max(SHORTEST_US);
                now_us > self.train_start_us + span.unsigned_abs()
            }
            _ => {
                self.last_ack_us = Some(now_us);
                self.train_start_us = now_us;
                false
            }
        }
    }

    fn delay_has_risen(&mut self, min_rtt_us: i64, round_us: Option<i64>) -> bool {
        if self.samples < ENOUGH_SAMPLES {
            self.samples += 1;
            return false;
        }
        round_us.is_some_and(|round_us| round_us > (min_rtt_us + min_rtt_us / 8).max(SHORTEST_US))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flow_at;
    use fairway_units::Time;

    /// The acknowledgement, counted from 1, that ends slow start: each `gap_us` after the one
    /// before, in rounds whose minimum RTT is `round_us` after a first one of 40 ms.
    fn exit(detect: u8, gap_us: u64, round_us: i64, is_in_use: bool) -> Option<u64> {
        let mut hystart = CdgHyStart::new(detect);
        hystart.min_rtt_us = Some(40_000);
        (1..=1_000).find(|count| {
            let flow = flow_at(Time::from_nanos(count * gap_us * 1_000));
            hystart.finds_queue(Some(round_us), is_in_use, &flow)
        })
    }

    #[test]
    fn a_train_of_half_the_rtt_ends_slow_start() {
        // More than 20 ms from the first: 20.001 ms at gaps of 1 ms is the 22nd.
        assert_eq!(exit(1, 1_000, 40_000, true), Some(22));
        assert_eq!(exit(1, 3_000, 40_000, true), None);
        assert_eq!(exit(1, 1_000, 40_000, false), None);
        assert_eq!(exit(2, 1_000, 40_000, true), None);
    }

    #[test]
    fn a_rise_of_an_eighth_ends_slow_start_at_the_ninth_sample() {
        // 40 + 5 ms.
        assert_eq!(exit(2, 5_000, 45_000, true), None);
        assert_eq!(exit(2, 5_000, 45_001, true), Some(9));
        assert_eq!(exit(3, 5_000, 45_001, true), Some(9));
        assert_eq!(exit(1, 5_000, 45_001, true), None);
        assert_eq!(exit(0, 1_000, 90_000, true), None);
    }
}
