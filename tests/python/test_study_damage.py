"""Whatever stands in the files of a study: it is refused in words that name the file."""

import random

import pytest
import tomli_w

import small_studies
from conftest import SMALL
from fairway.errors import FairwayError
from fairway.experiment.plan import parse_toml
from fairway.study.files import load_study

STUDY = small_studies.study_of(
    "T", small_studies.compare(), '[quick]\nrepetitions = 1\nnote = "n"\n',
    '[[figure]]\nkind = "over_time"\nquantity = "cwnd"\ntitle = "t"\n',
    keys='question = "q"\nsummary = "s"\n',
)  # fmt: skip
CLAIMS = small_studies.claim("a", small_studies.in_range("asymmetry", 0, 1))
TABLE = "cc,a\nbic,0.5\nhtcp,0.4\n"
TABLES = ["", "\n", "cc\n", "cc,a\nbic\n", "cc,a\nbic,1,2,3\n", "cc,cc\nbic,1\n", "cc,a\n,\n", '"',
          'cc,a\n"bic\n',
          f"cc,a\nbic,{'9' * 400}\n", "cc,a\nbic,nan\n", "cc,a\n\0,1\n"]  # fmt: skip
VALUES = [True, -1, 0, 1, 0.5, float("inf"), float("nan"), "", "x", "../x", "/etc/passwd", [], [1],
          ["a"], {}, {"a": 1}, [{}], [[]], 2**63, -(2**63), "\u202e", "a" * 5000, "a\0b", "\n",
          {"flow.0.cc": []}, {"flow.0.cc": 1}]  # fmt: skip


def places(node, path=()):
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def damaged(text, draw):
    """A document with a value changed, left out or added, sometimes two."""
    document = parse_toml(text, "x")
    for _ in range(draw.choice((1, 1, 2))):
        *above, last = draw.choice(list(places(document)))
        node = document
        for key in above:
            node = node[key]
        how = draw.random()
        if isinstance(node, dict) and how < 0.2:
            del node[last]
        elif isinstance(node, dict) and how < 0.3:
            node["new"] = draw.choice(VALUES)
        else:
            node[last] = draw.choice(VALUES)
        if not list(places(document)):
            break
    return tomli_w.dumps(document)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_study_is_refused_in_words(tmp_path, seed):
    draw = random.Random(seed)
    study = small_studies.write(tmp_path / "study", STUDY, CLAIMS, TABLE)
    load_study(study).part.plan(quick=True)
    found, refused = [], 0
    for _ in range(250):
        which = draw.choice(("study.toml", "study.toml", "claims.toml", "published/t.csv"))
        for name, text in (("study.toml", STUDY), ("claims.toml", CLAIMS)):
            (study / name).write_text(damaged(text, draw) if name == which else text)
        table = draw.choice(TABLES) if which.endswith("csv") else TABLE
        (study / "published" / "t.csv").write_text(table)
        (study / "small.toml").write_text(SMALL)
        try:
            load_study(study).part.plan(quick=True)
        except FairwayError as error:
            refused += 1
            assert (
                ".toml" in str(error)
                or ".csv" in str(error)
                or "study" in str(error)
                or ("sweep." in str(error))
            )
        except Exception as error:
            found.append(f"{which}: {type(error).__name__}: {error}")
    assert not found, "\n".join(sorted(set(found)))
    assert refused > 100
