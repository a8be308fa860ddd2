//! `--set path=value`: values that replace those of a file before it is read.

use serde_json::{Map, Value};

use crate::ExperimentError;
use crate::error::closest;

/// Ids that a message lists at most.
const LISTED: usize = 8;
/// Longest entry of a list of tables that is written on one line, and its indentation and comma.
const LINE: usize = 100 - 5;

/// Sets the value at `path`, which goes through tables by name and through lists by index or `id`.
///
/// Missing tables are created; whether an experiment may have them is for its reader to say. Entries
/// of lists have to exist. A path that the sweep varies has its whole axis replaced. A part with dots
/// in it is quoted as in TOML: `sweep."flow.0.cc"`.
pub(crate) fn set(document: &mut Value, path: &str, value: Value) -> Result<(), ExperimentError> {
    if let Some(Value::Object(sweep)) = document.get_mut("sweep")
        && take_out(sweep, path)
    {
        let values = if value.is_array() { value } else { Value::Array(vec![value]) };
        sweep.insert(path.to_owned(), values);
        return Ok(());
    }
    let parts = parts(path)?;
    let Some((last, parents)) = parts.split_last() else { return Err(nothing(path)) };
    let mut here = document;
    for (depth, part) in parents.iter().enumerate() {
        here = child(here, part, &parts[..depth].join("."))?;
    }
    match here {
        Value::Object(table) => {
            table.insert(last.clone(), value);
        }
        Value::Array(list) => {
            let index = last.parse::<usize>().ok();
            *index.and_then(|index| list.get_mut(index)).ok_or_else(|| nothing(path))? = value;
        }
        _ => return Err(nothing(path)),
    }
    Ok(())
}

fn nothing(path: &str) -> ExperimentError {
    ExperimentError::new(
        path,
        "leads to no key; name a key of a table, or an entry of a list by its index",
    )
}

/// The parts of a path. If one is quoted, the path is read as a dotted key of TOML.
fn parts(path: &str) -> Result<Vec<String>, ExperimentError> {
    if !path.contains(['"', '\'']) {
        return Ok(path.split('.').map(str::to_owned).collect());
    }
    let stray = || {
        ExperimentError::new(
            path,
            "not a path; quotes stand around a whole part, as in 'sweep.\"flow.0.cc\"'",
        )
    };
    let table: toml::Table = format!("{path} = 0").parse().map_err(|_| stray())?;
    let mut here = toml::Value::Table(table);
    let mut parts = Vec::new();
    while let toml::Value::Table(table) = here {
        if table.len() != 1 {
            return Err(stray());
        }
        let (part, below) = table.into_iter().next().ok_or_else(stray)?;
        parts.push(part);
        here = below;
    }
    Ok(parts)
}

/// Takes a path out of those that the sweep varies, alone or together; whether it was one of them.
fn take_out(sweep: &mut Map<String, Value>, path: &str) -> bool {
    if sweep.contains_key(path) {
        return true;
    }
    let mut found = false;
    for key in ["list", "random", "latin_hypercube"] {
        let Some(group) = sweep.get_mut(key) else { continue };
        let mut tables: Vec<_> = match group {
            Value::Array(entries) => entries.iter_mut().filter_map(Value::as_object_mut).collect(),
            group => group.as_object_mut().into_iter().collect(),
        };
        let taken = tables.iter_mut().filter_map(|table| table.shift_remove(path)).count();
        found |= taken > 0;
        if taken > 0 && tables.iter().all(|table| table.keys().all(|name| name == "points")) {
            sweep.shift_remove(key);
        }
    }
    found
}

fn child<'a>(
    here: &'a mut Value,
    part: &str,
    path: &str,
) -> Result<&'a mut Value, ExperimentError> {
    match here {
        Value::Object(table) => Ok(table.entry(part).or_insert_with(|| Value::Object(Map::new()))),
        Value::Array(entries) => match place(entries, part) {
            Some(place) => Ok(&mut entries[place]),
            None => {
                Err(ExperimentError::new(format!("{path}.{part}"), no_entry(entries, part, path)))
            }
        },
        _ => {
            Err(ExperimentError::new(path, "is not a table or a list, so nothing in it can be set"))
        }
    }
}

/// Where the entry with that index or `id` stands.
fn place(entries: &[Value], part: &str) -> Option<usize> {
    let index = part.parse().ok().filter(|index| *index < entries.len());
    let id =
        || entries.iter().position(|entry| entry.get("id").and_then(Value::as_str) == Some(part));
    index.or_else(id)
}

/// What the path of a list should go on with in place of an entry that does not exist.
fn no_entry(entries: &[Value], part: &str, path: &str) -> String {
    let ids: Vec<_> = entries.iter().filter_map(|entry| entry.get("id")?.as_str()).collect();
    let by_id = match &ids[..ids.len().min(LISTED)] {
        [] => String::new(),
        known => format!(" or by id: {}", known.join(", ")),
    };
    // Results name an entry without an id by its kind and its index: reno#1, or reno#1/3 of copies.
    let index = part.split_once('#').map(|(_, rest)| rest.split('/').next().unwrap_or(rest));
    let index = index.filter(|index| place(entries, index).is_some());
    let meant = index.or_else(|| closest(part, ids.iter().copied()));
    let hint = meant.map_or(String::new(), |meant| format!("; write {path}.{meant}"));
    let count = entries.len();
    format!("no such entry; there are {count}, addressed by index from 0{by_id}{hint}")
}

/// The document in the order in which TOML writes it: the values of a table before the tables in it.
pub(crate) fn in_order_of_toml(value: &mut Value) {
    let Value::Object(table) = value else { return };
    let (mut values, mut tables) = (Map::new(), Map::new());
    for (key, mut value) in std::mem::take(table) {
        let is_table = match &mut value {
            Value::Object(_) => {
                in_order_of_toml(&mut value);
                true
            }
            Value::Array(entries) if is_list_of_tables(entries) => {
                entries.iter_mut().for_each(in_order_of_toml);
                true
            }
            _ => false,
        };
        if is_table { &mut tables } else { &mut values }.insert(key, value);
    }
    values.append(&mut tables);
    *table = values;
}

/// Whether a list is written as `[[…]]`: it holds tables, of which one is too long for a line.
fn is_list_of_tables(entries: &[Value]) -> bool {
    !entries.is_empty()
        && entries.iter().all(Value::is_object)
        && !entries.iter().all(|entry| is_flat(entry) && written(entry) <= LINE)
}

/// Whether no list is below a value.
fn is_flat(value: &Value) -> bool {
    match value {
        Value::Object(table) => table.values().all(is_flat),
        Value::Array(list) => list.is_empty(),
        _ => true,
    }
}

/// Characters of a value as TOML writes it on one line.
fn written(value: &Value) -> usize {
    toml::Value::try_from(value).map_or(usize::MAX, |value| value.to_string().chars().count())
}
