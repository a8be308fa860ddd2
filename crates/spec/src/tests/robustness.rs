//! No text, however wrong, makes the reader panic; and what is refused is refused with words.

use proptest::prelude::*;
use serde_json::Value;

use super::BASE;
use crate::{from_document, plan};

const SWEEP: &str = "[sweep]\nrepetitions = 2\n\"flow.main.count\" = [1, 2]\n";

/// Whatever the answer, it has words; an accepted plan has experiments.
fn check(text: &str) {
    match plan(text, "fuzz.toml") {
        Ok(plan) => {
            assert!(!plan.points.is_empty());
            for point in &plan.points {
                from_document(&point.document).expect("a planned point is valid");
            }
        }
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            for error in &errors.errors {
                assert!(!error.path.is_empty() && !error.message.is_empty());
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
}

/// Words that mean something to the reader, to put where they do not belong.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "=",
            "[",
            "]",
            "{",
            "}",
            "\"",
            ".",
            "\n",
            "0",
            "-1",
            "1e308",
            "nan",
            "true",
            "[[flow]]",
            "[sweep]",
            "count = 100000",
            "\"flow.0.cc\" = [1]",
            "18446744073709551615",
            "\u{0}",
            "\"18446744073709551615 ns\"",
            "\"18446744073709551615 packets\"",
            "\"0 s\"",
            "\"9999999999 bdp\"",
            "\"unlimited\"",
            "mss = \"16 bytes\"",
            "kind = \"chain\"",
            "\"18446744073 s\"",
            "\"18446744 Tbit/s\"",
            "initial_window = \"1073741824 segments\"",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
    ]
}

/// Any JSON value of modest size.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        fragment().prop_map(Value::String),
        "[0-9]{1,20}(\\.[0-9]{1,20})? ?(s|ms|ns|h|Mbit/s|Tbit/s|bytes|GiB|packets|segments|bdp)"
            .prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec(("[a-z_]{1,10}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Every place of a document, as the steps that lead to it.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(name, inner)| places(inner, &format!("{here}/{name}"), found));
        }
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(index, inner)| places(inner, &format!("{here}/{index}"), found)),
        _ => {}
    }
}

/// An experiment that writes every key it can.
fn full() -> Value {
    let text = format!(
        "{BASE}{}",
        r#"
        start = "1 s"
        stop = "9 s"
        bytes = "100 MB"
        app_rate = "1 Mbit/s"
        count = 3
        stagger = "1 s"
        from = "s0"
        to = "d0"
        mtu = "1500 bytes"
        initial_window = "10 segments"
        send_buffer = "1 MiB"
        receive_buffer = "30 segments"
        delayed_ack = "40 ms"
        rto_min = "200 ms"
        rto_max = "60 s"
        rto_initial = "1 s"
        max_burst = "3 segments"
        slow_start = "limited"
        max_ssthresh = "100 segments"
        reordering = "3 segments"
        cc_params = {}
        [topology.access]
        rate = "1 Gbit/s"
        delay = "1 ms"
        loss = { probability = 0.1, direction = "both" }
        queue = { kind = "red", limit = "1.0 bdp", min_threshold = "5 packets", weight = 0.1 }
        "#
    );
    plan(&text, "full.toml").unwrap_or_else(|errors| panic!("{errors}")).points[0].document.clone()
}

proptest! {
    #[test]
    fn any_text(text in "\\PC*") {
        check(&text);
    }

    #[test]
    fn a_valid_file_with_something_put_in(at in 0usize..1000, what in fragment()) {
        let text = format!("{BASE}{SWEEP}");
        let at = text.char_indices().map(|(i, _)| i).nth(at % text.len()).unwrap_or(0);
        check(&format!("{}{what}{}", &text[..at], &text[at..]));
    }

    #[test]
    fn a_valid_file_with_something_cut_out(at in 0usize..1000, length in 1usize..60) {
        let text: Vec<char> = format!("{BASE}{SWEEP}").chars().collect();
        let at = at % text.len();
        let rest = text[(at + length).min(text.len())..].iter();
        check(&text[..at].iter().chain(rest).collect::<String>());
    }

    #[test]
    fn a_valid_document_with_any_value_anywhere(place in any::<proptest::sample::Index>(), value in json()) {
        let mut document = full();
        let mut found = Vec::new();
        places(&document, "", &mut found);
        *document.pointer_mut(place.get(&found).as_str()).unwrap() = value;
        if let Err(errors) = from_document(&document) {
            assert!(!errors.errors.is_empty());
        }
    }

    #[test]
    fn any_document(value in json()) {
        let _ = from_document(&value);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        format!("title = {}", "[".repeat(100_000)),
        format!("title = {}", "{a=".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
        format!("{}a = 1", "a.".repeat(100_000)),
    ] {
        let errors = plan(&text, "deep.toml").unwrap_err();
        assert!(!errors.errors.is_empty());
    }
}

#[path = "../../../../fuzz/corpus.rs"]
mod corpus;

#[test]
fn the_fuzzers_corpus() {
    let files = corpus::files("experiment");
    let texts: Vec<_> = files.iter().filter_map(|file| std::str::from_utf8(file).ok()).collect();
    assert!(texts.len() > 50, "{} files", texts.len());
    texts.iter().for_each(|text| check(text));
}
