//! What a host shows of the kernel: /proc and /sys that nothing but the network is set by, and a /dev with
//! the devices that programs need.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sys::stat::{Mode, SFlag, makedev, mknod, umask};

use crate::hosts::{Failure, attach, failing};

/// Files of /proc that control the kernel itself, by writing or by reading: Fairway's network
/// (`kernel/network/fairway_kern.c`), User-Mode Linux's tracing, exit code and console
/// (arch/um/kernel/process.c and exitcode.c, arch/um/drivers/mconsole_kern.c), and what other kernels have.
const HIDDEN: [&str; 9] = [
    "fairway",
    "sysemu",
    "exitcode",
    "mconsole",
    "sysrq-trigger",
    "kcore",
    "kmsg",
    "kallsyms",
    "keys",
];
/// Settings that a host has for itself: the kernel shows those of the reader's network namespace, and none
/// that all share (net/sysctl_net.c).
const NETWORK_SETTINGS: &str = "sys/net";
/// Its devices, in /sys.
const NETWORK_DEVICES: &str = "devices/virtual/net";
/// Character devices that programs need, with their numbers (Documentation/admin-guide/devices.txt).
const DEVICES: [(&str, u64, u64); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];
/// Links that programs expect there (proc(5), pts(4)).
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// File systems of a host hold no programs with more rights.
const PLAIN: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);
const NO_PROGRAMS: MsFlags = PLAIN.union(MsFlags::MS_NOEXEC);

/// Restricts a /proc that is mounted already: all of it is read-only but for processes themselves and the
/// network's settings. `nothing` is an empty file that stands where files are hidden.
pub fn restrict_proc(proc: &Path, nothing: &Path) -> Result<(), Failure> {
    let what = || format!("reading {}", proc.display());
    for entry in fs::read_dir(proc).map_err(failing(what()))? {
        let entry = entry.map_err(failing(what()))?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(failing(what()))?);
        let is_process = name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        if is_process || kind.is_symlink() {
            continue;
        }
        let is_hidden = name.to_str().is_some_and(|name| HIDDEN.contains(&name));
        let shown = if is_hidden { nothing } else { &entry.path() };
        bind(shown, &entry.path(), NO_PROGRAMS | MsFlags::MS_RDONLY)?;
    }
    let settings = proc.join(NETWORK_SETTINGS);
    bind(&settings, &settings, NO_PROGRAMS)
}

/// Mounts a /sys in which only devices of the network can be set. It shows those of the namespace that the
/// calling thread is in.
pub fn mount_sys(sys: &Path) -> Result<(), Failure> {
    attach("sysfs", sys, None, NO_PROGRAMS)?;
    restrict(sys, NO_PROGRAMS | MsFlags::MS_RDONLY)?;
    let devices = sys.join(NETWORK_DEVICES);
    if devices.is_dir() { bind(&devices, &devices, NO_PROGRAMS) } else { Ok(()) }
}

/// Mounts a /dev with few devices, and in it the directories that each host has for itself.
pub fn mount_dev(dev: &Path) -> Result<(), Failure> {
    attach("tmpfs", dev, Some("mode=755"), MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC)?;
    let before = umask(Mode::empty());
    let made = fill_dev(dev);
    umask(before);
    made.map_err(failing(format!("filling {}", dev.display())))?;
    attach("tmpfs", &dev.join("shm"), Some("mode=1777"), PLAIN)?;
    attach(
        "devpts",
        &dev.join("pts"),
        Some("ptmxmode=0666"),
        MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
    )
}

fn fill_dev(dev: &Path) -> io::Result<()> {
    for (name, major, minor) in DEVICES {
        let mode = Mode::from_bits_truncate(0o666);
        mknod(&dev.join(name), SFlag::S_IFCHR, mode, makedev(major, minor))?;
    }
    for (name, target) in LINKS {
        symlink(target, dev.join(name))?;
    }
    for name in ["shm", "pts"] {
        fs::create_dir(dev.join(name))?;
        fs::set_permissions(dev.join(name), fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Shows `what` at a place, with flags of its own.
fn bind(what: &Path, at: &Path, flags: MsFlags) -> Result<(), Failure> {
    mount(Some(what), at, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .map_err(|error| failing(format!("binding {}", at.display()))(error.into()))?;
    restrict(at, flags)
}

fn restrict(at: &Path, flags: MsFlags) -> Result<(), Failure> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | flags;
    mount(None::<&str>, at, None::<&str>, flags, None::<&str>)
        .map_err(|error| failing(format!("restricting {}", at.display()))(error.into()))
}
