//! Helpers of this crate's unit tests.

use fairway_units::{Duration, Time};

use crate::{Ack, Flow, Phase};

/// Segment size of the tests, bytes.
pub(crate) const MSS: u32 = 1448;

/// A flow at `now`, everything else default.
pub(crate) fn flow_at(now: Time) -> Flow {
    Flow {
        now,
        mss: MSS,
        pipe: 0,
        in_flight: 0,
        srtt: None,
        min_rtt: None,
        snd_una: 0,
        snd_nxt: 0,
        snd_max: 0,
        delivered: 0,
        lost: 0,
        pacing_delay: Duration::ZERO,
        phase: Phase::Open,
    }
}

/// A flow at `millis` with `segments` unacknowledged and a smoothed RTT of `rtt_ms`.
pub(crate) fn flow(millis: u64, segments: u32, rtt_ms: u64) -> Flow {
    let mut flow = flow_at(Time::from_nanos(millis * 1_000_000));
    flow.pipe = u64::from(segments) * u64::from(MSS);
    flow.snd_nxt = flow.pipe;
    flow.snd_max = flow.pipe;
    flow.srtt = Some(Duration::from_millis(rtt_ms));
    flow.min_rtt = flow.srtt;
    flow
}

/// An acknowledgement of `segments` with an RTT of `rtt_ms` that may grow the window.
pub(crate) fn ack(segments: u64, rtt_ms: u64) -> Ack {
    Ack {
        acked: segments * u64::from(MSS),
        delivered: segments * u64::from(MSS),
        rtt: Some(Duration::from_millis(rtt_ms)),
        may_raise: true,
        may_grow: true,
        ..Ack::default()
    }
}
