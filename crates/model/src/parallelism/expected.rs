//! What so many streams can be expected to use, and to lose.

use super::{Error, Limit, Losers, Path, Pftk, SMALL_WINDOW_PACKETS, Streams, Threshold};
use crate::error::streams as checked;
use crate::laws;
use crate::red::RedPoint;
use crate::sawtooth::utilisation;

/// Rows of a table where no number of streams is enough.
const ROWS_WITHOUT_THRESHOLD: u32 = 20;
/// Most rows of a table: more tells nothing.
const MOST_ROWS: u32 = 20_000;

/// What so many streams can be expected to do.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Expected {
    /// How many they are.
    pub streams: u32,
    /// Their goodput together, as a share of what the bottleneck can deliver.
    pub utilisation: f64,
    /// Packets lost of those that were sent.
    pub loss_ratio: f64,
    /// Time in the queue that full windows, or RED, keep up; none where the queue fills and empties.
    pub queueing_delay_s: Option<f64>,
}

/// The threshold, and what to expect of fewer and of more streams.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Plan {
    /// The threshold.
    pub threshold: Threshold,
    /// What to expect of 1, 2, … streams, up to twice the threshold.
    pub table: Vec<Expected>,
    /// The model that the threshold comes from.
    pub model: &'static str,
    /// Why the threshold may not be believed; none where the model holds.
    pub outside: Option<&'static str>,
}

/// What backing off leaves of the path.
pub(super) struct Sawtooth {
    /// The share that is used.
    pub(super) share: f64,
    /// The queue at which somebody backs off, in packets.
    queue_packets: f64,
    /// RED's balance, if it has one.
    red: Option<RedPoint>,
}

impl Path {
    /// The threshold, and what to expect of 1 up to twice as many streams (20, if no number is enough), or
    /// up to as many as are asked for if that is more; never more than 20,000.
    ///
    /// # Errors
    /// As [`Path::threshold_of`].
    pub fn plan(&self, streams: &Streams, target: f64, up_to: u32) -> Result<Plan, Error> {
        let threshold = self.threshold_of(streams, target)?;
        let twice = threshold.streams.map_or(ROWS_WITHOUT_THRESHOLD, |n| n.saturating_mul(2));
        let rows = twice.max(up_to);
        let table = (1..=rows.min(MOST_ROWS))
            .map(|n| self.expected(streams, n))
            .collect::<Result<_, _>>()?;
        let model = match threshold.limit {
            Limit::Nothing => "sawtooth: one stream is enough",
            Limit::Window => "window limit over round-trip time",
            Limit::Application => "rate of the application",
            Limit::Loss if self.counts_timeouts(streams.algorithm) => {
                "random losses: Padhye et al. 1998, with timeouts"
            }
            Limit::Loss => "random losses: the algorithm's response function",
            Limit::Sawtooth if streams.red.is_some() => "sawtooth above RED's equilibrium queue",
            Limit::Sawtooth => "sawtooth over a buffer that drops what does not fit",
        };
        let outside = self.outside(streams, &threshold, target);
        Ok(Plan { threshold, table, model, outside })
    }

    /// What `n` streams can be expected to do: the least of what windows, applications, random losses and
    /// backing off let them use; and of losses the greater of those that are the path's own and those that
    /// it takes to keep `n` windows within the path and its buffer.
    ///
    /// # Errors
    /// [`Error`] if something makes no sense, or for no streams.
    pub fn expected(&self, streams: &Streams, n: u32) -> Result<Expected, Error> {
        let many = checked(n)?;
        let held_pps = [
            self.window_packets.map_or(f64::INFINITY, |window| window / self.rtt_s),
            self.stream_pps.unwrap_or(f64::INFINITY),
            self.loss_limited_pps(streams.algorithm)?,
        ];
        let each = held_pps.into_iter().fold(f64::INFINITY, f64::min);
        let offered = (many * each / self.capacity_pps).min(1.0);
        if !self.overflows(streams, many) {
            return Ok(Expected {
                streams: n,
                utilisation: offered,
                loss_ratio: self.loss,
                queueing_delay_s: Some(self.standing_delay_s(n)?),
            });
        }
        let saw = self.sawtooth(streams, n)?;
        let own = match saw.red {
            Some(point) => 1.0 - (1.0 - point.loss) * (1.0 - self.loss),
            None => self.overflow_loss(streams, many, saw.queue_packets)?,
        };
        Ok(Expected {
            streams: n,
            utilisation: offered.min(saw.share),
            loss_ratio: own.max(self.loss),
            queueing_delay_s: saw.red.map(|point| point.queue_packets / self.capacity_pps),
        })
    }

    /// What backing off leaves, where `n` streams overflow the queue. RED's balance takes the place of the
    /// buffer; where it finds none it drops as a buffer of that size does which is full.
    pub(super) fn sawtooth(&self, streams: &Streams, n: u32) -> Result<Sawtooth, Error> {
        self.check()?;
        let (many, pipe) = (checked(n)?, self.pipe_packets());
        let red = match streams.red {
            Some(red) => self.red(red, n, streams.algorithm)?,
            None => None,
        };
        let ceiling = streams.red.map_or(self.buffer_packets, |red| red.ceiling_packets());
        let queue_packets =
            red.map_or(ceiling, |point| point.queue_packets).min(self.buffer_packets);
        let window = (pipe + queue_packets) / many;
        let share = match streams.algorithm.retention(window, pipe, queue_packets) {
            None => 1.0,
            Some(kept) => utilisation(streams.losers.independent(many), pipe, queue_packets, kept)?,
        };
        Ok(Sawtooth { share, queue_packets, red })
    }

    /// The loss that keeps `n` windows within the path and a queue: where the mean window is `(P+B)/N`, or
    /// below that where so many back off together that the sum falls visibly, at a round-trip time of
    /// `T + B/C`. Timeouts count where windows are small.
    fn overflow_loss(&self, streams: &Streams, many: f64, queue: f64) -> Result<f64, Error> {
        let peak = (self.pipe_packets() + queue) / many;
        let kept = streams.algorithm.retention(peak, self.pipe_packets(), queue).unwrap_or(1.0);
        // Between a peak and what is kept of it the sum is half as much lower on average. One that backs
        // off at a time leaves it where it is, as far as the sources of these forms go.
        let together = match streams.losers {
            Losers::One => 0.0,
            Losers::All | Losers::Random { .. } => 1.0 / streams.losers.independent(many),
        };
        let mean = peak * (1.0 - together * (1.0 - kept) / 2.0);
        let rtt_s = self.rtt_s + queue / self.capacity_pps;
        let Some(loss) = streams.algorithm.loss_at(mean, rtt_s) else {
            return Ok(0.0);
        };
        let loss = loss.min(1.0);
        if mean >= SMALL_WINDOW_PACKETS || loss < 1.0 && !streams.algorithm.is_reno_at(loss, rtt_s)
        {
            return Ok(loss);
        }
        let asked = Pftk {
            loss: 0.5,
            rtt_s,
            rto_s: self.rto_s,
            packets_per_ack: 1.0,
            window_limit_packets: f64::INFINITY,
        };
        laws::pftk_loss(mean / rtt_s, &asked)
    }

    /// The queue that full windows keep where they do not overflow it, in seconds.
    fn standing_delay_s(&self, n: u32) -> Result<f64, Error> {
        if self.stream_pps.is_some_and(|rate| f64::from(n) * rate < self.capacity_pps)
            || self.loss > 0.0
        {
            return Ok(0.0);
        }
        Ok(self.window_limited_delay_s(n)?.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests;
