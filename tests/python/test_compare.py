"""The command `compare`."""

import json

import fairway
from conftest import command


def test_compare_shows_what_differs(small, tmp_path):
    for name, cc in (("a", "bic"), ("b", "htcp")):
        fairway.run(small, tmp_path / name, overrides={"flow.0.cc": cc})
    done = command("compare", tmp_path / "a", tmp_path / "b", "--json",
                   "--out", tmp_path / "c.html")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["differences"] == {"flow.0.cc": ["bic", "htcp"]}
    assert len(answer["metrics"]["asymmetry"]) == 2
    assert "<figure>" in (tmp_path / "c.html").read_text()
    done = command("compare", tmp_path / "a", tmp_path / "b")
    assert "htcp" in done.stdout
