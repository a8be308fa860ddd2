"""How results are cited: the same as CITATION.cff says, and what a report has of it."""

import hashlib
import json
import re
from pathlib import Path

import pytest

import fairway
from conftest import SMALL
from fairway import _core
from fairway.compare.runs import compare
from fairway.plot.citation import AUTHORS, LICENCES, TITLE, Source, citation

CFF = Path(__file__).parents[2] / "CITATION.cff"


@pytest.mark.skipif(not CFF.is_file(), reason="no CITATION.cff here: this is not a source tree")
def test_the_file_and_the_reports_agree():
    yaml = pytest.importorskip("yaml", reason="no PyYAML here, which mkdocs brings")
    file = yaml.safe_load(CFF.read_text(encoding="utf-8"))
    assert file["title"] == TITLE
    assert [author["name"] for author in file["authors"]] == list(AUTHORS)
    assert file["license"] == list(LICENCES)
    assert file["version"] == _core.version()
    assert file["type"] == "software"


def test_a_citation_in_full():
    first, second = "0123456789abcdef" * 4, "fedcba9876543210" * 4
    cited = citation([Source("a", "1.0.0", first, [7]), Source("b", "1.1.0", second, [1, 2, 3])])
    assert cited.sentence == (
        "Computed with Fairway 1.0.0 and 1.1.0 (The Fairway developers): experiment "
        "0123456789abcdef, seed 7; experiment fedcba9876543210, seeds 1 to 3."
    )
    assert cited.table.rows == [
        ["a", "1.0.0", "seed 7", first],
        ["b", "1.1.0", "seeds 1 to 3", second],
    ]
    one, other = cited.bibtex.split("\n\n")
    assert one == (
        "@software{fairway-1.0.0,\n"
        "  author  = {{The Fairway developers}},\n"
        "  title   = {Fairway: a laboratory for {TCP} congestion control},\n"
        "  version = {1.0.0},\n"
        "  license = {Apache-2.0 OR MIT},\n"
        "}"
    )
    assert other.startswith("@software{fairway-1.1.0,")


def test_a_version_from_a_file_is_no_latex():
    cited = citation([Source("a", "1}\\input{/etc/passwd}%", "0" * 64, [1])])
    assert set(re.findall(r"[{}\\%]", cited.bibtex.split("version = {")[1].split("}")[0])) == set()
    assert "\\" not in cited.bibtex


def shown(page):
    """What the fold at the end of a report says."""
    found = re.findall(r'<section id="cite".*?</section>', page, re.S)
    assert len(found) == 1
    assert page.index("</section>", page.index('id="cite"')) > page.rindex("<section id=")
    assert "<details><summary>" in found[0]
    return found[0]


def test_reports_of_runs_sweeps_and_comparisons(tmp_path):
    hashes = []
    for name in ("a", "b"):
        fairway.run(SMALL, tmp_path / name, overrides={"title": f"<{name}>"})
        hashes.append(json.loads((tmp_path / name / "manifest.json").read_text())["content_hash"])
    block = shown((tmp_path / "a" / "report.html").read_text())
    assert hashes[0] in block
    assert f"experiment {hashes[0][:16]}, seed 7." in block
    assert "&lt;a&gt;" in block
    block = shown(compare([tmp_path / "a", tmp_path / "b"]).report())
    assert all(one in block for one in hashes)

    sweep = fairway.run(SMALL, tmp_path / "s", overrides={"sweep": {"repetitions": 2}})
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    points = [point["content_hash"] for point in manifest["points"]]
    assert manifest["content_hash"] == hashlib.sha256("\n".join(points).encode()).hexdigest()
    block = shown((tmp_path / "s" / "report.html").read_text())
    assert manifest["content_hash"] in block
    assert "2 seeds from" in block or "seeds 7 to 8" in block
    # The same results give the same bytes.
    assert sweep.report() == fairway.load(tmp_path / "s").report()
    text = (tmp_path / "a" / "report.html").read_text()
    assert fairway.load(tmp_path / "a").report() == text
    assert fairway.run(SMALL, overrides={"title": "<a>"}).report() == text
