//! The files of hosts with programs: those of the host machine with a layer of their own over them.
//!
//! Each host has a root directory: an overlay whose lower layer is the host machine's root (hostfs,
//! read-only) and whose upper layer is in memory. What a program writes is seen by the programs of
//! its host alone, and goes with the run.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairway_guest::plan::{Host, Plan};
use nix::mount::{MsFlags, mount};

use crate::Error;
use crate::setup::Namespaces;

/// Where the roots are, and the layers that they consist of.
const ROOTS: &str = "/run/hosts";

/// What a name service is asked before the network, which has none: "files" alone.
const NAME_SERVICES: &str =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n";

/// The root directory of a host.
pub fn root(host: usize) -> PathBuf {
    Path::new(ROOTS).join(host.to_string()).join("root")
}

/// What was written below the root directory of a host, but for other file systems there.
pub fn upper(host: usize) -> PathBuf {
    Path::new(ROOTS).join(host.to_string()).join("upper")
}

/// Makes the files of all hosts of a plan.
pub fn make(plan: &Plan, namespaces: &Namespaces) -> Result<(), Error> {
    let names: String =
        plan.hosts.iter().map(|host| format!("{}\t{}\n", host.address, host.name)).collect();
    for (index, host) in plan.hosts.iter().enumerate() {
        // A file system of /sys shows the devices of the namespace that it is mounted from.
        namespaces.enter(host.namespace)?;
        make_root(index).map_err(|(what, error)| {
            Error::new(format!("making the files of host {}: {what}", host.name), error)
        })?;
        write_names(&root(index), host, &names).map_err(|error| {
            Error::new(format!("writing the names in /etc of host {}", host.name), error)
        })?;
    }
    namespaces.leave()
}

type Failure = (String, io::Error);

fn make_root(host: usize) -> Result<(), Failure> {
    let place = Path::new(ROOTS).join(host.to_string());
    let [upper, work, root] = ["upper", "work", "root"].map(|name| place.join(name));
    for directory in [&upper, &work, &root] {
        fs::create_dir_all(directory)
            .map_err(|error| (format!("making {}", directory.display()), error))?;
    }
    let layers = format!("lowerdir=/,upperdir={},workdir={}", upper.display(), work.display());
    attach("overlay", &root, Some(&layers))?;
    attach("proc", &root.join("proc"), None)?;
    attach("sysfs", &root.join("sys"), None)?;
    attach("tmpfs", &root.join("run"), None)?;
    // Not every machine has these.
    for (kind, place, data) in
        [("tmpfs", "dev/shm", None), ("devpts", "dev/pts", Some("ptmxmode=0666"))]
    {
        let place = root.join(place);
        if place.is_dir() {
            attach(kind, &place, data)?;
        }
    }
    for (place, mode) in [("run/lock", 0o1777), ("run/user", 0o755)] {
        make_directory(&root.join(place), mode)
            .map_err(|error| (format!("making /{place}"), error))?;
    }
    Ok(())
}

fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn attach(kind: &str, at: &Path, data: Option<&str>) -> Result<(), Failure> {
    mount(Some(kind), at, Some(kind), MsFlags::empty(), data)
        .map_err(|error| (format!("mounting {kind} at {}", at.display()), error.into()))
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
