//! From likelihoods to a ranking in words.

use super::candidates::{CANDIDATES, Candidate};
use super::evidence::Evidence;
use super::hypothesis::Hypothesis;
use super::{Identification, Ranked};

/// Log likelihoods are divided by this: the errors of a wrong algorithm come in long runs, and count
/// as if there were so many fewer. 5 to 15 give the confidences that lose least on the tuning traces
/// (`benches/identify`).
const TEMPERATURE: f64 = 10.0;
/// Beside the first are those whose confidence is at least this share of its own.
const ALIKE: f64 = 0.5;
/// An algorithm explains a capture if it matches the window in at least this share of its rounds, or
/// its mean log likelihood is better than [`EXPLAINING_SCORE`].
const EXPLAINING_SHARE: f64 = 0.5;
const EXPLAINING_SCORE: f64 = -1.5;
/// Rounds from which on something can be said.
const FEW_ROUNDS: u32 = 20;
/// Without marks DCTCP is Reno (RFC 8257 section 3.5), and whoever configures it has marks: log of
/// how much less likely it is.
const NO_MARKS: f64 = -2.0;

/// Evidence beside the likelihoods.
pub struct Seen {
    /// Whether the receiver has echoed marks.
    pub has_ece: bool,
    /// Caveats.
    pub caveats: Vec<String>,
}

/// Nothing could be compared.
pub fn nothing(caveats: Vec<String>) -> Identification {
    Identification {
        ranked: Vec::new(),
        alike: Vec::new(),
        is_explained: false,
        rounds: 0,
        backoffs: 0,
        words: format!("undecided: {}", caveats.join("; ")),
        caveats,
    }
}

/// Ranks the candidates by `totals`, the log likelihoods of all rounds.
pub fn rank(hypotheses: &[Hypothesis], totals: &[f64], seen: Seen) -> Identification {
    let mut caveats = seen.caveats;
    let Some(first) = hypotheses.first() else {
        caveats.push("nothing was acknowledged".to_owned());
        return nothing(caveats);
    };
    let (rounds, backoffs) = (first.evidence.rounds(), first.evidence.episodes);
    if rounds == 0 {
        caveats.push(
            "in no round trip did the congestion window alone hold the sender back".to_owned(),
        );
        return nothing(caveats);
    }
    let mut scored = score(hypotheses, totals, seen.has_ece);
    // Stable: ties stay in the order of the list.
    scored.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let best = scored[0].weight;
    let sum: f64 = scored.iter().map(|one| libm::exp(one.weight - best)).sum();
    let ranked: Vec<Ranked> = scored
        .iter()
        .map(|one| Ranked {
            algorithm: one.candidate.name,
            confidence: libm::exp(one.weight - best) / sum,
            score: one.total / f64::from(rounds),
            matched: one.matched,
        })
        .collect();
    let least = ALIKE * ranked[0].confidence;
    let alike = ranked[1..].iter().filter(|one| one.confidence >= least);
    let alike: Vec<_> = alike.map(|one| one.algorithm).collect();
    let is_explained = ranked[0].matched >= EXPLAINING_SHARE || ranked[0].score >= EXPLAINING_SCORE;
    if rounds < FEW_ROUNDS {
        caveats.push(format!("only {rounds} round trips show the window"));
    }
    if backoffs == 0 {
        caveats.push("no back-off was seen: growth alone is judged".to_owned());
    }
    let words = words(&ranked, &alike, is_explained, rounds, backoffs);
    Identification { ranked, alike, is_explained, rounds, backoffs, caveats, words }
}

struct Scored {
    candidate: &'static Candidate,
    total: f64,
    /// Logarithm of the confidence, up to a constant.
    weight: f64,
    matched: f64,
}

fn score(hypotheses: &[Hypothesis], totals: &[f64], has_ece: bool) -> Vec<Scored> {
    let mut rest = hypotheses;
    let mut scored = Vec::new();
    for (candidate, total) in CANDIDATES.iter().zip(totals) {
        let (seeds, others) = rest.split_at((candidate.seeds as usize).min(rest.len()));
        rest = others;
        let random: f64 = seeds.iter().map(Hypothesis::random_log_likelihood).sum();
        let matched = seeds.iter().map(|seed| seed.evidence.matched()).fold(0.0, f64::max);
        let total = total + random;
        let unmarked = if candidate.needs_marks && !has_ece { NO_MARKS } else { 0.0 };
        let weight = total / TEMPERATURE + candidate.prior + unmarked;
        scored.push(Scored { candidate, total, weight, matched });
    }
    scored
}

fn words(
    ranked: &[Ranked],
    alike: &[&str],
    is_explained: bool,
    rounds: u32,
    backoffs: u32,
) -> String {
    let first = &ranked[0];
    let basis = format!(
        "its window is the one seen in {:.0} % of {rounds} round trips, {backoffs} of them after a \
         back-off",
        100.0 * first.matched
    );
    if !is_explained {
        return format!(
            "none of {} algorithms explains it; {} is least bad: {basis}",
            ranked.len(),
            first.algorithm
        );
    }
    if alike.is_empty() {
        let next = ranked.get(1).map_or(String::new(), |next| {
            format!("; that of {}, the next, in {:.0} %", next.algorithm, 100.0 * next.matched)
        });
        return format!(
            "{} ({:.0} % sure): {basis}{next}",
            first.algorithm,
            100.0 * first.confidence
        );
    }
    format!("{} or {}, which cannot be told apart here: {basis}", first.algorithm, alike.join(", "))
}

impl Evidence {
    fn rounds(&self) -> u32 {
        self.rounds + self.episodes
    }

    fn matched(&self) -> f64 {
        f64::from(self.matched) / f64::from(self.rounds().max(1))
    }
}
