//! The standards by name, and the rates that they have.

use fairway_units::{Duration, Rate};

use crate::phy::{Phy, Preamble, Slot};

/// Rate of the CTS that protects 802.11g from 802.11b: the highest that all DSSS stations have.
pub const PROTECTION_RATE: Rate = Rate::from_bps(2_000_000);

/// A standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// 802.11a: OFDM at 5 GHz.
    A,
    /// 802.11b: DSSS at 2.4 GHz.
    B,
    /// 802.11g: OFDM at 2.4 GHz.
    G,
}

/// In units of 0.1 Mbit/s.
const OFDM_RATES: &[u64] = &[60, 90, 120, 180, 240, 360, 480, 540];
const DSSS_RATES: &[u64] = &[10, 20, 55, 110];
const TENTH_BPS: u64 = 100_000;

impl Standard {
    /// All of them.
    pub const ALL: [Standard; 3] = [Standard::A, Standard::B, Standard::G];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Standard::A => "802.11a",
            Standard::B => "802.11b",
            Standard::G => "802.11g",
        }
    }

    /// The standard of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|standard| standard.name() == name)
    }

    /// Its rates, in ascending order: IEEE 802.11-2016 16.2.3.4 (802.11b), 17.1.1 (802.11a), 18.1.2
    /// (802.11g, of which OFDM alone).
    pub fn rates(self) -> impl DoubleEndedIterator<Item = Rate> {
        let tenths = if self == Standard::B { DSSS_RATES } else { OFDM_RATES };
        tenths.iter().map(|tenths| Rate::from_bps(tenths * TENTH_BPS))
    }

    /// Its highest rate.
    pub fn highest_rate(self) -> Rate {
        self.rates().next_back().unwrap_or(PROTECTION_RATE)
    }

    /// Those that all its stations have, and so may be those of control frames.
    pub fn mandatory_rates(self) -> Vec<Rate> {
        let tenths: &[u64] = if self == Standard::B { DSSS_RATES } else { &[60, 120, 240] };
        tenths.iter().map(|tenths| Rate::from_bps(tenths * TENTH_BPS)).collect()
    }

    /// Its physical layer. The preamble is that of 802.11b, the slot that of 802.11g.
    pub fn phy(self, preamble: Preamble, slot: Slot) -> Phy {
        match self {
            Standard::A => Phy::a(),
            Standard::B => Phy::b(preamble),
            Standard::G => Phy::g(slot),
        }
    }

    /// The same with control frames at mandatory rates below `highest`, and at `highest`.
    pub fn phy_with_control(self, preamble: Preamble, slot: Slot, highest: Rate) -> Phy {
        let mut phy = self.phy(preamble, slot);
        phy.basic_rates = self.mandatory_rates();
        phy.basic_rates.retain(|rate| *rate < highest);
        phy.basic_rates.push(highest);
        phy
    }
}

/// What goes before a frame of 802.11g that 802.11b stations shall understand: a CTS that its sender
/// addresses to itself, and the SIFS behind it (IEEE 802.11-2016 10.3.2.12).
pub fn cts_to_self() -> Duration {
    let dsss = Phy::b(Preamble::Long);
    dsss.response_time(PROTECTION_RATE) + dsss.sifs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        assert_eq!(Standard::B.highest_rate(), Rate::from_bps(11_000_000));
        assert_eq!(Standard::G.highest_rate(), Rate::from_bps(54_000_000));
        assert_eq!(Standard::named("802.11a"), Some(Standard::A));
        assert_eq!(Standard::named("802.11n"), None);
    }

    #[test]
    fn protection() {
        // 14 bytes at 2 Mbit/s are 56 µs; + 192 + SIFS 10.
        assert_eq!(cts_to_self(), Duration::from_micros(258));
    }

    #[test]
    fn control_frames_at_more_than_the_lowest_rates() {
        let eleven = Rate::from_bps(11_000_000);
        let phy = Standard::B.phy_with_control(Preamble::Long, Slot::Short, eleven);
        // 112 bits at 11 Mbit/s are 10.2 µs: 192 + 11.
        assert_eq!(phy.response_time(eleven), Duration::from_micros(203));
        let ofdm =
            Standard::G.phy_with_control(Preamble::Long, Slot::Short, Rate::from_bps(6_000_000));
        assert_eq!(ofdm.basic_rates, [Rate::from_bps(6_000_000)]);
    }
}
