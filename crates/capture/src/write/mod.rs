//! Writes captures: pcapng and pcap, with headers made from what a segment says.
//!
//! [`Frame`] makes the bytes of a packet from its fields. [`Writer`] puts frames into a file that
//! Wireshark, tcpdump and tcptrace read, with nanoseconds; [`CaptureFile`] is one that appears
//! under its name only when it is whole.

mod checksum;
mod file;
mod frame;
mod pcap;
mod pcapng;

use std::io::{self, Write};

use fairway_units::{Rate, Time};

pub use file::{CaptureFile, file_names};
pub use frame::{Frame, ICMP, ICMP_BYTES, MAX_FRAME_HEADER, NotWritable, TCP_BYTES};

use crate::packet::Fate;

/// Files of captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// pcapng (draft-ietf-opsawg-pcapng): several interfaces, names, comments.
    #[default]
    Pcapng,
    /// pcap (draft-ietf-opsawg-pcap) with nanoseconds: one interface, no comments.
    Pcap,
}

impl Format {
    /// Both by name.
    pub const ALL: [(&'static str, Format); 2] =
        [("pcapng", Format::Pcapng), ("pcap", Format::Pcap)];

    /// That of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// How the names of its files end, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Pcapng => "pcapng",
            Format::Pcap => "pcap",
        }
    }
}

/// A place where packets are seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Rate at which packets leave there, if that is known and one.
    pub speed: Option<Rate>,
    /// Most bytes that are kept of a frame.
    pub snap_bytes: u32,
}

/// Which way a packet passes an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// It came in.
    Inbound,
    /// It went out.
    Outbound,
}

/// A frame that was seen.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When.
    pub at: Time,
    /// At which interface, from 0 in the order in which they were given to the writer.
    pub interface: u32,
    /// Which way, if that is known.
    pub direction: Option<Direction>,
    /// Bytes of the frame.
    pub frame_bytes: u32,
    /// Of these, kept.
    pub captured: &'a [u8],
    /// A remark on it; empty for none. Classic files have no room for it.
    pub comment: &'a str,
}

/// What a capture says of a packet that a network did not deliver, or `None` where there is
/// nothing to say. `read` knows it again.
pub fn comment(fate: Fate, link: &str) -> Option<String> {
    match fate {
        Fate::Unknown => None,
        Fate::Dropped => Some(format!("fairway: dropped by the queue of {link}")),
        Fate::Lost => Some(format!("fairway: lost on {link}")),
        Fate::Corrupted => Some(format!("fairway: corrupted on {link}")),
    }
}

/// Writes one capture.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    format: Format,
    interfaces: u32,
    /// A block on its way out, kept for its memory.
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a capture at these interfaces. `application` is who writes it: "Fairway 1.0".
    ///
    /// # Errors
    /// Errors of `out`, and a format without room for these interfaces.
    pub fn new(
        mut out: W,
        format: Format,
        application: &str,
        interfaces: &[Interface],
    ) -> io::Result<Self> {
        let mut block = Vec::new();
        match (format, interfaces) {
            (Format::Pcapng, _) => {
                pcapng::section(&mut block, application);
                for interface in interfaces {
                    pcapng::interface(&mut block, pcapng::LINKTYPE_ETHERNET, interface);
                }
            }
            (Format::Pcap, [interface]) => pcap::head(&mut block, interface.snap_bytes),
            (Format::Pcap, _) => {
                let message = format!("a pcap file has 1 interface, not {}", interfaces.len());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        out.write_all(&block)?;
        Ok(Writer { out, format, interfaces: interfaces.len() as u32, block })
    }

    /// Adds an interface whose frames begin with the header of IP; its number.
    ///
    /// # Errors
    /// Errors of the output, and a format without room for it.
    pub fn add_ip(&mut self, interface: &Interface) -> io::Result<u32> {
        self.only_pcapng("an interface more")?;
        self.block.clear();
        pcapng::interface(&mut self.block, pcapng::LINKTYPE_RAW, interface);
        self.out.write_all(&self.block)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Says that the system has dropped so many packets that an interface has passed, and why.
    ///
    /// # Errors
    /// Errors of the output, and a format without room for it.
    pub fn missed(
        &mut self,
        interface: u32,
        at: Time,
        packets: u64,
        comment: &str,
    ) -> io::Result<()> {
        self.only_pcapng("what was missed")?;
        self.block.clear();
        pcapng::missed(&mut self.block, interface, at, packets, comment);
        self.out.write_all(&self.block)
    }

    fn only_pcapng(&self, what: &str) -> io::Result<()> {
        if self.format == Format::Pcapng {
            return Ok(());
        }
        let message = format!("a pcap file has no room for {what}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// Errors of the output, and an unknown interface.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        if record.interface >= self.interfaces {
            let message = format!("no interface {} of {}", record.interface, self.interfaces);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.block.clear();
        match self.format {
            Format::Pcapng => pcapng::packet(&mut self.block, record),
            Format::Pcap => pcap::packet(&mut self.block, record),
        }
        self.out.write_all(&self.block)
    }

    /// Gives the output back, everything written to it.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
