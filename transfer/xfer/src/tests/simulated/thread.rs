//! Threads.

use std::io;
use std::thread;

use super::schedule::{self, Simulation};
use crate::store::{set_smallest_block_bytes, smallest_block_bytes};

/// As [`std::thread::Builder`], of threads without a result.
pub struct Builder(thread::Builder);

/// As [`std::thread::JoinHandle`].
#[derive(Debug)]
pub enum JoinHandle<T> {
    Real(thread::JoinHandle<T>),
    Simulated(Simulation, usize),
}

impl Builder {
    pub fn new() -> Self {
        Builder(thread::Builder::new())
    }

    pub fn name(self, name: String) -> Self {
        Builder(self.0.name(name))
    }

    pub fn stack_size(self, bytes: usize) -> Self {
        Builder(self.0.stack_size(bytes))
    }

    pub fn spawn(self, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        let Some(here) = schedule::here() else { return self.0.spawn(run).map(JoinHandle::Real) };
        let block_bytes = smallest_block_bytes();
        let run = move || {
            set_smallest_block_bytes(block_bytes);
            run();
        };
        let number = here.simulation.start(self.0, here.process, run)?;
        here.step();
        Ok(JoinHandle::Simulated(here.simulation.clone(), number))
    }
}

impl JoinHandle<()> {
    pub fn join(self) -> thread::Result<()> {
        match self {
            JoinHandle::Real(thread) => thread.join(),
            JoinHandle::Simulated(simulation, number) => {
                let task = schedule::here().expect("only its own simulation joins it");
                task.step();
                while !simulation.has_ended(number) {
                    task.wait(schedule::Key::end_of(number), None);
                }
                Ok(())
            }
        }
    }

    pub fn is_finished(&self) -> bool {
        match self {
            JoinHandle::Real(thread) => thread.is_finished(),
            JoinHandle::Simulated(simulation, number) => simulation.has_ended(*number),
        }
    }
}
