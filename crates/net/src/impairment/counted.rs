//! Losses by count: packets named by number, every n-th, and bursts of a given length.

use fairway_units::Time;
use fairway_units::random::Stream;

use super::chance::check_probability;

/// Which packets are counted, and so may be lost by count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// Packets that carry data, retransmitted or not.
    #[default]
    Data,
    /// All.
    All,
}

/// Packets lost by number, as they come to the wire; the first is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct LossList {
    /// The numbers, rising.
    pub packets: Vec<u64>,
    /// What is numbered.
    pub of: Counted,
}

/// Every n-th packet is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossPeriod {
    /// From one lost packet to the next; at least 1.
    pub every: u64,
    /// Number of the first that is lost; at least 1.
    pub first: u64,
    /// What is counted.
    pub of: Counted,
}

/// As many packets in a row are lost, now and then.
#[derive(Clone, Debug, PartialEq)]
pub struct LossBurst {
    /// Packets of a burst; at least 1.
    pub length: u64,
    /// When bursts begin.
    pub starts: Starts,
    /// What is counted; other packets pass in between.
    pub of: Counted,
}

/// When bursts begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// Each packet outside bursts begins one with this probability.
    Chance(f64),
    /// With the first packet at or after each of these times, which rise. A burst that has not
    /// ended by the next one's time is followed by it.
    At(Vec<Time>),
}

/// The least period or length.
fn at_least_one(name: &str, key: &str, value: u64) -> Result<(), String> {
    if value > 0 {
        return Ok(());
    }
    Err(format!("{name}.{key}: expected a number of packets from 1, got 0; write 1 or more"))
}

impl LossList {
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        if self.packets.first() == Some(&0) {
            return Err(format!("{name}.packets: packets are numbered from 1, got 0; write 1"));
        }
        match self.packets.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(format!(
                "{name}.packets: expected rising numbers, got {} before {}; sort them and write \
                 each once",
                pair[0], pair[1]
            )),
            None => Ok(()),
        }
    }
}

impl LossPeriod {
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        at_least_one(name, "every", self.every)?;
        at_least_one(name, "first", self.first)
    }
}

impl LossBurst {
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        at_least_one(name, "length", self.length)?;
        match &self.starts {
            Starts::Chance(probability) => {
                check_probability(&format!("{name}.probability"), *probability)
            }
            Starts::At(times) => match times.windows(2).find(|pair| pair[0] > pair[1]) {
                Some(pair) => Err(format!(
                    "{name}.at: expected rising times, got {} before {}; sort them",
                    pair[0], pair[1]
                )),
                None => Ok(()),
            },
        }
    }
}

/// The packets of a list, while they are counted.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    packets: Vec<u64>,
    next: usize,
    seen: u64,
}

impl Listed {
    pub(super) fn new(list: &LossList) -> Self {
        Listed { packets: list.packets.clone(), next: 0, seen: 0 }
    }

    /// Whether the next counted packet is lost.
    pub(super) fn loses(&mut self) -> bool {
        self.seen += 1;
        let lost = self.packets.get(self.next) == Some(&self.seen);
        self.next += usize::from(lost);
        lost
    }
}

/// Packets until the next one that is lost.
#[derive(Clone, Debug)]
pub(super) struct Periodic {
    every: u64,
    left: u64,
}

impl Periodic {
    pub(super) fn new(period: &LossPeriod) -> Self {
        Periodic { every: period.every.max(1), left: period.first.max(1) }
    }

    /// Whether the next counted packet is lost.
    pub(super) fn loses(&mut self) -> bool {
        self.left -= 1;
        let lost = self.left == 0;
        if lost {
            self.left = self.every;
        }
        lost
    }
}

/// Bursts, and what is left of the present one.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    burst: LossBurst,
    /// Packets still to be lost.
    left: u64,
    /// How many of the given times have come.
    begun: usize,
    stream: Stream,
}

impl Bursts {
    pub(super) fn new(burst: &LossBurst, stream: Stream) -> Self {
        Bursts { burst: burst.clone(), left: 0, begun: 0, stream }
    }

    /// Whether the next counted packet, here at `at`, is lost.
    pub(super) fn loses(&mut self, at: Time) -> bool {
        match &self.burst.starts {
            Starts::Chance(probability) => {
                if self.left == 0 && self.stream.unit() < *probability {
                    self.left = self.burst.length;
                }
            }
            Starts::At(times) => {
                while times.get(self.begun).is_some_and(|start| *start <= at) {
                    self.left = self.left.saturating_add(self.burst.length);
                    self.begun += 1;
                }
            }
        }
        let lost = self.left > 0;
        self.left -= u64::from(lost);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::super::bursts_of_losses::runs;
    use super::*;

    #[test]
    fn listed_packets_and_no_others() {
        let list = LossList { packets: vec![1, 4, 5, 9], of: Counted::All };
        let mut listed = Listed::new(&list);
        let lost: Vec<u64> = (1..=20).filter(|_| listed.loses()).collect();
        assert_eq!(lost, [1, 4, 5, 9]);
    }

    #[test]
    fn every_fifth_from_the_third() {
        let mut periodic = Periodic::new(&LossPeriod { every: 5, first: 3, of: Counted::All });
        let lost: Vec<u64> = (1..=20).filter(|_| periodic.loses()).collect();
        assert_eq!(lost, [3, 8, 13, 18]);
    }

    #[test]
    fn bursts_at_given_times() {
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        // A packet at every ms. From 3 ms three are lost; those of 10 ms and 11 ms, six in a row.
        let starts = Starts::At(vec![ms(3), ms(10), ms(11)]);
        let burst = LossBurst { length: 3, starts, of: Counted::All };
        let mut bursts = Bursts::new(&burst, Stream::new(1, "wire/loss"));
        let lost: Vec<u64> = (0..30).filter(|at| bursts.loses(ms(*at))).collect();
        assert_eq!(lost, [3, 4, 5, 10, 11, 12, 13, 14, 15]);
    }

    #[test]
    fn random_bursts_have_one_length_and_geometric_gaps() {
        // Bursts of 4, begun with 0.01 by each packet outside them. A burst may begin right behind
        // another, so runs are 4, 8, 12 … with shares 0.99, 0.0099 …; between beginnings lie 4
        // packets and a mean of 99 others: loss 4/(4 + 99) = 0.038835.
        let burst = LossBurst { length: 4, starts: Starts::Chance(0.01), of: Counted::All };
        let mut bursts = Bursts::new(&burst, Stream::new(2, "wire/loss"));
        let seen = runs(1_000_000, || bursts.loses(Time::ZERO));
        // About 9700 bursts, 1 % error in their number: 0.0004.
        assert!((seen.loss() - 0.038_835).abs() < 0.0016, "{}", seen.loss());
        seen.assert_lengths(&[0.0, 0.0, 0.0, 0.99, 0.0, 0.0, 0.0, 0.0099]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let list = |packets: &[u64]| LossList { packets: packets.to_vec(), of: Counted::Data };
        assert!(list(&[0, 1]).check("loss").unwrap_err().contains("numbered from 1"));
        assert!(list(&[3, 3]).check("loss").unwrap_err().contains("got 3 before 3"));
        assert!(list(&[]).check("loss").is_ok());
        let period = LossPeriod { every: 0, first: 1, of: Counted::Data };
        assert!(period.check("loss").unwrap_err().starts_with("loss.every:"));
    }
}
