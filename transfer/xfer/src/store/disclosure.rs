//! The answer to an offer of a name that is taken: what a sender may learn of the file that is there.
//!
//! A token lets its holder write new files and read none. That a name is taken cannot be hidden from
//! whoever asks for it. Length and sums of the file are told to two kinds of sender, who know its
//! content or may read it: one that offers what it has sent before, which shows in the length,
//! permissions and time of modification (to the nanosecond) that the store gave the file then; and any,
//! of a file whose permissions let every user of the host read it. All others get the same sentence,
//! whatever is there.

use super::disk::{About, Kind};
use super::settling::plain;
use super::{Entry, Modified};

/// Permission of everybody to read (`S_IROTH`).
const READABLE_BY_ALL: u32 = 0o004;

/// The answer to the offer of a name that is taken and not replaced.
pub const TAKEN: &str = "is there already, and is left as it is; recv --overwrite replaces files";

/// Whether a sender that offers `entry` may be told how it compares with what is there.
pub fn may_be_told(entry: &Entry, there: &About) -> bool {
    let is_public = there.mode & READABLE_BY_ALL != 0;
    let is_comparable = there.kind == Kind::File && entry.bytes == Some(there.bytes);
    is_comparable && (is_public || is_what_was_sent(entry, there))
}

fn is_what_was_sent(entry: &Entry, there: &About) -> bool {
    let cut = |time: Modified| Modified { nanos: time.nanos.min(999_999_999), ..time };
    entry.modified.map(cut) == Some(there.modified) && plain(entry.mode) == plain(there.mode)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Name;
    use super::*;

    #[test]
    fn only_who_may_read_a_file_or_has_sent_it_is_told() {
        let time = Modified { seconds: 1_000_000_000, nanos: 5 };
        let private = About {
            kind: Kind::File,
            bytes: 10,
            owner: 0,
            mode: 0o100_600,
            has_more_names: false,
            modified: time,
            changed: Duration::ZERO,
            identity: (1, 2),
        };
        let offers = |bytes, mode, modified| Entry {
            name: Name::new("a").unwrap(),
            bytes,
            mode,
            modified,
            hole_bytes: 0,
        };
        let sent = offers(Some(10), 0o600, Some(time));
        assert!(may_be_told(&sent, &private));
        for other in [
            offers(Some(11), 0o600, Some(time)),
            offers(None, 0o600, Some(time)),
            offers(Some(10), 0o640, Some(time)),
            offers(Some(10), 0o600, Some(Modified { nanos: 6, ..time })),
            offers(Some(10), 0o600, None),
        ] {
            assert!(!may_be_told(&other, &private), "{other:?}");
        }
        let public = About { mode: 0o100_604, ..private };
        assert!(may_be_told(&offers(Some(10), 0o600, None), &public));
        assert!(!may_be_told(&offers(Some(9), 0o600, None), &public), "its length is not told");
        let directory = About { kind: Kind::Directory, mode: 0o777, ..private };
        assert!(!may_be_told(&sent, &directory));
    }
}
