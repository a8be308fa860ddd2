//! Values set in a file before it is read.

use serde_json::{Value, json};

use super::BASE;
use crate::set::{in_order_of_toml, set};
use crate::{Plan, plan_with};

fn changed(mut document: Value, path: &str, value: Value) -> Result<Value, String> {
    set(&mut document, path, value).map(|()| document).map_err(|error| error.to_string())
}

fn planned(text: &str, changes: &[(&str, Value)]) -> Result<Plan, String> {
    let changes: Vec<_> =
        changes.iter().map(|(path, value)| ((*path).into(), value.clone())).collect();
    plan_with(text, "test.toml", &changes, &fairway_cc::Catalogue::default())
        .map_err(|errors| errors.to_string())
}

#[test]
fn tables_and_entries_by_index_and_id_are_reached() {
    let mut document = json!({"flow": [{"cc": "bic"}, {"id": "x", "cc": "bic"}], "stack": {}});
    for (path, value) in [
        ("flow.0.cc", json!("cubic")),
        ("flow.x.cc", json!("htcp")),
        ("flow.'0'.start", json!("1 s")),
        ("stack.sack", json!(false)),
        ("seed", json!(3)),
    ] {
        set(&mut document, path, value).unwrap();
    }
    let flows = json!([{"cc": "cubic", "start": "1 s"}, {"id": "x", "cc": "htcp"}]);
    assert_eq!(document, json!({"flow": flows, "stack": {"sack": false}, "seed": 3}));
}

#[test]
fn missing_tables_are_created() {
    let window = json!(["10 s", "50 s"]);
    let loss = ("topology.bottleneck.loss.probability", json!(0.01));
    let changes = [
        ("measure.window", window.clone()),
        ("flow.0.cc", json!("cubic")),
        loss,
        ("flow.0.cc_params.c", json!(0.8)),
    ];
    let without_measure = BASE.replace("[measure]\nsample = \"100 ms\"\n", "");
    let document = &planned(&without_measure, &changes).unwrap().points[0].document;
    assert_eq!(document["measure"], json!({"window": window}));
    assert_eq!(document["topology"]["bottleneck"]["loss"], json!({"probability": 0.01}));
    assert_eq!(document["flow"][0]["cc_params"], json!({"c": 0.8}));
}

#[test]
fn a_key_that_cannot_exist_is_the_readers_error() {
    for (path, message) in [
        (
            "topology.bottlenek.rate",
            "topology.bottlenek: unknown key; did you mean \"bottleneck\"?",
        ),
        ("topology.bottleneck.jitter.mean", "topology.bottleneck.jitter.deviation: missing"),
        ("nothing.x", "nothing: unknown key; an experiment has title"),
        ("topology.link.0.rate", "topology.link: belongs to kind = \"chain\""),
    ] {
        let errors = planned(BASE, &[(path, json!("1 ms"))]).unwrap_err();
        assert!(errors.contains(&format!("test.toml: {message}")), "{errors}");
    }
}

#[test]
fn a_quoted_part_has_dots_in_it() {
    for path in ["sweep.\"flow.0.cc\"", "sweep.'flow.0.cc'"] {
        let plan = planned(BASE, &[(path, json!(["bbr", "reno"]))]).unwrap();
        assert_eq!(plan.axes, ["flow.0.cc"]);
        assert_eq!(plan.points[1].document["flow"][0]["cc"], "reno");
    }
    for path in ["sweep.\"flow.0.cc", "sweep.\"\"flow.0.cc\"\"", "\"a\"=1\nb"] {
        let error = changed(json!({}), path, json!(1)).unwrap_err();
        assert!(error.contains("quotes stand around a whole part"), "{error}");
    }
}

#[test]
fn a_swept_path_has_its_axis_replaced() {
    let document = json!({"sweep": {"flow.0.cc": ["bic", "htcp"]}, "flow": [{"cc": "bic"}]});
    let found = changed(document, "flow.0.cc", json!("cubic")).unwrap();
    assert_eq!(found["sweep"], json!({"flow.0.cc": ["cubic"]}));
    // It no longer varies together with others, and a group without paths is gone.
    let list = json!([{"a": 1, "b": 2}, {"a": 3, "b": 4}]);
    let document = json!({"sweep": {"list": list, "random": {"points": 5, "c": {}}}});
    let found = changed(document, "a", json!([7])).unwrap();
    let list = json!([{"b": 2}, {"b": 4}]);
    assert_eq!(found["sweep"], json!({"list": list, "random": {"points": 5, "c": {}}, "a": [7]}));
    assert_eq!(
        changed(found, "c", json!(1)).unwrap()["sweep"],
        json!({"list": list, "a": [7], "c": [1]})
    );
}

#[test]
fn a_path_that_leads_nowhere_is_refused() {
    let document = json!({"flow": [{"cc": "bic"}, {"cc": "reno"}, {"id": "web"}], "seed": 1});
    let known = "no such entry; there are 3, addressed by index from 0 or by id: web";
    for (path, message) in [
        ("flow.reno#1.cc", format!("flow.reno#1: {known}; write flow.1")),
        ("flow.reno#1/3.cc", format!("flow.reno#1/3: {known}; write flow.1")),
        ("flow.reno#3.cc", format!("flow.reno#3: {known}")),
        ("flow.wbe.cc", format!("flow.wbe: {known}; write flow.web")),
        ("flow.7.cc", format!("flow.7: {known}")),
        ("seed.x.y", "seed: is not a table or a list, so nothing in it can be set".to_owned()),
        (
            "flow.5",
            "flow.5: leads to no key; name a key of a table, or an entry of a list by its index"
                .to_owned(),
        ),
    ] {
        assert_eq!(changed(document.clone(), path, json!(1)).unwrap_err(), message);
    }
    assert!(
        changed(document, "seed.x", json!(1)).unwrap_err().starts_with("seed.x: leads to no key")
    );
}

#[test]
fn values_come_before_tables() {
    let mut document = json!({
        "stack": {"rack": {"reo": 1}, "mss": 1}, "flow": [{"cc": "reno"}], "seed": 1,
        "link": [{"a": 1}, {"a": ["x"], "t": {}, "b": 2}],
    });
    in_order_of_toml(&mut document);
    let expected = r#"{"flow":[{"cc":"reno"}],"seed":1,"stack":{"mss":1,"rack":{"reo":1}},"link":[{"a":1},{"a":["x"],"b":2,"t":{}}]}"#;
    assert_eq!(document.to_string(), expected);
}
