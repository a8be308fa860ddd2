//! Configuration of a cell.

use fairway_phy::{OVERHEAD_BYTES, Phy, Preamble};
use fairway_units::{Duration, Rate};

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellConfig {
    /// The physical layer.
    pub phy: Phy,
    /// The access method.
    pub mac: MacConfig,
    /// Each station.
    pub stations: Vec<StationConfig>,
}

/// The access method's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacConfig {
    /// Bytes added to every packet.
    pub overhead_bytes: u32,
    /// Frames above this size, overhead included, use RTS and CTS.
    pub rts_threshold: u32,
    /// Failures after which a frame up to the threshold, or an RTS, is given up.
    pub short_retry_limit: u32,
    /// Failures after which a longer frame is given up.
    pub long_retry_limit: u32,
    /// CTS-to-self and SIFS before every frame without RTS (10.3.2.12), which protects 802.11g from
    /// 802.11b stations.
    pub cts_to_self: Option<Duration>,
    /// Whether another's transmission counts as one slot, as in Bianchi's model; in the standard only
    /// idle slots count.
    pub busy_takes_slot: bool,
}

impl Default for MacConfig {
    fn default() -> Self {
        MacConfig {
            overhead_bytes: OVERHEAD_BYTES,
            // dot11RTSThreshold, dot11ShortRetryLimit, dot11LongRetryLimit (annex C).
            rts_threshold: 65_536,
            short_retry_limit: 7,
            long_retry_limit: 4,
            cts_to_self: None,
            busy_takes_slot: false,
        }
    }
}

/// A station and its channel to the access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationConfig {
    /// Rate of data frames from it and to it.
    pub rate: Rate,
    /// Probability that a data frame from it or to it cannot be read, collisions apart.
    pub frame_error_rate: f64,
    /// The same of RTS, CTS and ACK.
    pub control_error_rate: f64,
}

impl StationConfig {
    /// A station that is heard without errors.
    pub fn at(rate: Rate) -> Self {
        StationConfig { rate, frame_error_rate: 0.0, control_error_rate: 0.0 }
    }
}

impl Default for CellConfig {
    fn default() -> Self {
        CellConfig {
            phy: Phy::b(Preamble::Long),
            mac: MacConfig::default(),
            stations: vec![StationConfig::at(Rate::from_bps(11_000_000))],
        }
    }
}
