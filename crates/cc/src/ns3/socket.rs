//! The socket around a congestion control (ns-3.29 `tcp-socket-base.cc`).

use fairway_units::Duration;

use super::convert::{TIME_MAX, now, time};
use super::{CongestionOps, Tcb};
use crate::{Ack, CongestionControl, Flow, Init, Phase, Signal, SlowStart, Window};

/// A congestion control with its window. Undo, restart after idle and other slow starts, which ns-3
/// lacks, serve stacks that use them.
pub(crate) struct Socket<C> {
    ops: C,
    tcb: Tcb,
    /// Slow start that replaces the class's own, if the connection names one.
    slow_start: Option<SlowStart>,
    /// Its state in segments.
    segments: Window,
    /// Window and threshold before the last reduction.
    prior: Option<(u32, u32)>,
}

impl<C: CongestionOps> Socket<C> {
    /// A congestion control at the start of a connection.
    pub(crate) fn new(ops: C, init: &Init) -> Self {
        let ssthresh = init.initial_ssthresh.map_or(u32::MAX, bytes);
        let tcb = Tcb::new(init.mss.max(1), bytes(init.initial_window), ssthresh);
        let slow_start = init.slow_start.clone().filter(|chosen| *chosen != SlowStart::Ns3);
        Socket { ops, tcb, slow_start, segments: Window::new(1), prior: None }
    }

    fn update(&mut self, flow: &Flow) {
        self.tcb.now = now(flow.now);
        self.tcb.last_acked = flow.snd_una;
        self.tcb.next_tx = flow.snd_nxt;
        self.tcb.high_tx = flow.snd_max;
        self.tcb.min_rtt = flow.min_rtt.map_or(TIME_MAX, time);
    }

    fn set_phase(&mut self, phase: Phase) {
        self.ops.congestion_state_set(&self.tcb, phase);
        self.tcb.phase = phase;
    }

    fn enter(&mut self, phase: Phase) {
        if phase != self.tcb.phase {
            self.set_phase(phase);
        }
    }

    fn back_off(&mut self, flow: &Flow) {
        self.prior = Some((self.tcb.cwnd, self.tcb.ssthresh));
        self.tcb.ssthresh = self.ops.ssthresh(&self.tcb, bytes(flow.pipe));
    }

    fn count(&self, bytes: u64) -> u32 {
        u32::try_from(bytes / u64::from(self.tcb.segment_size)).unwrap_or(u32::MAX)
    }

    fn increase_window(&mut self, segments: u32) {
        let mut is_done = false;
        self.in_segments(|chosen, window| {
            if let Some(chosen) = chosen.filter(|chosen| chosen.is_active(window)) {
                chosen.grow(window, segments);
                is_done = true;
            }
        });
        if !is_done {
            self.ops.increase_window(&mut self.tcb, segments);
        }
    }

    /// Let a rule in segments change window or threshold.
    fn in_segments(&mut self, change: impl FnOnce(Option<&mut SlowStart>, &mut Window)) {
        let of = |bytes| if bytes == u32::MAX { bytes } else { bytes / self.tcb.segment_size };
        let before =
            Window { cwnd: of(self.tcb.cwnd), ssthresh: of(self.tcb.ssthresh), ..self.segments };
        let mut after = before;
        change(self.slow_start.as_mut(), &mut after);
        if after.cwnd != before.cwnd {
            self.tcb.cwnd = after.cwnd.saturating_mul(self.tcb.segment_size);
        }
        if after.ssthresh != before.ssthresh {
            self.tcb.ssthresh = after.ssthresh.saturating_mul(self.tcb.segment_size);
        }
        self.segments = after;
    }
}

/// A number of bytes as stored by ns-3.
fn bytes(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl<C: CongestionOps> CongestionControl for Socket<C> {
    fn cwnd(&self) -> u64 {
        // Some parameters reduce Vegas' window to zero, which would stop the connection.
        u64::from(self.tcb.cwnd.max(self.tcb.segment_size))
    }

    fn ssthresh(&self) -> u64 {
        if self.tcb.ssthresh == u32::MAX { u64::MAX } else { u64::from(self.tcb.ssthresh) }
    }

    /// `ProcessAck`, `DupAck`.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        let is_new = flow.snd_una > self.tcb.last_acked;
        self.update(flow);
        if let Some(timestamps) = ack.timestamps {
            self.tcb.rcv_timestamp_value = timestamps.value;
            self.tcb.rcv_timestamp_echo = timestamps.echo;
        }
        // A duplicate enters disorder before it is counted; an acknowledgement that ends it leaves
        // disorder afterwards.
        self.ops.run_events(&self.tcb, self.tcb.now);
        if flow.phase != Phase::Open {
            self.enter(flow.phase);
        }
        if let Some(rtt) = ack.rtt {
            let segments = self.count(ack.delivered);
            self.ops.pkts_acked(&mut self.tcb, segments, time(rtt));
        }
        self.enter(flow.phase);
        if self.slow_start.is_some() {
            self.in_segments(|chosen, window| {
                if let Some(chosen) = chosen {
                    chosen.on_sample(window, ack, flow);
                }
            });
        }
        if ack.may_grow && is_new {
            self.increase_window(self.count(ack.acked));
        }
    }

    fn on_last_ack(&mut self, ack: &Ack, _cwnd: u64, _next: Phase, flow: &Flow) {
        self.on_ack(ack, &Flow { phase: Phase::Open, ..*flow });
    }

    /// `EnterRecovery`, with `TcpClassicRecovery::EnterRecovery`; for a mark `SendDataPacket`.
    fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        self.update(flow);
        self.ops.run_events(&self.tcb, self.tcb.now);
        if signal == Signal::Ecn {
            self.prior = Some((self.tcb.cwnd, self.tcb.ssthresh));
            self.tcb.cwnd = (self.tcb.cwnd / 2).max(self.tcb.segment_size);
            self.tcb.ssthresh = self.tcb.cwnd;
            if self.tcb.phase == Phase::Open {
                self.set_phase(Phase::Cwr);
            }
        } else {
            self.set_phase(Phase::Recovery);
            self.back_off(flow);
            self.tcb.cwnd = self.tcb.ssthresh;
        }
    }

    /// `ProcessAck`. `TcpClassicRecovery::ExitRecovery` does not change the window.
    fn on_recovered(&mut self, _cwnd: u64, flow: &Flow) {
        self.update(flow);
        self.enter(Phase::Open);
    }

    /// `ReTxTimeout`. The timer was scheduled before any event that a class schedules one RTT
    /// ahead, so it comes first at equal times.
    fn on_rto(&mut self, first: bool, flow: &Flow) {
        self.update(flow);
        self.ops.run_events(&self.tcb, self.tcb.now - 1);
        if first {
            self.back_off(flow);
        }
        self.tcb.cwnd = self.tcb.segment_size;
        self.set_phase(Phase::Loss);
        if let Some(chosen) = &mut self.slow_start {
            chosen.on_rto(flow);
        }
    }

    fn on_spurious(&mut self, _flow: &Flow) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.tcb.cwnd = self.tcb.cwnd.max(cwnd);
            self.tcb.ssthresh = self.tcb.ssthresh.max(ssthresh);
        }
    }

    fn on_idle(&mut self, idle: Duration, rto: Duration, restart_window: u64, _flow: &Flow) {
        let floor = self.count(restart_window);
        self.in_segments(|_, window| window.restart_after_idle(idle, rto, floor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack, flow};

    /// Records the calls it gets.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl CongestionOps for Log {
        fn pkts_acked(&mut self, tcb: &mut Tcb, segments: u32, rtt: i64) {
            self.0.push(format!("acked {segments} {rtt} {:?}", tcb.phase));
        }

        fn increase_window(&mut self, _tcb: &mut Tcb, segments: u32) {
            self.0.push(format!("increase {segments}"));
        }

        fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
            self.0.push(format!("ssthresh {in_flight} {:?}", tcb.phase));
            7_777
        }

        fn congestion_state_set(&mut self, tcb: &Tcb, phase: Phase) {
            self.0.push(format!("{:?} to {phase:?}", tcb.phase));
        }

        fn run_events(&mut self, _tcb: &Tcb, until: i64) {
            self.0.push(format!("until {until}"));
        }
    }

    fn socket() -> Socket<Log> {
        let init = Init {
            mss: MSS,
            initial_window: 10 * u64::from(MSS),
            initial_ssthresh: None,
            slow_start: None,
            seed: 0,
            coupling: None,
            abe: false,
        };
        Socket::new(Log::default(), &init)
    }

    /// 1 ms after the start, with `una` segments acknowledged.
    fn at(una: u64, phase: Phase) -> Flow {
        Flow { snd_una: una * u64::from(MSS), phase, ..flow(1, 10, 90) }
    }

    fn told(socket: &mut Socket<Log>, event: impl FnOnce(&mut Socket<Log>)) -> Vec<String> {
        socket.ops.0.clear();
        event(socket);
        std::mem::take(&mut socket.ops.0)
    }

    #[test]
    fn disorder_begins_before_and_ends_after_an_acknowledgement_is_counted() {
        let mut socket = socket();
        assert_eq!(
            told(&mut socket, |s| s.on_ack(&ack(2, 90), &at(2, Phase::Open))),
            ["until 1000000", "acked 2 90000000 Open", "increase 2"]
        );
        let duplicate = Ack { acked: 0, may_grow: false, ..ack(1, 90) };
        assert_eq!(
            told(&mut socket, |s| s.on_ack(&duplicate, &at(2, Phase::Disorder))),
            ["until 1000000", "Open to Disorder", "acked 1 90000000 Disorder"]
        );
        assert_eq!(
            told(&mut socket, |s| s.on_ack(&ack(3, 90), &at(5, Phase::Open))),
            ["until 1000000", "acked 3 90000000 Disorder", "Disorder to Open", "increase 3"]
        );
    }

    #[test]
    fn a_loss_sets_the_state_the_threshold_and_the_window() {
        let mut socket = socket();
        let events = told(&mut socket, |s| s.on_congestion(Signal::Loss, &at(0, Phase::Open)));
        assert_eq!(events, ["until 1000000", "Open to Recovery", "ssthresh 14480 Recovery"]);
        assert_eq!((socket.cwnd(), socket.ssthresh()), (7_777, 7_777));
        // The end of recovery does not change the window, whatever the stack's is.
        let events = told(&mut socket, |s| s.on_recovered(99_999, &at(9, Phase::Open)));
        assert_eq!((events, socket.cwnd()), (vec!["Recovery to Open".to_owned()], 7_777));
    }

    #[test]
    fn a_timeout_sets_the_threshold_first_and_runs_before_an_event_of_its_time() {
        let mut socket = socket();
        let events = told(&mut socket, |s| s.on_rto(true, &at(0, Phase::Open)));
        assert_eq!(events, ["until 999999", "ssthresh 14480 Open", "Open to Loss"]);
        assert_eq!((socket.cwnd(), socket.ssthresh()), (u64::from(MSS), 7_777));
        let events = told(&mut socket, |s| s.on_rto(false, &at(0, Phase::Loss)));
        assert_eq!(events, ["until 999999", "Loss to Loss"]);
    }

    #[test]
    fn a_mark_halves_the_window_without_asking() {
        let mut socket = socket();
        let events = told(&mut socket, |s| s.on_congestion(Signal::Ecn, &at(0, Phase::Open)));
        assert_eq!(events, ["until 1000000", "Open to Cwr"]);
        assert_eq!((socket.cwnd(), socket.ssthresh()), (7_240, 7_240));
        for _ in 0..5 {
            socket.on_congestion(Signal::Ecn, &at(0, Phase::Cwr));
        }
        assert_eq!(socket.cwnd(), u64::from(MSS));
    }

    #[test]
    fn an_acknowledgement_of_nothing_new_does_not_grow_the_window() {
        let mut socket = socket();
        socket.on_ack(&ack(1, 90), &at(1, Phase::Open));
        let events = told(&mut socket, |s| s.on_ack(&ack(1, 90), &at(1, Phase::Open)));
        assert_eq!(events, ["until 1000000", "acked 1 90000000 Open"]);
    }
}
