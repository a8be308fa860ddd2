//! The algorithm of the guide (docs/your-own-algorithm.md): its Rust file compiles where it would
//! stand, its sums hold, and its runs are those of Reno in the version of RFC 5681. That its Python
//! file gives them too is tested in Python.

use std::sync::Arc;

// What the file finds in its crate.
use fairway_cc::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed, probe,
};
use fairway_cc::{Catalogue, CcError, Foreign, Selection};
use fairway_sim::{Control, Run, run};
use fairway_spec::from_document_with;

#[path = "../../../examples/my_reno.rs"]
mod my_reno;

struct Own;

impl Foreign for Own {
    fn has(&self, name: &str) -> bool {
        name == my_reno::ALGORITHM.name
    }

    fn create(
        &self,
        selection: &Selection,
        init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError> {
        my_reno::ALGORITHM.make(selection, Variant::Paper, init)
    }
}

#[test]
fn sums_by_hand() {
    for vector in my_reno::ALGORITHM.vectors {
        let computed = (vector.computed)();
        assert!(vector.holds(), "{}: {} by hand, {computed}", vector.sum, vector.expected);
    }
}

/// A run of examples/own.toml with another algorithm of the first flow, and losses.
fn with(cc: &str) -> Run {
    let text = include_str!("../../../examples/own.toml");
    let mut document: serde_json::Value = toml::from_str(text).unwrap();
    document["flow"][0]["cc"] = cc.into();
    if cc == "reno" {
        document["flow"][0]["cc_variant"] = "paper".into();
    }
    document["topology"]["bottleneck"]["loss"] = serde_json::json!({ "probability": 0.002 });
    let experiment = from_document_with(&document, &Catalogue::with(Arc::new(Own)))
        .unwrap_or_else(|errors| panic!("{errors}"));
    run(&experiment, &Control::default()).unwrap()
}

#[test]
fn its_runs_are_renos() {
    let (mut own, reno) = (with("my_reno"), with("reno"));
    assert!(own.summary.flows[0].window_reductions > Some(3));
    own.summary.flows[0].cc = Some("reno".to_owned());
    // As text, in which a number is its own shortest decimal, and no number equals none.
    assert!(format!("{own:?}") == format!("{reno:?}"), "{:?}\n{:?}", own.summary, reno.summary);
}
