//! The agent: process 1 of a kernel that was started for one experiment.
//!
//! It makes the network that the plan describes, opens the connections, measures, writes what it
//! has measured into the run directory and powers the machine off. `connection` and `datagrams` are the traffic,
//! `watch`, `states` and `counters` are what is measured, `run` is when. The same program is what
//! starts such a kernel on the host: `supervise`.

mod apart;
mod beginning;
mod capture;
mod confinement;
mod connection;
mod counters;
mod datagrams;
mod driven;
mod hosts;
mod packet;
mod programs;
mod rights;
mod run;
mod saved_files;
mod setup;
mod states;
mod supervise;
mod sys;
mod threads;
mod transfer;
mod views;
mod watch;

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use fairway_guest::plan::Plan;
use nix::sys::prctl;
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::resource::{Resource, setrlimit};

/// Files that may be open at once: three sockets a connection, and what `ip -batch` holds for every
/// line that names a namespace. The kernel's default is 1024, its bound 1048576 (fs/file.c).
const OPEN_FILES: u64 = 1 << 18;

/// What was tried and what came of it.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Error {
    what: String,
    why: String,
}

impl Error {
    fn new(what: impl Into<String>, why: impl Display) -> Self {
        Error { what: what.into(), why: why.to_string() }
    }
}

fn main() -> ExitCode {
    if std::process::id() != 1 {
        let mut arguments = std::env::args_os().skip(1);
        let first = arguments.next();
        if first.as_ref().is_some_and(|first| first == supervise::COMMAND) {
            return supervise::supervise(arguments);
        }
        if first.is_some_and(|first| first == confinement::COMMAND) {
            return confinement::tell();
        }
        eprintln!(
            "fairway-guest is started by Fairway as the first process of a kernel of its own"
        );
        return ExitCode::from(2);
    }
    let result = std::panic::catch_unwind(carry_out)
        .unwrap_or_else(|_| Err(Error::new("the agent", "came to a halt; see the console")));
    if let Err(error) = result {
        // On a full disk the console takes nothing, and the error has the room of a file made for it.
        let _ = writeln!(io::stderr(), "fairway-guest: {error}");
        let _ = fs::remove_file(Path::new(setup::RUN_DIRECTORY).join("reserve"));
        let file = Path::new(setup::RUN_DIRECTORY).join("error");
        // If the network has said why before, that is the reason. Without a run directory, the console has to
        // do.
        if !file.exists() {
            let _ = fs::write(file, error.to_string());
        }
    }
    let _ = reboot(RebootMode::RB_POWER_OFF);
    ExitCode::FAILURE
}

fn carry_out() -> Result<(), Error> {
    setup::mount_file_systems()?;
    // Timers of processes may be late by 50 microseconds unless they say otherwise (prctl(2)).
    prctl::set_timerslack(1).map_err(|error| Error::new("setting the timer slack", error))?;
    setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)
        .map_err(|error| Error::new("raising the number of open files", error))?;
    let file = Path::new(setup::RUN_DIRECTORY).join("plan.json");
    let text = fs::read(&file).map_err(|error| Error::new("reading plan.json", error))?;
    let plan: Plan =
        serde_json::from_slice(&text).map_err(|error| Error::new("reading plan.json", error))?;
    let namespaces = setup::make_network(&plan)?;
    let hosts = hosts::make(&plan, &namespaces)?;
    run::run(&plan, &namespaces, &hosts)
}
