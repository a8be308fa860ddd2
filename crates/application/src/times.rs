//! How long the things took that an application did one after the other.

use fairway_schema::quantile;
use fairway_units::{Duration, Time};

/// Things done: when each was, and how long it took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    done: Vec<(Time, Duration)>,
}

impl Times {
    /// Something that began then is done now.
    pub(crate) fn note(&mut self, began: Time, now: Time) {
        self.done.push((now, now.since(began)));
    }

    /// How much was done in all.
    pub(crate) fn count(&self) -> u64 {
        self.done.len() as u64
    }

    /// Of what was done in a measuring window: how much, mean, median and the 95th and 99th of a
    /// hundred, in seconds, under these names.
    pub(crate) fn figures(
        &self,
        [from, to]: [Time; 2],
        names: [&'static str; 5],
    ) -> Vec<(&'static str, Option<f64>)> {
        let inside = self.done.iter().filter(|(at, _)| (from..=to).contains(at));
        let mut took: Vec<f64> = inside.map(|(_, took)| took.as_secs_f64()).collect();
        took.sort_unstable_by(f64::total_cmp);
        let count = took.len() as f64;
        let mean = (!took.is_empty()).then(|| took.iter().sum::<f64>() / count);
        let quantiles = [50, 95, 99].map(|percent| quantile(&took, percent));
        let values = [Some(count), mean, quantiles[0], quantiles[1], quantiles[2]];
        names.into_iter().zip(values).collect()
    }
}
