"""Tarballs from anyone: what is unpacked is beneath one directory, or nothing is."""

import io
import lzma
import os
import resource
import shutil
import stat
import tarfile
import zlib
from pathlib import Path

import pytest

import evil_archives as archives
from fairway.backends.linux import source
from fairway.backends.linux.source import Source
from fairway.errors import InputError

#: Memory in bytes beyond what the process has when a test begins.
ROOM = 128 << 20


@pytest.fixture
def place(tmp_path):
    """A directory to unpack into, between others that must not change."""
    for name in ("outside", "world/etc", "world/out"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "outside" / "file").write_text("before")
    (tmp_path / "world" / "Kbuild").write_text("before")
    return tmp_path / "world" / "out"


def unpack(place, data, ending=".tar"):
    path = place.parent.parent / f"linux{ending}"
    path.write_bytes(data)
    return source.unpack(Source(path, is_tree=False), place, lambda _: None)


def state(top, leave_out):
    """Every file with its kind, mode, time, and content or target."""
    found = {}
    for path in sorted(top.rglob("*")):
        if path == leave_out or leave_out in path.parents or path.name.startswith("linux."):
            continue
        seen = path.lstat()
        what = str(path.readlink()) if path.is_symlink() else path.is_file() and path.read_bytes()
        found[path] = (stat.S_IFMT(seen.st_mode), seen.st_mode, seen.st_mtime_ns, what)
    return found


def escapes(top):
    """Entries that lead out of a directory, or are something else than it should have."""
    real = os.path.realpath(top)
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                if os.path.commonpath([real, os.path.realpath(path)]) != real:
                    yield path
            elif mode & 0o7022 or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                yield path


@pytest.mark.parametrize("name", archives.EVIL)
def test_an_evil_archive_is_refused_in_words_and_leaves_nothing(place, name):
    evil, says = archives.EVIL[name]
    end = b"" if "cut" in name else archives.END
    before = state(place.parent.parent, place)
    with pytest.raises(InputError, match=says) as error:
        unpack(place, archives.honest() + evil + end)
    assert str(error.value).isprintable()
    assert "linux.tar: " in str(error.value)
    assert list(place.iterdir()) == []
    assert state(place.parent.parent, place) == before


@pytest.mark.parametrize("name", archives.FINE)
def test_an_unusual_archive_is_unpacked(place, name):
    more, made = archives.FINE[name]
    before = state(place.parent.parent, place)
    tree = unpack(place, archives.honest() + more + archives.END)
    assert tree == place / "linux-6"
    names = {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}
    assert names == {"Kbuild", "arch/um/Kconfig", *made}
    assert list(escapes(tree)) == []
    assert state(place.parent.parent, place) == before


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_a_random_archive_changes_nothing_outside(place, first):
    before = state(place.parent.parent, place)
    ends = set()
    for seed in range(first, first + 50):
        try:
            tree = unpack(place, archives.random_archive(seed))
        except InputError:
            ends.add("refused")
            assert list(place.iterdir()) == [], seed
        else:
            ends.add("unpacked")
            assert list(escapes(tree)) == [], seed
        assert state(place.parent.parent, place) == before, seed
        for left in place.iterdir():
            left.unlink() if left.is_file() else shutil.rmtree(left)
    assert ends == {"refused", "unpacked"}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_an_archive_of_another_program_has_its_files(place, form):
    """Python's `tarfile` writes the three formats; long names are written differently in each."""
    short = "linux-6/" + "d" * 80
    files = {"linux-6/Kbuild": b"", "linux-6/arch/um/Kconfig": b"config", f"{short}/a": b"1" * 511,
             f"{short}/b": b"2" * 512, f"{short}/{'c' * 90}": b"3" * 513}  # fmt: skip
    if form != tarfile.USTAR_FORMAT:
        files[f"{short}/{'e' * 200}/{'f' * 200}"] = b"4"
        files["linux-6/größe"] = b"5"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755 if name.endswith("a") else 0o640
            member.mtime = 1.25 if form == tarfile.PAX_FORMAT else 1
            archive.addfile(member, io.BytesIO(content))
        pointer = tarfile.TarInfo("linux-6/link")
        pointer.type, pointer.linkname = tarfile.SYMTYPE, f"{short.partition('/')[2]}/{'c' * 90}"
        pointer.linkname = pointer.linkname[: 100 if form == tarfile.USTAR_FORMAT else None]
        archive.addfile(pointer)
    unpack(place, packed.getvalue())
    found = {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    assert found == files
    assert str((place / pointer.name).readlink()) == pointer.linkname
    assert (place / short / "a").stat().st_mode & 0o777 == 0o755 & ~umask()
    assert (place / short / "b").stat().st_mode & 0o777 == 0o644 & ~umask()


def umask():
    now = os.umask(0)
    os.umask(now)
    return now


def test_nothing_is_written_through_a_link_that_was_there(place):
    (place / "linux-6").symlink_to(place.parent / "etc")
    with pytest.raises(InputError, match="'linux-6', which is no directory"):
        unpack(place, archives.honest() + archives.END)
    assert list((place.parent / "etc").iterdir()) == []


def test_too_many_members_are_refused(place, monkeypatch):
    monkeypatch.setattr("fairway.backends.linux.tarball.MAX_MEMBERS", 20)
    many = b"".join(archives.folder(f"linux-6/{number}") for number in range(40))
    with pytest.raises(InputError, match="more than 20 members"):
        unpack(place, archives.honest() + many + archives.END)
    with pytest.raises(InputError, match="more than 20 members"):
        unpack(place, archives.honest() + archives.long_name("linux-6/a") * 40 + archives.END)
    assert list(place.iterdir()) == []


def bomb(head, size, of):
    """A packed archive: a head, and that many bytes of zeros behind it."""
    packer = zlib.compressobj(1, wbits=31)
    packed = [packer.compress(head)]
    packed += [packer.compress(of) for _ in range(size // len(of))]
    return b"".join([*packed, packer.flush()])


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (archives.header("pax", "x", size=1 << 28), "a header of 268,435,456 bytes"),
        (archives.header("name", "L", size=1 << 28), "a header of 268,435,456 bytes"),
        (archives.honest() + archives.END, "more than 67,108,864 bytes"),
        (archives.honest() + archives.header("linux-6/a", size=1 << 28), "more than 67,108,864"),
    ],
    ids=["header", "name", "padding", "file"],
)
def test_a_bomb_takes_neither_memory_nor_disk(place, monkeypatch, head, says):
    monkeypatch.setattr("fairway.backends.linux.tarball.MAX_BYTES", 64 << 20)
    data = bomb(head, 1 << 28, bytes(1 << 20))
    assert len(data) < 2 << 20
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, limits[1]))
    try:
        with pytest.raises(InputError, match=says):
            unpack(place, data, ".tar.gz")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert list(place.iterdir()) == []


def test_the_words_of_the_program_that_unpacks_are_told(place):
    with pytest.raises(InputError, match=r"damaged tarball: xz says: .*not recognized"):
        unpack(place, b"no archive" * 1000, ".tar.xz")
    cut = lzma.compress(archives.honest() + os.urandom(4096))[:-2000]
    with pytest.raises(InputError, match=r"damaged tarball: xz says: .*end of input"):
        unpack(place, cut, ".tar.xz")
