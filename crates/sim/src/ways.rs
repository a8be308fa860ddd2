//! The links that packets cross, one after the other.
//!
//! A packet knows its position in one long list: the link that it crosses is written there, and the
//! next one behind it. So no way is longer or shorter than another to the code that follows it.

/// Behind the last link of a way.
const END: u32 = u32::MAX;

/// The ways of all packets, two for each connection, towards its sink and back; behind them one
/// for each datagram flow.
#[derive(Clone, Debug)]
pub(crate) struct Ways {
    /// The links of each way, and END.
    links: Vec<u32>,
    /// Where each way begins.
    first: Vec<u32>,
}

impl Ways {
    /// Ways over these links; none of them is empty.
    pub(crate) fn new(ways: &[Vec<u32>]) -> Self {
        let mut links = Vec::with_capacity(ways.iter().map(|way| way.len() + 1).sum());
        let mut first = Vec::with_capacity(ways.len());
        for way in ways {
            debug_assert!(!way.is_empty());
            first.push(links.len() as u32);
            links.extend(way);
            links.push(END);
        }
        Ways { links, first }
    }

    /// The position at which packets enter a way.
    pub(crate) fn entrance(&self, way: u32) -> u32 {
        self.first[way as usize]
    }

    /// The link at a position.
    pub(crate) fn link(&self, position: u32) -> u32 {
        self.links[position as usize]
    }

    /// Whether that is the last link of its way.
    pub(crate) fn is_last(&self, position: u32) -> bool {
        self.links[position as usize + 1] == END
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_different_lengths_lie_behind_each_other() {
        let ways = Ways::new(&[vec![3, 0, 4], vec![1], vec![2, 5]]);
        let follow = |way| {
            let mut at = ways.entrance(way);
            let mut links = vec![ways.link(at)];
            while !ways.is_last(at) {
                at += 1;
                links.push(ways.link(at));
            }
            links
        };
        assert_eq!([0, 1, 2].map(follow), [vec![3, 0, 4], vec![1], vec![2, 5]]);
    }
}
