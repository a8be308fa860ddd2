"""The command `fairway script`."""

import json
from pathlib import Path

import pytest

from conftest import command
from fairway import _core

SCRIPTS = Path(__file__).parents[1] / "scripts"
PASSES = SCRIPTS / "rfc5681" / "fast-retransmit.pkt"


@pytest.fixture
def fails(tmp_path: Path) -> Path:
    file = tmp_path / "fails.pkt"
    file.write_text(PASSES.read_text().replace("1:1001(1000) ack 1\n", "7:1007(1000) ack 1\n"))
    return file


def test_what_passes_and_what_does_not(fails):
    done = command("script", PASSES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("fast-retransmit.pkt: passed, 22 events")
    done = command("script", PASSES, fails)
    assert done.returncode == 1
    assert "another segment was sent" in done.stdout
    assert "sequence number 1 instead of 7" in done.stdout
    assert done.stdout.strip().endswith("1 passed, 1 failed")


def test_json_is_all_there_is_on_standard_output(fails):
    done = command("script", PASSES, fails, "--json")
    assert done.returncode == 1
    good, bad = json.loads(done.stdout)
    assert good["passed"] and good["failure"] is None and good["events"] == 22
    assert bad["failure"]["differences"] == ["sequence number 1 instead of 7"]
    assert bad["trace"][-1]["text"].startswith("> . 1:1001(1000)")


def test_a_trace_shows_lines_and_times():
    done = command("script", PASSES, "--trace")
    assert "    16     0.100000  > . 1:1001(1000) ack 1" in done.stdout


def test_what_cannot_be_run_is_named(tmp_path):
    file = tmp_path / "reset.pkt"
    file.write_text("0 listen(3, 1) = 0\n+0 < R 0:0(0)\n")
    done = command("script", PASSES, file, tmp_path / "none.pkt")
    assert done.returncode == 2
    assert f"{file}:2:6: R: the endpoint knows no reset" in done.stderr
    assert "none.pkt: no such script" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.strip().endswith("1 passed, 0 failed, 2 cannot be run")


def test_a_directory_means_all_its_scripts(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "passes.pkt").write_text(PASSES.read_text())
    done = command("script", tmp_path / "deeper")
    assert (done.returncode, done.stdout.count("passed")) == (0, 1)
    (tmp_path / "none").mkdir()
    done = command("script", tmp_path / "none")
    assert done.returncode == 2
    assert "names end in .pkt" in done.stderr


def test_a_preset_from_the_command_line():
    done = command("script", PASSES, "--preset", "no-such")
    assert done.returncode == 2
    assert "no-such" in done.stderr


def test_the_binding_raises_with_the_place():
    with pytest.raises(_core.ScriptError, match=r"x\.pkt:1:1: "):
        _core.run_script("?", "x.pkt")
