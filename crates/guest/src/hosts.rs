//! The files of hosts with programs: those of the host machine with a layer of their own over them.
//!
//! Each host has a root directory: an overlay whose lower layer is the host machine's root (hostfs,
//! read-only) and whose upper layer is in memory. What a program writes is seen by the programs of
//! its host alone, and goes with the run. `views` is what it shows of the kernel, `apart` keeps its
//! processes from those of others.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairway_guest::plan::{Host, Plan};
use nix::mount::{MsFlags, mount};

use crate::Error;
use crate::apart::Apart;
use crate::setup::Namespaces;
use crate::views;

/// Where the roots are, and the layers that they consist of.
const ROOTS: &str = "/run/hosts";

/// What a name service is asked before the network, which has none: "files" alone.
const NAME_SERVICES: &str =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n";

/// An empty file that nobody may read, in the place of what hosts do not show.
const NOTHING: &str = "/run/hosts/nothing";

/// Settings by which a kernel would start a program of its own, as root of the whole kernel and outside of
/// every host, and the value that it starts none by (Documentation/admin-guide/sysctl/kernel.rst). Fairway's
/// kernels are built without such programs; others are not. Those that are not there are not needed.
const HELPERS: [(&str, &str); 7] = [
    ("/proc/sys/kernel/core_pattern", "\n"),
    ("/proc/sys/kernel/modprobe", "\n"),
    ("/proc/sys/kernel/hotplug", "\n"),
    ("/proc/sys/kernel/poweroff_cmd", "\n"),
    ("/sys/kernel/uevent_helper", "\n"),
    // Without any capability, if there is one that this list does not know.
    ("/proc/sys/kernel/usermodehelper/bset", "0 0\n"),
    ("/proc/sys/kernel/usermodehelper/inheritable", "0 0\n"),
];

/// The root directory of a host.
pub fn root(host: usize) -> PathBuf {
    Path::new(ROOTS).join(host.to_string()).join("root")
}

/// What was written below the root directory of a host, but for other file systems there.
pub fn upper(host: usize) -> PathBuf {
    Path::new(ROOTS).join(host.to_string()).join("upper")
}

/// Makes the files of all hosts of a plan, and what keeps their programs apart.
pub fn make(plan: &Plan, namespaces: &Namespaces) -> Result<Vec<Apart>, Error> {
    if plan.hosts.is_empty() {
        return Ok(Vec::new());
    }
    forbid_helpers()
        .map_err(|(what, error)| Error::new(format!("forbidding helpers: {what}"), error))?;
    let names: String =
        plan.hosts.iter().map(|host| format!("{}\t{}\n", host.address, host.name)).collect();
    let mut made = Vec::with_capacity(plan.hosts.len());
    for (index, host) in plan.hosts.iter().enumerate() {
        // A file system of /sys shows the devices of the namespace that it is mounted from.
        namespaces.enter(host.namespace)?;
        made.push(make_root(index).map_err(|(what, error)| {
            Error::new(format!("making the files of host {}: {what}", host.name), error)
        })?);
        write_names(&root(index), host, &names).map_err(|error| {
            Error::new(format!("writing the names in /etc of host {}", host.name), error)
        })?;
    }
    namespaces.leave()?;
    Ok(made)
}

/// A step that failed, and why.
pub type Failure = (String, io::Error);

/// The error of a step.
pub fn failing(what: String) -> impl FnOnce(io::Error) -> Failure {
    |error| (what, error)
}

/// Takes from the kernel the names of programs that it would start by itself. A value that a kernel does not
/// take is an error: no program starts on it then.
fn forbid_helpers() -> Result<(), Failure> {
    for (place, value) in HELPERS {
        let written = File::options().write(true).open(place);
        match written.and_then(|mut file| file.write_all(value.as_bytes())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other.map_err(failing(format!("writing {value:?} to {place}")))?,
        }
    }
    fs::create_dir_all(ROOTS)
        .and_then(|()| File::create_new(NOTHING))
        .and_then(|file| file.set_permissions(fs::Permissions::from_mode(0o000)))
        .map_err(failing(format!("making {NOTHING}")))
}

fn make_root(host: usize) -> Result<Apart, Failure> {
    let place = Path::new(ROOTS).join(host.to_string());
    let [upper, work, root] = ["upper", "work", "root"].map(|name| place.join(name));
    for directory in [&upper, &work, &root] {
        fs::create_dir_all(directory)
            .map_err(failing(format!("making {}", directory.display())))?;
    }
    let layers = format!("lowerdir=/,upperdir={},workdir={}", upper.display(), work.display());
    let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    attach("overlay", &root, Some(&layers), plain)?;
    let apart = Apart::make(&root.join("proc"))?;
    views::restrict_proc(&root.join("proc"), Path::new(NOTHING))?;
    views::mount_sys(&root.join("sys"))?;
    views::mount_dev(&root.join("dev"))?;
    attach("tmpfs", &root.join("run"), None, plain)?;
    for (place, mode) in [("run/lock", 0o1777), ("run/user", 0o755)] {
        make_directory(&root.join(place), mode).map_err(failing(format!("making /{place}")))?;
    }
    Ok(apart)
}

fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Mounts a file system of a kind.
pub fn attach(kind: &str, at: &Path, data: Option<&str>, flags: MsFlags) -> Result<(), Failure> {
    mount(Some(kind), at, Some(kind), flags, data)
        .map_err(|error| failing(format!("mounting {kind} at {}", at.display()))(error.into()))
}

fn write_names(root: &Path, host: &Host, names: &str) -> io::Result<()> {
    let etc = root.join("etc");
    for (file, text) in [
        ("hosts", format!("127.0.0.1\tlocalhost\n{names}")),
        ("hostname", format!("{}\n", host.name)),
        // Without a server in it, the resolver asks this host, where none is.
        ("resolv.conf", String::new()),
        ("nsswitch.conf", NAME_SERVICES.to_owned()),
    ] {
        let path = etc.join(file);
        // It may be a link that leads out of the root.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::write(&path, text)?,
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}
