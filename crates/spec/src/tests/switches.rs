//! The table of switches, the fields of a stack and the presets agree.

use fairway_tcp::{PRESETS, Stack};
use serde_json::{Value, json};

use crate::from_document;
use crate::switch::{Field, Switch, switches};
use crate::switches::{STACK_SWITCHES, SWITCHES};

/// A field that no key sets: exceptions that a preset makes from `initial_ssthresh`.
const NOT_A_SWITCH: &str = "initial_ssthresh_of";

fn all() -> impl Iterator<Item = &'static Switch> {
    STACK_SWITCHES.iter().chain(SWITCHES)
}

/// The stack of a flow where `[stack]` is this.
fn stack(text: Value) -> Stack {
    let bottleneck = json!({ "rate": "10 Mbit/s", "delay": "25 ms" });
    let document = json!({
        "duration": "1 s",
        "stack": text,
        "topology": { "kind": "dumbbell", "bottleneck": bottleneck },
        "flow": [{ "cc": "reno" }],
    });
    from_document(&document).unwrap_or_else(|errors| panic!("{errors}")).flows[0].stack.clone()
}

#[test]
fn every_field_of_a_stack_is_a_switch_with_a_source() {
    for preset in PRESETS {
        let shown = switches(&(preset.stack)());
        let shown = shown.as_object().unwrap();
        for name in shown.keys() {
            assert!(preset.source(name).is_some(), "{}: no source of {name}", preset.name);
        }
        for (field, _) in preset.sources.iter().filter(|(field, _)| *field != NOT_A_SWITCH) {
            assert!(shown.contains_key(*field), "{field} is not in the table of switches");
        }
    }
}

#[test]
fn names_are_unlike() {
    let mut names: Vec<_> = all().map(|switch| switch.key.name).collect();
    names.sort_unstable();
    names.windows(2).for_each(|pair| assert_ne!(pair[0], pair[1]));
}

/// Every preset, written out switch by switch over any other one, is that preset: so each switch
/// sets the field that it is named after, and prints what it reads.
#[test]
fn what_is_printed_can_be_written() {
    for preset in PRESETS {
        let wanted = (preset.stack)();
        let mut text = switches(&wanted);
        for other in PRESETS {
            text["preset"] = json!(other.name);
            let found = stack(text.clone());
            let exceptions = wanted.window.initial_ssthresh_of;
            assert_eq!(
                found.clone().with(|s| s.window.initial_ssthresh_of = exceptions),
                wanted,
                "{} over {}",
                preset.name,
                other.name
            );
        }
    }
}

#[test]
fn a_choice_has_all_its_names() {
    let mut count = 0;
    for switch in all() {
        let Field::Choice(choice) = switch.field else { continue };
        for name in (choice.names)() {
            let text = json!({ switch.key.name: name });
            assert_eq!((choice.get)(&stack(text)), name, "{}", switch.key.name);
            count += 1;
        }
    }
    assert!(count > 5, "{count} names");
}
