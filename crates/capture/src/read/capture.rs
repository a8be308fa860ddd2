//! A capture, packet by packet.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::damage::{Damage, Log};
use super::fragments::Fragments;
use super::pcap::{self, Pcap};
use super::pcapng::Pcapng;
use super::text::{Line, Text};
use super::window::Window;
use super::{Found, Interface, Progress, ReadError, source};
use crate::packet::Packet;
use crate::packet::decode::{Decoded, Frame, decode};

/// Counts of what has been read so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Frames, of whatever kind: the number of the last one.
    pub frames: u64,
    /// Frames that are no IP, such as ARP.
    pub not_ip: u64,
    /// Frames with a fragment of a packet.
    pub fragments: u64,
    /// Packets of which not all fragments were captured; they are left out.
    pub incomplete: u64,
    /// Frames of which so little was captured that their headers are not there; they are left out.
    pub cut: u64,
    /// Frames whose headers contradict themselves; they are left out.
    pub malformed: u64,
    /// Frames of link types that are not read.
    pub unknown_link: u64,
    /// Frames without a time (pcapng's simple packets), which get that of the one before.
    pub without_time: u64,
    /// Damages, those that are not listed any more included.
    pub damages: u64,
}

/// A capture that is being read. Its memory does not grow with what is read.
pub struct Capture {
    window: Window,
    format: Format,
    interfaces: Vec<Interface>,
    fragments: Fragments,
    packet: Packet,
    counts: Counts,
    log: Log,
    read_bytes: Arc<AtomicU64>,
    of_bytes: Option<u64>,
    verifies: bool,
    /// Bytes of the packet before, which the window has not passed yet.
    pass_bytes: usize,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Text(Text),
}

impl Capture {
    /// Opens a file of any format that is read; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be read, or nothing in it can be.
    pub fn open(path: &Path) -> Result<Capture, ReadError> {
        if path == Path::new("-") {
            return Capture::from_read(Box::new(std::io::stdin()), "standard input");
        }
        let name = path.display().to_string();
        let open = || {
            let file = File::open(path)?;
            let meta = file.metadata()?;
            Ok((file, meta.is_file().then_some(meta.len())))
        };
        let (file, of_bytes) =
            open().map_err(|source| ReadError::Open { name: name.clone(), source })?;
        let capture = Capture::from_read(Box::new(file), &name)?;
        Ok(Capture { of_bytes, ..capture })
    }

    /// Reads a stream of any format that is read; `name` is for messages.
    ///
    /// # Errors
    /// If it cannot be read, or nothing in it can be.
    pub fn from_read(stream: Box<dyn Read + Send>, name: &str) -> Result<Capture, ReadError> {
        let source = source::unpack(stream, name)?;
        let mut window = Window::new(source.stream);
        let mut interfaces = Vec::new();
        let format = recognise(&mut window, &mut interfaces, name)?;
        Ok(Capture {
            window,
            format,
            interfaces,
            fragments: Fragments::default(),
            packet: Packet::BLANK,
            counts: Counts::default(),
            log: Log::default(),
            read_bytes: source.read_bytes,
            of_bytes: None,
            verifies: true,
            pass_bytes: 0,
        })
    }

    /// Whether TCP's checksums are added up where all of a segment was captured; they are, unless
    /// this says otherwise. It costs a look at every byte.
    pub fn verify_checksums(&mut self, verifies: bool) {
        self.verifies = verifies;
    }

    /// The next IP packet. Other frames are counted and passed over.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend what it owns")]
    #[inline]
    pub fn next(&mut self) -> Option<&Packet> {
        if let Format::Text(_) = self.format {
            return self.next_of_text();
        }
        while let Some(found) = self.find() {
            if self.decode(&found) {
                return Some(&self.packet);
            }
        }
        None
    }

    /// The name of a host that a text names without an address; its packets have one that was
    /// made up for it.
    pub fn host_name(&self, address: IpAddr) -> Option<&str> {
        match &self.format {
            Format::Text(text) => text.names().host(address),
            Format::Pcap(_) | Format::Pcapng(_) => None,
        }
    }

    /// The first hundred parts that could not be read, in order. [`Counts::damages`] counts all.
    pub fn damaged(&self) -> &[Damage] {
        self.log.recorded()
    }

    /// Interfaces that have been seen so far.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Numbers of what has been read so far.
    pub fn counts(&self) -> Counts {
        Counts { incomplete: self.fragments.incomplete(), damages: self.log.count(), ..self.counts }
    }

    /// Bytes of the buffer that the file is looked at through: the most that it takes, whatever
    /// lengths a capture claims, is 2 MiB.
    pub fn buffer_bytes(&self) -> usize {
        self.window.capacity_bytes()
    }

    /// How much of the file has been read.
    pub fn progress(&self) -> Progress {
        Progress { bytes: self.read_bytes.load(Ordering::Relaxed), of_bytes: self.of_bytes }
    }

    fn next_of_text(&mut self) -> Option<&Packet> {
        let Format::Text(text) = &mut self.format else { return None };
        loop {
            let number = self.counts.frames + 1;
            match text.next(&mut self.window, number, &mut self.packet, &mut self.log) {
                Some(Line::Packet) => {
                    self.counts.frames = number;
                    return Some(&self.packet);
                }
                Some(Line::NotIp) => {
                    self.counts.frames = number;
                    self.counts.not_ip += 1;
                }
                None => {
                    self.note_failure(number);
                    return None;
                }
            }
        }
    }

    #[inline]
    fn find(&mut self) -> Option<Found> {
        self.window.pass(std::mem::take(&mut self.pass_bytes));
        let number = self.counts.frames + 1;
        let found = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.window, number, &mut self.log),
            Format::Pcapng(pcapng) => {
                pcapng.next(&mut self.window, &mut self.interfaces, number, &mut self.log)
            }
            Format::Text(_) => None,
        };
        if found.is_none() {
            self.note_failure(number);
        }
        found
    }

    #[cold]
    fn note_failure(&mut self, number: u64) {
        if let Some(error) = self.window.failure() {
            let offset_bytes = self.window.offset_bytes();
            self.log.note(offset_bytes, number, || format!("reading stopped here: {error}"));
        }
    }

    /// Decodes a frame, and says whether it makes a packet.
    #[inline]
    fn decode(&mut self, found: &Found) -> bool {
        self.counts.frames += 1;
        self.pass_bytes = found.pass_bytes;
        if !found.has_time {
            self.counts.without_time += 1;
        }
        let Some(link) = self.interfaces[found.interface as usize].link else {
            self.tell_unknown_link(found.interface);
            return false;
        };
        let frame = Frame {
            link,
            bytes: &self.window.bytes()[found.start..found.start + found.captured_bytes],
            wire_bytes: found.wire_bytes,
            verifies: self.verifies,
        };
        let packet = &mut self.packet;
        packet.number = self.counts.frames;
        packet.at = found.at;
        packet.interface = found.interface;
        packet.fate = found.fate;
        match decode(&frame, packet) {
            Decoded::Whole => true,
            Decoded::Part(part) => {
                self.counts.fragments += 1;
                self.fragments.take(&part, packet)
            }
            Decoded::NotIp => {
                self.counts.not_ip += 1;
                false
            }
            Decoded::Cut => {
                self.counts.cut += 1;
                false
            }
            Decoded::Malformed => {
                self.counts.malformed += 1;
                false
            }
        }
    }

    #[cold]
    fn tell_unknown_link(&mut self, number: u32) {
        self.counts.unknown_link += 1;
        let interface = &mut self.interfaces[number as usize];
        if !std::mem::replace(&mut interface.is_told, true) {
            let (name, link_type) = (&interface.name, interface.link_type);
            self.log.note(self.window.offset_bytes(), self.counts.frames, || {
                format!(
                    "packets of interface {number} {name:?} are left out: link type {link_type} \
                     is not read"
                )
            });
        }
    }
}

fn recognise(
    window: &mut Window,
    interfaces: &mut Vec<Interface>,
    name: &str,
) -> Result<Format, ReadError> {
    window.has(pcap::HEADER_BYTES);
    if let Some(pcap) = Pcap::recognise(window.bytes()) {
        interfaces.push(Interface::new(pcap.link_type, pcap.snap_bytes));
        window.pass(pcap::HEADER_BYTES);
        return Ok(Format::Pcap(pcap));
    }
    if let Some(pcapng) = Pcapng::recognise(window.bytes()) {
        return Ok(Format::Pcapng(pcapng));
    }
    if let Some((text, interface)) = Text::recognise(window) {
        interfaces.push(interface);
        return Ok(Format::Text(text));
    }
    let head = window.bytes();
    let name = name.to_owned();
    if head.is_empty() {
        return Err(match window.failure() {
            Some(source) => ReadError::Read { name, source },
            None => ReadError::Empty { name },
        });
    }
    let head = &head[..head.len().min(8)];
    let begin = head.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    Err(ReadError::Unrecognised { name, begin })
}
