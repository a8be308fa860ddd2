//! Patience with a peer: the time that may pass without an answer that is new.
//!
//! Answers are counted against what was asked. A question has a known number of answers, each of which
//! is new once, so a peer that repeats itself, answers another question or only says that it is there
//! renews nothing, and one that answers as slowly as it may comes to an end.

use std::time::Duration;

use crate::rt::Instant;

/// The slowest disk that is waited for: what a memory card writes.
const SLOWEST_DISK_BYTES_S: u64 = 16 << 20;
/// Most that a receiver's kernel holds back until a sync: a fifth of the memory of a host of 80 GiB
/// (`vm.dirty_ratio`, Documentation/admin-guide/sysctl/vm.rst).
const MOST_DIRTY_BYTES: u64 = 16 << 30;

/// How long a peer may still take.
#[derive(Clone, Debug)]
pub struct Patience {
    time: Duration,
    /// Answers that are due.
    owed: u64,
    /// Answers that may come, and need not.
    welcome: u64,
    /// The clock's start: the last answer, or the first question after all were answered.
    since: Instant,
    answered: Instant,
}

impl Patience {
    pub fn new(time: Duration) -> Self {
        let now = Instant::now();
        Patience { time, owed: 0, welcome: 0, since: now, answered: now }
    }

    /// Starts the clock anew: another connection has come.
    pub fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// The same questions are asked anew; when the last answer came stays known.
    pub fn anew(&self) -> Self {
        Patience { answered: self.answered, ..Patience::new(self.time) }
    }

    pub fn asked(&mut self, answers: u64) {
        if self.owed == 0 && answers > 0 {
            self.restart();
        }
        self.owed = self.owed.saturating_add(answers);
    }

    /// Answers that may come beside those that are due.
    pub fn welcome(&mut self, answers: u64) {
        self.welcome = self.welcome.saturating_add(answers);
    }

    /// New answers to what was asked: the only thing that renews patience.
    pub fn answered(&mut self, answers: u64) {
        let new = answers.min(self.owed);
        self.owed -= new;
        self.renew(new);
    }

    /// New answers among those that are welcome.
    pub fn answered_more(&mut self, answers: u64) {
        let new = answers.min(self.welcome);
        self.welcome -= new;
        self.renew(new);
    }

    /// Questions that are given up.
    pub fn forget(&mut self, answers: u64) {
        self.owed -= answers.min(self.owed);
    }

    fn renew(&mut self, new: u64) {
        if new > 0 {
            self.answered = Instant::now();
            self.since = self.answered;
        }
    }

    /// Whether anything is due.
    pub fn is_owed(&self) -> bool {
        self.owed > 0
    }

    /// When the last answer came.
    pub fn latest(&self) -> Instant {
        self.answered
    }

    /// The end of patience. Data that still flow prolong it, no more than twofold; `grace` is time that
    /// is not the peer's own.
    pub fn end(&self, flowed: Option<Instant>, grace: Duration) -> Instant {
        let flowed = flowed.map_or(self.since, |flowed| flowed.max(self.since));
        flowed.min(self.since + self.time) + self.time + grace
    }

    pub fn time(&self) -> Duration {
        self.time
    }
}

/// Time that a disk may take to sync what has arrived.
pub fn to_sync(bytes: u64) -> Duration {
    let bytes = bytes.min(MOST_DIRTY_BYTES);
    Duration::from_secs_f64(bytes as f64 / SLOWEST_DISK_BYTES_S as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(1000);

    #[test]
    fn answers_renew_it_as_often_as_questions_were_asked() {
        let mut patience = Patience::new(TIME);
        patience.asked(2);
        patience.welcome(1);
        let mut renewed = 0;
        for _ in 0..5 {
            for answer in [Patience::answered, Patience::answered_more] {
                let before = patience.since;
                std::thread::sleep(Duration::from_millis(1));
                answer(&mut patience, 1);
                renewed += u32::from(patience.since > before);
            }
        }
        assert_eq!(renewed, 3);
        assert!(!patience.is_owed());
    }

    #[test]
    fn data_that_flow_prolong_it_no_more_than_twofold() {
        let patience = Patience::new(TIME);
        let start = patience.since;
        assert_eq!(patience.end(None, Duration::ZERO), start + TIME);
        assert_eq!(patience.end(Some(start + TIME / 2), Duration::ZERO), start + 3 * TIME / 2);
        assert_eq!(patience.end(Some(start + 9 * TIME), Duration::ZERO), start + 2 * TIME);
        assert_eq!(patience.end(None, TIME), start + 2 * TIME);
    }

    #[test]
    fn the_first_question_starts_the_clock_and_no_later_one_does() {
        let mut patience = Patience::new(TIME);
        let start = patience.since;
        std::thread::sleep(Duration::from_millis(1));
        patience.asked(1);
        let asked = patience.since;
        assert!(asked > start);
        std::thread::sleep(Duration::from_millis(1));
        patience.asked(1);
        assert_eq!(patience.since, asked);
        patience.forget(5);
        assert!(!patience.is_owed());
    }

    #[test]
    fn a_sync_has_a_second_for_sixteen_mebibytes_and_an_end() {
        assert_eq!(to_sync(0), Duration::ZERO);
        assert_eq!(to_sync(32 << 20), Duration::from_secs(2));
        assert_eq!(to_sync(u64::MAX), Duration::from_secs(1024));
    }
}
