//! The system calls that User-Mode Linux makes of its host, kept by seccomp(2). Any other one fails with
//! EPERM.
//!
//! A call of a program inside never comes here: the host stops the program before it looks at this list
//! (`syscall_trace_enter` of kernel/entry/common.c), and the kernel answers it. The calls are those of
//! arch/um/os-Linux and fs/hostfs/hostfs_user.c, of libc and the loader before that, and of the library of
//! Fairway's network.

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Calls that may have any arguments.
const ANY: &[libc::c_long] = &[
    // To read files and directories.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_openat,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_getcwd,
    libc::SYS_fadvise64,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    // To write them; where, is for Landlock to say. Owners and modes are not for it, so that
    // nothing changes those; nor does a path change a file's size.
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_umask,
    // Memory: the kernel's own, and by stubs that of its programs.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    // Processes of its own. The host lets it neither trace nor signal others (Landlock). None can leave the
    // group, so that one signal of the supervisor ends them all, however fast they make others.
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_ptrace,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_prctl,
    libc::SYS_getrusage,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_futex,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    // Signals.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    // Clocks and timers.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_delete,
    libc::SYS_setitimer,
    // Waiting for several files.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
];

/// Older forms, which later architectures lack.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_getpgrp,
    libc::SYS_arch_prctl,
    // A stub sets an empty segment of its own process (arch/x86/um/ldt.c, `init_new_ldt` of Linux 6.1).
    libc::SYS_modify_ldt,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_pause,
    libc::SYS_alarm,
    libc::SYS_time,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// `CLONE_NEW…`, each another namespace (`linux/sched.h`).
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32 as u64;

/// Requests of ioctl(2): whether a file is a terminal, its size, the bytes in a pipe (arch/um/os-Linux, tty.c
/// and file.c), and to close a file at the next program, as fcntl(2) may.
const REQUESTS: [u64; 5] =
    [libc::TCGETS, libc::TCGETS2, libc::TIOCGWINSZ, libc::FIONREAD, libc::FIOCLEX];

/// Commands of fcntl(2): another number for a file, its flags, and the signal that it is ready
/// (`os_set_fd_async` of arch/um/os-Linux/file.c). Locks and leases would hold up other programs that use a
/// file which this one can only read.
const OF_FILES: [libc::c_int; 8] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_SETOWN,
    F_SETSIG,
];

/// `F_SETSIG` (`asm-generic/fcntl.h`), which libc lacks.
const F_SETSIG: libc::c_int = 10;

/// The filter, made before the fork.
pub struct Calls(BpfProgram);

impl Calls {
    pub fn of_a_kernel() -> io::Result<Self> {
        let program = filter().and_then(BpfProgram::try_from);
        program.map(Calls).map_err(io::Error::other)
    }

    /// Leaves the calling process these calls, to the end of it and of all that it starts.
    pub fn enter(&self) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: self.0.len() as libc::c_ushort,
            filter: self.0.as_ptr().cast_mut().cast(),
        };
        // Hosts before Linux 5.16 would turn speculation off for such a process, which makes it slower.
        let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        // SAFETY: the filter, instructions of the same form as the kernel's, lives longer than the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::c_ulong::from(libc::SECCOMP_SET_MODE_FILTER),
                flags,
                &raw const program,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn filter() -> Result<SeccompFilter, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ANY.iter().chain(OLDER).map(|number| (*number, Vec::new())).collect();
    let rule = |argument, operator, value| {
        // The kernel looks at 32 bits of these arguments, too.
        let length = SeccompCmpArgLen::Dword;
        SeccompRule::new(vec![SeccompCondition::new(argument, length, operator, value)?])
    };
    // Threads and copies, in the namespaces of the process.
    let same = SeccompCmpOp::MaskedEq(NAMESPACES);
    rules.insert(libc::SYS_clone, vec![rule(0, same, 0)?]);
    // Pairs of sockets that are pipes; there is no other socket.
    let local = libc::AF_UNIX as u64;
    rules.insert(libc::SYS_socketpair, vec![rule(0, SeccompCmpOp::Eq, local)?]);
    let requests = REQUESTS.iter().map(|request| rule(1, SeccompCmpOp::Eq, *request));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    let of_files = OF_FILES.iter().map(|command| rule(1, SeccompCmpOp::Eq, *command as u64));
    rules.insert(libc::SYS_fcntl, of_files.collect::<Result<_, _>>()?);
    // Limits of the process itself: those of others would end them.
    rules.insert(libc::SYS_prlimit64, vec![rule(0, SeccompCmpOp::Eq, 0)?]);
    // Times of an open file alone, by no path: the kernel sets them with a file's size (`set_attr` of
    // fs/hostfs/hostfs_user.c).
    let no_path = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![no_path])?]);
    // A rename may leave a device in the place of a file, which Landlock does not look at.
    let plain = SeccompCmpOp::MaskedEq(u64::from(libc::RENAME_WHITEOUT));
    rules.insert(libc::SYS_renameat2, vec![rule(4, plain, 0)?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, refused, SeccompAction::Allow, ARCH.try_into()?)
}
