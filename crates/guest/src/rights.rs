//! The rights of a program on a host: a list of those that it has, and nothing else.

#![allow(unsafe_code)]

use std::fs;
use std::io;

use nix::sys::prctl;

/// Capabilities of root on a host, by number (`linux/capability.h`). One that a newer kernel adds is not
/// among them.
///
/// Without CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_MKNOD, CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT and
/// CAP_DAC_READ_SEARCH a program could not mount the files of this machine again, reach the kernel's memory
/// or its first process, or open a file by its handle; without CAP_SYS_TIME all hosts keep the same time.
const OF_ROOT: [Capability; 10] = [
    // Servers give files to the users that they run as, and write into directories of others.
    (0, "CAP_CHOWN"),
    (1, "CAP_DAC_OVERRIDE"),
    (3, "CAP_FOWNER"),
    (4, "CAP_FSETID"),
    // Masters stop workers that have changed their user; a host sees its own processes alone.
    (5, "CAP_KILL"),
    // nginx and sshd change their user and their groups.
    (6, "CAP_SETGID"),
    (7, "CAP_SETUID"),
    // Ports below 1024; addresses, routes, queues; ping and captures.
    (10, "CAP_NET_BIND_SERVICE"),
    (12, "CAP_NET_ADMIN"),
    (13, "CAP_NET_RAW"),
];

/// sshd locks the process that meets strangers into an empty directory. Who breaks out of that arrives at
/// the host's root: the old root is gone from a program's mounts, not hidden.
const CHROOT: Capability = (18, "CAP_SYS_CHROOT");

type Capability = (u32, &'static str);

/// The header of capset(2): version 3 has two words of each set (`linux/capability.h`).
#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Word {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const VERSION_3: u32 = 0x2008_0522;

/// The last capability that the kernel knows.
#[derive(Clone, Copy)]
pub struct Known(u32);

impl Known {
    /// Asks the kernel. To try until it knows one no more would be a system call that fails, and those take
    /// virtual time.
    pub fn ask() -> io::Result<Self> {
        let last = fs::read_to_string("/proc/sys/kernel/cap_last_cap")?;
        match last.trim().parse() {
            Ok(last) if last < u64::BITS => Ok(Known(last)),
            _ => Err(io::Error::other(format!("{last:?} in /proc/sys/kernel/cap_last_cap"))),
        }
    }
}

/// Leaves this process the capabilities of root on a host, and no way to more. It makes system calls alone,
/// so that it may stand between fork and exec.
pub fn of_root(known: Known) -> io::Result<()> {
    let kept = OF_ROOT.iter().chain([&CHROOT]).fold(0, |bits, (number, _)| bits | 1 << number);
    keep(kept, known)
}

/// Leaves this process no capability at all.
pub fn none() -> io::Result<()> {
    keep(0, Known::ask()?)
}

/// Leaves the program that this process executes next, on the host, what it reads files with, of what the
/// process has: User-Mode Linux as root needs nothing else.
///
/// The process itself keeps the rest until then. A program that had more than the process would lose its
/// personality, and with it the places of its memory (`cap_bprm_creds_from_file` of security/commoncap.c).
pub fn to_read() -> io::Result<()> {
    const DAC_OVERRIDE: u32 = 1;
    const DAC_READ_SEARCH: u32 = 2;
    prctl::set_no_new_privs()?;
    match bound(1 << DAC_OVERRIDE | 1 << DAC_READ_SEARCH, Known::ask()?) {
        // Who may not give capabilities up is not root.
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
        other => other?,
    }
    clear_ambient()?;
    let header = Header { version: VERSION_3, pid: 0 };
    let mut words = [Word::default(); 2];
    // SAFETY: the header and both words that its version asks for live longer than the call.
    let got = unsafe { libc::syscall(libc::SYS_capget, &raw const header, words.as_mut_ptr()) };
    checked(got as libc::c_int)?;
    set(words.map(|word| Word { inheritable: 0, ..word }))
}

/// Leaves this process, and whatever it executes, the capabilities of a set of bits.
fn keep(bits: u64, known: Known) -> io::Result<()> {
    // The bounding set first: that takes a capability that is gone afterwards.
    bound(bits, known)?;
    clear_ambient()?;
    let word = |bits: u32| Word { effective: bits, permitted: bits, inheritable: 0 };
    set([word(bits as u32), word((bits >> 32) as u32)])?;
    // Files with more rights, such as sudo, give none of them.
    Ok(prctl::set_no_new_privs()?)
}

/// Takes all capabilities but a set of bits from the bounding set.
fn bound(bits: u64, known: Known) -> io::Result<()> {
    for number in (0..=known.0).filter(|number| bits & 1 << number == 0) {
        // SAFETY: numbers alone.
        checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number)) })?;
    }
    Ok(())
}

fn clear_ambient() -> io::Result<()> {
    let (operation, zero) = (libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong, 0 as libc::c_ulong);
    // SAFETY: numbers alone.
    checked(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, operation, zero, zero, zero) })
}

fn set(words: [Word; 2]) -> io::Result<()> {
    let header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: the header and both words that its version asks for live longer than the call.
    let set = unsafe { libc::syscall(libc::SYS_capset, &raw const header, words.as_ptr()) };
    checked(set as libc::c_int)
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Of `linux/capability.h`, each with the one way out that it opens.
    const WITHHELD: [(u32, &str); 12] = [
        (2, "open_by_handle_at"),
        (8, "capabilities of others"),
        (16, "init_module"),
        (17, "ioperm, /dev/mem"),
        (19, "ptrace"),
        (21, "mount"),
        (22, "reboot"),
        (25, "clock_settime"),
        (27, "mknod"),
        (34, "the kernel's log"),
        (39, "bpf"),
        (40, "checkpoint_restore"),
    ];

    #[test]
    fn a_program_has_no_capability_that_leads_out() {
        let kept: BTreeSet<u32> = OF_ROOT.iter().chain([&CHROOT]).map(|(n, _)| *n).collect();
        for (number, way) in WITHHELD {
            assert!(!kept.contains(&number), "capability {number}: {way}");
        }
        assert_eq!(kept.len(), OF_ROOT.len() + 1, "each once");
    }
}
