//! The algorithms that are asked.

use fairway_cc::{CongestionControl, Init, Selection, Variant, create};
use fairway_units::Time;

use super::hypothesis::Hypothesis;

/// One algorithm that is asked.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its name in experiment files.
    pub name: &'static str,
    /// How many of it are driven, with other seeds: those that draw random numbers.
    pub seeds: u64,
    /// Logarithm of how likely it is before anything is seen, up to a constant.
    pub prior: f64,
    /// Parameters that differ from the defaults.
    pub params: &'static [(&'static str, f64)],
    /// Whether it reduces its window by itself, at random.
    pub backs_off_at_random: bool,
    /// Whether it says itself what window an episode ends with (Linux `CA_EVENT_COMPLETE_CWR`).
    pub ends_by_itself: bool,
    /// Whether it takes marks to show.
    pub needs_marks: bool,
}

const fn of(name: &'static str, prior: f64) -> Candidate {
    Candidate {
        name,
        seeds: 1,
        prior,
        params: &[],
        backs_off_at_random: false,
        ends_by_itself: false,
        needs_marks: false,
    }
}

/// Those that the kernel has, in the order in which ties are broken: by what hosts run.
pub const CANDIDATES: &[Candidate] = &[
    of("cubic", 0.0),
    Candidate { seeds: 12, ..of("bbr", 0.0) },
    of("reno", 0.0),
    Candidate { needs_marks: true, ..of("dctcp", -0.2) },
    of("htcp", -0.2),
    of("bic", -0.2),
    Candidate { ends_by_itself: true, ..of("westwood+", -0.2) },
    of("vegas", -0.2),
    of("illinois", -0.2),
    of("yeah", -0.2),
    of("scalable", -0.2),
    of("veno", -0.2),
    of("hybla", -0.2),
    of("highspeed", -0.2),
    of("nv", -0.2),
    // It backs off by itself at random: what it does then is looked at apart.
    Candidate { params: &[("backoff_factor", 0.0)], backs_off_at_random: true, ..of("cdg", -0.2) },
    of("tcp-lp", -0.2),
];

impl Candidate {
    /// Its hypotheses: as many as it has seeds.
    pub fn hypotheses(&self, init: &Init, now: Time) -> Vec<Hypothesis> {
        let params = self.params.iter().map(|(name, value)| ((*name).to_owned(), *value));
        let selection =
            Selection { name: self.name.to_owned(), variant: None, params: params.collect() };
        (0..self.seeds)
            .filter_map(|seed| {
                let init = Init { seed, ..init.clone() };
                create(&selection, Variant::Linux6_1, &init).ok()
            })
            .map(|cc| Hypothesis::new(cc, self.sampler(init), self.ends_by_itself, init.mss, now))
            .collect()
    }

    /// The algorithm as it is, if it backs off at random.
    fn sampler(&self, init: &Init) -> Option<Box<dyn CongestionControl>> {
        if !self.backs_off_at_random {
            return None;
        }
        let name = self.name.to_owned();
        let selection = Selection { name, variant: None, params: Vec::new() };
        create(&selection, Variant::Linux6_1, init).ok()
    }
}
