//! The clocks: one that only goes forwards, and that of the wall.

use std::cell::Cell;
use std::ops::Add;
use std::sync::OnceLock;
use std::time::Duration;

use super::schedule;

/// What clocks show when they begin, so that earlier times can be told, too.
const BEGINNING: Duration = Duration::from_secs(86_400);

thread_local! {
    static WALL_CLOCK: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// What the wall's clock says, if the simulation or the test of this thread has set it.
pub fn wall_clock() -> Option<Duration> {
    schedule::here().map(|task| task.simulation.wall_clock()).or(WALL_CLOCK.get())
}

/// Sets the wall's clock of this thread, which is of no simulation.
pub fn set_wall_clock(since_1970: Duration) {
    WALL_CLOCK.set(Some(since_1970));
}

/// As [`std::time::Instant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        static EPOCH: OnceLock<std::time::Instant> = OnceLock::new();
        let elapsed = match schedule::here() {
            Some(task) => task.simulation.now(),
            None => EPOCH.get_or_init(std::time::Instant::now).elapsed(),
        };
        Instant(BEGINNING + elapsed)
    }

    pub fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(*self)
    }

    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        self.0.checked_sub(time).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0 + time)
    }
}
