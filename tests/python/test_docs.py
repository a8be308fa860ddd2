"""Examples of the documentation do what they say, in a directory like the source tree."""

import hashlib
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

import fairway
from conftest import command
from fairway import ExperimentError
from fairway.experiment.plan import plan
from fairway.ground.permission import permitting

ROOT = Path(__file__).parents[2]
#: Pages whose examples are run from top to bottom, as a newcomer would.
WALKS = ("README.md", "docs/commands/tune.md", "docs/your-own-algorithm.md")
#: What a walk leaves out: set-up, which has happened, what takes minutes, or needs a kernel that
#: does, and what serves until it is stopped.
LEFT_OUT = re.compile(
    r"make |cargo |\S+fairway (reproduce|linux|shell|lab) |.*=my_reno$|.*--backend linux"
)

#: The first line of an example that is a file, not commands.
FILE = re.compile(r"(?:#|//) (\w+\.(?:py|rs|toml))\n")

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="no documentation here: this is not a source tree"
)


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_reno", raising=False)
    return tmp_path


@pytest.mark.parametrize("page", WALKS)
def test_a_walk_through(page, tree):
    for text in blocks(page, "toml"):
        name = re.match(r"# (\S+\.toml)\n", text)
        assert name, "an experiment of a walk begins with the name of its file"
        (tree / name[1]).write_text(text)
    for text in blocks(page, "python"):
        if name := FILE.match(text):
            (tree / name[1]).write_text(text)
    ran = 0
    for block in blocks(page, "console"):
        for line in block.splitlines():
            assert line.startswith("$ "), line
            if LEFT_OUT.match(line[2:]):
                continue
            program, *arguments = shlex.split(line[2:], comments=True)
            assert program == ".venv/bin/fairway"
            done = command(*arguments)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            ran += 1
    assert ran >= 1
    names = {}
    for block in blocks(page, "python"):
        if not FILE.match(block):
            exec(block, names)
    assert page == "README.md" or len(names) > 2


@pytest.mark.parametrize(
    ("page", "index", "text"),
    [
        (page, index, text)
        for page in [
            "README.md",
            *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
        ]
        for index, text in enumerate(blocks(page, "toml"))
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)
def test_every_experiment_is_valid(page, index, text, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    # A part of a file is tried as an addition to the README's experiment.
    base = blocks("README.md", "toml")[0]
    if "[measure]" in text:
        base = base.partition("[measure]")[0]
    whole = text if "[topology" in text else base + text
    with permitting(python=True):
        assert plan(whole).points


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.name)
def test_an_example_is_valid_or_says_what_this_version_lacks(path):
    try:
        with permitting(python=True):
            assert plan(path).points
    except ExperimentError as error:
        # docs/tour.md and the README run these.
        assert path.name not in ("single.toml", "pair.toml", "shares.toml")
        for line in str(error).splitlines():
            assert ": unknown " in line


@pytest.mark.parametrize(
    ("name", "language"), [("my_reno.py", "python"), ("my_reno.rs", "rust"), ("own.toml", "toml")]
)
def test_the_guide_shows_the_examples_as_they_are(name, language):
    shown = [
        text.partition("\n")[2]
        for text in blocks("docs/your-own-algorithm.md", language)
        if (file := FILE.match(text)) and file[1] == name
    ]
    assert shown == [(ROOT / "examples" / name).read_text()]


@pytest.mark.parametrize("preset", ["linux-6.1", "rfc5681", "ns2-tcp-linux"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"topology.bottleneck.loss": {"probability": 0.02}},
        {"topology.bottleneck.loss": {"probability": 0.2}},
        {"topology.bottleneck.queue": {"kind": "red", "limit": "60 packets", "ecn": True},
         "stack.ecn": True},
        {"flow.mine.app_rate": "5 kbit/s", "stack.slow_start_after_idle": True},
        {"stack.sack": False},
    ],
)  # fmt: skip
def test_the_guides_algorithm_is_reno_byte_for_byte(preset, changes, tmp_path):
    changes = {"stack": {"preset": preset}, **changes}
    renamed = {"flow.mine.cc": "reno", "flow.mine.cc_variant": "paper"}
    example = ROOT / "examples" / "own.toml"
    own = fairway.run(example, tmp_path / "own", overrides=changes, allow_python=True)
    reno = fairway.run(example, tmp_path / "reno", overrides={**changes, **renamed})
    for table in ("series.parquet", "queues.parquet"):
        assert (tmp_path / "own" / table).read_bytes() == (tmp_path / "reno" / table).read_bytes()
    # Of the summary, the name of the algorithm, its code, the time taken and what models
    # know of it differ.
    flow = own.summary["flows"][0]
    assert flow.pop("cc") == "python:my_reno.MyReno"
    assert reno.summary["flows"][0].pop("cc") == "reno"
    assert own.summary.pop("algorithms") == own_code()
    assert "model" in own.summary and "model" in reno.summary
    del own.summary["model"], reno.summary["model"]
    assert json.dumps({**own.summary, "wall_s": 0}) == json.dumps({**reno.summary, "wall_s": 0})
    assert flow["sent_segments"] > 0


def own_code():
    data = (ROOT / "examples" / "my_reno.py").read_bytes()
    code = {"class": "my_reno.MyReno", "file": "my_reno.py"}
    return {"python:my_reno.MyReno": {**code, "sha256": hashlib.sha256(data).hexdigest()}}


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_security_policy_names_tests_and_targets_that_there_are():
    policy = (ROOT / "SECURITY.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+\.py)`", policy))
    there = {path.name for path in (ROOT / "tests" / "python").glob("test_*.py")}
    assert named <= there
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make (\w+)`", policy)) <= targets
    promises = re.findall(r"^\| .* \| .* \| (.*) \|$", policy, re.MULTILINE)
    modules = {path.stem for path in (ROOT / "transfer" / "xfer").rglob("*.rs")}
    modules |= {path.name for path in (ROOT / "transfer" / "xfer").rglob("*") if path.is_dir()}
    rust = {name for cell in promises for name in re.findall(r"`(\w+)`", cell)}
    assert rust == rust & modules
    assert len(rust) >= 4
