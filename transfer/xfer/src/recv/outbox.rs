//! A session's queues: messages for its sender, and tasks for the thread that finishes files.

use std::collections::VecDeque;
use std::time::Duration;

use super::session::{Session, State};
use crate::rt::{Condvar, Instant, MutexGuard};
use crate::store::Sum;
use crate::wire::messages::{ToReceiver, ToSender};

/// Messages that may wait to be sent before who makes more waits, too: 32 MB of claims.
const MOST_MESSAGES: usize = 1024;

impl Session {
    /// The state, when there is room for more words: a sender that does not hear them has to wait,
    /// until it has been silent for too long.
    pub(super) fn state_with_space(
        &self,
        words: impl Fn(&State) -> usize,
    ) -> MutexGuard<'_, State> {
        let mut state = self.state();
        while words(&state) >= MOST_MESSAGES
            && state.control_socket.is_some()
            && state.ended.is_none()
        {
            state = self.messages.wait(state);
        }
        state
    }

    /// Says something to the sender; waits while much is to be said already. False if the control
    /// connection is not the one of `epoch` any longer.
    pub fn say(&self, message: ToSender, epoch: u64) -> bool {
        self.queue(message, epoch, &self.messages, |state| &mut state.outbox)
    }

    fn queue<T>(
        &self,
        one: T,
        epoch: u64,
        changed: &Condvar,
        queue: fn(&mut State) -> &mut VecDeque<T>,
    ) -> bool {
        let mut state = self.state();
        while queue(&mut state).len() >= MOST_MESSAGES
            && state.epoch == epoch
            && state.ended.is_none()
        {
            state = changed.wait(state);
        }
        let is_current = state.epoch == epoch;
        if is_current {
            queue(&mut state).push_back(one);
        }
        drop(state);
        changed.notify_all();
        is_current
    }

    pub fn busy(&self, why: String, epoch: u64) {
        self.state().is_busy = true;
        self.say(ToSender::Busy { why }, epoch);
    }

    pub fn is_busy(&self) -> bool {
        self.state().is_busy
    }

    /// What is to be said: nothing if there is nothing for so long; none if the control connection is
    /// not the one of `epoch`, or all was said and the transfer has ended.
    pub fn next_messages(&self, epoch: u64, time: Duration) -> Option<Vec<ToSender>> {
        let next = |state: &mut State| {
            if state.epoch != epoch {
                return Some(None);
            }
            let words = state.take_messages();
            match words.is_empty() {
                true => state.ended.is_some().then_some(None),
                false => Some(Some(words)),
            }
        };
        let (state, words) = self.messages.wait_until(self.state(), Instant::now() + time, next);
        drop(state);
        self.messages.notify_all();
        words.unwrap_or(Some(Vec::new()))
    }

    pub fn ask(&self, task: ToReceiver, epoch: u64) {
        self.queue(task, epoch, &self.tasks, |state| &mut state.tasks);
    }

    /// What the collecting thread is to do next; none if the control connection is gone.
    pub fn task(&self, epoch: u64) -> Option<ToReceiver> {
        let mut state = self.state();
        loop {
            if state.epoch != epoch || state.ended.is_some() {
                return None;
            }
            if let Some(task) = state.tasks.pop_front() {
                drop(state);
                self.tasks.notify_all();
                return Some(task);
            }
            state = self.tasks.wait(state);
        }
    }

    pub fn confirm(&self, digest: Sum, epoch: u64) {
        let mut state = self.state();
        state.confirmed = true;
        state.concluded = Some(Instant::now());
        state.received.duration_s = self.began.elapsed().as_secs_f64();
        drop(state);
        self.say(ToSender::Confirmed { digest }, epoch);
    }
}

impl State {
    fn take_messages(&mut self) -> Vec<ToSender> {
        let mut words = Vec::new();
        // Arrivals first: an answer may refer to them.
        while !self.arrived.is_empty() {
            let rest = self.arrived.split_off(self.arrived.len().min(MOST_MESSAGES));
            words.push(ToSender::Arrived(std::mem::replace(&mut self.arrived, rest)));
        }
        words.extend(self.outbox.drain(..));
        words
    }
}
