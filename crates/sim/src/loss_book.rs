//! The list of losses while a run goes on.

use fairway_trace::Losses;

use crate::traced::Traced;

/// What did not arrive, and whose it was.
pub(crate) struct LossBook {
    pub(crate) losses: Losses,
    /// The row of results of each way, as packets know it.
    pub(crate) rows: Vec<u32>,
}

impl LossBook {
    pub(crate) fn new(connections: usize, traced: &[Traced]) -> Self {
        let mut rows = vec![0; 2 * connections + traced.len()];
        for (row, of) in traced.iter().enumerate() {
            let way = match *of {
                Traced::Data(i, way) => 2 * i + way as usize,
                Traced::Datagrams(i) => 2 * connections + i,
            };
            rows[way] = row as u32;
        }
        LossBook { losses: Losses::default(), rows }
    }
}
