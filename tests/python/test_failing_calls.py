"""Each call of the system fails once, and the command ends in words: see `failing_calls`.

Here one point in so many is tried; `make failures` tries all, `make soak` others in each round.
"""

import pytest

from failing_calls import Harness, every, library
from failing_cases import CASES

#: Points of a case that are tried here.
SAMPLE = 8

#: Commands whose results are exchanged by the store, whose calls fail in a test of its own.
OF_THE_STORE = {"run-out", "run-replace", "run-capture", "sweep", "sweep-resume", "analyze-out",
                "replay"}  # fmt: skip


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    found = library(tmp_path_factory.mktemp("library"))
    if found is None:
        pytest.skip("no C compiler on Linux, so no call of the system is made to fail")
    return found


@pytest.mark.parametrize(
    "case", [one for one in CASES if one.name not in OF_THE_STORE], ids=lambda one: one.name
)
def test_a_call_that_fails_ends_in_words(case, tmp_path, preload):
    harness = Harness(case, tmp_path, preload)
    points = len(list(harness.points()))
    if not points:
        pytest.skip("the command calls nothing of the system but to load itself")
    tried = dict(every(harness, max(points // SAMPLE, 1)))
    assert len(tried) >= min(SAMPLE, points)
    assert {label: wrong for label, wrong in tried.items() if wrong} == {}


def test_a_failure_that_is_not_told_is_found(tmp_path, preload):
    """The harness itself: an outcome that is wrong is called so."""
    case = next(one for one in CASES if one.name == "run")
    harness = Harness(case, tmp_path, preload)
    opened = next(call for call in harness.calls if call.path == "/a.toml" and call.name == "open")
    assert harness.tried(opened, "EACCES") == []
    told = harness.run("told", {"FAILING_AT": str(opened.number), "FAILING_WITH": "13"})
    assert told.code == 2 and "a.toml" in told.err and "Permission denied" in told.err
    told.err = ""
    assert harness.judged(told, "EACCES") == ["exit code 2 and nothing said"]
    told.code = 0
    assert harness.judged(told, "EACCES") == ["fine, but it printed something else"]
    told.code, told.err = -6, "Traceback"
    assert harness.judged(told, "EACCES") == ["Traceback", "ended by SIGABRT"]
