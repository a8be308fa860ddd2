//! Lost data packets, one by one.

use fairway_units::Time;

use crate::column::series;

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A queue dropped it.
    Dropped,
    /// It was lost on the wire.
    Lost,
    /// It arrived damaged.
    Damaged,
}

impl Cause {
    /// Its name in results.
    pub const NAMES: [&str; 3] = ["dropped", "lost", "damaged"];
}

series! {
    /// One row for each data packet or datagram that did not arrive, in the order of time.
    pub struct Losses {
        /// When it was dropped or lost; a damaged one, when it arrived.
        t_s: f64,
        /// Flow whose data it was.
        flow: u32,
        /// Link direction at which it happened; of a damaged one, the last of its route.
        link: u32,
        /// `dropped` by a queue, `lost` on the wire, or `damaged`.
        cause: u8,
        ;
        /// Losses not recorded: limit reached.
        left_out: u64
    }
}

impl Losses {
    /// Most losses kept: 170 MB, 17 bytes each.
    pub const MOST: usize = 10_000_000;

    /// Adds a row; beyond the limit it is only counted.
    pub fn push(&mut self, at: Time, flow: u32, link: u32, cause: Cause) {
        if self.t_s.len() == Self::MOST {
            self.left_out += 1;
            return;
        }
        self.t_s.push(at.as_secs_f64());
        self.flow.push(flow);
        self.link.push(link);
        self.cause.push(cause as u8);
    }

    /// The warning about losses that were not recorded, if there are any.
    #[must_use]
    pub fn remark(left_out: u64) -> Option<String> {
        let most = Self::MOST;
        (left_out > 0).then(|| format!("{left_out} losses not recorded: limit of {most} reached"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_beyond_the_limit_are_told() {
        assert_eq!(Losses::remark(0), None);
        let remark = Losses::remark(7).unwrap();
        assert_eq!(remark, "7 losses not recorded: limit of 10000000 reached");
    }
}
