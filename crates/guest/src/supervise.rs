//! On the host: starts a kernel and sees to it that nothing of it stays, however it ends and
//! however the one who wanted it ends.
//!
//! A kernel is a process whose guests are processes too, which it traces. They would stay, and
//! run on, if it were killed alone. So they all are in one group, which is killed as a whole, and
//! the supervisor inherits and kills what has left the group. It is a process of its own because
//! its caller may be killed at any time; its standard input then comes to an end.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use crate::confinement::{Confinement, Places};

/// What the supervisor is asked to do by its first argument.
pub const COMMAND: &str = "supervise";
/// Names the directory of the kernel's memory (arch/um/os-Linux/mem.c, `which_tmpdir`).
const SCRATCH: &str = "TMPDIR";
/// File of the run directory that says why the host places the kernel's memory at random, if it does.
const ASLR: &str = "aslr";
/// Exit code when the kernel could not be started, as a shell has it.
const NOT_STARTED: u8 = 127;
/// Added to the number of the signal that has ended the kernel, as a shell does it.
const SIGNALLED: u8 = 128;

/// `supervise DIRECTORY KERNEL ARGUMENT…`: runs the kernel until it ends, standard input ends, or
/// a signal asks for the end. If standard input has ended without a word, nobody is left who could
/// remove the directory: then it is removed.
pub fn supervise(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    match Supervisor::start(arguments) {
        Err(error) => {
            eprintln!("fairway-guest {COMMAND}: {error}");
            ExitCode::from(NOT_STARTED)
        }
        Ok(supervisor) => supervisor.work(),
    }
}

struct Supervisor {
    places: Places,
    kernel: std::process::Child,
    signals: SignalFd,
    /// Says that the processor is taken, until this is gone.
    _processor: Option<UnixListener>,
}

/// Why the supervisor stops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Kernel,
    Asked,
    Alone,
}

impl Supervisor {
    #[allow(unsafe_code)]
    fn start(mut arguments: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let (Some(directory), Some(kernel)) = (arguments.next(), arguments.next()) else {
            return Err(io::Error::other("needs a directory and a kernel"));
        };
        // A kernel that panics aborts, and its memory is large.
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        turn_off_aslr(Path::new(&directory));
        set_child_subreaper(true)?;
        // What a started program inherits of this, the standard library undoes.
        let mut asked = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            asked.add(signal);
        }
        asked.thread_block()?;
        let processor = take_a_processor();
        let signals = SignalFd::with_flags(&asked, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let scratch = std::env::var_os(SCRATCH).map(PathBuf::from);
        let places = Places { directory: directory.into(), scratch };
        // Last: the mark of a processor is a socket, and a personality no call of a kernel.
        let mut wall = Confinement::raise(&places)
            .map_err(|error| io::Error::other(format!("confining the kernel: {error}")))?;
        let mut command = Command::new(&kernel);
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        // SAFETY: this process has one thread, so that the child has whole memory.
        unsafe { command.pre_exec(move || wall.enter()) };
        let kernel = command.spawn().map_err(|error| {
            io::Error::other(format!("starting {}: {error}", kernel.to_string_lossy()))
        })?;
        Ok(Supervisor { places, kernel, signals, _processor: processor })
    }

    fn work(mut self) -> ExitCode {
        let end = self.wait().unwrap_or(End::Asked);
        // Before the kernel's process is waited for: until then nobody else gets its number.
        let _ = killpg(self.group(), Signal::SIGKILL);
        let status = self.kernel.wait();
        kill_the_rest();
        if end == End::Alone {
            let _ = fs::remove_dir_all(&self.places.directory);
        }
        // Its only file had no name.
        let _ = self.places.scratch.as_ref().map(fs::remove_dir);
        ExitCode::from(status.map_or(NOT_STARTED, code))
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.kernel.id().cast_signed())
    }

    fn wait(&mut self) -> io::Result<End> {
        let mut input = io::stdin().lock();
        let mut told = false;
        loop {
            let wanted = PollFlags::POLLIN;
            let mut files =
                [PollFd::new(input.as_fd(), wanted), PollFd::new(self.signals.as_fd(), wanted)];
            match poll(&mut files, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other?,
            };
            let [has_input, has_signal] = files.map(|file| file.any().unwrap_or(true));
            if has_signal && let Some(end) = self.take_signals()? {
                return Ok(end);
            }
            if has_input {
                match input.read(&mut [0; 64])? {
                    0 if told => return Ok(End::Asked),
                    0 => return Ok(End::Alone),
                    _ => told = true,
                }
            }
        }
    }

    fn take_signals(&mut self) -> io::Result<Option<End>> {
        while let Some(signal) = self.signals.read_signal()? {
            if signal.ssi_signo != Signal::SIGCHLD as u32 {
                return Ok(Some(End::Asked));
            }
        }
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let ended = waitid(Id::Pid(self.group()), flags)? != WaitStatus::StillAlive;
        Ok(ended.then_some(End::Kernel))
    }
}

/// Turns address space layout randomization off for the kernel that this process starts.
///
/// A kernel counts the room between its program and its heap, up to 1 GiB at random, as memory
/// (arch/um/kernel/um_arch.c, `linux_main`; `arch_randomize_brk` of the host), and sizes its tables and
/// limits by that: it would have 8,192 or 16,384 hash buckets for connections. Containers may refuse it.
fn turn_off_aslr(directory: &Path) {
    let turned_off = personality::get()
        .and_then(|persona| personality::set(persona | Persona::ADDR_NO_RANDOMIZE));
    if let Err(error) = turned_off {
        // A directory that takes no file takes no results either.
        let _ = fs::write(directory.join(ASLR), error.desc());
    }
}

/// Keeps this process, and the kernel that it starts, on a processor that no other kernel has, if there
/// is one. An abstract name (unix(7)) is the mark that one has it, and goes with the supervisor.
///
/// The one that it runs on comes first: the host starts programs where least is to do, and marks of other
/// network namespaces, such as other containers', are not seen.
///
/// Of a kernel and its programs one runs at a time, and a system call of a program is several changes from
/// one to the other. Between two processors, of which the idle one sleeps, a change took 48 µs on a virtual
/// machine, and 3 to 5 µs on one.
fn take_a_processor() -> Option<UnixListener> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let is_allowed = |number: &usize| allowed.is_set(*number).unwrap_or(false);
    for number in sched_getcpu().into_iter().chain(0..CpuSet::count()).filter(is_allowed) {
        let name = SocketAddr::from_abstract_name(format!("fairway-processor-{number}")).ok()?;
        let Ok(mark) = UnixListener::bind_addr(&name) else { continue };
        let mut only = CpuSet::new();
        only.set(number).ok()?;
        sched_setaffinity(Pid::from_raw(0), &only).ok()?;
        return Some(mark);
    }
    None
}

/// Kills all that the supervisor has inherited, and waits for it.
fn kill_the_rest() {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
            Ok(WaitStatus::StillAlive) => {}
            Ok(_) => continue,
            Err(_) => return,
        }
        for child in children() {
            let _ = kill(child, Signal::SIGKILL);
        }
        if waitpid(None, Some(WaitPidFlag::__WALL)).is_err() {
            return;
        }
    }
}

fn children() -> Vec<Pid> {
    let me = std::process::id();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| parent(*pid) == Some(me))
        .map(Pid::from_raw)
        .collect()
}

/// The parent of a process: in `/proc/PID/stat` the second word behind the name, which stands in
/// brackets and may hold anything.
fn parent(pid: i32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn code(status: ExitStatus) -> u8 {
    let signalled = || status.signal().map(|number| number | i32::from(SIGNALLED));
    status.code().or_else(signalled).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
