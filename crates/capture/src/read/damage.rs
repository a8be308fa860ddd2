//! Parts of a capture that could not be read.

use serde::Serialize;

use super::window::Window;

/// A place of a capture that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Damage {
    /// Where in the capture: of a compressed one, in what it holds.
    pub offset_bytes: u64,
    /// Number of the packet that is there, or would be next.
    pub packet: u64,
    /// The damage, and how it was handled.
    pub what: String,
}

/// Damages recorded; more are only counted.
const MOST_RECORDED: usize = 100;

/// The damages of a capture.
#[derive(Default)]
pub struct Log {
    recorded: Vec<Damage>,
    count: u64,
}

impl Log {
    /// Notes a damage.
    #[cold]
    pub fn note(&mut self, offset_bytes: u64, packet: u64, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.recorded.len() < MOST_RECORDED {
            self.recorded.push(Damage { offset_bytes, packet, what: what() });
        }
    }

    /// Notes that the file ends inside of `what`, and passes the rest, if there is any.
    #[cold]
    pub fn note_end(&mut self, window: &mut Window, number: u64, what: &str) {
        let rest = window.bytes().len();
        if rest > 0 {
            self.note(window.offset_bytes(), number, || {
                format!("the file ends {rest} bytes into {what}")
            });
            window.pass(rest);
        }
    }

    /// The first damages, up to the limit.
    pub fn recorded(&self) -> &[Damage] {
        &self.recorded
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_that_is_damaged_all_over_takes_no_more_memory() {
        let mut log = Log::default();
        for offset in 0..1000 {
            log.note(offset, 1, || "nothing fits".into());
        }
        assert_eq!((log.recorded().len(), log.count()), (100, 1000));
    }
}
