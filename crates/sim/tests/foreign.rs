//! Algorithms from elsewhere are named in experiments and run as Fairway's own are.

use std::sync::Arc;

use fairway_cc::{
    Catalogue, CcError, CongestionControl, Foreign, Init, Selection, Variant, create,
};
use fairway_sim::{Control, run};
use fairway_spec::{from_document, from_document_with, plan_with};
use serde_json::{Value, json};

/// Reno in the version of RFC 5681 under the name "lab:my.Reno"; any other name that begins with
/// "lab:" cannot be made.
struct Lab;

impl Foreign for Lab {
    fn has(&self, name: &str) -> bool {
        name.starts_with("lab:")
    }

    fn create(
        &self,
        selection: &Selection,
        init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError> {
        if selection.name != "lab:my.Reno" {
            let message = "is not in the laboratory; write lab:my.Reno".to_owned();
            return Err(CcError::Foreign { name: selection.name.clone(), message });
        }
        let reno = Selection {
            name: "reno".to_owned(),
            variant: Some(Variant::Paper),
            params: selection.params.clone(),
        };
        create(&reno, Variant::Paper, init)
    }
}

fn lab() -> Catalogue {
    Catalogue::with(Arc::new(Lab))
}

fn document(cc: &str) -> Value {
    json!({
        "duration": "10 s",
        "topology": {
            "kind": "dumbbell",
            "bottleneck": {
                "rate": "10 Mbit/s",
                "delay": "10 ms",
                "queue": { "limit": "20 packets" },
            },
        },
        "flow": [{ "cc": cc }, { "cc": "cubic", "start": "1 s" }],
    })
}

#[test]
fn a_run_has_the_algorithm_of_the_catalogue() {
    let mut own = document("reno");
    own["flow"][0]["cc_variant"] = json!("paper");
    let own = run(&from_document(&own).unwrap(), &Control::default()).unwrap();
    let foreign = from_document_with(&document("lab:my.Reno"), &lab()).unwrap();
    // The name without the module's stands in the paths of results.
    assert_eq!(foreign.flows[0].id, "Reno#0");
    let foreign = run(&foreign, &Control::default()).unwrap();
    assert_eq!(foreign.summary.flows[0].cc.as_deref(), Some("lab:my.Reno"));
    assert!(own.summary.links[0].drops > 0);
    assert_eq!(foreign.series.cwnd_segments, own.series.cwnd_segments);
    assert_eq!(foreign.summary.packets, own.summary.packets);
}

#[test]
fn what_is_wrong_is_said_at_the_flow() {
    let refused = |cc: &str, catalogue: &Catalogue| {
        from_document_with(&document(cc), catalogue).unwrap_err().to_string()
    };
    assert_eq!(
        refused("lab:Other", &lab()),
        "flow.0.cc: \"lab:Other\": is not in the laboratory; write lab:my.Reno"
    );
    for (cc, catalogue) in [("lab:my.Reno", Catalogue::default()), ("rino", lab())] {
        let message = refused(cc, &catalogue);
        assert!(message.starts_with(&format!("flow.0.cc: unknown congestion control \"{cc}\"; ")));
        assert!(message.contains(if cc == "rino" {
            "did you mean \"reno\"?"
        } else {
            "choose from"
        }));
    }
}

#[test]
fn a_sweep_may_hold_both() {
    let text = r#"
        duration = "10 s"
        [topology]
        kind = "dumbbell"
        bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }
        [[flow]]
        cc = "reno"
        [sweep]
        "flow.0.cc" = ["reno", "lab:my.Reno"]
        "#;
    let plan = plan_with(text, "test.toml", &[], &lab()).unwrap();
    let named: Vec<_> = plan.points.iter().map(|point| &point.document["flow"][0]["cc"]).collect();
    assert_eq!(named, ["reno", "lab:my.Reno"]);
    let wrong = text.replace("lab:my.Reno", "lab:Other");
    let refused = plan_with(&wrong, "test.toml", &[], &lab()).unwrap_err().to_string();
    assert!(refused.ends_with("(where the sweep has flow.0.cc = \"lab:Other\")"), "{refused}");
}
