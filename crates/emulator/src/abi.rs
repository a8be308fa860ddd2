//! What the kernel calls.
//!
//! One thread, and one network a process: a kernel of User-Mode Linux has one processor, and calls with
//! its bottom halves off, so no call interrupts another. A failure, or a panic, is told in the run
//! directory, and once: the kernel ends then.
//!
//! A handle is a reference or null: C passes what [`fairway_network_open`] has returned, to one function
//! at a time. With null, every function answers as after a failure.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
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
/// `directory` is null, or a string with a zero at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_open(
    directory: *const c_char,
    version: u32,
) -> *mut Handle {
    if directory.is_null() {
        return std::ptr::null_mut();
    }
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

/// Does something with the network, if there is one and it has not failed.
fn with<T>(
    handle: Option<&mut Handle>,
    act: impl FnOnce(&mut Session) -> Result<T, String>,
    otherwise: T,
) -> T {
    match handle {
        Some(handle) => handle.with(act, otherwise),
        None => otherwise,
    }
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
#[unsafe(no_mangle)]
pub extern "C" fn fairway_network_devices(handle: Option<&mut Handle>) -> u32 {
    with(handle, |session| Ok(session.devices()), 0)
}

/// The run begins at a time of the kernel's clock. Returns when the network does something.
#[unsafe(no_mangle)]
pub extern "C" fn fairway_network_begin(handle: Option<&mut Handle>, begin_ns: u64) -> u64 {
    let begin = |session: &mut Session| {
        session.begin(begin_ns);
        Ok(session.next_event_ns())
    };
    with(handle, begin, u64::MAX)
}

/// A host sends a packet with these bytes at its beginning. Returns its slot with [`HELD`] or without,
/// -1 if it belongs to no flow, or -2.
///
/// # Safety
/// `bytes` is null, or points to `length` bytes that nobody writes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairway_network_send(
    handle: Option<&mut Handle>,
    now_ns: u64,
    bytes: *const u8,
    length: u32,
) -> i64 {
    if bytes.is_null() {
        return with(handle, |_| Err("the kernel sends a packet without bytes".into()), FAILED);
    }
    // SAFETY: by the contract of this function.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length as usize) };
    let answer = |(slot, is_held)| i64::from(slot) | if is_held { HELD } else { 0 };
    let send = |session: &mut Session| Ok(session.send(now_ns, bytes)?.map_or(NO_SLOT, answer));
    with(handle, send, FAILED)
}

/// Time passes. Returns when the network does something next; the greatest number if it has failed.
#[unsafe(no_mangle)]
pub extern "C" fn fairway_network_advance(handle: Option<&mut Handle>, now_ns: u64) -> u64 {
    with(handle, |session| session.advance(now_ns), u64::MAX)
}

/// When the network does something next.
#[unsafe(no_mangle)]
pub extern "C" fn fairway_network_next(handle: Option<&mut Handle>) -> u64 {
    with(handle, |session| Ok(session.next_event_ns()), u64::MAX)
}

/// Whether it has not failed.
#[unsafe(no_mangle)]
pub extern "C" fn fairway_network_is_well(handle: Option<&Handle>) -> bool {
    handle.is_some_and(|handle| handle.session.is_some())
}

/// Writes what became of a packet to `outcome`. False if there is nothing more to tell.
#[unsafe(no_mangle)]
pub extern "C" fn fairway_network_outcome(
    handle: Option<&mut Handle>,
    outcome: Option<&mut MaybeUninit<COutcome>>,
) -> bool {
    let take = |session: &mut Session| Ok(session.outcome());
    let Some(outcome) = outcome else { return false };
    let Some((found, device)) = with(handle, take, None) else { return false };
    let told = match found {
        Outcome::Arrived { slot, is_marked, .. } => {
            COutcome { kind: 1, slot, target: device, is_marked: u32::from(is_marked) }
        }
        Outcome::Gone { slot } => COutcome { kind: 2, slot, target: 0, is_marked: 0 },
        Outcome::Left { slot } => COutcome { kind: 3, slot, target: 0, is_marked: 0 },
        Outcome::Doubled { slot, copy } => COutcome { kind: 4, slot, target: copy, is_marked: 0 },
    };
    outcome.write(told);
    true
}

/// The run is over: its results go into the run directory. False if that fails.
#[unsafe(no_mangle)]
pub extern "C" fn fairway_network_finish(handle: Option<&mut Handle>, now_ns: u64) -> bool {
    let Some(handle) = handle else { return false };
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

    /// The network of a handle, which is freed at the end of a test.
    fn owned(network: *mut Handle) -> Box<Handle> {
        assert!(!network.is_null());
        // SAFETY: of `opened`, which gives each handle once.
        unsafe { Box::from_raw(network) }
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
        type H<'a> = Option<&'a mut Handle>;
        type Outcome<'a> = Option<&'a mut MaybeUninit<COutcome>>;
        let _: unsafe extern "C" fn(*const c_char, u32) -> *mut Handle = fairway_network_open;
        let _: extern "C" fn(H) -> u32 = fairway_network_devices;
        let _: extern "C" fn(H, u64) -> u64 = fairway_network_begin;
        let _: unsafe extern "C" fn(H, u64, *const u8, u32) -> i64 = fairway_network_send;
        let _: extern "C" fn(H, u64) -> u64 = fairway_network_advance;
        let _: extern "C" fn(H) -> u64 = fairway_network_next;
        let _: extern "C" fn(Option<&Handle>) -> bool = fairway_network_is_well;
        let _: extern "C" fn(H, Outcome) -> bool = fairway_network_outcome;
        let _: extern "C" fn(H, u64) -> bool = fairway_network_finish;
        // Null in C is none.
        assert_eq!(
            (size_of::<H>(), size_of::<Outcome>()),
            (size_of::<usize>(), size_of::<usize>())
        );
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
        let mut handle = owned(network);
        assert_eq!(handle.with(|_| Ok(5), 7), 5);
        assert_eq!(handle.with(|_| panic!("slot {} is nowhere", 3), 7), 7);
        let why = fs::read_to_string(directory.path().join(ERROR)).unwrap();
        assert_eq!(why, "a fault of Fairway's network, please report it: slot 3 is nowhere");
        assert!(!fairway_network_is_well(Some(&handle)));
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
        let mut network = owned(opened(directory.path(), VERSION));
        let datagram = packet(17, [LEFT, RIGHT], [40_000, DATAGRAM_PORT], 1000);
        let mut told = Vec::new();
        let send = |handle: &mut Handle, length| {
            let bytes = &datagram[..length];
            // SAFETY: the bytes are so many.
            unsafe {
                fairway_network_send(Some(handle), BEGIN_NS, bytes.as_ptr(), bytes.len() as u32)
            }
        };
        assert_eq!(fairway_network_devices(Some(&mut network)), 2);
        // Its first event is the beginning of the measuring window.
        assert_eq!(fairway_network_begin(Some(&mut network), BEGIN_NS), BEGIN_NS);
        assert_eq!(send(&mut network, 10), NO_SLOT);
        assert_eq!(send(&mut network, datagram.len()), HELD);
        assert_eq!(fairway_network_next(Some(&mut network)), BEGIN_NS + 1_000_000);
        let next = fairway_network_advance(Some(&mut network), BEGIN_NS + 1_000_000);
        assert_eq!(next, BEGIN_NS + 11_000_000);
        fairway_network_advance(Some(&mut network), next);
        let mut outcome = MaybeUninit::new(COutcome { kind: 9, slot: 9, target: 9, is_marked: 9 });
        while fairway_network_outcome(Some(&mut network), Some(&mut outcome)) {
            // SAFETY: every byte was set before the first call, and each call sets every byte.
            let COutcome { kind, slot, target, is_marked } = unsafe { outcome.assume_init() };
            told.push([kind, slot, target, is_marked]);
        }
        assert!(fairway_network_is_well(Some(&network)));
        assert!(fairway_network_finish(Some(&mut network), BEGIN_NS + 20_000_000));
        // It is over, and does nothing more.
        assert!(!fairway_network_is_well(Some(&network)));
        assert_eq!(send(&mut network, datagram.len()), FAILED);
        assert_eq!(fairway_network_advance(Some(&mut network), BEGIN_NS), u64::MAX);
        assert!(!fairway_network_finish(Some(&mut network), BEGIN_NS));
        // It has left its sender's buffer, and arrived at the second device.
        assert_eq!(told, [[3, 0, 0, 0], [1, 0, 1, 0]]);
        assert!(directory.path().join(MEASURED).is_file());
    }

    #[test]
    fn null_is_answered_as_a_failure() {
        // SAFETY: null is no string.
        assert!(unsafe { fairway_network_open(std::ptr::null(), VERSION) }.is_null());
        assert_eq!(fairway_network_devices(None), 0);
        assert_eq!(fairway_network_begin(None, 0), u64::MAX);
        assert_eq!(fairway_network_advance(None, 0), u64::MAX);
        assert_eq!(fairway_network_next(None), u64::MAX);
        assert!(!fairway_network_is_well(None));
        assert!(!fairway_network_outcome(None, Some(&mut MaybeUninit::uninit())));
        assert!(!fairway_network_finish(None, 0));
        let directory = run_directory(&instructions().to_string());
        let mut network = owned(opened(directory.path(), VERSION));
        assert!(!fairway_network_outcome(Some(&mut network), None));
        assert!(fairway_network_is_well(Some(&network)));
        // SAFETY: null has no bytes.
        let sent = unsafe { fairway_network_send(Some(&mut network), 0, std::ptr::null(), 9) };
        assert_eq!(sent, FAILED);
        let why = fs::read_to_string(directory.path().join(ERROR)).unwrap();
        assert_eq!(why, "the kernel sends a packet without bytes");
    }
}
