//! Checks beyond the compiler's, which ensures that every preset has a value and a source for every
//! field of `Stack`.

use super::{PRESETS, Preset};

#[test]
fn a_derived_preset_has_the_sources_of_its_base() {
    let (base, derived) =
        ["linux-6.1", "linux-6.12"].map(|name| Preset::named(name).unwrap()).into();
    assert_eq!(derived.source("undo"), base.source("undo"));
    assert_ne!(derived.source("tso_fill"), base.source("tso_fill"));
    // What it does not name is equal.
    let (base, derived) = ((base.stack)(), (derived.stack)());
    assert_eq!((derived.window, derived.losses), (base.window, base.losses));
}

#[test]
fn every_switch_of_every_preset_has_a_source() {
    for preset in PRESETS {
        for (switch, source) in preset.sources {
            let is_sentence = source.contains(['\n', '\t']) || source.ends_with(['.', ' ']);
            assert!(source.len() > 5 && !is_sentence, "{}, {switch}: {source:?}", preset.name);
            assert_eq!(preset.source(switch), Some(*source));
        }
        assert_eq!(preset.source("mtu"), None);
    }
}

#[test]
fn presets_are_found_by_their_names() {
    for preset in PRESETS {
        let found = Preset::named(preset.name).expect("a preset");
        assert_eq!(found.summary, preset.summary, "two presets are named {}", preset.name);
        assert!(preset.summary.ends_with('.'), "{}", preset.name);
    }
    assert!(Preset::named("linux").is_none());
}
