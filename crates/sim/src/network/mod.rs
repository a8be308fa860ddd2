//! All link directions, and the packets on their way through them.

mod build;
mod exits;

use fairway_net::{Link, Offer};
use fairway_trace::{LinkBooks, Violation};
use fairway_units::Time;

use crate::parcel::Parcel;
use crate::rows::Rows;
use crate::ways::Ways;
use exits::Exit;

/// All link directions of a network and the ways through them.
pub(crate) struct Network {
    /// Link directions, and where the packets of each go.
    links: Vec<(Link, Exit)>,
    /// Packets that have come to the far end of each link direction.
    delivered: Vec<u64>,
    rows: Rows,
    /// Name of each link direction.
    pub(crate) names: Vec<String>,
    /// Link directions that results report; the first is the bottleneck towards the sinks.
    pub(crate) reported: Vec<u32>,
    ways: Ways,
    /// Rows that links share: those come first, and behind them each link's own.
    shared_rows: u32,
}

/// What became of a packet that was offered to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// It is on its way; a row has a new next event, then.
    Begins(Time, u32),
    /// It is on its way behind others.
    Behind,
    /// A queue dropped it.
    Dropped,
    /// It will be lost on the wire.
    Lost,
}

impl Network {
    /// The link direction with this index.
    pub(crate) fn link(&self, index: u32) -> &Link {
        &self.links[index as usize].0
    }

    /// Look at each link direction that results report, in their order.
    pub(crate) fn reported_links(&mut self, mut look: impl FnMut(usize, &mut Link)) {
        for (i, index) in self.reported.iter().enumerate() {
            look(i, &mut self.links[*index as usize].0);
        }
    }

    /// The position at which one end of a connection sends packets off.
    pub(crate) fn entrance(&self, connection: u32, forward: bool) -> u32 {
        self.ways.entrance(connection * 2 + u32::from(!forward))
    }

    /// The link direction at a position.
    pub(crate) fn link_at(&self, position: u32) -> u32 {
        self.ways.link(position)
    }

    /// Offer a packet to the link that it is at, and to the next one if it is through at once.
    pub(crate) fn offer(&mut self, mut parcel: Parcel, mut at: Time) -> Passage {
        loop {
            let index = self.ways.link(parcel.position);
            let (link, exit) = &mut self.links[index as usize];
            match link.offer(&mut parcel, at) {
                Offer::Arrives(arrives) => at = arrives,
                Offer::Dropped => return Passage::Dropped,
                Offer::Lost => return Passage::Lost,
            }
            let own_row = self.shared_rows + index;
            let row = match *exit {
                Exit::Express => {
                    self.pass(&mut parcel);
                    continue;
                }
                Exit::Row => own_row,
                Exit::Shared(row) => {
                    // A packet in the link's own row goes before any that follows it.
                    let in_order = self.rows.is_empty(own_row) && self.rows.is_in_order(row, at);
                    if in_order { row } else { own_row }
                }
            };
            let begins = self.rows.join(row, at, parcel);
            return if begins { Passage::Begins(at, row) } else { Passage::Behind };
        }
    }

    /// Take the packet whose arrival is due from a row, and say when the row's next one arrives.
    pub(crate) fn take(&mut self, row: u32) -> Option<(Parcel, Option<Time>)> {
        self.rows.take(row)
    }

    /// Whether the link that a packet has crossed is the last of its way.
    pub(crate) fn is_at_end(&self, parcel: &Parcel) -> bool {
        self.ways.is_last(parcel.position)
    }

    /// A packet has come to the end of its way.
    pub(crate) fn end(&mut self, parcel: &Parcel) {
        self.delivered[self.ways.link(parcel.position) as usize] += 1;
    }

    /// A packet has crossed a link that is not the last of its way: it is at the next.
    pub(crate) fn pass(&mut self, parcel: &mut Parcel) {
        self.delivered[self.ways.link(parcel.position) as usize] += 1;
        parcel.position += 1;
    }

    /// The packet `places` behind the first of a row.
    pub(crate) fn ahead(&self, row: u32, places: usize) -> Option<Parcel> {
        self.rows.ahead(row, places)
    }

    /// All packets on their way, but for those inside express links.
    pub(crate) fn parcels(&self) -> impl Iterator<Item = &Parcel> {
        self.rows.parcels()
    }

    /// Every packet offered to a link was delivered, dropped or lost, or is inside.
    pub(crate) fn check_books(&self, now: Time) -> Result<(), Violation> {
        let mut inside = vec![0; self.links.len()];
        for parcel in self.rows.parcels() {
            inside[self.ways.link(parcel.position) as usize] += 1;
        }
        for (i, (link, _)) in self.links.iter().enumerate() {
            let totals = link.totals();
            LinkBooks {
                offered: totals.offered,
                delivered: self.delivered[i],
                dropped: totals.dropped,
                lost: totals.lost,
                inside: inside[i],
            }
            .balance(&self.names[i], now)?;
        }
        Ok(())
    }
}
