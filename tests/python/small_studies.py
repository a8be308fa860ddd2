"""Texts of small studies over the experiment `conftest.SMALL`, and what writes them down."""

from __future__ import annotations

from pathlib import Path

from conftest import SMALL

AXES = '"flow.0.cc" = ["bic", "htcp"]'


def study_of(title: str, *tables: str, keys: str = "", axes: str = AXES) -> str:
    """A study of these axes.

    Args:
        title: Its title.
        tables: Further tables.
        keys: Further keys, a line each.
        axes: Its axes, a line each.
    """
    head = f'title = "{title}"\nsource = "Nobody, 2026"\nexperiment = "small.toml"\n{keys}\n'
    return "\n".join((head, f"[axes]\n{axes}\n", *tables))


def compare(
    metric: str = "asymmetry",
    column: str = "a",
    *,
    file: str = "published/t.csv",
    match: str = '"flow.0.cc" = "cc"',
    more: str = "",
) -> str:
    """What a metric is held against."""
    return f"""
[[compare]]
metric = "{metric}"
title = "paper"
file = "{file}"
column = "{column}"
match = {{ {match} }}
{more}
"""


def claim(name: str, *tests: str, statement: str = "As published", more: str = "") -> str:
    """A claim with its tests, each of which is given by its keys, a line each."""
    head = f'[[claim]]\nid = "{name}"\nstatement = "{statement}"\nwhere = "page 1"\n{more}\n'
    return "\n".join((head, *(f"[[claim.test]]\n{test}\n" for test in tests)))


def in_range(metric: str, low: float, high: float, more: str = "") -> str:
    """A test that every cell is in a range."""
    return f'kind = "range"\nmetric = "{metric}"\nlow = {low}\nhigh = {high}\n{more}'


def write(directory: Path, text: str, claims: str = "", published: str = "") -> Path:
    """Write a study down; without published numbers they stand somewhere else."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "study.toml").write_text(text)
    (directory / "small.toml").write_text(SMALL)
    if claims:
        (directory / "claims.toml").write_text(claims)
    if published:
        (directory / "published").mkdir(exist_ok=True)
        (directory / "published" / "t.csv").write_text(published)
    return directory
