//! What a congestion control written in Python is shown: the structs of `fairway-cc`, field by
//! field. Times are whole nanoseconds, so that Python computes with what Rust computes with; their
//! seconds stand beside them.

use fairway_cc::{Phase, Signal};
use fairway_units::{Duration, Time};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

const PHASES: [(&str, Phase); 5] = [
    ("open", Phase::Open),
    ("disorder", Phase::Disorder),
    ("cwr", Phase::Cwr),
    ("recovery", Phase::Recovery),
    ("loss", Phase::Loss),
];

/// The name of a signal.
pub(crate) fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Loss => "loss",
        Signal::Ecn => "ecn",
        Signal::Delay => "delay",
    }
}

fn nanos(span: Option<Duration>) -> Option<u64> {
    span.map(Duration::as_nanos)
}

/// As Python shows a record: `Name(field=value, …)`.
fn repr(record: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<String> {
    let shown: Vec<_> = fields
        .iter()
        .map(|field| Ok(format!("{field}={}", record.getattr(*field)?.repr()?)))
        .collect::<PyResult<_>>()?;
    Ok(format!("{}({})", record.get_type().name()?, shown.join(", ")))
}

fn seconds(span: Option<Duration>) -> Option<f64> {
    span.map(Duration::as_secs_f64)
}

/// The name `flight_size` stood for the pipe once, and must not be read for RFC 5681's FlightSize.
const RENAMED: &str = "flight_size was renamed pipe (RFC 6675); \
                       unacknowledged() is the FlightSize of RFC 5681";

/// What an algorithm may know about its connection when it is told of an event.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Flow(pub(crate) fairway_cc::Flow);

#[pymethods]
impl Flow {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "one for each field")]
    #[pyo3(signature = (
        *, now = 0, mss = 1448, pipe = 0, in_flight = 0, srtt = None, min_rtt = None,
        snd_una = 0, snd_nxt = 0, delivered = 0, lost = 0, pacing_delay = 0, phase = "open",
        flight_size = None
    ))]
    fn new(
        now: u64,
        mss: u32,
        pipe: u64,
        in_flight: u64,
        srtt: Option<u64>,
        min_rtt: Option<u64>,
        snd_una: u64,
        snd_nxt: u64,
        delivered: u64,
        lost: u64,
        pacing_delay: u64,
        phase: &str,
        flight_size: Option<u64>,
    ) -> PyResult<Self> {
        if flight_size.is_some() {
            return Err(PyTypeError::new_err(RENAMED));
        }
        let Some((_, phase)) = PHASES.into_iter().find(|(name, _)| *name == phase) else {
            let known = PHASES.map(|(name, _)| name).join(", ");
            return Err(PyValueError::new_err(format!("no phase {phase:?}; there is {known}")));
        };
        Ok(Flow(fairway_cc::Flow {
            now: Time::from_nanos(now),
            mss,
            pipe,
            in_flight,
            srtt: srtt.map(Duration::from_nanos),
            min_rtt: min_rtt.map(Duration::from_nanos),
            snd_una,
            snd_nxt,
            snd_max: snd_nxt,
            delivered,
            lost,
            pacing_delay: Duration::from_nanos(pacing_delay),
            phase,
        }))
    }

    /// Simulated time of the event, ns.
    #[getter]
    fn now(&self) -> u64 {
        self.0.now.as_nanos()
    }
    /// Simulated time of the event, s.
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now.as_secs_f64()
    }
    /// Sender maximum segment size in bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss
    }
    /// Bytes sent and not known to have left the network, before this event (RFC 6675 pipe).
    #[getter]
    fn pipe(&self) -> u64 {
        self.0.pipe
    }
    /// The same after this event.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }
    /// Smoothed round-trip time, ns, if there has been a sample.
    #[getter]
    fn srtt(&self) -> Option<u64> {
        nanos(self.0.srtt)
    }
    /// Smoothed round-trip time, s, if there has been a sample.
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        seconds(self.0.srtt)
    }
    /// Smallest round-trip time seen, ns.
    #[getter]
    fn min_rtt(&self) -> Option<u64> {
        nanos(self.0.min_rtt)
    }
    /// Smallest round-trip time seen, s.
    #[getter]
    fn min_rtt_s(&self) -> Option<f64> {
        seconds(self.0.min_rtt)
    }
    /// First unacknowledged byte of the stream, after this event.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.0.snd_una
    }
    /// Next new byte of the stream to be sent.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt
    }
    /// Bytes delivered to the receiver so far, in order or not.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    /// Bytes marked lost so far, each time they were.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
    /// How long pacing holds the next segment back, from now on, ns; 0 if it may leave.
    #[getter]
    fn pacing_delay(&self) -> u64 {
        self.0.pacing_delay.as_nanos()
    }
    /// How long pacing holds the next segment back, from now on, s; 0 if it may leave.
    #[getter]
    fn pacing_delay_s(&self) -> f64 {
        self.0.pacing_delay.as_secs_f64()
    }
    /// What the sender does about loss: "open", "disorder", "cwr", "recovery" or "loss".
    #[getter]
    fn phase(&self) -> &'static str {
        PHASES.into_iter().find(|(_, phase)| *phase == self.0.phase).map_or("", |(name, _)| name)
    }

    /// Bytes sent and not yet acknowledged cumulatively (RFC 5681 FlightSize).
    fn unacknowledged(&self) -> u64 {
        self.0.flight_size()
    }

    fn __getattr__(&self, name: &str) -> PyResult<u64> {
        Err(PyAttributeError::new_err(match name {
            "flight_size" => RENAMED.to_owned(),
            _ => format!("'Flow' object has no attribute '{name}'"),
        }))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(
            slf.as_any(),
            &[
                "now",
                "mss",
                "pipe",
                "in_flight",
                "srtt",
                "min_rtt",
                "snd_una",
                "snd_nxt",
                "delivered",
                "lost",
                "pacing_delay",
                "phase",
            ],
        )
    }
}

/// One arriving acknowledgement.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Ack(pub(crate) fairway_cc::Ack);

#[pymethods]
impl Ack {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "one for each field")]
    #[pyo3(signature = (
        *, acked = 0, delivered = 0, lost = 0, ce = 0, rtt = None, one_way_delay_ms = None,
        rate = None, may_grow = false
    ))]
    fn new(
        acked: u64,
        delivered: u64,
        lost: u64,
        ce: u64,
        rtt: Option<u64>,
        one_way_delay_ms: Option<u32>,
        rate: Option<&RateSample>,
        may_grow: bool,
    ) -> Self {
        Ack(fairway_cc::Ack {
            acked,
            delivered,
            lost,
            ce,
            rtt: rtt.map(Duration::from_nanos),
            one_way_delay_ms,
            timestamps: None,
            rate: rate.map(|rate| rate.0),
            may_raise: may_grow,
            may_grow,
            is_plain: false,
        })
    }

    /// Bytes newly acknowledged cumulatively.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked
    }
    /// Bytes newly delivered: acknowledged and not selectively before, or newly SACKed.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    /// Bytes newly marked lost by this acknowledgement.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
    /// Of the bytes newly delivered, those whose acknowledgement echoed a congestion mark.
    #[getter]
    fn ce(&self) -> u64 {
        self.0.ce
    }
    /// Round-trip time that it measured, ns.
    #[getter]
    fn rtt(&self) -> Option<u64> {
        nanos(self.0.rtt)
    }
    /// Round-trip time that it measured, s.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        seconds(self.0.rtt)
    }
    /// Receiver's clock less the sender's, ms modulo 2**32: only differences mean something.
    #[getter]
    fn one_way_delay_ms(&self) -> Option<u32> {
        self.0.one_way_delay_ms
    }
    /// Delivery rate, if the algorithm needs it and this acknowledgement measured it.
    #[getter]
    fn rate(&self) -> Option<RateSample> {
        self.0.rate.map(RateSample)
    }
    /// Whether the stack allows growth on this acknowledgement.
    #[getter]
    fn may_grow(&self) -> bool {
        self.0.may_grow
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(
            slf.as_any(),
            &["acked", "delivered", "lost", "ce", "rtt", "one_way_delay_ms", "rate", "may_grow"],
        )
    }
}

/// What one acknowledgement says about the rate of delivery.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct RateSample(fairway_cc::RateSample);

#[pymethods]
impl RateSample {
    #[new]
    #[pyo3(signature = (
        *, delivered = 0, interval = 0, prior_delivered = 0, sent_at = 0, prior_in_flight = 0,
        lost = 0, app_limited = false
    ))]
    fn new(
        delivered: u64,
        interval: u64,
        prior_delivered: u64,
        sent_at: u64,
        prior_in_flight: u64,
        lost: u64,
        app_limited: bool,
    ) -> Self {
        RateSample(fairway_cc::RateSample {
            delivered,
            interval: Duration::from_nanos(interval),
            prior_delivered,
            sent_at: Time::from_nanos(sent_at),
            prior_in_flight,
            lost,
            app_limited,
        })
    }

    /// Bytes delivered between the sending of the latest segment now delivered and now.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    /// Time that took, ns; zero if the sample says nothing.
    #[getter]
    fn interval(&self) -> u64 {
        self.0.interval.as_nanos()
    }
    /// Time that took, s.
    #[getter]
    fn interval_s(&self) -> f64 {
        self.0.interval.as_secs_f64()
    }
    /// `Flow.delivered` when that segment was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }
    /// When that segment was sent, ns.
    #[getter]
    fn sent_at(&self) -> u64 {
        self.0.sent_at.as_nanos()
    }
    /// When that segment was sent, s.
    #[getter]
    fn sent_at_s(&self) -> f64 {
        self.0.sent_at.as_secs_f64()
    }
    /// Bytes in flight when it had been sent, itself included.
    #[getter]
    fn prior_in_flight(&self) -> u64 {
        self.0.prior_in_flight
    }
    /// Bytes marked lost since then.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
    /// Whether the application had nothing to send then.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }

    /// Bytes a second; none if the sample says nothing.
    fn bytes_per_s(&self) -> Option<f64> {
        self.0.bytes_per_s()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(
            slf.as_any(),
            &[
                "delivered",
                "interval",
                "prior_delivered",
                "sent_at",
                "prior_in_flight",
                "lost",
                "app_limited",
            ],
        )
    }
}

/// What a connection tells its algorithm at the start.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Init {
    /// Sender maximum segment size in bytes.
    #[pyo3(get)]
    mss: u32,
    /// Initial window in bytes.
    #[pyo3(get)]
    initial_window: u64,
    /// Initial slow-start threshold in bytes; None for infinite.
    #[pyo3(get)]
    initial_ssthresh: Option<u64>,
    /// Slow start that the experiment names; None for the algorithm's own.
    #[pyo3(get)]
    slow_start: Option<String>,
    /// Seed of this connection's algorithm, for those that draw random numbers.
    #[pyo3(get)]
    seed: u64,
    coupling: Option<fairway_cc::Member>,
}

impl Init {
    pub(crate) fn of(init: &fairway_cc::Init) -> Self {
        Init {
            mss: init.mss,
            initial_window: init.initial_window,
            initial_ssthresh: init.initial_ssthresh,
            slow_start: init.slow_start.as_ref().map(|slow_start| slow_start.name().to_owned()),
            seed: init.seed,
            coupling: init.coupling.clone(),
        }
    }
}

#[pymethods]
impl Init {
    #[new]
    #[pyo3(signature = (
        *, mss = 1448, initial_window = 14480, initial_ssthresh = None, slow_start = None, seed = 0
    ))]
    fn new(
        mss: u32,
        initial_window: u64,
        initial_ssthresh: Option<u64>,
        slow_start: Option<String>,
        seed: u64,
    ) -> Self {
        Init { mss, initial_window, initial_ssthresh, slow_start, seed, coupling: None }
    }

    /// The connections of its application; None without one.
    #[getter]
    fn coupling(&self) -> Option<Member> {
        self.coupling.clone().map(Member)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(
            slf.as_any(),
            &["mss", "initial_window", "initial_ssthresh", "slow_start", "seed", "coupling"],
        )
    }
}

/// A connection's place among those of its application.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Member(fairway_cc::Member);

#[pymethods]
impl Member {
    /// Its place among the connections, from 0.
    #[getter]
    fn index(&self) -> usize {
        self.0.index()
    }

    /// Tell the others the window, in segments, and the round-trip time, in nanoseconds.
    fn tell(&self, cwnd_segments: f64, srtt: u64) {
        self.0.tell(cwnd_segments, Duration::from_nanos(srtt));
    }

    /// Bytes were acknowledged on this connection.
    fn acknowledged(&self, bytes: u64) {
        self.0.acknowledged(bytes);
    }

    /// This connection lost something.
    fn lost(&self) {
        self.0.lost();
    }

    /// The connections that have told their window and a round-trip time, in their order.
    fn subflows(&self) -> Vec<Subflow> {
        self.0.subflows().map(Subflow).collect()
    }
}

/// What a connection has told the others of its application.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Subflow(fairway_cc::Subflow);

#[pymethods]
impl Subflow {
    /// Whether this is the connection that asks.
    #[getter]
    fn own(&self) -> bool {
        self.0.own
    }
    /// Congestion window in segments.
    #[getter]
    fn cwnd(&self) -> f64 {
        self.0.cwnd
    }
    /// Smoothed round-trip time in seconds.
    #[getter]
    fn srtt_s(&self) -> f64 {
        self.0.srtt_s
    }
    /// The larger of the bytes acknowledged between its last two losses and those since.
    #[getter]
    fn loss_interval(&self) -> u64 {
        self.0.loss_interval
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf.as_any(), &["own", "cwnd", "srtt_s", "loss_interval"])
    }
}
