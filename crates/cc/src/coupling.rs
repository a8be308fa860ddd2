//! Shared state of the connections of one application, for coupled algorithms: each connection
//! writes its own entry and reads all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The entry of one connection.
#[derive(Debug, Default)]
struct Entry {
    cwnd: AtomicU64,
    srtt_nanos: AtomicU64,
    /// Bytes acknowledged between the last two losses, and since the last.
    between_losses: AtomicU64,
    since_loss: AtomicU64,
}

/// The connections of one application. Simulations are single-threaded; the atomics allow an
/// algorithm to be moved to another thread before it starts.
#[derive(Debug)]
pub struct Coupling {
    entries: Vec<Entry>,
}

impl Coupling {
    /// Members of a coupling of `connections` connections.
    pub fn members(connections: usize) -> Vec<Member> {
        let coupling =
            Arc::new(Coupling { entries: (0..connections).map(|_| Entry::default()).collect() });
        (0..connections).map(|index| Member { coupling: Arc::clone(&coupling), index }).collect()
    }
}

/// One connection's place in its [`Coupling`].
#[derive(Clone, Debug)]
pub struct Member {
    coupling: Arc<Coupling>,
    index: usize,
}

/// Report of a connection to the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subflow {
    /// Whether this is the reading connection.
    pub own: bool,
    /// Congestion window in segments.
    pub cwnd: f64,
    /// Smoothed round-trip time in seconds.
    pub srtt_s: f64,
    /// The larger of the bytes acknowledged between its last two losses and those since the last.
    pub loss_interval: u64,
}

impl Member {
    /// A member that is alone.
    pub fn alone() -> Self {
        Coupling::members(1).swap_remove(0)
    }

    /// Report this connection's window in segments and RTT.
    pub fn tell(&self, cwnd_segments: f64, srtt: fairway_units::Duration) {
        let entry = &self.coupling.entries[self.index];
        entry.cwnd.store(cwnd_segments.to_bits(), Relaxed);
        entry.srtt_nanos.store(srtt.as_nanos(), Relaxed);
    }

    /// Bytes were acknowledged on this connection.
    pub fn acknowledged(&self, bytes: u64) {
        let since = &self.coupling.entries[self.index].since_loss;
        since.store(since.load(Relaxed).saturating_add(bytes), Relaxed);
    }

    /// This connection had a loss. Without data acknowledged since the last loss it counts as part
    /// of that, so that repeated timeouts do not make the interval zero.
    pub fn lost(&self) {
        let entry = &self.coupling.entries[self.index];
        let since_loss = entry.since_loss.swap(0, Relaxed);
        if since_loss > 0 {
            entry.between_losses.store(since_loss, Relaxed);
        }
    }

    /// Index of this connection among the members, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The connections that have reported a window and an RTT, in order.
    pub fn subflows(&self) -> impl Iterator<Item = Subflow> {
        self.coupling.entries.iter().enumerate().filter_map(|(index, entry)| {
            let srtt_nanos = entry.srtt_nanos.load(Relaxed);
            (srtt_nanos > 0).then(|| Subflow {
                own: index == self.index,
                cwnd: f64::from_bits(entry.cwnd.load(Relaxed)),
                srtt_s: srtt_nanos as f64 / 1e9,
                loss_interval: entry
                    .between_losses
                    .load(Relaxed)
                    .max(entry.since_loss.load(Relaxed)),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_units::Duration;

    #[test]
    fn a_report_is_seen_by_all() {
        let members = Coupling::members(3);
        members[0].tell(10.0, Duration::from_millis(100));
        members[2].tell(20.0, Duration::from_millis(200));
        let seen: Vec<_> =
            members[2].subflows().map(|s| (s.own, s.cwnd, s.srtt_s, s.loss_interval)).collect();
        assert_eq!(seen, [(false, 10.0, 0.1, 0), (true, 20.0, 0.2, 0)]);
    }

    #[test]
    fn the_loss_interval_is_the_longer_of_the_last_and_the_present() {
        let member = Member::alone();
        member.tell(1.0, Duration::from_millis(1));
        let interval = |member: &Member| member.subflows().next().unwrap().loss_interval;
        member.acknowledged(500);
        member.lost();
        member.acknowledged(300);
        assert_eq!(interval(&member), 500);
        member.acknowledged(300);
        assert_eq!(interval(&member), 600);
        // Two losses with nothing acknowledged between them count as one.
        member.lost();
        member.lost();
        assert_eq!(interval(&member), 600);
    }
}
