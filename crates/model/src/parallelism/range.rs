//! Where the threshold may not be believed.

use super::{Algorithm, Losers, Path, SMALL_WINDOW_PACKETS, Streams, Threshold};

/// The square-root law's upper end: above it timeouts decide, which only Reno's model knows (Padhye et al.
/// 1998, section 4).
const LAW_ENDS: f64 = 0.02;
/// The upper end of what that model was compared with (Padhye et al. 1998, section 3).
const PFTK_ENDS: f64 = 0.3;
/// BBR's tolerance of losses (Cardwell et al. 2016, "BBR: Congestion-Based Congestion Control", figure 8).
const BBR_ENDS: f64 = 0.15;
/// What BBR leaves of the time when it empties its window for 0.2 s in 10 s (the same, "ProbeRTT").
const BBR_SHARE: f64 = 0.98;
/// Where the loser is random, the mean that the sawtooth is computed from promises more than the mean of
/// what comes out: up to 0.6 % where it is close to 1 (found by simulating uniform losers).
const RANDOM_SHARE: f64 = 0.98;
/// Packets that each Vegas keeps in the queue at least (Brakmo, Peterson 1995, section 4: alpha in Linux).
const DELAY_BASED_QUEUE: f64 = 2.0;

impl Path {
    /// Why a threshold may not be believed; none where the models behind it hold.
    pub(super) fn outside(
        &self,
        streams: &Streams,
        threshold: &Threshold,
        target: f64,
    ) -> Option<&'static str> {
        let Some(n) = threshold.streams else {
            return Some("streams that back off together leave a gap, however many they are");
        };
        let Streams { algorithm, losers, .. } = *streams;
        let n = f64::from(n);
        let window = (self.pipe_packets() + self.buffer_packets) / n;
        let reno = self.loss > 0.0 && algorithm.is_reno_at(self.loss, self.rtt_s);
        let is_bbr = algorithm == Algorithm::Bbr;
        [
            (self.loss > PFTK_ENDS, "losses above 30 %, where no model was compared with anything"),
            (is_bbr && self.loss > BBR_ENDS, "losses above 15 %, which slow BBR down"),
            (
                is_bbr && target > BBR_SHARE,
                "a target above 0.98, which BBR gives up to measure the round-trip time",
            ),
            (
                self.loss > LAW_ENDS && !is_bbr && !reno,
                "losses above 2 %, whose timeouts the model knows for Reno only",
            ),
            (
                threshold.overflows && window < SMALL_WINDOW_PACKETS,
                "windows below 6 packets, where timeouts decide: expect 30 % error",
            ),
            (
                algorithm == Algorithm::Bic && self.loss > 0.0,
                "BIC's window under random losses is taken for Reno's, which is never more",
            ),
            (
                algorithm == Algorithm::Delay
                    && threshold.overflows
                    && self.buffer_packets < DELAY_BASED_QUEUE * n,
                "a buffer without room for the queue that delay-based streams keep",
            ),
            (
                target > RANDOM_SHARE
                    && threshold.overflows
                    && matches!(losers, Losers::Random { .. }),
                "a target above 0.98 where losers are random: the mean promises too much",
            ),
        ]
        .into_iter()
        .find_map(|(is_outside, why)| is_outside.then_some(why))
    }
}
