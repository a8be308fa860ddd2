//! Writes the packets that pass the places of a capture.
//!
//! A place is seen by devices of several namespaces, each of which has a ring of its own. So what
//! has been seen waits until every ring has been looked at up to its time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;

use fairway_capture::write::{CaptureFile, Direction, Format, Interface, Record, file_names};
use fairway_guest::plan::{Capture as CapturePlan, Plan, Tap};
use fairway_units::{Rate, Time};
use socket2::Socket;

use crate::setup::RUN_DIRECTORY;
use crate::sys::{Frame, device_index};

/// What captures of headers alone say they keep: Ethernet 14, IPv4 60, TCP 60, rounded up.
const HEADERS_SNAP: u32 = 144;

/// The files, and what is on its way into them.
pub struct Capture {
    files: Vec<CaptureFile>,
    /// The file of each place and the interface in it.
    outlets: Vec<(usize, u32)>,
    taps: Vec<OpenTap>,
    waiting: BinaryHeap<Reverse<Seen>>,
    sequence: u64,
    snap_bytes: Option<u32>,
}

/// A tap whose device is known to the kernel.
struct OpenTap {
    namespace: usize,
    device: i32,
    place: usize,
    is_outgoing: bool,
    is_outbound: bool,
    host: Option<Ipv4Addr>,
}

/// A packet seen at a place; in the order of time, and of having been seen.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    t_ns: u64,
    sequence: u64,
    place: usize,
    is_outbound: bool,
    frame_bytes: u32,
    bytes: Vec<u8>,
}

impl Capture {
    pub fn create(plan: &CapturePlan) -> io::Result<Self> {
        let directory = Path::new(RUN_DIRECTORY).join("pcap");
        fs::create_dir_all(&directory)?;
        let application = format!("Fairway {}", env!("CARGO_PKG_VERSION"));
        let interface = |place: &fairway_guest::plan::CapturePlace| Interface {
            name: place.name.clone(),
            description: place.description.clone(),
            speed: place.speed_bps.map(Rate::from_bps),
            snap_bytes: plan.snap_bytes.unwrap_or(HEADERS_SNAP),
        };
        let interfaces: Vec<_> = plan.places.iter().map(interface).collect();
        let format = if plan.is_pcap { Format::Pcap } else { Format::Pcapng };
        let create = |name: &str, interfaces: &[Interface]| {
            CaptureFile::create(&directory.join(name), format, &application, interfaces)
        };
        let (files, outlets) = if plan.is_one_file {
            let outlets = (0..interfaces.len() as u32).map(|interface| (0, interface));
            (vec![create("capture.pcapng", &interfaces)?], outlets.collect())
        } else {
            let names = interfaces.iter().map(|interface| interface.name.as_str());
            let names = file_names(names, format.extension());
            let files = names.iter().zip(&interfaces);
            let files = files.map(|(name, one)| create(name, std::slice::from_ref(one)));
            let files: Vec<_> = files.collect::<io::Result<_>>()?;
            let outlets = (0..files.len()).map(|file| (file, 0)).collect();
            (files, outlets)
        };
        Ok(Capture {
            files,
            outlets,
            taps: Vec::new(),
            waiting: BinaryHeap::new(),
            sequence: 0,
            snap_bytes: plan.snap_bytes,
        })
    }

    /// Finds the devices of a namespace, which the calling thread is in. Returns whether there is
    /// any to watch.
    pub fn open(&mut self, plan: &Plan, namespace: usize, any_socket: &Socket) -> io::Result<bool> {
        let before = self.taps.len();
        let places = plan.capture.iter().flat_map(|capture| capture.places.iter().enumerate());
        let taps = places.flat_map(|(place, of)| of.taps.iter().map(move |tap| (place, tap)));
        for (place, tap) in taps.filter(|(_, tap)| tap.namespace == namespace) {
            let Tap { namespace, device, is_outgoing, is_outbound, host } = tap;
            self.taps.push(OpenTap {
                namespace: *namespace,
                device: device_index(any_socket.as_fd(), device)?,
                place,
                is_outgoing: *is_outgoing,
                is_outbound: *is_outbound,
                host: *host,
            });
        }
        Ok(self.taps.len() > before)
    }

    /// A device of a namespace has seen a packet, so long after the beginning of the run.
    pub fn see(&mut self, namespace: usize, frame: &Frame, t_ns: u64) {
        let Some((header_bytes, hosts)) = headers(frame.bytes) else { return };
        let here = |tap: &&OpenTap| {
            tap.namespace == namespace
                && tap.device == frame.device
                && tap.is_outgoing == frame.outgoing
                && tap.host.is_none_or(|host| hosts.contains(&host))
        };
        let kept = self.snap_bytes.map_or(header_bytes, |snap| snap as usize);
        let bytes = &frame.bytes[..kept.min(frame.bytes.len())];
        for tap in self.taps.iter().filter(here) {
            let seen = Seen {
                t_ns,
                sequence: self.sequence,
                place: tap.place,
                is_outbound: tap.is_outbound,
                frame_bytes: frame.length,
                bytes: bytes.to_vec(),
            };
            self.sequence += 1;
            self.waiting.push(Reverse(seen));
        }
    }

    /// Nothing will be seen any more of the time up to then.
    pub fn advance(&mut self, t_ns: u64) -> io::Result<()> {
        while let Some(Reverse(seen)) = self.waiting.pop() {
            if seen.t_ns > t_ns {
                self.waiting.push(Reverse(seen));
                return Ok(());
            }
            let (file, interface) = self.outlets[seen.place];
            let direction = if seen.is_outbound { Direction::Outbound } else { Direction::Inbound };
            self.files[file].write(&Record {
                at: Time::from_nanos(seen.t_ns),
                interface,
                direction: Some(direction),
                frame_bytes: seen.frame_bytes,
                captured: &seen.bytes,
                comment: "",
            })?;
        }
        Ok(())
    }

    /// Writes out what is still waiting; the files appear.
    pub fn finish(mut self) -> io::Result<()> {
        self.advance(u64::MAX)?;
        self.files.into_iter().try_for_each(CaptureFile::finish)
    }
}

/// Bytes of the headers of a frame, and its addresses; none if it is not IPv4, as what a kernel
/// tells its neighbours of itself.
fn headers(frame: &[u8]) -> Option<(usize, [Ipv4Addr; 2])> {
    const ETHERNET: usize = 14;
    const IPV4: [u8; 2] = [0x08, 0x00];
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    let ip = frame.get(ETHERNET..).filter(|ip| frame[12..14] == IPV4 && ip.len() >= 20)?;
    let ip_header = usize::from(ip[0] & 15) * 4;
    let transport = match ip[9] {
        TCP => usize::from(ip.get(ip_header + 12)? >> 4) * 4,
        UDP => 8,
        _ => ip.len(),
    };
    let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
    Some((ETHERNET + ip_header + transport, [address(12), address(16)]))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// 14 bytes of Ethernet, 20 of IP from 10.0.0.1 to 10.64.0.1, 32 of TCP and a payload.
    fn segment() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
        frame.extend([0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 64, 0, 1]);
        frame.extend([0x9c, 0x40, 0x13, 0x88, 0, 1, 0, 2, 0, 0, 0, 0, 0x80, 0x10, 0xfa, 0xf0]);
        frame.extend([0; 36]);
        frame
    }

    #[test]
    fn headers_end_where_they_say() {
        let hosts = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 64, 0, 1)];
        let mut frame = segment();
        assert_eq!(headers(&frame), Some((14 + 20 + 32, hosts)));
        frame[23] = 17;
        assert_eq!(headers(&frame), Some((14 + 20 + 8, hosts)));
        frame[12] = 0x86;
        assert_eq!(headers(&frame), None);
        assert_eq!(headers(&segment()[..40]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_have_headers_or_none(bytes in vec(any::<u8>(), 0..160)) {
            let mut bytes = bytes;
            for (at, value) in [(12, 0x08), (13, 0x00), (23, 6)] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            headers(&bytes);
        }
    }
}
