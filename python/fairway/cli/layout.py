"""Tables as lines of text no wider than a terminal: folded or in several blocks, never cut."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairway.plot.page import Table

#: Spaces between two columns; fewer where that takes fewer blocks.
GAPS = (2, 1)
#: No terminal is taken to be narrower.
LEAST_WIDTH = 20
#: Characters of text that stay on a line.
_SHORT = 20
#: Characters of a word that stay on a line: a third of it, within these bounds.
_WORD = (12, 24)
#: A piece of a word: a long word is broken after what joins its parts.
_PIECES = re.compile(r"[^./_,:=#-]*[./_,:=#-]+|[^./_,:=#-]+")
#: The column of row numbers, where labels are too wide to be repeated.
_NUMBERS = -1


@dataclass(frozen=True)
class _Column:
    """A column with what decides its width."""

    heading: str
    cells: Sequence[str]
    is_text: bool
    width: int

    @functools.cached_property
    def widest_cell(self) -> int:
        return max((_width(line) for cell in self.cells for line in cell.split("\n")), default=0)

    @functools.cached_property
    def most(self) -> int:
        """Characters with which nothing is folded."""
        return max(_width(self.heading), self.widest_cell)

    @functools.cached_property
    def least(self) -> int:
        """Characters that it needs: a heading folds between words, and so does longer text."""
        word = min(max(self.width // 3, _WORD[0]), _WORD[1])
        heading = _least_of(self.heading, word)
        if not self.is_text or self.widest_cell <= _SHORT:
            return max(heading, self.widest_cell)
        return max(heading, _SHORT, *(_least_of(cell, word) for cell in self.cells))


@dataclass(frozen=True)
class _Block:
    """Columns beside each other: their numbers in the table, and their widths."""

    columns: Sequence[int]
    widths: Sequence[int]
    gap: int


def lines(tables: Sequence[Table], width: int | None) -> Iterator[list[str]]:
    """The lines of each of several tables with equal columns, which are laid out alike.

    Where columns do not fit beside each other, the others follow in further blocks, each of which
    repeats the labels. Only a number that is wider than the terminal by itself exceeds the width.
    """
    first, rows = tables[0], [row for table in tables for row in table.rows]
    room = None if width is None else max(width, LEAST_WIDTH)
    columns = {
        index: _Column(heading, [row[index] for row in rows], not first.is_number(index), room or 0)
        for index, heading in enumerate(first.columns)
    }
    columns[_NUMBERS] = _Column("#", [f"{len(rows)}"], is_text=False, width=room or 0)
    blocks = _plan(columns, first.key_columns, room)
    for table in tables:
        yield _drawn(table, blocks)


def _plan(columns: dict[int, _Column], keys: int, width: int | None) -> list[_Block]:
    """The blocks of a table: one where it fits."""
    whole = [index for index in columns if index != _NUMBERS]
    most = [columns[index].most for index in whole]
    if width is None or sum(most) + GAPS[0] * (len(whole) - 1) <= width:
        return [_Block(whole, most, GAPS[0])]
    plans = [_packed(columns, whole, keys, width, gap) for gap in GAPS]
    return min(plans, key=len)


def _packed(
    columns: dict[int, _Column], whole: list[int], keys: int, width: int, gap: int
) -> list[_Block]:
    """As few blocks as one after the other fills, each beginning with the key columns."""

    def needed(indices: Sequence[int]) -> int:
        return sum(columns[index].least for index in indices) + gap * (len(indices) - 1)

    if needed(whole) <= width:
        return [_widened(columns, whole, width, gap)]
    key, rest = whole[:keys], whole[keys:]
    widest = max((columns[index].least for index in rest), default=0)
    if not rest or needed(key) > width // 2 or needed(key) + gap + widest > width:
        key, rest = [_NUMBERS], whole
    blocks, taken = [], list(key)
    for index in rest:
        if len(taken) > len(key) and needed([*taken, index]) > width:
            blocks.append(_widened(columns, taken, width, gap))
            taken = list(key)
        taken.append(index)
    return [*blocks, _widened(columns, taken, width, gap)]


def _widened(columns: dict[int, _Column], indices: list[int], width: int, gap: int) -> _Block:
    """A block in whose room that is left text spreads, the column that lacks least first."""
    room = width - gap * (len(indices) - 1) - sum(columns[index].least for index in indices)
    widths = {index: columns[index].least for index in indices}
    if room < 0:  # one wide column beside row numbers, which is folded
        widths[indices[-1]] = max(widths[indices[-1]] + room, 1)
    texts = [index for index in indices if columns[index].is_text]
    wanting = sorted(texts, key=lambda index: columns[index].most - columns[index].least)
    for others, index in zip(range(len(wanting), 0, -1), wanting, strict=True):
        more = max(0, min(columns[index].most - widths[index], room // others))
        widths[index] += more
        room -= more
    return _Block(indices, [widths[index] for index in indices], gap)


def _drawn(table: Table, blocks: Sequence[_Block]) -> list[str]:
    drawn: list[str] = []
    for block in blocks:
        drawn += [""] if drawn else []
        heads = [
            _fold("#" if index == _NUMBERS else table.columns[index], width)
            for index, width in zip(block.columns, block.widths, strict=True)
        ]
        height = max(map(len, heads))
        drawn += _beside(table, block, [[""] * (height - len(head)) + head for head in heads])
        drawn.append((" " * block.gap).join("─" * width for width in block.widths))
        for number, row in enumerate(table.rows, 1):
            cells = [str(number) if index == _NUMBERS else row[index] for index in block.columns]
            folded = [
                _fold(cell, width, is_whole=table.is_number(index))
                for cell, width, index in zip(cells, block.widths, block.columns, strict=True)
            ]
            drawn += _beside(table, block, folded)
    return drawn


def _beside(table: Table, block: _Block, cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Cells beside each other: text on the left of its column, numbers on the right."""
    for number in range(max(map(len, cells))):
        parts = []
        for index, width, cell in zip(block.columns, block.widths, cells, strict=True):
            part = cell[number] if number < len(cell) else ""
            blank = " " * (width - _width(part))
            is_right = index == _NUMBERS or table.is_number(index)
            parts.append(blank + part if is_right else part + blank)
        yield (" " * block.gap).join(parts).rstrip()


def _fold(cell: str, width: int, *, is_whole: bool = False) -> list[str]:
    """A cell in lines of a width: broken between words, and inside one if nothing else does."""
    found = []
    for paragraph in cell.split("\n"):
        if _width(paragraph) <= width:
            found.append(paragraph)
            continue
        pieces = []
        for word in paragraph.split(" "):
            broken = [word] if is_whole or _width(word) <= width else _pieces(word, width)
            pieces += [(" ", broken[0]), *(("", piece) for piece in broken[1:])] if word else []
        line = ""
        for blank, piece in pieces:
            if line and _width(line + blank + piece) > width:
                found.append(line)
                line = piece
            else:
                line += (blank if line else "") + piece
        found.append(line)
    return found


def _pieces(word: str, width: int) -> list[str]:
    """What a long word is broken into: its parts, and those that are too long by character."""
    parts = []
    for part in _PIECES.findall(word):
        taken = ""
        for character in part if _width(part) > width else [part]:
            if taken and _width(taken + character) > width:
                parts.append(taken)
                taken = ""
            taken += character
        parts.append(taken)
    return parts


def _least_of(cell: str, longest: int) -> int:
    """Characters of the longest part that stays whole, if words do up to some length."""
    words = cell.split()
    parts = (
        part
        for word in words
        for part in (_pieces(word, longest) if _width(word) > longest else [word])
    )
    return max(map(_width, parts), default=0)


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
