//! A connection: two directions, who opened it, and how it ended.

pub(crate) mod key;
pub(crate) mod table;

use std::net::SocketAddr;

use fairway_capture::packet::flags::{ACK, RST, SYN};
use fairway_capture::{Packet, Tcp};
use fairway_units::Time;

use crate::direction::Direction;
use crate::direction::observers::Watch;

/// The largest shift of a window (RFC 7323 section 2.3).
const MAX_WINDOW_SHIFT: u8 = 14;

/// A TCP connection that is followed.
pub(crate) struct Connection {
    /// The sender of the first packet, and the other end.
    pub(crate) ends: [SocketAddr; 2],
    /// Whether packets of the first end go upwards by the key.
    pub(crate) first_is_low: bool,
    pub(crate) interface: u32,
    pub(crate) first_number: u64,
    pub(crate) first_at: Time,
    pub(crate) last_at: Time,
    /// From the first end, and from the other.
    pub(crate) directions: [Direction; 2],
    /// Which end has sent the first SYN, where one was seen.
    pub(crate) opener: Option<usize>,
    pub(crate) is_reset: bool,
    is_agreed: bool,
    /// The handshake has not yet told what lies on which side of the capture.
    parts_missing: bool,
    is_folded: bool,
}

impl Connection {
    /// Begins with its first packet.
    pub(crate) fn new(first_is_low: bool, packet: &Packet, watch: Watch) -> Connection {
        Connection {
            ends: [packet.source, packet.destination],
            first_is_low,
            interface: packet.interface,
            first_number: packet.number,
            first_at: packet.at,
            last_at: packet.at,
            directions: [Direction::new(watch.clone()), Direction::new(watch)],
            opener: None,
            is_reset: false,
            is_agreed: false,
            parts_missing: true,
            is_folded: false,
        }
    }

    /// Whether a packet opens another connection between the same ends: a SYN with another
    /// number than the one before, or one after data of a connection whose SYN was not seen.
    pub(crate) fn is_succeeded_by(&self, upwards: bool, tcp: &Tcp) -> bool {
        if !tcp.has(SYN) {
            return false;
        }
        let direction = &self.directions[self.from(upwards)];
        match &direction.offer {
            Some(offer) => offer.sequence != tcp.seq,
            // An answer to what was not seen, or both ends open at the same time.
            None if tcp.has(ACK) || direction.counts.data.packets == 0 => false,
            None => true,
        }
    }

    /// The index of the direction of a packet.
    fn from(&self, upwards: bool) -> usize {
        usize::from(upwards != self.first_is_low)
    }

    /// Follows a packet.
    #[inline]
    pub(crate) fn packet(&mut self, upwards: bool, packet: &Packet, tcp: &Tcp) {
        self.last_at = self.last_at.max(packet.at);
        let from = self.from(upwards);
        let [first, second] = &mut self.directions;
        let (there, back) = if from == 0 { (first, second) } else { (second, first) };
        there.sends(packet, tcp);
        if tcp.has(SYN) {
            self.opener.get_or_insert(if tcp.has(ACK) { 1 - from } else { from });
        }
        if !self.is_agreed {
            self.is_agreed = agree(there, back);
        }
        if self.parts_missing {
            self.parts_missing = !divide_path(there, back);
        }
        let is_scaled = self.is_agreed && !tcp.has(SYN) && scales(there, back);
        let window_bytes = window(there, tcp, is_scaled);
        if tcp.flags & (ACK | SYN) != 0 && !tcp.has(RST) {
            there.windows.announce(window_bytes, is_scaled, tcp.has(ACK));
        }
        if tcp.flags & (ACK | SYN) != 0 {
            let has_dsack = back.hears(packet, tcp, window_bytes);
            there.counts.headers.dsack_packets += u64::from(has_dsack);
        }
        self.is_reset |= tcp.has(RST);
        self.fold_at_end();
    }

    /// Gives memory back as soon as both directions are over.
    #[inline]
    fn fold_at_end(&mut self) {
        if self.is_folded {
            return;
        }
        let is_finished = self.directions.iter().all(Direction::is_finished);
        if is_finished || self.is_reset {
            self.is_folded = true;
            self.directions.iter_mut().for_each(|direction| direction.fold(is_finished));
        }
    }
}

/// Both SYNs were seen: what both directions may use follows.
fn agree(there: &mut Direction, back: &mut Direction) -> bool {
    let (Some(mine), Some(yours)) = (there.offer, back.offer) else { return false };
    there.agree(&yours, &mine);
    back.agree(&mine, &yours);
    true
}

/// Both SYNs are acknowledged: what lies on which side of the capture follows.
fn divide_path(there: &mut Direction, back: &mut Direction) -> bool {
    there.flow.receiver_rtt = there.handshake_rtt;
    back.flow.receiver_rtt = back.handshake_rtt;
    there.flow.sender_rtt = back.handshake_rtt;
    back.flow.sender_rtt = there.handshake_rtt;
    there.handshake_rtt.is_some() && back.handshake_rtt.is_some()
}

/// Both ends have to ask for scaled windows (RFC 7323 section 2.2).
fn scales(there: &Direction, back: &Direction) -> bool {
    let asks = |direction: &Direction| {
        direction.offer.is_some_and(|offer| offer.options.window_scale.is_some())
    };
    asks(there) && asks(back)
}

fn window(there: &Direction, tcp: &Tcp, is_scaled: bool) -> u64 {
    let scale = there.offer.and_then(|offer| offer.options.window_scale);
    let shift = scale.filter(|_| is_scaled).unwrap_or(0).min(MAX_WINDOW_SHIFT);
    u64::from(tcp.window) << shift
}
