//! The supervisor, with shells in the place of kernels.

#![allow(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "processes of the host take its time")]

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything here may take; it takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// A supervised shell and its run directory.
struct Supervised {
    directory: PathBuf,
    child: Child,
}

impl Supervised {
    /// Starts a script that finds its directory in `$1`.
    fn start(name: &str, script: &str) -> Self {
        Self::start_after(name, script, || Ok(()))
    }

    /// Likewise, after the supervisor's process has done something.
    fn start_after(
        name: &str,
        script: &str,
        before: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let name = format!("fairway-supervise-{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let mut supervisor = Command::new(env!("CARGO_BIN_EXE_fairway-guest"));
        supervisor
            .arg("supervise")
            .args([&directory, Path::new("/bin/sh")])
            .args(["-c", script, "sh"])
            .arg(&directory)
            .stdin(Stdio::piped())
            .stderr(Stdio::null());
        // SAFETY: what is done calls the kernel, and allocates nothing.
        unsafe { supervisor.pre_exec(before) };
        let child = supervisor.spawn().unwrap();
        Supervised { directory, child }
    }

    /// Waits for the number that a script writes into a file of its directory.
    fn number(&self, file: &str) -> u32 {
        let path = self.directory.join(file);
        let mut found = None;
        wait(|| {
            found = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
            found.is_some()
        });
        found.unwrap()
    }

    fn close(&mut self, word: &str) {
        let mut input = self.child.stdin.take().unwrap();
        input.write_all(word.as_bytes()).unwrap();
    }

    fn end(&mut self) -> ExitStatus {
        let mut status = None;
        wait(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn wait(mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "nothing has happened");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs: one that has ended and that nobody has asked for is a zombie.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

const SLEEP: &str = "echo $$ > $1/pid; exec sleep 1000";

#[test]
fn the_end_of_a_kernel_is_passed_on() {
    assert_eq!(Supervised::start("code", "exit 7").end().code(), Some(7));
    assert_eq!(Supervised::start("signal", "kill -ABRT $$").end().code(), Some(128 + 6));
}

#[test]
fn a_closed_input_ends_the_kernel_and_removes_its_directory() {
    let mut supervised = Supervised::start("alone", SLEEP);
    let kernel = supervised.number("pid");
    assert!(runs(kernel));
    supervised.close("");
    assert_eq!(supervised.end().code(), Some(128 + 9));
    assert!(!runs(kernel));
    assert!(!supervised.directory.exists());
}

#[test]
fn a_word_before_it_leaves_the_directory() {
    let mut supervised = Supervised::start("asked", SLEEP);
    let kernel = supervised.number("pid");
    supervised.close("end\n");
    assert_eq!(supervised.end().code(), Some(128 + 9));
    assert!(!runs(kernel));
    assert!(supervised.directory.exists());
}

#[test]
fn a_signal_ends_grandchildren_as_well() {
    // One whose parent is gone.
    let script = format!("(sh -c 'echo $$ > $0/far; exec sleep 1000' $1 &); {SLEEP}");
    let mut supervised = Supervised::start("signalled", &script);
    let (kernel, far) = (supervised.number("pid"), supervised.number("far"));
    assert!(runs(kernel) && runs(far));
    let pid = supervised.child.id().to_string();
    assert!(
        Command::new("/bin/sh").args(["-c", "kill -TERM $0", &pid]).status().unwrap().success()
    );
    assert_eq!(supervised.end().code(), Some(128 + 9));
    assert!(!runs(kernel) && !runs(far));
}

#[test]
fn a_kernel_whose_processes_never_stop_making_others_is_ended() {
    // Forty chains, each of one process at a time, which tries to leave the group and makes the next.
    const CHAIN: &str = "import os\n\
        while True:\n try: os.setsid()\n except OSError: pass\n if os.fork(): os._exit(0)";
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n\
         python3 -c '{CHAIN}' &\n python3 -c '{CHAIN}' &\n done; {SLEEP}"
    );
    let mut supervised = Supervised::start("chains", &script);
    supervised.number("pid");
    supervised.close("end\n");
    assert_eq!(supervised.end().code(), Some(128 + 9));
}

const PERSONALITY: &str = "cat /proc/self/personality > $1/personality";

/// What a container does: has every call of a number fail with an error.
fn refuse(number: libc::c_long, errno: libc::c_int) -> io::Result<()> {
    // The call's number, then: if it is that one, go on, else skip one instruction.
    let code = |code: u32, skipped: u8, value: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: skipped,
        k: value,
    };
    let mut filter = [
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, number as u32),
        code(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        code(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    nix::sys::prctl::set_no_new_privs()?;
    // SAFETY: the program and its filter live longer than the call, which copies them.
    let result =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn refuse_personality() -> io::Result<()> {
    refuse(libc::SYS_personality, libc::EPERM)
}

#[test]
fn a_kernel_has_its_memory_at_the_same_place_each_time() {
    let mut supervised = Supervised::start("personality", PERSONALITY);
    assert_eq!(supervised.end().code(), Some(0));
    let persona = fs::read_to_string(supervised.directory.join("personality")).unwrap();
    // ADDR_NO_RANDOMIZE of linux/personality.h, but in a container that refuses it.
    let is_refused = supervised.directory.join("aslr").exists();
    assert_eq!(persona.trim(), if is_refused { "00000000" } else { "00040000" });
}

#[test]
fn a_host_that_places_memory_at_random_is_told_of() {
    let mut supervised = Supervised::start_after("random", PERSONALITY, refuse_personality);
    assert_eq!(supervised.end().code(), Some(0));
    let why = fs::read_to_string(supervised.directory.join("aslr")).unwrap();
    assert_eq!(why, "Operation not permitted");
}

/// Starts a kernel, and returns the processor that it is kept on, if it is.
fn start_on_processor(name: &str) -> (Supervised, Option<u32>) {
    let script = "grep Cpus_allowed_list /proc/self/status > $1/new
        mv $1/new $1/processors; exec sleep 1000";
    let kernel = Supervised::start(name, script);
    let file = kernel.directory.join("processors");
    wait(|| file.exists());
    let line = fs::read_to_string(file).unwrap();
    let processor = line.rsplit_once('\t').unwrap().1.trim().parse().ok();
    (kernel, processor)
}

#[test]
fn no_two_kernels_have_the_same_processor() {
    let end = |mut kernel: Supervised| {
        kernel.close("end\n");
        kernel.end();
    };
    // Those of other tests may have all of them for a moment.
    let mut first = None;
    wait(|| match start_on_processor("first") {
        (kernel, Some(processor)) => {
            first = Some((kernel, processor));
            true
        }
        (kernel, None) => {
            end(kernel);
            false
        }
    });
    let (first, taken) = first.unwrap();
    let (second, other) = start_on_processor("second");
    end(first);
    end(second);
    assert_ne!(other, Some(taken));
}

/// Tries to write a file beside the run directory and one in it, and says how it went.
const WRITING: &str = "(echo x > $1-beside) 2> $1/said; echo $? > $1/code; echo y > $1/inside";

/// The exit code of writing beside the run directory, after the supervisor's process has done something,
/// and why this host has no wall for files, if it has none.
fn write_beside(
    name: &str,
    before: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> (u32, Option<String>) {
    let mut supervised = Supervised::start_after(name, WRITING, before);
    assert_eq!(supervised.end().code(), Some(0));
    let directory = &supervised.directory;
    assert_eq!(fs::read_to_string(directory.join("inside")).unwrap(), "y\n");
    let code = supervised.number("code");
    let beside = PathBuf::from(format!("{}-beside", directory.display()));
    assert_eq!(beside.exists(), code == 0, "{}", beside.display());
    let _ = fs::remove_file(beside);
    (code, fs::read_to_string(directory.join("unconfined")).ok())
}

#[test]
fn a_kernel_writes_nothing_beside_its_directory() {
    let (code, open) = write_beside("walled", || Ok(()));
    assert_eq!(code == 0, open.is_some(), "{open:?}");
}

#[test]
fn a_namespace_of_mounts_takes_the_place_of_landlock() {
    let refuse_landlock = || refuse(libc::SYS_landlock_create_ruleset, libc::ENOSYS);
    let (code, open) = write_beside("mounts", refuse_landlock);
    match open {
        None => assert_ne!(code, 0),
        Some(why) => println!("skipped: this host has no namespaces of mounts: {why}"),
    }
}

#[test]
fn a_host_without_a_wall_is_told_of() {
    let refuse_both = || {
        refuse(libc::SYS_landlock_create_ruleset, libc::EOPNOTSUPP)?;
        refuse(libc::SYS_unshare, libc::EPERM)
    };
    let (code, open) = write_beside("open", refuse_both);
    assert_eq!(code, 0);
    assert_eq!(
        open.as_deref(),
        Some(
            "Landlock: Operation not supported (os error 95); \
             mount namespace: Operation not permitted (os error 1)"
        )
    );
}

#[test]
fn the_place_of_the_memory_ends_with_the_kernel() {
    let scratch = std::env::temp_dir().join(format!("fairway-scratch-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    let mut supervisor = Command::new(env!("CARGO_BIN_EXE_fairway-guest"));
    // Its end would be that of the supervisor.
    let (input, open) = io::pipe().unwrap();
    let directory = scratch.with_extension("run");
    fs::create_dir_all(&directory).unwrap();
    let status = supervisor
        .arg("supervise")
        .args([&directory, Path::new("/bin/sh")])
        .args(["-c", "echo x > $TMPDIR/memory && rm $TMPDIR/memory"])
        .env("TMPDIR", &scratch)
        .stdin(input)
        .status()
        .unwrap();
    drop(open);
    assert_eq!((status.code(), scratch.exists()), (Some(0), false));
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_cannot_be_started_is_told() {
    let said = Command::new(env!("CARGO_BIN_EXE_fairway-guest"))
        .args(["supervise", "/nowhere", "/nowhere/linux"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(127));
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(text.contains("starting /nowhere/linux: No such file"), "{text}");
    for arguments in [&["supervise"][..], &["supervise", "/nowhere"]] {
        let status = Command::new(env!("CARGO_BIN_EXE_fairway-guest"))
            .args(arguments)
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(127));
    }
}

#[test]
fn it_is_no_program_for_people() {
    let said = Command::new(env!("CARGO_BIN_EXE_fairway-guest")).output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("is started by Fairway"));
}
