use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Equal to as many digits as the expected value was worked out to.
pub(super) fn near(found: f64, expected: f64) {
    let off = (found - expected).abs() / expected.abs();
    assert!(off < 2e-5, "{found} is not {expected}");
}

#[test]
fn every_inverse_is_one() {
    for exponent in 2..8 {
        let p = libm::pow(10.0, -f64::from(exponent)) * 1.7;
        near(cubic_loss(cubic_window(p, 0.05), 0.05), p);
        near(highspeed_loss(highspeed_window(p)), p);
        near(htcp_loss(htcp_epoch(p, 0.05, 0.5).window_packets, 0.05, 0.5), p);
        near(aimd_loss(aimd_window(p, 2.0, 0.8), 2.0, 0.8), p);
        near(scalable_linux_loss(scalable_linux_window(p)), p);
    }
}

#[test]
fn laws_have_names_of_their_own_and_say_what_they_are() {
    let names: BTreeSet<_> = LAWS.iter().map(|law| law.name).collect();
    assert_eq!(names.len(), LAWS.len());
    for law in &LAWS {
        for text in [law.title, law.equation, law.range, law.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", law.name);
        }
        let parameters: BTreeSet<_> = law.parameters.iter().map(|p| p.name).collect();
        let results: BTreeSet<_> = law.results.iter().map(|r| r.name).collect();
        assert_eq!(parameters.len(), law.parameters.len(), "{}", law.name);
        assert!(parameters.is_disjoint(&results), "{}", law.name);
        for meaning in law.parameters.iter().map(|p| p.meaning) {
            assert!(meaning.ends_with('.') && !meaning.starts_with(' '), "{}", law.name);
        }
        for parameter in law.parameters {
            if let Some(default) = parameter.default {
                assert_eq!(parameter.kind.check(parameter.name, default), Ok(()));
            }
        }
    }
    assert_eq!(Entry::named("cubic").map(|law| law.parameters.len()), Some(2));
    assert!(Entry::named("of my own").is_none());
}

/// Numbers that a path may have.
fn usual() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-9.0..0.0).prop_map(|exponent| libm::pow(10.0, exponent)),
        (-3.0..8.0).prop_map(|exponent| libm::pow(10.0, exponent)),
        (1.0..20.0).prop_map(libm::round),
        Just(0.0),
        Just(f64::INFINITY),
    ]
}

/// Numbers of every size, and those that no law can take.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        usual(),
        any::<f64>(),
        (-300.0..300.0).prop_map(|exponent| libm::pow(10.0, exponent)),
    ]
}

proptest! {
    /// No law panics or hangs, whatever it is asked; it names the parameter that makes no sense.
    #[test]
    fn laws_answer_or_refuse(numbers in prop::collection::vec(number(), 11)) {
        for law in &LAWS {
            let given: Vec<&[f64]> = law.parameters.iter().zip(numbers.chunks(1)).map(|(_, n)| n).collect();
            match law.evaluate(&given, 1) {
                Ok(found) => prop_assert_eq!(found.values.len(), law.results.len()),
                Err(refused) => prop_assert!(
                    law.parameters.iter().any(|p| p.name == refused.error.quantity),
                    "{}: {}", law.name, refused.error
                ),
            }
        }
    }

    /// Whatever a path may be, nothing of an answer is negative or no number.
    #[test]
    fn answers_are_numbers(numbers in prop::collection::vec(usual(), 11)) {
        for law in &LAWS {
            let given: Vec<&[f64]> = law.parameters.iter().zip(numbers.chunks(1)).map(|(_, n)| n).collect();
            let Ok(found) = law.evaluate(&given, 1) else { continue };
            for (result, column) in law.results.iter().zip(&found.values) {
                prop_assert!(column[0] >= 0.0, "{}: {} is {}", law.name, result.name, column[0]);
            }
        }
    }
}
