//! Pools of threads, and summaries as columns.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use fairway_schema::Control;
use fairway_sim::RunError;
use fairway_sweep::{Cell, Failure, Finished, Pool, Summaries, Table, answer};
use serde_json::{Value, json};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("some threads")
}

fn point(seed: u64, duration: &str) -> Arc<Value> {
    Arc::new(json!({
        "title": "point",
        "duration": duration,
        "topology": {
            "kind": "dumbbell",
            "bottleneck": { "rate": "5 Mbit/s", "delay": "5 ms", "loss": { "probability": 0.01 } },
        },
        "flow": [{ "cc": "cubic" }, { "cc": "reno" }],
        "seed": seed,
    }))
}

fn all(pool: &Pool, count: usize) -> Vec<Finished> {
    let mut found = Vec::new();
    while found.len() < count {
        found.extend(pool.finished(LONG));
    }
    found.sort_by_key(|(place, _)| *place);
    found
}

#[test]
fn any_number_of_threads_gives_the_same_summaries() {
    let points: Vec<_> = (1..40).map(|seed| point(seed, "50 ms")).collect();
    let of = |count| {
        let found = all(&Pool::start(points.clone(), threads(count)).unwrap(), points.len());
        found.into_iter().map(|(_, result)| result.expect("a summary")).collect::<Vec<_>>()
    };
    let one = of(1);
    assert_eq!(one, of(3));
    let alone: Vec<_> =
        points.iter().map(|point| answer(point, &Control::default()).expect("a summary")).collect();
    assert_eq!(one, alone);
}

#[test]
fn what_fails_says_so_and_the_rest_is_computed() {
    let wrong = Arc::new(json!({ "title": "wrong" }));
    let points = vec![point(1, "50 ms"), wrong, point(2, "50 ms")];
    let found = all(&Pool::start(points, threads(2)).unwrap(), 3);
    let failed: Vec<bool> =
        found.iter().map(|(_, result)| matches!(result, Err(Failure::Experiment(_)))).collect();
    assert_eq!(failed, [false, true, false]);
}

#[test]
fn a_pool_that_is_stopped_keeps_what_has_finished() {
    let points = vec![point(1, "50 ms"), point(2, "10000 s"), point(3, "10000 s")];
    let pool = Pool::start(points, threads(1)).unwrap();
    let first = loop {
        match pool.finished(Duration::from_millis(10)).pop() {
            Some(first) => break first,
            None => assert!(pool.fraction() <= 1.0),
        }
    };
    assert!(matches!(first, (0, Ok(_))));
    pool.stop();
    pool.join();
    let rest = pool.finished(Duration::ZERO);
    assert!(
        rest.iter().all(|(_, result)| matches!(result, Err(Failure::Run(RunError::Cancelled))))
    );
    assert!(rest.len() <= 1, "no run begins after the end");
}

#[test]
fn points_may_come_later() {
    let pool = Pool::start(vec![point(1, "50 ms")], threads(2)).unwrap();
    let mut found = all(&pool, 1);
    pool.add(vec![point(2, "50 ms"), point(3, "50 ms")]).unwrap();
    pool.add(vec![point(4, "50 ms")]).unwrap();
    found.extend(all(&pool, 3));
    assert!(pool.finished(LONG).is_empty());
    let places: Vec<_> = found.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, [0, 1, 2, 3]);
    assert!(found.iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn no_points_need_no_threads() {
    assert!(Pool::start(Vec::new(), threads(2)).unwrap().finished(LONG).is_empty());
}

fn column<'a>(table: &'a Table, name: &str) -> &'a [Cell] {
    table.columns().find(|(own, _)| *own == name).expect("a column").1
}

#[test]
fn summaries_become_columns_however_many_threads_read_them() {
    let first = br#"{"seed":1,"flows":[{"id":"a","inner":{"x":1},"b":2.5},{"id":"c","late":true}],
        "links":[],"metrics":{"m":1.0,"n":null},"model":{"flows":[{"id":"no"}]}}"#;
    let second = br#"{"seed":18446744073709551615,"metrics":{"m":-2,"o":3},"links":[{"id":"l"}],
        "flows":[],"warnings":["careful"]}"#;
    let lines: Vec<&[u8]> = vec![first, second, first];
    let one = Summaries::read(&lines, threads(1)).expect("summaries");
    assert_eq!(one, Summaries::read(&lines, threads(3)).expect("summaries"));
    assert_eq!(one.seeds, [1, u64::MAX, 1]);
    assert_eq!(
        (one.flow_counts.as_slice(), one.link_counts.as_slice()),
        (&[2, 0, 2][..], &[0, 1, 0][..])
    );
    assert_eq!(one.warnings, [["careful"]]);
    // The first summary has two metrics, the second another one.
    assert_eq!((one.metrics.rows(), one.metrics.first()), (3, 2));
    let numbers = [Cell::Number(1.0), Cell::Integer(-2), Cell::Number(1.0)];
    assert_eq!(column(&one.metrics, "m"), numbers);
    assert_eq!(column(&one.metrics, "o"), [Cell::Null, Cell::Count(3), Cell::Null]);
    let names: Vec<&str> = one.flows.columns().map(|(name, _)| name).collect();
    assert_eq!(names, ["id", "b", "inner.x", "late"]);
    let late = [Cell::Null, Cell::Flag(true), Cell::Null, Cell::Flag(true)];
    assert_eq!(column(&one.flows, "late"), late);
}

#[test]
fn numbers_are_read_to_the_last_bit() {
    // Digits of which readers that multiply by a power of ten get the last bit wrong.
    let text =
        r#"{"seed":1,"flows":[],"links":[],"metrics":{"m":0.17320508075688772,"n":5.4e-79}}"#;
    let read = Summaries::read(&[text.as_bytes()], threads(1)).expect("a summary");
    assert_eq!(
        column(&read.metrics, "m"),
        [Cell::Number("0.17320508075688772".parse().expect("a number"))]
    );
    assert_eq!(column(&read.metrics, "n"), [Cell::Number("5.4e-79".parse().expect("a number"))]);
}

#[test]
fn what_is_no_summary_is_refused() {
    for line in [&b"[]"[..], b"{", b"{\"seed\":-1}", b"{} {}"] {
        assert!(Summaries::read(&[line], threads(1)).is_err());
    }
}
