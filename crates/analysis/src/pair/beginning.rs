//! What the first packets that both captures have tell: which packets are the same, who is on
//! which side, and how far the clocks are apart, roughly.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fairway_capture::read::Capture;
use fairway_capture::{Packet, Transport};

use super::identity::{Level, Mixer, Side};
use crate::connection::key::Key;

/// Packets of each capture that are compared at a time: a second of a busy link.
const WINDOW_PACKETS: usize = 1 << 16;

/// Packets that both must have: a handshake.
const FEWEST_FOUND: usize = 3;

/// A stricter comparison is good enough if it finds this part of what a looser one finds.
const GOOD_PART: f64 = 0.9;

/// Protocol numbers of IP (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Findings from the beginning.
pub(super) struct Beginning {
    pub(super) level: Level,
    /// How far the second clock is ahead.
    pub(super) offset_ns: i64,
    pub(super) places: [BTreeMap<IpAddr, Side>; 2],
    /// Keys of the other capture for keys of one that are others there.
    pub(super) translations: [BTreeMap<Key, (Key, bool)>; 2],
}

/// Packets of a window, by their identity at each level.
struct Glance {
    identities: [u64; 3],
    packet: Packet,
    at_ns: i64,
}

/// Looks through both captures from the start until they have packets in common.
pub(super) fn find(captures: &mut [Capture; 2], mixer: Mixer) -> Option<Beginning> {
    let mut windows = [Vec::new(), Vec::new()];
    let mut is_over = [false; 2];
    loop {
        for side in Side::BOTH.map(Side::index) {
            is_over[side] |= !fill(&mut captures[side], &mut windows[side], mixer);
        }
        if let Some(beginning) = compare(&windows) {
            return Some(beginning);
        }
        // Clocks are taken to be roughly right: what ends earlier is left behind.
        let last = [0, 1].map(|side: usize| windows[side].last().map(|one: &Glance| one.at_ns));
        let behind = usize::from(last[1] < last[0]);
        let next = if is_over[behind] { 1 - behind } else { behind };
        if is_over[next] {
            return None;
        }
        // Half of it stays: what both have may lie across the edge.
        windows[next].drain(..WINDOW_PACKETS / 2);
    }
}

/// Fills a window; says whether there may be more.
fn fill(capture: &mut Capture, window: &mut Vec<Glance>, mixer: Mixer) -> bool {
    while window.len() < WINDOW_PACKETS {
        let Some(packet) = capture.next() else { return false };
        let salt = match packet.transport {
            Transport::Tcp(_) => Some(0),
            // Lengths and identifications are too few to do without addresses.
            Transport::Udp(_) if packet.ip_id != 0 => Some(ends(packet)),
            _ => None,
        };
        if let Some(salt) = salt {
            let identities = Level::ALL.map(|level| mixer.identity(packet, level, salt));
            window.push(Glance { identities, packet: *packet, at_ns: super::nanos(packet.at) });
        }
    }
    true
}

/// Addresses and ports as one number.
fn ends(packet: &Packet) -> u64 {
    let (key, upwards) = Key::of(packet.source, packet.destination, UDP, 0);
    key.hash([1, 2]) ^ u64::from(upwards)
}

fn compare(windows: &[Vec<Glance>; 2]) -> Option<Beginning> {
    let found = [0, 1, 2].map(|level| in_both(windows, level));
    let most = found.iter().map(Vec::len).max()?;
    if most < FEWEST_FOUND {
        return None;
    }
    let good = |pairs: &Vec<_>| pairs.len() as f64 >= GOOD_PART * most as f64;
    let index = found.iter().position(good)?;
    let pairs = &found[index];
    let places = places(pairs);
    let translations = translations(pairs);
    Some(Beginning {
        level: Level::ALL[index],
        offset_ns: offset(pairs, &places[0]),
        places,
        translations,
    })
}

/// Packets that are alone with their identity in both windows.
fn in_both(windows: &[Vec<Glance>; 2], level: usize) -> Vec<[&Glance; 2]> {
    let sorted = [0, 1].map(|side: usize| {
        let mut all: Vec<(u64, usize)> =
            windows[side].iter().enumerate().map(|(i, one)| (one.identities[level], i)).collect();
        all.sort_unstable();
        let mut alone = Vec::with_capacity(all.len());
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            alone.extend(group.first().filter(|_| group.len() == 1));
        }
        alone
    });
    let mut pairs = Vec::new();
    let mut there = sorted[1].iter().peekable();
    for (identity, index) in &sorted[0] {
        while there.next_if(|(other, _)| other < identity).is_some() {}
        if let Some((_, other)) = there.next_if(|(other, _)| other == identity) {
            pairs.push((*index, *other));
        }
    }
    pairs.sort_unstable();
    pairs.into_iter().map(|(one, other)| [&windows[0][one], &windows[1][other]]).collect()
}

/// What is known of packets from one address to another, as the first capture has them.
#[derive(Clone, Copy)]
struct Between {
    /// Least of the second clock's time less the first's.
    least_ns: i64,
    greatest_ns: i64,
    /// Hops that the first capture has seen more of their life than the second.
    hops: i64,
    packets: u64,
}

/// Who is where. Whatever the clocks: the least difference there and back adds up to a round trip
/// of the network, which is negative if the sides are confused. Without packets in both directions,
/// who has sent a packet sees it before routers count its life down, and the first capture is that
/// of the sender otherwise.
fn places(pairs: &[[&Glance; 2]]) -> [BTreeMap<IpAddr, Side>; 2] {
    let mut between: BTreeMap<(IpAddr, IpAddr), Between> = BTreeMap::new();
    let mut names: BTreeMap<IpAddr, IpAddr> = BTreeMap::new();
    for [one, other] in pairs {
        let ends = (one.packet.source.ip(), one.packet.destination.ip());
        names.insert(ends.0, other.packet.source.ip());
        names.insert(ends.1, other.packet.destination.ip());
        let difference_ns = other.at_ns.saturating_sub(one.at_ns);
        let hops = i64::from(one.packet.ttl) - i64::from(other.packet.ttl);
        let blank = Between { least_ns: i64::MAX, greatest_ns: i64::MIN, hops: 0, packets: 0 };
        let all = between.entry(ends).or_insert(blank);
        all.least_ns = all.least_ns.min(difference_ns);
        all.greatest_ns = all.greatest_ns.max(difference_ns);
        all.hops += hops.signum();
        all.packets += 1;
    }
    let mut places: [BTreeMap<IpAddr, Side>; 2] = [BTreeMap::new(), BTreeMap::new()];
    // Those with most packets first: they say most.
    let mut order: Vec<_> = between.iter().collect();
    order.sort_by_key(|(ends, all)| (std::cmp::Reverse(all.packets), **ends));
    for ((source, destination), there) in order {
        if source == destination {
            continue;
        }
        let back = between.get(&(*destination, *source));
        let round_trip = back.map_or(0, |back| there.least_ns.saturating_sub(back.greatest_ns));
        let place = match (round_trip.signum(), there.hops.signum()) {
            (1, _) | (0, 1) => Side::First,
            (-1, _) | (0, -1) => Side::Second,
            _ => Side::First,
        };
        for (address, side) in [(source, place), (destination, place.other())] {
            places[0].entry(*address).or_insert(side);
            places[1].entry(names[address]).or_insert(side);
        }
    }
    places
}

fn translations(pairs: &[[&Glance; 2]]) -> [BTreeMap<Key, (Key, bool)>; 2] {
    let mut translations = [BTreeMap::new(), BTreeMap::new()];
    for pair in pairs {
        let keys =
            pair.map(|glance| Key::of(glance.packet.source, glance.packet.destination, TCP, 0));
        let is_alike = keys[0].1 == keys[1].1;
        if keys[0].0 != keys[1].0 {
            translations[0].insert(keys[0].0, (keys[1].0, is_alike));
            translations[1].insert(keys[1].0, (keys[0].0, is_alike));
        }
    }
    translations
}

/// Half of what the least delays there and back differ by.
fn offset(pairs: &[[&Glance; 2]], places: &BTreeMap<IpAddr, Side>) -> i64 {
    let (mut forward, mut back): (Option<i64>, Option<i64>) = (None, None);
    for [one, other] in pairs {
        let difference_ns = other.at_ns.saturating_sub(one.at_ns);
        match places.get(&one.packet.source.ip()) {
            Some(Side::First) | None => {
                forward = Some(forward.map_or(difference_ns, |least| least.min(difference_ns)));
            }
            Some(Side::Second) => {
                back = Some(back.map_or(difference_ns, |most| most.max(difference_ns)));
            }
        }
    }
    match (forward, back) {
        // Halves of both, since their sum may be too large.
        (Some(there), Some(back)) => there / 2 + back / 2,
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => 0,
    }
}
