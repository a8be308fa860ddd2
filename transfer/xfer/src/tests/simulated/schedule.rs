//! Which thread runs: one at a time, from one step to a later one that the seed chooses.
//!
//! Every thread of a simulation is one of the system that waits until it is its turn. Its steps are
//! what it does with the locks, conditions, threads, sockets and disks of a simulation; between two
//! steps nothing else runs. Time passes when nobody has anything to do, up to the next deadline, and
//! a little with each step.
//!
//! The first thread is that of the test: it is in no process, and what it does is not interrupted.
//! A process that is killed ends in the step in which each of its threads is. They are unwound, which
//! runs the destructors of a process that is dead: its sockets and its disk do nothing any longer.

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread, panicking};
use std::time::Duration;

use fairway_units::random::Stream;

use super::network::Network;

/// Steps of one run, after which it does not seem to end.
const MOST_STEPS: u64 = 300_000;
/// Steps of the threads of a process that was killed.
const MOST_LAST_STEPS: u64 = 2000;
/// Time of one run, likewise.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

thread_local! {
    static HERE: RefCell<Option<Task>> = const { RefCell::new(None) };
}

/// The task that this thread is, if it is one of a simulation.
pub(super) fn here() -> Option<Task> {
    HERE.with_borrow(Clone::clone)
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    At(usize),
    EndOf(usize),
    Socket(usize),
    Listener,
    Time,
}

impl Key {
    /// Something by its address.
    pub fn of<T>(it: &T) -> Self {
        Key::At(std::ptr::from_ref(it).addr())
    }

    pub fn end_of(task: usize) -> Self {
        Key::EndOf(task)
    }
}

/// What the seed has chosen for a run.
#[derive(Clone, Copy, Debug)]
pub struct Chances {
    /// One step in so many may be followed by one of another thread.
    pub switch_one_in: u64,
    /// One wait for a condition in so many ends by itself.
    pub spurious_one_in: u64,
    /// One thread in so many is slow: the others go first.
    pub slow_one_in: u64,
    /// How long a step takes.
    pub step: Duration,
}

/// A simulation; clones are the same.
#[derive(Clone, Debug)]
pub struct Simulation(Arc<Mutex<State>>);

/// A thread of it.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub simulation: Simulation,
    /// Its process; 0 is that of the test.
    pub process: u32,
    number: usize,
    turn: Arc<Turn>,
}

/// Whether it is a thread's turn.
#[derive(Debug)]
struct Turn {
    has_come: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub random: Stream,
    pub now: Duration,
    pub network: Network,
    /// What the wall's clock says in the beginning.
    wall: Duration,
    chances: Chances,
    tasks: Vec<Known>,
    /// Nobody else runs before this process has ended.
    dying: Option<u32>,
    steps: u64,
    failure: Option<String>,
    /// Over what ran when, to compare two runs.
    trace: u64,
}

#[derive(Debug)]
struct Known {
    process: u32,
    turn: Arc<Turn>,
    wait: Option<Wait>,
    is_slow: bool,
    has_ended: bool,
    /// To join it.
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    key: Key,
    until: Option<Duration>,
    /// Or until so many steps were done.
    steps: Option<u64>,
}

/// What a thread of a process that was killed is unwound with.
struct Killed;

impl Turn {
    fn new(thread: Option<Thread>) -> Arc<Self> {
        Arc::new(Turn { has_come: AtomicBool::new(false), thread: Mutex::new(thread) })
    }

    fn give(&self) {
        self.has_come.store(true, Ordering::Release);
        if let Some(thread) = &*lock(&self.thread) {
            thread.unpark();
        }
    }

    fn wait(&self) {
        while !self.has_come.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Simulation {
    /// Runs a test, whose thread becomes the first of the simulation.
    pub fn run<T>(seed: u64, chances: Chances, test: impl FnOnce(&Simulation) -> T) -> T {
        let turn = Turn::new(Some(thread::current()));
        let first = Known {
            process: 0,
            turn: Arc::clone(&turn),
            wait: None,
            is_slow: false,
            has_ended: false,
            thread: None,
        };
        let state = State {
            random: Stream::new(seed, "simulation"),
            now: Duration::ZERO,
            network: Network::default(),
            wall: Duration::from_secs(30 * 86_400),
            chances,
            tasks: vec![first],
            dying: None,
            steps: 0,
            failure: None,
            trace: 0,
        };
        let simulation = Simulation(Arc::new(Mutex::new(state)));
        HERE.set(Some(Task { simulation: simulation.clone(), process: 0, number: 0, turn }));
        let result = catch_unwind(AssertUnwindSafe(|| test(&simulation)));
        simulation.end();
        HERE.set(None);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    pub fn now(&self) -> Duration {
        self.state().now
    }

    /// The time since 1970, as it seems.
    pub fn wall_clock(&self) -> Duration {
        let state = self.state();
        state.wall + state.now
    }

    /// Sets the wall's clock, forwards or backwards.
    pub fn set_wall_clock(&self, since_1970: Duration) {
        let mut state = self.state();
        state.wall = since_1970.saturating_sub(state.now);
    }

    /// Nothing has run for so long: the host had something else to do.
    pub fn oversleep(&self, time: Duration) {
        self.state().now += time;
    }

    /// Steps that were done, and a sum over what they were.
    pub fn steps(&self) -> (u64, u64) {
        let state = self.state();
        (state.steps, state.trace)
    }

    /// Starts a process, by its first thread.
    pub fn start_process(&self, process: u32, run: impl FnOnce() + Send + 'static) -> JoinLater {
        let task = here().expect("the test starts it");
        let block_bytes = crate::store::smallest_block_bytes();
        let run = move || {
            crate::store::set_smallest_block_bytes(block_bytes);
            run();
        };
        let number = task.simulation.start(thread::Builder::new(), process, run);
        JoinLater(self.clone(), number.expect("a thread"))
    }

    pub(super) fn start(
        &self,
        builder: thread::Builder,
        process: u32,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<usize> {
        let turn = Turn::new(None);
        let mut state = self.state();
        if state.dying.is_some() {
            return Err(io::ErrorKind::Other.into());
        }
        let number = state.tasks.len();
        let task = Task { simulation: self.clone(), process, number, turn: Arc::clone(&turn) };
        let thread = builder.spawn(move || {
            task.turn.wait();
            HERE.set(Some(task.clone()));
            let ended = catch_unwind(AssertUnwindSafe(|| {
                task.end_if_killed();
                run();
            }));
            HERE.set(None);
            let failure = ended.err().filter(|panic| !panic.is::<Killed>()).map(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.or(panic.downcast_ref::<&str>().map(|it| (*it).to_owned()))
                    .unwrap_or_else(|| "a thread has panicked".into())
            });
            task.end(failure);
        })?;
        *lock(&turn.thread) = Some(thread.thread().clone());
        let slow_one_in = state.chances.slow_one_in;
        let is_slow = state.random.below(slow_one_in) == 0;
        let thread = Some(thread);
        state.tasks.push(Known { process, turn, wait: None, is_slow, has_ended: false, thread });
        Ok(number)
    }

    pub(super) fn has_ended(&self, number: usize) -> bool {
        self.state().tasks[number].has_ended
    }

    /// Whoever waits for this goes on.
    pub(super) fn wake(&self, key: Key) {
        self.state().wake(key);
    }

    pub(super) fn wake_one(&self, key: Key) {
        let mut state = self.state();
        let waits = |it: &&mut Known| it.wait.is_some_and(|wait| wait.key == key);
        let count = state.tasks.iter_mut().filter(waits).count() as u64;
        if count > 0 {
            let chosen = state.random.below(count) as usize;
            let woken = state.tasks.iter_mut().filter(waits).nth(chosen);
            woken.into_iter().for_each(|it| it.wait = None);
        }
    }

    /// When a wait ends that nothing has ended, if it does.
    pub(super) fn spurious_wakeup(&self) -> Option<Duration> {
        let mut state = self.state();
        let one_in = state.chances.spurious_one_in;
        let is_one = state.random.below(one_in) == 0;
        is_one.then(|| state.now + Duration::from_micros(state.random.below(1_000_000)))
    }

    /// The test lets the others run: so many steps, or until one of these threads has ended.
    pub fn pause(&self, steps: u64, ends: &JoinLater) {
        let until = self.state().steps + steps;
        let task = here().expect("the test's thread");
        while !ends.has_ended() && self.state().steps < until {
            task.wait_until(Wait { key: Key::end_of(ends.1), until: None, steps: Some(until) });
        }
    }

    /// Threads of a process that have not ended.
    pub fn threads(&self, process: u32) -> usize {
        let state = self.state();
        state.tasks.iter().filter(|it| it.process == process && !it.has_ended).count()
    }

    /// The test lets the others run for so long.
    pub fn sleep(&self, time: Duration) {
        let until = self.now() + time;
        here().expect("the test's thread").sleep_until(until);
    }

    /// A process ends where it is.
    pub fn kill(&self, process: u32) {
        let task = here().expect("the test's thread");
        {
            let mut state = self.state();
            state.dying = Some(process);
            let of_it = |it: &&mut Known| it.process == process;
            state.tasks.iter_mut().filter(of_it).for_each(|it| it.wait = None);
        }
        let most = self.state().steps + MOST_LAST_STEPS;
        while self.state().lives(process) && self.state().steps < most {
            task.wait_until(Wait { key: Key::Time, until: None, steps: Some(most) });
        }
        let mut state = self.state();
        state.dying = None;
        // Destructors that wait for each other: a process that is dead has none, and these threads
        // never run again.
        for it in state.tasks.iter_mut().filter(|it| it.process == process && !it.has_ended) {
            (it.has_ended, it.thread) = (true, None);
        }
    }

    fn end(&self) {
        let mut state = self.state();
        state.failure = None;
        let mut processes: Vec<u32> = state.tasks.iter().map(|it| it.process).collect();
        drop(state);
        processes.sort_unstable();
        processes.dedup();
        processes.iter().filter(|process| **process > 0).for_each(|process| self.kill(*process));
        let mut state = self.state();
        let threads: Vec<_> = state.tasks.iter_mut().filter_map(|it| it.thread.take()).collect();
        drop(state);
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// A thread that the test waits for.
#[derive(Clone, Debug)]
pub struct JoinLater(Simulation, usize);

impl JoinLater {
    pub fn has_ended(&self) -> bool {
        self.0.has_ended(self.1)
    }
}

impl State {
    pub fn chance(&mut self, one_in: u64) -> bool {
        self.random.below(one_in) == 0
    }

    pub fn wake(&mut self, key: Key) {
        let waits = |it: &&mut Known| it.wait.is_some_and(|wait| wait.key == key);
        self.tasks.iter_mut().filter(waits).for_each(|it| it.wait = None);
    }

    fn lives(&self, process: u32) -> bool {
        self.tasks.iter().any(|it| it.process == process && !it.has_ended)
    }

    /// Who may run before others have done anything.
    fn is_ready(&self, it: &Known) -> bool {
        let is_late = it.process == 0
            && it.wait.is_some_and(|wait| wait.steps.is_some_and(|steps| steps <= self.steps));
        let may = match self.dying {
            Some(process) if self.lives(process) => it.process == process || is_late,
            _ => true,
        };
        let is_due = |wait: Wait| {
            let is_late = wait.until.is_some_and(|until| until <= self.now);
            is_late || wait.steps.is_some_and(|steps| steps <= self.steps)
        };
        let has_waited = it.wait.is_none_or(is_due);
        may && !it.has_ended && (has_waited || self.dying == Some(it.process))
    }

    /// Who runs next; the time passes until there is somebody.
    fn next(&mut self) -> usize {
        if self.failure.is_none() && (self.steps > MOST_STEPS || self.now > LONGEST) {
            self.failure = Some("the transfer does not end".into());
        }
        // The test dies of it.
        if self.failure.is_some() {
            return 0;
        }
        // Whoever waits for the death of its process runs first, and at last.
        if self.dying.is_some_and(|process| !self.lives(process)) {
            return 0;
        }
        loop {
            let ready = |state: &State, is_slow: bool| -> Vec<usize> {
                let all = state.tasks.iter().enumerate();
                let all = all.filter(|(_, it)| it.is_slow == is_slow && state.is_ready(it));
                all.map(|(number, _)| number).collect()
            };
            let (quick, slow) = (ready(self, false), ready(self, true));
            let is_slows = quick.is_empty() || !slow.is_empty() && self.chance(20);
            let choice = if is_slows { slow } else { quick };
            if !choice.is_empty() {
                return choice[self.random.below(choice.len() as u64) as usize];
            }
            let waits = self.tasks.iter().filter(|it| !it.has_ended).filter_map(|it| it.wait);
            let deadline = waits.clone().filter_map(|wait| wait.until).min();
            let steps = waits.filter_map(|wait| wait.steps).min();
            match (deadline, steps) {
                (Some(deadline), _) => self.now = deadline,
                (None, Some(steps)) => self.steps = steps,
                (None, None) => {
                    self.failure = Some("everybody waits, and nobody for a deadline".into());
                    return 0;
                }
            }
        }
    }
}

impl Task {
    fn is_test(&self) -> bool {
        self.number == 0
    }

    /// Something is done that others could see: before it, another thread may run.
    pub fn step(&self) {
        if self.is_test() || panicking() {
            return;
        }
        let mut state = self.simulation.state();
        state.steps += 1;
        let step = state.chances.step;
        state.now += step;
        let one_in = state.chances.switch_one_in;
        if state.chance(one_in) {
            self.give_way(state);
        } else {
            drop(state);
        }
        self.end_if_killed();
    }

    /// Waits until it is woken, or for so long.
    pub fn wait(&self, key: Key, until: Option<Duration>) {
        self.wait_until(Wait { key, until, steps: None });
    }

    pub fn sleep_until(&self, until: Duration) {
        while self.simulation.now() < until && !panicking() {
            self.wait(Key::Time, Some(until));
        }
    }

    fn wait_until(&self, wait: Wait) {
        let mut state = self.simulation.state();
        state.tasks[self.number].wait = Some(wait);
        state.steps += 1;
        self.give_way(state);
        self.end_if_killed();
    }

    /// Whoever's turn it is runs, until it is this one's.
    fn give_way(&self, mut state: MutexGuard<'_, State>) {
        let next = state.next();
        state.trace = (state.trace ^ next as u64 ^ state.now.as_nanos() as u64)
            .wrapping_mul(0x0100_0000_01b3);
        state.tasks[next].wait = None;
        if next == self.number {
            return;
        }
        let turn = Arc::clone(&state.tasks[next].turn);
        drop(state);
        turn.give();
        self.turn.wait();
    }

    fn end_if_killed(&self) {
        if panicking() {
            return;
        }
        let state = self.simulation.state();
        if self.is_test() {
            if let Some(failure) = state.failure.clone() {
                drop(state);
                panic_any(failure);
            }
        } else if state.dying == Some(self.process) {
            drop(state);
            resume_unwind(Box::new(Killed));
        }
    }

    fn end(&self, failure: Option<String>) {
        let mut state = self.simulation.state();
        state.tasks[self.number].has_ended = true;
        if state.failure.is_none() {
            state.failure = failure;
        }
        state.wake(Key::EndOf(self.number));
        let next = state.next();
        state.tasks[next].wait = None;
        let turn = Arc::clone(&state.tasks[next].turn);
        drop(state);
        turn.give();
    }
}
