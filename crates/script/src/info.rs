//! The names that assertions may use: those of Linux's `struct tcp_info`, and shorter ones.

use fairway_cc::Phase;
use fairway_tcp::{Endpoint, Flags, Segment, State};
use fairway_units::Duration;

use crate::expression::{Names, Value};
use crate::ledger::Ledger;

/// Linux's infinite threshold (include/net/tcp.h, `TCP_INFINITE_SSTHRESH`).
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

/// Constants of include/uapi/linux/tcp.h and include/net/tcp_states.h.
const CONSTANTS: [(&str, i64); 22] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_SYN_DATA", 32),
    ("INFINITE", INFINITE_SSTHRESH),
];

/// Names of the five phases, as values of `state`.
const PHASES: [&str; 5] = ["Open", "Disorder", "CWR", "Recovery", "Loss"];

/// What an assertion sees.
pub struct Info(Vec<(&'static str, i64)>, Phase);

/// What the interpreter knows beside the endpoint.
pub struct Beside<'a> {
    /// What is on the wire.
    pub ledger: &'a Ledger,
    /// Payload of a full segment.
    pub mss: u32,
    /// The SYN that the endpoint sent.
    pub own_syn: Option<&'a Segment>,
    /// The SYN that arrived.
    pub peer_syn: Option<&'a Segment>,
    /// Whether the application has closed, and whether the other end had before.
    pub closed: Option<ClosedAfterPeer>,
}

/// Whether the other end closed first.
pub type ClosedAfterPeer = bool;

impl Info {
    /// What there is to see of an endpoint now.
    pub fn of(endpoint: &Endpoint, beside: &Beside) -> Self {
        let sender = endpoint.sender();
        let ledger = beside.ledger;
        let mss = u64::from(beside.mss);
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let ssthresh = match sender.ssthresh() {
            u64::MAX => INFINITE_SSTHRESH,
            bytes => signed(bytes / mss),
        };
        let micros = |span: Option<Duration>| span.map_or(0, |span| signed(span.as_micros()));
        let cwnd = signed(sender.cwnd() / mss);
        let outstanding = sender.outstanding();
        let [unacked, sacked, lost, retransmitted] =
            [outstanding.segments, outstanding.sacked, outstanding.lost, outstanding.retransmitted]
                .map(signed);
        let timeouts_in_row = i64::from(sender.timeouts_in_row());
        let phase = endpoint.phase();
        let syn = |segment: Option<&Segment>| segment.copied().unwrap_or_default();
        let (own_syn, peer_syn) = (syn(beside.own_syn), syn(beside.peer_syn));
        let both = |flag| own_syn.flags.has(flag) && peer_syn.flags.has(flag);
        let options = i64::from(both(Flags::TIMESTAMP))
            + 2 * i64::from(both(Flags::SACK_PERMITTED))
            + 4 * i64::from(both(Flags::WINDOW_SCALE))
            + 8 * i64::from(both(Flags::ECE));
        let received = endpoint.receiver().delivered_bytes() + endpoint.receiver().unread();
        let unsent = sender.stream_end().saturating_sub(sender.snd_nxt());
        Info(
            vec![
                ("tcpi_state", connection_state(endpoint, beside.closed)),
                ("tcpi_ca_state", phase_number(phase)),
                ("tcpi_options", options),
                ("tcpi_snd_wscale", i64::from(peer_syn.window_scale)),
                ("tcpi_rcv_wscale", i64::from(own_syn.window_scale)),
                ("tcpi_snd_mss", i64::from(beside.mss)),
                ("tcpi_advmss", i64::from(own_syn.mss)),
                ("tcpi_unacked", unacked),
                ("tcpi_sacked", sacked),
                ("tcpi_lost", lost),
                ("tcpi_retrans", retransmitted),
                ("tcpi_retransmits", timeouts_in_row),
                ("tcpi_backoff", timeouts_in_row),
                ("tcpi_reordering", i64::from(sender.reordering())),
                ("tcpi_rto", micros(Some(sender.rto()))),
                ("tcpi_rtt", micros(sender.srtt())),
                ("tcpi_min_rtt", micros(sender.min_rtt())),
                ("tcpi_snd_ssthresh", ssthresh),
                ("tcpi_snd_cwnd", cwnd),
                ("tcpi_total_retrans", signed(endpoint.counters().retransmissions)),
                ("tcpi_bytes_sent", signed(ledger.bytes_sent)),
                ("tcpi_bytes_retrans", signed(ledger.bytes_retransmitted)),
                ("tcpi_bytes_received", signed(received)),
                ("tcpi_notsent_bytes", signed(unsent)),
                ("tcpi_segs_out", signed(ledger.segments_sent)),
                ("tcpi_segs_in", signed(ledger.segments_received)),
                ("tcpi_data_segs_out", signed(ledger.data_segments_sent)),
                ("tcpi_data_segs_in", signed(ledger.data_segments_received)),
                ("cwnd", cwnd),
                ("ssthresh", ssthresh),
                ("unacked", unacked),
                ("sacked", sacked),
                ("lost", lost),
                ("retransmitted", retransmitted),
                ("in_flight", unacked - sacked - lost + retransmitted),
                ("timeouts", signed(endpoint.counters().timeouts)),
            ],
            phase,
        )
    }
}

impl Names for Info {
    fn value(&self, name: &str) -> Option<Result<Value, String>> {
        if name == "state" {
            return Some(Ok(Value::Text(PHASES[phase_number(self.1) as usize].to_owned())));
        }
        if PHASES.contains(&name) {
            return Some(Ok(Value::Text(name.to_owned())));
        }
        let found = self.0.iter().chain(&CONSTANTS).find(|(known, _)| *known == name);
        match found {
            Some((_, number)) => Some(Ok(Value::Integer(*number))),
            None if name.starts_with("tcpi_") => {
                let known: Vec<&str> = self.known();
                Some(Err(format!(
                    "the endpoint does not tell this; known are {}",
                    known.join(", ")
                )))
            }
            None => None,
        }
    }

    fn known(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).chain(["state"]).collect()
    }
}

fn phase_number(phase: Phase) -> i64 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}

/// The state of RFC 9293 section 3.3.2 by Linux's number.
fn connection_state(endpoint: &Endpoint, closed: Option<ClosedAfterPeer>) -> i64 {
    let own_fin_acknowledged = endpoint.sender().is_finished();
    let peer_has_closed = endpoint.receiver().is_finished();
    match endpoint.state() {
        State::Closed | State::Failed => 7,
        State::SynSent => 2,
        State::Listen => 10,
        State::SynReceived => 3,
        State::Established => match (closed, own_fin_acknowledged, peer_has_closed) {
            (None, _, false) => 1,
            (None, _, true) => 8,
            (Some(_), false, false) => 4,
            (Some(_), true, false) => 5,
            (Some(true), false, true) => 9,
            (Some(false), false, true) => 11,
            (Some(false), true, true) => 6,
            (Some(true), true, true) => 7,
        },
    }
}
