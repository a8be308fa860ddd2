//! MRG32k3a, the random number generator of ns-3, in whole numbers.
//!
//! Two recurrences of order three are drawn from and subtracted (P. L'Ecuyer, *Good parameters and
//! implementations for combined multiple recursive random number generators*, Operations Research
//! 47(1), 1999, Figure I). The period is cut into streams of 2^127 steps, and these into substreams
//! of 2^76 (P. L'Ecuyer, R. Simard, E. J. Chen, W. D. Kelton, *An object-oriented random-number
//! package with many long streams and substreams*, Operations Research 50(6), 2002, section 2).

/// Modulus of the first component (L'Ecuyer 1999, m1 = 2^32 − 209).
pub(super) const M1: u64 = 4_294_967_087;
/// Modulus of the second component (m2 = 2^32 − 22853).
pub(super) const M2: u64 = 4_294_944_443;
/// Coefficients: x[n] = 1403580 x[n−2] − 810728 x[n−3], and y[n] = 527612 y[n−1] − 1370589 y[n−3].
const A12: u64 = 1_403_580;
const A13_NEGATED: u64 = 810_728;
const A21: u64 = 527_612;
const A23_NEGATED: u64 = 1_370_589;
/// A draw is the combined integer times this (`rng-stream.cc`, `norm`).
const NORM: f64 = 1.0 / (M1 as f64 + 1.0);
/// Steps between streams and between substreams, as powers of two (L'Ecuyer et al. 2002).
const STREAM_STEPS: u32 = 127;
const SUBSTREAM_STEPS: u32 = 76;
/// Streams that a program numbers itself have this added (`random-variable-stream.cc`, `SetStream`).
const FIRST_NUMBERED_STREAM: u64 = 1 << 63;

type Matrix = [[u64; 3]; 3];

/// One step of each component: (s[n−3], s[n−2], s[n−1]) becomes (s[n−2], s[n−1], s[n]).
const STEP_1: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - A13_NEGATED, A12, 0]];
const STEP_2: Matrix = [[0, 1, 0], [0, 0, 1], [M2 - A23_NEGATED, 0, A21]];

/// The generator.
#[derive(Clone, Debug)]
pub(super) struct Mrg32k3a {
    /// x[n−3], x[n−2], x[n−1].
    x: [u64; 3],
    /// The same of y.
    y: [u64; 3],
}

impl Mrg32k3a {
    /// As ns-3 sets up a random variable (`rng-stream.cc`, the constructor of `RngStream`): `seed` is
    /// that of `RngSeedManager`, from 1 to m2 − 1; `run` its run; `stream` what the program has given
    /// to `SetStream`.
    pub(super) fn new(seed: u32, run: u64, stream: u64) -> Self {
        let stream = FIRST_NUMBERED_STREAM | stream;
        let jump = |step: &Matrix, modulus: u64| {
            let state = [u64::from(seed); 3];
            let state = apply(&power(step, stream, STREAM_STEPS, modulus), &state, modulus);
            apply(&power(step, run, SUBSTREAM_STEPS, modulus), &state, modulus)
        };
        Mrg32k3a { x: jump(&STEP_1, M1), y: jump(&STEP_2, M2) }
    }

    /// The next number, above 0 and below 1 (`RngStream::RandU01`).
    pub(super) fn unit(&mut self) -> f64 {
        let [x3, x2, x1] = self.x;
        let [y3, y2, y1] = self.y;
        let x = (A12 * x2 + (M1 - A13_NEGATED) * x3 % M1) % M1;
        let y = (A21 * y1 + (M2 - A23_NEGATED) * y3 % M2) % M2;
        self.x = [x2, x1, x];
        self.y = [y2, y1, y];
        let combined = if x > y { x - y } else { x + M1 - y };
        combined as f64 * NORM
    }
}

/// `matrix` to the power of `count` · 2^`doublings`.
fn power(matrix: &Matrix, mut count: u64, doublings: u32, modulus: u64) -> Matrix {
    let mut square = *matrix;
    for _ in 0..doublings {
        square = product(&square, &square, modulus);
    }
    let mut result = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    while count > 0 {
        if count & 1 == 1 {
            result = product(&square, &result, modulus);
        }
        square = product(&square, &square, modulus);
        count >>= 1;
    }
    result
}

fn product(a: &Matrix, b: &Matrix, modulus: u64) -> Matrix {
    let column = |j: usize| apply(a, &[b[0][j], b[1][j], b[2][j]], modulus);
    let columns = [column(0), column(1), column(2)];
    [0, 1, 2].map(|i| [columns[0][i], columns[1][i], columns[2][i]])
}

/// Entries are below 2^32, so each product fits.
fn apply(matrix: &Matrix, vector: &[u64; 3], modulus: u64) -> [u64; 3] {
    let term = |a: u64, b: u64| a * b % modulus;
    [0, 1, 2].map(|i| {
        let row: &[u64; 3] = &matrix[i];
        (term(row[0], vector[0]) + term(row[1], vector[1]) + term(row[2], vector[2])) % modulus
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First states, and first draws, of ns-3.29 with seed 1 and stream 50 in runs 0, 1 and 2.
    #[test]
    fn begins_where_ns3_does() {
        let expected: [([u64; 3], [u64; 3], f64); 3] = [
            (
                [1_961_174_584, 1_219_160_962, 2_407_058_027],
                [3_504_532_615, 2_139_397_839, 2_075_924_706],
                0.129_115_673_214_211_14,
            ),
            (
                [3_279_226_084, 1_647_008_504, 4_192_081_390],
                [2_021_140_269, 4_060_494_385, 1_283_720_922],
                0.460_392_457_377_545_36,
            ),
            (
                [3_554_402_458, 2_267_368_329, 2_801_364_198],
                [361_267_853, 1_336_571_093, 334_623_688],
                0.463_674_427_812_053_15,
            ),
        ];
        for (run, (x, y, first)) in (0..).zip(expected) {
            let mut draws = Mrg32k3a::new(1, run, 50);
            assert_eq!((draws.x, draws.y), (x, y), "run {run}");
            assert_eq!(draws.unit().to_bits(), first.to_bits(), "run {run}");
        }
    }

    #[test]
    fn draws_as_ns3_does() {
        let mut draws = Mrg32k3a::new(1, 0, 50);
        let first: [f64; 10] = std::array::from_fn(|_| draws.unit());
        let expected = [
            0.129_115_673_214_211_14,
            0.158_009_809_410_674_6,
            0.367_143_928_158_548,
            0.621_636_934_415_549_7,
            0.916_526_933_581_941_4,
            0.021_019_028_353_495_037,
            0.932_693_312_643_144_6,
            0.132_701_861_113_772_52,
            0.318_606_924_561_374,
            0.361_523_651_796_607_2,
        ];
        assert_eq!(first, expected);
        // Of 200,000 draws of ns-3.29, these are below 10⁻⁴.
        let mut draws = Mrg32k3a::new(1, 0, 50);
        let low = (1..=200_000).filter(|_| draws.unit() < 1e-4);
        let expected = [
            6018, 9752, 31898, 38754, 50661, 58645, 76197, 102_062, 103_320, 109_084, 128_012,
            130_518, 137_012, 145_052, 156_191, 165_488, 172_366, 197_171,
        ];
        assert_eq!(low.collect::<Vec<u32>>(), expected);
    }

    #[test]
    fn a_jump_is_as_many_steps() {
        // 5 · 2^3 steps, one by one.
        let by_steps = (0..40).fold([1, 2, 3], |state, _| apply(&STEP_1, &state, M1));
        assert_eq!(apply(&power(&STEP_1, 5, 3, M1), &[1, 2, 3], M1), by_steps);
    }
}
