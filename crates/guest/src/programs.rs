//! Programs of the host machine, each on its host.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use fairway_guest::plan::{Plan, Program as ProgramPlan};
use fairway_guest::record::{ProgramTotals, output_file};
use fairway_units::NANOS_PER_SEC;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::mount::{MntFlags, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, chdir, pivot_root, sethostname};

use crate::Error;
use crate::apart::Apart;
use crate::hosts;
use crate::rights;
use crate::setup::{Namespaces, RUN_DIRECTORY};
use crate::sys;

/// How long before the beginning of the run servers start.
pub const HEAD_START_NS: u64 = 1_000_000_000;
/// How long the kernel has been up when the first programs start: some take a clock in its first second
/// for one that was never read, as ping of iputils does.
const LEAST_UPTIME_NS: u64 = 60_000_000_000;
/// Files that a program may have open, as a login has it: at first, and if it asks for more.
const OPEN_FILES: [u64; 2] = [1024, 1 << 18];
/// How late timers may be, as the kernel has it for a process (kernel/fork.c, `init_task`).
const TIMER_SLACK_NS: u32 = 50_000;
/// Rights that files of programs do not get: others' to write.
const USUAL_MASK: Mode = Mode::from_bits_truncate(0o022);
/// Bytes that are passed on at once.
const PIECE_BYTES: usize = 1 << 16;

/// A program under way, or one that will start.
pub struct Program {
    is_last: bool,
    state: Arc<Mutex<ProgramTotals>>,
}

/// Waits until servers may start. The first who asks Linux 6.1 for random bytes waits 0.45 s until it
/// has gathered enough (`try_to_generate_entropy` of drivers/char/random.c), so no program is that.
pub fn wait_to_start() -> io::Result<()> {
    sys::wait_for_random_bytes()?;
    sys::sleep_until(LEAST_UPTIME_NS);
    Ok(())
}

/// Sets the date so that it is the plan's when the run begins.
pub fn set_date(plan: &Plan, begin_ns: u64) -> io::Result<()> {
    let Some(date_s) = plan.date_s else { return Ok(()) };
    let until_ns = begin_ns.saturating_sub(sys::now_ns()?);
    sys::set_wall_ns(date_s.saturating_mul(NANOS_PER_SEC).saturating_sub(until_ns))
}

/// The programs of a plan that start before the beginning of the run, or those that do not.
pub fn start(
    plan: &Plan,
    namespaces: &Namespaces,
    hosts: &[Apart],
    begin_ns: u64,
    is_server: bool,
) -> Result<Vec<(usize, Program)>, Error> {
    let programs = plan.programs.iter().enumerate();
    let programs = programs.filter(|(_, program)| program.start_ns.is_none() == is_server);
    let mut started = Vec::new();
    for (index, program) in programs {
        let host = plan.hosts.get(program.host).zip(hosts.get(program.host));
        let (host, apart) = host.ok_or_else(|| {
            Error::new("reading the plan", format!("there is no host {}", program.host))
        })?;
        // Threads are in the namespace of the thread that starts them, and so are their children.
        namespaces.enter(host.namespace)?;
        let state = Arc::<Mutex<ProgramTotals>>::default();
        let running = Running {
            index,
            plan: program.clone(),
            host: host.name.clone(),
            apart: apart.clone(),
            begin_ns,
            state: Arc::clone(&state),
        };
        spawn("program", move || running.run())
            .map_err(|error| Error::new(format!("starting a thread for {}", program.id), error))?;
        started.push((index, Program { is_last: program.is_last, state }));
    }
    namespaces.leave()?;
    Ok(started)
}

impl Program {
    /// Whether the run is over with it.
    pub fn ends_run(&self) -> bool {
        let state = lock(&self.state);
        self.is_last && (state.ended_ns.is_some() || state.failure.is_some())
    }

    /// An error if some of its output could not be kept.
    pub fn check_output(&self) -> Result<(), Error> {
        match lock(&self.state).lost_output.take() {
            Some((what, why)) => Err(Error::new(what, why)),
            None => Ok(()),
        }
    }

    /// What became of it.
    pub fn totals(&self) -> ProgramTotals {
        lock(&self.state).clone()
    }
}

struct Running {
    index: usize,
    plan: ProgramPlan,
    host: String,
    apart: Apart,
    begin_ns: u64,
    state: Arc<Mutex<ProgramTotals>>,
}

impl Running {
    fn run(self) {
        let head_start_ns = self.begin_ns.saturating_sub(HEAD_START_NS);
        let start_ns = self.plan.start_ns.map_or(head_start_ns, |start| self.begin_ns + start);
        sys::sleep_until(start_ns);
        let started = self.command().and_then(|mut command| {
            lock(&self.state).started_ns = Some(self.now_ns());
            let mut child = self.apart.start(|| command.spawn())?;
            // Its ends of the pipes would keep them open.
            drop(command);
            self.keep_outputs(&mut child)?;
            let stopping = self.stop_in_time(&child)?;
            self.note_end(sys::wait_without_reaping(child.id())?);
            // Until it is reaped, the number of its group is not given to others.
            let _ = stopping.map(JoinHandle::join);
            child.wait()
        });
        if let Err(error) = started {
            let errno = error.raw_os_error().unwrap_or(0);
            lock(&self.state).failure = Some((errno, error.to_string()));
        }
    }

    fn now_ns(&self) -> i64 {
        sys::now_ns().unwrap_or(0).cast_signed() - self.begin_ns.cast_signed()
    }

    #[allow(unsafe_code)]
    fn command(&self) -> io::Result<Command> {
        let Some((name, arguments)) = self.plan.command.split_first() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let input = match &self.plan.input {
            Some(file) => Stdio::from(File::open(Path::new(RUN_DIRECTORY).join(file))?),
            None => Stdio::null(),
        };
        let mut command = Command::new(name);
        let environment = self.plan.environment.iter();
        command
            .args(arguments)
            .env_clear()
            .envs(environment.map(|(name, value)| (name, value)))
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let root = hosts::root(self.plan.host);
        let directory = self.plan.directory.as_deref().unwrap_or("/");
        // Here its error has words.
        working_directory(&root, directory)?;
        let [root, directory] =
            [root.as_os_str().as_bytes(), directory.as_bytes()].map(CString::new);
        let (root, directory, host) = (root?, directory?, self.host.clone());
        let (apart, known) = (self.apart.clone(), rights::Known::ask()?);
        let enter = move || {
            apart.join()?;
            unshare(CloneFlags::CLONE_NEWUTS | CloneFlags::CLONE_NEWNS)?;
            sethostname(&host)?;
            // Unlike chroot, it leaves nothing outside of the root to go to: the old root is put over
            // the new one and taken away (pivot_root(2)).
            chdir(root.as_c_str())?;
            pivot_root(c".", c".")?;
            umount2(c".", MntFlags::MNT_DETACH)?;
            chdir(directory.as_c_str())?;
            umask(USUAL_MASK);
            setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES[0], OPEN_FILES[1])?;
            setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
            prctl::set_timerslack(TIMER_SLACK_NS.into())?;
            rights::of_root(known)
        };
        // SAFETY: system calls alone, on memory that was made before the fork.
        unsafe { command.pre_exec(enter) };
        Ok(command)
    }

    /// Passes on what it writes.
    fn keep_outputs(&self, child: &mut Child) -> io::Result<()> {
        let output = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let error = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        for (stream, pipe) in (1..).zip([output, error]) {
            let Some(pipe) = pipe else { continue };
            let name = output_file(self.index, stream);
            let file = File::create(Path::new(RUN_DIRECTORY).join(name))?;
            let state = Arc::clone(&self.state);
            let most = self.plan.most_output_bytes.unwrap_or(u64::MAX);
            let kind = if stream == 1 { "output" } else { "error" };
            let what =
                format!("keeping the standard {kind} of {} on {}", self.plan.command[0], self.host);
            spawn("output", move || {
                let count = |bytes| lock(&state).output_bytes[stream as usize - 1] += bytes;
                if let Err(error) = pass_on(pipe, file, most, count) {
                    let why = format!("{error}; the rest of it is lost, so the run was ended");
                    lock(&state).lost_output.get_or_insert((what, why));
                }
            })?;
        }
        Ok(())
    }

    /// Asks it and its children, which may outlive it, to end at its time.
    fn stop_in_time(&self, child: &Child) -> io::Result<Option<JoinHandle<()>>> {
        let Some(stop_ns) = self.plan.stop_ns else { return Ok(None) };
        let (until, group) = (self.begin_ns + stop_ns, Pid::from_raw(child.id().cast_signed()));
        let stop = move || {
            sys::sleep_until(until);
            let _ = killpg(group, Signal::SIGTERM);
        };
        spawn("stop", stop).map(Some)
    }

    fn note_end(&self, status: ExitStatus) {
        let mut state = lock(&self.state);
        state.ended_ns = Some(self.now_ns());
        (state.exit_code, state.signal) = (status.code(), status.signal());
    }
}

/// Opens a working directory by its path below a host's root. An error of it has no errno: those are the
/// command's.
fn working_directory(root: &Path, path: &str) -> io::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_IN_ROOT);
    openat2(File::open(root)?, path, how).map_err(|errno| {
        let hint = match errno {
            Errno::ENOENT => "; a host has its own /dev, /proc, /run and /sys",
            _ => "",
        };
        io::Error::other(format!("its working directory {path}: {}{hint}", errno.desc()))
    })
}

/// Copies to a file until the last writer has closed the pipe; what is more than `most` is counted alone.
fn pass_on(
    mut pipe: impl Read,
    mut file: impl Write,
    most: u64,
    count: impl Fn(u64),
) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut room = most;
    loop {
        let length = match pipe.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        count(length as u64);
        let kept = usize::try_from(room).unwrap_or(usize::MAX).min(length);
        room -= kept as u64;
        file.write_all(&piece[..kept])?;
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.into()).spawn(work)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::env;
    use std::fs;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_working_directory_is_found_below_the_root_of_its_host_or_named() {
        let root = env::temp_dir().join(format!("fairway-root-{}", std::process::id()));
        fs::create_dir_all(root.join("home/there")).unwrap();
        fs::write(root.join("home/file"), "").unwrap();
        // A link with a path from the host's root.
        let _ = symlink("/home/there", root.join("home/link"));
        let found = working_directory(&root, "/home/link").unwrap();
        let found = fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).unwrap();
        assert_eq!(found, root.join("home/there"));
        for (path, expected) in [
            (
                "/home/gone",
                "its working directory /home/gone: No such file or directory; \
                 a host has its own /dev, /proc, /run and /sys",
            ),
            ("/home/file", "its working directory /home/file: Not a directory"),
        ] {
            let error = working_directory(&root, path).unwrap_err();
            assert_eq!((error.raw_os_error(), error.to_string().as_str()), (None, expected));
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_is_more_than_is_kept_is_counted() {
        let counted = Cell::new(0);
        let count = |bytes| counted.set(counted.get() + bytes);
        let mut kept = Vec::new();
        pass_on(&b"0123456789"[..], &mut kept, 4, count).unwrap();
        assert_eq!((kept.as_slice(), counted.get()), (&b"0123"[..], 10));
    }

    #[test]
    fn what_cannot_be_kept_is_an_error() {
        let mut room = [0; 4];
        let kept = pass_on(&b"0123456789"[..], &mut room[..], 10, |_| {});
        assert_eq!(kept.unwrap_err().kind(), io::ErrorKind::WriteZero);
        assert_eq!(&room, b"0123");
    }
}
