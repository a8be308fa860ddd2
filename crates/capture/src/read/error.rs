//! Why nothing of a capture can be read.

use std::io;

/// Why a capture cannot be opened. What goes wrong later is a [`Damage`](super::Damage).
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("{name}: cannot be opened: {source}")]
    Open {
        /// Its path.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("{name}: cannot be read: {source}")]
    Read {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("{name}: is empty; a capture has a header even if it has no packets")]
    Empty {
        /// Its name.
        name: String,
    },
    /// It is packed in a way that is not read.
    #[error(
        "{name}: is compressed with {with}; unpack it and pipe it in: {command} | fairway analyze -"
    )]
    Compressed {
        /// Its name.
        name: String,
        /// The format's name.
        with: &'static str,
        /// The program that unpacks it.
        command: String,
    },
    /// It is no capture.
    #[error(
        "{name}: not a capture file: it begins with {begin}; expected pcap, pcapng or the text that \
         tcpdump prints, plain or gzip"
    )]
    Unrecognised {
        /// Its name.
        name: String,
        /// Its first bytes, in hexadecimal.
        begin: String,
    },
}
