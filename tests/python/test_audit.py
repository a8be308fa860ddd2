"""`make audit`: every lock is read, a vulnerability fails it, and silence is told from safety."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

if not (ROOT / "tools" / "advisories.py").is_file():
    pytest.skip("this is not a source tree", allow_module_level=True)

import advisories  # noqa: E402

SAFE = {"name": "numpy", "version": "2.2.6", "vulns": []}
SKIPPED = {"name": "rich", "skip_reason": "the service cannot be reached"}
BROKEN = {"name": "jinja2", "version": "3.1.0", "vulns": [{"id": "PYSEC-2099-1"}]}


@pytest.fixture
def audited(tmp_path, monkeypatch):
    """Runs the tool with a pip-audit that answers as it is told."""

    def run(answer, *options):
        program = tmp_path / "pip-audit"
        (tmp_path / "answer").write_text(answer)
        # As the real one does, it fails where there is a vulnerability.
        program.write_text(
            f"#!/bin/sh\ncat {tmp_path / 'answer'}\n! grep -q PYSEC {tmp_path}/answer\n"
        )
        program.chmod(0o755)
        monkeypatch.setattr(advisories, "PIP_AUDIT", program)
        monkeypatch.setattr(sys, "argv", ["advisories.py", *options, "one.lock"])
        with pytest.raises(SystemExit) as ended:
            advisories.main()
        return ended.value.code

    return run


def answer(*packages):
    return json.dumps({"dependencies": packages, "fixes": []})


def test_packages_without_advisories_pass(audited, capsys):
    assert audited(answer(SAFE, SAFE)) == 0
    assert "checked for advisories: 2 of 2\n" in capsys.readouterr().out


def test_a_vulnerability_fails_with_its_name(audited, capsys):
    assert audited(answer(SAFE, BROKEN)) == 1
    assert "one.lock: jinja2 3.1.0: PYSEC-2099-1; take" in capsys.readouterr().err


def test_packages_that_nobody_was_asked_about_are_counted_and_fail_a_release(audited, capsys):
    assert audited(answer(SAFE, SKIPPED)) == 0
    assert "1 of 2 (the others cannot be reached)" in capsys.readouterr().out
    assert audited(answer(SAFE, SKIPPED), "--required") == 1


@pytest.mark.parametrize("said", ["", "no JSON", "{}", "[]"])
def test_an_answer_that_is_none_fails(audited, capsys, said):
    assert audited(said) == 1
    assert "one.lock: pip-audit fails: " in capsys.readouterr().err


def recipe():
    """The recipe of `make audit`, with the variables that it names."""
    makefile = (ROOT / "Makefile").read_text()
    body = re.search(r"^audit:.*\n((?:\t.*\n)+)", makefile, re.M)[1]
    return body, dict(re.findall(r"^(\w+) \??:?= (.*)$", makefile, re.M))


def test_every_lock_of_the_repository_is_audited():
    body, variables = recipe()
    manifests = variables["MANIFESTS"].split()
    locks = {
        path.relative_to(ROOT).parent.as_posix()
        for place in (".", "transfer", "fuzz", "benches", "examples", "tests")
        for path in (ROOT / place).glob("Cargo.lock")
    }
    assert {Path(one).parent.as_posix() for one in manifests} == locks
    # Both kinds of checks go over all of them, and one failure ends the recipe.
    assert body.count("for manifest in $(MANIFESTS); do") == 2
    assert "licenses bans sources" in body and "check advisories" in body
    assert variables["LOCKS"] == "$(wildcard requirements/*.lock)"
    assert "--required) $(LOCKS)" in body
    assert ".SHELLFLAGS := -euo pipefail -c" in (ROOT / "Makefile").read_text()


def test_advisories_of_crates_that_cannot_be_reached_fail_a_release_alone():
    body, _ = recipe()
    unreached = body.partition("else \\\n")[2].partition("fi")[0]
    assert "cannot be reached" in unreached
    assert 'test "$(ADVISORIES)" != required; \\\n' in unreached
