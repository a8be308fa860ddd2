//! Distributions in bounded memory.

/// Buckets that a power of two is divided into: a value is known to one part in 128, so its
/// middle is off by no more than 0.4 %.
const PARTS: u64 = 128;

/// Values that are kept as they are before they are put into buckets: a short connection needs no
/// more, and its percentiles are exact.
const MAX_EXACT: usize = 32;

/// A distribution of whole numbers: counts exactly, percentiles to 0.4 %.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    exact: Vec<u64>,
    /// Power of two of the first block.
    lowest: u32,
    blocks: Vec<Option<Box<[u32; PARTS as usize]>>>,
    count: u64,
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        if self.blocks.is_empty() {
            self.exact.push(value);
            if self.exact.len() > MAX_EXACT {
                for value in std::mem::take(&mut self.exact) {
                    self.put(value);
                }
            }
        } else {
            self.put(value);
        }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value that a part of all, 0 to 1, lies at or below; none without values.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        // The nearest rank: the smallest value with at least that part at or below it.
        let rank = ((part * self.count as f64).ceil() as u64).clamp(1, self.count);
        if self.blocks.is_empty() {
            let mut sorted = self.exact.clone();
            sorted.sort_unstable();
            return Some(sorted[rank as usize - 1] as f64);
        }
        let mut below = 0;
        for (block, parts) in (self.lowest..).zip(&self.blocks) {
            for (part, &count) in parts.iter().flat_map(|parts| parts.iter()).enumerate() {
                below += u64::from(count);
                if below >= rank {
                    return Some(middle(block, part as u64));
                }
            }
        }
        None
    }

    fn put(&mut self, value: u64) {
        let (block, part) = place(value);
        if self.blocks.is_empty() {
            self.lowest = block;
        }
        if block < self.lowest {
            let missing = (self.lowest - block) as usize;
            self.blocks.splice(0..0, std::iter::repeat_n(None, missing));
            self.lowest = block;
        }
        let index = (block - self.lowest) as usize;
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, || None);
        }
        let parts = self.blocks[index].get_or_insert_with(|| Box::new([0; PARTS as usize]));
        parts[part as usize] = parts[part as usize].saturating_add(1);
    }
}

/// Block and part of a value: block 0 holds 0 to 127 one by one, each further one twice as much.
fn place(value: u64) -> (u32, u64) {
    let bits = u64::BITS - value.leading_zeros();
    let block = bits.saturating_sub(PARTS.trailing_zeros());
    match block {
        0 => (0, value),
        _ => (block, (value >> (block - 1)) - PARTS),
    }
}

fn middle(block: u32, part: u64) -> f64 {
    match block {
        0 => part as f64,
        _ => {
            let width = (1_u64 << (block - 1)) as f64;
            (PARTS + part) as f64 * width + (width - 1.0) / 2.0
        }
    }
}

/// A distribution with its exact moments.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// Its moments.
    pub moments: Moments,
    /// Its percentiles.
    pub histogram: Histogram,
}

impl Distribution {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.moments.add(value);
        self.histogram.add(value);
    }
}

/// Least, greatest, mean and deviation of values, exactly, without keeping them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// How many.
    pub count: u64,
    /// The least; 0 without values.
    pub min: u64,
    /// The greatest.
    pub max: u64,
    sum: u128,
    /// Sum of squares; exact for a billion values of a day in nanoseconds.
    squares: u128,
}

impl Moments {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += u128::from(value);
        let square = u128::from(value) * u128::from(value);
        self.squares = self.squares.saturating_add(square);
    }

    /// The mean; none without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The deviation of a sample, with one degree of freedom less than values; none with fewer
    /// than two.
    pub fn deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let (count, sum) = (self.count as f64, self.sum as f64);
        let variance = (self.squares as f64 - sum * sum / count) / (count - 1.0);
        Some(variance.max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_values_are_exact() {
        let mut values = Histogram::default();
        for value in [30, 10, 20, 50, 40] {
            values.add(value);
        }
        assert_eq!(values.quantile(0.5), Some(30.0));
        assert_eq!(values.quantile(0.99), Some(50.0));
        assert_eq!(values.quantile(0.0), Some(10.0));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn many_values_to_half_a_percent() {
        let mut values = Histogram::default();
        // 1, 1001, 2001 … downwards, so that blocks are added below too.
        for step in (0..1_000_000).rev() {
            values.add(step * 1000 + 1);
        }
        for percent in [1_u64, 10, 50, 90, 99] {
            let part = percent as f64 / 100.0;
            // The nearest rank of percent of a million values is the step before percent * 10000.
            let exact = ((percent * 10_000 - 1) * 1000 + 1) as f64;
            let found = values.quantile(part).expect("there are values");
            assert!((found / exact - 1.0).abs() < 0.005, "{percent} %: {found} for {exact}");
        }
    }

    #[test]
    fn the_largest_number_has_a_place() {
        let mut values = Histogram::default();
        for value in [0, u64::MAX].repeat(MAX_EXACT) {
            values.add(value);
        }
        assert_eq!(values.quantile(0.5), Some(0.0));
        let found = values.quantile(1.0).expect("there are values");
        assert!((found / u64::MAX as f64 - 1.0).abs() < 0.005);
    }

    #[test]
    fn moments_by_hand() {
        let mut moments = Moments::default();
        for value in [2, 4, 4, 4, 5, 5, 7, 9] {
            moments.add(value);
        }
        assert_eq!((moments.min, moments.max, moments.count), (2, 9, 8));
        assert_eq!(moments.mean(), Some(5.0));
        // Squares of differences: 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; 32 / 7.
        let deviation = moments.deviation().expect("there are eight values");
        assert!((deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
