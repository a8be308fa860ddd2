//! Threads by the thousand.
//!
//! The first time that a thread runs, User-Mode Linux maps its process anew, one mapping after the
//! other (arch/um/kernel/process.c, `fork_handler`). The standard library's threads have several
//! mappings each, and starting n of them takes time as n squared: two minutes for 1000 connections.
//! These have their stacks in one mapping, with nothing between them: four seconds.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Stack of a thread: it only makes calls.
const STACK_BYTES: usize = 64 << 10;

type Work = Box<dyn FnOnce() + Send>;

/// Stacks for a number of threads.
pub struct Stacks {
    next: *mut c_void,
    left: usize,
}

impl Stacks {
    /// Makes room for so many threads, which stays to the end of the process.
    pub fn new(threads: usize) -> io::Result<Self> {
        // SAFETY: a new mapping, which nothing else knows of.
        let map = unsafe {
            libc::mmap(
                ptr::null_mut(),
                STACK_BYTES * threads.max(1),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Stacks { next: map, left: threads })
    }

    /// Starts a thread that nobody waits for; if it panics, it ends and nothing else does.
    pub fn start(&mut self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        if self.left == 0 {
            return Err(io::Error::other("there are more threads than stacks"));
        }
        // Twice in a box, since one of a trait has two words.
        let work: *mut Work = Box::into_raw(Box::new(Box::new(work)));
        // SAFETY: the stack is a part of the mapping that no other thread has, and `carry_out`
        // takes what `work` points to.
        let result = unsafe { create(self.next, work.cast()) };
        if let Err(error) = result {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(work) });
            return Err(error);
        }
        self.left -= 1;
        self.next = self.next.wrapping_byte_add(STACK_BYTES);
        Ok(())
    }
}

/// # Safety
/// `stack` has [`STACK_BYTES`] for this thread alone, and `work` is a [`Work`] for `carry_out`.
unsafe fn create(stack: *mut c_void, work: *mut c_void) -> io::Result<()> {
    let mut attributes = Attributes::new()?;
    // SAFETY: the attributes are initialised, and the stack is as the caller promises.
    checked(unsafe { libc::pthread_attr_setstack(&raw mut attributes.0, stack, STACK_BYTES) })?;
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: there is room for the thread's name, the attributes are initialised, and `work` is for
    // `carry_out`, as the caller promises.
    checked(unsafe {
        libc::pthread_create(thread.as_mut_ptr(), &raw const attributes.0, carry_out, work)
    })
}

/// Attributes of a thread that nobody waits for.
struct Attributes(libc::pthread_attr_t);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: there is room for what is filled in.
        checked(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: the call above has succeeded, and so has filled them in.
        let mut attributes = Attributes(unsafe { attributes.assume_init() });
        let detached = libc::PTHREAD_CREATE_DETACHED;
        // SAFETY: the attributes are initialised.
        checked(unsafe { libc::pthread_attr_setdetachstate(&raw mut attributes.0, detached) })?;
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, and not used again.
        unsafe { libc::pthread_attr_destroy(&raw mut self.0) };
    }
}

extern "C" fn carry_out(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start` gives every thread a box of its own.
    let work = unsafe { Box::from_raw(work.cast::<Work>()) };
    // The hook has already printed why.
    let _ = catch_unwind(AssertUnwindSafe(work));
    ptr::null_mut()
}

/// What calls of pthreads(7) return is the error itself.
fn checked(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn threads_run_on_stacks_of_their_own() {
        let mut stacks = Stacks::new(3).expect("room");
        let (sender, receiver) = mpsc::channel();
        for number in 0..3u64 {
            let sender = sender.clone();
            let work = move || {
                let local = 0u8;
                let place = std::hint::black_box(&raw const local) as usize;
                sender.send((number, place / STACK_BYTES)).expect("a receiver");
            };
            stacks.start(work).expect("a thread");
        }
        drop(sender);
        let mut seen: Vec<_> = receiver.iter().collect();
        seen.sort_unstable();
        assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2]);
        let mut places: Vec<_> = seen.iter().map(|(_, place)| *place).collect();
        places.dedup();
        assert_eq!(places.len(), 3, "{places:?}");
        assert!(stacks.start(|| ()).is_err(), "a fourth");
    }

    #[test]
    fn a_panic_ends_its_thread_alone() {
        let mut stacks = Stacks::new(2).expect("room");
        let (sender, receiver) = mpsc::channel();
        // Unwinds without the hook's message, which would look like a failure in a log.
        stacks.start(|| std::panic::resume_unwind(Box::new(()))).expect("a thread");
        stacks.start(move || sender.send(1).expect("a receiver")).expect("a thread");
        assert_eq!(receiver.recv(), Ok(1));
    }
}
