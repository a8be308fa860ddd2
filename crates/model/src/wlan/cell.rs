//! Uploads and downloads with windows through one access point.
//!
//! A window is always full: each flow's packets are data or acknowledgements on their way, at the
//! access point or at the flow's station. All contenders for the medium are as likely as each other to
//! send the next frame, and the access point sends those of each flow in proportion to how many it has.
//! At the ends of successes that is the jump chain of a closed network of queues that has a product form
//! (Baskett, Chandy, Muntz, Palacios, "Open, closed, and mixed networks of queues with different classes
//! of customers", J. ACM 22(2), 1975). Mean times of successes depend on who contends; by renewal reward,
//! a flow's rate is its packets in a cycle over the mean time of a cycle. Derived here.

use super::chain::{self, ChainState};
use super::dcf::{Backoff, Contention};
use super::integral::{Head, Part, Sums, sums};
use super::success::{Contenders, Rounds};
use super::timing::Times;
use super::tokens::Tokens;
use crate::answer::Answer;
use crate::error::{Error, not_negative, positive};

/// Which way a flow's data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To its station.
    Download,
    /// From its station.
    Upload,
}

/// A flow, between a station of its own and a host behind the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Which way its data go.
    pub direction: Direction,
    /// Packets that are always on their way, as data or as acknowledgements.
    pub window_packets: u32,
}

/// A cell: one access point, and a station for each flow. Queues have room for all windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What accesses take.
    pub times: Times,
    /// Back-off of the access point and of the stations.
    pub backoff: Backoff,
    /// The flows.
    pub flows: Vec<Flow>,
    /// Packets of data for each acknowledgement.
    pub packets_per_ack: u32,
    /// Longest wait for the rest of them: what a window that has fewer waits in every round.
    pub ack_timer_s: f64,
    /// From the access point to the host behind it and back.
    pub wire_rtt_s: f64,
}

/// What the model says of a cell.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Prediction {
    /// Packets of data a second that all flows carry.
    pub packets_per_s: f64,
    /// Downloads alone.
    pub download_packets_per_s: f64,
    /// Uploads alone.
    pub upload_packets_per_s: f64,
    /// Mean time per success in microseconds: a cycle of the renewal process.
    pub success_us: f64,
    /// Share of the successes that are the access point's.
    pub access_point_share: f64,
    /// Probability that a frame collides in all its attempts, and is given up.
    pub given_up: f64,
    /// Of each flow.
    pub flows: Vec<FlowAnswer>,
    /// Attempts and collisions where so many nodes contend, from one on.
    pub contention: Vec<Contention>,
    /// Probability, at successes, that so many stations have something to send, from none on.
    pub active_at_successes: Vec<f64>,
    /// The same at any time.
    pub active_at_any_time: Vec<f64>,
    /// Who contends how often.
    pub occupancy: Vec<Occupancy>,
    /// The states of the chain, if they are few and nothing but access point and stations has packets.
    pub chain: Option<Vec<ChainState>>,
}

/// What the model says of a flow.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct FlowAnswer {
    /// Packets of data a second.
    pub packets_per_s: f64,
    /// Its share of all packets of data.
    pub share: f64,
    /// Round-trip time: of its window, by Little's law.
    pub rtt_s: f64,
    /// Mean of its frames at the access point over all of the access point's, where it has any.
    pub access_point_share: f64,
    /// Share of the states, by their weight, in which its station has something to send.
    pub active: f64,
}

/// All states in which the same nodes have something to send.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Occupancy {
    /// What the access point sends next, if it has a packet.
    #[serde(rename = "access_point")]
    pub head: Option<Head>,
    /// Stations that have acknowledgements.
    pub download_stations: u32,
    /// Stations that have data.
    pub upload_stations: u32,
    /// Probability at successes.
    pub at_successes: f64,
    /// Probability at any time.
    pub at_any_time: f64,
    /// Mean time per success there, in microseconds; the mean wait where nobody contends.
    pub success_us: f64,
}

/// Flows that fit into a cell: stations have association identifiers up to 2007 (IEEE 802.11-2016
/// 9.4.1.8).
const MAX_FLOWS: usize = 2007;
/// The largest window: of 64 KiB packets, more than TCP's scaled window of 1 GiB has (RFC 7323).
const MAX_WINDOW: u32 = 65_536;
/// The longest that a packet is elsewhere than in the cell: a day.
const LONGEST_S: f64 = 86_400.0;
/// Rounds of the fixed point for what waits elsewhere, and when it is found.
const ROUNDS: u32 = 100;
const FOUND: f64 = 1e-10;
/// Frames given up that the model may neglect: with more, a window of Reno is no more than about 100
/// packets by its losses alone (Mathis et al. 1997).
const FEW_GIVEN_UP: f64 = 1e-4;

impl Cell {
    /// What the model says.
    ///
    /// # Errors
    /// [`Error`] for quantities that make no sense: no flows or too many, windows of nothing, times that
    /// are not above zero or not finite.
    pub fn predict(&self) -> Result<Answer<Prediction>, Error> {
        self.check()?;
        let mut rounds = Rounds::new(self.backoff, self.times);
        let (sums, wait_us) = self.balance(&mut rounds);
        let prediction = self.evaluate(&sums, wait_us, &mut rounds);
        if !(prediction.packets_per_s > 0.0 && prediction.packets_per_s.is_finite()) {
            return Err(Error {
                quantity: "packets a second",
                expected: "times and windows that a double can hold",
                found: prediction.packets_per_s,
            });
        }
        let lossy = prediction.given_up > FEW_GIVEN_UP;
        let outside = lossy.then_some("frames are given up often enough that losses matter to TCP");
        Ok(Answer::new(prediction, outside))
    }

    fn check(&self) -> Result<(), Error> {
        self.times.check()?;
        self.backoff.check()?;
        let flows = self.flows.len();
        if flows == 0 || flows > MAX_FLOWS {
            let expected = "from 1 to 2007, as many stations as an access point has";
            return Err(Error { quantity: "flows", expected, found: flows as f64 });
        }
        for flow in &self.flows {
            if flow.window_packets == 0 || flow.window_packets > MAX_WINDOW {
                let found = f64::from(flow.window_packets);
                let expected = "from 1 to 65536";
                return Err(Error { quantity: "window in packets", expected, found });
            }
        }
        positive("packets for each acknowledgement", f64::from(self.packets_per_ack))?;
        for (quantity, found) in [
            ("timer of delayed acknowledgements in seconds", self.ack_timer_s),
            ("round-trip time behind the access point in seconds", self.wire_rtt_s),
        ] {
            not_negative(quantity, found)?;
            if found > LONGEST_S {
                return Err(Error { quantity, expected: "a day at most", found });
            }
        }
        Ok(())
    }

    /// Packets of a flow for each of its acknowledgements: all of its window if that is too small.
    fn packets_per_ack(&self, flow: &Flow) -> u32 {
        self.packets_per_ack.min(flow.window_packets)
    }

    /// How long a flow's packets are neither at the access point nor at the station, in each round.
    fn elsewhere_us(&self, flow: &Flow) -> f64 {
        let waits_for_timer = flow.window_packets < self.packets_per_ack;
        let timer_s = if waits_for_timer { self.ack_timer_s } else { 0.0 };
        (self.wire_rtt_s + timer_s) * 1e6
    }

    /// A flow's tokens. Those of a download are packets, of which a station's success acknowledges
    /// several; those of an upload are acknowledgements, for which its station sends several packets. So a
    /// token is a frame at the access point. An approximation: the station is taken to serve one token
    /// after the other, not several at once or one in several pieces.
    fn part(&self, flow: &Flow, wait_us: f64) -> Part {
        let per_ack = self.packets_per_ack(flow);
        // What is sent together stays together: packets that are left over wait for the next group of them,
        // and leave one of it to wait instead.
        let groups = flow.window_packets / per_ack;
        let is_upload = flow.direction == Direction::Upload;
        let (count, scale) = match flow.direction {
            Direction::Download => (groups * per_ack, f64::from(per_ack)),
            Direction::Upload => (groups, 1.0 / f64::from(per_ack)),
        };
        let elsewhere = scale * self.elsewhere_us(flow) / wait_us;
        Part { tokens: Tokens { count, scale, elsewhere }, is_upload }
    }

    /// The sums over all states, and the mean time until each contender has sent a frame. In the product form
    /// all rates are over that time. Time elsewhere is not, so it is counted in units of the mean, and the
    /// mean depends on it.
    fn balance(&self, rounds: &mut Rounds) -> (Sums, f64) {
        let mut wait_us = rounds.round_us(Contenders { data: 1, ack: 1 });
        for _ in 0..ROUNDS {
            let parts: Vec<Part> = self.flows.iter().map(|flow| self.part(flow, wait_us)).collect();
            let sums = sums(&parts);
            let before = wait_us;
            wait_us = mean_round_us(&sums, rounds);
            let is_found = (wait_us / before - 1.0).abs() < FOUND;
            if is_found || self.flows.iter().all(|flow| self.elsewhere_us(flow) == 0.0) {
                return (sums, wait_us);
            }
        }
        let parts: Vec<Part> = self.flows.iter().map(|flow| self.part(flow, wait_us)).collect();
        (sums(&parts), wait_us)
    }

    fn evaluate(&self, sums: &Sums, wait_us: f64, rounds: &mut Rounds) -> Prediction {
        let (mut all_us, mut successes, mut access_point, mut given_up) = (0.0, 0.0, 0.0, 0.0);
        let most = sums.weights.iter().map(|it| it.downloads + it.uploads).max().unwrap_or(0);
        let mut at_successes = vec![0.0; most as usize + 1];
        let mut at_any_time = at_successes.clone();
        let mut occupancy = Vec::new();
        for it in &sums.weights {
            let contenders = it.contenders();
            let c = f64::from(contenders.all());
            let round_us = if c == 0.0 { wait_us } else { rounds.round_us(contenders) };
            all_us += it.weight * round_us;
            successes += it.weight * c;
            access_point += if it.head.is_none() { 0.0 } else { it.weight };
            given_up += it.weight * c * self.given_up(contenders, rounds);
            let active = (it.downloads + it.uploads) as usize;
            at_successes[active] += it.weight * c;
            at_any_time[active] += it.weight * round_us;
            occupancy.push(Occupancy {
                head: it.head,
                download_stations: it.downloads,
                upload_stations: it.uploads,
                at_successes: it.weight * c,
                at_any_time: it.weight * round_us,
                success_us: round_us / c.max(1.0),
            });
        }
        for it in &mut occupancy {
            it.at_successes /= successes;
            it.at_any_time /= all_us;
        }
        at_successes.iter_mut().for_each(|p| *p /= successes);
        at_any_time.iter_mut().for_each(|p| *p /= all_us);
        let flows = self.flow_answers(sums, all_us);
        let of = |direction| {
            let of = self.flows.iter().zip(&flows).filter(|(flow, _)| flow.direction == direction);
            of.map(|(_, answer)| answer.packets_per_s).sum::<f64>()
        };
        let (download_packets_per_s, upload_packets_per_s) =
            (of(Direction::Download), of(Direction::Upload));
        let is_plain = self.flows.iter().all(|flow| self.elsewhere_us(flow) == 0.0);
        let chain = is_plain.then(|| chain::states(&self.flows, self.packets_per_ack, rounds));
        Prediction {
            packets_per_s: download_packets_per_s + upload_packets_per_s,
            flows,
            download_packets_per_s,
            upload_packets_per_s,
            success_us: all_us / successes,
            access_point_share: access_point / successes,
            contention: rounds.contention().to_vec(),
            occupancy,
            active_at_successes: at_successes,
            active_at_any_time: at_any_time,
            given_up: given_up / successes,
            chain: chain.flatten(),
        }
    }

    /// Probability that a frame collides as often as it may.
    fn given_up(&self, contenders: Contenders, rounds: &Rounds) -> f64 {
        let contention =
            contenders.all().checked_sub(1).and_then(|i| rounds.contention().get(i as usize));
        match (self.backoff.attempts, contention) {
            (Some(attempts), Some(contention)) => {
                libm::pow(contention.collision, f64::from(attempts))
            }
            _ => 0.0,
        }
    }

    /// Packets a second: by how often a station sends the acknowledgement of several, or its packets.
    fn flow_answers(&self, sums: &Sums, all_us: f64) -> Vec<FlowAnswer> {
        let states: f64 = sums.weights.iter().map(|it| it.weight).sum();
        let at_access_point: f64 = sums.at_head.iter().sum();
        let packets_per_s = |(index, flow): (usize, &Flow)| match flow.direction {
            Direction::Download => sums.at_head[index] * 1e6 / all_us,
            Direction::Upload => sums.at_station[index] * 1e6 / all_us,
        };
        let rates: Vec<f64> = self.flows.iter().enumerate().map(packets_per_s).collect();
        let total: f64 = rates.iter().sum();
        let answers = self.flows.iter().zip(&rates).enumerate();
        answers
            .map(|(index, (flow, rate))| FlowAnswer {
                packets_per_s: *rate,
                share: rate / total,
                rtt_s: f64::from(flow.window_packets) / rate,
                access_point_share: sums.at_head[index] / at_access_point,
                active: sums.at_station[index] / states,
            })
            .collect()
    }
}

/// Mean time until each contender has sent a frame, over the states in which anyone contends.
fn mean_round_us(sums: &Sums, rounds: &mut Rounds) -> f64 {
    let (mut states, mut all_us) = (0.0, 0.0);
    for it in &sums.weights {
        let contenders = it.contenders();
        if contenders.all() > 0 {
            states += it.weight;
            all_us += it.weight * rounds.round_us(contenders);
        }
    }
    all_us / states
}
