//! The list of losses while a run goes on, and the losses that are still to come.

use std::collections::VecDeque;

use fairway_schema::{Cause, Losses};
use fairway_units::Time;

use crate::packet_handle::PacketHandle;
use crate::traced::Traced;

/// Packets that will be missing: a host that delays its departures offers them to a link before they
/// are there, and the link says at once what will become of them.
#[derive(Default)]
pub(crate) struct Forthcoming {
    /// In the order of their times.
    packets: VecDeque<(Time, PacketHandle, Cause)>,
}

impl Forthcoming {
    /// A packet will be missing at that time.
    pub(crate) fn push(&mut self, at: Time, handle: PacketHandle, cause: Cause) {
        let place = self.packets.partition_point(|(before, ..)| *before <= at);
        self.packets.insert(place, (at, handle, cause));
    }

    /// The next packet that is missing by now.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(PacketHandle, Cause)> {
        let (_, handle, cause) = *self.packets.front().filter(|(at, ..)| *at <= now)?;
        self.packets.pop_front();
        Some((handle, cause))
    }

    /// Adds those that will be missing elsewhere.
    pub(crate) fn absorb(&mut self, other: Forthcoming) {
        self.packets.extend(other.packets);
    }

    /// Those that are not missing yet.
    pub(crate) fn pool(&self) -> impl Iterator<Item = &PacketHandle> {
        self.packets.iter().map(|(_, handle, _)| handle)
    }
}

/// What did not arrive, and whose it was.
pub(crate) struct LossLog {
    pub(crate) losses: Losses,
    /// The row of results of each path, as packets know it.
    pub(crate) rows: Vec<u32>,
}

impl LossLog {
    pub(crate) fn new(connections: usize, traced: &[Traced]) -> Self {
        let mut rows = vec![0; 2 * connections + traced.len()];
        for (row, of) in traced.iter().enumerate() {
            let path = match *of {
                Traced::Data(i, path) => 2 * i + path as usize,
                Traced::Datagrams(i) => 2 * connections + i,
            };
            rows[path] = row as u32;
        }
        LossLog { losses: Losses::default(), rows }
    }
}
