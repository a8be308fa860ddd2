//! Which delivery queues may run ahead of all others, and how far.
//!
//! What arrives at the end of a link sends something over another link, and that takes at least
//! this one's delay. So until that is over nothing new can come between two packets that arrive
//! at one place, and a delivery queue whose packets meet what those of no other such delivery queue
//! meet can be worked off at a stretch: up to the delay, and up to whatever else is to happen
//! (Chandy and Misra, *Distributed simulation*, IEEE Transactions on Software Engineering 5(5),
//! 1979).

use fairway_units::Duration;

use super::exits::Exit;
use fairway_spec::{Experiment, Flow, Link, Source};

/// Delivery queues that may run ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookahead {
    /// Those delivery queues.
    pub(crate) queues: Vec<u32>,
    /// By less than how much each delivery queue may: no time for those that may not.
    pub(crate) by: Vec<Duration>,
}

/// What is known of a network.
pub(super) struct NetworkView<'a> {
    /// The links of each route.
    pub(super) routes: &'a [Vec<u32>],
    /// How many of the routes belong to each path.
    pub(super) counts: &'a [u32],
    /// How many of the paths come in pairs, there and back; the others have no path back.
    pub(super) paired: usize,
    /// Where packets go that each link has taken.
    pub(super) exits: &'a [Exit],
    /// What each link is a part of: itself, or the medium that it shares.
    pub(super) parts: &'a [u32],
    /// The shortest time that a packet takes over each link.
    pub(super) least: &'a [Duration],
    pub(super) shared_queues: usize,
}

impl Lookahead {
    /// What of it holds in an experiment: nothing where what happens to one connection is seen by
    /// others at once, nor where all is to be in the order of time. The delivery queues are the
    /// same then, so that events at the same time are in the same order.
    pub(crate) fn within(&self, experiment: &Experiment, captures: bool) -> Self {
        let mut ahead = self.clone();
        if captures || !happens_apart(experiment) {
            ahead.by.fill(Duration::ZERO);
        }
        ahead
    }
}

/// Whether what happens at one place is seen at others only over links, and not all is to be in the
/// order of time.
pub(crate) fn happens_apart(experiment: &Experiment) -> bool {
    let is_alone = |flow: &Flow| {
        let is_driven = flow.application.is_some() || flow.source == Source::Driven;
        // A user's algorithms may know of each other.
        let is_own = experiment.catalogue.is_foreign(&flow.cc.name);
        // Ends that both send keep one account of what is done.
        !is_driven && !is_own && !flow.both_ways && flow.reading.is_none()
    };
    // Directions that draw from one sequence see each other's packets.
    let replays = |link: &Link| link.replayed_loss().is_some();
    let replays = experiment.topology.shape.links().into_iter().any(replays);
    let in_order = experiment.measure.losses || replays;
    !in_order && experiment.applications.is_empty() && experiment.flows.iter().all(is_alone)
}

impl NetworkView<'_> {
    /// At most `count` delivery queues that meet nothing in common.
    pub(super) fn lookahead(&self, count: usize) -> Lookahead {
        let meetings = self.meetings();
        let places = self.exits.len() + self.counts.len();
        let mut least = vec![Duration::MAX; places];
        for meeting in &meetings {
            let least = &mut least[meeting.place as usize];
            *least = meeting.least.min(*least);
        }
        let mut met = vec![false; places];
        let mut ahead = Lookahead {
            queues: Vec::new(),
            by: vec![Duration::ZERO; self.shared_queues + self.exits.len()],
        };
        for of_row in meetings.chunk_by(|a, b| a.queue == b.queue) {
            let by = of_row.iter().map(|meeting| least[meeting.place as usize]).min();
            let by = by.unwrap_or_default();
            let is_apart = of_row.iter().all(|meeting| !met[meeting.place as usize]);
            if ahead.queues.len() == count || by == Duration::ZERO || !is_apart {
                continue;
            }
            of_row.iter().for_each(|meeting| met[meeting.place as usize] = true);
            ahead.queues.push(of_row[0].queue);
            ahead.by[of_row[0].queue as usize] = by;
        }
        ahead
    }

    /// What the packets of each delivery queue meet.
    fn meetings(&self) -> Vec<Meeting> {
        let mut first_route = Vec::with_capacity(self.counts.len());
        let mut before = 0;
        for count in self.counts {
            first_route.push(before);
            before += *count as usize;
        }
        let routes_of = |path: usize| {
            let first = first_route[path];
            &self.routes[first..first + self.counts[path] as usize]
        };
        let mut meetings = Vec::new();
        for path in 0..self.counts.len() {
            // The end of a path, and where its host sends packets back.
            let mut at_end = vec![(self.exits.len() + path) as u32];
            if path < self.paired {
                at_end.extend(routes_of(path ^ 1).iter().map(|back| self.parts[back[0] as usize]));
            }
            for route in routes_of(path) {
                for (at, link) in route.iter().map(|link| *link as usize).enumerate() {
                    let next = route.get(at + 1).map(|next| [self.parts[*next as usize]]);
                    let places = next.as_ref().map_or(&at_end[..], |next| next);
                    let own = self.shared_queues + link;
                    let queues = match self.exits[link] {
                        Exit::Express | Exit::Away => [None, None],
                        Exit::Row => [Some(own as u32), None],
                        Exit::Shared(queue) => [Some(own as u32), Some(queue)],
                    };
                    for queue in queues.into_iter().flatten() {
                        let least = self.least[link];
                        let meeting = |place: &u32| Meeting { queue, place: *place, least };
                        meetings.extend(places.iter().map(meeting));
                    }
                }
            }
        }
        meetings.sort_unstable();
        meetings.dedup();
        meetings
    }
}

/// Packets of a delivery queue come to a place: a link that they go on to, or the end of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Meeting {
    queue: u32,
    place: u32,
    /// The shortest time that they take over the link before it.
    least: Duration,
}

#[cfg(test)]
mod tests {
    use super::super::exits::{exits, express_links};
    use super::super::regions::Regions;
    use super::*;

    /// The lookahead of connections whose paths come in pairs, over links of these delays.
    fn lookahead(paths: &[Vec<u32>], millis: &[u64], count: usize) -> (Lookahead, usize) {
        let delays: Vec<Duration> = millis.iter().map(|ms| Duration::from_millis(*ms)).collect();
        let express = express_links(paths, delays.len());
        let (exits, shared_queues) = exits(paths, &express, &delays, &Regions::one(delays.len()));
        let plan = NetworkView {
            routes: paths,
            counts: &vec![1; paths.len()],
            paired: paths.len(),
            exits: &exits,
            parts: &(0..delays.len() as u32).collect::<Vec<_>>(),
            least: &delays,
            shared_queues,
        };
        (plan.lookahead(count), shared_queues)
    }

    #[test]
    fn the_four_rows_of_a_dumbbell_run_ahead_by_the_delay_of_their_links() {
        // Links 0, 1 shared; 2, 3 of source 0; 4, 5 of sink 0; 6, 7 of source 1; 8, 9 of sink 1.
        let paths = [[2, 0, 4], [5, 1, 3], [6, 0, 8], [9, 1, 7]].map(Vec::from);
        let (ahead, shared) = lookahead(&paths, &[48, 48, 1, 1, 1, 1, 1, 1, 1, 1], 8);
        assert_eq!((ahead.queues.as_slice(), shared), (&[0, 1, 2, 3][..], 4));
        let by: Vec<u64> = ahead.by.iter().map(|by| by.as_millis()).collect();
        assert_eq!(by, [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        // With room for fewer, the first.
        assert_eq!(lookahead(&paths, &[48, 48, 1, 1, 1, 1, 1, 1, 1, 1], 3).0.queues, [0, 1, 2]);
    }

    #[test]
    fn of_rows_that_lead_to_one_link_one_runs_ahead_by_the_shortest_delay() {
        // The second source is further away: its packets come in a delivery queue of their own.
        let paths = [[2, 0, 4], [5, 1, 3], [6, 0, 8], [9, 1, 7]].map(Vec::from);
        let (ahead, shared) = lookahead(&paths, &[48, 48, 7, 7, 1, 1, 2, 2, 1, 1], 8);
        let queue = |link: usize| shared + link;
        assert!(
            ahead.queues.contains(&(queue(2) as u32)) && !ahead.queues.contains(&(queue(6) as u32))
        );
        assert_eq!(ahead.by[queue(2)], Duration::from_millis(2));
        assert_eq!(ahead.by[queue(6)], Duration::ZERO);
    }

    #[test]
    fn hosts_at_one_router_hold_back_what_passes_it() {
        // Connection 0 crosses links 0 and 1, connection 1 enters at link 1, at whose beginning its
        // source stands: what comes to that source, over link 3, sends into what delivery queue 0
        // leads to.
        let paths = [vec![0, 1], vec![2, 3], vec![1], vec![2]];
        let (ahead, shared) = lookahead(&paths, &[10, 10, 10, 10], 8);
        let queue = |link: u32| shared as u32 + link;
        let meets = |a: u32, b: u32| ahead.queues.contains(&a) && ahead.queues.contains(&b);
        assert!(!meets(queue(0), queue(2)), "{ahead:?}");
    }

    #[test]
    fn nothing_runs_ahead_of_what_may_come_at_once() {
        let paths = [vec![0], vec![1]];
        assert_eq!(lookahead(&paths, &[0, 0], 8).0.queues, Vec::<u32>::new());
        let (ahead, _) = lookahead(&paths, &[3, 4], 8);
        assert_eq!(ahead.queues.len(), 2);
    }
}
