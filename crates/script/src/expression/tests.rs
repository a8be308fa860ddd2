//! The language between `%{` and `}%`: expected values are Python's.

use std::collections::BTreeMap;

use super::{Failed, Names, Program, Value, evaluate};
use crate::position::{Position, Problem};

struct Known;

impl Names for Known {
    fn value(&self, name: &str) -> Option<Result<Value, String>> {
        match name {
            "cwnd" => Some(Ok(Value::Integer(10))),
            "tcpi_other" => Some(Err("is not told".to_owned())),
            "Open" => Some(Ok(Value::Text("Open".into()))),
            _ => None,
        }
    }

    fn known(&self) -> Vec<&'static str> {
        vec!["cwnd"]
    }
}

fn outcome(text: &str) -> Result<Vec<String>, Failed> {
    let program = Program::parse(text, Position::START).map_err(Failed::Problem)?;
    let mut printed = Vec::new();
    evaluate(&program, &mut BTreeMap::new(), &Known, &mut printed)?;
    Ok(printed)
}

fn problem(text: &str) -> Problem {
    match outcome(text) {
        Err(Failed::Problem(problem)) => problem,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn values_are_pythons() {
    for (expression, value) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 / 2", "3.5"),
        ("6 / 2", "3.0"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("7.5 // 2", "3.0"),
        ("1 << 4 | 3", "19"),
        ("0xff & ~1", "254"),
        ("6 ^ 3", "5"),
        ("1_000", "1000"),
        ("cwnd == 10 and cwnd", "10"),
        ("0 or 'x'", "x"),
        ("not 0", "True"),
        ("not not 3", "True"),
        ("1 < 2 < 3", "True"),
        ("1 < 3 < 2", "False"),
        ("1 == 1.0", "True"),
        ("2 in (1, 2)", "True"),
        ("2 not in (1, 2)", "False"),
        ("(1, 'a') == (1.0, 'a')", "True"),
        ("str((1, 2))", "(1, 2)"),
        ("max(1, 5, 3) - min(4, 2)", "3"),
        ("abs(-3) + int(2.9) + round(2.5)", "7"),
        ("float(2)", "2.0"),
        ("'cwnd %d of %s, %.3f%%' % (cwnd, 'x', 1.5)", "cwnd 10 of x, 1.5%"),
        ("'a' + 'b'", "ab"),
        ("Open == 'Open'", "True"),
    ] {
        assert_eq!(
            outcome(&format!("print({expression})")),
            Ok(vec![value.to_owned()]),
            "{expression}"
        );
    }
}

#[test]
fn statements_follow_each_other() {
    let text = "x = 1; x += 2 # comment\n  y = (x\n + 1)\npass\nassert y == 4, 'y'\nprint x, y";
    assert_eq!(outcome(text), Ok(vec!["3 4".to_owned()]));
}

#[test]
fn an_assertion_tells_the_values_of_its_names() {
    let Err(Failed::Assertion { at, text, message, values }) =
        outcome("x = 3\n assert cwnd == x, 'window %d' % cwnd")
    else {
        panic!("holds");
    };
    assert_eq!((at.line, at.column), (2, 2));
    assert_eq!(text, "assert cwnd == x, 'window %d' % cwnd");
    assert_eq!(message.as_deref(), Some("window 10"));
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(values, [pair("cwnd", "10"), pair("x", "3")]);
}

#[test]
fn what_is_not_supported_is_named_with_its_place() {
    for (text, at, part) in [
        ("import os", "1:1", "`import` is not supported"),
        ("x = 1\nfor i in x: pass", "2:1", "`for` is not supported"),
        ("x = [1]", "1:5", "\"[\" is not supported"),
        ("x = open('f')", "1:5", "open() is not supported"),
        ("x = a.b", "1:6", "the end of the statement"),
        ("assert", "1:1", "expected a value"),
        ("assert (1", "1:9", "expected `)`"),
        ("x = 'a", "1:5", "no second one"),
        ("x = 1 +", "1:7", "expected a value"),
        ("x = tcpi_none", "1:5", "is not known"),
        ("x = tcpi_other", "1:5", "tcpi_other: is not told"),
        ("x += 1", "1:1", "x is not known"),
        ("x = 1 / 0", "1:7", "division by zero"),
        ("x = 1 % 0", "1:7", "division by zero"),
        ("x = 9223372036854775807 + 1", "1:25", "64 bits"),
        ("x = 1 << 70", "1:7", "64 bits"),
        ("x = 'a' * 3", "1:9", "takes no text with a number"),
        ("x = 1 < 'a'", "1:5", "cannot be compared"),
        ("x = 1.5 & 1", "1:9", "not whole"),
        ("x = '%d %d' % 1", "1:13", "more %"),
        ("x = min()", "1:5", "takes numbers"),
        ("x = 12ab", "1:5", "no number"),
        ("x = 1 in 2", "1:5", "needs a tuple"),
        ("x = 2 ** 3", "1:7", "the end of the statement"),
    ] {
        let found = problem(text);
        assert!(found.message.contains(part), "{text}: {}", found.message);
        assert_eq!(found.at.to_string(), at, "{text}: {}", found.message);
    }
}
