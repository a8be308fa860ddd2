//! Options of a generator and of a collector.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gaps::Gaps;
use super::header;
use super::plan::{
    Direction, Group, LARGEST_DATAGRAM, LARGEST_MESSAGE, LONGEST, Plan, Sockets, Transport,
};
use crate::Error;
use crate::socket::Wishes;

/// Message of a connection if none is given: as much as iperf3 writes at once (`DEFAULT_TCP_BLKSIZE`
/// of iperf_api.h).
const MESSAGE_BYTES: u32 = 128 << 10;
/// Datagram if no size is given: fits into a packet of 1500 bytes with the headers of IPv6 (40), of
/// UDP (8) and a tunnel's to spare, 1460 as iperf3's with IPv4 over Ethernet (`DEFAULT_UDP_BLKSIZE`).
const DATAGRAM_BYTES: u32 = 1448;
/// Duration if neither it nor bytes are given: as of iperf3 (`DURATION` of iperf.h).
const DURATION_S: f64 = 10.0;

/// When messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Timing {
    /// As fast as they go.
    #[default]
    AsFast,
    /// One every so many seconds: the paper's synchronous traffic.
    Fixed {
        /// Seconds.
        interval_s: f64,
    },
    /// After a time between the two, each as likely: the paper's asynchronous traffic.
    Uniform {
        /// Seconds.
        min_s: f64,
        /// Seconds.
        max_s: f64,
    },
    /// After exponentially distributed times: a Poisson process.
    Exponential {
        /// Seconds.
        mean_s: f64,
    },
    /// At the fixed interval that makes this rate of payload.
    Rate {
        /// Of each connection, in bit/s.
        rate_bps: f64,
    },
    /// As a Poisson process that makes this rate of payload on average.
    Poisson {
        /// Of each connection, in bit/s.
        rate_bps: f64,
    },
}

/// The directions of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// From the generator or client to the collector or server.
    #[default]
    Forward,
    /// The other way.
    Reverse,
    /// Both, each with as many connections.
    Both,
}

options! {
    /// Flows that are alike.
    FlowOptions {
        /// What they are called.
        id: String = "load".into(),
        /// How many; each way if they go both.
        connections: u32 = 1,
        /// Datagrams instead of connections.
        udp: bool,
        /// Which way the payload goes.
        ways: Directions,
        /// What is written at once, in bytes; 128 KiB or a datagram of 1448 bytes if none is given.
        message_bytes: Option<u32>,
        /// When messages are written.
        timing: Timing,
        /// Whether the time to the next message begins when this one is written.
        pause: bool,
        /// When they start, in seconds from the start of the session.
        start_s: f64,
        /// From one connection's start to the next one's, in seconds.
        start_apart_s: f64,
        /// When they stop, in seconds from the start of the session; 10 if nothing else ends them.
        stop_s: Option<f64>,
        /// Payload that all of them carry together, each way.
        bytes: Option<u64>,
        /// Whether the receiver checks every byte.
        verify: bool,
        /// Congestion control, pacing, buffers and segment size.
        wishes: Wishes,
        /// `TCP_NODELAY`: small messages do not wait for acknowledgements.
        no_delay: bool,
    }
}

options! {
    /// What a generator does.
    GenerateOptions {
        /// The collector: `HOST[:PORT]`.
        to: String,
        /// What the collector printed.
        token: String,
        /// Whether the control channel goes without TLS. The payload always does.
        plain: bool,
        /// What is sent.
        flows: Vec<FlowOptions> = vec![FlowOptions::default()],
        /// Of all random gaps.
        seed: u64 = 1,
        /// What is left out of the measurement at the beginning, in seconds.
        omit_s: f64,
        /// Whether senders wait for their time without sleeping: precise, and a core each.
        busy: bool,
        /// How long the collector may be silent, in seconds.
        timeout_s: f64 = 30.0,
    }
}

impl GenerateOptions {
    /// The options as both ends agree on them, with a sample every `interval`, which adapts if none
    /// is given.
    ///
    /// # Errors
    /// [`Error::Input`] that names what cannot be used.
    pub fn plan(&self, interval: Option<Duration>) -> Result<Plan, Error> {
        let mut groups = Vec::new();
        for flow in &self.flows {
            groups.extend(flow.groups()?);
        }
        let plan = Plan {
            seed: self.seed,
            interval,
            omit: seconds("omit", self.omit_s)?,
            timeout: seconds("timeout", self.timeout_s)?,
            is_busy: self.busy,
            groups,
        };
        plan.check(super::plan::MOST_FLOWS)?;
        Ok(plan)
    }
}

impl FlowOptions {
    /// One group for each way.
    fn groups(&self) -> Result<Vec<Group>, Error> {
        let (transport, default) = match self.udp {
            false => (Transport::Tcp, MESSAGE_BYTES),
            true => (Transport::Udp, DATAGRAM_BYTES),
        };
        let message_bytes = self.message_bytes.unwrap_or(default);
        let stop_s = self.stop_s.or(self.bytes.is_none().then_some(self.start_s + DURATION_S));
        let group = Group {
            id: self.id.clone(),
            is_back: false,
            count: self.connections,
            transport,
            direction: Direction::Forward,
            message_bytes,
            gaps: self.timing.gaps(message_bytes)?,
            is_paused: self.pause,
            start: seconds("start", self.start_s)?,
            stop: stop_s.map(|stop_s| seconds("duration", stop_s)).transpose()?,
            apart: seconds("start-apart", self.start_apart_s)?,
            bytes: self.bytes,
            is_verified: self.verify,
            sockets: self.sockets()?,
        };
        let reverse = Group { direction: Direction::Reverse, ..group.clone() };
        Ok(match self.ways {
            Directions::Forward => vec![group],
            Directions::Reverse => vec![reverse],
            Directions::Both => vec![group, Group { is_back: true, ..reverse }],
        })
    }

    fn sockets(&self) -> Result<Sockets, Error> {
        let wishes = &self.wishes;
        let buffer = |bytes: Option<usize>| {
            let fits = |bytes| {
                u32::try_from(bytes)
                    .map_err(|_| Error::Input(format!("buffer: {bytes} bytes are more than 4 GiB")))
            };
            bytes.map(fits).transpose()
        };
        if self.udp && (wishes.cc.is_some() || wishes.mss_bytes.is_some() || self.no_delay) {
            let why = "cc, mss and no-delay are of TCP; datagrams have none of them";
            return Err(Error::Input(why.into()));
        }
        Ok(Sockets {
            cc: wishes.cc.clone(),
            pacing_bps: wishes.pacing_bps,
            send_buffer_bytes: buffer(wishes.send_buffer_bytes)?,
            receive_buffer_bytes: buffer(wishes.receive_buffer_bytes)?,
            mss_bytes: wishes.mss_bytes,
            no_delay: self.no_delay,
        })
    }
}

impl Timing {
    fn gaps(self, message_bytes: u32) -> Result<Gaps, Error> {
        let of_rate = |rate_bps: f64| {
            if !(rate_bps > 0.0 && rate_bps.is_finite()) {
                return Err(Error::Input(format!(
                    "rate: expected more than 0 bit/s, got {rate_bps}"
                )));
            }
            seconds("rate", f64::from(message_bytes) * 8.0 / rate_bps)
        };
        Ok(match self {
            Timing::AsFast => Gaps::None,
            Timing::Fixed { interval_s } => Gaps::Fixed(seconds("interval", interval_s)?),
            Timing::Uniform { min_s, max_s } => {
                Gaps::Uniform(seconds("interval", min_s)?, seconds("interval", max_s)?)
            }
            Timing::Exponential { mean_s } => Gaps::Exponential(seconds("interval", mean_s)?),
            Timing::Rate { rate_bps } => Gaps::Fixed(of_rate(rate_bps)?),
            Timing::Poisson { rate_bps } => Gaps::Exponential(of_rate(rate_bps)?),
        })
    }
}

options! {
    /// What a collector does.
    CollectOptions {
        /// Where it listens: `ADDR:PORT`.
        bind: String = format!("[::]:{}", super::DEFAULT_PORT),
        /// Whether it ends after the first session.
        once: bool,
        /// Connections of all sessions together, and flows of datagrams.
        max_connections: u32 = 10_000,
        /// Sessions at once.
        max_sessions: u32 = 100,
        /// A file that the token is kept in, so that a collector started again is recognised.
        keep_token: Option<String>,
        /// Whether the control channel may go without TLS.
        plain: bool,
        /// How long a generator may be silent, in seconds.
        timeout_s: f64 = 30.0,
    }
}

/// A time that was given as a number of seconds.
///
/// # Errors
/// [`Error::Input`] if it is not a time of up to seven days.
pub fn seconds(key: &str, seconds: f64) -> Result<Duration, Error> {
    let refused = || {
        let most = LONGEST.as_secs();
        Error::Input(format!("{key}: expected a time from 0 to {most} s, got {seconds} s"))
    };
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| refused())?;
    if time > LONGEST { Err(refused()) } else { Ok(time) }
}

const _: () = assert!(DATAGRAM_BYTES >= header::BYTES as u32 && DATAGRAM_BYTES <= LARGEST_DATAGRAM);
const _: () = assert!(MESSAGE_BYTES <= LARGEST_MESSAGE);

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(flow: FlowOptions) -> Result<Plan, Error> {
        GenerateOptions { flows: vec![flow], ..GenerateOptions::default() }.plan(None)
    }

    #[test]
    fn options_are_read_by_their_names_and_unknown_ones_refused() {
        let text = r#"{"to": "h", "token": "t", "flows": [{"connections": 4,
            "timing": {"kind": "uniform", "min_s": 0.1, "max_s": 0.5}, "message_bytes": 1000}]}"#;
        let options: GenerateOptions = serde_json::from_str(text).unwrap();
        let plan = options.plan(None).unwrap();
        let ms = Duration::from_millis;
        assert_eq!(plan.groups[0].gaps, Gaps::Uniform(ms(100), ms(500)));
        assert_eq!((plan.groups[0].count, plan.groups[0].stop), (4, Some(ms(10_000))));
        assert!(serde_json::from_str::<GenerateOptions>(r#"{"tokens": ""}"#).is_err());
    }

    #[test]
    fn a_rate_is_an_interval_of_its_messages() {
        // 1000 bytes of 8 bits at 1 Mbit/s: 8 ms.
        let flow = FlowOptions {
            udp: true,
            message_bytes: Some(1000),
            timing: Timing::Rate { rate_bps: 1e6 },
            ..FlowOptions::default()
        };
        let plan = plan_of(flow).unwrap();
        assert_eq!(plan.groups[0].gaps, Gaps::Fixed(Duration::from_millis(8)));
    }

    #[test]
    fn both_ways_are_two_groups() {
        let plan =
            plan_of(FlowOptions { ways: Directions::Both, ..FlowOptions::default() }).unwrap();
        let told: Vec<_> = plan.flows().into_iter().map(|flow| flow.id).collect();
        assert_eq!(told, ["load", "load/reverse"]);
        assert_eq!(plan.groups[1].direction, Direction::Reverse);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let refused = |flow| plan_of(flow).unwrap_err().to_string();
        let timing = |timing| FlowOptions { timing, ..FlowOptions::default() };
        assert!(refused(timing(Timing::Rate { rate_bps: 0.0 })).starts_with("rate"));
        assert!(refused(timing(Timing::Fixed { interval_s: -1.0 })).starts_with("interval"));
        assert!(refused(timing(Timing::Fixed { interval_s: f64::NAN })).starts_with("interval"));
        assert!(
            refused(FlowOptions { stop_s: Some(1e300), ..FlowOptions::default() })
                .starts_with("duration")
        );
        let wishes = Wishes { cc: Some("reno".into()), ..Wishes::default() };
        assert!(
            refused(FlowOptions { udp: true, wishes, ..FlowOptions::default() }).starts_with("cc")
        );
    }
}
