//! Sweeps: their points, seeds and messages.

use serde_json::{Value, json};

use super::{assert_refused, experiment, planned, refusal, with_end};
use crate::sweep::repetition_seed;

#[test]
fn points_are_every_combination_in_file_order() {
    let plan = planned(&with_end(
        "[sweep]\n\"flow.main.count\" = [1, 2]\nrepetitions = 2\n\
         \"topology.bottleneck.loss.probability\" = [0.1, 0.2]",
    ));
    assert_eq!(plan.axes, ["flow.main.count", "topology.bottleneck.loss.probability"]);
    let found: Vec<_> = plan
        .points
        .iter()
        .map(|point| {
            let document = &point.document;
            let count = document["flow"][0]["count"].clone();
            let loss = document["topology"]["bottleneck"]["loss"]["probability"].clone();
            assert_eq!(
                point.axes,
                [
                    ("flow.main.count".to_owned(), count.clone()),
                    ("topology.bottleneck.loss.probability".to_owned(), loss.clone()),
                ]
            );
            assert!(document.get("sweep").is_none());
            (count, loss, point.repetition)
        })
        .collect();
    let expected: Vec<(Value, Value, u32)> = vec![
        (json!(1), json!(0.1), 0),
        (json!(1), json!(0.1), 1),
        (json!(1), json!(0.2), 0),
        (json!(1), json!(0.2), 1),
        (json!(2), json!(0.1), 0),
        (json!(2), json!(0.1), 1),
        (json!(2), json!(0.2), 0),
        (json!(2), json!(0.2), 1),
    ];
    assert_eq!(found, expected);
    let seeds: Vec<_> = plan.points.iter().map(|point| point.document["seed"].clone()).collect();
    assert_eq!(seeds[0], json!(1));
    assert_ne!(seeds[1], json!(1));
    assert!(seeds.chunks(2).all(|pair| pair == &seeds[..2]), "axes share their random numbers");
}

#[test]
fn repetitions_have_the_seeds_of_splitmix64() {
    assert_eq!(repetition_seed(1_234_567, 0), 1_234_567);
    // The first outputs of the generator's reference implementation (S. Vigna, splitmix64.c)
    // started with 1234567, as published at rosettacode.org, "Pseudo-random numbers/Splitmix64".
    let outputs: [u64; 5] = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    for (repetition, output) in (1..).zip(outputs) {
        assert_eq!(repetition_seed(1_234_567, repetition), output >> 11);
    }
}

#[test]
fn paths_lead_to_indices_ids_and_tables_not_written() {
    let first = |path: &str, value: &str| {
        let plan = planned(&with_end(&format!("[sweep]\n\"{path}\" = [{value}]")));
        plan.points[0].document.clone()
    };
    assert_eq!(first("flow.0.start", "\"1 s\"")["flow"][0]["start"], "1 s");
    assert_eq!(first("flow.main.start", "\"1 s\"")["flow"][0]["start"], "1 s");
    assert_eq!(
        first("topology.access", "{ rate = \"1 Gbit/s\", delay = \"1 ms\" }")["topology"]["access"]
            ["delay"],
        "1 ms"
    );
    assert_eq!(first("seed", "9")["seed"], 9);
    let queue = first("topology.bottleneck.queue", "{ kind = \"red\" }");
    assert_eq!(queue["topology"]["bottleneck"]["queue"], json!({ "kind": "red" }));
    let text = with_end("[sweep]\n\"flow.main.cc_params.beta\" = [0.8]");
    let text = text.replace("cc = \"reno\"", "cc = \"cubic\"");
    assert_eq!(experiment(&text).flows[0].cc.params, [("beta".to_owned(), 0.8)]);
}

#[test]
fn a_sweep_may_only_repeat() {
    let plan = planned(&with_end("[sweep]\nrepetitions = 3"));
    assert_eq!(plan.points.len(), 3);
    assert!(plan.axes.is_empty());
}

#[test]
fn paths_that_lead_nowhere() {
    let sweep = |text: &str| with_end(&format!("[sweep]\n{text}"));
    assert_refused(
        &sweep("\"flow.main.coutn\" = [1]"),
        "sweep.\"flow.main.coutn\": a flow has no \"coutn\"; did you mean \"count\"?",
    );
    assert_refused(
        &sweep("\"flow.main.cunt\" = [1]"),
        "sweep.\"flow.main.cunt\": a flow has no \"cunt\"; did you mean \"count\"?",
    );
    assert_refused(
        &sweep("\"flow.mian1.count\" = [1]"),
        "sweep.\"flow.mian1.count\": no flow has id = \"mian1\"",
    );
    assert_refused(
        &sweep("\"flow.mai.count\" = [1]"),
        "sweep.\"flow.mai.count\": no flow has id = \"mai\"; did you mean \"main\"?",
    );
    assert_refused(
        &sweep("\"flow.1.count\" = [1]"),
        "sweep.\"flow.1.count\": there is no flow 1; the file has 1, counted from 0",
    );
    assert_refused(
        &sweep("\"duration.s\" = [1]"),
        "sweep.\"duration.s\": this key is not a table; remove \".s\"",
    );
    assert_refused(
        &sweep("\"sweep.repetitions\" = [1]"),
        "sweep.\"sweep.repetitions\": an experiment has no \"sweep\"",
    );
    assert_refused(
        &sweep("flow.main.count = [1]"),
        "sweep.\"flow\": expected a list of values, got a table; write the path in quotes: \
         \"flow.main.count\" = [...]",
    );
    assert_refused(
        &sweep("\"flow.main.count\" = []"),
        "sweep.\"flow.main.count\": expected at least one value, got an empty list; \
         add one or remove it",
    );
    assert_refused(
        &sweep("\"flow.main.count\" = 3"),
        "sweep.\"flow.main.count\": expected a list of values, got 3; write [3]",
    );
    assert_refused(
        &sweep("\"flow.main.count\" = [3]\n\"flow.0.count\" = [4]"),
        "sweep.\"flow.0.count\": sets what \"flow.main.count\" sets too; remove one of them",
    );
    assert_refused(
        &sweep("repetitions = 0"),
        "sweep.repetitions: expected a whole number from 1 to 100000, got 0; or write \
         { until = \"±2 %\", at_most = 50 }",
    );
}

#[test]
fn sweeps_are_bounded() {
    let values = vec!["1"; 400].join(", ");
    assert_refused(
        &with_end(&format!("[sweep]\nrepetitions = 1000\n\"flow.0.count\" = [{values}]")),
        "sweep: 400000 points, more than 100000; sweep fewer values",
    );
    let padding = format!("[sweep]\nrepetitions = 100000\n# {}", "x".repeat(10_000));
    let errors = refusal(&with_end(&padding));
    assert!(errors[0].starts_with("sweep: 100000 points of this file of 10"), "{errors:?}");
}

#[test]
fn a_path_to_a_key_of_another_table() {
    assert_refused(
        &with_end("[sweep]\n\"send_jitter\" = [\"1 ms\"]"),
        "sweep.\"send_jitter\": an experiment has no \"send_jitter\"; send_jitter belongs in [stack], [[flow]]",
    );
}

#[test]
fn a_wrong_point_is_named() {
    assert_refused(
        &with_end("[sweep]\n\"flow.main.start\" = [\"1 s\", \"200 s\"]"),
        "flow.main.start: 200 s is not before the end of the run, 100 s; start earlier \
         (where the sweep has flow.main.start = \"200 s\")",
    );
}

#[test]
fn repeating_until_an_interval_is_narrow_plans_as_many_as_there_may_be() {
    let more = "[sweep]\nrepetitions = { until = \"±2 %\", at_most = 12, metric = \"jain_index\" }";
    let plan = planned(&with_end(more));
    let until = plan.until.expect("it is asked for");
    assert_eq!((until.share, until.at_most), (0.02, 12));
    assert_eq!(until.metrics, ["jain_index"]);
    // The same runs, with the same seeds, as of so many repetitions.
    assert_eq!(plan.points, planned(&with_end("[sweep]\nrepetitions = 12")).points);
    let plain = planned(&with_end("[sweep]\nrepetitions = { until = \"5%\" }"));
    let until = plain.until.expect("it is asked for");
    assert_eq!((plain.points.len(), until.metrics), (50, vec!["goodput_bps".to_owned()]));
    assert_eq!(planned(&with_end("[sweep]\nrepetitions = 2")).until, None);
}

#[test]
fn what_is_wrong_with_an_end_of_repeating() {
    let sweep = |text: &str| with_end(&format!("[sweep]\nrepetitions = {text}"));
    let share = "sweep.repetitions.until: expected half the interval relative to the mean, above \
                 0 % and below 100 %, got";
    assert_refused(&sweep("{ until = \"2\" }"), &format!("{share} \"2\"; write it like \"±2 %\""));
    assert_refused(&sweep("{ at_most = 20 }"), &format!("{share} nothing; write it like \"±2 %\""));
    assert_refused(
        &sweep("{ until = \"±2 %\", at_most = 9 }"),
        "sweep.repetitions.at_most: expected a whole number from 10 to 100000, got 9",
    );
    assert_refused(
        &sweep("{ until = \"±2 %\", metric = 3 }"),
        "sweep.repetitions.metric: expected the name of a metric or a list of names, got 3; \
         try \"goodput_bps\"",
    );
    assert_refused(
        &sweep("{ until = \"±2 %\", atmost = 20 }"),
        "sweep.repetitions.atmost: unknown key; repetitions has until, at_most, metric; \
         did you mean \"at_most\"?",
    );
}

#[test]
fn paths_of_a_list_change_together_and_every_path_beside_it_varies_faster() {
    let plan = planned(&with_end(
        "[[sweep.list]]\n\"flow.0.cc\" = \"bic\"\n\"flow.main.start\" = \"1 s\"\n\
         [[sweep.list]]\n\"flow.main.start\" = \"2 s\"\n\"flow.0.cc\" = \"cubic\"\n\
         [sweep]\n\"flow.0.count\" = [1, 2]",
    ));
    assert_eq!(plan.axes, ["flow.0.cc", "flow.main.start", "flow.0.count"]);
    let found: Vec<_> = plan
        .points
        .iter()
        .map(|point| point.axes.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>())
        .collect();
    let expected = [
        [json!("bic"), json!("1 s"), json!(1)],
        [json!("bic"), json!("1 s"), json!(2)],
        [json!("cubic"), json!("2 s"), json!(1)],
        [json!("cubic"), json!("2 s"), json!(2)],
    ];
    assert_eq!(found, expected);
    assert_eq!(plan.points[3].document["flow"][0]["start"], "2 s");
}

#[test]
fn drawn_points_are_correct_experiments_and_depend_on_the_seed_alone() {
    let text = with_end(
        "[sweep.latin_hypercube]\npoints = 20\n\
         \"topology.bottleneck.delay\" = { low = \"1 ms\", high = \"100 ms\", scale = \"log\" }\n\
         \"topology.bottleneck.rate\" = { low = \"1 Mbit/s\", high = \"10 Mbit/s\" }\n\
         \"flow.main.count\" = { low = 1, high = 4 }",
    );
    let plan = planned(&text);
    assert_eq!(plan.points.len(), 20);
    assert_eq!(plan, planned(&text));
    let other = planned(&format!("seed = 2\n{text}"));
    assert_ne!(plan.points[0].axes, other.points[0].axes);
}

#[test]
fn what_is_wrong_with_lists_and_ranges() {
    let drawn = |end: &str| with_end(&format!("[sweep.random]\n{end}"));
    assert_refused(
        &drawn("points = 0\n\"flow.0.count\" = { low = 1, high = 2 }"),
        "sweep.random.points: expected a whole number from 1 to 100000, got 0",
    );
    // 128 MiB of text are 654 points of a file of 205 kB.
    let long = format!(
        "# {}\n{}",
        "-".repeat(200 << 10),
        drawn("points = 655\n\"flow.0.count\" = { low = 1, high = 2 }")
    );
    assert_refused(&long, "sweep.random.points: expected a whole number from 1 to 654, got 655");
    assert_refused(
        &drawn("points = 2"),
        "sweep.random: names no path; write \"topology.bottleneck.delay\" = { low = \"1 ms\", high = \"100 ms\" }",
    );
    assert_refused(
        &drawn("points = 2\n\"flow.0.start\" = { low = \"1 s\", high = \"5\" }"),
        "sweep.random.\"flow.0.start\": expected low and high in one unit, with a value between them, got \"1 s\" and \"5\"; write it like { low = \"1 ms\", high = \"100 ms\" }",
    );
    assert_refused(
        &drawn("points = 2\n\"flow.0.count\" = { low = 2, high = 2 }"),
        "sweep.random.\"flow.0.count\".low: is not below high; swap them or write a list",
    );
    assert_refused(
        &drawn("points = 2\n\"flow.0.start\" = { low = \"0 s\", high = \"1 s\", scale = \"log\" }"),
        "sweep.random.\"flow.0.start\".low: must be above zero for scale = \"log\"; raise it",
    );
    assert_refused(
        &drawn("points = 2\n\"flow.0.count\" = { low = 1, high = 2, scale = \"logs\" }"),
        "sweep.random.\"flow.0.count\".scale: expected \"linear\" or \"log\", got \"logs\"",
    );
    assert_refused(
        &drawn("points = 2\n\"flow.0.cout\" = { low = 1, high = 2 }"),
        "sweep.random.\"flow.0.cout\": a flow has no \"cout\"; did you mean \"count\"?",
    );
    assert_refused(
        &with_end("[[sweep.list]]\n\"flow.0.count\" = 1\n[[sweep.list]]\n\"flow.0.cc\" = \"bic\""),
        "sweep.list.1: expected values for \"flow.0.count\" and no others, got one for \"flow.0.cc\"",
    );
    assert_refused(
        &with_end(
            "[[sweep.list]]\n\"flow.0.cc\" = \"bic\"\n\"flow.0.count\" = 1\n\
             [[sweep.list]]\n\"flow.0.count\" = 1",
        ),
        "sweep.list.1: expected values for \"flow.0.cc\", \"flow.0.count\" and no others, got 1 of 2",
    );
    assert_refused(
        &with_end("[sweep]\nlist = [1]"),
        "sweep.list: expected a list of tables, each with values for the same paths, got a list of 1; write [[sweep.list]] before each",
    );
    assert_refused(
        &with_end("[sweep]\n\"flow.0.count\" = [1]\n[[sweep.list]]\n\"flow.main.count\" = 1"),
        "sweep.list.0.\"flow.main.count\": sets what \"flow.0.count\" sets too; remove one of them",
    );
}
