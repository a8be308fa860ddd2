//! The parameters of PIE.

use fairway_units::Duration;

use super::super::codel::ETHERNET_MTU_BYTES;

/// Where the controller has the delay from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayFrom {
    /// How long the packet waited that left last.
    Timestamps,
    /// What waits, divided by a measured rate of departure (RFC 8033 section 5.2).
    DepartureRate,
}

/// Parameters of PIE; the defaults are those of Linux (`pie_params_init`).
#[derive(Clone, Debug, PartialEq)]
pub struct PieConfig {
    /// Delay that the controller aims at (RFC 8033 section 4.2: QDELAY_REF).
    pub target: Duration,
    /// Time between two updates of the probability (T_UPDATE).
    pub update_interval: Duration,
    /// Packets that may wait; more are dropped on arrival.
    pub limit_packets: u64,
    /// Weight of the difference from the target, in sixteenths per second.
    pub alpha_sixteenths: u32,
    /// Weight of the delay's growth since the last update, in sixteenths per second.
    pub beta_sixteenths: u32,
    /// Time of departures without drops after the queue has been calm (MAX_BURST; `pie_vars_init`).
    pub burst_allowance: Duration,
    /// Whether packets that allow it are marked where they would be dropped at random.
    pub ecn: bool,
    /// Probability in percent above which they are dropped all the same (RFC 8033 section 5.1;
    /// `ecn_prob` of Linux's `fq_pie`).
    pub ecn_up_to_percent: u32,
    /// Whether small packets are dropped less often.
    pub byte_mode: bool,
    /// Where the controller has the delay from.
    pub delay_from: DelayFrom,
    /// The largest packet. Nothing is dropped at random while less than two of it wait.
    pub mtu_bytes: u32,
    /// Whether the probability ends at one, as in RFC 8033 section 4.2. In Linux it may grow to
    /// 256, from where it takes as long to come down; and there a mark that was overdue does not
    /// start the accumulated probability anew, so that marks follow until a drop does.
    pub bounded: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        PieConfig {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(15),
            limit_packets: 1000,
            alpha_sixteenths: 2,
            beta_sixteenths: 20,
            burst_allowance: Duration::from_millis(150),
            ecn: false,
            ecn_up_to_percent: 10,
            byte_mode: false,
            delay_from: DelayFrom::Timestamps,
            mtu_bytes: ETHERNET_MTU_BYTES,
            bounded: false,
        }
    }
}
