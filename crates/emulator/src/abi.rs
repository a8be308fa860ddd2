//! What the kernel calls.
//!
//! One thread, and one network a process: a kernel of User-Mode Linux has one processor, and calls with
//! its bottom halves off, so no call interrupts another. A failure, or a panic, is told in the run
//! directory, and once: the kernel ends then.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fairway_sim::Outcome;

use crate::session::{Session, note_failure};

/// Version of these functions and structures, also in fairway.h: another one, whenever they change.
const VERSION: u32 = 1;
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

/// Opens the network that a run directory has the instructions of, for a kernel that was built for a
/// version of this interface; null if that fails.
///
/// # Safety
/// `directory` is a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_open(
    directory: *const c_char,
    version: u32,
) -> *mut Handle {
    // SAFETY: by the contract of this function.
    let directory = unsafe { CStr::from_ptr(directory) }.to_string_lossy();
    let directory = Path::new(directory.as_ref());
    match caught(|| open(directory, version)) {
        Ok(session) => {
            Box::into_raw(Box::new(Handle { session: Some(session), directory: directory.into() }))
        }
        Err(why) => {
            note_failure(directory, &why);
            std::ptr::null_mut()
        }
    }
}

fn open(directory: &Path, version: u32) -> Result<Session, String> {
    if version != VERSION {
        return Err(format!(
            "this kernel was built for version {version} of the network's interface, and the library has \
             version {VERSION}; build the kernel again: fairway linux build"
        ));
    }
    Session::open(directory)
}

/// Does something. A panic, which must not reach C, becomes a failure.
fn caught<T>(act: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let literal = panic.downcast_ref::<&str>().copied();
        let what = literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("a panic without words");
        Err(format!("a fault of Fairway's network, please report it: {what}"))
    })
}

impl Handle {
    fn with<T>(&mut self, act: impl FnOnce(&mut Session) -> Result<T, String>, otherwise: T) -> T {
        let Some(session) = &mut self.session else { return otherwise };
        caught(|| act(session)).unwrap_or_else(|why| {
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
    handle.with(|session| Ok(session.devices()), 0)
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
    handle.with(|session| Ok(session.next_event_ns()), u64::MAX)
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
    let take = |session: &mut Session| Ok(session.outcome());
    let Some((found, device)) = handle.with(take, None) else { return false };
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
    match caught(|| session.finish(now_ns)) {
        Ok(()) => true,
        Err(why) => {
            note_failure(&handle.directory, &why);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::mem::{align_of, offset_of, size_of};

    use super::*;
    use crate::fixture::{
        BEGIN_NS, DATAGRAM_PORT, LEFT, RIGHT, instructions, packet, run_directory,
    };
    use crate::message::{ERROR, MEASURED};

    /// What the kernel's side declares.
    const HEADER: &str =
        include_str!("../../../python/fairway/backends/linux/kernel/network/fairway.h");
    const CALLER: &str =
        include_str!("../../../python/fairway/backends/linux/kernel/network/fairway_user.c");

    /// A text with single blanks alone.
    fn plain(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn opened(directory: &Path, version: u32) -> *mut Handle {
        let directory = CString::new(directory.to_str().unwrap()).unwrap();
        // SAFETY: a string with a zero at its end.
        unsafe { fairway_network_open(directory.as_ptr(), version) }
    }

    #[test]
    fn an_outcome_is_laid_out_as_in_c() {
        // Four numbers of four bytes each, one behind the other.
        assert_eq!((size_of::<COutcome>(), align_of::<COutcome>()), (16, 4));
        let offsets = [
            offset_of!(COutcome, kind),
            offset_of!(COutcome, slot),
            offset_of!(COutcome, target),
            offset_of!(COutcome, is_marked),
        ];
        assert_eq!(offsets, [0, 4, 8, 12]);
        let fields = "unsigned int kind; unsigned int slot; unsigned int target; \
                      unsigned int is_marked;";
        assert!(plain(HEADER).contains(&format!("struct fairway_outcome {{ {fields} }};")));
    }

    #[test]
    fn numbers_are_those_of_c() {
        assert_eq!((VERSION, NO_SLOT, FAILED, HELD), (1, -1, -2, 0x1_0000_0000));
        for line in [
            "#define FAIRWAY_VERSION 1\n",
            "#define FAIRWAY_NO_PATH (-1LL)",
            "#define FAIRWAY_FAILED (-2LL)",
            "#define FAIRWAY_HELD (1LL << 32)",
            "FAIRWAY_ARRIVED = 1,",
            "FAIRWAY_GONE = 2,",
            "FAIRWAY_LEFT = 3,",
            "FAIRWAY_DOUBLED = 4,",
        ] {
            assert!(HEADER.contains(line), "{line}");
        }
    }

    #[test]
    fn functions_are_declared_as_in_c() {
        type H = *mut Handle;
        let _: unsafe extern "C" fn(*const c_char, u32) -> H = fairway_network_open;
        let _: unsafe extern "C" fn(H) -> u32 = fairway_network_devices;
        let _: unsafe extern "C" fn(H, u64) -> u64 = fairway_network_begin;
        let _: unsafe extern "C" fn(H, u64, *const u8, u32) -> i64 = fairway_network_send;
        let _: unsafe extern "C" fn(H, u64) -> u64 = fairway_network_advance;
        let _: unsafe extern "C" fn(H) -> u64 = fairway_network_next;
        let _: unsafe extern "C" fn(H) -> bool = fairway_network_is_well;
        let _: unsafe extern "C" fn(H, *mut COutcome) -> bool = fairway_network_outcome;
        let _: unsafe extern "C" fn(H, u64) -> bool = fairway_network_finish;
        let caller = plain(CALLER);
        for declared in [
            "void *(*open)(const char *directory, unsigned int version);",
            "unsigned int (*devices)(void *network);",
            "unsigned long long (*begin)(void *network, unsigned long long begin_ns);",
            "long long (*send)(void *network, unsigned long long now_ns, \
             const unsigned char *bytes, unsigned int length);",
            "unsigned long long (*advance)(void *network, unsigned long long now_ns);",
            "unsigned long long (*next)(void *network);",
            "bool (*is_well)(void *network);",
            "bool (*outcome)(void *network, struct fairway_outcome *outcome);",
            "bool (*finish)(void *network, unsigned long long now_ns);",
        ] {
            assert!(caller.contains(declared), "{declared}");
            let name = declared.split_once("(*").unwrap().1.split_once(')').unwrap().0;
            let found = format!("library.{name} = symbol(opened, \"fairway_network_{name}\");");
            assert!(caller.contains(&found), "{found}");
        }
        assert!(caller.contains("network = library.open(directory, FAIRWAY_VERSION);"));
    }

    #[test]
    fn a_kernel_of_another_version_is_refused() {
        let directory = run_directory(&instructions().to_string());
        assert!(opened(directory.path(), VERSION + 1).is_null());
        let why = fs::read_to_string(directory.path().join(ERROR)).unwrap();
        assert!(why.starts_with("this kernel was built for version 2 of"), "{why}");
        assert!(
            why.ends_with("has version 1; build the kernel again: fairway linux build"),
            "{why}"
        );
    }

    #[test]
    fn a_panic_ends_the_network_and_is_told() {
        let directory = run_directory(&instructions().to_string());
        let network = opened(directory.path(), VERSION);
        // SAFETY: the handle is that of the network.
        let handle = unsafe { &mut *network };
        assert_eq!(handle.with(|_| Ok(5), 7), 5);
        assert_eq!(handle.with(|_| panic!("slot {} is nowhere", 3), 7), 7);
        let why = fs::read_to_string(directory.path().join(ERROR)).unwrap();
        assert_eq!(why, "a fault of Fairway's network, please report it: slot 3 is nowhere");
        // SAFETY: as above; nobody else has it.
        unsafe {
            assert!(!fairway_network_is_well(network));
            drop(Box::from_raw(network));
        }
        let told = caught::<()>(|| panic!("literally")).unwrap_err();
        assert_eq!(told, "a fault of Fairway's network, please report it: literally");
    }

    #[test]
    fn a_network_that_cannot_be_opened_is_null_and_tells_why() {
        let directory = run_directory("{");
        assert!(opened(directory.path(), VERSION).is_null());
        let why = fs::read_to_string(directory.path().join(ERROR)).unwrap();
        assert!(why.contains("network.json: EOF while parsing"), "{why}");
    }

    #[test]
    fn a_kernel_sends_a_datagram_and_is_told_what_became_of_it() {
        let directory = run_directory(&instructions().to_string());
        let network = opened(directory.path(), VERSION);
        let datagram = packet(17, [LEFT, RIGHT], [40_000, DATAGRAM_PORT], 1000);
        let (bytes, length) = (datagram.as_ptr(), datagram.len() as u32);
        let mut told = Vec::new();
        // SAFETY: the handle is that of the network, and the bytes are so many.
        unsafe {
            assert_eq!(fairway_network_devices(network), 2);
            // Its first event is the beginning of the measuring window.
            assert_eq!(fairway_network_begin(network, BEGIN_NS), BEGIN_NS);
            assert_eq!(fairway_network_send(network, BEGIN_NS, bytes, 10), NO_SLOT);
            assert_eq!(fairway_network_send(network, BEGIN_NS, bytes, length), HELD);
            assert_eq!(fairway_network_next(network), BEGIN_NS + 1_000_000);
            let next = fairway_network_advance(network, BEGIN_NS + 1_000_000);
            assert_eq!(next, BEGIN_NS + 11_000_000);
            fairway_network_advance(network, next);
            let mut outcome = COutcome { kind: 9, slot: 9, target: 9, is_marked: 9 };
            while fairway_network_outcome(network, &raw mut outcome) {
                told.push([outcome.kind, outcome.slot, outcome.target, outcome.is_marked]);
            }
            assert!(fairway_network_is_well(network));
            assert!(fairway_network_finish(network, BEGIN_NS + 20_000_000));
            // It is over, and does nothing more.
            assert!(!fairway_network_is_well(network));
            assert_eq!(fairway_network_send(network, BEGIN_NS, bytes, length), FAILED);
            assert_eq!(fairway_network_advance(network, BEGIN_NS), u64::MAX);
            assert!(!fairway_network_finish(network, BEGIN_NS));
            drop(Box::from_raw(network));
        }
        // It has left its sender's buffer, and arrived at the second device.
        assert_eq!(told, [[3, 0, 0, 0], [1, 0, 1, 0]]);
        assert!(directory.path().join(MEASURED).is_file());
    }
}
