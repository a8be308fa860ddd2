//! A job in a thread of its own: send, receive, generate traffic, …

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::{Record, Samples};
use crate::rt::{Condvar, Instant, Mutex};
use crate::{Control, Error};

/// Sessions that wait to be fetched; of more, the oldest are forgotten.
const MAX_SESSIONS: usize = 64;

/// A century: no clock overflows by it.
const LONGEST_WAIT: Duration = Duration::from_secs(100 * 365 * 86_400);

/// What one session came to: a sender has one, a receiver one for every sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Counted from 0.
    pub number: u64,
    /// What the job says about it, as JSON.
    pub about: String,
    /// Why it did not end well; none if it did.
    pub failure: Option<String>,
    /// Its summary, as JSON.
    pub summary: String,
    /// How it was measured, as JSON.
    pub taken: String,
    /// The samples.
    pub samples: Samples,
}

/// Where a job puts its sessions; clones are the same place.
#[derive(Clone, Debug, Default)]
pub struct Sessions(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    sessions: VecDeque<Session>,
    count: u64,
    without_samples: bool,
}

impl Sessions {
    /// A place that keeps no samples: for who wants figures and no record.
    pub fn without_samples() -> Self {
        let sessions = Sessions::default();
        sessions.0.lock().without_samples = true;
        sessions
    }

    /// A session has ended. `about` is what the job wants to say of it.
    pub fn ended(&self, about: &impl Serialize, record: Record, failure: Option<&Error>) {
        let json = |result: serde_json::Result<String>| result.unwrap_or_else(|_| "null".into());
        let mut waiting = self.0.lock();
        let number = waiting.count;
        waiting.count += 1;
        if waiting.sessions.len() == MAX_SESSIONS {
            waiting.sessions.pop_front();
        }
        let samples = if waiting.without_samples { Samples::default() } else { record.samples };
        waiting.sessions.push_back(Session {
            number,
            about: json(serde_json::to_string(about)),
            failure: failure.map(ToString::to_string),
            summary: json(serde_json::to_string(&record.summary)),
            taken: json(serde_json::to_string(&record.taken)),
            samples,
        });
    }

    /// Those that have ended since the last call.
    pub fn take(&self) -> Vec<Session> {
        self.0.lock().sessions.drain(..).collect()
    }
}

/// A job that runs in a thread of its own. Dropped, it is cancelled.
#[derive(Debug)]
pub struct Task {
    /// Follows and stops it.
    pub control: Control,
    /// What has come of it so far.
    pub sessions: Sessions,
    end: Arc<End>,
}

#[derive(Debug, Default)]
struct End {
    result: Mutex<Option<Result<Value, Error>>>,
    came: Condvar,
}

impl Task {
    /// Starts the job; what it returns is its result.
    ///
    /// # Errors
    /// [`Error::Failed`] if there can be no further thread.
    pub fn start(
        sessions: Sessions,
        job: impl FnOnce(&Control, &Sessions) -> Result<Value, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let task = Task { control: Control::new(), sessions, end: Arc::default() };
        let (control, sessions) = (task.control.clone(), task.sessions.clone());
        let end = Arc::clone(&task.end);
        let work = move || {
            let result = catch_unwind(AssertUnwindSafe(|| job(&control, &sessions)));
            let result = result.unwrap_or_else(|panic| Err(internal(panic.as_ref())));
            *end.result.lock() = Some(result);
            end.came.notify_all();
        };
        let thread = std::thread::Builder::new().name("transfer".into());
        thread.spawn(work).map_err(|error| Error::failed("starting the transfer", error))?;
        Ok(task)
    }

    /// Waits for its end, but no longer than `time`; returns whether it has ended.
    pub fn wait(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time.min(LONGEST_WAIT);
        let came = |result: &mut Option<_>| result.is_some().then_some(());
        self.end.came.wait_until(self.end.result.lock(), deadline, came).1.is_some()
    }

    /// What it returned; none before its end.
    pub fn result(&self) -> Option<Result<Value, Error>> {
        self.end.result.lock().clone()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.control.cancel();
    }
}

/// What is told of a mistake in this program.
fn internal(panic: &(dyn Any + Send)) -> Error {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::failed("internal error", format!("{}; please report it", said.unwrap_or("unknown")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::measure::{Meter, Subject};

    #[test]
    fn a_task_ends_with_what_its_job_returns_and_with_its_sessions() {
        let task = Task::start(Sessions::default(), |control, sessions| {
            let meter = Meter::start(Subject::new("a test", "transfer", "transfer"), control)?;
            let failure = Error::Refused("no".into());
            sessions.ended(&json!({"peer": "x"}), meter.finish(), Some(&failure));
            Ok(json!(7))
        })
        .unwrap();
        assert!(task.wait(Duration::from_secs(60)));
        assert_eq!(task.result(), Some(Ok(json!(7))));
        let [session] = &task.sessions.take()[..] else { panic!("one session") };
        assert_eq!((session.number, session.failure.as_deref()), (0, Some("no")));
        let summary: Value = serde_json::from_str(&session.summary).unwrap();
        assert_eq!((&summary["backend"], &summary["title"]), (&json!("xfer"), &json!("a test")));
        assert!(task.sessions.take().is_empty());
    }

    #[test]
    fn a_task_can_be_cancelled_and_survives_a_panic() {
        let forever = |control: &Control, _: &Sessions| {
            control.sleep(Duration::from_secs(3600));
            Err(Error::Cancelled)
        };
        let task = Task::start(Sessions::default(), forever).unwrap();
        assert!(!task.wait(Duration::ZERO) && task.result().is_none());
        task.control.cancel();
        assert!(task.wait(Duration::from_secs(60)));
        assert_eq!(task.result(), Some(Err(Error::Cancelled)));
        let task = Task::start(Sessions::default(), |_, _| panic!("by design")).unwrap();
        assert!(task.wait(Duration::from_secs(60)));
        let Some(Err(error)) = task.result() else { panic!("it failed") };
        assert!(error.to_string().contains("by design"), "{error}");
    }
}
