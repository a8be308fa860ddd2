//! Reads captures: pcap, pcapng, tcpdump's text; plain or gzip; from files and pipes.
//!
//! ```no_run
//! use fairway_capture::read::Capture;
//!
//! let mut capture = Capture::open("transfer.pcapng".as_ref())?;
//! while let Some(packet) = capture.next() {
//!     println!("{} {} > {}", packet.number, packet.source, packet.destination);
//! }
//! for damage in capture.damaged() {
//!     println!("at byte {}: {}", damage.offset_bytes, damage.what);
//! }
//! # Ok::<(), fairway_capture::read::ReadError>(())
//! ```

mod bytes;
mod capture;
mod damage;
mod error;
mod fragments;
mod interface;
mod pcap;
mod pcapng;
mod source;
mod text;
mod window;

use fairway_units::Time;

use crate::packet::Fate;
pub use capture::{Capture, Counts};
pub use damage::Damage;
pub use error::ReadError;
pub use interface::Interface;
pub use source::Progress;

/// The longest packet that is read: what libpcap takes a longer one for an error at
/// (MAXIMUM_SNAPLEN), and more than IP has but for jumbograms. A fuzzer has less patience.
const MAX_FRAME_BYTES: u32 = if cfg!(fuzzing) { 2 << 10 } else { 256 << 10 };

/// A packet that a format's reader has found in the window.
struct Found {
    /// Where its bytes begin in the window.
    start: usize,
    captured_bytes: usize,
    /// How far the window moves for the next packet.
    pass_bytes: usize,
    wire_bytes: u32,
    at: Time,
    interface: u32,
    fate: Fate,
    /// Whether the capture says when.
    has_time: bool,
}
