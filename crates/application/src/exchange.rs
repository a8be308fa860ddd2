//! A client that asks, and a server that answers, on one connection that the client keeps open.

use crate::{Context, Direction};

/// Bytes asked and answered on a connection so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exchange {
    is_open: bool,
    asked: u64,
    answered: u64,
}

impl Exchange {
    /// The client writes a request, on a connection that it opens if it is not open.
    pub(crate) fn ask(&mut self, context: &mut dyn Context, connection: usize, bytes: u64) {
        if !self.is_open {
            self.is_open = true;
            context.open(connection);
        }
        self.asked += bytes;
        context.write(connection, Direction::Reverse, bytes);
        context.await_delivery(connection, Direction::Reverse, self.asked);
    }

    /// The request has come: the server writes what was asked for.
    pub(crate) fn answer(&mut self, context: &mut dyn Context, connection: usize, bytes: u64) {
        self.answered += bytes;
        context.write(connection, Direction::Forward, bytes);
        context.await_delivery(connection, Direction::Forward, self.answered);
    }

    /// No more will be asked.
    pub(crate) fn close(&mut self, context: &mut dyn Context, connection: usize) {
        if self.is_open {
            context.close(connection);
        }
    }
}
