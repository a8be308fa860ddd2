//! The lower convex hull of points that come in order: what no straight line below all of them
//! can lie above.

/// Vertices that are kept. A hull of delays has tens.
const MAX_VERTICES: usize = 4096;

/// Points of time and delay, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Hull {
    vertices: Vec<(i64, i64)>,
    count: u64,
    sum_x: i128,
    sum_y: i128,
}

impl Hull {
    /// Adds a point. One that comes late counts as if it came with the one before.
    #[inline]
    pub(super) fn add(&mut self, x: i64, y: i64) {
        self.count += 1;
        self.sum_x += i128::from(x);
        self.sum_y += i128::from(y);
        let x = self.vertices.last().map_or(x, |last| last.0.max(x));
        if let Some(last) = self.vertices.last_mut()
            && last.0 == x
        {
            if last.1 <= y {
                return;
            }
            self.vertices.pop();
        }
        while let [.., a, b] = self.vertices[..]
            && turns_down(a, b, (x, y))
        {
            self.vertices.pop();
        }
        self.vertices.push((x, y));
        if self.vertices.len() > MAX_VERTICES {
            self.thin();
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Mean time of the points.
    pub(super) fn mean_x(&self) -> f64 {
        self.sum_x as f64 / self.count.max(1) as f64
    }

    /// Mean height of the points over a line of this slope that touches them from below.
    pub(super) fn mean_height(&self, slope: f64) -> f64 {
        let count = self.count.max(1) as f64;
        self.sum_y as f64 / count - slope * self.mean_x() - self.intercept(slope)
    }

    /// Where a line of this slope that touches the points from below meets time zero.
    pub(super) fn intercept(&self, slope: f64) -> f64 {
        let heights = self.vertices.iter().map(|(x, y)| *y as f64 - slope * *x as f64);
        heights.fold(f64::INFINITY, f64::min)
    }

    /// Slopes of the edges, rising.
    pub(super) fn slopes(&self) -> impl Iterator<Item = f64> {
        self.vertices.windows(2).map(|pair| {
            let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
            (i128::from(next_y) - i128::from(y)) as f64
                / (i128::from(next_x) - i128::from(x)) as f64
        })
    }

    /// Every second vertex inside goes: lines then lie above a few points, by less than the edges
    /// bend there.
    fn thin(&mut self) {
        let last = self.vertices.len() - 1;
        let mut index = 0;
        self.vertices.retain(|_| {
            index += 1;
            index == 1 || index - 1 == last || index % 2 == 0
        });
    }
}

/// Whether `b` lies on or above the line from `a` to `c`.
fn turns_down(a: (i64, i64), b: (i64, i64), c: (i64, i64)) -> bool {
    let step = |from: (i64, i64), to: (i64, i64)| {
        (i128::from(to.0) - i128::from(from.0), i128::from(to.1) - i128::from(from.1))
    };
    let ((ab_x, ab_y), (ac_x, ac_y)) = (step(a, b), step(a, c));
    ab_x * ac_y <= ab_y * ac_x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hull_by_hand() {
        let mut hull = Hull::default();
        for (x, y) in [(0, 5), (1, 9), (2, 3), (3, 8), (4, 4), (4, 3), (6, 7)] {
            hull.add(x, y);
        }
        assert_eq!(hull.vertices, [(0, 5), (2, 3), (4, 3), (6, 7)]);
        assert_eq!(hull.slopes().collect::<Vec<_>>(), [-1.0, 0.0, 2.0]);
        // A line of slope 1 touches at (4, 3).
        assert_eq!(hull.intercept(1.0), -1.0);
        // Mean of y is 39/7, of the line 20/7 - 1.
        assert!((hull.mean_height(1.0) - (39.0 - 20.0 + 7.0) / 7.0).abs() < 1e-12);
    }

    #[test]
    fn no_shape_has_too_many_vertices() {
        let mut hull = Hull::default();
        for x in 0..100_000_i64 {
            hull.add(x, x * x);
        }
        assert!(hull.vertices.len() <= MAX_VERTICES);
        assert_eq!(hull.vertices.first(), Some(&(0, 0)));
        assert_eq!(hull.vertices.last().map(|last| last.0), Some(99_999));
    }
}
