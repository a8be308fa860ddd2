//! Files kept by a namespace of mounts, where the host lacks Landlock: all of them are mounted read-only,
//! but for a few places.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs;
use std::io;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, chdir, fork, getegid, geteuid};

use super::Places;

/// A wall that is made and not yet entered.
pub struct Mounts {
    /// The places that stay writable, the run directory first.
    places: Vec<CString>,
}

impl Mounts {
    pub fn new(places: &Places) -> io::Result<Self> {
        let places = places.all().filter(|place| place.is_dir());
        let places = places.map(|place| CString::new(place.as_os_str().as_bytes()));
        Ok(Mounts { places: places.collect::<Result<_, _>>()? })
    }

    /// Puts the calling process behind the wall.
    pub fn enter(&self) -> io::Result<()> {
        leave()?;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
        for place in &self.places {
            let bind = MsFlags::MS_BIND;
            mount(Some(place.as_c_str()), place.as_c_str(), None::<&str>, bind, None::<&str>)?;
        }
        set_read_only(c"/".to_owned(), true, libc::AT_RECURSIVE as libc::c_uint)?;
        for place in &self.places {
            set_read_only(place.clone(), false, 0)?;
        }
        // The working directory is still that of the mount before.
        if let Some(directory) = self.places.first() {
            chdir(directory.as_c_str())?;
        }
        Ok(())
    }
}

/// Whether this host lets a process have a namespace of mounts, tried in a child.
pub fn probe() -> io::Result<()> {
    // SAFETY: the supervisor has one thread, so that the child has whole memory.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let tried = Mounts { places: Vec::new() }.enter();
            let code = tried.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
            // SAFETY: ends this process alone, and runs nothing that its parent has left to do.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => match waitpid(child, None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, errno) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::other("the process that tried it was killed")),
        },
    }
}

/// Leaves the host's namespace of mounts; without the right to, by a namespace of users in which this one
/// has the same number, and files of others belong to nobody.
fn leave() -> io::Result<()> {
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Changes a mount, or all below it, by mount_setattr(2).
fn set_read_only(place: CString, is_read_only: bool, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: a request of zeros changes nothing.
    let mut request: libc::mount_attr = unsafe { std::mem::zeroed() };
    let change = if is_read_only { &mut request.attr_set } else { &mut request.attr_clr };
    *change = libc::MOUNT_ATTR_RDONLY;
    // SAFETY: the path and the request, whose size is given, live longer than the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            place.as_ptr(),
            flags,
            &raw const request,
            size_of::<libc::mount_attr>(),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
