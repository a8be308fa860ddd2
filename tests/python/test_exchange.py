"""Of two processes that write one result, one wins and the other is refused."""

from __future__ import annotations

import ast
import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import fairway
from conftest import SMALL, ScriptedBackend, run_of
from fairway.cli.main import guarded
from fairway.cli.run import _place
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml, plan
from fairway.ground import disk, inventory, names, replacing, scratch, store
from fairway.ground.scratch import Leftover, Scratch
from fairway.sweep.run import run_plan
from test_architecture import ROOT
from test_sweep import SWEEP, share
from waiting import PATIENCE_S


def run(goodputs, **changes):
    return run_of({**parse_toml(SMALL, "small"), **changes}, goodputs)


@pytest.mark.parametrize("is_fresh", [True, False])
@pytest.mark.parametrize("has_exchange", [True, False])
def test_a_run_that_appears_meanwhile_is_not_replaced(
    tmp_path, monkeypatch, is_fresh, has_exchange
):
    """Another process writes another experiment between the first look and the exchange."""
    place = tmp_path / "run"
    if not is_fresh:
        run([3.0, 1.0]).save(place, report=False)
    flush = store._flush_tree
    others = [run([1.0, 3.0], seed=8)]

    def slow(root):
        flush(root)
        while others:
            others.pop().save(place, report=False, replace=True)

    def lacks(*_):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    if not has_exchange:
        monkeypatch.setattr(disk, "exchange", lacks)
        monkeypatch.setattr(disk, "rename_new", lacks)
    monkeypatch.setattr(store, "_flush_tree", slow)
    with pytest.raises(InputError, match=r"a different experiment \(seed: 8 there, 7 here\)"):
        run([3.0, 1.0]).save(place, report=False)
    assert fairway.load(place).metrics["asymmetry"] == -0.5
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_sweep_that_appears_meanwhile_is_not_taken_over(tmp_path):
    place = tmp_path / "sweep"

    class Slow(ScriptedBackend):
        """Checks its points while another process begins in the same directory."""

        def check(self, experiment, algorithms=None):
            if not place.exists():
                store.mark(place, "sweep", "of another")

    def refuse():
        if (there := inventory.read(place)) is not None and there.source != "mine":
            raise InputError("a different experiment")

    backend = Slow(share)
    with pytest.raises(InputError, match="a different experiment"):
        run_plan(plan(SWEEP), backend, directory=place, source="mine", check=refuse)
    assert backend.ran == []
    assert [path.name for path in place.iterdir()] == [inventory.NAME]
    assert inventory.read(place).source == "of another"


@pytest.mark.parametrize("more", ["", "\n[sweep]\nrepetitions = 2\n"])
def test_of_two_commands_at_once_one_is_refused(tmp_path, more):
    for name, cc in (("one", "bic"), ("two", "reno")):
        text = SMALL.replace('cc = "bic"', f'cc = "{cc}"') + more
        (tmp_path / f"{name}.toml").write_text(text)
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "fairway", "run", f"{name}.toml", "--out", "out", "-q"],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    said = [process.communicate(timeout=PATIENCE_S)[1] for process in running]
    codes = [process.returncode for process in running]
    assert sorted(codes) == [0, 2], said
    refused = said[codes.index(2)]
    assert "cannot" in refused and "out" in refused and "Traceback" not in refused, refused
    won = ("bic", "reno")[codes.index(0)]
    there = fairway.load(tmp_path / "out")
    runs = [outcome.run for outcome in there.outcomes] if more else [there]
    assert {one.experiment["flow"][0]["cc"] for one in runs} == {won}
    assert {path.name for path in tmp_path.iterdir()} == {"one.toml", "two.toml", "out"}


def test_a_result_that_had_stepped_aside_is_there_again(tmp_path):
    """A process was killed between two renames, where the file system has no exchange."""
    run([3.0, 1.0]).save(tmp_path / "run", report=False)
    left = tmp_path / ".run-partial-0123456789abcdef"
    (left / scratch.ASIDE).mkdir(parents=True)
    (left / ".lock").touch()
    (tmp_path / "run").rename(left / scratch.ASIDE / "run")
    with pytest.warns(Leftover, match="run is there again"):
        assert fairway.load(tmp_path / "run").metrics["asymmetry"] == 0.5
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_leftovers_are_told_of_and_those_of_the_living_stay(tmp_path):
    mine = Scratch(tmp_path, "run")
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from fairway.ground.scratch import Scratch\n"
        "(Scratch(Path(sys.argv[1]), 'run').path / 'half').write_text('x')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, tmp_path], check=False, timeout=PATIENCE_S)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.warns(Leftover, match="left by a process that was killed; removed"):
        run([3.0, 1.0]).save(tmp_path / "other", report=False)
    assert {path.name for path in tmp_path.iterdir()} == {"other", mine.path.name}
    mine.let_go()


def test_complete_files_of_another_are_not_moved_through_a_link(tmp_path):
    """A directory from somebody else may have a scratch directory and a link in it."""
    place = tmp_path / "run"
    run([3.0, 1.0]).save(place, report=False)
    (tmp_path / "home").mkdir()
    (place / "figures").symlink_to(tmp_path / "home")
    whole = place / ".x-partial-0123456789abcdef" / scratch.WHOLE
    (whole / "figures").mkdir(parents=True)
    (whole / "figures" / "keys").write_text("theirs")
    (whole.parent / ".lock").touch()
    with contextlib.suppress(InputError):
        fairway.load(place)
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize(
    "link",
    [
        scratch.WHOLE,
        scratch.FILLING,
        scratch.ASIDE,
        f"{scratch.ASIDE}/summary.json",
        f"{scratch.ASIDE}/new",
        ".lock",
        scratch.JOURNAL,
    ],
)
def test_what_a_link_in_a_leftover_leads_to_stays(tmp_path, link):
    """A directory from somebody else may have a scratch directory that is made of links."""
    place, home = tmp_path / "place", tmp_path / "home"
    for directory in (place, home / "run"):
        run([3.0, 1.0]).save(directory, report=False)
    (home / "keys").write_text("mine")
    before = {path: path.lstat().st_ino for path in home.rglob("*")}
    left = place / ".x-partial-0123456789abcdef"
    (left / link).parent.mkdir(parents=True)
    (left / link).symlink_to(home / "run" if "/" in link else home)
    if link != ".lock":
        (left / ".lock").touch()
    for _ in range(2):
        with contextlib.suppress(InputError), warnings.catch_warnings():
            warnings.simplefilter("ignore", Leftover)
            fairway.load(place)
            run([1.0, 3.0]).save(place, report=False, replace=True)
    assert {path: path.lstat().st_ino for path in home.rglob("*")} == before
    assert not (place / "keys").exists()


@pytest.mark.parametrize("whose", ["anybody's", "another user's"])
def test_files_of_other_users_do_not_move_into_results(tmp_path, whose):
    if whose == "another user's" and os.geteuid() != 0:
        pytest.skip("only root makes files of another user")
    run([3.0, 1.0]).save(tmp_path / "mine", report=False)
    planted = tmp_path / ".mine-partial-0123456789abcdef"
    (planted / scratch.WHOLE / "mine").mkdir(parents=True)
    (planted / scratch.WHOLE / "mine" / "summary.json").write_text("theirs")
    (planted / ".lock").touch()
    if whose == "anybody's":
        planted.chmod(0o777)
    else:
        os.chown(planted, 12345, 12345)
    before = (tmp_path / "mine" / "summary.json").read_bytes()
    scratch.settle(tmp_path)
    run([1.0, 3.0]).save(tmp_path / "other", report=False)
    assert (tmp_path / "mine" / "summary.json").read_bytes() == before
    assert (planted / scratch.WHOLE / "mine" / "summary.json").read_text() == "theirs"


def test_a_lock_that_is_held_for_ever_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "_PATIENCE_S", 0.1)
    with (
        scratch.locked(tmp_path),
        pytest.raises(InputError, match=r"fairway-lock: another process has held this lock"),
    ):
        run([3.0, 1.0]).save(tmp_path / "run", report=False)
    run([3.0, 1.0]).save(tmp_path / "run", report=False)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_lock_of_another_user_can_be_waited_for(tmp_path):
    lock = tmp_path / inventory.LOCK
    lock.touch(mode=0o444)
    run([3.0, 1.0]).save(tmp_path / "run", report=False)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_scratch_directory_of_the_longest_name(tmp_path):
    name = "ä" * 127
    run([3.0, 1.0]).save(tmp_path / name, report=False)
    run([3.0, 1.0]).save(tmp_path / name, report=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a", "a/b", "x" * 255, ".hidden", "..a", "ä b"])
def test_names_that_lead_inside(tmp_path, name):
    assert names.inside(tmp_path, name, "here") == tmp_path / name


#: Rooms and files that write no results: caches, the page, archives, and the modules of the calls.
_OWN = ("backends/linux/", "lab/", "ground/disk.py", "ground/temporary.py", "ground/cache.py",
        "ground/beneath.py",
        "capture/analysis/command.py")  # fmt: skip
_CALLS = {"write_text", "write_bytes", "mkdir", "rmdir", "unlink", "touch", "symlink_to",
          "hardlink_to", "rmtree", "copy2", "copyfile", "copytree", "move", "mkstemp", "mkdtemp",
          "write_parquet", "sink_parquet", "fsync", "makedirs"}  # fmt: skip


def test_results_are_written_by_one_module():
    package = ROOT / "python" / "fairway"
    if not package.is_dir():
        pytest.skip("this is not a source tree")
    found = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name.startswith(_OWN):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                called = node.func.attr
                if called in _CALLS:
                    found.append(f"{name}:{node.lineno}: {called}")
    # To a buffer in memory, and to columns of the compiled module.
    allowed = {"sweep/rows.py: write_parquet", "ground/columns.py: write_parquet"}
    odd = [one for one in found if f"{one.split(':')[0]}: {one.split()[-1]}" not in allowed]
    assert odd == []


class OnScriptedKernel(ScriptedBackend):
    """A backend whose answers come from a kernel of a release."""

    name = "linux"

    def __init__(self, release):
        super().__init__(share)
        self._release = release

    def release(self):
        return self._release


def test_each_backend_and_kernel_has_a_directory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cc.toml").write_text(SWEEP)
    planned = plan(tmp_path / "cc.toml")
    places = [
        _place(tmp_path / "cc.toml", answers, planned).as_posix()
        for answers in ("sim", "model", OnScriptedKernel("6.1.1"), OnScriptedKernel("6.12.3"))
    ]
    assert places == ["runs/cc", "runs/cc-model", "runs/cc-linux-6.1.1", "runs/cc-linux-6.12.3"]


def test_a_sweep_without_out_does_not_replace_another_backends(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cc.toml").write_text(SWEEP)
    assert guarded(["run", "cc.toml", "-q"]) == 0
    manifest = json.loads((tmp_path / "runs" / "cc" / "manifest.json").read_text())
    assert manifest["backend"] == "sim"
    assert "kernels" not in manifest
    manifest["backend"] = "linux"
    (tmp_path / "runs" / "cc" / "manifest.json").write_text(json.dumps(manifest))
    capsys.readouterr()
    assert guarded(["run", "cc.toml", "-q"]) == 2
    said = capsys.readouterr().err
    assert "(backend: linux there, sim here)" in " ".join(said.split()), said


def test_the_manifest_of_a_sweep_names_the_kernels(tmp_path):
    def answer(experiment, control):
        run = share(experiment, control)
        run.summary["kernel"] = {"release": "6.1.1"}
        return run

    backend = ScriptedBackend(answer)
    run_plan(plan(SWEEP), backend, directory=tmp_path / "s").save_overview(tmp_path / "s")
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert (manifest["backend"], manifest["kernels"]) == ("scripted", ["6.1.1"])


def test_no_walk_leaves_out_what_cannot_be_read():
    package = Path(fairway.__file__).parent
    # Of its own files, which are there as a whole or not at all.
    own = {"ground/disk.py", "lab/server.py"}
    for path in package.rglob("*.py"):
        text = path.read_text("utf-8")
        name = path.relative_to(package).as_posix()
        assert (name in own) == bool(re.search(r"rglob\(|os\.walk\(", text)), name


def test_complete_files_that_cannot_be_listed_are_not_removed(tmp_path, monkeypatch):
    listed = os.scandir

    def refusing(path="."):
        if Path(os.fsdecode(path)).name == scratch.WHOLE:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return listed(path)

    store.write_together(tmp_path, {"one": b"old"})
    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(InputError, match="permission"):
        store.write_together(tmp_path, {"one": b"new"})
    monkeypatch.undo()
    with pytest.warns(scratch.Leftover, match="complete files were moved"):
        scratch.settle(tmp_path)
    assert (tmp_path / "one").read_bytes() == b"new"


def test_a_run_with_a_damaged_manifest_is_another_run(tmp_path):
    place = tmp_path / "points" / "one"
    place.mkdir(parents=True)
    assert replacing._runs_in(tmp_path, {}) == ({}, False)
    (place / replacing.MANIFEST).write_text("{")
    runs, are_all = replacing._runs_in(tmp_path, {})
    assert len(runs) == 1
    assert not are_all
