//! The physical layers of IEEE 802.11a, b and g as the access method sees them: how long frames
//! take, and how long is waited between them.
//!
//! Clauses and tables are those of IEEE 802.11-2016: clause 16 (HR/DSSS: 802.11b), 17 (OFDM:
//! 802.11a), 18 (ERP: 802.11g), 10.3 (the distributed coordination function, DCF).

use fairway_units::{Duration, NANOS_PER_SEC, Rate};

/// Bytes of an ACK or CTS frame, check sequence included (9.3.1.3, 9.3.1.4).
pub const ACK_BYTES: u32 = 14;
/// Bytes of an RTS frame, check sequence included (9.3.1.2).
pub const RTS_BYTES: u32 = 20;
/// Bytes added to every packet: a header with three addresses, 24, a check sequence, 4 (9.3.2.1),
/// and LLC and SNAP, 8 (RFC 1042).
pub const OVERHEAD_BYTES: u32 = 24 + 4 + 8;

/// Preamble of HR/DSSS frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preamble {
    /// 144 bits and a header of 48, all at 1 Mbit/s (16.2.2.2).
    #[default]
    Long,
    /// 72 bits at 1 Mbit/s and a header of 48 at 2 Mbit/s (16.2.2.3). Frames at 1 Mbit/s have the
    /// long one even so.
    Short,
}

/// How frames are coded, from which follows how long they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// HR/DSSS (802.11b).
    Dsss {
        /// Preamble of frames at more than 1 Mbit/s.
        preamble: Preamble,
    },
    /// OFDM in a channel of 20 MHz (802.11a and g).
    Ofdm {
        /// What follows the last symbol: none in 802.11a, 6 µs in 802.11g (18.3.2.4).
        extension: Duration,
    },
    /// A header of fixed length, and then bit by bit.
    Plain {
        /// Preamble and header.
        header: Duration,
    },
}

/// Preamble and header of HR/DSSS (16.2.2): 144 + 48 bits at 1 Mbit/s; or 72 bits at 1 Mbit/s and
/// 48 at 2 Mbit/s.
const LONG_PREAMBLE: Duration = Duration::from_micros(192);
const SHORT_PREAMBLE: Duration = Duration::from_micros(96);
/// Training and SIGNAL field of OFDM, and one symbol (17.3.2.4 and Table 17-5).
const OFDM_PREAMBLE: Duration = Duration::from_micros(20);
const OFDM_SYMBOL_MICROS: u64 = 4;
/// SERVICE and tail bits of OFDM (17.3.5.2, 17.3.5.3).
const OFDM_SERVICE_AND_TAIL_BITS: u64 = 16 + 6;

impl Coding {
    /// Time in the air of a frame of `bytes`, check sequence included.
    pub fn frame_time(&self, bytes: u32, rate: Rate) -> Duration {
        let bits = u64::from(bytes) * 8;
        let bps = rate.as_bps().max(1);
        match self {
            // 16.3.4: the payload takes whole microseconds.
            Coding::Dsss { preamble } => {
                let short = *preamble == Preamble::Short && bps > 1_000_000;
                let header = if short { SHORT_PREAMBLE } else { LONG_PREAMBLE };
                header + Duration::from_micros((bits * 1_000_000).div_ceil(bps))
            }
            // 17.4.3 and 18.5.3.2: whole symbols of 4 µs.
            Coding::Ofdm { extension } => {
                let bits = bits + OFDM_SERVICE_AND_TAIL_BITS;
                let symbols = (bits * 1_000_000).div_ceil(bps * OFDM_SYMBOL_MICROS);
                let symbols = Duration::from_micros(symbols * OFDM_SYMBOL_MICROS);
                OFDM_PREAMBLE + symbols + *extension
            }
            Coding::Plain { header } => {
                *header + Duration::from_nanos((bits * NANOS_PER_SEC).div_ceil(bps))
            }
        }
    }
}

/// A physical layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Phy {
    /// How frames are coded.
    pub coding: Coding,
    /// One slot: as long as it takes to notice that another station transmits (10.3.7).
    pub slot: Duration,
    /// Between the frames of one exchange.
    pub sifs: Duration,
    /// Idle time before slots are counted.
    pub difs: Duration,
    /// The same after a frame that could not be read.
    pub eifs: Duration,
    /// From the end of a frame until its sender concludes that no response is coming (10.3.2.9).
    pub response_timeout: Duration,
    /// From the start of a frame until its reception is reported.
    pub rx_start_delay: Duration,
    /// How long signals travel. Stations of one room are 0.1 µs apart, which slots include.
    pub propagation: Duration,
    /// Smallest contention window, in slots.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// Rates of control frames: a response has the highest of them that is no higher than that of
    /// the frame it responds to (10.7.6.5.2). In ascending order, at least one.
    pub basic_rates: Vec<Rate>,
}

/// Slot of an 802.11g cell (Table 18-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Slot {
    /// 9 µs, where all stations are 802.11g.
    #[default]
    Short,
    /// 20 µs, as in 802.11b.
    Long,
}

const MBIT: u64 = 1_000_000;

impl Phy {
    /// 802.11b (clause 16.3.3): rates of 1, 2, 5.5 and 11 Mbit/s. Responses at up to 2 Mbit/s,
    /// which every DSSS station of clause 15 has.
    pub fn b(preamble: Preamble) -> Self {
        let phy = Phy {
            coding: Coding::Dsss { preamble },
            slot: Duration::from_micros(20),
            sifs: Duration::from_micros(10),
            difs: Duration::ZERO,
            eifs: Duration::ZERO,
            response_timeout: Duration::ZERO,
            rx_start_delay: match preamble {
                Preamble::Long => LONG_PREAMBLE,
                Preamble::Short => SHORT_PREAMBLE,
            },
            propagation: Duration::ZERO,
            cw_min: 31,
            cw_max: 1023,
            basic_rates: vec![Rate::from_bps(MBIT), Rate::from_bps(2 * MBIT)],
        };
        phy.with_derived(Rate::from_bps(MBIT))
    }

    /// 802.11a (Table 17-21): rates of 6 to 54 Mbit/s, of which 6, 12 and 24 are mandatory.
    pub fn a() -> Self {
        let phy = Phy {
            coding: Coding::Ofdm { extension: Duration::ZERO },
            slot: Duration::from_micros(9),
            sifs: Duration::from_micros(16),
            difs: Duration::ZERO,
            eifs: Duration::ZERO,
            response_timeout: Duration::ZERO,
            rx_start_delay: Duration::from_micros(20),
            propagation: Duration::ZERO,
            cw_min: 15,
            cw_max: 1023,
            basic_rates: [6, 12, 24].map(|mbit| Rate::from_bps(mbit * MBIT)).to_vec(),
        };
        phy.with_derived(Rate::from_bps(6 * MBIT))
    }

    /// 802.11g among stations that are all 802.11g and use OFDM (Table 18-5).
    pub fn g(slot: Slot) -> Self {
        let slot = match slot {
            Slot::Short => Duration::from_micros(9),
            Slot::Long => Duration::from_micros(20),
        };
        let sifs = Duration::from_micros(10);
        let coding = Coding::Ofdm { extension: Duration::from_micros(6) };
        Phy { coding, slot, sifs, ..Phy::a() }.with_derived(Rate::from_bps(6 * MBIT))
    }

    /// What follows from the rest, with the lowest mandatory rate of the physical layer.
    fn with_derived(mut self, lowest_rate: Rate) -> Self {
        // 10.3.7: DIFS = SIFS + 2 slots; 10.3.2.3.7: EIFS = SIFS + ACK at the lowest mandatory rate
        // + DIFS; 10.3.2.9: timeout = SIFS + slot + aRxPHYStartDelay.
        self.difs = self.sifs + self.slot * 2;
        self.eifs = self.sifs + self.coding.frame_time(ACK_BYTES, lowest_rate) + self.difs;
        self.response_timeout = self.sifs + self.slot + self.rx_start_delay;
        self
    }

    /// Rate of RTS frames for a station whose data have `rate`, and of responses to it.
    pub fn control_rate(&self, rate: Rate) -> Rate {
        let lowest = self.basic_rates.first().copied().unwrap_or(rate);
        self.basic_rates.iter().rev().find(|basic| **basic <= rate).copied().unwrap_or(lowest)
    }

    /// Time in the air of an ACK or CTS in response to a frame at `rate`.
    pub fn response_time(&self, rate: Rate) -> Duration {
        self.coding.frame_time(ACK_BYTES, self.control_rate(rate))
    }

    /// Time in the air of an RTS that asks to send at `rate`.
    pub fn rts_time(&self, rate: Rate) -> Duration {
        self.coding.frame_time(RTS_BYTES, self.control_rate(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbit(mbit: u64) -> Rate {
        Rate::from_bps(mbit * MBIT)
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn frames_of_802_11b() {
        // A packet of 1500 bytes with LLC/SNAP (8), MAC header (24) and FCS (4): 1536 bytes.
        // 12288 bits / 11 Mbit/s = 1117.1 µs, in whole 1118; preamble and header 192.
        let long = Phy::b(Preamble::Long);
        assert_eq!(long.coding.frame_time(1536, mbit(11)), micros(1310));
        // ACK: 112 bits / 2 Mbit/s = 56; + 192.
        assert_eq!(long.response_time(mbit(11)), micros(248));
        // To a frame at 1 Mbit/s: 112 + 192.
        assert_eq!(long.response_time(mbit(1)), micros(304));
        // RTS: 160 / 2 + 192.
        assert_eq!(long.rts_time(mbit(11)), micros(272));
        // 12288 / 5.5 = 2234.2: 2235 + 192.
        assert_eq!(long.coding.frame_time(1536, Rate::from_bps(5_500_000)), micros(2427));
        // The whole exchange: DIFS 50 + 1310 + SIFS 10 + 248 = 1618 µs.
        let exchange = long.difs + micros(1310) + long.sifs + long.response_time(mbit(11));
        assert_eq!(exchange, micros(1618));
        // With the short preamble: 96 less for the data and for the ACK at 2 Mbit/s, nothing less
        // at 1 Mbit/s.
        let short = Phy::b(Preamble::Short);
        assert_eq!(short.coding.frame_time(1536, mbit(11)), micros(1214));
        assert_eq!(short.response_time(mbit(11)), micros(152));
        assert_eq!(short.response_time(mbit(1)), micros(304));
    }

    #[test]
    fn waits_of_802_11b() {
        let phy = Phy::b(Preamble::Long);
        // 10 + 2·20; 10 + 304 + 50; 10 + 20 + 192.
        assert_eq!((phy.difs, phy.eifs), (micros(50), micros(364)));
        assert_eq!(phy.response_timeout, micros(222));
    }

    #[test]
    fn frames_of_802_11a_and_g() {
        // At 54 Mbit/s a symbol has 216 bits: 16 + 12288 + 6 = 12310 bits in 56.99, that is 57
        // symbols: 20 + 228 = 248 µs, and 6 more in 802.11g.
        let a = Phy::a();
        assert_eq!(a.coding.frame_time(1536, mbit(54)), micros(248));
        let g = Phy::g(Slot::Short);
        assert_eq!(g.coding.frame_time(1536, mbit(54)), micros(254));
        // TCP's acknowledgement, 76 bytes: 16 + 608 + 6 = 630 bits in 2.92, 3 symbols: 38.
        assert_eq!(g.coding.frame_time(76, mbit(54)), micros(38));
        // At 6 Mbit/s, 24 bits a symbol: 12310 / 24 = 512.9: 20 + 4·513 = 2072.
        assert_eq!(a.coding.frame_time(1536, mbit(6)), micros(2072));
        // ACK: 16 + 112 + 6 = 134 bits; at 24 Mbit/s (96 a symbol) 2 symbols, at 12 (48) 3, at 6
        // (24) 6.
        assert_eq!(a.response_time(mbit(54)), micros(28));
        assert_eq!(a.response_time(mbit(18)), micros(32));
        assert_eq!(a.response_time(mbit(9)), micros(44));
        assert_eq!(g.response_time(mbit(54)), micros(34));
    }

    #[test]
    fn waits_of_802_11a_and_g() {
        // a: 16 + 2·9; 16 + 44 + 34; 16 + 9 + 20.
        let a = Phy::a();
        assert_eq!((a.difs, a.eifs, a.response_timeout), (micros(34), micros(94), micros(45)));
        // g: 10 + 2·9; 10 + 50 + 28; with long slots 10 + 2·20.
        let g = Phy::g(Slot::Short);
        assert_eq!((g.difs, g.eifs), (micros(28), micros(88)));
        assert_eq!(Phy::g(Slot::Long).difs, micros(50));
    }
}
