//! Packets by hand: two ends, sequence numbers as they say, a time in milliseconds.

use std::net::SocketAddr;

use fairway_analysis::report::{ConnectionReport, DirectionReport};
use fairway_analysis::{Analyser, Options as Wanted, Report};
use fairway_capture::packet::Fate;
use fairway_capture::packet::flags::ACK;
use fairway_capture::{Options, Packet, Tcp, Transport, Udp};
use fairway_units::{Duration, Time};

/// Data from the client, and what the server answers.
pub struct Wire {
    analyser: Analyser,
    number: u64,
    at: Time,
    /// Where packets are seen.
    pub interface: u32,
}

/// A segment: who sends it is the method that takes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    pub bytes: u32,
    pub window: u16,
    pub options: Options,
    pub ip_id: u16,
}

/// A segment with data.
pub fn data(seq: u32, bytes: u32) -> Segment {
    Segment { seq, bytes, flags: ACK, window: 1000, ack: SERVER, ..Segment::default() }
}

/// An acknowledgement by the server.
pub fn ack(ack: u32) -> Segment {
    Segment { seq: SERVER, ack, flags: ACK, window: 1000, ..Segment::default() }
}

/// An acknowledgement with selective ones.
pub fn sack(acked: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut options = Options { sack_count: blocks.len() as u8, ..Options::default() };
    options.sack[..blocks.len()].copy_from_slice(blocks);
    Segment { options, ..ack(acked) }
}

impl Segment {
    pub fn with(self, flags: u16) -> Segment {
        Segment { flags: self.flags | flags, ..self }
    }
}

/// The sequence number of the server's first byte of data.
pub const SERVER: u32 = 9001;

impl Wire {
    pub fn new() -> Wire {
        Wire::wanting(Wanted::default())
    }

    pub fn wanting(wanted: Wanted) -> Wire {
        let analyser = Analyser::new(wanted);
        Wire { analyser, number: 0, at: Time::ZERO, interface: 0 }
    }

    /// The clock stands at so many milliseconds.
    pub fn at_ms(&mut self, at: u64) -> &mut Wire {
        self.at = Time::ZERO + Duration::from_millis(at);
        self
    }

    pub fn client(&mut self, segment: Segment) -> &mut Wire {
        self.tcp("10.0.0.1:4000", "10.0.0.2:80", segment)
    }

    pub fn server(&mut self, segment: Segment) -> &mut Wire {
        self.tcp("10.0.0.2:80", "10.0.0.1:4000", segment)
    }

    pub fn tcp(&mut self, from: &str, to: &str, segment: Segment) -> &mut Wire {
        let Segment { seq, ack, flags, bytes, window, options, ip_id } = segment;
        let is_checksum_wrong = false;
        let payload_bytes = bytes;
        let tcp = Tcp { seq, ack, flags, window, payload_bytes, options, is_checksum_wrong };
        self.packet(from, to, bytes, ip_id, Transport::Tcp(tcp))
    }

    pub fn udp(&mut self, from: &str, to: &str, bytes: u32) -> &mut Wire {
        self.packet(from, to, bytes, 0, Transport::Udp(Udp { payload_bytes: bytes }))
    }

    fn packet(
        &mut self,
        from: &str,
        to: &str,
        bytes: u32,
        ip_id: u16,
        transport: Transport,
    ) -> &mut Wire {
        self.number += 1;
        let end = |text: &str| text.parse::<SocketAddr>().expect("an address");
        self.analyser.packet(&Packet {
            number: self.number,
            at: self.at,
            interface: self.interface,
            source: end(from),
            destination: end(to),
            frame_bytes: bytes + 54,
            ip_bytes: bytes + 40,
            ip_id,
            ttl: 64,
            traffic_class: 0,
            transport,
            fate: Fate::Unknown,
        });
        self
    }

    pub fn report(&mut self) -> Report {
        std::mem::replace(&mut self.analyser, Analyser::new(Wanted::default())).finish()
    }

    /// The one connection that there has to be.
    pub fn connection(&mut self) -> ConnectionReport {
        let mut connections = self.report().connections;
        assert_eq!(connections.len(), 1);
        connections.remove(0)
    }

    /// The client's direction of it.
    pub fn sent(&mut self) -> DirectionReport {
        let connection = self.connection();
        let client = "10.0.0.1:4000".parse().expect("an address");
        connection.directions.into_iter().find(|one| one.from == client).expect("it sends")
    }
}
