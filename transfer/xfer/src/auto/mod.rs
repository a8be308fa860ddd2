//! The number of streams: starts from the model's threshold and adds streams while goodput grows.
//!
//! A [`Chooser`] is told what each interval of a transfer was like and answers how many streams there
//! should be. It has no clock and no socket: the same intervals get the same answers.
//!
//! It begins with few streams, measures, and puts what it has measured (rate, round-trip time, loss,
//! buffer) into the model of the parallelism threshold ([`fairway_model::Path::threshold`]). It goes
//! to that number, at least to twice as many as before, and on from there while the goodput grows by
//! more than its noise and the losses do not. What is found then is refined once: the fewest streams
//! that carry as much, by the model with the capacity now known.
//!
//! **Fair share.** It takes no more of a full path than one well-tuned connection would
//! ([`fairway_model::fair_streams`]). A path is full if packets wait in it whatever the number of
//! streams, or if more streams lose a larger share. If more streams gain on a path that was full
//! before they came, others lose what they gain: how many those are follows from how much was gained
//! ([`fairway_model::others_from`]), and the streams go back to the fair number: one, or as many as
//! reach the same share if each is held back by its window or by losses that come from no queue.
//!
//! When it has settled it goes on watching, and begins again if the path has changed much.

mod chooser;
mod point;
mod search;
mod watch;
mod words;

pub use chooser::{Answer, Change, Chooser, Settings};
pub use watch::Watcher;

/// What an interval of a transfer was like, over all of its streams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    pub end_s: f64,
    pub length_s: f64,
    pub streams: u32,
    pub goodput_bps: f64,
    pub segments: u64,
    pub retransmitted_segments: u64,
    pub srtt_s: f64,
    /// The least round-trip time of all streams since the beginning, in seconds.
    pub min_rtt_s: f64,
    pub cwnd_segments: f64,
    pub mss_bytes: u32,
    /// Share of their busy time that the receive window held the streams back
    /// (`tcpi_rwnd_limited` by `tcpi_busy_time`).
    pub rwnd_limited: f64,
    /// Share of their busy time that the send buffer held them back (`tcpi_sndbuf_limited`).
    pub sndbuf_limited: f64,
    /// Share of the interval in which there was nothing to send, the receiver's disk was waited for,
    /// or the user's own limit held the transfer back.
    pub application_limited: f64,
    /// Sum of the streams' delivery rates in bit/s, as the kernel last measured them; zero if unknown.
    pub delivery_bps: f64,
}

#[cfg(test)]
mod tests;
