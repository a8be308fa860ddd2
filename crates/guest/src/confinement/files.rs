//! Files, other processes and sockets, kept by Landlock (landlock(7)).
//!
//! Every right to write is taken, and given back below a few places; reading is left alone.

#![allow(unsafe_code)]

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::Places;

/// The newest version of Landlock whose rights are taken; a host with less takes those that it knows. 6
/// (Linux 6.12) has signals and abstract sockets, 4 TCP, 3 truncation.
const NEWEST: ABI = ABI::V6;

/// The consoles that nobody reads and writes (arch/um/drivers/null.c): without it the kernel has no console
/// at all.
const NO_CONSOLE: &str = "/dev/null";

/// A wall that is made and not yet entered.
pub type Rules = RulesetCreated;

/// Puts the calling process behind the supervisor's wall. An error says why this host has none.
pub fn supervise(places: &Places) -> io::Result<()> {
    version()?;
    let mut rules = everything()?;
    for place in places.all() {
        rules = allow(rules, place, AccessFs::from_write(NEWEST))?;
        if let Some(parent) = place.parent() {
            // It removes them if nobody else is left to.
            rules = allow(rules, parent, AccessFs::RemoveDir.into())?;
        }
    }
    // What a wall takes, one behind it cannot give back.
    restrict(allow(rules, Path::new(NO_CONSOLE), AccessFs::WriteFile.into())?)
}

/// The wall of a kernel: files and directories in its places, neither links nor devices.
pub fn of_a_kernel(places: &Places) -> io::Result<Rules> {
    let mut rules = everything()?;
    let written = AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        // To move a file from one directory of a place to another.
        | AccessFs::Refer;
    for place in places.all() {
        rules = allow(rules, place, written)?;
    }
    allow(rules, Path::new(NO_CONSOLE), AccessFs::WriteFile.into())
}

/// Puts the calling process behind a wall.
pub fn restrict(rules: Rules) -> io::Result<()> {
    let status = rules.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("this kernel does not enforce it"));
    }
    Ok(())
}

/// The version of Landlock that this host has (landlock_create_ruleset(2)).
pub fn version() -> io::Result<libc::c_long> {
    const VERSION: libc::c_ulong = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: without attributes the call answers with a number, and makes nothing.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    if version < 0 { Err(io::Error::last_os_error()) } else { Ok(version) }
}

/// Nothing is allowed of what Landlock knows, but to read and to execute.
fn everything() -> io::Result<Rules> {
    Ruleset::default()
        .handle_access(AccessFs::from_write(NEWEST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)
}

/// Allows something at and below a place; a place that is not there needs nothing.
fn allow(rules: Rules, place: &Path, access: BitFlags<AccessFs>) -> io::Result<Rules> {
    let Ok(opened) = PathFd::new(place) else { return Ok(rules) };
    rules.add_rule(PathBeneath::new(opened, access)).map_err(io::Error::other)
}
