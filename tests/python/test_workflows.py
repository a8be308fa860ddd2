"""Workflows, those of this repository and those that users copy: their rights and their shell."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SMALL
from waiting import PATIENCE_S

yaml = pytest.importorskip("yaml", reason="no PyYAML here, which mkdocs brings")

ROOT = Path(__file__).parents[2]
OWN = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXAMPLES = sorted((ROOT / "examples" / "github").glob("*.yml"))

pytestmark = pytest.mark.skipif(not OWN, reason="this is not a source tree")


def read(path):
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    found["on"] = found.pop(True)  # YAML 1.1 takes the key `on` for a boolean
    return found


def steps(workflow, job=None):
    """The steps of a job, or of all."""
    jobs = workflow["jobs"]
    return [step for name, one in jobs.items() if job in (None, name) for step in one["steps"]]


def every(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.name)


@every([*OWN, *EXAMPLES])
def test_a_workflow_may_do_little(path):
    workflow = read(path)
    assert not {"pull_request_target", "issue_comment"} & set(workflow["on"])
    # What jobs have that ask for nothing else.
    assert set(workflow["permissions"].values()) <= {"read"}
    text = path.read_text(encoding="utf-8")
    assert "write-all" not in text
    assert "secrets." not in text
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 120
        uses = [step["uses"] for step in job["steps"] if "uses" in step]
        # Code that has been checked out runs where nothing can be written, but for an image.
        writes = {key for key, value in job.get("permissions", {}).items() if value == "write"}
        if any(one.startswith("actions/checkout@") for one in uses):
            assert writes <= {"packages", "id-token", "attestations"}
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@every([*OWN, *EXAMPLES])
def test_no_expression_is_pasted_into_a_shell(path):
    for step in steps(read(path)):
        assert "${{" not in step.get("run", "")


@every([*OWN, *EXAMPLES])
def test_what_a_workflow_names_is_there(path):
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
    named = []
    for step in steps(read(path)):
        shell = step.get("run", "")
        named += re.findall(r"\b(?:Cargo\.toml|CITATION\.cff)(?=\s|$)", shell)
        named += re.findall(r"(?:\.ci/run|\btools/\w+\.py|\brequirements/\w+\.lock)(?=\s|$)", shell)
        named += re.findall(r"\bexamples/\w+\.\w+", shell)
        for made in re.findall(r"^make (.+)$", shell, re.M):
            assert set(made.split()) <= targets, made
    named += read(path).get("env", {}).get("EXPERIMENT", "").split()
    assert [name for name in named if not (ROOT / name).is_file()] == []


@every([*OWN, *EXAMPLES])
def test_caches_go_by_files_that_are_there(path):
    for listed in re.findall(r"hashFiles\(([^)]*)\)", path.read_text()):
        for name in re.findall(r"'([^']+)'", listed):
            assert list(ROOT.glob(name)), name


def test_the_container_is_made_around_the_wheel():
    """Nothing but the wheel and its lock goes in, and it has no more rights than it needs."""
    recipe = (ROOT / "Containerfile").read_text()
    assert re.search(r"^USER fairway$", recipe, re.M)
    assert re.search(r'^ENTRYPOINT \["fairway"\]$', recipe, re.M)
    assert not re.search(r"^(COPY|ADD)", recipe, re.M)
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    assert ignored[1:] == ["*", "!dist", "dist/*", "!dist/*.whl", "!requirements/dev.lock"]
    mounted = set(re.findall(r"source=([^,]+)", recipe))
    assert mounted == {"dist", "requirements/dev.lock"}


# The shell of the examples, with what it needs of GitHub and of PyPI played by scripts.


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """A function that runs the shell of a step as GitHub does; `pip` installs nothing."""
    programs = tmp_path / "programs"
    programs.mkdir()
    write(programs / "fairway", f'exec {sys.executable} -m fairway "$@"')
    write(programs / "pip", 'echo "pip $*" >> "$RUNNER_TEMP/installed"')
    (tmp_path / "temp").mkdir()
    variables = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }

    def run(step, cwd, **more):
        own = {name: value for name, value in step.get("env", {}).items() if "${{" not in value}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=cwd, env={**variables, **own, **more}, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    return run


def write(path, shell):
    path.write_text(f"#!/bin/bash\n{shell}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def git(cwd, *arguments):
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
    done = subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def own(tmp_path):
    """A repository with a release of an algorithm, and a change of it that is not released."""
    place = tmp_path / "repository"
    (place / "examples").mkdir(parents=True)
    for name in ("own.toml", "my_reno.py"):
        shutil.copy(ROOT / "examples" / name, place / "examples" / name)
    git(place, "init", "--quiet")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message", "release")
    git(place, "tag", "v1")
    code = place / "examples" / "my_reno.py"
    code.write_text(code.read_text().replace("beta=0.5", "beta=0.7"))
    git(place, "commit", "--quiet", "--all", "--message", "change")
    return place


def test_a_change_of_an_own_algorithm_is_compared(own, runner, tmp_path):
    workflow = read(ROOT / "examples" / "github" / "compare.yml")
    base = git(own, "rev-parse", "v1")
    for step in steps(workflow):
        if "run" in step:
            done = runner(step, own, **{**workflow["env"], "SEEDS": "2"}, BASE=base)
            assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "temp" / "installed").read_text() == "pip install fairway\n"
    said = (own / "comparison" / "comment.md").read_text()
    assert (tmp_path / "summary").read_text() == said
    digests = [
        subprocess.run(["git", "show", f"{at}:examples/my_reno.py"], cwd=own, check=True,
                       capture_output=True).stdout
        for at in ("v1", "HEAD")
    ]  # fmt: skip
    import hashlib

    code = [hashlib.sha256(one).hexdigest() for one in digests]
    assert f"| `code of python:my_reno.MyReno` | `{code[0]}` | `{code[1]}` |" in said
    assert "95 % interval" in said
    assert said.count("  line [") == 4  # two flows on each side


def test_a_change_of_fairway_is_compared_with_its_last_release(runner, tmp_path):
    workflow = read(ROOT / "examples" / "github" / "compare-fairway.yml")
    place = tmp_path / "checkout"
    place.mkdir()
    (place / "small.toml").write_text(SMALL)
    write(tmp_path / "programs" / "make", 'echo "make $*" >> "$RUNNER_TEMP/installed"')
    short = {"SEEDS": "2", "EXPERIMENT": "small.toml"}
    for step in steps(workflow):
        if "run" in step:
            done = runner(step, place, **{**workflow["env"], **short})
            assert done.returncode == 0, done.stdout + done.stderr
    installed = (tmp_path / "temp" / "installed").read_text().splitlines()
    assert installed == [
        "pip install fairway",
        "make wheel",
        "pip install --force-reinstall --no-deps dist/*.whl",
    ]
    # Here both are the same program.
    assert "Nothing: the same experiment" in (place / "comparison" / "comment.md").read_text()


#: Plays `gh`: tells what it is asked, and answers with the comment that COMMENT names, if any.
GH = """\
echo "$*" >> "$RUNNER_TEMP/asked"
case "$*" in
  *pulls*) echo 12 ;;
  "run download"*) mkdir comparison && printf '%s' "$MADE" > comparison/comment.md ;;
  *issues/12/comments\\ --jq*) echo "$COMMENT" ;;
  *) ;;
esac"""


@pytest.mark.parametrize(("comment", "call"), [("", "POST"), ("34", "PATCH")])
def test_one_comment_is_written_or_updated(comment, call, runner, tmp_path):
    write(tmp_path / "programs" / "gh", GH)
    find, comment_on = (step for step in steps(read(ROOT / "examples/github/comment.yml")))
    event = {"GH_REPO": "o/r", "RUN": "5", "WORKFLOW": "6", "OWNER": "somebody",
             "BRANCH": '"; touch broken', "COMMIT": "abc", "COMMENT": comment,
             "MADE": "for @all\n"}  # fmt: skip
    assert runner(find, tmp_path, **event).returncode == 0
    assert (tmp_path / "output").read_text() == "number=12\n"
    done = runner(comment_on, tmp_path, **event, NUMBER="12")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "body.md").read_text() == "<!-- fairway compare 6 -->\nfor @\u200ball\n"
    asked = (tmp_path / "temp" / "asked").read_text().splitlines()
    place = f"issues/comments/{comment}" if comment else "issues/12/comments"
    assert asked[-1] == f"api --method {call} repos/o/r/{place} -F body=@body.md --silent"
    assert 'head=somebody:"; touch broken' in asked[0]
    assert not (tmp_path / "broken").exists()


def test_a_comment_that_is_too_long_is_not_written(runner, tmp_path):
    write(tmp_path / "programs" / "gh", GH)
    _, comment_on = steps(read(ROOT / "examples/github/comment.yml"))
    done = runner(comment_on, tmp_path, GH_REPO="o/r", RUN="5", WORKFLOW="6", NUMBER="12",
                  COMMENT="", MADE="x" * 60001)  # fmt: skip
    assert done.returncode != 0
    assert "POST" not in (tmp_path / "temp" / "asked").read_text()
