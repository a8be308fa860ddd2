//! Threads, clocks, locks and sockets of a simulation: what runs next, how late it is and what a
//! network does follows from a seed.

mod clock;
pub mod disk;
mod lock;
pub mod network;
mod schedule;
mod thread;

pub use clock::{Instant, set_wall_clock, wall_clock};
pub use lock::{Condvar, Mutex, MutexGuard};
pub use network::Socket;
pub use schedule::{Chances, JoinLater, Simulation};
pub use thread::{Builder, JoinHandle};

/// Something is done that other threads could see, after so long.
pub fn step(time: std::time::Duration) {
    if let Some(task) = schedule::here() {
        task.step();
        if !time.is_zero() {
            task.sleep_until(task.simulation.now() + time);
        }
    }
}
