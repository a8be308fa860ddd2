//! Text of messages: sizes and counts, and printable text of the peer.

use serde::{Deserialize, Deserializer};

/// Characters of what a peer says that are shown.
pub(crate) const PEER_CHARACTERS: usize = 500;

/// What a peer says, for a terminal: a field of a message that is read with
/// `#[serde(deserialize_with)]`. Control and format characters, which move a cursor, change a title
/// or turn a line around, are escaped, and a long text is cut.
pub(crate) fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| printable(&text))
}

/// A text that changes nothing but the line that it is written on; what is printable stays the same.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars() {
        if is_unprintable(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
        if let Some((end, _)) = shown.char_indices().nth(PEER_CHARACTERS) {
            shown.truncate(end);
            shown.push('…');
            break;
        }
    }
    shown
}

/// Characters that control a terminal, turn the direction of a line or cannot be seen (Unicode's
/// Bidi_Control and the zero-width characters).
pub(crate) fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A size in decimal units, rounded to three digits: "5.03 MB".
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    // What would be rounded to 1000 of a unit is one of the next.
    let unit = UNITS.iter().find(|(unit, _)| bytes >= unit - unit / 2000);
    let Some((unit, name)) = unit else { return count(bytes, "byte") };
    let value = bytes as f64 / *unit as f64;
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {name}")
}

/// A number of things: "1 file", "2 files".
pub(crate) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Files and directories; of what there is none, nothing is said unless there is nothing at all.
pub(crate) fn files_and_directories(files: u64, directories: u64) -> String {
    let directories_in_words =
        if directories == 1 { "1 directory".into() } else { format!("{directories} directories") };
    match (files, directories) {
        (_, 0) => count(files, "file"),
        (0, _) => directories_in_words,
        _ => format!("{} and {directories_in_words}", count(files, "file")),
    }
}

/// What went wrong with another host, whose address stands in the message once.
pub(crate) fn of_peer(peer: &str, error: &impl std::fmt::Display) -> String {
    let said = error.to_string();
    if said.contains(peer) { said } else { format!("{peer}: {said}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_once() {
        let broken = "receiving from 192.0.2.1:5: the connection ended";
        assert_eq!(of_peer("192.0.2.1:5", &broken), broken);
        assert_eq!(of_peer("192.0.2.2:5", &"disk full"), "192.0.2.2:5: disk full");
    }

    #[test]
    fn what_a_peer_says_stays_on_its_line() {
        // ESC begins a control sequence (ECMA-48), and U+202E turns a line around.
        assert_eq!(printable("\u{1b}[2Jno\r\nyes"), "\\u{1b}[2Jno\\r\\nyes");
        assert_eq!(printable("a\u{202e}b ü"), "a\\u{202e}b ü");
        let cut = "x".repeat(500) + "…";
        assert_eq!(printable(&"x".repeat(501)), cut);
        assert_eq!(printable(&cut), cut);
    }

    #[test]
    fn numbers_are_short() {
        let sizes =
            [0, 1, 999, 1000, 5_030_081, 300_000_000, 999_999_999, 12_345_678_901, u64::MAX];
        let shown = sizes.map(size);
        assert_eq!(
            shown.each_ref().map(String::as_str),
            [
                "0 bytes",
                "1 byte",
                "999 bytes",
                "1.00 kB",
                "5.03 MB",
                "300 MB",
                "1.00 GB",
                "12.3 GB",
                "18446744 TB"
            ]
        );
        assert_eq!(files_and_directories(1, 0), "1 file");
        assert_eq!(files_and_directories(301, 3), "301 files and 3 directories");
        assert_eq!(files_and_directories(0, 1), "1 directory");
        assert_eq!(files_and_directories(0, 0), "0 files");
    }
}
