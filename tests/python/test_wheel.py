"""A wheel in an environment of its own, without Rust and with what it asks for alone.

`make wheel` builds one; without it, these tests are skipped.
"""

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest

import fairway
from waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
WHEELS = sorted(ROOT.glob(f"dist/fairway-{fairway.__version__}-*.whl"))
#: Directories with programs of the system: none of this user's, and so no Rust.
PATH = "/usr/bin:/bin"
CAPTURE = ROOT / "tests" / "captures" / "ethernet.pcap"
#: What all packages together may take, in MiB.
MOST_MIB = 150

pytestmark = pytest.mark.skipif(
    len(WHEELS) != 1, reason="dist/ has not one wheel of this version: make wheel"
)


def pip(python, *arguments):
    """Install into the environment of that interpreter, which has no pip of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """An environment with the wheel and what it asks for."""
    place = tmp_path_factory.mktemp("wheel")
    venv.create(place / "venv", with_pip=False, symlinks=True)
    python = place / "venv" / "bin" / "python"
    alone = pip(python, "--no-deps", *WHEELS)
    assert alone.returncode == 0, alone.stderr
    done = pip(python, *WHEELS)
    if done.returncode and "onnection" in done.stderr:
        pytest.skip(f"the package index cannot be reached: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    # The first experiment of the README, word for word.
    (example,) = re.findall(
        r"```toml\n(# two.toml\n.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    (place / "two.toml").write_text(example)
    assert shutil.which("cargo", path=PATH) is None or pytest.skip("Rust is a part of this system")
    return place


@pytest.fixture
def ours(place):
    """What runs a program of the environment."""

    def run(program, *arguments):
        return subprocess.run(
            [place / "venv" / "bin" / program, *map(str, arguments)],
            cwd=place, env={"PATH": PATH, "HOME": str(place)},
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    return run


def test_an_experiment_gives_tables_and_a_report_with_charts(place, ours):
    done = ours("fairway", "run", "two.toml", "--out", "two")
    assert done.returncode == 0, done.stderr
    assert "cubic#0" in done.stdout and "Report: two/report.html" in done.stderr
    report = (place / "two" / "report.html").read_text()
    assert "window.vegaEmbed=" in report.replace(" ", "") and "Congestion window" in report
    samples = pyarrow.parquet.read_table(place / "two" / "series.parquet").to_pydict()
    # 100 s at ten samples a second, of two flows.
    assert len(samples["t_s"]) == 2000 and set(samples["flow"]) == {"cubic#0", "reno#1"}
    flows = duckdb.sql(f"select id, cc from '{place}/two/flows.parquet'").fetchall()
    assert flows == [("cubic#0", "cubic"), ("reno#1", "reno")]
    (place / "two" / "report.html").unlink()
    assert ours("fairway", "report", "two").returncode == 0
    assert (place / "two" / "report.html").read_text() == report


def test_what_a_small_installation_does(place, ours):
    (script,) = sorted((ROOT / "tests" / "scripts" / "rfc5681").iterdir())[:1]
    shutil.copy(script, place / "script")
    shutil.copy(CAPTURE, place / "two.pcap")
    for arguments in (
        ("run", "two.toml", "--json"), ("run", "two.toml", "--backend", "model"), ("schema",),
        ("algorithms",), ("algorithms", "cubic"), ("presets",), ("doctor",), ("script", "script"),
        ("study", "list"), ("analyze", "two.pcap"), ("compare", "two", "two"),
        ("compare", "two", "two", "--out", "compared"),
    ):  # fmt: skip
        done = ours("fairway", *arguments)
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr


def test_a_notebook_has_the_summary(ours):
    code = "import fairway; print(len(fairway.run('two.toml').summary['flows']))"
    assert ours("python", "-c", code).stdout == "2\n"
    done = ours("python", "-c", "import fairway; fairway.run('two.toml').series")
    assert done.stderr.endswith("a data frame needs Polars: pip install 'fairway[full]'\n")


@pytest.mark.parametrize(
    ("library", "arguments"),
    [
        ("Polars", ["run", "two.toml", "--set", "sweep.seed=[1, 2]"]),
        ("Polars", ["agree", "two.toml"]),
        ("Polars", ["reproduce", "gelle2008", "--quick"]),
        ("Polars", ["gallery", "--out", "gallery"]),
        ("Polars", ["replay", "two.pcap", "--cc", "reno"]),
        ("Polars", ["analyze", "two.pcap", "--out", "captured"]),
        ("Polars", ["fidelity"]),
        ("Optuna", ["tune", "two.toml", "--objective", "jain_index", "--algorithm", "cubic"]),
        ("vl-convert", ["run", "two.toml", "--out", "drawn", "--figures", "pdf"]),
        ("vl-convert", ["report", "two", "--figures", "png"]),
    ],
)
def test_what_lacks_a_library_says_so_in_one_line(place, ours, library, arguments):
    shutil.copy(CAPTURE, place / "two.pcap")
    done = ours("fairway", *arguments)
    assert re.fullmatch(
        rf".+ needs {library}: pip install 'fairway\[full\]'\n", done.stderr
    ), done.stderr  # fmt: skip
    assert done.returncode == 2


def test_all_of_it_is_small(place):
    (packages,) = (place / "venv" / "lib").glob("python*/site-packages")
    size = sum(path.lstat().st_size for path in packages.rglob("*"))
    assert size < MOST_MIB << 20
