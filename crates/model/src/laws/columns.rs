//! A law over many points at once.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::thread;

use fairway_resources::in_threads;

use super::{Law, Quantities};
use crate::error::Error;

/// Points that are worth a thread of their own: a millisecond or more of work.
const POINTS_PER_THREAD: usize = 20_000;

/// A law's results at many points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// One column for each result.
    pub values: Vec<Vec<f64>>,
    /// For each point, which of `reasons` it is outside of the law's range for, counted from 1; 0 inside.
    pub outside: Vec<u8>,
    /// Reasons, in the order in which they first come.
    pub reasons: Vec<&'static str>,
}

/// A point with an invalid parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The first such point.
    pub index: usize,
    /// The error there.
    pub error: Error,
}

/// A piece of the columns, which one thread fills.
struct Piece<'a> {
    points: Range<usize>,
    values: Vec<&'a mut [f64]>,
    outside: &'a mut [u8],
}

/// Evaluates a law at `points` points, on as many threads as there are cores. Each of `given` has one
/// number, which is the same for all, or as many as there are points.
pub(super) fn evaluate<L: Law>(given: &[&[f64]], points: usize) -> Result<Columns, Refused> {
    assert_eq!(given.len(), L::PARAMETERS.len(), "a column for each parameter");
    assert!(given.iter().all(|column| column.len() == 1 || column.len() == points));
    let mut columns = Columns {
        values: vec![vec![0.0; points]; L::Value::QUANTITIES.len()],
        outside: vec![0; points],
        reasons: Vec::new(),
    };
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = cores.min(points / POINTS_PER_THREAD).max(1);
    let length = points.div_ceil(threads).max(1);
    let mut pieces = cut(&mut columns, length);
    let found: Vec<_> = if let [piece] = &mut pieces[..] {
        vec![fill::<L>(given, piece)]
    } else {
        in_threads(pieces, |mut piece| fill::<L>(given, &mut piece))
    };
    let reasons = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    name_alike(&mut columns, &reasons, length);
    Ok(columns)
}

fn cut(columns: &mut Columns, length: usize) -> Vec<Piece<'_>> {
    let mut values: Vec<_> = columns.values.iter_mut().map(|c| c.chunks_mut(length)).collect();
    let mut start = 0;
    columns
        .outside
        .chunks_mut(length)
        .map(|outside| {
            let points = start..start + outside.len();
            start = points.end;
            let values = values.iter_mut().filter_map(Iterator::next).collect();
            Piece { points, values, outside }
        })
        .collect()
}

/// Fills a piece; the reasons that it has met.
fn fill<L: Law>(given: &[&[f64]], piece: &mut Piece) -> Result<Vec<&'static str>, Refused> {
    let mut reasons: Vec<&'static str> = Vec::new();
    for (at, index) in piece.points.clone().enumerate() {
        let mut column = given.iter();
        let asked = L::from_numbers(|| {
            column.next().map_or(f64::NAN, |c| if c.len() == 1 { c[0] } else { c[index] })
        });
        let answer = asked.evaluate().map_err(|error| Refused { index, error })?;
        let mut column = piece.values.iter_mut();
        answer.value.numbers(|number| {
            if let Some(column) = column.next() {
                column[at] = number;
            }
        });
        if let Some(reason) = answer.outside {
            piece.outside[at] = number_of(reason, &mut reasons);
        }
    }
    Ok(reasons)
}

/// The number of a reason, counted from 1.
fn number_of(reason: &'static str, reasons: &mut Vec<&'static str>) -> u8 {
    let known = reasons.iter().position(|r| *r == reason).unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    });
    u8::try_from(known + 1).expect("a law has a handful of reasons")
}

/// Renumbers the reasons of each piece by the list of all.
fn name_alike(columns: &mut Columns, reasons: &[Vec<&'static str>], length: usize) {
    for (piece, own) in columns.outside.chunks_mut(length).zip(reasons) {
        let numbers: Vec<u8> =
            own.iter().map(|reason| number_of(reason, &mut columns.reasons)).collect();
        for number in piece.iter_mut().filter(|number| **number != 0) {
            *number = numbers[usize::from(*number) - 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::{MUCH_LOSS, Mathis};

    #[test]
    fn a_number_stands_for_all_points() {
        // sqrt(1.5 / p) = 12.247, 38.730; by 0.1 s.
        let found = evaluate::<Mathis>(&[&[1e-2, 1e-3], &[0.1], &[1.0]], 2).unwrap();
        let rounded = |column: &[f64]| column.iter().map(|v| libm::round(*v)).collect::<Vec<_>>();
        assert_eq!(rounded(&found.values[0]), [12.0, 39.0]);
        assert_eq!(rounded(&found.values[1]), [122.0, 387.0]);
        assert_eq!((found.outside, found.reasons), (vec![0, 0], vec![]));
        assert_eq!(evaluate::<Mathis>(&[&[], &[0.1], &[1.0]], 0).unwrap().outside, []);
    }

    #[test]
    fn many_points_are_those_of_one_thread() {
        let points = 5 * POINTS_PER_THREAD + 7;
        let losses: Vec<f64> =
            (0..points).map(|i| 0.001 + 0.1 * i as f64 / points as f64).collect();
        let found = evaluate::<Mathis>(&[&losses, &[0.1], &[1.0]], points).unwrap();
        assert_eq!(found.reasons, [MUCH_LOSS]);
        for (index, loss) in losses.iter().enumerate() {
            let window = libm::sqrt(1.5 / loss);
            assert!((found.values[0][index] / window - 1.0).abs() < 1e-12, "{index}");
            assert_eq!(found.outside[index], u8::from(*loss > 0.02), "{index}");
        }
    }

    #[test]
    fn the_first_that_makes_no_sense_is_named() {
        let mut losses = vec![0.01; 3 * POINTS_PER_THREAD];
        losses[2 * POINTS_PER_THREAD] = f64::NAN;
        losses[POINTS_PER_THREAD + 1] = 1.0;
        let refused = evaluate::<Mathis>(&[&losses, &[0.1], &[1.0]], losses.len()).unwrap_err();
        assert_eq!((refused.index, refused.error.quantity), (POINTS_PER_THREAD + 1, "loss"));
    }
}
