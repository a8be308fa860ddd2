//! File names received from the network.

use std::fmt;

use crate::{Error, words};

/// Where files are while they are incomplete, below the directory that they are received into.
pub const PARTIAL_DIRECTORY: &str = ".fairway-partial";

/// `NAME_MAX` of Linux (limits.h).
const MOST_COMPONENT_BYTES: usize = 255;
/// `PATH_MAX` of Linux (limits.h), of which one byte ends the string.
const MOST_BYTES: usize = 4095;
/// Deeper trees are made by mistake or by malice: each level is a directory to open.
const MOST_COMPONENTS: usize = 128;

/// The relative name of a file or directory: bytes, in components, none of which leads elsewhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Vec<u8>);

impl Name {
    /// A name as it was told, if it may be used below a directory.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        let name = Name(bytes.into());
        match name.flaw() {
            None => Ok(name),
            Some(flaw) => {
                let shown: String = name.to_string().chars().take(200).collect();
                Err(Error::Refused(format!("the name \"{shown}\" {flaw}")))
            }
        }
    }

    fn flaw(&self) -> Option<&'static str> {
        if self.0.is_empty() {
            return Some("is empty");
        }
        if self.0.len() > MOST_BYTES {
            return Some("is longer than 4095 bytes");
        }
        if self.0[0] == b'/' {
            return Some("is absolute; names must be relative");
        }
        if self.0.contains(&0) {
            return Some("has a NUL byte");
        }
        if self.components().count() > MOST_COMPONENTS {
            return Some("has more than 128 components");
        }
        if self.components().any(|component| component == b"." || component == b"..") {
            return Some("has a component . or ..");
        }
        if self.components().any(<[u8]>::is_empty) {
            return Some("has an empty component");
        }
        if self.components().any(|component| component.len() > MOST_COMPONENT_BYTES) {
            return Some("has a component longer than 255 bytes");
        }
        // Directories may be set to ignore case (ext4's casefold, NTFS, CIFS).
        let first = self.components().next().unwrap_or_default();
        if first.eq_ignore_ascii_case(PARTIAL_DIRECTORY.as_bytes()) {
            return Some("is where the receiver keeps incomplete files");
        }
        None
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// From the outermost directory to the file.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// The directory that it is in, empty for the one of the transfer, and the last component.
    pub fn split(&self) -> (&[u8], &[u8]) {
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&self.0[..slash], &self.0[slash + 1..]),
            None => (b"", &self.0),
        }
    }
}

/// For people: a name may hold anything, and a terminal must not obey it.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for part in self.0.utf8_chunks() {
            for character in part.valid().chars() {
                if words::is_unprintable(character) {
                    write!(f, "{}", character.escape_default())?;
                } else {
                    write!(f, "{character}")?;
                }
            }
            for byte in part.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let long = "a".repeat(256);
        let deep = "a/".repeat(128) + "a";
        let longer = format!("{}/", "a".repeat(254)).repeat(17);
        for bad in [
            "",
            "/",
            "/etc/passwd",
            ".",
            "..",
            "../a",
            "a/..",
            "a/../b",
            "a/./b",
            "./a",
            "a//b",
            "a/",
            "a\0b",
            ".fairway-partial",
            ".fairway-partial/x",
            ".Fairway-Partial/x",
            &long,
            &deep,
            &longer,
        ] {
            assert!(matches!(Name::new(bad), Err(Error::Refused(_))), "{bad}");
        }
        for good in
            ["a", "...", "..a", "a..", "a/b", ".a/.b", "a/.fairway-partial", "-", "~", "a b", "\\"]
        {
            assert_eq!(Name::new(good).unwrap().as_bytes(), good.as_bytes());
        }
    }

    #[test]
    fn a_terminal_does_not_obey_a_name() {
        let name = Name::new(b"a\x1b[2J\n\xffb\xe2\x80\xae\xc3\xa9".to_vec()).unwrap();
        assert_eq!(name.to_string(), "a\\u{1b}[2J\\n\\xffb\\u{202e}\u{e9}");
        assert_eq!(name.split(), (&b""[..], name.as_bytes()));
        assert_eq!(Name::new("a/b/c").unwrap().split(), (&b"a/b"[..], &b"c"[..]));
    }

    proptest! {
        #[test]
        fn what_is_accepted_has_only_plain_components(bytes in vec(prop_oneof![
            Just(b'.'), Just(b'/'), Just(b'a'), any::<u8>(),
        ], 0..20)) {
            if let Ok(name) = Name::new(bytes) {
                for component in name.components() {
                    prop_assert!(!component.is_empty() && component != b"." && component != b"..");
                    prop_assert!(!component.contains(&0) && !component.contains(&b'/'));
                }
                prop_assert!(name.to_string().chars().all(|character| !character.is_control()));
            }
        }
    }
}
