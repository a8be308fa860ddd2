//! How long successes and collisions of a cell take.

use fairway_phy::{OVERHEAD_BYTES, Phy, Preamble, Slot, Standard, cts_to_self};
use fairway_units::{Duration, Rate};

use super::dcf::Backoff;

use crate::error::{Error, positive};

/// What an access to the medium takes, in microseconds, until slots are counted again.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// A slot in which nobody transmits.
    pub slot_us: f64,
    /// A packet of data: frame, SIFS, acknowledgement, DIFS.
    pub data_us: f64,
    /// A packet that is TCP's acknowledgement, likewise.
    pub ack_us: f64,
    /// A collision in which there are data.
    pub data_collision_us: f64,
    /// A collision of acknowledgements alone.
    pub ack_collision_us: f64,
}

/// A cell as its standard has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The standard.
    pub standard: Standard,
    /// Preamble of 802.11b.
    pub preamble: Preamble,
    /// Slot of 802.11g.
    pub slot: Slot,
    /// Whether each frame of 802.11g goes behind a CTS for stations of 802.11b.
    pub is_protected: bool,
    /// Rate of data frames; without it, the highest of the standard.
    pub rate: Option<Rate>,
    /// Highest rate of control frames; without it, 2 Mbit/s in 802.11b and 24 in 802.11a and g.
    pub control_rate: Option<Rate>,
    /// Bytes of an IP packet with data.
    pub data_bytes: u32,
    /// Bytes of an IP packet that is an acknowledgement.
    pub ack_bytes: u32,
    /// Attempts until a frame is given up; none if it never is.
    pub attempts: Option<u32>,
}

/// Bytes of an IP packet in a frame: an MSDU has 2304 at most (IEEE 802.11-2016 9.2.4.7.1), of which LLC
/// and SNAP are 8.
const MAX_PACKET: u32 = 2304 - 8;

impl Setting {
    /// What accesses take, and how stations back off.
    ///
    /// # Errors
    /// [`Error`] for a rate that the standard has not, and packets of no bytes or too many for a frame.
    pub fn access(&self) -> Result<(Times, Backoff), Error> {
        for (quantity, bytes) in [
            ("bytes of a packet", self.data_bytes),
            ("bytes of an acknowledgement", self.ack_bytes),
        ] {
            if bytes == 0 || bytes > MAX_PACKET {
                let expected = "from 1 to 2296, which fit into a frame";
                return Err(Error { quantity, expected, found: f64::from(bytes) });
            }
        }
        let rate = self.rate.unwrap_or(self.standard.highest_rate());
        self.check_rate("rate in Mbit/s", rate)?;
        let (preamble, slot) = (self.preamble, self.slot);
        let phy = match self.control_rate {
            Some(highest) => {
                self.check_rate("control rate in Mbit/s", highest)?;
                self.standard.phy_with_control(preamble, slot, highest)
            }
            None => self.standard.phy(preamble, slot),
        };
        let protection = if self.is_protected { cts_to_self() } else { Duration::ZERO };
        let (data_bytes, ack_bytes) = (self.data_bytes, self.ack_bytes);
        let times = Times::of(&phy, &Packets { data_bytes, ack_bytes, rate, protection });
        let backoff = Backoff { cw_min: phy.cw_min, cw_max: phy.cw_max, attempts: self.attempts };
        Ok((times, backoff))
    }

    fn check_rate(&self, quantity: &'static str, rate: Rate) -> Result<(), Error> {
        if self.standard.rates().any(|has| has == rate) {
            return Ok(());
        }
        let expected = match self.standard {
            Standard::B => "1, 2, 5.5 or 11",
            Standard::A | Standard::G => "6, 9, 12, 18, 24, 36, 48 or 54",
        };
        Err(Error { quantity, expected, found: rate.as_bps() as f64 / 1e6 })
    }
}

/// What is sent in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Bytes of an IP packet with data.
    pub data_bytes: u32,
    /// Bytes of an IP packet that is an acknowledgement.
    pub ack_bytes: u32,
    /// Rate of their frames.
    pub rate: Rate,
    /// What goes before every frame: a CTS of its sender to itself, and SIFS.
    pub protection: Duration,
}

/// A nanosecond, and a day.
const SHORTEST_US: f64 = 1e-3;
const LONGEST_US: f64 = 86_400e6;

impl Times {
    /// Those of a physical layer. After a collision stations wait for as long as if there was an
    /// acknowledgement: that is what EIFS is for, and the timeout of those who collided.
    pub fn of(phy: &Phy, packets: &Packets) -> Self {
        let exchange = |bytes: u32| {
            let frame = phy.coding.frame_time(bytes.saturating_add(OVERHEAD_BYTES), packets.rate);
            let answer = phy.sifs + phy.response_time(packets.rate);
            micros(packets.protection + frame + answer + phy.difs)
        };
        let (data_us, ack_us) = (exchange(packets.data_bytes), exchange(packets.ack_bytes));
        Times {
            slot_us: micros(phy.slot),
            data_us,
            ack_us,
            data_collision_us: data_us,
            ack_collision_us: ack_us,
        }
    }

    /// Refuses times that make no sense.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (quantity, found) in [
            ("slot in microseconds", self.slot_us),
            ("time of a packet of data in microseconds", self.data_us),
            ("time of an acknowledgement in microseconds", self.ack_us),
            ("time of a collision of data in microseconds", self.data_collision_us),
            ("time of a collision of acknowledgements in microseconds", self.ack_collision_us),
        ] {
            positive(quantity, found)?;
            if !(SHORTEST_US..=LONGEST_US).contains(&found) {
                return Err(Error {
                    quantity,
                    expected: "a nanosecond at least, a day at most",
                    found,
                });
            }
        }
        Ok(())
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting {
        standard: Standard::G,
        preamble: Preamble::Long,
        slot: Slot::Short,
        is_protected: false,
        rate: None,
        control_rate: None,
        data_bytes: 1500,
        ack_bytes: 40,
        attempts: Some(7),
    };

    #[test]
    fn a_standard_has_its_windows_and_highest_rate() {
        let (times, backoff) = SETTING.access().unwrap();
        assert_eq!((times.slot_us, times.data_us, times.ack_us), (9.0, 326.0, 110.0));
        assert_eq!((backoff.cw_min, backoff.cw_max, backoff.attempts), (15, 1023, Some(7)));
        let (_, backoff) = Setting { standard: Standard::B, ..SETTING }.access().unwrap();
        assert_eq!((backoff.cw_min, backoff.cw_max), (31, 1023));
    }

    #[test]
    fn rates_and_packets_that_there_are_not() {
        let eleven = Some(Rate::from_bps(11_000_000));
        assert!(Setting { rate: eleven, ..SETTING }.access().is_err());
        assert!(Setting { control_rate: eleven, ..SETTING }.access().is_err());
        assert!(Setting { standard: Standard::B, rate: eleven, ..SETTING }.access().is_ok());
        assert!(Setting { data_bytes: 2297, ..SETTING }.access().is_err());
        assert!(Setting { ack_bytes: 0, ..SETTING }.access().is_err());
    }

    fn times(phy: &Phy, mbit: u64, protection: Duration) -> (f64, f64, f64) {
        let rate = Rate::from_bps(mbit * 1_000_000);
        let packets = Packets { data_bytes: 1500, ack_bytes: 40, rate, protection };
        let times = Times::of(phy, &packets);
        assert_eq!(times.data_us, times.data_collision_us);
        assert_eq!(times.ack_us, times.ack_collision_us);
        (times.slot_us, times.data_us, times.ack_us)
    }

    #[test]
    fn of_802_11b() {
        // Frames of 1536 and 76 bytes. 12288 bits at 11 Mbit/s are 1117.09 µs, in whole ones 1118; 608
        // are 55.3, 56. Long preamble: 192 + 1118 + 10 + 248 + 50 and 192 + 56 + 308.
        assert_eq!(times(&Phy::b(Preamble::Long), 11, Duration::ZERO), (20.0, 1618.0, 556.0));
        // Short: twice 96 less.
        assert_eq!(times(&Phy::b(Preamble::Short), 11, Duration::ZERO), (20.0, 1426.0, 364.0));
    }

    #[test]
    fn of_802_11g_and_a() {
        // g: 254 + 10 + 34 + 28 and 38 + 72.
        assert_eq!(times(&Phy::g(Slot::Short), 54, Duration::ZERO), (9.0, 326.0, 110.0));
        // a: 248 + 16 + 28 + 34 and 32 + 78.
        assert_eq!(times(&Phy::a(), 54, Duration::ZERO), (9.0, 326.0, 110.0));
        // Among 802.11b stations: slots of 20, DIFS of 50 instead of 28, and 258 for the CTS and SIFS.
        let mixed = times(&Phy::g(Slot::Long), 54, cts_to_self());
        assert_eq!(mixed, (20.0, 326.0 + 22.0 + 258.0, 110.0 + 22.0 + 258.0));
    }
}
