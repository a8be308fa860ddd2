//! Rounds counted in data, and their delay: the minimum RTT of a round against that of the
//! connection, which approximates the base RTT.

use fairway_units::Duration;

use crate::{Ack, Flow, Phase};

/// A round trip: it ends when data sent after its start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// SND.NXT when the round before this one began.
    start: u64,
    end: u64,
    acknowledged: u64,
}

impl Round {
    /// Begin anew: data not yet sent will end the round.
    pub(crate) fn restart(&mut self, flow: &Flow) {
        self.end = flow.snd_nxt;
    }

    /// Whether this acknowledgement ends the round. If so, the next one begins with it.
    pub(crate) fn ends(&mut self, flow: &Flow) -> bool {
        let ends = flow.snd_una > self.end;
        if ends {
            self.acknowledged = self.end.saturating_sub(self.start);
            self.start = self.end;
            self.restart(flow);
        }
        ends
    }

    /// Bytes acknowledged in the last round, which were sent in the one before.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

/// Delay of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delay {
    /// Minimum RTT of the connection.
    pub(crate) base: Duration,
    /// Minimum RTT of the round.
    pub(crate) rtt: Duration,
}

impl Delay {
    /// Segments of `window` in queues: W·(rtt − base)/rtt.
    pub(crate) fn backlog(self, window: f64) -> f64 {
        let rtt_s = self.rtt.as_secs_f64();
        if rtt_s > 0.0 { window * self.queueing().as_secs_f64() / rtt_s } else { 0.0 }
    }

    /// Queueing delay.
    pub(crate) fn queueing(self) -> Duration {
        self.rtt - self.base
    }

    /// Base and RTT in whole microseconds, plus one to allow division, as in Linux 6.1
    /// (`tcp_vegas.c`, `tcp_vegas_pkts_acked`).
    pub(crate) fn micros(self) -> (u64, u64) {
        (self.base.as_micros() + 1, self.rtt.as_micros() + 1)
    }
}

/// Rounds and their delays as in Linux's Vegas, YeAH and Compound (`tcp_vegas.c`): a round begins
/// anew when the sender returns to [`Phase::Open`] (`tcp_vegas_state`, called only on changes).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelayRound {
    round: Round,
    phase: Phase,
    is_open: bool,
    base: Option<Duration>,
    rtt: Option<Duration>,
    samples: u32,
}

impl DelayRound {
    /// Samples that Linux requires of a round, as fewer may all be of delayed acknowledgements
    /// (`tcp_vegas_cong_avoid`).
    pub(crate) const ENOUGH: u32 = 3;

    pub(crate) fn new() -> Self {
        DelayRound {
            round: Round::default(),
            phase: Phase::Open,
            is_open: true,
            base: None,
            rtt: None,
            samples: 0,
        }
    }

    /// Process an acknowledgement, before [`DelayRound::ends`].
    pub(crate) fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if let Some(rtt) = ack.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.rtt = Some(self.rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        match flow.phase {
            phase if phase == self.phase => {}
            Phase::Open => self.restart(flow),
            phase => (self.phase, self.is_open) = (phase, false),
        }
    }

    /// Discard samples: a congestion episode ended or sending resumed.
    pub(crate) fn restart(&mut self, flow: &Flow) {
        self.phase = flow.phase;
        self.is_open = true;
        self.round.restart(flow);
        self.clear();
    }

    /// A congestion episode ended, unless another phase follows it.
    pub(crate) fn on_recovered(&mut self, flow: &Flow) {
        self.restart(flow);
        self.is_open = flow.phase == Phase::Open;
    }

    /// Sending resumes after an idle period, in which the path may have changed
    /// (`tcp_vegas_cwnd_event`), in any phase.
    pub(crate) fn on_idle(&mut self, flow: &Flow) {
        self.base = None;
        self.restart(flow);
    }

    /// Whether the phase is open, so that delay indicates queueing.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether this acknowledgement ends the round. If so, the next one begins, and the caller must
    /// [`take`](Self::take) the samples.
    pub(crate) fn ends(&mut self, flow: &Flow) -> bool {
        self.round.ends(flow)
    }

    /// See [`Round::acknowledged`].
    pub(crate) fn acknowledged(&self) -> u64 {
        self.round.acknowledged()
    }

    /// The delay measured since the last call, if there were at least `enough` samples.
    pub(crate) fn take(&mut self, enough: u32) -> Option<Delay> {
        let is_enough = self.samples >= enough;
        let delay = self.base.zip(self.rtt).map(|(base, rtt)| Delay { base, rtt });
        self.clear();
        delay.filter(|_| is_enough)
    }

    fn clear(&mut self) {
        self.rtt = None;
        self.samples = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack, flow};

    fn at(snd_una: u64, snd_nxt: u64) -> Flow {
        let mss = u64::from(MSS);
        Flow { snd_una: snd_una * mss, snd_nxt: snd_nxt * mss, ..flow(0, 0, 100) }
    }

    #[test]
    fn a_round_ends_when_data_sent_in_it_is_acknowledged() {
        // The first acknowledgement ends the round of the handshake. 9 segments are then in flight,
        // up to the 10th; the 11th is sent in the new round.
        let mut round = Round::default();
        assert!(round.ends(&at(1, 10)));
        assert!(!round.ends(&at(2, 11)));
        assert!(!round.ends(&at(10, 19)));
        assert!(round.ends(&at(11, 20)));
        assert!(!round.ends(&at(20, 29)));
        assert!(round.ends(&at(21, 30)));
        // Segments 11 to 20.
        assert_eq!(round.acknowledged(), 10 * u64::from(MSS));
    }

    #[test]
    fn the_minimum_of_a_round_and_of_the_connection() {
        let ms = Duration::from_millis;
        let mut rounds = DelayRound::new();
        for rtt in [120, 110, 130] {
            rounds.on_ack(&ack(1, rtt), &flow(0, 10, 100));
        }
        assert_eq!(rounds.take(3), Some(Delay { base: ms(110), rtt: ms(110) }));
        for rtt in [140, 125] {
            rounds.on_ack(&ack(1, rtt), &flow(0, 10, 100));
        }
        // Two samples are too few, and are consumed.
        assert_eq!(rounds.take(3), None);
        assert_eq!(rounds.take(1), None);
        rounds.on_ack(&ack(1, 121), &flow(0, 10, 100));
        let delay = rounds.take(1).unwrap();
        assert_eq!(delay, Delay { base: ms(110), rtt: ms(121) });
        assert_eq!(delay.micros(), (110_001, 121_001));
        // 22 · 11/121 = 2.
        assert!((delay.backlog(22.0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn congestion_and_idle_periods_restart_the_round() {
        let mut rounds = DelayRound::new();
        rounds.on_ack(&ack(1, 100), &at(1, 10));
        rounds.on_ack(&ack(1, 90), &Flow { phase: Phase::Recovery, ..at(2, 10) });
        assert!(!rounds.is_open());
        rounds.on_ack(&ack(1, 300), &at(3, 12));
        assert!(rounds.is_open());
        assert_eq!(rounds.take(1), None);
        assert!(!rounds.ends(&at(12, 20)));
        assert!(rounds.ends(&at(13, 21)));
        // The base RTT survives a congestion episode but not an idle period.
        rounds.on_ack(&ack(1, 100), &at(14, 21));
        assert_eq!(rounds.take(1).unwrap().queueing(), Duration::from_millis(10));
        rounds.on_idle(&at(20, 20));
        rounds.on_ack(&ack(1, 100), &at(21, 30));
        assert_eq!(rounds.take(1).unwrap().queueing(), Duration::ZERO);
    }

    #[test]
    fn only_changes_of_the_phase_count() {
        // A timeout: nothing is in flight, and the retransmission restarts the round while the
        // phase stays (Linux 6.1 `tcp_vegas_cwnd_event`; `tcp_vegas_state` is not called again).
        let mut rounds = DelayRound::new();
        let loss = |una, nxt| Flow { phase: Phase::Loss, ..at(una, nxt) };
        rounds.on_ack(&ack(1, 100), &loss(1, 10));
        assert!(!rounds.is_open());
        rounds.on_idle(&loss(1, 10));
        rounds.on_ack(&ack(1, 100), &loss(2, 10));
        assert!(rounds.is_open());
        rounds.on_ack(&ack(1, 100), &Flow { phase: Phase::Recovery, ..at(3, 10) });
        assert!(!rounds.is_open());
        // The end of one episode begins another.
        rounds.on_recovered(&Flow { phase: Phase::Disorder, ..at(4, 12) });
        assert!(!rounds.is_open());
        rounds.on_recovered(&at(4, 12));
        assert!(rounds.is_open());
    }

    #[test]
    fn an_rtt_of_zero_is_no_queue() {
        let delay = Delay { base: Duration::ZERO, rtt: Duration::ZERO };
        assert!(delay.backlog(100.0).abs() < 1e-12);
        assert_eq!(delay.micros(), (1, 1));
    }
}
