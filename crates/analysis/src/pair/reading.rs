//! Reads two captures in step, by time.

use fairway_capture::packet::Fate;
use fairway_capture::packet::flags::{FIN, SYN};
use fairway_capture::read::Capture;
use fairway_capture::{Packet, Transport};
use fairway_units::Time;

use super::beginning::Beginning;
use super::clock::Clock;
use super::directions::Directions;
use super::identity::{Level, Mixer, Side};
use super::matching::Matcher;
use super::watch::{Coverage, Look, Watcher};
use super::{PairError, Progress, nanos};

/// Packets between two looks at whether to stop: a few milliseconds.
const PACKETS_BETWEEN_LOOKS: u64 = 8192;

/// Who looks on while both captures are read.
pub(super) trait Step: Watcher {
    /// The best that is known of the clocks.
    fn clock(&self) -> Clock;
    /// There is a direction more.
    fn add_way(&mut self);
}

/// Finds a packet's direction and its counterpart.
pub(super) struct Pairing {
    mixer: Mixer,
    level: Level,
    pub(super) directions: Directions,
    pub(super) matcher: Matcher,
}

impl Pairing {
    pub(super) fn new(mixer: Mixer, beginning: &Beginning, coverage: Coverage) -> Pairing {
        Pairing {
            mixer,
            level: beginning.level,
            directions: Directions::new(beginning.places.clone(), beginning.translations.clone()),
            matcher: Matcher::new(coverage),
        }
    }

    /// Takes the next packet; says whether it is of a kind that is compared.
    #[inline]
    fn packet(&mut self, side: Side, packet: &Packet, step: &mut impl Step) -> bool {
        if !self.is_compared(packet) {
            return false;
        }
        let Some(direction) = self.directions.find(side, packet) else { return false };
        while self.directions.connections.len() * 2 > self.matcher.directions() {
            let connection = &self.directions.connections[self.matcher.directions() / 2];
            for direction in [0, 1] {
                self.matcher.add_way(connection.source(direction));
                step.add_way();
            }
        }
        let at_ns = nanos(packet.at);
        let now_ns = match side {
            Side::First => at_ns,
            Side::Second => step.clock().first_of(at_ns),
        };
        let mut look = Look {
            number: packet.number,
            at_ns,
            now_ns,
            key: self.mixer.identity(packet, self.level, direction as u64),
            seq: None,
            length: 0,
            payload_bytes: 0,
            has_syn: false,
            stamp: None,
            size_bytes: packet.ip_bytes,
            is_annotated: packet.fate != Fate::Unknown,
        };
        match &packet.transport {
            Transport::Tcp(tcp) => {
                // No IP packet is longer, but what a capture says may be anything.
                let payload = tcp.payload_bytes.min(1 << 30);
                look.seq = Some(tcp.seq);
                look.payload_bytes = payload;
                look.has_syn = tcp.has(SYN);
                look.length = payload + u32::from(tcp.has(SYN)) + u32::from(tcp.has(FIN));
                let stamps = tcp.options.timestamps.filter(|_| self.level != Level::Numbers);
                look.stamp = stamps.map(|(value, _)| value);
            }
            Transport::Udp(udp) => look.payload_bytes = udp.payload_bytes,
            Transport::Other(_) => {}
        }
        self.matcher.packet(side, direction, &look, step);
        true
    }

    /// Datagrams have no numbers of their own: without IPv4's identification, all of a size are
    /// alike.
    fn is_compared(&self, packet: &Packet) -> bool {
        match packet.transport {
            Transport::Tcp(_) => true,
            Transport::Udp(_) => self.level == Level::WithIpId && packet.ip_id != 0,
            Transport::Other(_) => false,
        }
    }
}

/// Counts of both captures.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    pub(super) packets: [u64; 2],
    pub(super) first: [Option<Time>; 2],
    pub(super) last: [Time; 2],
}

/// Reads both captures to their ends, what is earlier first.
pub(super) fn read(
    mut captures: [Capture; 2],
    pairing: &mut Pairing,
    step: &mut impl Step,
    so_far: u64,
    progress: Progress<'_>,
) -> Result<Heard, PairError> {
    let mut heard = Heard::default();
    let mut next = [0, 1].map(|side: usize| captures[side].next().copied());
    let mut all = so_far;
    loop {
        let clock = step.clock();
        let side = match &next {
            [Some(one), Some(other)] => {
                let is_later = clock.first_of(nanos(other.at)) < nanos(one.at);
                if is_later { Side::Second } else { Side::First }
            }
            [Some(_), None] => Side::First,
            [None, Some(_)] => Side::Second,
            [None, None] => break,
        };
        let place = side.index();
        if let Some(packet) = &next[place] {
            heard.first[place].get_or_insert(packet.at);
            heard.last[place] = heard.last[place].max(packet.at);
            heard.packets[place] += u64::from(pairing.packet(side, packet, step));
        }
        next[place] = captures[place].next().copied();
        all += 1;
        if all.is_multiple_of(PACKETS_BETWEEN_LOOKS) && !progress(all) {
            return Err(PairError::Cancelled);
        }
    }
    pairing.matcher.finish(step);
    Ok(heard)
}
