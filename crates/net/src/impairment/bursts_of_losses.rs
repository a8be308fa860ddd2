//! For tests: how losses come in runs.

/// Losses in a row, counted.
pub(super) struct Runs {
    packets: u32,
    lost: u32,
    /// How many runs of each length.
    lengths: Vec<u32>,
}

/// Watch `packets` packets.
pub(super) fn runs(packets: u32, mut loses: impl FnMut() -> bool) -> Runs {
    let mut seen = Runs { packets, lost: 0, lengths: vec![0] };
    let mut length = 0;
    for _ in 0..packets {
        if loses() {
            seen.lost += 1;
            length += 1;
        } else if length > 0 {
            seen.end(length);
            length = 0;
        }
    }
    seen
}

impl Runs {
    fn end(&mut self, length: usize) {
        if self.lengths.len() <= length {
            self.lengths.resize(length + 1, 0);
        }
        self.lengths[length] += 1;
    }

    fn count(&self) -> f64 {
        f64::from(self.lengths.iter().sum::<u32>())
    }

    pub(super) fn loss(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.packets)
    }

    pub(super) fn mean_length(&self) -> f64 {
        let sum: f64 = self.lengths.iter().zip(0u32..).map(|(n, k)| f64::from(*n * k)).sum();
        sum / self.count()
    }

    /// Runs of length 1, 2 … have these shares, each within four standard errors.
    pub(super) fn assert_lengths(&self, shares: &[f64]) {
        for (share, k) in shares.iter().zip(1..) {
            let seen = f64::from(self.lengths.get(k).copied().unwrap_or(0)) / self.count();
            let error = (share * (1.0 - share) / self.count()).sqrt();
            assert!((seen - share).abs() <= 4.0 * error, "length {k}: {seen}, expected {share}");
        }
    }
}
