"""Tar archives, made byte by byte: honest ones, hostile ones, and random ones."""

import random

#: A tree that is taken for a kernel's source.
HONEST = ("linux-6/Kbuild", "linux-6/arch/um/Kconfig")
END = bytes(1024)


def header(name, kind="0", size=0, target="", *, mode=0o644, told=None, magic=b"ustar\x0000"):
    """One block (POSIX.1-2017, pax, "ustar Header Block"); `told` is the field of the size."""
    block = bytearray(512)

    def put(at, data):
        block[at : at + len(data)] = data

    put(0, as_bytes(name)[:100])
    put(100, b"%07o\0" % mode)
    put(108, b"0000000\0")
    put(116, b"0000000\0")
    put(124, b"%011o\0" % size if told is None else told)
    put(136, b"00000000000\0")
    put(148, b" " * 8)
    put(156, kind.encode())
    put(157, as_bytes(target)[:100])
    put(257, magic)
    put(148, b"%06o\0 " % sum(block))
    return bytes(block)


def as_bytes(name):
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def padded(content):
    return content + bytes(-len(content) % 512)


def file(name, content=b"x", **more):
    return header(name, size=len(content), **more) + padded(content)


def link(name, target):
    return header(name, "2", target=target)


def folder(name):
    return header(name, "5", mode=0o755)


def pax(*records, kind="x"):
    """An extended header; a record is a pair, or bytes as they are."""
    body = b"".join(one if isinstance(one, bytes) else record(*one) for one in records)
    return header("pax", kind, size=len(body)) + padded(body)


def record(key, value):
    rest = b" " + as_bytes(key) + b"=" + as_bytes(value) + b"\n"
    length = len(rest)
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def long_name(name, kind="L"):
    return header("././@LongLink", kind, size=len(name) + 1) + padded(as_bytes(name) + b"\0")


def honest():
    return b"".join(map(file, HONEST))


#: What is added to an honest archive, and words of the refusal.
EVIL = {
    # Names.
    "absolute": (file("/etc/evil"), "outside of the tree"),
    "absolute, two slashes": (file("//etc/evil"), "outside of the tree"),
    "upward": (file("../evil"), "outside of the tree"),
    "upward inside": (file("linux-6/a/../../../evil"), "outside of the tree"),
    "upward folder": (folder("linux-6/.."), "outside of the tree"),
    "upward by pax": (pax(("path", "../evil")) + file("linux-6/a"), "outside of the tree"),
    "upward by GNU": (long_name("../evil") + file("linux-6/a"), "outside of the tree"),
    "upward by prefix": (
        bytes(header("evil")).replace(b"\0" * 155, b"..".ljust(155, b"\0"), 1), "checksum"
    ),
    "not UTF-8": (file(b"linux-6/\xff"), "not UTF-8"),
    "NUL by pax": (pax(("path", "linux-6/a\0b")) + file("linux-6/a"), "cannot be printed"),
    "control": (file("linux-6/\x1b[2J"), "cannot be printed"),
    "direction of writing": (file("linux-6/\u202egpj.exe"), "cannot be printed"),
    "empty": (pax(("path", "")) + file("linux-6/a"), "empty"),
    "the tree itself": (file("./"), "the name of the tree itself"),
    "long part": (long_name("linux-6/" + "a" * 256) + file("a"), "longer than a file system"),
    "long path": (long_name("linux-6/" + "a/" * 2100) + file("a"), "longer than a file system"),
    "deep path": (long_name("linux-6/" + "a/" * 70) + file("a"), "more than 64 parts"),
    # Kinds.
    "hard link": (header("linux-6/a", "1", target="linux-6/Kbuild"), "a hard link"),
    "hard link outside": (header("linux-6/a", "1", target="/etc/passwd"), "a hard link"),
    "character device": (header("linux-6/a", "3"), "a character device"),
    "block device": (header("linux-6/a", "4"), "a block device"),
    "FIFO": (header("linux-6/a", "6"), "a FIFO"),
    "sparse": (header("linux-6/a", "S", size=512) + bytes(512), "a sparse file"),
    "sparse by pax": (
        pax(("GNU.sparse.major", "1"), ("GNU.sparse.realsize", str(1 << 60))) + file("linux-6/a"),
        "a sparse file",
    ),
    "another kind": (header("linux-6/a", "Z"), "type b'Z'"),
    # Links.
    "link to an absolute path": (link("linux-6/a", "/etc/passwd"), "outside of the tree"),
    "link upward": (link("linux-6/a", "../outside"), "outside of the tree"),
    "link upward by GNU": (
        long_name("../" * 40 + "etc/passwd", "K") + link("linux-6/a", "Kbuild"),
        "outside of the tree",
    ),
    "link upward by pax": (
        pax(("linkpath", "../../outside")) + link("linux-6/a", "Kbuild"), "outside of the tree"
    ),
    "link upward behind a name": (link("linux-6/a", "b/../.."), "outside of the tree"),
    "link to nothing": (link("linux-6/a", ""), "its target is empty"),
    "link not UTF-8": (link("linux-6/a", b"\xff"), "its target is not UTF-8"),
    "link beside the tree": (link("other", "linux-6"), "outside of the tree"),
    "link in place of the tree": (link("linux-6", "linux-6"), "the name of the tree itself"),
    # A link to the tree, an entry that goes through it and is one level lower by its text alone.
    "folder through a link": (
        folder("linux-6/p") + link("linux-6/p/q", "..") + link("linux-6/p/q/s", "../..")
        + link("linux-6/p/q/s/made/b", "Kbuild"),
        "outside of the tree|no directory",
    ),
    "file through a link": (
        link("linux-6/a", "arch") + file("linux-6/a/x"), "came before it|no directory"
    ),
    "link through a link": (
        link("linux-6/a", "arch") + link("linux-6/a/x", "um"), "no directory"
    ),
    # The same name again.
    "file twice": (file("linux-6/Kbuild", b"other"), "came before it"),
    "file, then folder": (folder("linux-6/Kbuild"), "no directory"),
    "file, then link": (link("linux-6/Kbuild", "arch"), "came before it"),
    "file in a file": (file("linux-6/Kbuild/a"), "no directory"),
    "folder, then file": (file("linux-6/arch"), "came before it"),
    "folder, then link": (link("linux-6/arch", "."), "came before it"),
    "link, then link": (link("linux-6/a", "arch") + link("linux-6/a", "Kbuild"), "came before it"),
    # Sizes.
    "gigantic": (header("linux-6/a", told=b"77777777777\0"), "unpacks to more than"),
    "gigantic by GNU": (header("linux-6/a", told=b"\x80" + b"\xff" * 11), "unpacks to more than"),
    "gigantic by pax": (
        pax(("size", str(10**18))) + header("linux-6/a"), "unpacks to more than"
    ),
    "negative by GNU": (header("linux-6/a", told=b"\xff" * 12), "not a number"),
    "negative by pax": (pax(("size", "-512")) + header("linux-6/a"), "a size of '-512'"),
    "size of many digits": (pax(("size", "9" * 5000)) + header("linux-6/a"), "a size of '999"),
    "no number": (header("linux-6/a", told=b"12345678x01\0"), "not a number"),
    "gigantic header": (header("pax", "x", told=b"77777777777\0"), "a header of"),
    "gigantic name": (header("n", "L", told=b"77777777777\0"), "a header of"),
    "folder with content": (header("linux-6/a", "5", size=9) + bytes(512), "with content"),
    "link with content": (header("linux-6/a", "2", 9, "Kbuild") + bytes(512), "with content"),
    # Extended headers.
    "one path for all": (pax(("path", "linux-6/a"), kind="g") + file("x"), "to all members"),
    "record that is too long": (pax(b"99999 path=a\n") + file("x"), "a wrong length"),
    "record of nothing": (pax(b"0 \n") + file("x"), "a wrong length"),
    "record without a length": (pax(b"path=linux-6/a\n") + file("x"), "a wrong length"),
    "record without a value": (pax(b"8 path\n\n") + file("x"), "without a value|wrong length"),
    "headers without end": (long_name("linux-6/a") * 3000 + END, "describes no member"),
    "header, then the end": (pax(("path", "linux-6/a")), "describes no member"),
    # The archive.
    "wrong checksum": (b"x" + file("linux-6/a")[1:], "checksum"),
    "cut in a header": (file("linux-6/a")[:300], "too early"),
    "cut in content": (header("linux-6/a", size=5000) + bytes(10), "too early"),
    "no header": (b"no archive at all, but some text" * 32, "checksum|not a number"),
}  # fmt: skip

#: What may be added to an honest archive, and the files that it makes.
FINE = {
    "folders and dots": (folder("./linux-6/new/") + file("./linux-6/new/./a"), {"new/a"}),
    "folder twice": (folder("linux-6/arch") + folder("linux-6/arch"), set()),
    "set-user-ID": (file("linux-6/a", mode=0o6755), {"a"}),
    "no permission": (file("linux-6/a", mode=0), {"a"}),
    "two cases": (file("linux-6/xt_MARK") + file("linux-6/xt_mark"), {"xt_MARK", "xt_mark"}),
    "comment for all": (pax(("comment", "0123abcd"), kind="g") + file("linux-6/a"), {"a"}),
    "links": (link("linux-6/arch/a", "../Kbuild") + link("linux-6/b", "./arch/a"), {"arch/a", "b"}),
    "link to itself": (link("linux-6/a", "a"), {"a"}),
    "pax names": (pax(("path", "linux-6/ü"), ("mtime", "1.5")) + file("x"), {"ü"}),
    "GNU names": (long_name("linux-6/" + "d/" * 60 + "a") + file("x"), {"d/" * 60 + "a"}),
    "a size for the next alone": (
        pax(("size", "3")) + header("linux-6/a") + padded(b"abc") + file("linux-6/b"), {"a", "b"}
    ),
    "format of 1979": (
        file("linux-6/a", magic=b"").replace(b"0", b"0") + header("linux-6/new/", "\0", magic=b""),
        {"a"},
    ),
}  # fmt: skip

_PARTS = ("a", "b", "c", "linux-6", "linux-6", "linux-6", ".", "..", "", "arch", "Kbuild")
_ENDS = ("", "", "", "/", "\n", "\udcff")


def random_archive(seed):
    """Entries of random kinds whose names and targets meet each other."""
    draw = random.Random(seed)

    def path(first=()):
        return "/".join([*first, *draw.choices(_PARTS, k=draw.randint(1, 4))])

    def entry():
        name = path(("linux-6",) if draw.random() < 0.9 else ())
        name = name.replace("..", "a") if draw.random() < 0.9 else name + draw.choice(_ENDS)
        kind = draw.choices(("file", "folder", "link", "1", "6"), (4, 3, 8, 0.1, 0.1))[0]
        if kind == "file":
            return file(
                name, draw.randbytes(draw.choice((0, 1, 600))), mode=draw.randrange(0o10000)
            )
        if kind == "folder":
            return folder(name)
        return link(name, path()) if kind == "link" else header(name, kind, target=path())

    return honest() + b"".join(entry() for _ in range(draw.randint(1, 6))) + END
