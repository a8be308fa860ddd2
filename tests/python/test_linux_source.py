"""Where a kernel's source comes from, and how it becomes a tree."""

import io
import tarfile
from pathlib import Path

import pytest

from fairway.backends.linux import source
from fairway.backends.linux.source import Source, unpack
from fairway.errors import InputError

CONTENT = "config HZ\n\tint\n\tdefault 100\n"


def test_the_identity_of_a_tree_changes_with_a_file_and_not_with_its_history(tmp_path):
    tree = Source(tmp_path / "tree", is_tree=True)
    (tree.path / ".git").mkdir(parents=True)
    (tree.path / "Kbuild").write_text("")
    before = tree.identity()
    (tree.path / ".git" / "HEAD").write_text("x")
    assert tree.identity() == before
    (tree.path / "Kbuild").write_text("changed")
    assert tree.identity() != before


def test_the_newest_package_is_the_default(tmp_path):
    for name in ("linux-source-6.1.tar.xz", "linux-source-6.12.tar.xz", "linux-source-6.9.tar.xz",
                 "linux-source-x.tar.xz", "linux-patch-7.0.tar.xz"):  # fmt: skip
        (tmp_path / name).write_bytes(b"")
    assert [found.path.name for found in source.packaged(tmp_path)] == [
        "linux-source-6.1.tar.xz",
        "linux-source-6.12.tar.xz",
        "linux-source-6.9.tar.xz",
    ]


def test_a_package_is_found_by_its_release(tmp_path, monkeypatch):
    for name in ("linux-source-6.1.tar.xz", "linux-source-6.12.tar.xz"):
        (tmp_path / name).touch()
    found = source.packaged(tmp_path)
    monkeypatch.setattr(source, "packaged", lambda: found)
    assert source.of_release("6.12").path.name == "linux-source-6.12.tar.xz"
    with pytest.raises(
        InputError, match=r"6\.2 .*\(installed: linux-source-6\.1, linux-source-6\.12\)"
    ):
        source.of_release("6.2")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda at: at / "missing", "no such directory or tarball"),
        (lambda at: at, "not a Linux source tree"),
        (lambda _: Path(__file__), "neither a directory nor a tarball"),
    ],
)
def test_a_source_that_is_none_is_refused(tmp_path, make, says):
    with pytest.raises(InputError, match=says):
        source.named(make(tmp_path))


KINDS = {"file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE,
         "pipe": tarfile.FIFOTYPE}  # fmt: skip


def tarball(path: Path, *members: tuple[str, str, str]) -> Source:
    """A tarball of (name, kind, content or target)."""
    with tarfile.open(path, "w:xz") as archive:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type = KINDS[kind]
            data = content.encode() if kind == "file" else b""
            member.size, member.mode = len(data), 0o755
            member.linkname = content if kind in ("link", "hard") else ""
            archive.addfile(member, io.BytesIO(data))
    return Source(path, is_tree=False)


WHOLE = (("linux-6/arch/um/Kconfig", "file", CONTENT), ("linux-6/Kbuild", "file", ""))


def test_a_tarball_becomes_a_tree(tmp_path):
    told = []
    origin = tarball(tmp_path / "linux.tar.xz", *WHOLE, ("linux-6/a/b", "link", "../Kbuild"))
    (tmp_path / "out").mkdir()
    tree = unpack(origin, tmp_path / "out", told.append)
    assert tree == tmp_path / "out" / "linux-6"
    assert (tree / "arch/um/Kconfig").read_text() == CONTENT
    assert (tree / "a/b").readlink() == Path("../Kbuild")
    assert all(0 <= part <= 1 for part in told)


@pytest.mark.parametrize(
    ("member", "says"),
    [
        (("../outside", "file", "x"), "outside of the tree"),
        (("linux-6/../../outside", "file", "x"), "outside of the tree"),
        (("/tmp/outside", "file", "x"), "outside of the tree"),
        (("linux-6/a", "link", "/etc/passwd"), "outside of the tree"),
        (("linux-6/a", "link", "../../outside"), "outside of the tree"),
        (("linux-6/a", "hard", "/etc/passwd"), "a hard link"),
        (("linux-6/a", "pipe", ""), "a FIFO"),
    ],
)
def test_a_hostile_tarball_is_refused(tmp_path, member, says):
    origin = tarball(tmp_path / "linux.tar.xz", *WHOLE, member)
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=says):
        unpack(origin, tmp_path / "out", lambda _: None)
    assert not (tmp_path / "outside").exists()


def test_no_file_is_written_through_a_link(tmp_path):
    # Links are made last, when a directory has taken the link's place.
    trap = (("linux-6/a", "link", "arch"), ("linux-6/a/x", "file", "x"))
    origin = tarball(tmp_path / "linux.tar.xz", *WHOLE, *trap)
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError):
        unpack(origin, tmp_path / "out", lambda _: None)
    assert not (tmp_path / "out/linux-6/arch/x").exists()


def test_tarballs_that_are_too_large_damaged_or_something_else(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    origin = tarball(tmp_path / "linux.tar.xz", *WHOLE)
    cut = Source(tmp_path / "cut.tar.xz", is_tree=False)
    cut.path.write_bytes(origin.path.read_bytes()[:-60])
    with pytest.raises(InputError, match="damaged"):
        unpack(cut, tmp_path / "out", lambda _: None)
    other = tarball(tmp_path / "other.tar.xz", ("readme", "file", "hello"))
    (tmp_path / "out2").mkdir()
    with pytest.raises(InputError, match="holds no Linux source tree"):
        unpack(other, tmp_path / "out2", lambda _: None)
    monkeypatch.setattr("fairway.backends.linux.tarball.MAX_BYTES", 10)
    with pytest.raises(InputError, match="unpacks to more than"):
        unpack(origin, tmp_path / "out", lambda _: None)
