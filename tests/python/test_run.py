"""The command `run`: what it prints where, and the exit codes that scripts rely on."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fairway
from conftest import SMALL, command
from waiting import PATIENCE_S, until

#: A fat tree of 128 hosts.
LARGE = Path(__file__).parents[2] / "examples" / "fat-tree-permutation.toml"


def refused(done, says: str) -> None:
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_json_is_all_there_is_on_standard_output(small):
    done = command("run", small, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert {"title", "backend", "seed", "wall_s", "packets", "flows", "links", "metrics"} <= set(
        summary
    )
    assert summary["seed"] == 7
    assert [flow["cc"] for flow in summary["flows"]] == ["bic", "cubic"]
    assert {"jain_index", "asymmetry", "unfairness", "utilisation", "loss_ratio"} <= set(
        summary["metrics"]
    )


def test_quiet_is_quiet(small):
    assert command("run", small, "--quiet").stderr == ""


def test_a_table_fits_80_columns(small):
    done = command("run", small)
    assert done.returncode == 0, done.stderr
    assert "bottleneck" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_the_seed_and_set_options_reach_the_experiment(small, tmp_path):
    done = command("run", small, "--seed", "9", "--set", "flow.1.cc=htcp", "--set",
                   "duration=2 s", "--set", 'measure.window=["1 s", "2 s"]', "--out",
                   tmp_path / "r")  # fmt: skip
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["seed"] == 9
    assert manifest["experiment"]["flow"][1]["cc"] == "htcp"
    assert manifest["experiment"]["duration"] == "2 s"


def test_the_same_seed_gives_the_same_tables(small, tmp_path):
    for name in ("a", "b"):
        assert command("run", small, "--out", tmp_path / name).returncode == 0
    for table in ("flows", "series", "queues"):
        one, two = ((tmp_path / n / f"{table}.parquet").read_bytes() for n in ("a", "b"))
        assert one == two, table


def test_a_large_network_on_several_cores_gives_the_same_tables(tmp_path):
    shorter = {"duration": "20 ms"}
    runs = [
        fairway.run(LARGE, tmp_path / str(cores), threads=cores,
                    overrides=shorter)
        for cores in (1, 3)
    ]  # fmt: skip
    assert sum(flow["sent_segments"] for flow in runs[0].summary["flows"]) > 10_000
    for name in ("series.parquet", "queues.parquet", "flows.parquet"):
        one, several = ((tmp_path / cores / name).read_bytes() for cores in "13")
        assert one == several, name


def test_closed_streams_are_no_error(small):
    words = shlex.join([sys.executable, "-m", "fairway", "run", str(small)])
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(["sh", "-c", f"{words} {closed}"], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr + done.stdout
        assert (b"goodput" in done.stdout) == (closed == "2>&-")


def test_bad_files(tmp_path, small):
    refused(command("run", tmp_path / "none.toml"), "no such experiment file")
    refused(command("run", tmp_path), "is a directory")
    (tmp_path / "binary.toml").write_bytes(b"\x80\x81")
    refused(command("run", tmp_path / "binary.toml"), "UTF-8")
    (tmp_path / "broken.toml").write_text("duration = \n")
    refused(command("run", tmp_path / "broken.toml"), "broken.toml")
    refused(command("run", tmp_path / "broken.toml", "--seed", "3"), "broken.toml")
    # A name that is not UTF-8.
    (foreign := tmp_path / os.fsdecode(b"\xff.toml")).write_text("duration = \n")
    refused(command("run", foreign), r"\udcff.toml: line 1, column 12: not TOML")
    foreign.write_text(SMALL)
    assert command("run", foreign, "--out", tmp_path / "out").returncode == 0
    if os.geteuid() != 0:  # root may read everything, so there is nothing to refuse
        small.chmod(0)
        refused(command("run", small), "cannot read")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[topology.bottleneck]", "[topology.bottlneck]", "bottlneck"),
        ("5 Mbit/s", "-5 Mbit/s", "topology.bottleneck.rate"),
        ("5 Mbit/s", "5 ms", "topology.bottleneck.rate"),
        ('duration = "3 s"', 'duration = "0 s"', "duration"),
        ('"cubic"', '"cubicle"', "cubicle"),
    ],
)
def test_bad_experiments_name_the_path(tmp_path, old, new, says):
    assert old in SMALL
    path = tmp_path / "bad.toml"
    path.write_text(SMALL.replace(old, new))
    refused(command("run", path), says)


def test_bad_options(small, tmp_path):
    refused(command("run", small, "--set", "seed"), "path=value")
    refused(command("run", small, "--set", "flow.9.cc=bic"), "flow.9")
    refused(command("run", small, "--figures", "pdf"), "--out")
    refused(command("run", small, "--figures", "gif", "--out", tmp_path / "x"), "gif")
    refused(command("run", small, "--backend", "linux"), "use --backend sim")
    refused(command("run", small, "--backend", "abacus"), "abacus")
    refused(command("run", small, "--threads", "0"), "--threads")
    refused(command("run"), "file")
    refused(command("fly"), "fly")
    refused(command("algorithms", "none"), "there is")
    names = ", ".join(preset["name"] for preset in fairway.presets())
    refused(command("presets", "rfc9439"), f"did you mean rfc9438? there is {names}")
    refused(command("compare", tmp_path), "two or more")
    refused(command("reproduce", "none"), "gelle2008")


def test_an_unwritable_directory_is_refused_before_the_simulation(small, tmp_path):
    (tmp_path / "file").write_text("")
    # Simulated, it would not end while `command` waits for it.
    slow = ["--set", "duration=100000000 s", "--set", 'measure.sample="10000 s"']
    refused(command("run", small, *slow, "--out", tmp_path / "file" / "r"), "cannot write")
    refused(command("run", small, "--out", ".", cwd=tmp_path), "holds other files")
    (tmp_path / "empty").mkdir()
    refused(command("run", small, "--out", ".", cwd=tmp_path / "empty"), "current directory")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    refused(command("run", small, "--out", tmp_path / "mine"), "other files")


@pytest.fixture
def tiny_disk(tmp_path):
    """Mounts a file system of a size, where the kernel lets us."""
    mount = tmp_path / "tiny"
    mount.mkdir()

    def mounted(size):
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(mount)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            pytest.skip(f"cannot mount a small file system here: {done.stderr.strip()}")
        return mount

    yield mounted
    subprocess.run(["umount", str(mount)], check=False, capture_output=True)


def test_a_disk_without_room_for_the_results(small, tiny_disk):
    mount = tiny_disk("16k")
    refused(command("run", small, "--out", mount / "r"), "disk is full")
    assert list(mount.iterdir()) == []


def test_a_disk_with_room_for_the_results_and_not_for_the_report(small, tiny_disk):
    mount = tiny_disk("64k")
    done = command("run", small, "--out", mount / "r")
    assert done.returncode == 4, done.stderr
    assert "report not written" in done.stderr and "the disk is full" in done.stderr
    assert fairway.load(mount / "r").series.height > 0


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_stopped_run_leaves_nothing(small, tmp_path, sent, code):
    place = tmp_path / "results"
    process = subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", str(small), "--set", "duration=1000000 s",
         "--set", 'measure.sample="100 s"', "--out", str(place / "r")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    # Its directory is made when everything has been checked: the simulation begins then.
    until(place.exists, process)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    assert list(place.iterdir()) == []


def test_two_processes_may_write_the_same_directory(small, tmp_path):
    arguments = [sys.executable, "-m", "fairway", "run", str(small), "-q", "--out",
                 str(tmp_path / "r")]  # fmt: skip
    for _ in range(2):  # into nothing, and over an older result
        both = [subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 text=True) for _ in range(2)]  # fmt: skip
        for process in both:
            _, errors = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, errors
        assert fairway.load(tmp_path / "r").seed == 7
        assert {path.name for path in tmp_path.iterdir()} == {"small.toml", "r"}
