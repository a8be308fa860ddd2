//! Which links are passed at once, and which share their delivery queues.

use std::collections::BTreeMap;

use fairway_units::Duration;

use super::regions::Regions;

/// Where packets go that a link has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exit {
    /// All to links that nothing else feeds: this link is *express*. A packet can be offered
    /// there at once, for the time at which it will arrive.
    Express,
    /// Into the link's own delivery queue.
    Row,
    /// Into this delivery queue, shared with links that are alike, if it arrives after what is
    /// there; else into the link's own delivery queue.
    Shared(u32),
    /// Away, to a region that is simulated elsewhere.
    Away,
}

/// Which links can be express: all their packets go on to links that nothing else feeds, no host
/// and no other link. `paths` holds the links of each direction of each connection.
pub(super) fn express_links(paths: &[Vec<u32>], links: usize) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Nobody,
        Link(u32),
        Several,
    }
    let mut feeders = vec![Feeder::Nobody; links];
    for path in paths {
        feeders[path[0] as usize] = Feeder::Several;
        for pair in path.windows(2) {
            let feeder = &mut feeders[pair[1] as usize];
            *feeder = match *feeder {
                Feeder::Nobody => Feeder::Link(pair[0]),
                Feeder::Link(link) if link == pair[0] => Feeder::Link(link),
                Feeder::Link(_) | Feeder::Several => Feeder::Several,
            };
        }
    }
    let mut express = vec![true; links];
    for path in paths {
        for pair in path.windows(2) {
            express[pair[0] as usize] &= feeders[pair[1] as usize] == Feeder::Link(pair[0]);
        }
        express[path[path.len() - 1] as usize] = false;
    }
    express
}

/// Where the packets of each link go, and how many delivery queues are shared: by links in which
/// packets mostly arrive in the order in which they entered any of them, which are links of equal
/// delay in one region that lead to the same link, or are fed by the same express link.
pub(super) fn exits(
    paths: &[Vec<u32>],
    express: &[bool],
    delays: &[Duration],
    regions: &Regions,
) -> (Vec<Exit>, usize) {
    let mut feeders = vec![None; express.len()];
    let mut followers = vec![None; express.len()];
    for pair in paths.iter().flat_map(|path| path.windows(2)) {
        followers[pair[0] as usize] = Some(pair[1]);
        if express[pair[0] as usize] {
            feeders[pair[1] as usize] = Some(pair[0]);
        }
    }
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    let mut exits = vec![Exit::Express; express.len()];
    for link in (0..express.len()).filter(|link| !express[*link]) {
        if regions.is_cut(link as u32) {
            exits[link] = Exit::Row;
            continue;
        }
        let region = regions.beginning_of(link as u32);
        let kind = (region, feeders[link], followers[link], delays[link]);
        alike.entry(kind).or_default().push(link);
    }
    let mut queues = 0;
    for links in alike.values() {
        let exit = if links.len() == 1 { Exit::Row } else { Exit::Shared(queues as u32) };
        queues += usize::from(links.len() > 1);
        for link in links {
            exits[*link] = exit;
        }
    }
    (exits, queues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumbbell_passes_its_bottleneck_at_once() {
        // Links 0, 1 shared; 2, 3 of source 0; 4, 5 of sink 0; 6, 7 of source 1; 8, 9 of sink 1.
        let paths = [[2, 0, 4], [5, 1, 3], [6, 0, 8], [9, 1, 7]].map(Vec::from);
        let expected = [true, true, false, false, false, false, false, false, false, false];
        assert_eq!(express_links(&paths, 10), expected);
    }

    #[test]
    fn links_that_are_alike_share_a_row() {
        let paths = [[2, 0, 4], [5, 1, 3], [6, 0, 8], [9, 1, 7]].map(Vec::from);
        let mut delays = [Duration::from_millis(1); 10];
        let through = [true, true, false, false, false, false, false, false, false, false];
        let (x, shared) = (Exit::Express, Exit::Shared);
        // Sources towards the bottleneck 0, sinks towards it 1, behind it to sinks 2 and back to
        // sources 3.
        let expected = [0, 3, 2, 1, 0, 3, 2, 1].map(shared);
        let (exits_found, queues) = exits(&paths, &through, &delays, &Regions::one(10));
        assert_eq!((&exits_found[..2], &exits_found[2..], queues), (&[x, x][..], &expected[..], 4));
        // A host further away keeps its packets to itself.
        delays[2] = Duration::from_millis(2);
        let (exits_found, queues) = exits(&paths, &through, &delays, &Regions::one(10));
        assert_eq!((exits_found[2], exits_found[6], queues), (Exit::Row, Exit::Row, 3));
    }

    #[test]
    fn a_chain_is_passed_at_once_but_for_its_ends() {
        let paths = vec![[vec![0, 2, 4], vec![5, 3, 1]]; 2].concat();
        assert_eq!(express_links(&paths, 6), [true, false, true, true, false, true]);
    }

    #[test]
    fn one_shared_link_is_an_end() {
        assert_eq!(express_links(&[vec![0], vec![1], vec![0], vec![1]], 2), [false, false]);
    }
}
