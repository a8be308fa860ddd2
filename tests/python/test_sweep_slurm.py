"""The documented script for Slurm: what it submits, and a sweep by what it submits."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import fairway
from test_sweep_scale import TINY, tree
from waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "slurm.py"

#: Takes a job as Slurm does, which keeps a copy as the script is removed, and runs it here.
SBATCH = """#!/bin/sh
cp "$1" "$FAKE_SLURM/job.sh"
SLURM_JOB_ID=7 setsid sh "$FAKE_SLURM/job.sh" > "$FAKE_SLURM/job.log" 2>&1 &
echo $! > "$FAKE_SLURM/pid"
echo "Submitted batch job 7"
"""
SCANCEL = """#!/bin/sh
kill -- "-$(cat "$FAKE_SLURM/pid")"
"""


def fake_slurm(directory: Path) -> dict[str, str]:
    """An environment in which `sbatch` and `scancel` are ours."""
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{directory}:{os.environ['PATH']}",
        "FAKE_SLURM": str(directory),
    }


def test_the_page_shows_the_script_that_is_tested():
    assert SCRIPT.read_text() in (ROOT / "docs" / "commands" / "run.md").read_text()


def test_the_jobs_ask_slurm_for_what_the_script_says(monkeypatch, tmp_path):
    import dask_jobqueue

    monkeypatch.chdir(tmp_path)
    submitted = []

    class Recorded(dask_jobqueue.SLURMCluster):
        def adapt(self, *args, **options):
            submitted.append((self.job_script(), options))

    monkeypatch.setattr(dask_jobqueue, "SLURMCluster", Recorded)
    monkeypatch.setattr(fairway, "run", lambda *args, **options: submitted.append((args, options)))
    monkeypatch.setattr(sys, "argv", ["slurm.py", "sweep.toml", "runs/sweep"])
    specification = importlib.util.spec_from_file_location("slurm_example", SCRIPT)
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    example.main()
    (script, scaled), (arguments, options) = submitted
    lines = script.splitlines()
    assert lines[0].startswith("#!")
    for wanted in ("-p normal", "-n 1", "--cpus-per-task=4", "--mem=8G", "-t 02:00:00"):
        assert f"#SBATCH {wanted}" in lines
    worker = lines[-1].split()
    for flag, value in (
        ("--nworkers", "4"),
        ("--nthreads", "1"),
        ("--lifetime", "115m"),
        ("--lifetime-stagger", "4m"),
    ):
        assert worker[worker.index(flag) + 1] == value
    assert scaled == {"maximum_jobs": 16}
    assert arguments == ("sweep.toml", "runs/sweep")
    assert options["dask"].startswith("tcp://")


def test_a_sweep_by_jobs_gives_the_bytes_of_one_process(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    fairway.run(tmp_path / "tiny.toml", tmp_path / "process")
    # One job of two workers is enough, on a machine with little memory.
    small = SCRIPT.read_text().replace("maximum_jobs=16", "maximum_jobs=1")
    small = small.replace("cores=4", "cores=2").replace("processes=4", "processes=2")
    (tmp_path / "slurm.py").write_text(small)
    ended = subprocess.run(
        [sys.executable, "slurm.py", "tiny.toml", "jobs"],
        cwd=tmp_path, env=fake_slurm(tmp_path), capture_output=True, text=True, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr + (tmp_path / "job.log").read_text()
    assert "#SBATCH -p normal" in (tmp_path / "job.sh").read_text()
    assert tree(tmp_path / "jobs") == tree(tmp_path / "process")
