//! Packets on their way to the far ends of links, in rows that have one event each.
//!
//! A row is first in, first out. Each link has one of its own, and links that are alike share one
//! more, in which nearly all their packets travel: the access links of a thousand hosts, say, that
//! a bottleneck feeds, in which packets arrive in the order in which they left the bottleneck. So
//! there is one event for all of them, and their packets lie in memory in the order of their use.

use std::collections::VecDeque;
use std::slice::from_ref;

use fairway_units::Time;
use prefetch_index::prefetch_index;

use crate::event::Due;
use crate::parcel::Parcel;

/// How far ahead of a look-ahead the row itself is asked for, in packets.
const LOOK_AHEAD: usize = 12;

#[derive(Clone, Copy, Debug)]
struct OnItsWay {
    arrives: Due,
    parcel: Parcel,
}

/// Packets on their way.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    rows: Vec<VecDeque<OnItsWay>>,
    /// When the packet arrives that joined each row last.
    last: Vec<Time>,
    /// Packets that do not arrive in the order of their row, in slots that are used again.
    strays: Vec<Option<Parcel>>,
    free_slots: Vec<u32>,
}

impl Rows {
    /// `count` empty rows.
    pub(crate) fn new(count: usize) -> Self {
        Rows {
            rows: vec![VecDeque::new(); count],
            last: vec![Time::ZERO; count],
            strays: Vec::new(),
            free_slots: Vec::new(),
        }
    }

    /// A packet joins the end of a row. Returns whether the row was empty before, so that it has
    /// a new next event.
    pub(crate) fn join(&mut self, row: u32, arrives: Due, parcel: Parcel) -> bool {
        self.last[row as usize] = arrives.at;
        let row = &mut self.rows[row as usize];
        let was_empty = row.is_empty();
        row.push_back(OnItsWay { arrives, parcel });
        was_empty
    }

    /// Whether a packet that arrives then would be the last of the row.
    pub(crate) fn is_in_order(&self, row: u32, arrives: Time) -> bool {
        self.last[row as usize] <= arrives
    }

    /// Whether nothing is in the row.
    pub(crate) fn is_empty(&self, row: u32) -> bool {
        self.rows[row as usize].is_empty()
    }

    /// Take the packet whose arrival is due, and say when the next one arrives.
    pub(crate) fn take(&mut self, row: u32) -> Option<(Parcel, Option<Due>)> {
        let count = self.rows.len();
        let Some(row) = self.rows.get_mut(row as usize) else {
            return Some((self.take_stray(row as usize - count)?, None));
        };
        let first = row.pop_front()?;
        Some((first.parcel, row.front().map(|next| next.arrives)))
    }

    /// The packet `places` behind the first of a row. Asks for the memory of those further back,
    /// so that it is there when they are asked for.
    pub(crate) fn ahead(&self, row: u32, places: usize) -> Option<Parcel> {
        let row = self.rows.get(row as usize)?;
        if let Some(later) = row.get(places + LOOK_AHEAD) {
            prefetch_index(from_ref(later), 0);
        }
        row.get(places).map(|entry| entry.parcel)
    }

    /// A packet gets a row of its own, until it is taken. Returns which.
    pub(crate) fn join_apart(&mut self, parcel: Parcel) -> u32 {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.strays.push(None);
            (self.strays.len() - 1) as u32
        });
        self.strays[slot as usize] = Some(parcel);
        self.rows.len() as u32 + slot
    }

    #[inline(never)]
    fn take_stray(&mut self, slot: usize) -> Option<Parcel> {
        let parcel = self.strays.get_mut(slot)?.take();
        self.free_slots.push(slot as u32);
        parcel
    }

    /// Take all packets that are on their way.
    pub(crate) fn take_all(&mut self) -> Vec<Parcel> {
        let strays = self.strays.drain(..).flatten();
        let in_rows = self.rows.iter_mut().flat_map(|row| row.drain(..));
        strays.chain(in_rows.map(|entry| entry.parcel)).collect()
    }
}
