"""Exercises: what they begin with fails, the solution is right, and wrong answers are told."""

import json
import re
from pathlib import Path

import pytest

from conftest import command
from fairway import exercises
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml

VECTORS = json.loads((Path(__file__).parent / "exercise_vectors.json").read_text())
ALL = exercises.exercises()
KEYS = [one.key for one in ALL]
DOCS = Path(__file__).parents[2] / "docs" / "exercises"

#: Data packets of one run: a browser simulates about two million in a second.
MOST_PACKETS = 2_000_000


def right(verdicts):
    return all(verdict.held for verdict in verdicts)


def text_of(claim):
    return {"text": "", **{key: claim[key] for key in ("left", "test", "right")}}


@pytest.mark.parametrize("claim", VECTORS["claims"], ids=json.dumps)
def test_claims_are_decided_by_the_rules(claim):
    assert exercises.decide(text_of(claim), VECTORS["summary"]).held == claim["held"]


@pytest.mark.parametrize("case", VECTORS["keep"], ids=json.dumps)
def test_keys_that_must_stay(case):
    (verdict,) = exercises.unchanged([case["path"]], case["first"], case["answer"])
    assert verdict.held == case["kept"]


def test_a_figure_that_is_not_finite_holds_no_claim():
    summary = {"metrics": {"jain_index": float("inf")}}
    claim = text_of({"left": "metric.jain_index", "test": ">", "right": 0})
    assert not exercises.decide(claim, summary).held


def test_a_verdict_names_the_figure_of_its_claim():
    claim = text_of(
        {"left": 0, "test": "<=", "right": {"path": "flow.mine.goodput_bps", "times": 2}}
    )
    assert exercises.decide(claim, VECTORS["summary"]).figure == "flow.mine.goodput_bps"
    assert exercises.decide({**claim, "right": 1}, VECTORS["summary"]).figure == ""


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("key", ["bbr-beside-cubic", "l4s", "loss-or-delay", "aimd"])
def test_a_claim_does_not_hang_on_the_seed(key, seed):
    exercise = exercises.find(key)
    solved = exercises.check(exercise, exercise.solution, {"seed": seed})
    assert right([one for one in solved if one.test]), solved
    first = exercises.check(exercise, exercise.start, {"seed": seed})
    assert not right([one for one in first if one.test])


@pytest.mark.parametrize("exercise", ALL, ids=KEYS)
def test_the_first_experiment_is_no_answer_and_the_solution_is(exercise):
    assert not right(exercises.check(exercise, exercise.start))
    solved = exercises.check(exercise, exercise.solution)
    assert right(solved), [verdict for verdict in solved if not verdict.held]


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [(one, wrong) for one in ALL for wrong in one.wrong],
    ids=[f"{one.key}: {wrong['set']}" for one in ALL for wrong in one.wrong],
)
def test_a_wrong_answer_is_told(exercise, wrong):
    assert not right(exercises.check(exercise, exercise.start, wrong["set"]))


@pytest.mark.parametrize("exercise", ALL, ids=KEYS)
def test_an_exercise_is_short_and_says_what_it_names(exercise):
    from fairway import run

    assert exercise.minutes <= 15
    assert len(exercise.hints) in (2, 3)
    assert len(exercise.wrong) >= 2
    summary = run(exercise.start).summary
    assert summary["packets"] < MOST_PACKETS
    # A misspelt path would be a claim that nothing can hold.
    solved = exercises.check(exercise, exercise.solution)
    assert all(None not in (one.left, one.right) for one in solved if one.test)


@pytest.mark.skipif(not DOCS.is_dir(), reason="this is not a source tree")
def test_every_exercise_has_a_page_in_the_order_of_the_course():
    listed = re.findall(
        r"^\| \d+ \| \[(.+?)\]\(\1\.md\) \| (\d+)", (DOCS / "README.md").read_text(), re.M
    )
    assert listed == [(one.key, str(one.minutes)) for one in ALL]
    assert {path.stem for path in DOCS.glob("*.md")} == {"README", *KEYS}


def test_the_page_gets_plain_data():
    for one in ALL:
        data = one.to_json()
        assert set(data) == {
            "key", "title", "minutes", "question", "hints", "start", "keep", "claims"
        }  # fmt: skip
        assert json.loads(json.dumps(data)) == data
        assert all(set(claim) == {"text", "left", "test", "right"} for claim in data["claims"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("minutes = 10", 'minutes = "10"'), "minutes is text"),
        (('test  = "<"', 'test  = "="'), "claim.0.test is '='"),
        (('left  = "link.', 'left  = "wire.'), "claim.0.left is 'wire."),
        (("title ", "titel "), "title is missing"),
        (("hints =", "answers = 1\nhints ="), "answers means nothing"),
    ],
)
def test_what_an_exercise_file_gets_wrong_is_told(change, told, tmp_path):
    source = next(path for key, path in exercises.directories().items() if key == "bufferbloat")
    target = tmp_path / source.name
    target.mkdir()
    for file in source.iterdir():
        text = file.read_text()
        target.joinpath(file.name).write_text(text.replace(*change, 1))
    with pytest.raises(InputError, match=re.escape(told)):
        exercises.load(target)


def test_the_command_lists_poses_and_checks(tmp_path):
    listed = command("exercise")
    assert listed.returncode == 0, listed.stderr
    assert [line.split()[0] for line in listed.stdout.splitlines()[3:] if line] == KEYS
    assert [one["key"] for one in json.loads(command("exercise", "--json").stdout)] == KEYS

    answer = tmp_path / "answer.toml"
    posed = command("exercise", "bufferbloat", "--hints", "1", "--out", answer)
    assert posed.returncode == 0, posed.stderr
    assert "Hint 1:" in posed.stdout
    assert "Hint 2:" not in posed.stdout
    assert parse_toml(answer.read_text(), "")["topology"]["bottleneck"]["rate"] == "20 Mbit/s"

    wrong = command("exercise", "bufferbloat", answer)
    assert wrong.returncode == 1, wrong.stderr
    assert "Not yet." in wrong.stdout
    heads = ["held", "claim", "figure", "measured", "required"]
    assert wrong.stdout.splitlines()[1].split() == heads
    # A full queue of 1000 packets takes 600 ms to empty.
    assert re.search(r" (59\d|600)(\.\d)? ms +< 20 ms\n", wrong.stdout)

    answer.write_text(answer.read_text().replace("1000 packets", "25 packets"))
    solved = command("exercise", "bufferbloat", answer, "--json")
    assert solved.returncode == 0, solved.stderr
    assert json.loads(solved.stdout)["right"] is True

    answer.write_text(answer.read_text().replace("20 Mbit/s", "30 Mbit/s"))
    cheated = command("exercise", "bufferbloat", answer)
    assert cheated.returncode == 1
    assert "must not be: topology.bottleneck.rate." in cheated.stdout


def test_the_command_refuses_what_it_cannot_use(tmp_path):
    answer = tmp_path / "answer.toml"
    unknown = command("exercise", "bufferblot")
    assert unknown.returncode == 2
    assert "did you mean bufferbloat?" in unknown.stderr
    assert command("exercise", "aqm", answer).returncode == 2
    for surplus in (["--hints", "1"], ["--out", answer]):
        listed = command("exercise", *surplus)
        assert listed.returncode == 2
        assert "need an exercise" in listed.stderr
    assert not answer.exists()

    answer.write_text(exercises.find("aqm").start + '[sweep]\n"flow.bulk.cc" = ["cubic", "reno"]\n')
    swept = command("exercise", "aqm", answer)
    assert swept.returncode == 2
    assert "has a [sweep]" in swept.stderr
    # It may be somebody's answer.
    assert command("exercise", "aqm", "--out", answer).returncode == 2
    assert "[sweep]" in answer.read_text()
