"""A wheel or a source distribution without a file that Fairway needs is refused and removed."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "packed.py"

if not TOOL.is_file():
    pytest.skip("this is not a source tree", allow_module_level=True)

import packed  # noqa: E402


def contents(path):
    """What a whole archive has: name -> bytes, by the tool's own list."""
    package = "fairway/" if path.suffix == ".whl" else "python/fairway/"
    built = packed.EVERYWHERE | (packed.COMPILED if path.suffix == ".whl" else {})
    found = {package + name: begin + b"x" * 200 for name, (begin, _) in built.items()}
    return found if path.suffix == ".whl" else found | dict.fromkeys(packed.SOURCES, b"x" * 200)


def write(path, files):
    """An archive as maturin lays it out."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return
    source = path.parent / "source"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            source.write_bytes(data)
            archive.add(source, f"fairway-0.1.0/{name}")


def refuse(path):
    return subprocess.run([sys.executable, TOOL, path], capture_output=True, text=True, check=False)


@pytest.fixture(params=["fairway-0.1.0-x.whl", "fairway-0.1.0.tar.gz"])
def archive(request, tmp_path):
    return tmp_path / request.param


def test_a_whole_archive_passes(archive):
    write(archive, contents(archive))
    done = refuse(archive)
    assert (done.returncode, done.stderr) == (0, "")
    assert archive.is_file()


def test_each_missing_or_damaged_file_is_refused(archive):
    whole = contents(archive)
    for name in whole:
        write(archive, {one: data for one, data in whole.items() if one != name})
        (problem,) = packed.check(archive)
        assert problem.startswith(f"{name} is missing; make it with `")
        write(archive, whole | {name: b"x"})
        (problem,) = packed.check(archive)
        assert problem.startswith(f"{name} is damaged; make it again with `")


def test_what_is_refused_is_removed_and_named(archive):
    write(archive, {})
    done = refuse(archive)
    assert done.returncode == 1
    assert done.stderr.count(" is missing; ") == len(contents(archive))
    assert not archive.exists()


@pytest.mark.parametrize(
    "name",
    ["_core.abi3.so", "bin/fairway-guest", "bin/libfairway-network.so", "lab/page/built/lab.wasm",
     "plot/library/vega-embed.js"],
)  # fmt: skip
def test_a_wheel_needs_the_core_the_kernels_parts_the_page_and_the_charts(name):
    assert name in packed.EVERYWHERE | packed.COMPILED


def test_every_built_file_that_the_page_names_is_needed():
    page = ROOT / "python" / "fairway" / "lab" / "page"
    texts = [path.read_text("utf-8") for path in page.iterdir() if path.is_file()]
    named = {one for text in texts for one in re.findall(r"\bbuilt/[\w-]+\.\w+", text)}
    assert {"built/lab.wasm", "built/vega.js"} <= named
    assert {f"lab/page/{one}" for one in named} <= set(packed.EVERYWHERE)


def test_what_maturin_is_told_to_pack_is_needed():
    """pyproject.toml names the same files; the commit is unknown outside of a clone."""
    told = re.findall(r'path = "python/fairway/([^"*]+)"', (ROOT / "pyproject.toml").read_text())
    assert set(told) - {"bin/commit", "lab/page/built/"} <= {
        *packed.EVERYWHERE, *packed.COMPILED
    }  # fmt: skip


def test_make_checks_what_it_has_packed():
    makefile = (ROOT / "Makefile").read_text()
    for target, ending in (("wheel", "whl"), ("sdist", "tar.gz")):
        recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.M)[1]
        assert recipe.endswith(f"\t@$(PACKED) dist/*.{ending}\n")
