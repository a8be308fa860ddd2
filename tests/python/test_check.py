"""`make check` picks the crates and tests of what changed, and refuses unclear commit subjects."""

import pytest

import check

TESTS = check.ROOT / "tests" / "python"


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("cli/doctor", "test_doctor.py"),
        ("metrics/fairness", "test_metrics.py"),
        ("study/claims", "test_claims.py"),
    ],
)
def test_a_changed_module_has_its_tests(module, test):
    changed = [check.ROOT / "python" / "fairway" / f"{module}.py"]
    assert TESTS / test in check.python_tests(changed)


def test_a_changed_file_belongs_to_the_crate_around_it():
    changed = [check.ROOT / name for name in ("crates/cc/src/algorithms/reno.rs", "Cargo.lock")]
    assert check.crates(changed) == [check.ROOT / "crates" / "cc"]


@pytest.mark.parametrize("subject", ["No area", "area: Capital", "area: " + "x" * 67])
def test_a_subject_that_is_not_area_and_imperative_is_refused(subject):
    with pytest.raises(SystemExit, match="commit subject"):
        check.check_subjects([subject])


def test_subjects_of_72_characters_pass():
    check.check_subjects(["tcp: " + "x" * 67, "fixup! tcp: undo a spurious timeout"])
