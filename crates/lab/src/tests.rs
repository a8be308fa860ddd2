use std::sync::Mutex;

use serde_json::{Value, json};

use crate::answers::{fault, plan, run};

const SMALL: &str = r#"
title = "Small"
duration = "2 s"
seed = 9007199254740993

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "1 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "20 packets" }

[[flow]]
cc = "reno"

[measure]
sample = "100 ms"
"#;

fn planned(text: &str) -> Value {
    serde_json::from_str(&plan(text).unwrap()).unwrap()
}

#[test]
fn a_document_keeps_a_seed_that_no_number_of_javascript_holds() {
    let found = planned(SMALL);
    assert_eq!(found["title"], "Small");
    assert_eq!(found["points"][0]["label"], "Small");
    assert_eq!(found["points"][0]["settings"], json!({}));
    let document = found["points"][0]["document"].as_str().unwrap();
    assert!(document.contains(r#""seed":9007199254740993"#), "{document}");
}

#[test]
fn points_of_a_sweep_are_told_apart() {
    let found = planned(&format!("{SMALL}\n[sweep]\n\"flow.0.cc\" = [\"reno\", \"cubic\"]\n"));
    let labels: Vec<_> = found["points"].as_array().unwrap().iter().map(|p| &p["label"]).collect();
    assert_eq!(labels, ["flow.0.cc = reno, repetition 0", "flow.0.cc = cubic, repetition 0"]);
    assert_eq!(found["points"][1]["settings"], json!({ "flow.0.cc": "cubic" }));
}

#[test]
fn more_points_than_a_page_holds_are_refused() {
    let error = plan(&format!("{SMALL}\n[sweep]\nrepetitions = 1001\n")).unwrap_err();
    assert!(error.contains("1001 points, and a page runs at most 1000"), "{error}");
}

#[test]
fn what_needs_python_or_files_is_refused_at_its_key() {
    let own = SMALL.replace("\"reno\"", "\"python:my_reno.MyReno\"");
    let expected = "experiment: flow.0.cc: \"python:my_reno.MyReno\": a page runs no Python; choose an \
                    algorithm of Fairway, or use `fairway run --allow-python`";
    assert_eq!(plan(&own).unwrap_err(), expected);
    let captured = plan(&format!("{SMALL}\n[capture]\nat = \"hosts\"\n")).unwrap_err();
    assert!(captured.starts_with("experiment: capture.at: a page keeps no captures"), "{captured}");
}

#[test]
fn a_run_tells_its_progress_and_has_all_columns() {
    static TOLD: Mutex<Vec<f64>> = Mutex::new(Vec::new());
    let found = planned(&SMALL.replace("\"2 s\"", "\"100 s\""));
    let document = found["points"][0]["document"].as_str().unwrap();
    let (reply, _columns) = run(document, |share| TOLD.lock().unwrap().push(share)).unwrap();
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["flow_ids"], json!(["reno#0"]));
    assert_eq!(reply["losses"], Value::Null);
    let series = &reply["series"][0];
    // A thousand samples of eight bytes.
    assert_eq!((&series["name"], &series["type"]), (&json!("t_s"), &json!("f64")));
    assert_eq!(series["bytes"], 8000);
    let told = TOLD.lock().unwrap();
    assert!(told.len() > 1 && told.len() <= 50, "{told:?}");
    assert!(told.is_sorted() && told.last() == Some(&1.0), "{told:?}");
}

#[test]
fn what_is_no_document_is_an_error() {
    assert!(run("{", |_| ()).unwrap_err().starts_with("not a JSON document: "));
    assert!(run("[]", |_| ()).is_err());
    let reply: Value = serde_json::from_str(&fault("at a line")).unwrap();
    assert_eq!(reply["error"]["kind"], "fault");
}
