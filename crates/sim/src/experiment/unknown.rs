//! What is said of a key that a table does not have: the key that is meant, or the tables that have it.

use super::error::did_you_mean;
use super::keys::{EXPERIMENT, Kind, Section};

/// Tables that a message names at most.
const NAMED: usize = 3;

/// `; did you mean "…"?` for a misspelt key of `section`, and the tables that have the key, those below
/// `path` first, unless `path` has it itself; nothing for any other name.
pub(super) fn hint(name: &str, section: &Section, path: &str) -> String {
    let known = section.keys().map(|key| key.name).filter(|known| *known != "sweep");
    let meant = did_you_mean(name, known);
    let mut tables = tables_with(name);
    if tables.is_empty() || path.split('.').any(|part| part == name) {
        return meant;
    }
    // The rest stays in order: those nearest to the root first.
    tables.sort_by_key(|table| !format!(".{}", table.path).starts_with(&format!(".{path}.")));
    let headers: Vec<_> = tables.iter().take(NAMED).map(Table::header).collect();
    let more = if tables.len() > NAMED { " and others" } else { "" };
    let mark = if meant.is_empty() { ";" } else { "" };
    format!("{meant}{mark} {name} belongs in {}{more}", headers.join(", "))
}

/// A table of experiment files.
struct Table {
    path: String,
    is_list: bool,
    section: &'static Section,
}

impl Table {
    /// As TOML writes it: `[stack]`, `[[flow]]`.
    fn header(&self) -> String {
        if self.is_list { format!("[[{}]]", self.path) } else { format!("[{}]", self.path) }
    }
}

/// The tables below the file itself that have a key, those nearest to it first. Of tables with the
/// same keys there is one.
fn tables_with(name: &str) -> Vec<Table> {
    let mut all = vec![Table { path: String::new(), is_list: false, section: &EXPERIMENT }];
    let mut next = 0;
    while let Some(Table { path, section, .. }) = all.get(next) {
        let mut found = Vec::new();
        for key in section.keys() {
            let (Kind::Table(inner) | Kind::List(inner) | Kind::Distribution(inner)) = key.kind
            else {
                continue;
            };
            if !all.iter().chain(&found).any(|seen| std::ptr::eq(seen.section, inner)) {
                let path =
                    if path.is_empty() { key.name.into() } else { format!("{path}.{}", key.name) };
                let is_list = matches!(key.kind, Kind::List(_));
                found.push(Table { path, is_list, section: inner });
            }
        }
        all.extend(found);
        next += 1;
    }
    all.into_iter().skip(1).filter(|table| table.section.key(name).is_some()).collect()
}
