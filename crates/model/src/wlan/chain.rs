//! The states of the chain one by one, where they are few.

use super::cell::{Direction, Flow};
use super::success::{Contenders, Rounds};

/// A state of the embedded chain.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ChainState {
    /// Of each flow's tokens, those at its station: acknowledgements of a download, data of an upload.
    /// Where acknowledgements are delayed, a download's tokens are packets and an upload's groups of them.
    pub at_station: Vec<u32>,
    /// Weight in the product form, on the scale of the state with all tokens at the access point.
    pub weight: f64,
    /// Nodes that contend.
    pub contenders: u32,
    /// Mean time per success in microseconds.
    pub success_us: f64,
    /// Probability at successes.
    pub at_successes: f64,
}

/// States that are listed at most.
const MOST_STATES: usize = 4096;

/// All states, with their probabilities; none if they are too many.
pub(super) fn states(
    flows: &[Flow],
    packets_per_ack: u32,
    rounds: &mut Rounds,
) -> Option<Vec<ChainState>> {
    let tokens = whole_tokens(flows, packets_per_ack)?;
    let mut states = Vec::new();
    let mut at_station = vec![0; flows.len()];
    loop {
        states.push(state(flows, &tokens, &at_station, rounds));
        // The next one: a number whose digits go up to each flow's tokens.
        let Some(next) = (0..flows.len()).rev().find(|i| at_station[*i] < tokens[*i].count) else {
            break;
        };
        at_station[next] += 1;
        at_station[next + 1..].fill(0);
    }
    let all: f64 = states.iter().map(|state| state.weight * f64::from(state.contenders)).sum();
    let first = states.first().map_or(1.0, |state| state.weight);
    for state in &mut states {
        state.at_successes = state.weight * f64::from(state.contenders) / all;
        state.weight /= first;
    }
    Some(states)
}

/// A flow's tokens, and how a token's weight changes when it is at the station.
struct Whole {
    count: u32,
    at_station: f64,
}

fn whole_tokens(flows: &[Flow], packets_per_ack: u32) -> Option<Vec<Whole>> {
    let mut states = 1_usize;
    let mut tokens = Vec::new();
    for flow in flows {
        let per_ack = packets_per_ack.min(flow.window_packets);
        let groups = flow.window_packets / per_ack;
        let (count, at_station) = match flow.direction {
            Direction::Download => (groups * per_ack, 1.0 / f64::from(per_ack)),
            Direction::Upload => (groups, f64::from(per_ack)),
        };
        states = states.checked_mul(count as usize + 1).filter(|states| *states <= MOST_STATES)?;
        tokens.push(Whole { count, at_station });
    }
    Some(tokens)
}

fn state(flows: &[Flow], tokens: &[Whole], at_station: &[u32], rounds: &mut Rounds) -> ChainState {
    let (mut log_weight, mut at_access_point, mut of_downloads) = (0.0, 0.0, 0.0);
    let mut active = Contenders::default();
    for ((flow, tokens), at_station) in flows.iter().zip(tokens).zip(at_station) {
        let here = f64::from(tokens.count - at_station);
        at_access_point += here;
        log_weight +=
            f64::from(*at_station) * libm::log(tokens.at_station) - libm::lgamma(here + 1.0);
        let active_now = u32::from(*at_station > 0);
        match flow.direction {
            Direction::Download => {
                of_downloads += here;
                active.ack += active_now;
            }
            Direction::Upload => active.data += active_now,
        }
    }
    let round_us = if at_access_point == 0.0 {
        rounds.round_us(active)
    } else {
        let data = of_downloads / at_access_point;
        let with_data = Contenders { data: active.data + 1, ..active };
        let with_ack = Contenders { ack: active.ack + 1, ..active };
        data * rounds.round_us(with_data) + (1.0 - data) * rounds.round_us(with_ack)
    };
    let contenders = active.all() + u32::from(at_access_point > 0.0);
    ChainState {
        at_station: at_station.to_vec(),
        weight: libm::exp(log_weight + libm::lgamma(at_access_point + 1.0)),
        contenders,
        success_us: round_us / f64::from(contenders.max(1)),
        at_successes: 0.0,
    }
}
