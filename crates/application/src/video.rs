//! Video in segments over one connection, as DASH has it: the client asks for each segment at one of several
//! rates, by how much it has buffered.
//!
//! Source of the choice: T.-Y. Huang et al., "A Buffer-Based Approach to Rate Adaptation: Evidence from a
//! Large Video Streaming Service" (SIGCOMM 2014), algorithm 1 (BBA-0).

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use crate::exchange::Exchange;
use crate::{Context, Direction, Driver, Report};
use fairway_spec::Film;

/// The client and its server.
pub(crate) struct Video {
    film: Film,
    stream: Stream,
    exchange: Exchange,
    /// Place in the ladder of the segment asked for last.
    quality: usize,
    player: Player,
    segments: u64,
    started: Time,
    finished: Option<Time>,
    /// What was counted up to the beginning of the measuring window, and in it.
    before: Counts,
    measured: Counts,
    counts: Counts,
}

/// What is counted as the film goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    segments: u64,
    /// Their rates added up, in bit/s.
    rates: u64,
    switches: u64,
    stalls: u64,
    stalled: Duration,
}

/// What plays the film.
#[derive(Clone, Copy, Debug, Default)]
struct Player {
    buffered: Duration,
    /// Up to when what it played is taken off.
    at: Time,
    is_playing: bool,
    /// Whether nothing is missing any more.
    has_all: bool,
    /// When it ran out, or began to wait for the first time.
    waits_since: Time,
    start_up: Option<Duration>,
    stalls: u64,
    stalled: Duration,
}

impl Player {
    /// It plays on until `now`.
    fn play(&mut self, now: Time) {
        let passed = now.since(self.at);
        if self.is_playing && !self.has_all {
            if passed >= self.buffered {
                self.is_playing = false;
                self.stalls += 1;
                self.waits_since = self.at + self.buffered;
            }
            let left = self.buffered.as_nanos().saturating_sub(passed.as_nanos());
            self.buffered = Duration::from_nanos(left);
        }
        self.at = now;
    }

    /// A segment has come.
    fn add(&mut self, segment: Duration, enough: Duration, now: Time) {
        self.play(now);
        self.buffered += segment;
        if !self.is_playing && self.buffered >= enough {
            self.is_playing = true;
            let waited = now.since(self.waits_since);
            match self.start_up {
                None => self.start_up = Some(waited),
                Some(_) => self.stalled += waited,
            }
        }
    }

    /// Time in stalls so far, the one that lasts included.
    fn stalled_by(&self, now: Time) -> Duration {
        let waits = self.start_up.is_some() && !self.is_playing;
        self.stalled + if waits { now.since(self.waits_since) } else { Duration::ZERO }
    }
}

/// BBA-0: the place in the ladder of the next segment. Below the reservoir it is the lowest; through the
/// cushion the rate that the buffer suggests rises to the highest in a straight line, and the choice changes
/// only when that passes the next rung.
fn choose(film: &Film, last: usize, buffered: Duration) -> usize {
    let top = film.ladder.len() - 1;
    let (reservoir, cushion) = (film.reservoir.as_nanos(), film.cushion.as_nanos());
    let Some(above) = buffered.as_nanos().checked_sub(reservoir).filter(|above| *above > 0) else {
        return 0;
    };
    if above >= cushion {
        return top;
    }
    let rate = |place: usize| u128::from(film.ladder[place].as_bps());
    let span = rate(top) - rate(0);
    let suggested = rate(0) + span * u128::from(above) / u128::from(cushion);
    if suggested >= rate((last + 1).min(top)) {
        (0..=top).rev().find(|place| rate(*place) < suggested).unwrap_or(0)
    } else if suggested <= rate(last.saturating_sub(1)) {
        (0..=top).find(|place| rate(*place) > suggested).unwrap_or(top)
    } else {
        last
    }
}

/// Bytes of a segment at a rate.
fn bytes_of(segment: Duration, rate: Rate) -> u64 {
    let bits = u128::from(segment.as_nanos()) * u128::from(rate.as_bps()) / 1_000_000_000;
    ((bits / 8) as u64).max(1)
}

impl Video {
    pub(crate) fn new(film: Film, stream: Stream) -> Self {
        Video {
            film,
            stream,
            exchange: Exchange::default(),
            quality: 0,
            player: Player::default(),
            segments: 0,
            started: Time::ZERO,
            finished: None,
            before: Counts::default(),
            measured: Counts::default(),
            counts: Counts::default(),
        }
    }

    fn counts_by(&mut self, now: Time) -> Counts {
        self.player.play(now);
        Counts { stalls: self.player.stalls, stalled: self.player.stalled_by(now), ..self.counts }
    }
}

impl Driver for Video {
    fn begin(&mut self, context: &mut dyn Context) {
        self.started = context.now();
        self.player.at = context.now();
        self.player.waits_since = context.now();
        self.wake(context, 0);
    }

    fn wake(&mut self, context: &mut dyn Context, _: u32) {
        self.player.play(context.now());
        let quality = choose(&self.film, self.quality, self.player.buffered);
        self.counts.switches += u64::from(quality != self.quality && self.segments > 0);
        self.quality = quality;
        self.exchange.ask(context, 0, self.film.request.draw_bytes(&mut self.stream));
    }

    fn delivered(&mut self, context: &mut dyn Context, _: usize, direction: Direction) {
        let rate = self.film.ladder[self.quality];
        if direction == Direction::Reverse {
            return self.exchange.answer(context, 0, bytes_of(self.film.segment, rate));
        }
        self.segments += 1;
        let is_last = self.film.transfers == Some(self.segments);
        let enough = if is_last { Duration::ZERO } else { self.film.start_up };
        self.player.add(self.film.segment, enough, context.now());
        self.player.has_all = is_last;
        self.counts.segments += 1;
        self.counts.rates += rate.as_bps();
        if is_last {
            self.finished = Some(context.now());
            return self.exchange.close(context, 0);
        }
        // There has to be room for the next segment.
        let held = self.player.buffered + self.film.segment;
        let wait = held.as_nanos().saturating_sub(self.film.buffer.as_nanos());
        context.wake(context.now() + Duration::from_nanos(wait), 0);
    }

    fn window_begins(&mut self, now: Time) {
        self.before = self.counts_by(now);
    }

    fn window_ends(&mut self, now: Time) {
        let counts = self.counts_by(now);
        self.measured = Counts {
            segments: counts.segments - self.before.segments,
            rates: counts.rates - self.before.rates,
            switches: counts.switches - self.before.switches,
            stalls: counts.stalls - self.before.stalls,
            stalled: Duration::from_nanos(
                counts.stalled.as_nanos() - self.before.stalled.as_nanos(),
            ),
        };
    }

    fn report(&self, _: [Time; 2]) -> Report {
        let Counts { segments, rates, switches, stalls, stalled } = self.measured;
        let mean_rate = (segments > 0).then(|| rates as f64 / segments as f64);
        Report {
            completion: self.finished.map(|at| at.since(self.started)),
            figures: vec![
                ("segments", Some(segments as f64)),
                ("mean_video_rate_bps", mean_rate),
                ("start_up_delay_s", self.player.start_up.map(Duration::as_secs_f64)),
                ("stalls", Some(stalls as f64)),
                ("stalled_s", Some(stalled.as_secs_f64())),
                ("quality_switches", Some(switches as f64)),
            ],
            ..Report::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_spec::Distribution;

    fn film() -> Film {
        Film {
            segment: Duration::from_secs(4),
            ladder: [1, 2, 4, 5].map(|mbps| Rate::from_bps(mbps * 1_000_000)).to_vec(),
            buffer: Duration::from_secs(40),
            reservoir: Duration::from_secs(10),
            cushion: Duration::from_secs(20),
            start_up: Duration::from_secs(8),
            request: Distribution::Constant(300.0),
            transfers: None,
        }
    }

    #[test]
    fn qualities_by_hand() {
        let film = film();
        let choose = |last, seconds| choose(&film, last, Duration::from_secs(seconds));
        // In the reservoir, and above the cushion.
        assert_eq!([choose(3, 5), choose(3, 10), choose(0, 30), choose(0, 35)], [0, 0, 3, 3]);
        // At 15 s a quarter of the way from 1 to 5 Mbit/s: 2. From the lowest that reaches the next rung,
        // and the highest below it is the lowest itself; from the second, it is not as low as the one below.
        assert_eq!([choose(0, 15), choose(1, 15), choose(2, 15)], [0, 1, 2]);
        // 16 s: 2.2 Mbit/s. From the top, above 4 Mbit/s no more: the lowest above it is 4.
        assert_eq!([choose(0, 16), choose(3, 16)], [1, 2]);
    }

    #[test]
    fn stalls_by_hand() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut player = Player::default();
        let mut add =
            |second| player.add(Duration::from_secs(4), Duration::from_secs(8), at(second));
        // Two segments by 3 s: it starts then, and plays until 11.
        add(1);
        add(3);
        // One more at 6: until 15. Then nothing until 20, and enough at 22: seven seconds.
        add(6);
        add(20);
        add(22);
        assert_eq!(player.start_up, Some(Duration::from_secs(3)));
        assert_eq!((player.stalls, player.stalled), (1, Duration::from_secs(7)));
        // It plays 8 s from 22, and stands still again from 30.
        player.play(at(33));
        assert_eq!((player.stalls, player.stalled_by(at(33))), (2, Duration::from_secs(10)));
    }

    #[test]
    fn segments_have_their_bytes() {
        // 4 s of 235 kbit/s.
        assert_eq!(bytes_of(Duration::from_secs(4), Rate::from_bps(235_000)), 117_500);
    }
}
