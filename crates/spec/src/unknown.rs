//! What is said of a key that a table does not have: the key that is meant, or the tables that have it.

use super::error::did_you_mean;
use super::keys::{EXPERIMENT, Key, Kind, Section};

/// Tables that a message names at most.
const NAMED: usize = 3;

/// `; did you mean "…"?` for a misspelt key of `section`, which stands at `path`, and the tables that
/// have the key, unless `path` has it itself; nothing for any other name.
pub(super) fn hint(name: &str, section: &Section, path: &str) -> String {
    let known = section.keys().map(|key| key.name).filter(|known| *known != "sweep");
    let meant = did_you_mean(name, known);
    let tables = tables_with(name, table_at(path));
    if tables.is_empty() || path.split('.').any(|part| part == name) {
        return meant;
    }
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
    /// The file itself.
    fn root() -> Self {
        Table { path: String::new(), is_list: false, section: &EXPERIMENT }
    }

    /// As TOML writes it: `[stack]`, `[[flow]]`.
    fn header(&self) -> String {
        if self.is_list { format!("[[{}]]", self.path) } else { format!("[{}]", self.path) }
    }

    /// The tables at a key, if it has some.
    fn below(&self, key: &Key) -> Option<Self> {
        let (Kind::Table(section) | Kind::List(section) | Kind::Distribution(section)) = key.kind
        else {
            return None;
        };
        let above = if self.path.is_empty() { String::new() } else { format!("{}.", self.path) };
        let is_list = matches!(key.kind, Kind::List(_));
        Some(Table { path: format!("{above}{}", key.name), is_list, section })
    }
}

/// The table at a path, whose ids and indices are left out; none if an id has dots.
fn table_at(path: &str) -> Option<Table> {
    let mut table = Table::root();
    let mut parts = path.split('.').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        table = table.below(table.section.key(part)?)?;
        if table.is_list {
            parts.next();
        }
    }
    Some(table)
}

/// The tables that have a key, those nearest to `own` or to the file itself first. Of tables with the
/// same keys there is one.
fn tables_with(name: &str, own: Option<Table>) -> Vec<Table> {
    let mut all: Vec<Table> = own.into_iter().chain([Table::root()]).collect();
    let mut next = 0;
    while let Some(table) = all.get(next) {
        let mut found: Vec<Table> = Vec::new();
        for below in table.section.keys().filter_map(|key| table.below(key)) {
            if !all.iter().chain(&found).any(|seen| std::ptr::eq(seen.section, below.section)) {
                found.push(below);
            }
        }
        all.extend(found);
        next += 1;
    }
    all.retain(|table| !table.path.is_empty() && table.section.key(name).is_some());
    all
}
