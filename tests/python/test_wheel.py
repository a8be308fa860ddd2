"""A wheel in an environment of its own, without Rust and with what it asks for alone.

`make wheel` builds one; without it, these tests are skipped.
"""

import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest

import fairway
from fairway.backends.linux import cache
from fairway.ground.cache import PLACE, cache_directory
from waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
if not (ROOT / "tools" / "try_wheel.py").is_file():
    pytest.skip("this is not a source tree", allow_module_level=True)

import packed  # noqa: E402
from try_wheel import (  # noqa: E402
    COMPILERS,
    PATH,
    PartError,
    experiment,
    install,
    kernel,
    page,
    shell,
)

WHEELS = sorted(ROOT.glob(f"dist/fairway-{fairway.__version__}-*.whl"))
CAPTURE = ROOT / "tests" / "captures" / "ethernet.pcap"
#: What all packages together may take, in MiB.
MOST_MIB = 150

pytestmark = pytest.mark.skipif(
    len(WHEELS) != 1, reason="dist/ has not one wheel of this version: make wheel"
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment with the wheel and what it asks for, at the versions of the lock."""
    place = tmp_path_factory.mktemp("wheel")
    if found := next(filter(None, (shutil.which(one, path=PATH) for one in COMPILERS)), None):
        pytest.skip(f"Rust is a part of this system: {found}")
    try:
        installed = install(*WHEELS, place, **{PLACE: str(cache_directory("linux").parent)})
    except PartError as error:
        if "onnection" in str(error):
            pytest.skip(f"the package index cannot be reached: {str(error).splitlines()[-1]}")
        raise
    experiment(installed)
    return installed


@pytest.fixture(scope="module")
def place(installed):
    return installed.place


@pytest.fixture
def ours(installed):
    """What runs a program of the environment."""

    def run(program, *arguments):
        return subprocess.run(
            [installed.program(program), *map(str, arguments)],
            cwd=installed.place, env=installed.variables,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def has_kernel():
    """Skips without a kernel that loads Fairway's network."""
    found = cache.find()
    if found is None or not found.has_network:
        pytest.skip("no kernel with Fairway's network: `fairway linux build` makes one")


def test_an_experiment_gives_tables_and_a_report_with_charts(place, ours):
    done = ours("fairway", "run", "two.toml", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert "cubic#0" in done.stdout and "Report: again/report.html" in done.stderr
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


def test_the_wheel_has_every_file_that_is_needed():
    assert packed.check(*WHEELS) == []


def test_the_page_is_served_with_its_simulator(installed):
    page(installed)


def test_an_experiment_runs_on_a_kernel_over_the_network_of_the_wheel(installed, has_kernel):
    kernel(installed)


def test_a_program_runs_on_the_network_of_the_wheel(installed, has_kernel):
    shell(installed)
