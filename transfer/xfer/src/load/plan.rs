//! What a session sends, as both ends agree on it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gaps::Gaps;
use super::header;
use crate::Error;
use crate::measure::SHORTEST_INTERVAL;

/// Flows of one session at most: what the numbers of datagrams' flows leave room for is more, but
/// not the ports of one pair of addresses (16 bits).
pub const MOST_FLOWS: u32 = 65_535;
/// Groups of one session: nobody writes more, and each is a line of the agreement.
const MOST_GROUPS: usize = 4096;
/// Most bytes of a flow's name.
const LONGEST_ID: usize = 256;
/// Largest message of a connection: beyond it a message says nothing that a duration does not.
pub const LARGEST_MESSAGE: u32 = 1 << 30;
/// Largest payload of a UDP datagram over IPv4: 65535 less the headers of 20 and 8 bytes (RFC 768,
/// RFC 791).
pub const LARGEST_DATAGRAM: u32 = 65_507;
/// Longest session: seven days. A forgotten one has to end.
pub const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// What carries a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A connection for each flow.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
}

/// Where the payload goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    #[default]
    Forward,
    Reverse,
}

/// What the sockets of a group are asked for, at the end that sends and at the one that receives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sockets {
    pub cc: Option<String>,
    pub pacing_bps: Option<u64>,
    /// `SO_SNDBUF` of the sending end.
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF` of the receiving end.
    pub receive_buffer_bytes: Option<u32>,
    /// `TCP_MAXSEG`, at both ends.
    pub mss_bytes: Option<u32>,
    /// `TCP_NODELAY` of the sending end.
    pub no_delay: bool,
}

/// Flows that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What its flows are called; those of a group of several also have their number.
    pub id: String,
    /// Whether they go against others of that name: the schema of results calls them so.
    pub is_back: bool,
    pub count: u32,
    pub transport: Transport,
    pub direction: Direction,
    /// What is written at once; of UDP the payload of a datagram.
    pub message_bytes: u32,
    pub gaps: Gaps,
    /// Whether a gap begins at the end of a message, as in the paper, and not at its due time.
    pub is_paused: bool,
    pub start: Duration,
    /// When all of them end; none if only their bytes end them.
    pub stop: Option<Duration>,
    /// From one flow's start to the next one's.
    pub apart: Duration,
    /// Payload of all of them together; none if only time ends them.
    pub bytes: Option<u64>,
    /// Whether the content is made from its position and checked.
    pub is_verified: bool,
    pub sockets: Sockets,
}

/// What a session sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub seed: u64,
    /// Between looks at the counters; it adapts if none is given.
    pub interval: Option<Duration>,
    /// What is not measured of the beginning.
    pub omit: Duration,
    pub timeout: Duration,
    /// Whether senders of datagrams wait for their time without sleeping.
    pub is_busy: bool,
    pub groups: Vec<Group>,
}

/// One flow of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub number: u32,
    pub id: String,
    pub group: usize,
    pub start: Duration,
    /// Its payload, if that ends it.
    pub bytes: Option<u64>,
}

impl Plan {
    /// All flows, in the same order at both ends.
    pub fn flows(&self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for (at, group) in self.groups.iter().enumerate() {
            for copy in 0..group.count {
                let number = if group.count == 1 { String::new() } else { format!("/{copy}") };
                let back = if group.is_back { "/reverse" } else { "" };
                let id = format!("{}{number}{back}", group.id);
                flows.push(Flow {
                    number: flows.len() as u32,
                    id,
                    group: at,
                    start: group.start + group.apart * copy,
                    bytes: group.bytes.map(|bytes| share(bytes, group.count, copy)),
                });
            }
        }
        flows
    }

    pub fn flow_count(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    pub fn is_bounded(&self) -> bool {
        self.groups.iter().all(|group| group.bytes.is_some())
    }

    /// When the last flow ends, if time ends them all.
    pub fn end(&self) -> Option<Duration> {
        self.groups
            .iter()
            .map(|group| group.stop)
            .try_fold(Duration::ZERO, |end, stop| Some(end.max(stop?)))
    }

    pub fn check(&self, most_flows: u32) -> Result<(), Error> {
        let flows = self.flow_count();
        let most = u64::from(most_flows.min(MOST_FLOWS));
        if flows == 0 {
            return Err(Error::Input("connections: expected one at least".into()));
        }
        if flows > most {
            return Err(Error::Input(format!(
                "connections: {flows} are more than the {most} allowed"
            )));
        }
        if self.groups.len() > MOST_GROUPS {
            return Err(Error::Input(format!("more than {MOST_GROUPS} groups of flows")));
        }
        let milli = Duration::from_millis(1);
        if self.interval.is_some_and(|own| own < SHORTEST_INTERVAL || own > LONGEST) {
            return Err(Error::Input("interval: expected 10 ms to 7 days".into()));
        }
        if self.timeout < 100 * milli || self.timeout > LONGEST {
            return Err(Error::Input("timeout: expected 100 ms to 7 days".into()));
        }
        self.groups.iter().try_for_each(Group::check)?;
        if self.end().is_some_and(|end| end <= self.omit) {
            return Err(Error::Input("omit: all flows end before what is omitted is over".into()));
        }
        Ok(())
    }
}

impl Group {
    fn check(&self) -> Result<(), Error> {
        let refuse = |key: &str, why: String| Err(Error::Input(format!("{key}: {why}")));
        if self.id.is_empty() || self.id.len() > LONGEST_ID {
            return refuse("id", format!("expected a name of 1 to {LONGEST_ID} bytes"));
        }
        let (smallest, largest) = match self.transport {
            Transport::Tcp => (1, LARGEST_MESSAGE),
            Transport::Udp => (header::BYTES as u32, LARGEST_DATAGRAM),
        };
        if !(smallest..=largest).contains(&self.message_bytes) {
            let found = self.message_bytes;
            return refuse(
                "message",
                format!("expected {smallest} to {largest} bytes, got {found}"),
            );
        }
        if self.stop.is_none() && self.bytes.is_none() {
            return refuse("duration", "nothing ends the flow; give a duration or bytes".into());
        }
        let last = self
            .apart
            .checked_mul(self.count.saturating_sub(1))
            .and_then(|apart| self.start.checked_add(apart));
        if last.is_none_or(|last| last > LONGEST) || self.stop.is_some_and(|stop| stop > LONGEST) {
            return refuse("duration", "longer than 7 days".into());
        }
        if let (Some(last), Some(stop)) = (last, self.stop)
            && stop <= last
        {
            let found = stop.as_secs_f64();
            return refuse("duration", format!("{found} s end before the last flow starts"));
        }
        match self.gaps {
            Gaps::Uniform(min, max) if min > max => {
                refuse("interval", "the shortest of a uniform one is above the longest".into())
            }
            gaps if gaps.longest() > 50 * LONGEST => {
                refuse("interval", "longer than 7 days".into())
            }
            _ => Ok(()),
        }
    }
}

/// The part of `bytes` that copy `number` of `count` has: all of them add up to it.
fn share(bytes: u64, count: u32, number: u32) -> u64 {
    let (each, rest) = (bytes / u64::from(count), bytes % u64::from(count));
    each + u64::from(u64::from(number) < rest)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub fn group(id: &str, count: u32, bytes: u64) -> Group {
        Group {
            id: id.into(),
            is_back: false,
            count,
            transport: Transport::Tcp,
            direction: Direction::Forward,
            message_bytes: 1000,
            gaps: Gaps::None,
            is_paused: false,
            start: Duration::ZERO,
            stop: None,
            apart: Duration::ZERO,
            bytes: Some(bytes),
            is_verified: false,
            sockets: Sockets::default(),
        }
    }

    pub fn plan(groups: Vec<Group>) -> Plan {
        Plan {
            seed: 1,
            interval: Some(Duration::from_millis(100)),
            omit: Duration::ZERO,
            timeout: Duration::from_secs(30),
            is_busy: false,
            groups,
        }
    }

    #[test]
    fn flows_are_numbered_through_and_share_the_bytes() {
        let mut many = group("many", 3, 10);
        many.apart = Duration::from_secs(2);
        let flows = plan(vec![group("one", 1, 5), many]).flows();
        let told: Vec<_> =
            flows.iter().map(|f| (f.number, f.id.as_str(), f.start.as_secs(), f.bytes)).collect();
        let expected = [
            (0, "one", 0, Some(5)),
            (1, "many/0", 0, Some(4)),
            (2, "many/1", 2, Some(3)),
            (3, "many/2", 4, Some(3)),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_by_name() {
        let refused = |change: fn(&mut Plan)| {
            let mut plan = plan(vec![group("a", 2, 10)]);
            change(&mut plan);
            plan.check(100).unwrap_err().to_string()
        };
        assert!(plan(vec![group("a", 100, 10)]).check(100).is_ok());
        assert!(
            refused(|p| p.groups[0].count = 101)
                .starts_with("connections: 101 are more than the 100")
        );
        assert!(refused(|p| p.groups[0].count = 0).starts_with("connections"));
        assert!(refused(|p| p.groups[0].message_bytes = 0).starts_with("message: expected 1"));
        assert!(refused(|p| p.groups[0].bytes = None).starts_with("duration: nothing"));
        assert!(refused(|p| p.groups[0].stop = Some(Duration::ZERO)).starts_with("duration: 0 s"));
        assert!(refused(|p| p.groups[0].apart = Duration::MAX).starts_with("duration: longer"));
        assert!(refused(|p| p.interval = Some(Duration::ZERO)).starts_with("interval"));
        assert!(refused(|p| p.groups[0].id = String::new()).starts_with("id"));
        let datagram = refused(|p| {
            p.groups[0].transport = Transport::Udp;
            p.groups[0].message_bytes = 31;
        });
        assert!(datagram.starts_with("message: expected 32 to 65507"));
        let uniform = |p: &mut Plan| {
            p.groups[0].gaps = Gaps::Uniform(Duration::from_secs(2), Duration::from_secs(1));
        };
        assert!(refused(uniform).starts_with("interval: the shortest"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_plan_or_none_and_a_plan_is_checked_without_panic(bytes: Vec<u8>) {
            if let Ok(plan) = postcard::from_bytes::<Plan>(&bytes) {
                let _ = plan.check(MOST_FLOWS).map(|()| plan.flows());
            }
        }

        #[test]
        fn whatever_is_in_a_plan_its_check_does_not_panic(
            count: u32, message: u32, start: u64, stop: Option<u64>, apart: u64, gap: (u64, u64)
        ) {
            let nanos = Duration::from_nanos;
            let mut odd = group("odd", count, u64::MAX);
            odd.message_bytes = message;
            (odd.start, odd.apart) = (nanos(start), nanos(apart));
            odd.stop = stop.map(nanos);
            odd.gaps = Gaps::Uniform(nanos(gap.0), nanos(gap.1));
            let plan = plan(vec![odd]);
            if plan.check(1000).is_ok() {
                prop_assert_eq!(plan.flows().len() as u64, plan.flow_count());
            }
        }
    }
}
