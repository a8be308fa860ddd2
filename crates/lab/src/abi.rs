//! The exports and imports of the module.
//!
//! The only `unsafe` is the attribute that exports a function under its own name, which must be unique in
//! the program. Rust follows no pointer: the page reads and writes the module's memory itself, at the
//! addresses that these functions return.

#![allow(unsafe_code)]

use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::answers::{self, Reply};
use crate::columns::Columns;

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static REPLY: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static COLUMNS: Mutex<Vec<Columns>> = Mutex::new(Vec::new());

static HOOK: Once = Once::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates an input of `length` bytes and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut input = lock(&INPUT);
    *input = vec![0; length];
    input.as_mut_ptr()
}

/// Address of the last reply. The reply is empty if a call trapped without a panic: out of memory.
#[unsafe(no_mangle)]
pub extern "C" fn reply() -> *const u8 {
    lock(&REPLY).as_ptr()
}

/// Length of the last reply in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn reply_length() -> usize {
    lock(&REPLY).len()
}

/// Plans the experiment file in the input.
#[unsafe(no_mangle)]
pub extern "C" fn plan() {
    call(|input| answers::plan(&input));
}

/// Runs the experiment document in the input; its columns stay until [`release`] or the next call.
#[unsafe(no_mangle)]
pub extern "C" fn run() {
    call(|input| {
        let (reply, columns) = answers::run(&input, tell)?;
        *lock(&COLUMNS) = columns;
        Ok(reply)
    });
}

/// Frees the columns of the last run.
#[unsafe(no_mangle)]
pub extern "C" fn release() {
    lock(&COLUMNS).clear();
}

/// JSON Schema of experiment files.
#[unsafe(no_mangle)]
pub extern "C" fn schema() {
    call(|_| Ok(fairway_spec::schema().to_string()));
}

/// The version and the algorithms.
#[unsafe(no_mangle)]
pub extern "C" fn describe() {
    call(|_| Ok(answers::describe()));
}

fn call(answer: impl FnOnce(String) -> Reply) {
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|panic| {
            *lock(&REPLY) = answers::fault(&panic.to_string()).into_bytes();
        }));
    });
    lock(&REPLY).clear();
    release();
    let input = std::mem::take(&mut *lock(&INPUT));
    let reply = match String::from_utf8(input) {
        Ok(text) => answer(text).unwrap_or_else(answers::refusal),
        Err(_) => answers::refusal("the input is not UTF-8".to_owned()),
    };
    *lock(&REPLY) = reply.into_bytes();
}

#[cfg(target_family = "wasm")]
fn tell(fraction: f64) {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        /// Reports the share of simulated time that has passed.
        safe fn progress(fraction: f64);
    }
    progress(fraction);
}

/// Tests on other targets have no page to report to.
#[cfg(not(target_family = "wasm"))]
fn tell(_fraction: f64) {}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;

    /// Does what the page does: writes an input where it is told to, calls, and reads the reply.
    fn asked(text: &str, call: extern "C" fn()) -> String {
        let place = input(text.len());
        // SAFETY: `input` has made room for so many bytes, and nothing else uses them until the call.
        unsafe { place.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        call();
        // SAFETY: the reply stays where it is until the next call, which comes later.
        let reply = unsafe { std::slice::from_raw_parts(reply(), reply_length()) };
        String::from_utf8(reply.to_vec()).unwrap()
    }

    #[test]
    fn the_page_writes_an_input_and_reads_a_reply_at_the_addresses_it_is_told() {
        let refused = asked("duration = 3", plan);
        assert!(refused.contains("duration"), "{refused}");
        // Longer, shorter, and none: each input has the room that it asked for, and no more is read.
        assert!(asked(&"#".repeat(1 << 16), plan).starts_with('{'));
        assert!(asked("", describe).contains("cubic"));
        let not_text = input(1);
        // SAFETY: there is room for one byte.
        unsafe { not_text.write(0xff) };
        plan();
        assert!(String::from_utf8_lossy(&lock(&REPLY)).contains("the input is not UTF-8"));
        release();
        assert!(lock(&COLUMNS).is_empty());
        assert!(!input(0).cast::<c_void>().is_null());
    }
}
