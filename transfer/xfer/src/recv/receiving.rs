//! A file being received: where it goes, and which of its blocks have arrived.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::Incoming;
use crate::wire::messages::Run;

/// A file that is being received.
#[derive(Clone, Debug)]
pub struct Receiving {
    pub incoming: Arc<Incoming>,
    pub arrived: Arrived,
}

impl Receiving {
    pub fn new(incoming: Incoming) -> Self {
        Receiving { incoming: Arc::new(incoming), arrived: Arrived::default() }
    }
}

/// Blocks that have arrived, as runs by their first: most files come roughly in order.
#[derive(Clone, Debug, Default)]
pub struct Arrived(BTreeMap<u32, u32>);

impl Arrived {
    pub fn has(&self, block: u32) -> bool {
        let before = self.0.range(..=block).next_back();
        before.is_some_and(|(first, count)| block - first < *count)
    }

    /// Whether it was not there before.
    pub fn insert(&mut self, block: u32) -> bool {
        if self.has(block) {
            return false;
        }
        let mut run = (block, 1);
        if let Some(count) = block.checked_add(1).and_then(|next| self.0.remove(&next)) {
            run.1 += count;
        }
        let before = self.0.range(..block).next_back();
        if let Some((&first, &count)) = before.filter(|(first, count)| *first + *count == block) {
            run = (first, count + run.1);
        }
        self.0.insert(run.0, run.1);
        true
    }

    pub fn runs(&self, file: u32) -> Vec<Run> {
        self.0.iter().map(|(&first, &count)| Run { file, first, count }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_a_set_whose_neighbours_are_together(
            blocks in vec(prop_oneof![0..20u32, u32::MAX - 5..=u32::MAX], 0..40),
        ) {
            let (mut arrived, mut set) = (Arrived::default(), BTreeSet::new());
            for block in blocks {
                prop_assert_eq!(arrived.insert(block), set.insert(block));
                prop_assert!(arrived.has(block));
            }
            let runs = arrived.runs(7);
            let all: Vec<u32> = runs.iter().flat_map(|run| run.first..=run.first + (run.count - 1)).collect();
            prop_assert_eq!(all, set.into_iter().collect::<Vec<_>>());
            let is_apart = |two: &[Run]| two[0].first + two[0].count < two[1].first;
            prop_assert!(runs.windows(2).all(is_apart), "{:?}", runs);
        }
    }
}
