//! Messages of a file transfer.
//!
//! The sender offers files in pages; of each the receiver says what it has already (claims: the sums
//! of blocks, hashed anew from its disk). Blocks go over the data connections and are acknowledged
//! here, and a file gets its final name when the sender, who has looked at its source once more,
//! says so. Files and directories are numbered from zero in the order in which they are offered.
//!
//! After a control connection has broken, a sender that names the same transfer goes on with it: it
//! offers again what is not stored, and either side may hear what it knows already.

use serde::{Deserialize, Serialize};

use crate::store::{Hole, Modified, Sum};
use crate::words;

/// Entries of one [`ToReceiver::Offer`] at most.
pub const ENTRIES_PER_PAGE: usize = 256;
/// Bytes of their names at most, that a page stays below the bound of a message.
pub const NAME_BYTES_PER_PAGE: usize = 64 << 10;
/// Files and directories that are offered and not stored, after which a sender offers no further
/// page: 1 KB each at either end, and enough that the answers to them are not waited for.
pub const MOST_OPEN: usize = 4096;
/// Sums of one [`ToSender::Claims`] at most: 32 KiB.
pub const SUMS_PER_PAGE: usize = 1024;
/// Connections of one transfer that have a number: the lower half of [`connection_number`].
pub const MAX_LANES: u32 = 1 << 16;

/// The number of a data connection: its place among the streams, and how often it was replaced.
pub fn connection_number(lane: u32, replaced: u32) -> u32 {
    lane % MAX_LANES + (replaced << 16)
}

pub fn lane_of(connection: u32) -> u32 {
    connection % MAX_LANES
}

/// What the sender says on the control connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToReceiver {
    Begin(Begin),
    /// Files and directories, the latter before what is in them.
    Offer {
        first: u32,
        entries: Vec<Offered>,
    },
    /// How long a stream has turned out to be.
    Length {
        file: u32,
        bytes: u64,
    },
    /// Every block of the file has arrived and the source is as it was: give it its name.
    Finish {
        file: u32,
        /// BLAKE3 of its content.
        digest: Sum,
    },
    /// The source has changed: the file is not to get its name.
    Abandon {
        file: u32,
    },
    End {
        entries: u32,
        digest: Sum,
    },
    /// It has read the confirmation, and leaves.
    Bye,
    GiveUp {
        #[serde(deserialize_with = "words::said")]
        why: String,
    },
}

/// How a transfer begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Names the transfer, also after its control connection was replaced.
    pub transfer: [u8; 16],
    pub streams: u32,
    pub entries: u64,
    pub bytes: u64,
    /// How long the sender waits for a sign of life, in ms.
    pub patience_ms: u32,
}

/// A file or a directory that is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Relative, components parted by `/`, any bytes otherwise.
    pub name: Vec<u8>,
    pub kind: Kind,
    /// Permissions, the lower twelve bits of `st_mode`.
    pub mode: u32,
    pub modified: Option<Modified>,
    /// Bytes of a file that are holes at the sender: no room is needed for them.
    pub hole_bytes: u64,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Directory,
    /// A file, and how long it is if that is known.
    File {
        bytes: Option<u64>,
    },
}

/// What the receiver says on the control connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToSender {
    Welcome {
        session: u64,
        streams: u32,
        /// Whether the transfer is known, and goes on where it was.
        resumed: bool,
        /// How long the receiver waits for a sign of life, in ms.
        patience_ms: u32,
    },
    /// Blocks that are held already; before the file's [`ToSender::Ready`].
    Claims {
        file: u32,
        sums: Vec<(u32, Sum)>,
    },
    /// A file may be sent; a directory is made.
    Ready {
        file: u32,
    },
    /// Blocks that have arrived and are as the sender said.
    Arrived(Vec<Run>),
    Bad {
        file: u32,
        block: u32,
    },
    Lost {
        connection: u32,
        #[serde(deserialize_with = "words::said")]
        why: String,
    },
    /// The file is whole, and on disk under its final name when all is confirmed.
    Stored {
        file: u32,
    },
    Confirmed {
        digest: Sum,
    },
    /// The transfer ends, and coming again does not help.
    Refused {
        #[serde(deserialize_with = "words::said")]
        why: String,
    },
    /// The transfer ends; it may be tried again.
    Busy {
        #[serde(deserialize_with = "words::said")]
        why: String,
    },
}

/// Blocks of a file that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    pub file: u32,
    pub first: u32,
    pub count: u32,
}

/// What stands before everything on a data connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataHead {
    /// A block follows, but for its holes, and after it its [`Sum`].
    Block {
        file: u32,
        block: u32,
        bytes: u32,
        holes: Vec<Hole>,
    },
    /// Nothing now, but the connection is used.
    Idle,
    End,
}
