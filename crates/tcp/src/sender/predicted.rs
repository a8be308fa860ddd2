//! Header prediction in the sender: acknowledgements of nothing but the next data sent, and full
//! segments that nothing but the windows decides on (V. Jacobson, "4BSD Header Prediction", ACM
//! Computer Communication Review 20(2), 1990; Linux `tcp_rcv_established`). Each step does what the
//! general one does where nothing is missing and no episode is followed.

use fairway_cc::{Ack, Flow, Phase, Signal};
use fairway_units::{Duration, Time};

use super::recovery::RecoveryPolicy;
use super::{AckInfo, Sender, Transmission, predicts};
use crate::LossDetection;
use crate::scoreboard::SendTimes;

impl Sender {
    /// Whether an acknowledgement is of nothing but the next data sent, while nothing is missing.
    #[inline(always)]
    fn is_in_order(&self, info: &AckInfo<'_>) -> bool {
        predicts()
            && self.pass.is_settled
            && info.sack.is_empty()
            && !info.ece
            && info.mark_count.is_none()
            && info.duplicate.is_none()
            && self.board.is_in_order(info.ack)
            && !self.probe.is_in_flight()
    }

    /// Handle such an acknowledgement and begin the answer ([`Self::handle_ack`]). Returns false for
    /// any other. Inlined, so that neither the acknowledgement nor its summary is written to memory.
    #[inline(always)]
    pub(crate) fn handle_in_order(&mut self, info: &AckInfo<'_>, now: Time) -> bool {
        if !self.is_in_order(info) {
            return false;
        }
        #[cfg(test)]
        super::prediction_tests::count();
        self.note_app_limit();
        let prior_pipe = self.board.pipe();
        self.move_window(info);
        self.timeouts_in_row = 0;
        if self.board.detection() == LossDetection::Rack {
            let min_rtt = self.rtt.min_rtt();
            self.board.rack().begin(now, min_rtt, info.echo_ms);
        }
        if self.stack.rto.backoff_ends_with_any_ack {
            self.rtt.end_back_off();
        }
        let acked = info.ack - self.board.una();
        let sent = self.board.take_in_order(info.ack);
        self.delivered += acked;
        let rtt = self.measure_in_order(info.ack, sent, now);
        let flow = self.flow_in(Phase::Open, prior_pipe, now);
        self.tell_in_order(info, acked, rtt, &flow);
        if self.board.is_empty() || self.stack.losses.tail_loss_probe {
            self.move_timer(now);
        } else {
            self.rearm(now);
        }
        self.begin_burst_in_order();
        true
    }

    #[inline(always)]
    fn measure_in_order(&mut self, ack: u64, sent: SendTimes, now: Time) -> Option<Duration> {
        if self.policy.times_one_segment(self.stack.options.timestamps) {
            return self.end_timing(ack, now);
        }
        let latest = self.rtt.between(sent.latest, now);
        let earliest = self.rtt.between(sent.earliest, now);
        let sampled = self.sample_rtts(earliest, latest, now);
        Some(if self.tells_age_of_last { latest } else { sampled })
    }

    #[inline(always)]
    fn tell_in_order(
        &mut self,
        info: &AckInfo<'_>,
        acked: u64,
        rtt: Option<Duration>,
        flow: &Flow,
    ) {
        let mut ack = Ack {
            acked,
            delivered: acked,
            lost: 0,
            ce: 0,
            rtt,
            one_way_delay_ms: info.one_way_delay_ms(),
            timestamps: info.timestamps,
            rate: None,
            may_raise: true,
            may_grow: self.window_was_used(self.cc.cwnd(), flow.pipe),
            is_plain: self.is_plain,
        };
        if let Some(rate) = self.board.delivery_rate() {
            ack.rate = rate.sample(acked, 0, flow.min_rtt, flow.now);
        }
        self.cc.on_ack(&ack, flow);
        if self.cc.wants_reduction() {
            self.enter_cwr(Signal::Delay, flow);
        }
    }

    /// [`Self::begin_burst`] after an acknowledgement in order, which changes no policy unless it
    /// begins an episode.
    #[inline(always)]
    fn begin_burst_in_order(&mut self) {
        if self.phase == Phase::Open {
            self.begin_pass(u32::MAX, true, true);
        } else {
            self.begin_burst();
        }
    }

    /// The next segment of new data, if nothing but the windows decides on it, or nothing at all as it
    /// continues a burst ([`Self::poll_transmit`]). None if there may be something else to send.
    #[inline(always)]
    pub(crate) fn next_in_window(&mut self, now: Time) -> Option<Transmission> {
        let is_free = predicts()
            && self.pass.is_calm
            && self.max_burst_left > 0
            && !self.probe.is_due()
            && !self.pass.probed;
        if !is_free {
            return None;
        }
        let transmission = if !self.stack.sending.tso {
            self.next_full(now)?
        } else if self.queue.is_some() && self.pass.burst_left > 0 {
            self.next_of_its_burst(true, now)
        } else {
            return None;
        };
        self.pass.is_forced = false;
        self.note_departure(&transmission, now);
        Some(transmission)
    }

    #[inline(always)]
    fn next_full(&mut self, now: Time) -> Option<Transmission> {
        let mss = self.segment_bytes;
        let buffered = self.board.una().saturating_add(self.send_buffer);
        let pipe = self.board.pipe();
        let fits = !self.cwr_pending
            && !self.board.has_holes()
            && pipe > 0
            && pipe + mss <= self.cc.cwnd()
            && self.pacer.is_open(now)
            && self.snd_nxt + mss <= self.stream_end.min(buffered).min(self.right_edge);
        fits.then(|| self.send_new(mss, false, now))
    }
}
