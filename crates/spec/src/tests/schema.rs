//! The tables of keys, the schema made of them, and the reader agree.

use serde_json::Value;

use crate::keys::{Absent, EXPERIMENT, Key, Kind, Section};
use crate::specimen::{document, table, without};
use crate::{from_document, schema, specimen};

/// Calls `visit` with every key that may be written, and where.
fn walk(
    section: &'static Section,
    path: &[&'static str],
    visit: &mut impl FnMut(&[&'static str], &'static Key),
) {
    for key in section.keys() {
        visit(path, key);
        let below = [path, &[key.name]].concat();
        match key.kind {
            Kind::Table(inner) | Kind::List(inner) | Kind::Distribution(inner) => {
                walk(inner, &below, visit);
            }
            _ => {}
        }
    }
}

#[test]
fn every_example_is_accepted() {
    let mut count = 0;
    walk(&EXPERIMENT, &[], &mut |path, key| {
        if matches!(key.kind, Kind::Sweep) {
            return;
        }
        let path = [path, &[key.name]].concat().join(".");
        let document = specimen(&path, None).unwrap_or_else(|| panic!("no specimen of {path}"));
        from_document(&document)
            .unwrap_or_else(|errors| panic!("example of {path}: {errors}\n{document}"));
        count += 1;
    });
    assert!(count > 80, "{count} examples");
}

#[test]
fn every_choice_refuses_another_name() {
    let mut count = 0;
    walk(&EXPERIMENT, &[], &mut |path, key| {
        if !matches!(key.kind, Kind::Choice { .. }) {
            return;
        }
        let place = [path, &[key.name]].concat().join(".");
        let mut document = specimen(&place, None).unwrap();
        table(&mut document, path)[key.name] = "another".into();
        assert!(from_document(&document).is_err(), "{place}");
        count += 1;
    });
    assert!(count > 20, "{count} choices");
}

/// What is wrong with the default of a key: it makes a difference whether it is written.
fn wrong_default(
    path: &[&'static str],
    key: &'static Key,
    kind: Option<&str>,
    default: &str,
) -> Option<String> {
    // With another kind, other keys would have to be there.
    let without = if key.name == "kind" { document(path) } else { without(path, key, kind) };
    let mut with = without.clone();
    table(&mut with, path)[key.name] = serde_json::from_str(default).unwrap();
    let read = |document: &Value| from_document(document).map(|found| format!("{found:?}"));
    let place = format!("{path:?} {} {kind:?}", key.name);
    match (read(&with), read(&without)) {
        (Ok(with), Ok(without)) if with == without => None,
        (Ok(with), Ok(without)) => Some(format!("{place}\n  {with}\n  {without}")),
        (Err(errors), _) | (_, Err(errors)) => Some(format!("{place}: {errors}")),
    }
}

#[test]
fn every_default_is_what_holds_without_the_key() {
    let (mut count, mut wrong) = (0, Vec::new());
    walk(&EXPERIMENT, &[], &mut |path, key| {
        match key.absent {
            Absent::Default(default) => wrong.extend(wrong_default(path, key, None, default)),
            Absent::Of(defaults) => {
                for (kinds, default) in defaults {
                    let found = |kind: &&str| wrong_default(path, key, Some(kind), default);
                    wrong.extend(kinds.iter().filter_map(found));
                }
            }
            Absent::Required | Absent::Explained => return,
        }
        count += 1;
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 80, "{count} defaults");
}

/// The values of `kind` with which a key of queues may be written, by the reader itself.
#[test]
fn the_kinds_of_a_key_are_those_that_take_it() {
    let section = |name: &str| match EXPERIMENT.key("topology").map(|key| &key.kind) {
        Some(Kind::Table(topology)) => match topology.key("bottleneck").map(|key| &key.kind) {
            Some(Kind::Table(link)) => match link.key(name).map(|key| &key.kind) {
                Some(Kind::Table(section)) => *section,
                _ => unreachable!(),
            },
            _ => unreachable!(),
        },
        _ => unreachable!(),
    };
    let mut without_default = Vec::new();
    for name in ["queue", "loss"] {
        let section = section(name);
        let Some(Kind::Choice { names, .. }) = section.key("kind").map(|key| &key.kind) else {
            unreachable!()
        };
        for key in section.keys().filter(|key| !["kind", "limit"].contains(&key.name)) {
            let kinds = (section.kinds)(key.name);
            let path = format!("topology.bottleneck.{name}.{}", key.name);
            for kind in names() {
                let document = specimen(&path, Some(kind)).unwrap();
                let refused = from_document(&document).err().map(|errors| errors.to_string());
                let foreign =
                    refused.is_some_and(|text| text.contains(&format!("{path}: belongs to kind")));
                let is_own = kinds.is_empty() || kinds.contains(&kind);
                assert_eq!(foreign, !is_own, "{path} with {kind}");
                if let Absent::Of(defaults) = key.absent
                    && is_own
                    && !defaults.iter().any(|(kinds, _)| kinds.contains(&kind))
                {
                    without_default.push((key.name, kind));
                }
            }
        }
    }
    // Three times min_threshold; as CAKE chooses by the rate, twice; the weight.
    let explained = [
        ("max_threshold", "red"),
        ("target", "cobalt"),
        ("interval", "cobalt"),
        ("allowed_burst", "red"),
    ];
    assert_eq!(without_default, explained);
}

#[test]
fn every_required_key_is_missed() {
    walk(&EXPERIMENT, &[], &mut |path, key| {
        let Absent::Required = key.absent else { return };
        let mut document = document(path);
        table(&mut document, path).as_object_mut().unwrap().remove(key.name);
        let errors = from_document(&document).unwrap_err().to_string();
        assert!(errors.contains("missing; write"), "{path:?} {}: {errors}", key.name);
    });
}

#[test]
fn the_schema_has_every_key_with_its_meaning() {
    let schema = schema();
    let mut count = 0;
    walk(&EXPERIMENT, &[], &mut |path, key| {
        let section = path.iter().fold(&schema, |here, name| {
            let here = &here["properties"][*name];
            here.get("items").or_else(|| here.get("anyOf")?.get(1)).unwrap_or(here)
        });
        assert_eq!(section["additionalProperties"], false, "{path:?}");
        let entry = &section["properties"][key.name];
        assert_eq!(entry["description"], key.meaning);
        assert!(key.meaning.ends_with('.') && key.meaning.len() > 10, "{}", key.name);
        assert!(!entry["examples"][0].is_null(), "{path:?} {}", key.name);
        count += 1;
    });
    assert!(count > 80, "{count} keys");
}
