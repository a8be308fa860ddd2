"""The library of charts is bundled once, and a cache that cannot be used is no error."""

from importlib.metadata import version

import pytest
import vl_convert

from fairway.ground.cache import cache_directory
from fairway.plot import page


@pytest.fixture
def bundled(monkeypatch):
    """Bundles that were asked for; each is a short text."""
    asked = []

    def bundle(snippet):
        asked.append(snippet)
        return f"/* bundle {len(asked)} </script> */"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    page.chart_library.cache_clear()
    yield asked
    page.chart_library.cache_clear()


def script():
    """The library as another command would have it."""
    page.chart_library.cache_clear()
    return page.chart_library()


def test_it_is_bundled_once(bundled, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRWAY_CACHE", str(tmp_path / "cache"))
    first = script()
    assert script() == first
    assert len(bundled) == 1
    assert "bundle 1 <\\/script>" in first
    (file,) = (tmp_path / "cache" / "charts").iterdir()
    assert file.name == f"vega-embed-{version('vl-convert-python')}.js"


@pytest.mark.parametrize("blocked", ["", "charts"])
def test_where_it_cannot_be_kept_it_is_bundled_again(bundled, monkeypatch, tmp_path, blocked):
    place = tmp_path / "cache"
    if blocked:
        place.mkdir()
    (place / blocked).write_text("a file where a directory should be")
    monkeypatch.setenv("FAIRWAY_CACHE", str(place))
    assert "bundle 1" in script()
    assert "bundle 2" in script()


def test_what_is_no_text_is_bundled_again(bundled, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRWAY_CACHE", str(tmp_path))
    script()
    (file,) = (tmp_path / "charts").iterdir()
    file.write_bytes(b"\xff\xfe")
    assert "bundle 2" in script()


def test_places(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRWAY_CACHE", str(tmp_path))
    assert cache_directory("linux") == tmp_path / "linux"
    monkeypatch.delenv("FAIRWAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("linux") == tmp_path / "fairway" / "linux"
