"""Where Fairway keeps what it need not make again."""

from fairway.ground.cache import cache_directory


def test_places(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRWAY_CACHE", str(tmp_path))
    assert cache_directory("linux") == tmp_path / "linux"
    monkeypatch.delenv("FAIRWAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("linux") == tmp_path / "fairway" / "linux"
