//! A client that asks, and a server that answers, on one connection that the client keeps open.

use super::Hands;
use crate::direction::Way;

/// Bytes asked and answered on a connection so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchange {
    is_open: bool,
    asked: u64,
    answered: u64,
}

impl Exchange {
    /// The client writes a request, on a connection that it opens if it is not open.
    pub(super) fn ask(&mut self, hands: &mut Hands<'_>, connection: usize, bytes: u64) {
        if !self.is_open {
            self.is_open = true;
            hands.open(connection);
        }
        self.asked += bytes;
        hands.write(connection, Way::Reverse, bytes);
        hands.await_delivery(connection, Way::Reverse, self.asked);
    }

    /// The request has come: the server writes what was asked for.
    pub(super) fn answer(&mut self, hands: &mut Hands<'_>, connection: usize, bytes: u64) {
        self.answered += bytes;
        hands.write(connection, Way::Forward, bytes);
        hands.await_delivery(connection, Way::Forward, self.answered);
    }

    /// No more will be asked.
    pub(super) fn close(&mut self, hands: &mut Hands<'_>, connection: usize) {
        if self.is_open {
            hands.close(connection);
        }
    }
}
