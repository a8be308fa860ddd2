//! Measurements of DCM+: RTTs, their ratio, and the bandwidth.

use fairway_units::{Duration, Time};

use super::switches::Switches;
use crate::bandwidth::{AckedBytes, Bandwidth, Gaps, PerRound, Tustin};
use crate::{Ack, Flow, Phase};

/// Weight of the old estimate in the filter (thesis algorithm 3-1 and equation 3.4).
const MEMORY: f64 = 19.0 / 21.0;

/// Bound of the ratios: greater ones are artefacts of a coarse clock and an RTT near zero.
const LARGEST_RATIO: f64 = 1e6;

/// RTTs in seconds: the last, the one before, and the minimum.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct RoundTrips {
    pub(super) old_s: f64,
    pub(super) new_s: f64,
    pub(super) min_s: f64,
    begun: bool,
}

impl RoundTrips {
    /// Process an acknowledgement. Returns whether it gave an RTT sample.
    pub(super) fn on_ack(&mut self, smoothed: bool, ack: &Ack, flow: &Flow) -> bool {
        let measured = if smoothed { ack.rtt.and(flow.srtt) } else { ack.rtt };
        let Some(rtt) = measured else { return false };
        self.sample(rtt.as_secs_f64());
        true
    }

    pub(super) fn sample(&mut self, rtt_s: f64) {
        self.old_s = if self.begun { self.new_s } else { rtt_s };
        self.min_s = if self.begun { self.min_s.min(rtt_s) } else { rtt_s };
        self.new_s = rtt_s;
        self.begun = true;
    }

    /// RTT_old/RTT_min (equation 4.3).
    pub(super) fn over_min(&self) -> f64 {
        ratio(self.old_s, self.min_s)
    }

    /// RTT_old/RTT_new (thesis section 4.3, text after equation 4.3).
    pub(super) fn over_new(&self) -> f64 {
        ratio(self.old_s, self.new_s)
    }

    /// RTT_new/RTT_old (equation 4.1).
    pub(super) fn rise(&self) -> f64 {
        ratio(self.new_s, self.old_s)
    }
}

fn ratio(of: f64, to: f64) -> f64 {
    let ratio = of / to;
    if ratio.is_nan() { 1.0 } else { ratio.clamp(1.0 / LARGEST_RATIO, LARGEST_RATIO) }
}

/// The estimator selected by the switches.
pub(super) fn estimate(switches: &Switches) -> Box<dyn Bandwidth> {
    match (switches.per_ack, switches.ns3_filter) {
        (false, false) => Box::new(PerRound::new(MEMORY)),
        (false, true) => Box::new(Ns3PerRound::default()),
        (true, false) => Box::new(PerGap::default()),
        (true, true) => Box::new(Ns3PerAck::default()),
    }
}

/// Thesis algorithm 3-1: an acknowledgement's bytes over the time since the last one, through a
/// filter with constant weights.
#[derive(Default)]
pub(super) struct PerGap {
    gaps: Gaps,
    filter: Tustin,
}

impl Bandwidth for PerGap {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if let Some((bytes, gap_s)) = self.gaps.on_ack(ack, flow) {
            self.filter.update(bytes as f64 / gap_s, MEMORY);
        }
    }

    fn bytes_per_s(&self) -> f64 {
        self.filter.value()
    }
}

/// `alpha` of ns-3.29's `TcpWestwood::EstimateBW`.
const NS3_MEMORY: f64 = 0.9;

/// Bytes of an acknowledgement over a smoothed round trip (ns-3.29 `tcp-westwood.cc`, WESTWOOD).
#[derive(Default)]
struct Ns3PerAck {
    acked: AckedBytes,
    filter: Tustin,
}

impl Bandwidth for Ns3PerAck {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        let bytes = self.acked.count(ack.acked, flow.mss, flow.phase == Phase::Open) as f64;
        if let Some(srtt) = flow.srtt.filter(|srtt| *srtt > Duration::ZERO) {
            self.filter.update(bytes / srtt.as_secs_f64(), NS3_MEMORY);
        }
    }

    fn bytes_per_s(&self) -> f64 {
        self.filter.value()
    }
}

/// Bytes of one smoothed RTT from an acknowledgement on, including its own (WESTWOODPLUS).
#[derive(Default)]
struct Ns3PerRound {
    acked: AckedBytes,
    filter: Tustin,
    bytes: u64,
    /// When the sample ends, and its RTT.
    timer: Option<(Time, Duration)>,
}

impl Bandwidth for Ns3PerRound {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if let Some((_, srtt)) = self.timer.take_if(|(due, _)| *due <= flow.now) {
            let bytes = std::mem::take(&mut self.bytes);
            self.filter.update(bytes as f64 / srtt.as_secs_f64(), NS3_MEMORY);
        }
        let Some(srtt) = flow.srtt.filter(|srtt| *srtt > Duration::ZERO) else { return };
        let bytes = self.acked.count(ack.acked, flow.mss, flow.phase == Phase::Open);
        self.bytes = self.bytes.saturating_add(bytes);
        self.timer.get_or_insert((flow.now + srtt, srtt));
    }

    fn bytes_per_s(&self) -> f64 {
        self.filter.value()
    }
}
