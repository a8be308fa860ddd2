"""Tables in a terminal: from 40 columns to a pipe every cell is there, whole, under its heading."""

import random
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import SMALL, SWEEP
from fairway.cli import layout, terminal
from fairway.cli import main as cli
from fairway.plot.page import Table

EXAMPLES = Path(__file__).parents[2] / "examples"
#: From the narrowest terminal that is promised to the widest, and a pipe.
WIDTHS = [40, 47, 60, 80, 100, 132, 200, None]


def squeezed(text):
    """A text without blanks, which is what folding leaves as it is."""
    return "".join(text.split())


def blocks(drawn):
    """Headings and lines of cells of each block, cut where the rule below the headings says."""
    for block in "\n".join(drawn).split("\n\n"):
        lines = block.split("\n")
        rule = next(n for n, line in enumerate(lines) if re.fullmatch("─+( +─+)*", line))
        starts = [found.start() for found in re.finditer("─+", lines[rule])]
        ends = [*starts[1:], None]
        rows = [
            [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
            for line in lines
        ]
        heads = [squeezed("".join(part)) for part in zip(*rows[:rule], strict=True)]
        yield heads, rows[rule + 1 :]


def check(table, width):
    """Every column is drawn, and in it every cell; a number and what has one word in one line."""
    drawn = next(layout.lines([table], width))
    wanted = [squeezed(heading) for heading in table.columns]
    assert len(set(wanted)) == len(wanted), f"two columns with one heading: {table.columns}"
    seen = set()
    for heads, rows in blocks(drawn):
        assert len(set(heads)) == len(heads)
        for place, head in enumerate(heads):
            cells = [row[place] for row in rows]
            if head == "#":
                assert [cell for cell in cells if cell] == [
                    str(n) for n in range(1, len(table.rows) + 1)
                ]
                continue
            column = wanted.index(head)
            seen.add(column)
            own = [row[column] for row in table.rows]
            assert squeezed("".join(cells)) == squeezed("".join(own)), table.columns[column]
            if table.is_number(column):
                whole = [cell.strip() for cell in own if len(cell) <= 30]
                assert set(whole) <= set(cells)
    assert seen == set(range(len(wanted)))
    if width is None:
        assert len(drawn) == 2 + sum(max(c.count("\n") for c in row) + 1 for row in table.rows)
        return
    longest = max(len(word) for row in table.rows for cell in row for word in cell.split())
    if longest <= 30:
        assert max(map(len, drawn)) <= width


def made(draw):
    """A random table: so many columns of text, then numbers, then text."""

    def word():
        return "".join(draw.choices("abcxyz019./_-÷()", k=draw.randint(1, 24)))

    def words(most):
        return " ".join(word() for _ in range(draw.randint(1, most)))

    def number():
        return draw.choice([
            f"{draw.uniform(-1e12, 1e12):,.3f}", f"{draw.randint(0, 10**15):,}", "–", "2.69e-07",
            "4.173 Mbit/s", "<0.0001", "[0.1234, 0.5678]", "12.5 %",
        ])  # fmt: skip

    columns = list(
        {squeezed(one): one for one in (words(4) for _ in range(draw.randint(1, 14)))}.values()
    )
    labels = draw.randint(0, len(columns))
    trailing = draw.randint(0, len(columns) - labels)
    numbers = range(labels, len(columns) - trailing)
    rows = [
        [number() if index in numbers else words(12) for index in range(len(columns))]
        for _ in range(draw.randint(1, 6))
    ]
    return Table("", columns, rows, labels=labels, trailing=trailing)


@pytest.mark.parametrize("seed", range(20))
def test_no_cell_is_cut(seed):
    draw = random.Random(seed)
    for _ in range(25):
        table = made(draw)
        check(table, draw.choice([None, *range(40, 201)]))


def test_words_are_broken_where_they_are_joined():
    table = Table("", ["link", "drops"], [["topology.bottleneck.queue.limit", "3"]])
    drawn = next(layout.lines([table], 28))
    assert drawn == [
        "link                   drops",
        "─────────────────────  ─────",
        "topology.bottleneck.       3",
        "queue.limit",
    ]


def test_what_does_not_fit_follows_below_with_the_labels():
    table = Table("", ["flow", "goodput (Mbit/s)", "srtt (ms)"], [["a", "9.5", "40.1"]])
    assert next(layout.lines([table], 20)) == [
        "       goodput  srtt",
        "flow  (Mbit/s)  (ms)",
        "────  ────────  ────",
        "a          9.5  40.1",
    ]
    wider = Table("", ["flow", "goodput (Mbit/s)", "srtt (ms)"], [["a", "12,345.6789", "40.1"]])
    assert next(layout.lines([wider], 20)) == [
        "          goodput",
        "flow     (Mbit/s)",
        "────  ───────────",
        "a     12,345.6789",
        "",
        "      srtt",
        "flow  (ms)",
        "────  ────",
        "a     40.1",
    ]


def test_rows_are_numbered_where_labels_have_no_room():
    rows = [["198.51.100.7:50000", "203.0.113.20:443", "4.173 Mbit/s"], ["a", "b", "1 bit/s"]]
    heads, numbers = zip(
        *blocks(next(layout.lines([Table("", ["from", "to", "goodput"], rows, labels=2)], 40))),
        strict=True,
    )
    assert heads == (["#", "from", "to"], ["#", "goodput"])
    assert numbers[1] == [["1", "4.173 Mbit/s"], ["2", "1 bit/s"]]


def test_wide_characters_take_their_room():
    table = Table("", ["名", "n"], [["東京の回線東京の回線東京の回線", "1"]])
    drawn = next(layout.lines([table], 24))
    # Each takes two of the 21 columns that are left of 24 beside two blanks and the number.
    assert drawn[2:] == ["東京の回線東京の回線   1", "東京の回線"]


@pytest.mark.parametrize(
    ("variable", "is_terminal", "expected"),
    [("132", False, 132), ("132", True, 132), ("", False, None), ("0", False, None),
     ("1", False, 20), ("99999999", True, 10_000), ("x", False, None)],
)  # fmt: skip
def test_columns_are_those_of_the_environment_also_in_a_pipe(
    variable, is_terminal, expected, monkeypatch
):
    monkeypatch.setenv("COLUMNS", variable)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    assert terminal.width() == expected


def test_sentences_are_as_wide_as_the_terminal(monkeypatch):
    sentence = "word " * 60
    for width in (40, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = terminal.wrapped(sentence, "Note: ").splitlines()
        # As many words of five characters as fit; the last has no blank behind it.
        assert len(lines[1]) == 6 + (width - 6 + 1) // 5 * 5 - 1


@pytest.fixture
def printed(monkeypatch):
    """What gives every table that a command prints."""
    found = []

    def record(tables, width):
        found.extend(tables)
        return layout.lines(tables, width)

    monkeypatch.setattr(terminal, "lines", record)

    def of(line):
        found.clear()
        done = CliRunner().invoke(cli.program(), shlex.split(line))
        assert done.exit_code == 0, done.output
        assert found
        return list(found)

    return of


COMMANDS = [
    "run small.toml --out runs/a --capture hosts -q",
    "run small.toml --set flow.1.cc=htcp --out runs/b -q",
    "run sweep.toml -q --out runs/sweep",
    f"run {EXAMPLES}/datagrams.toml -q",
    f"run {EXAMPLES}/workloads.toml -q --set 'duration=\"5 s\"'",
    f"run {EXAMPLES}/wlan.toml -q --set 'duration=\"2 s\"'",
    f"run {EXAMPLES}/single.toml -q --backend model",
    "compare runs/a runs/b",
    "compare runs/a runs/b runs/a runs/b runs/a",
    "gallery reno -q --figures svg --out runs/gallery",
    "analyze runs/a/captures/s0.pcapng",
    "analyze runs/a/captures/s0.pcapng --connection 1 --identify",
    "replay runs/a/captures/s0.pcapng --cc reno,cubic -q",
    "algorithms",
    "presets",
    "presets linux-6.1",
    "study list",
    "study show gelle2008",
    "model law cubic --loss 1e-2,1e-4 --rtt 10ms,100ms",
    "model streams --rate 10Mbit/s --rtt 400ms --window 64KiB --buffer 300packets --cc reno",
    "model queue --rate 10Mbit/s --rtt 100ms --load 0.8 --room 10 --red 10:50:0.1",
    "model fluid --rate 10Mbit/s --rtt 100ms --flows 40 --cc reno --duration 5s",
    "model saturation --standard 802.11g --stations 20",
    "model wlan --standard 802.11g --downloads 3 --uploads 2",
]


def test_no_command_prints_a_table_that_is_cut(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL)
    Path("sweep.toml").write_text(SWEEP)
    for line in COMMANDS:
        for table in printed(line):
            for width in WIDTHS:
                check(table, width)
