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
fn a_document_keeps_a_seed_beyond_javascript_numbers() {
    let found = planned(SMALL);
    assert_eq!(found["title"], "Small");
    assert_eq!(found["points"][0]["settings"], json!({}));
    let document = found["points"][0]["document"].as_str().unwrap();
    assert!(document.contains(r#""seed":9007199254740993"#), "{document}");
}

#[test]
fn points_of_a_sweep_have_their_settings_and_repetition() {
    let found = planned(&format!("{SMALL}\n[sweep]\n\"flow.0.cc\" = [\"reno\", \"cubic\"]\n"));
    assert_eq!(found["points"][0]["settings"], json!({ "flow.0.cc": "reno" }));
    assert_eq!(found["points"][1]["settings"], json!({ "flow.0.cc": "cubic" }));
    let repeated = planned(&format!("{SMALL}\n[sweep]\nrepetitions = 2\n"));
    assert_eq!(repeated["points"][1]["repetition"], 1);
}

#[test]
fn too_many_points_are_refused() {
    let error = plan(&format!("{SMALL}\n[sweep]\nrepetitions = 1001\n")).unwrap_err();
    assert!(error.contains("1001 points, and a page runs at most 1000"), "{error}");
}

#[test]
fn python_and_captures_are_refused_at_their_key() {
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
fn an_invalid_document_is_an_error() {
    assert!(run("{", |_| ()).unwrap_err().starts_with("not a JSON document: "));
    assert!(run("[]", |_| ()).is_err());
    let reply: Value = serde_json::from_str(&fault("at a line")).unwrap();
    assert_eq!(reply["error"]["kind"], "fault");
}
