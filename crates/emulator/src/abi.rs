//! What the kernel calls.
//!
//! One thread, and one network a process: a kernel of User-Mode Linux has one processor, and calls with
//! its bottom halves off, so no call interrupts another. A failure is told in the run directory, and
//! once: the kernel ends then.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::path::Path;

use fairway_sim::Outcome;

use crate::session::{Session, note_failure};

/// The answer of [`fairway_network_send`] for a packet that belongs to no flow.
const NO_SLOT: i64 = -1;
/// The answer of a call that has failed.
const FAILED: i64 = -2;
/// Set in an answer if the sender's buffer holds the packet.
const HELD: i64 = 1 << 32;

/// A network, and where it tells of its failures.
pub struct Handle {
    session: Option<Session>,
    directory: Box<Path>,
}

/// What became of a packet.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct COutcome {
    /// 1 arrived, 2 gone, 3 left its first link, 4 doubled.
    kind: u32,
    /// The packet.
    slot: u32,
    /// Where it arrives, or the slot of its copy.
    target: u32,
    /// Whether it is marked.
    is_marked: u32,
}

/// Opens the network that a run directory has the instructions of; null if that fails.
///
/// # Safety
/// `directory` is a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_open(directory: *const c_char) -> *mut Handle {
    // SAFETY: by the contract of this function.
    let directory = unsafe { CStr::from_ptr(directory) }.to_string_lossy();
    let directory = Path::new(directory.as_ref());
    match Session::open(directory) {
        Ok(session) => {
            Box::into_raw(Box::new(Handle { session: Some(session), directory: directory.into() }))
        }
        Err(why) => {
            note_failure(directory, &why);
            std::ptr::null_mut()
        }
    }
}

impl Handle {
    fn with<T>(&mut self, act: impl FnOnce(&mut Session) -> Result<T, String>, otherwise: T) -> T {
        let Some(session) = &mut self.session else { return otherwise };
        act(session).unwrap_or_else(|why| {
            note_failure(&self.directory, &why);
            self.session = None;
            otherwise
        })
    }
}

/// How many devices it has.
///
/// # Safety
/// `handle` is that of [`fairway_network_open`], as in all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_devices(handle: *mut Handle) -> u32 {
    // SAFETY: by the contract of this function.
    let handle = unsafe { &mut *handle };
    handle.session.as_ref().map_or(0, Session::devices)
}

/// The run begins at a time of the kernel's clock. Returns when the network does something.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_begin(handle: *mut Handle, begin_ns: u64) -> u64 {
    // SAFETY: by the contract of this function.
    let handle = unsafe { &mut *handle };
    let begin = |session: &mut Session| {
        session.begin(begin_ns);
        Ok(session.next_event_ns())
    };
    handle.with(begin, u64::MAX)
}

/// A host sends a packet with these bytes at its beginning. Returns its slot with [`HELD`] or without,
/// -1 if it belongs to no flow, or -2.
///
/// # Safety
/// As above, and `bytes` are so many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_send(
    handle: *mut Handle,
    now_ns: u64,
    bytes: *const u8,
    length: u32,
) -> i64 {
    // SAFETY: by the contract of this function.
    let (handle, bytes) =
        unsafe { (&mut *handle, std::slice::from_raw_parts(bytes, length as usize)) };
    let answer = |(slot, is_held)| i64::from(slot) | if is_held { HELD } else { 0 };
    let send = |session: &mut Session| Ok(session.send(now_ns, bytes)?.map_or(NO_SLOT, answer));
    handle.with(send, FAILED)
}

/// Time passes. Returns when the network does something next; the greatest number if it has failed.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_advance(handle: *mut Handle, now_ns: u64) -> u64 {
    // SAFETY: by the contract of this function.
    let handle = unsafe { &mut *handle };
    handle.with(|session| session.advance(now_ns), u64::MAX)
}

/// When the network does something next.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_next(handle: *mut Handle) -> u64 {
    // SAFETY: by the contract of this function.
    let handle = unsafe { &mut *handle };
    handle.session.as_ref().map_or(u64::MAX, Session::next_event_ns)
}

/// Whether it has not failed.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_is_well(handle: *mut Handle) -> bool {
    // SAFETY: by the contract of this function.
    unsafe { &*handle }.session.is_some()
}

/// Writes what became of a packet to `outcome`. False if there is nothing more to tell.
///
/// # Safety
/// As above, and `outcome` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_outcome(
    handle: *mut Handle,
    outcome: *mut COutcome,
) -> bool {
    // SAFETY: by the contract of this function.
    let handle = unsafe { &mut *handle };
    let Some((found, device)) = handle.session.as_mut().and_then(Session::outcome) else {
        return false;
    };
    let told = match found {
        Outcome::Arrived { slot, is_marked, .. } => {
            COutcome { kind: 1, slot, target: device, is_marked: u32::from(is_marked) }
        }
        Outcome::Gone { slot } => COutcome { kind: 2, slot, target: 0, is_marked: 0 },
        Outcome::Left { slot } => COutcome { kind: 3, slot, target: 0, is_marked: 0 },
        Outcome::Doubled { slot, copy } => COutcome { kind: 4, slot, target: copy, is_marked: 0 },
    };
    // SAFETY: by the contract of this function.
    unsafe { outcome.write(told) };
    true
}

/// The run is over: its results go into the run directory. False if that fails.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_finish(handle: *mut Handle, now_ns: u64) -> bool {
    // SAFETY: by the contract of this function.
    let handle = unsafe { &mut *handle };
    let Some(session) = handle.session.take() else { return false };
    match session.finish(now_ns) {
        Ok(()) => true,
        Err(why) => {
            note_failure(&handle.directory, &why);
            false
        }
    }
}
