//! Where a monotone function has a value.

/// Halvings: more than a double has bits, between its smallest and its largest exponent too.
const HALVINGS: u32 = 200;

/// The argument above zero at which an increasing function reaches `value`, between `low` and `high`;
/// the nearer end where it lies outside of them.
pub(crate) fn rising(value: f64, mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        // The geometric mean: what is looked for spans many orders of magnitude.
        let middle = libm::sqrt(low) * libm::sqrt(high);
        if f(middle) < value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The same of a decreasing function.
pub(crate) fn falling(value: f64, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    rising(-value, low, high, |at| -f(at))
}
