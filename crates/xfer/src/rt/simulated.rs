//! The clock of a test.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static WALL_CLOCK: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// What the clock says in this thread, if a test has set it.
pub fn wall_clock() -> Option<Duration> {
    WALL_CLOCK.get()
}

/// Sets the clock of this thread.
pub fn set_wall_clock(since_1970: Duration) {
    WALL_CLOCK.set(Some(since_1970));
}
