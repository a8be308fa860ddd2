//! The parallelism threshold: the fewest streams that use what a path can deliver.

use crate::algorithm::Algorithm;
use crate::constants::SMALL_WINDOW_PACKETS;
use crate::error::{Error, inside, not_negative, positive, streams};
use crate::laws::{Law, Pftk};
use crate::red::Red;
use crate::sawtooth::Losers;

mod expected;
mod range;

pub use expected::{Expected, Plan};

/// Loss above which the square-root law no longer holds, so that timeouts are counted.
const MUCH_LOSS: f64 = 0.01;
/// Most streams that are looked at. Without a buffer, which is the worst case, a share of 0.9999 of the
/// capacity takes `9999·(1-r)/(1+r)` streams: fewer whatever the retention.
const MOST_STREAMS: u32 = 10_000;
/// Largest share of the capacity that may be asked for.
const LARGEST_TARGET: f64 = 0.9999;
/// Linux's shortest variable part of a retransmission timeout in seconds (include/net/tcp.h, TCP_RTO_MIN).
const RTO_MIN_S: f64 = 0.2;

/// A path as its streams see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// What the bottleneck passes on, in packets a second.
    pub capacity_pps: f64,
    /// Round-trip time without queues.
    pub rtt_s: f64,
    /// Buffer of the bottleneck in packets.
    pub buffer_packets: f64,
    /// Limit of a stream's window in packets: its receive window, or its send buffer.
    pub window_packets: Option<f64>,
    /// What the application gives a stream at most, in packets a second.
    pub stream_pps: Option<f64>,
    /// Probability that a packet is lost for another reason than a full buffer.
    pub loss: f64,
    /// First retransmission timeout.
    pub rto_s: f64,
}

/// What shares a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Streams {
    /// The congestion control of all of them.
    pub algorithm: Algorithm,
    /// Who backs off when the queue overflows.
    pub losers: Losers,
    /// The bottleneck's discipline if it is RED; otherwise it drops what does not fit.
    pub red: Option<Red>,
}

/// What makes one stream too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Nothing: one stream is enough.
    Nothing,
    /// The limit of its window.
    Window,
    /// The application.
    Application,
    /// Losses that come from no full buffer.
    Loss,
    /// The gap that it leaves after backing off.
    Sawtooth,
}

/// The parallelism threshold, and what it comes from.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Threshold {
    /// The fewest streams that use the path; none if no number does, as where all back off together.
    #[serde(rename = "threshold")]
    pub streams: Option<u32>,
    /// What counts.
    pub limit: Limit,
    /// The fewest by windows alone.
    pub by_window: u32,
    /// The fewest by what the application gives each.
    pub by_application: u32,
    /// The fewest by random losses alone.
    pub by_loss: u32,
    /// The fewest by what backing off leaves unused.
    pub by_sawtooth: Option<u32>,
    /// Whether the buffer overflows with as many as windows, applications and losses ask for; if not,
    /// nobody backs off.
    pub overflows: bool,
}

impl Path {
    /// The parallelism threshold: the fewest streams whose goodput together is `target` of what the
    /// bottleneck can deliver.
    ///
    /// # Errors
    /// [`Error`] if the path makes no sense, or the target is not above 0 and at most 0.9999.
    pub fn threshold(
        &self,
        algorithm: Algorithm,
        target: f64,
        losers: Losers,
    ) -> Result<Threshold, Error> {
        self.threshold_of(&Streams { algorithm, losers, red: None }, target)
    }

    /// The same where the bottleneck may be RED.
    ///
    /// # Errors
    /// As [`Path::threshold`]; [`Error`] if RED's parameters make no sense.
    pub fn threshold_of(&self, streams: &Streams, target: f64) -> Result<Threshold, Error> {
        self.check()?;
        inside("target", target)?;
        if target > LARGEST_TARGET {
            let expected = "a number above 0 and at most 0.9999";
            return Err(Error { quantity: "target", expected, found: target });
        }
        let pipe = self.pipe_packets();
        let by_window = self.window_packets.map_or(1, |window| fewest(target * pipe / window));
        let by_application =
            self.stream_pps.map_or(1, |rate| fewest(target * self.capacity_pps / rate));
        let by_loss =
            fewest(target * self.capacity_pps / self.loss_limited_pps(streams.algorithm)?);
        let by_sawtooth = self.by_sawtooth(streams, target)?;
        let mut limit = Limit::Nothing;
        let mut start = 1;
        for (by, needed) in [
            (Limit::Window, by_window),
            (Limit::Application, by_application),
            (Limit::Loss, by_loss),
        ] {
            if needed > start {
                (start, limit) = (needed, by);
            }
        }
        let overflows = self.overflows(streams, f64::from(start));
        let enough = self.without_gaps(streams, target, start)?;
        if enough != Some(start) {
            limit = Limit::Sawtooth;
        }
        Ok(Threshold {
            streams: enough,
            by_window,
            by_application,
            by_loss,
            by_sawtooth,
            overflows,
            limit,
        })
    }

    /// The fewest streams, `start` or more, that leave no gap when they back off: because they never have
    /// to, or because what they leave is small.
    fn without_gaps(
        &self,
        streams: &Streams,
        target: f64,
        start: u32,
    ) -> Result<Option<u32>, Error> {
        for n in start..=start.max(MOST_STREAMS) {
            if !self.overflows(streams, f64::from(n)) || self.sawtooth(streams, n)?.share >= target
            {
                return Ok(Some(n));
            }
        }
        Ok(None)
    }

    /// Whether the windows of `n` streams, once full, are more than the path and its buffer hold, and their
    /// applications give them as much; of RED's queue, more than it lets pass unharmed.
    fn overflows(&self, streams: &Streams, n: f64) -> bool {
        let room = streams.red.map_or(self.buffer_packets, |red| red.min_packets);
        let full = self.pipe_packets() + room;
        self.window_packets.is_none_or(|window| n * window > full)
            && self.stream_pps.is_none_or(|rate| n * rate > self.capacity_pps)
    }

    /// Packets a second of one stream that only random losses, and its window, limit; infinite if they
    /// do not.
    ///
    /// It is the response function of the algorithm at the round-trip time without queues. Where that is
    /// Reno's, and losses are more than 1 % or windows smaller than 6 packets, timeouts count as well.
    ///
    /// # Errors
    /// [`Error`] if the path makes no sense.
    pub fn loss_limited_pps(&self, algorithm: Algorithm) -> Result<f64, Error> {
        self.check()?;
        if self.loss == 0.0 {
            return Ok(f64::INFINITY);
        }
        let Some(window) = algorithm.window(self.loss, self.rtt_s) else {
            return Ok(f64::INFINITY);
        };
        if !self.counts_timeouts(algorithm) {
            return Ok(window / self.rtt_s);
        }
        let path = Pftk {
            loss: self.loss,
            rtt_s: self.rtt_s,
            rto_s: self.rto_s,
            packets_per_ack: 1.0,
            window_limit_packets: self.window_packets.unwrap_or(f64::INFINITY),
        };
        Ok(path.evaluate()?.value.throughput_pps)
    }

    /// Whether random losses are so many, or leave so small a window, that timeouts are counted.
    fn counts_timeouts(&self, algorithm: Algorithm) -> bool {
        let Some(window) = algorithm.window(self.loss, self.rtt_s) else {
            return false;
        };
        (self.loss > MUCH_LOSS || window < SMALL_WINDOW_PACKETS)
            && algorithm.is_reno_at(self.loss, self.rtt_s)
    }

    /// The share of the capacity that `n` streams use which back off one after the other, without
    /// regard to windows and random losses.
    ///
    /// # Errors
    /// [`Error`] if the path makes no sense, or for no streams.
    pub fn utilisation(&self, n: u32, algorithm: Algorithm, losers: Losers) -> Result<f64, Error> {
        Ok(self.sawtooth(&Streams { algorithm, losers, red: None }, n)?.share)
    }

    /// The fewest streams that overflow a buffer that drops what does not fit, where windows are limited:
    /// `floor((P+B)/W) + 1`. Between the threshold and this number more streams only make the queue
    /// longer. For RED, put its lower threshold in place of the buffer.
    ///
    /// # Errors
    /// [`Error`] if the path makes no sense.
    pub fn onset_of_loss(&self) -> Result<u32, Error> {
        self.check()?;
        let full = self.pipe_packets() + self.buffer_packets;
        // The cast saturates.
        Ok(self.window_packets.map_or(1, |window| (full / window) as u32).saturating_add(1))
    }

    /// The queue that `n` streams keep whose windows are all at their limit: `(N·W - P)/C` in seconds,
    /// no more than the buffer; none without such a limit.
    ///
    /// # Errors
    /// [`Error`] if the path makes no sense, or for no streams.
    pub fn window_limited_delay_s(&self, n: u32) -> Result<Option<f64>, Error> {
        self.check()?;
        let n = streams(n)?;
        let queue = self.window_packets.map(|window| n * window - self.pipe_packets());
        Ok(queue.map(|queue| queue.clamp(0.0, self.buffer_packets) / self.capacity_pps))
    }

    /// The retransmission timeout that Linux has there when the buffer is full: `T + B/C + 200 ms`
    /// (net/ipv4/tcp_input.c, `tcp_rtt_estimator`: what is added to the smoothed round-trip time is
    /// `TCP_RTO_MIN` or more).
    pub fn usual_rto_s(rtt_s: f64, buffer_packets: f64, capacity_pps: f64) -> f64 {
        rtt_s + buffer_packets / capacity_pps + RTO_MIN_S
    }

    /// The bandwidth-delay product in packets.
    pub fn pipe_packets(&self) -> f64 {
        self.capacity_pps * self.rtt_s
    }

    fn by_sawtooth(&self, streams: &Streams, target: f64) -> Result<Option<u32>, Error> {
        for n in 1..=MOST_STREAMS {
            if self.sawtooth(streams, n)?.share >= target {
                return Ok(Some(n));
            }
        }
        Ok(None)
    }

    fn check(&self) -> Result<(), Error> {
        positive("capacity in packets a second", self.capacity_pps)?;
        positive("round-trip time in seconds", self.rtt_s)?;
        not_negative("buffer in packets", self.buffer_packets)?;
        positive("retransmission timeout in seconds", self.rto_s)?;
        if let Some(window) = self.window_packets
            && !(window >= 1.0 && window.is_finite())
        {
            let quantity = "window limit in packets";
            return Err(Error { quantity, expected: "one or more", found: window });
        }
        if let Some(rate) = self.stream_pps {
            positive("packets a second of a stream's application", rate)?;
        }
        if self.loss != 0.0 {
            inside("loss", self.loss)?;
        }
        Ok(())
    }
}

/// The fewest whole streams that are at least `needed`.
fn fewest(needed: f64) -> u32 {
    // The cast saturates; what is a whole number but for rounding is that number.
    libm::ceil(needed - 1e-9).max(1.0) as u32
}

#[cfg(test)]
mod tests;
