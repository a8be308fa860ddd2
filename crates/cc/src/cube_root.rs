//! The integer cube root that CUBIC's modules need for K.
//!
//! The kernels approximate it (`net/ipv4/tcp_cubic.c`, `cubic_root`: average error 0.2 %, at most
//! 1 %). Here it is exact, rounded down; K, a few seconds, differs by some milliseconds.

/// The largest integer whose cube is at most `a`.
pub(crate) fn cube_root(a: u64) -> u64 {
    let cube = |x: u64| u128::from(x) * u128::from(x) * u128::from(x);
    // At most one off: a 64-bit integer loses its last bits in floating point.
    let mut root = libm::cbrt(a as f64) as u64;
    while cube(root) > u128::from(a) {
        root -= 1;
    }
    while cube(root + 1) <= u128::from(a) {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_by_hand() {
        let roots = [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (999, 9), (1000, 10)];
        for (a, root) in roots {
            assert_eq!(cube_root(a), root, "{a}");
        }
        // 2642245³ = 18446724184312856125 is the largest cube below 2⁶⁴.
        assert_eq!(cube_root(u64::MAX), 2_642_245);
        // 30 segments below the maximum at C = 410/1024: ⌊2⁴⁰/410⌋·30 = 80452070310, between
        // 4316³ = 80397828496 and 4317³ = 80453723013.
        assert_eq!(cube_root(2_681_735_677 * 30), 4316);
    }

    proptest! {
        #[test]
        fn is_the_floor_of_the_root(root in 0u64..2_642_245, beyond: u64) {
            let (cube, next) = (root * root * root, (root + 1) * (root + 1) * (root + 1));
            prop_assert_eq!(cube_root(cube + beyond % (next - cube)), root);
        }
    }
}
