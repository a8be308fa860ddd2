//! One line for the user before the process ends, written without an allocation.

use std::fmt::{self, Write as _};

/// The exit code of a process that ran out of memory, as of a run that failed.
const EXIT_CODE: i32 = 1;

/// Room for one line.
const LINE_BYTES: usize = 256;

/// A line in memory of its own; what does not fit is cut off.
struct Line {
    bytes: [u8; LINE_BYTES],
    length: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let length = text.len().min(LINE_BYTES - self.length);
        self.bytes[self.length..][..length].copy_from_slice(&text.as_bytes()[..length]);
        self.length += length;
        Ok(())
    }
}

/// Ends the process: nothing is left that could serve `bytes` more.
pub(crate) fn out_of_memory(bytes: usize) -> ! {
    let mut line = Line { bytes: [0; LINE_BYTES], length: 0 };
    // A number is written without an allocation, and `Line` never fails.
    let _ = writeln!(
        line,
        "fairway: not enough memory: {bytes} bytes more were refused; \
         free some memory, raise the limit (ulimit -v), or ask for less"
    );
    end(&line.bytes[..line.length])
}

#[cfg(unix)]
pub use unix::before_abort;
#[cfg(unix)]
use unix::end;

#[cfg(not(unix))]
fn end(_: &[u8]) -> ! {
    std::process::abort()
}

#[cfg(unix)]
mod unix {
    use std::ptr;
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

    use super::EXIT_CODE;

    /// Where last words go: standard error, or a copy of it.
    static TO: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);

    /// The sentence for an end that a library decides.
    static SENTENCE: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());

    /// Signals by which libraries end a process when memory is refused: `abort(3)`, a trap (V8, rustc's
    /// `ud2`), and an access through a pointer that was not checked.
    const SIGNALS: [libc::c_int; 5] =
        [libc::SIGABRT, libc::SIGTRAP, libc::SIGILL, libc::SIGBUS, libc::SIGSEGV];

    #[allow(unsafe_code)]
    pub(crate) fn end(line: &[u8]) -> ! {
        // SAFETY: `line` is readable for its length; the call is safe in a handler of signals
        // (signal-safety(7)) and allocates nothing, as the next one.
        unsafe { libc::write(TO.load(Ordering::Relaxed), line.as_ptr().cast(), line.len()) };
        // SAFETY: it is safe in a handler of signals.
        unsafe { libc::_exit(EXIT_CODE) }
    }

    /// Writes `sentence` to the descriptor `to` and ends the process with 1 where a library would
    /// abort it. For a process whose memory is limited: there it is the likely reason.
    #[allow(unsafe_code)]
    pub fn before_abort(to: i32, sentence: String) {
        TO.store(to, Ordering::Relaxed);
        // It is never freed: a handler may read it at any time.
        SENTENCE.store(Box::into_raw(Box::new(sentence)), Ordering::Release);
        let handler: extern "C" fn(libc::c_int) = aborted;
        for signal in SIGNALS {
            // SAFETY: zeros are an empty mask and no flags.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            action.sa_sigaction = handler as libc::sighandler_t;
            // SAFETY: `handler` lives as long as the program, and calls only functions that are safe
            // in a handler of signals.
            unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
        }
    }

    #[allow(unsafe_code)]
    extern "C" fn aborted(_: libc::c_int) {
        let sentence = SENTENCE.load(Ordering::Acquire);
        // SAFETY: `before_abort` stored a sentence that is never freed or changed, or nothing.
        let line = unsafe { sentence.as_ref() }.map_or(&b""[..], |text| text.as_bytes());
        end(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_cut_off() {
        let mut line = Line { bytes: [0; LINE_BYTES], length: 0 };
        line.write_str(&"é".repeat(LINE_BYTES)).unwrap();
        line.write_str("more").unwrap();
        assert_eq!(line.length, LINE_BYTES);
        assert_eq!(line.bytes[..2], *"é".as_bytes());
    }
}
