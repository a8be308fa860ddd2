//! The links that packets cross, one after the other.
//!
//! A packet knows its position in one long list: the link that it crosses is written there, and the
//! next one behind it. So following a long path costs the same code as a short one.

/// Set on the last link of a route.
const LAST: u32 = 1 << 31;

/// A link on a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop {
    /// The link, and [`LAST`].
    marked: u32,
    /// Packets that have come to its far end on this route.
    delivered: u64,
}

impl Hop {
    /// The link.
    pub(crate) fn link(&self) -> u32 {
        self.marked & !LAST
    }

    /// Whether it is the last of its route.
    pub(crate) fn is_last(&self) -> bool {
        self.marked & LAST != 0
    }
}

/// The paths of all packets, two for each connection, towards its sink and back; behind them one
/// for each datagram flow.
#[derive(Clone, Debug)]
pub(crate) struct PathTable {
    /// The links of each route.
    hops: Vec<Hop>,
    /// Where the first route of each path begins.
    first: Vec<u32>,
    /// For paths whose packets take several routes in turn, those. Empty if there are none.
    turns: Vec<Option<Box<Turns>>>,
}

/// Routes that packets take in turn.
#[derive(Clone, Debug)]
struct Turns {
    first: Vec<u32>,
    next: usize,
}

impl PathTable {
    /// Ways over these links, each with its routes; none is empty.
    pub(crate) fn new<'a>(paths: impl Iterator<Item = &'a [Vec<u32>]>) -> Self {
        let mut all = PathTable { hops: Vec::new(), first: Vec::new(), turns: Vec::new() };
        for (index, routes) in paths.enumerate() {
            let mut first = Vec::with_capacity(routes.len());
            for route in routes {
                debug_assert!(!route.is_empty());
                first.push(all.hops.len() as u32);
                all.hops.extend(route.iter().map(|link| Hop { marked: *link, delivered: 0 }));
                if let Some(last) = all.hops.last_mut() {
                    last.marked |= LAST;
                }
            }
            all.first.extend(first.first());
            if routes.len() > 1 {
                all.turns.resize_with(index + 1, || None);
                all.turns[index] = Some(Box::new(Turns { first, next: 0 }));
            }
        }
        all
    }

    /// The position at which packets enter a path, if it has one route.
    pub(crate) fn entrance(&self, path: u32) -> u32 {
        self.first[path as usize]
    }

    /// Whether packets of any path take several routes.
    pub(crate) fn have_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// The position at which the next packet enters a path.
    pub(crate) fn next_entrance(&mut self, path: u32) -> u32 {
        let Some(Some(turns)) = self.turns.get_mut(path as usize) else {
            return self.first[path as usize];
        };
        let first = turns.first[turns.next];
        turns.next = (turns.next + 1) % turns.first.len();
        first
    }

    /// The link at a position.
    #[inline(always)]
    pub(crate) fn hop(&self, position: u32) -> &Hop {
        &self.hops[position as usize]
    }

    /// A packet has come to the far end of the link at a position. Returns whether that is the last.
    #[inline(always)]
    pub(crate) fn cross(&mut self, position: u32) -> bool {
        let hop = &mut self.hops[position as usize];
        hop.delivered += 1;
        hop.is_last()
    }

    /// Packets that have come to the far end of each of so many links.
    pub(crate) fn delivered(&self, links: usize) -> Vec<u64> {
        let mut delivered = vec![0; links];
        for hop in &self.hops {
            delivered[hop.link() as usize] += hop.delivered;
        }
        delivered
    }

    /// Adds what was counted elsewhere on the same paths.
    pub(crate) fn absorb(&mut self, other: &PathTable) {
        for (own, elsewhere) in self.hops.iter_mut().zip(&other.hops) {
            own.delivered += elsewhere.delivered;
        }
    }

    /// The links of a path.
    pub(crate) fn links(&self, path: u32) -> impl Iterator<Item = u32> {
        let route = &self.hops[self.first[path as usize] as usize..];
        let count = route.iter().take_while(|hop| !hop.is_last()).count() + 1;
        route.iter().take(count).map(|hop| hop.link())
    }

    /// What is counted before each position on its way, where `counts` says which links do.
    pub(crate) fn counted_before(&self, counts: impl Fn(u32) -> bool) -> Vec<u8> {
        let mut before = 0u8;
        let step = |hop: &Hop| {
            let here = before;
            let counted = before.saturating_add(u8::from(counts(hop.link())));
            before = if hop.is_last() { 0 } else { counted };
            here
        };
        self.hops.iter().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_different_lengths_lie_behind_each_other() {
        let paths = [vec![vec![3, 0, 4]], vec![vec![1]], vec![vec![2, 5]]];
        let paths = PathTable::new(paths.iter().map(Vec::as_slice));
        assert!(!paths.have_turns());
        let follow = |path| follow(&paths, paths.entrance(path));
        assert_eq!([0, 1, 2].map(follow), [vec![3, 0, 4], vec![1], vec![2, 5]]);
    }

    fn follow(paths: &PathTable, mut at: u32) -> Vec<u32> {
        let mut links = vec![paths.hop(at).link()];
        while !paths.hop(at).is_last() {
            at += 1;
            links.push(paths.hop(at).link());
        }
        links
    }

    #[test]
    fn packets_take_the_routes_of_their_way_in_turn() {
        let paths = [vec![vec![7]], vec![vec![0, 2], vec![1], vec![3]], vec![vec![8]]];
        let mut paths = PathTable::new(paths.iter().map(Vec::as_slice));
        let mut next = |path| {
            let entrance = paths.next_entrance(path);
            follow(&paths, entrance)
        };
        let taken: Vec<_> = (0..4).map(|_| next(1)).collect();
        assert_eq!(taken, [vec![0, 2], vec![1], vec![3], vec![0, 2]]);
        assert_eq!((next(0), next(2)), (vec![7], vec![8]));
    }
}
