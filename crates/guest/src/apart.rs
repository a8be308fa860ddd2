//! Keeps the processes of a host apart from those of others: namespaces of processes and of messages
//! between processes (pid_namespaces(7), ipc_namespaces(7)), and the first process in them.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use nix::errno::Errno;
use nix::mount::MsFlags;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, Pid, fork, pause, pipe};

use crate::hosts::{Failure, attach, failing};
use crate::rights;

/// The namespaces of a host's processes, which last as long as its first process.
#[derive(Clone)]
pub struct Apart(Arc<Handles>);

struct Handles {
    processes: File,
    /// None on a kernel without such namespaces: then all hosts share System V's messages.
    messages: Option<File>,
    /// The namespace of the agent's own processes.
    own: File,
}

impl Apart {
    /// Makes them, and mounts their /proc, which shows their processes alone. This process has one thread
    /// yet.
    pub fn make(proc: &Path) -> Result<Self, Failure> {
        let own = File::open("/proc/self/ns/pid")
            .map_err(failing("opening the namespace of processes".into()))?;
        unshare(CloneFlags::CLONE_NEWPID)
            .map_err(Into::into)
            .map_err(failing("making a namespace of processes".into()))?;
        let first = start_first(proc);
        setns(&own, CloneFlags::CLONE_NEWPID)
            .map_err(Into::into)
            .map_err(failing("leaving a namespace of processes".into()))?;
        let first = first?;
        let open = |name: &str| File::open(format!("/proc/{first}/ns/{name}"));
        let processes =
            open("pid").map_err(failing("opening the namespace of processes".into()))?;
        let messages = match open("ipc") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other.map_err(failing("opening the namespace of messages".into()))?),
        };
        Ok(Apart(Arc::new(Handles { processes, messages, own })))
    }

    /// Starts a process among those of the host, and returns to the agent's own: a thread whose children
    /// belong elsewhere can start no thread.
    pub fn start<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        setns(&self.0.processes, CloneFlags::CLONE_NEWPID)?;
        let started = start();
        setns(&self.0.own, CloneFlags::CLONE_NEWPID)?;
        started
    }

    /// Has the calling process take part in the messages of the host's processes. A system call alone.
    pub fn join(&self) -> nix::Result<()> {
        self.0
            .messages
            .as_ref()
            .map_or(Ok(()), |messages| setns(messages, CloneFlags::CLONE_NEWIPC))
    }
}

/// Starts the first process, which mounts /proc and then adopts those whose parent is gone.
fn start_first(proc: &Path) -> Result<Pid, Failure> {
    let what = || "starting the first process".to_owned();
    let (mut read, write) = pipe()
        .map(|(read, write)| (File::from(read), write))
        .map_err(Into::into)
        .map_err(failing(what()))?;
    // SAFETY: the agent has one thread as long as it makes hosts, so that the child has whole memory.
    match unsafe { fork() }.map_err(Into::into).map_err(failing(what()))? {
        ForkResult::Child => be_first(proc, write),
        ForkResult::Parent { child } => {
            drop(write);
            let mut said = String::new();
            read.read_to_string(&mut said).map_err(failing(what()))?;
            if said.is_empty() { Ok(child) } else { Err((what(), io::Error::other(said))) }
        }
    }
}

/// The first process: it says what has failed, or nothing, and never ends.
fn be_first(proc: &Path, write: OwnedFd) -> ! {
    let mut write = File::from(write);
    if let Err((what, error)) = prepare_first(proc) {
        let _ = write!(write, "{what}: {error}");
    }
    drop(write);
    loop {
        pause();
    }
}

fn prepare_first(proc: &Path) -> Result<(), Failure> {
    match unshare(CloneFlags::CLONE_NEWIPC) {
        Ok(()) | Err(Errno::EINVAL) => {}
        Err(error) => return Err(("making a namespace of messages".into(), error.into())),
    }
    attach("proc", proc, None, MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC)?;
    let nothing = || "giving up its rights".to_owned();
    // SAFETY: no function of this program is called by a signal.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) }
        .map_err(Into::into)
        .map_err(failing(nothing()))?;
    // It has the agent's files and memory: no program of the host may look into it.
    set_dumpable(false).map_err(Into::into).map_err(failing(nothing()))?;
    rights::none().map_err(failing(nothing()))
}
