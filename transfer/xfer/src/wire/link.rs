//! A socket with bounded waits, and errors that name the peer.

use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use crate::Error;
use crate::rt::{Instant, Socket};
use crate::socket::Connection;

/// How long the other side may say nothing, or take nothing, unless it is told otherwise.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Link {
    connection: Connection,
    peer: String,
}

impl Link {
    pub(crate) fn new(connection: Connection) -> Result<Self, Error> {
        let peer = match connection.socket.peer_addr().map(|peer| peer.as_socket()) {
            Ok(Some(peer)) => without_mapping(peer).to_string(),
            _ => "a peer that is gone".into(),
        };
        let link = Link { connection, peer };
        // A frame is written at once: there is nothing to gather it with.
        let set = link.socket().set_tcp_nodelay(true);
        set.map_err(|error| link.failed("preparing a connection", &error))?;
        Ok(link)
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.connection.socket
    }

    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    pub(crate) fn set_patience(&self, patience: Duration) -> Result<(), Error> {
        // Zero would mean forever.
        let patience = patience.max(Duration::from_millis(1));
        let socket = self.socket();
        let set = socket.set_read_timeout(Some(patience));
        let set = set.and_then(|()| socket.set_write_timeout(Some(patience)));
        set.map_err(|error| self.failed("preparing a connection", &error))
    }

    /// As [`Link::set_patience`], until a point in time.
    pub(crate) fn wait_until(&self, deadline: Instant) -> Result<(), Error> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.failed("receiving", &io::Error::from(ErrorKind::TimedOut)));
        }
        self.set_patience(left)
    }

    /// Bytes received; zero at the end of the stream.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            match (&self.connection.socket).read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result.map_err(|error| self.failed("receiving", &error)),
            }
        }
    }

    /// Sends everything; `more` follows at once.
    pub(crate) fn send(&self, mut bytes: &[u8], more: bool) -> Result<(), Error> {
        while !bytes.is_empty() {
            match self.socket().send_with_flags(bytes, flags(more)) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed("sending", &error)),
            }
        }
        Ok(())
    }

    pub(crate) fn send_both(&self, mut first: &[u8], mut second: &[u8]) -> Result<(), Error> {
        while !first.is_empty() {
            let sent = self.send_pieces(&[IoSlice::new(first), IoSlice::new(second)])?;
            let of_second = sent.saturating_sub(first.len());
            first = &first[sent - of_second..];
            second = &second[of_second..];
        }
        self.send(second, false)
    }

    /// Sends some of the pieces; how many bytes.
    pub(crate) fn send_pieces(&self, pieces: &[IoSlice]) -> Result<usize, Error> {
        loop {
            match self.socket().send_vectored_with_flags(pieces, flags(false)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result.map_err(|error| self.failed("sending", &error)),
            }
        }
    }

    pub(crate) fn finish(&self) -> Result<(), Error> {
        match self.socket().shutdown(Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => {
                Err(self.failed("closing a connection", &error))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn failed(&self, doing: &str, error: &io::Error) -> Error {
        if self.connection.held.is_cancelled() {
            return Error::Cancelled;
        }
        let patience = || {
            let socket = self.socket();
            let set =
                if doing == "sending" { socket.write_timeout() } else { socket.read_timeout() };
            seconds(set.ok().flatten().unwrap_or(PATIENCE))
        };
        let why = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut if doing == "sending" => {
                format!("the other side has taken nothing for {}", patience())
            }
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!("the other side has said nothing for {}", patience())
            }
            ErrorKind::ConnectionReset => {
                "the connection was reset: the other side has ended, or something between cut it"
                    .into()
            }
            ErrorKind::BrokenPipe => "the other side has closed the connection".into(),
            _ => error.to_string(),
        };
        self.broken(doing, why)
    }

    /// A failure that is not the socket's.
    pub(crate) fn broken(&self, doing: &str, why: impl std::fmt::Display) -> Error {
        if self.connection.held.is_cancelled() {
            return Error::Cancelled;
        }
        let towards = match doing {
            "sending" => "to",
            "receiving" => "from",
            "greeting the receiver" => "at",
            _ => "with",
        };
        Error::failed(format!("{doing} {towards} {}", self.peer), why)
    }
}

/// `::ffff:192.0.2.1` as `192.0.2.1`, which is what the user knows.
fn without_mapping(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// No SIGPIPE: a program that embeds this may not ignore it.
fn flags(more: bool) -> i32 {
    libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_millis().div_ceil(1000))
}
