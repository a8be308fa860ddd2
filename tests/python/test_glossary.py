"""Names and prose use the words of GLOSSARY.md, and none of those that it retired."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: In code, comments, help and pages, also between the underscores of a name.
ANYWHERE = re.compile(r"(?<![^\W_])(parcels?|crew|shares?[ _]kept|books)(?![^\W_])", re.IGNORECASE)
#: As names of types, modules and functions. In prose the English words are meant: a queue is kept
#: short, there is room for a packet, a row of a table, both ways.
NAMES = "parcels?|news|hands|attend(ed)?|doors?|rooms?|crew|kept|hang|wall|shows|ways?|books?"
RUST = re.compile(rf"\b(?:struct|enum|trait|type|mod|fn)\s+({NAMES})\b(?!!)", re.IGNORECASE)
PYTHON = re.compile(rf"^\s*(?:class|def)\s+({NAMES})\b", re.IGNORECASE | re.MULTILINE)
FILES = re.compile(rf"(^|/)({NAMES})\.(rs|py)$", re.IGNORECASE)
#: File and word -> why it stands there.
EXCEPTIONS = {
    ("GLOSSARY.md", "parcel"): "says what replaces it",
    ("GLOSSARY.md", "crew"): "says what replaces it",
    ("GLOSSARY.md", "share kept"): "says what replaces it",
    ("GLOSSARY.md", "books"): "says what replaces it",
    ("tests/python/test_house.py", "room"): "the packages of fairway are called rooms",
}

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is not a checkout")


def tracked():
    """Sources and pages, without data, this test, and what past versions were called."""
    names = subprocess.run(
        ["git", "ls-files", "*.rs", "*.py", "*.pyi", "*.md", "*.html"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    left_out = {"CHANGELOG.md", "tests/python/test_glossary.py"}
    return [name for name in names if name not in left_out and (ROOT / name).is_file()]


def retired(name, text):
    """Retired words in a file."""
    found = {match[0] for match in ANYWHERE.finditer(text)}
    pattern = RUST if name.endswith(".rs") else PYTHON
    found |= {match[1] for match in pattern.finditer(text)}
    found |= {match[2] for match in FILES.finditer(name)}
    return {(name, word) for word in found}


def test_no_file_uses_a_retired_word():
    found = set()
    for name in tracked():
        found |= retired(name, (ROOT / name).read_text(encoding="utf-8"))
    assert sorted(found - EXCEPTIONS.keys()) == []
    assert sorted(EXCEPTIONS.keys() - found) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rs", "pub(crate) struct News {"),
        ("a.rs", "/// The books of a flow."),
        ("a.rs", "self.check_books(now);"),
        ("a.py", "_parcel = None"),
        ("a.rs", "mod ways;"),
        ("a.py", "class Kept(Protocol):"),
        ("crates/x/src/door.rs", ""),
        ("a.md", "The share kept at a loss"),
    ],
)
def test_a_retired_word_is_found(name, text):
    assert retired(name, text)


@pytest.mark.parametrize("text", ["// what is kept has room both ways", "fn waiting() {}"])
def test_english_is_not_refused(text):
    assert not retired("a.rs", text)


def test_the_glossary_names_every_retired_word():
    page = (ROOT / "GLOSSARY.md").read_text(encoding="utf-8").partition("## Retired words")[2]
    for word in ("parcel", "way", "News", "Hands", "attend", "Door", "Room", "crew", "Kept",
                 "hang", "wall", "shows", "share kept", "books"):  # fmt: skip
        assert re.search(rf"\b{word}\b", page), word
