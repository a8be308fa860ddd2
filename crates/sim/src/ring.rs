//! A queue in memory that is used again, for what every packet passes.
//!
//! As `VecDeque`, but its capacity is a power of two: places wrap around by a mask, without a branch.

/// What is in line, first in, first out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring<T> {
    /// As many as a power of two, or none yet.
    places: Box<[T]>,
    /// How many were ever taken: the place of the first, when wrapped.
    taken: usize,
    count: usize,
}

impl<T: Copy + Default> Ring<T> {
    fn place(&self, index: usize) -> usize {
        self.taken.wrapping_add(index) & (self.places.len().wrapping_sub(1))
    }

    /// Whether nothing is in line.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The one with so many before it.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index < self.count { self.places.get(self.place(index)) } else { None }
    }

    /// Adds one at the end.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        if self.count == self.places.len() {
            self.grow();
        }
        let place = self.place(self.count);
        self.places[place] = value;
        self.count += 1;
    }

    /// Takes the first.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let first = *self.get(0)?;
        self.taken = self.taken.wrapping_add(1);
        self.count -= 1;
        Some(first)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut places = vec![T::default(); (2 * self.count).max(4)];
        for (index, place) in places.iter_mut().enumerate().take(self.count) {
            *place = self.places[self.place(index)];
        }
        self.places = places.into_boxed_slice();
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in prop::collection::vec(prop::option::of(1u32..9), 1..400)) {
            let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
            for step in steps {
                match step {
                    Some(value) => {
                        ring.push(value);
                        deque.push_back(value);
                    }
                    None => prop_assert_eq!(ring.pop(), deque.pop_front()),
                }
                prop_assert_eq!(ring.is_empty(), deque.is_empty());
                for index in 0..=deque.len() {
                    prop_assert_eq!(ring.get(index), deque.get(index));
                }
            }
        }
    }
}
