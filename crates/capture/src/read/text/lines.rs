//! Lines, and what stands on several of them put together.

use super::super::window::Window;

/// Of one packet's lines no more is kept: about forty options take less than 1000.
const MAX_LINE_BYTES: usize = 4096;
/// A line that is longer is read in pieces.
const MAX_PIECE_BYTES: usize = 64 << 10;

/// Reads lines.
#[derive(Default)]
pub struct Lines {
    line: String,
}

impl Lines {
    /// The next line with all that continue it, and passes them; nothing at the end.
    pub fn next(&mut self, window: &mut Window) -> Option<&str> {
        self.line.clear();
        let length = line_length(window)?;
        self.take(window, length);
        while let Some(length) = line_length(window) {
            let next = &window.bytes()[..length];
            if !self.is_continued_by(next) {
                break;
            }
            // Bytes in hexadecimal (`-x`) are no part of the line.
            if next.trim_ascii_start().starts_with(b"0x") {
                window.pass(length);
            } else {
                self.line.push(' ');
                self.take(window, length);
            }
        }
        Some(&self.line)
    }

    fn take(&mut self, window: &mut Window, length: usize) {
        let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
        let kept = window.bytes()[..length.min(room)].trim_ascii();
        self.line.push_str(&String::from_utf8_lossy(kept));
        window.pass(length);
    }

    fn is_continued_by(&self, next: &[u8]) -> bool {
        match next.first() {
            // `-ttt` of some versions begins with a blank.
            Some(b' ') if next.get(1).is_some_and(u8::is_ascii_digit) => false,
            Some(b' ' | b'\t' | b'<') => true,
            // Options that are broken in two.
            _ => match self.line.rfind(['<', '>']) {
                Some(at) => self.line.as_bytes()[at] == b'<',
                None => false,
            },
        }
    }
}

/// Bytes of the next line with its end.
fn line_length(window: &mut Window) -> Option<usize> {
    let mut searched = 0;
    loop {
        let bytes = window.bytes();
        let until = bytes.len().min(MAX_PIECE_BYTES);
        if let Some(at) = bytes[searched..until].iter().position(|&byte| byte == b'\n') {
            return Some(searched + at + 1);
        }
        if until == MAX_PIECE_BYTES {
            return Some(until);
        }
        searched = until;
        if !window.has(searched + 1) {
            return (searched > 0).then_some(searched);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let mut window = Window::new(Box::new(Cursor::new(text.as_bytes().to_vec())));
        let mut lines = Lines::default();
        std::iter::from_fn(|| lines.next(&mut window).map(str::to_owned)).collect()
    }

    #[test]
    fn lines_that_were_broken_are_one() {
        let text = "1 a <nop,timestamp\n5 6>\n2 b\n<nop>\n3 c\n\t0x0000:  4500\n    d\n4 e";
        assert_eq!(lines(text), ["1 a <nop,timestamp 5 6>", "2 b <nop>", "3 c d", "4 e"]);
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces_of_which_little_is_kept() {
        let all = lines(&"x".repeat(200_000));
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|line| line.len() <= MAX_LINE_BYTES));
    }
}
