//! Rates that change at random: on–off links, and rates modulated by a Markov chain.

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use super::varying::Pieces;
use crate::InFlight;
use crate::pieces::Piece;

/// How long a state lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Always as long.
    Fixed(Duration),
    /// Exponentially distributed with this mean.
    Exponential(Duration),
}

/// A line that is on and off by turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// Rate while it is on.
    pub rate: Rate,
    /// How long it is on.
    pub on: Holding,
    /// How long it is off.
    pub off: Holding,
    /// Whether it is on at the start.
    pub begins_on: bool,
    /// What becomes of a packet in transmission when it goes off.
    pub in_flight: InFlight,
}

/// One state of a Markov-modulated rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RateState {
    /// Rate in this state; may be zero.
    pub rate: Rate,
    /// How long it lasts.
    pub holding: Holding,
    /// The probability of each state to follow, in their order.
    pub next: Vec<f64>,
    /// What becomes of a packet in transmission when it begins.
    pub in_flight: InFlight,
}

/// A rate that is that of a Markov chain's state (with fixed holding times, a semi-Markov chain's).
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovRate {
    /// Its states; it begins in the first.
    pub states: Vec<RateState>,
}

/// No state lasts shorter on average: what happens within one packet's time is a rate of its own.
const SHORTEST: Duration = Duration::from_micros(1);

impl Holding {
    /// Its mean.
    pub fn mean(self) -> Duration {
        match self {
            Holding::Fixed(time) | Holding::Exponential(time) => time,
        }
    }

    fn check(self, name: &str) -> Result<(), String> {
        let mean = self.mean();
        if mean >= SHORTEST {
            return Ok(());
        }
        Err(format!("{name}: expected at least {SHORTEST}, got {mean}; write a longer time"))
    }

    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Holding::Fixed(time) => time,
            Holding::Exponential(mean) => {
                let nanos = libm::round(mean.as_nanos() as f64 * stream.exponential());
                Duration::from_nanos((nanos as u64).max(1))
            }
        }
    }
}

impl OnOff {
    pub(super) fn check(&self) -> Result<(), String> {
        self.on.check("on_off.on")?;
        self.off.check("on_off.off")?;
        check_some_rate(std::iter::once(self.rate))
    }

    /// As the chain of two states that it is.
    fn as_markov(&self) -> MarkovRate {
        let on = RateState {
            rate: self.rate,
            holding: self.on,
            next: vec![0.0, 1.0],
            in_flight: InFlight::Keep,
        };
        let off = RateState {
            rate: Rate::from_bps(0),
            holding: self.off,
            next: vec![1.0, 0.0],
            in_flight: self.in_flight,
        };
        let mut states = vec![on, off];
        if !self.begins_on {
            states = vec![states.remove(1), states.remove(0)];
            states[0].next.reverse();
            states[1].next.reverse();
        }
        MarkovRate { states }
    }

    pub(super) fn pieces(&self, stream: Stream) -> Modulated {
        Modulated::new(self.as_markov(), stream)
    }
}

impl MarkovRate {
    pub(super) fn check(&self) -> Result<(), String> {
        for (i, state) in self.states.iter().enumerate() {
            state.holding.check(&format!("state.{i}.holding"))?;
            let sum: f64 = state.next.iter().sum();
            let right = state.next.iter().all(|p| (0.0..=1.0).contains(p))
                && (sum - 1.0).abs() < 1e-9
                && state.next.len() == self.states.len();
            if !right {
                return Err(format!(
                    "state.{i}.next: expected {} probabilities, one for each state, that add \
                     to 1, got {:?}; write one for each",
                    self.states.len(),
                    state.next
                ));
            }
        }
        check_some_rate(self.states.iter().map(|state| state.rate))
    }

    pub(super) fn pieces(&self, stream: Stream) -> Modulated {
        Modulated::new(self.clone(), stream)
    }
}

fn check_some_rate(mut rates: impl Iterator<Item = Rate>) -> Result<(), String> {
    if rates.any(|rate| rate.as_bps() > 0) {
        return Ok(());
    }
    Err("rate: expected a rate above 0, got none: nothing would ever leave; write \"10 Mbit/s\""
        .to_owned())
}

/// The chain at work.
#[derive(Debug)]
pub(super) struct Modulated {
    model: MarkovRate,
    state: usize,
    now: Piece,
    stream: Stream,
}

impl Modulated {
    fn new(model: MarkovRate, stream: Stream) -> Self {
        let now = Piece { from: Time::ZERO, until: Time::ZERO, first: 0, last: 0, breaks: false };
        let mut modulated = Modulated { model, state: 0, now, stream };
        modulated.enter(0);
        modulated
    }

    /// Enter a state at the end of the present piece.
    fn enter(&mut self, state: usize) {
        let RateState { rate, holding, in_flight, .. } = self.model.states[state];
        let (from, rate) = (self.now.until, rate.as_bps());
        let breaks = in_flight == InFlight::Lose;
        let until = from + holding.draw(&mut self.stream);
        self.now = Piece { from, until, first: rate, last: rate, breaks };
        self.state = state;
    }

    /// The state after this one. No number is drawn where there is no choice.
    fn next(&mut self) -> usize {
        let chances = &self.model.states[self.state].next;
        if let Some(only) = chances.iter().position(|chance| *chance == 1.0) {
            return only;
        }
        let mut left = self.stream.unit();
        let chosen = chances.iter().position(|chance| {
            left -= chance;
            left < 0.0
        });
        // Rounding may leave a rest: it is the last possible state's.
        chosen.or_else(|| chances.iter().rposition(|chance| *chance > 0.0)).unwrap_or(0)
    }
}

impl Pieces for Modulated {
    fn at(&mut self, at: Time) -> Piece {
        while self.now.until <= at && self.now.until != Time::NEVER {
            let state = self.next();
            self.enter(state);
        }
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::super::RateModel;
    use super::super::varying::Varying;
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const RATE: Rate = Rate::from_bps(8_000_000);

    fn on_off(on: Holding, off: Holding) -> OnOff {
        OnOff { rate: RATE, on, off, begins_on: true, in_flight: InFlight::Keep }
    }

    fn line(on_off: &OnOff) -> Varying<Modulated> {
        on_off.check().unwrap();
        Varying::new(on_off.pieces(Stream::new(1, "link/rate")))
    }

    /// Packets of 1000 bytes that a busy line ends within a time.
    fn carried(line: &mut impl RateModel, until: Time) -> u64 {
        let (mut time, mut packets) = (Time::ZERO, 0);
        while time < until {
            time = line.transmit(1000, time);
            packets += 1;
        }
        packets
    }

    #[test]
    fn fixed_times_by_turns() {
        // On for 3 ms, off for 7 ms; a packet takes 1 ms.
        let config = on_off(Holding::Fixed(ms(3)), Holding::Fixed(ms(7)));
        let ends = |config: &OnOff| {
            let mut line = line(config);
            let mut time = Time::ZERO;
            let mut end = || {
                time = line.transmit(1000, time);
                time.as_millis()
            };
            [end(), end(), end(), end(), end(), end(), end()]
        };
        assert_eq!(ends(&config), [1, 2, 3, 11, 12, 13, 21]);
        assert_eq!(ends(&OnOff { begins_on: false, ..config }), [8, 9, 10, 18, 19, 20, 28]);
    }

    #[test]
    fn going_off_may_cut_a_packet_off() {
        let fixed = on_off(Holding::Fixed(ms(3)), Holding::Fixed(ms(7)));
        let at = |micros: u64| Time::from_nanos(micros * 1000);
        let mut kept = line(&fixed);
        assert_eq!((kept.transmit(1000, at(2500)), kept.cuts()), (at(10_500), false));
        let mut lost = line(&OnOff { in_flight: InFlight::Lose, ..fixed });
        assert_eq!((lost.transmit(1000, at(2500)), lost.cuts()), (at(3000), true));
        assert_eq!((lost.transmit(1000, at(3000)), lost.cuts()), (at(11_000), false));
    }

    #[test]
    fn random_times_share_the_line_by_their_means() {
        // On a quarter of the time: in 2000 s, at mean periods of 40 ms, 50 000 periods. The share
        // of an alternating exponential process has variance 2·(on·off)²/(on + off)³/T =
        // 2·(10·30)²/40³/2·10⁶ = 1.4·10⁻⁶: error 0.0012.
        let config = on_off(Holding::Exponential(ms(10)), Holding::Exponential(ms(30)));
        let end = Time::ZERO + Duration::from_secs(2000);
        let share = carried(&mut line(&config), end) as f64 / 2_000_000.0;
        assert!((share - 0.25).abs() < 0.0048, "{share}");
    }

    #[test]
    fn a_chain_of_three_rates() {
        // Jumps 0 → 1 → (0 or 2, even) and 2 → 1: the jumps visit 0, 1, 2 with shares ¼, ½, ¼.
        // Holding 20, 10, 40 ms: times 5 : 5 : 10. Mean rate (5·8 + 5·4 + 10·0)/20 = 3 Mbit/s.
        let state = |bps, holding, next: [f64; 3]| RateState {
            rate: Rate::from_bps(bps),
            holding: Holding::Exponential(ms(holding)),
            next: next.to_vec(),
            in_flight: InFlight::Keep,
        };
        let config = MarkovRate {
            states: vec![
                state(8_000_000, 20, [0.0, 1.0, 0.0]),
                state(4_000_000, 10, [0.5, 0.0, 0.5]),
                state(0, 40, [0.0, 1.0, 0.0]),
            ],
        };
        config.check().unwrap();
        let mut line = Varying::new(config.pieces(Stream::new(2, "link/rate")));
        let end = Time::ZERO + Duration::from_secs(4000);
        let rate = carried(&mut line, end) as f64 * 8000.0 / 4000.0;
        // A cycle from 1 to 1 takes 10 + 30 ms on average and carries 40 + 80 kbit: 100 000 cycles
        // whose carried less mean rate times length has a deviation near 130 kbit: relative error
        // 130/120/√100 000 = 0.0035; four of it on 3 Mbit/s.
        assert!((rate - 3e6).abs() < 42_000.0, "{rate}");
    }

    #[test]
    fn what_makes_no_chain_is_refused() {
        let short = on_off(Holding::Fixed(Duration::ZERO), Holding::Fixed(ms(1)));
        assert!(short.check().unwrap_err().starts_with("on_off.on: expected at least 1 us"));
        let state = RateState {
            rate: RATE,
            holding: Holding::Fixed(ms(1)),
            next: vec![0.5],
            in_flight: InFlight::Keep,
        };
        let chain = MarkovRate { states: vec![state] };
        assert!(chain.check().unwrap_err().starts_with("state.0.next"));
        let none = MarkovRate { states: vec![] };
        assert!(none.check().unwrap_err().contains("nothing would ever leave"));
    }
}
