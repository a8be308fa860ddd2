//! Kinds of one table, and the keys that only some of them have.

use super::reader::Table;

/// A kind of a table.
pub(super) struct KindOf<T> {
    pub(super) name: &'static str,
    /// The keys that not every kind has, with spaces between them.
    pub(super) keys: &'static str,
    /// How it is read.
    pub(super) read: T,
}

impl<T> KindOf<T> {
    fn has(&self, key: &str) -> bool {
        self.keys.split(' ').any(|own| own == key)
    }
}

/// The names of all kinds.
pub(super) fn names<T>(kinds: &[KindOf<T>]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name).collect()
}

/// The kinds that have this key of their own.
pub(super) fn with_key<T>(kinds: &[KindOf<T>], key: &str) -> Vec<&'static str> {
    kinds.iter().filter(|kind| kind.has(key)).map(|kind| kind.name).collect()
}

/// The keys in `table` that only kinds other than `own` have, each with the names of those, quoted.
pub(super) fn foreign<T>(
    kinds: &[KindOf<T>],
    own: &KindOf<T>,
    table: &Table,
) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for key in kinds.iter().flat_map(|kind| kind.keys.split(' ')) {
        let is_new = found.iter().all(|(known, _)| *known != key);
        if is_new && table.has(key) && !own.has(key) {
            let owners: Vec<_> =
                with_key(kinds, key).iter().map(|name| format!("\"{name}\"")).collect();
            found.push((key, owners.join(" or ")));
        }
    }
    found
}
