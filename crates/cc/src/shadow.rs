//! CDG's shadow window: the window as it would be if only losses reduced it (Hayes and Armitage,
//! IFIP Networking 2011), so that delay back-offs cost no throughput at the next loss.

/// The shadow window of a window W, in segments.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Shadow {
    /// None before the first acknowledgement, when it equals W; 0 while it does not grow.
    pub(crate) window: Option<u32>,
    /// W at the last update; none after a reduction.
    pub(crate) seen: Option<u32>,
}

impl Shadow {
    /// Grow by the growth of W since the last update.
    pub(crate) fn follow(&mut self, cwnd: u32) {
        let shadow = self.window.unwrap_or(cwnd);
        let growth = self.seen.map_or(0, |seen| cwnd.saturating_sub(seen));
        self.window = Some(if shadow == 0 { 0 } else { shadow.saturating_add(growth) });
        self.seen = Some(cwnd);
    }

    /// W is set otherwise: the difference is not growth.
    pub(crate) fn look_away(&mut self) {
        self.seen = None;
    }

    /// Its size.
    pub(crate) fn get(&self, cwnd: u32) -> u32 {
        self.window.unwrap_or(cwnd)
    }

    /// Raise it to at least W.
    pub(crate) fn raise_to(&mut self, cwnd: u32) {
        self.window = Some(self.get(cwnd).max(cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_growth_and_not_reductions() {
        let mut shadow = Shadow::default();
        assert_eq!(shadow.get(100), 100);
        shadow.follow(100);
        shadow.follow(103);
        shadow.look_away();
        // Reduced to 70, and grown to 72.
        shadow.follow(70);
        shadow.follow(72);
        assert_eq!(shadow.get(72), 105);
        shadow.raise_to(72);
        assert_eq!(shadow.get(72), 105);
        shadow.raise_to(110);
        assert_eq!(shadow.get(72), 110);
        shadow.window = Some(0);
        shadow.follow(80);
        assert_eq!(shadow.get(80), 0);
    }
}
