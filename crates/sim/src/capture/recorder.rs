//! Writes what passes the places of an experiment's capture.
//!
//! Files are written in the order of time, and links say of some packets now when they will come
//! out. So what has been seen waits in a heap until its time has come and, of a packet that has
//! entered a link, until it is known what becomes of it: no more than there is inside the network
//! with its queues.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::Path;

use fairway_capture::packet::{Fate, Options, Packet, Tcp, Transport, Udp, flags};
use fairway_capture::write::{CaptureFile, Direction, Format, Frame, Record, comment, file_names};
use fairway_net::{Ecn, Packet as _};
use fairway_tcp::{Flags, Segment};
use fairway_units::Time;

use super::Tap;
use super::addresses::{self, Ends};
use super::places::CapturePoints;
use crate::network::Network;
use crate::packet_handle::PacketHandle;
use fairway_spec::{CaptureSettings, Experiment};

/// Nothing, in place of an index.
const NONE: u32 = u32::MAX;
/// Time to live of a packet that leaves its host: Linux's default (RFC 1700 has the same).
const FIRST_TTL: u8 = 64;
/// Ethernet's header, which a link's own framing stands for.
const ETHERNET_BYTES: u32 = 14;
/// Packets seen and not yet written, beyond which the oldest is written though nobody knows yet
/// what becomes of it: some 20 MB.
const MAX_WAITING: usize = 1 << 17;

/// Writes captures.
pub(crate) struct Recorder {
    files: Vec<CaptureFile>,
    /// Where the packets of each place go: a file, and an interface in it.
    outlets: Vec<Outlet>,
    /// The outlets where packets enter and leave each link direction.
    of_links: Vec<[u32; 2]>,
    /// The names of the link directions, as in results.
    link_names: Vec<String>,
    /// The one that is the access point of a cell, which sends to many stations.
    access_point: Option<u32>,
    /// Addresses and outlets of what travels each path.
    paths: Vec<PathRecord>,
    /// The path of the first datagram flow.
    first_of_datagrams: u32,
    /// How many routers are before the link at each position.
    routers: Vec<u8>,
    /// How much of a packet is kept besides its headers.
    snap_bytes: usize,
    /// Packets in the network, by their place.
    packets: Vec<OnItsWay>,
    waiting: Vec<Seen>,
    free: Vec<u32>,
    order: BinaryHeap<Reverse<(Time, u64, u32)>>,
    sequence: u64,
    /// Bytes of a packet with its payload, kept for their memory.
    bytes: Vec<u8>,
    /// Drops and losses that came to be known too late.
    unmarked: u64,
    failure: Option<io::Error>,
}

#[derive(Clone, Copy)]
struct Outlet {
    file: u32,
    interface: u32,
}

struct PathRecord {
    ends: Ends,
    is_forward: bool,
    /// At its source host and at its sink host.
    outlets: [u32; 2],
    /// Where it is received if the access point of a cell sends it.
    on_air: u32,
    /// Of the next packet: Linux, too, numbers the packets of a connection.
    next_id: u16,
}

/// A packet in the network.
#[derive(Clone, Copy)]
struct OnItsWay {
    /// None of what is neither TCP, UDP nor ICMP, which no capture shows.
    frame: Option<Frame>,
    /// Where it was seen last, if it is not known yet what has become of it.
    seen: u32,
    /// The link that has damaged it.
    damaged_on: u32,
}

/// A packet seen somewhere.
struct Seen {
    frame: Frame,
    outlet: u32,
    direction: Direction,
    fate: Fate,
    link: u32,
    /// The place of the packet, if it is not known yet what has become of it.
    undecided: u32,
}

impl Recorder {
    /// Begins the files of an experiment's capture in a directory.
    pub(crate) fn create(
        experiment: &Experiment,
        network: &Network,
        directory: &Path,
    ) -> io::Result<Self> {
        let settings = &experiment.capture;
        let ends = addresses::ends(experiment);
        let places = CapturePoints::of(experiment, &ends, network);
        let (files, outlets, of_place) = open(&places, settings, directory)?;
        let outlet = |place: Option<usize>| place.map_or(NONE, |place| of_place[place]);
        let of_links = places.of_links(experiment, network);
        let connections = experiment.flows.len();
        let paths = ends.iter().enumerate().flat_map(|(index, ends)| {
            let returns = index < connections;
            [true, false].into_iter().take(1 + usize::from(returns)).map(|is_forward| {
                let outlets = ends.hosts.map(|host| outlet(places.host(experiment, host)));
                let last = ends.hosts[usize::from(is_forward)];
                PathRecord {
                    ends: *ends,
                    is_forward,
                    outlets: if is_forward { outlets } else { [outlets[1], outlets[0]] },
                    on_air: outlet(places.on_air(experiment, last)),
                    next_id: 0,
                }
            })
        });
        Ok(Recorder {
            paths: paths.collect(),
            files,
            outlets,
            of_links: of_links.into_iter().map(|ends| ends.map(outlet)).collect(),
            link_names: network.names.clone(),
            access_point: places.access_point(network),
            first_of_datagrams: 2 * connections as u32,
            routers: network.routers_before(),
            snap_bytes: settings.snap.map_or(0, |snap| snap.get() as usize),
            packets: Vec::new(),
            waiting: Vec::new(),
            free: Vec::new(),
            order: BinaryHeap::new(),
            sequence: 0,
            bytes: Vec::new(),
            unmarked: 0,
            failure: None,
        })
    }

    /// The run has ended: the files appear. Returns what has to be known of them.
    pub(crate) fn finish(mut self, end: Time) -> io::Result<Vec<String>> {
        for seen in &mut self.waiting {
            seen.undecided = NONE;
        }
        self.advance(end);
        self.check()?;
        self.files.into_iter().try_for_each(CaptureFile::finish)?;
        let remark = format!(
            "captures do not mark {} of the drops and losses, which became known after more than \
             {MAX_WAITING} packets had been seen",
            self.unmarked
        );
        Ok(if self.unmarked > 0 { vec![remark] } else { Vec::new() })
    }

    /// A packet leaves its host, and is followed from there.
    pub(crate) fn follow(&mut self, handle: &PacketHandle, frame: Option<Frame>, at: Time) {
        let place = handle.place();
        let on_its_way = OnItsWay { frame, seen: NONE, damaged_on: NONE };
        if place >= self.packets.len() {
            self.packets.resize(place + 1, on_its_way);
        }
        self.packets[place] = on_its_way;
        let outlet = self.paths[handle.path() as usize].outlets[0];
        self.see(outlet, Direction::Outbound, handle, 0, at);
    }

    /// A packet is seen at an outlet, if there is one. Returns where that waits.
    fn see(
        &mut self,
        outlet: u32,
        direction: Direction,
        handle: &PacketHandle,
        routers: u8,
        at: Time,
    ) -> u32 {
        if outlet == NONE {
            return NONE;
        }
        let OnItsWay { frame, damaged_on, .. } = self.packets[handle.place()];
        let Some(mut frame) = frame else { return NONE };
        let ecn = match handle.ecn() {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        frame.set_on_its_way(FIRST_TTL - routers, handle.precedence() << 5 | ecn);
        let fate = if handle.is_corrupted() { Fate::Corrupted } else { Fate::Unknown };
        let seen = Seen { frame, outlet, direction, fate, link: damaged_on, undecided: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.waiting[slot as usize] = seen;
                slot
            }
            None => {
                self.waiting.push(seen);
                (self.waiting.len() - 1) as u32
            }
        };
        self.order.push(Reverse((at, self.sequence, slot)));
        self.sequence += 1;
        slot
    }

    /// It is known what becomes of a packet on the link that it has entered.
    fn decide(&mut self, handle: &PacketHandle, fate: Fate, link: u32) {
        let packet = &mut self.packets[handle.place()];
        let slot = std::mem::replace(&mut packet.seen, NONE);
        if slot != NONE {
            let seen = &mut self.waiting[slot as usize];
            seen.undecided = NONE;
            if fate != Fate::Unknown {
                (seen.fate, seen.link) = (fate, link);
            }
        } else if fate != Fate::Unknown && self.of_links[link as usize][0] != NONE {
            self.unmarked += 1;
        }
    }

    fn write(&mut self, at: Time, slot: u32) {
        let seen = &self.waiting[slot as usize];
        let captured = match self.snap_bytes {
            0 => seen.frame.header(),
            snap => {
                self.bytes.clear();
                self.bytes.extend(seen.frame.header());
                self.bytes.resize(snap.min(seen.frame.frame_bytes() as usize), 0);
                &self.bytes[..]
            }
        };
        let comment = match seen.fate {
            Fate::Unknown => None,
            fate => comment(fate, &self.link_names[seen.link as usize]),
        };
        let outlet = self.outlets[seen.outlet as usize];
        let record = Record {
            at,
            interface: outlet.interface,
            direction: Some(seen.direction),
            frame_bytes: seen.frame.frame_bytes(),
            captured,
            comment: comment.as_deref().unwrap_or_default(),
        };
        if let Err(error) = self.files[outlet.file as usize].write(&record) {
            self.failure.get_or_insert(error);
        }
    }
}

impl Tap for Recorder {
    const IS_ACTIVE: bool = true;

    fn sets_out(&mut self, handle: &PacketHandle, segment: &Segment, at: Time) {
        let path = &mut self.paths[handle.path() as usize];
        let transport = match handle.path() < self.first_of_datagrams {
            true => Transport::Tcp(header(segment)),
            false => Transport::Udp(Udp { payload_bytes: segment.payload_bytes }),
        };
        let [source, sink] = path.ends.addresses;
        let (source, destination) = if path.is_forward { (source, sink) } else { (sink, source) };
        let packet = Packet {
            number: 0,
            at,
            interface: 0,
            source,
            destination,
            frame_bytes: handle.wire_bytes() + ETHERNET_BYTES,
            ip_bytes: handle.wire_bytes(),
            ip_id: path.next_id,
            ttl: FIRST_TTL,
            traffic_class: 0,
            transport,
            fate: Fate::Unknown,
        };
        path.next_id = path.next_id.wrapping_add(1);
        match Frame::of(&packet) {
            Ok(frame) => {
                debug_assert_eq!(frame.frame_bytes(), packet.frame_bytes, "{segment:?}");
                self.follow(handle, Some(frame), at);
            }
            Err(error) => {
                let message = format!("cannot capture a packet at {at:?}: {error}");
                self.failure.get_or_insert(io::Error::other(message));
            }
        }
    }

    fn enters(&mut self, handle: &PacketHandle, link: u32, at: Time) {
        let [outlet, _] = self.of_links[link as usize];
        let routers = self.routers[handle.position() as usize];
        let slot = self.see(outlet, Direction::Outbound, handle, routers, at);
        self.packets[handle.place()].seen = slot;
        if slot != NONE {
            self.waiting[slot as usize].undecided = handle.place() as u32;
        }
    }

    fn passes(&mut self, handle: &PacketHandle) {
        self.decide(handle, Fate::Unknown, NONE);
    }

    fn is_dropped(&mut self, handle: &PacketHandle, link: u32) {
        self.decide(handle, Fate::Dropped, link);
    }

    fn is_lost(&mut self, handle: &PacketHandle, link: u32) {
        self.decide(handle, Fate::Lost, link);
    }

    fn is_damaged(&mut self, handle: &PacketHandle, link: u32) {
        self.packets[handle.place()].damaged_on = link;
    }

    fn leaves(&mut self, handle: &PacketHandle, link: u32, at: Time) {
        self.decide(handle, Fate::Unknown, NONE);
        let [_, outlet] = self.of_links[link as usize];
        let outlet = match self.access_point == Some(link) {
            true => self.paths[handle.path() as usize].on_air,
            false => outlet,
        };
        let routers = self.routers[handle.position() as usize];
        self.see(outlet, Direction::Inbound, handle, routers, at);
    }

    fn is_delivered(&mut self, handle: &PacketHandle, at: Time) {
        let outlet = self.paths[handle.path() as usize].outlets[1];
        let routers = self.routers[handle.position() as usize];
        self.see(outlet, Direction::Inbound, handle, routers, at);
    }

    fn is_copied(&mut self, handle: &PacketHandle, copy: &PacketHandle) {
        let original = OnItsWay { seen: NONE, ..self.packets[handle.place()] };
        if copy.place() >= self.packets.len() {
            self.packets.resize(copy.place() + 1, original);
        }
        self.packets[copy.place()] = original;
    }

    fn advance(&mut self, now: Time) {
        while let Some(Reverse((at, _, slot))) = self.order.peek() {
            let (at, slot) = (*at, *slot);
            if at > now {
                return;
            }
            let undecided = self.waiting[slot as usize].undecided;
            if undecided != NONE {
                if self.order.len() <= MAX_WAITING {
                    return;
                }
                self.packets[undecided as usize].seen = NONE;
            }
            self.write(at, slot);
            self.order.pop();
            self.free.push(slot);
        }
    }

    fn check(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// Files, outlets, and the outlet of each place.
type Opened = (Vec<CaptureFile>, Vec<Outlet>, Vec<u32>);

/// Begins the files.
fn open(
    places: &CapturePoints,
    settings: &CaptureSettings,
    directory: &Path,
) -> io::Result<Opened> {
    let application = format!("Fairway {}", env!("CARGO_PKG_VERSION"));
    let wanted = places.wanted(settings);
    let mut of_place = vec![NONE; wanted.len()];
    let wanted = (0..wanted.len()).filter(|place| wanted[*place]);
    for (outlet, place) in (0..).zip(wanted.clone()) {
        of_place[place] = outlet;
    }
    let interfaces: Vec<_> = wanted.map(|place| places.interface(place).clone()).collect();
    let count = interfaces.len() as u32;
    let extension = settings.format.extension();
    if settings.is_one_file {
        let path = directory.join(format!("capture.{extension}"));
        let file = CaptureFile::create(&path, Format::Pcapng, &application, &interfaces)?;
        let outlets = (0..count).map(|interface| Outlet { file: 0, interface });
        return Ok((vec![file], outlets.collect(), of_place));
    }
    let names = file_names(interfaces.iter().map(|interface| interface.name.as_str()), extension);
    let file = |(name, interface): (&String, _)| {
        CaptureFile::create(&directory.join(name), settings.format, &application, &[interface])
    };
    let files: io::Result<Vec<_>> = names.iter().zip(interfaces).map(file).collect();
    Ok((files?, (0..count).map(|file| Outlet { file, interface: 0 }).collect(), of_place))
}

/// What the header of a segment says.
fn header(segment: &Segment) -> Tcp {
    const BITS: [(Flags, u16); 7] = [
        (Flags::FIN, flags::FIN),
        (Flags::SYN, flags::SYN),
        (Flags::PSH, flags::PSH),
        (Flags::ACK, flags::ACK),
        (Flags::ECE, flags::ECE),
        (Flags::CWR, flags::CWR),
        (Flags::AE, flags::AE),
    ];
    let has = |flag| segment.flags.has(flag);
    let bits = BITS.iter().filter(|(flag, _)| has(*flag)).fold(0, |bits, (_, bit)| bits | bit);
    let mut options = Options {
        mss: (has(Flags::SYN) && !has(Flags::PACKED_OPTIONS)).then_some(segment.mss),
        window_scale: has(Flags::WINDOW_SCALE).then_some(segment.window_scale),
        sack_permitted: has(Flags::SACK_PERMITTED),
        timestamps: has(Flags::TIMESTAMP).then_some((segment.ts_value, segment.ts_echo)),
        sack_count: segment.sack_count,
        is_packed: has(Flags::PACKED_OPTIONS),
        ..Options::default()
    };
    for (to, from) in options.sack.iter_mut().zip(segment.sack_blocks()) {
        *to = (from.left.0, from.right.0);
    }
    Tcp {
        seq: segment.seq.0,
        ack: if has(Flags::ACK) { segment.ack.0 } else { 0 },
        flags: bits,
        window: segment.window,
        payload_bytes: segment.payload_bytes,
        options,
        is_checksum_wrong: false,
    }
}
