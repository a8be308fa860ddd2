//! The links that packets cross, one after the other.
//!
//! A packet knows its position in one long list: the link that it crosses is written there, and the
//! next one behind it. So following a long path costs the same code as a short one.

/// Behind the last link of a path.
const END: u32 = u32::MAX;

/// The paths of all packets, two for each connection, towards its sink and back; behind them one
/// for each datagram flow.
#[derive(Clone, Debug)]
pub(crate) struct PathTable {
    /// The links of each route, and END.
    links: Vec<u32>,
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
        let mut all = PathTable { links: Vec::new(), first: Vec::new(), turns: Vec::new() };
        for (index, routes) in paths.enumerate() {
            let mut first = Vec::with_capacity(routes.len());
            for route in routes {
                debug_assert!(!route.is_empty());
                first.push(all.links.len() as u32);
                all.links.extend(route);
                all.links.push(END);
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
    pub(crate) fn link(&self, position: u32) -> u32 {
        self.links[position as usize]
    }

    /// The links of a path.
    pub(crate) fn links(&self, path: u32) -> impl Iterator<Item = u32> {
        let from = self.first[path as usize] as usize;
        self.links[from..].iter().copied().take_while(|link| *link != END)
    }

    /// What is counted before each position on its way, where `counts` says which links do.
    pub(crate) fn counted_before(&self, counts: impl Fn(u32) -> bool) -> Vec<u8> {
        let mut before = 0u8;
        let step = |link: &u32| {
            let here = before;
            before = match *link {
                END => 0,
                link => before.saturating_add(u8::from(counts(link))),
            };
            here
        };
        self.links.iter().map(step).collect()
    }

    /// Whether that is the last link of its path.
    pub(crate) fn is_last(&self, position: u32) -> bool {
        self.links[position as usize + 1] == END
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
        let mut links = vec![paths.link(at)];
        while !paths.is_last(at) {
            at += 1;
            links.push(paths.link(at));
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
