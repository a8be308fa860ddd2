"""The command `compare`."""

import json
import math
import re
import statistics

import pytest

import fairway
from conftest import command
from fairway.compare.change import Compared
from fairway.ground import text
from fairway.plot.markdown import parts


def test_compare_shows_what_differs(small, tmp_path):
    for name, cc in (("a", "bic"), ("b", "htcp")):
        fairway.run(small, tmp_path / name, overrides={"flow.0.cc": cc})
    done = command("compare", tmp_path / "a", tmp_path / "b", "--json",
                   "--out", tmp_path / "c.html")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["differences"] == {"flow.0.cc": ["bic", "htcp"]}
    assert len(answer["metrics"]["asymmetry"]) == 2
    assert "<figure>" in (tmp_path / "c.html").read_text()
    done = command("compare", tmp_path / "a", tmp_path / "b")
    assert "htcp" in done.stdout


def test_compare_shows_another_kernel(small, tmp_path):
    run = fairway.run(small)
    for release in ("6.1.192", "6.12.117"):
        run.summary["kernel"] = {"release": release, "virtual_time": True, "repeatable": True}
        run.save(tmp_path / release)
    done = command("compare", tmp_path / "6.1.192", tmp_path / "6.12.117", "--json")
    assert json.loads(done.stdout)["differences"] == {"kernel": ["6.1.192", "6.12.117"]}


def compared(tmp_path, small, *sides):
    """Runs of the small experiment in directories `base` and `head`; what `--markdown` prints."""
    for name, overrides in zip(("base", "head"), sides, strict=True):
        fairway.run(small, tmp_path / name, overrides=overrides)
    done = command("compare", tmp_path / "base", tmp_path / "head", "--markdown")
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells(line):
    """The cells of a line of a table: what stands between bars that no backslash escapes."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows(said, heading):
    """The table under a heading: first cell -> the others."""
    block = said.partition(f"#### {heading}\n\n")[2].partition("\n\n")[0].splitlines()
    table = list(map(cells, block))
    assert len({len(row) for row in table}) == 1
    return {row[0]: row[1:] for row in table[2:]}


def test_markdown_of_two_runs_gives_no_interval(small, tmp_path):
    said = compared(tmp_path, small, {}, {"flow.0.cc": "htcp"})
    assert rows(said, "What differs") == {"`flow.0.cc`": ["`bic`", "`htcp`"]}
    found = rows(said, "Metrics")
    base, head = (fairway.load(tmp_path / name) for name in ("base", "head"))
    was, now = (run.summary["flows"][0]["retransmitted_segments"] for run in (base, head))
    assert found["Retransmitted segments of `bic#0 / htcp#0`"][:2] == [str(was), str(now)]
    goodput = found["Goodput (Mbit/s) of `bic#0 / htcp#0`"]
    was, now = (run.summary["flows"][0]["goodput_bps"] for run in (base, head))
    assert goodput[2] == f"{100 * (now - was) / was:+.1f} %"
    assert "interval |" not in said
    assert "There is one seed on a side" in said


def test_markdown_of_sweeps_pairs_their_seeds(small, tmp_path):
    noisy = {"stack.send_jitter": "100 us", "sweep": {"repetitions": 3}}
    said = compared(tmp_path, small, noisy, {**noisy, "flow.0.cc": "htcp"})
    sides = [
        [
            outcome.summary["metrics"]["asymmetry"]
            for outcome in fairway.load(tmp_path / name).outcomes
        ]
        for name in ("base", "head")
    ]
    # By hand: the mean of the differences ± t · s / √3, with t(97.5 %, 2) = 4.302653 from a table.
    apart = [head - base for base, head in zip(*sides, strict=True)]
    mean, half = statistics.mean(apart), 4.302653 * statistics.stdev(apart) / math.sqrt(3)
    size = abs(statistics.mean(sides[0]))
    row = rows(said, "Metrics")["asymmetry"]
    assert row[2] == text.percent(mean / size)
    assert row[3] == f"{text.percent((mean - half) / size)} to {text.percent((mean + half) / size)}"
    assert "seed by seed (Student)" in said


def test_markdown_compares_sweeps_point_by_point(small, tmp_path):
    sweep = {"flow.0.cc": ["bic", "htcp"]}
    said = compared(tmp_path, small, {"sweep": sweep}, {"sweep": {"flow.0.cc": ["htcp", "reno"]}})
    assert said.count("#### `flow.0.cc = htcp`") == 1
    assert "1 point of the base alone not compared." in said
    assert "1 point of the head alone not compared." in said
    # The same run on both sides.
    assert "Nothing: the same" in said
    assert {row[2] for row in rows(said, "`flow.0.cc = htcp`").values()} <= {"0.0 %", "–"}


def test_markdown_refuses_what_it_cannot_compare(small, tmp_path):
    for name, cc in (("a", "bic"), ("b", "htcp")):
        fairway.run(small, tmp_path / name, overrides={"sweep": {"flow.0.cc": [cc]}})
    for arguments, said in (
        (["a", "b"], "no point of one is a point of the other"),
        (["a"], "got 1; name two directories, base and head"),
        (["a", "a", "--json"], "neither --out nor --json"),
        (["a", "a", "--metric", "powr"], "did you mean power?"),
        (["a", "none"], "no such run directory"),
    ):
        done = command("compare", *arguments, "--markdown", cwd=tmp_path)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stdout == ""


#: A mention, an issue, HTML, a link, code, mathematics, a picture and bars.
EVIL = "a|b` ``@all #1 <img src=x> \\| [x](http://e) $`x`$ ![i](u) # h &lt; | --- | **b**"


def test_nothing_in_a_result_is_markdown(small, tmp_path):
    evil = {"title": EVIL, "flow.0.id": 'x"|`@all'}
    said = compared(tmp_path, small, evil, {**evil, "title": EVIL + "2"})
    spans = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
    assert re.search(r"@all.*<img src=x>", said)
    for line in said.partition("```mermaid")[0].splitlines():
        plain = spans.sub("", line)
        assert not set("@<`[$") & set(plain), line
    title = rows(said, "What differs")["`title`"]
    assert len(title) == 2
    # In the chart there is nothing of the directories.
    chart = said.partition("```mermaid\n")[2].partition("```")[0]
    assert "@" not in chart


def test_the_chart_is_mermaids(small, tmp_path):
    said = compared(tmp_path, small, {}, {"flow.0.cc": "htcp"})
    chart = said.partition("```mermaid\n")[2].partition("\n```")[0].splitlines()
    head = chart.index("xychart-beta")
    # As in https://mermaid.js.org/syntax/xyChart.html; its numbers have no exponents.
    number = r"\d+(\.\d+)?"
    assert re.fullmatch(rf'  x-axis "Time \(s\)" {number} --> {number}', chart[head + 1])
    assert re.fullmatch(rf'  y-axis "cwnd \(segments\)" 0 --> {number}', chart[head + 2])
    lines = chart[head + 3 :]
    assert len(lines) == 4  # two flows on both sides
    for line in lines:
        assert re.fullmatch(rf"  line \[{number}(, {number}){{63}}\]", line)
    # 3 s in 64 parts: the middles of the first and the last, by hand.
    assert chart[head + 1].endswith(" 0.0234375 --> 2.9765625")
    # The first sample, at 0.1 s, is in the third part, from 0.09375 s on.
    values = [float(value) for value in lines[1][8:-1].split(", ")]
    assert values[:2] == [0.0, 0.0]
    assert min(values[2:]) > 0


def test_parts_have_means_and_keep_the_last_value():
    samples = [(0.5, 2.0), (0.7, 4.0), (2.5, 6.0)]
    assert parts(samples, 4.0, count=4) == [3.0, 4.0, 6.0, 0.0]
    # A sample at the very end is in the last part.
    assert parts([(4.0, 1.0)], 4.0, count=2) == [0.0, 1.0]


def test_intervals_need_two_seeds_that_differ():
    def interval(base, head, paired=True):
        return Compared("m", None, base, head, is_paired=paired).interval

    assert interval([10.0], [11.0]) is None
    assert interval([10.0, 10.0], [11.0, 11.0]) is None
    assert interval([0.0, 0.0], [1.0, 2.0]) is None
    assert interval([10.0, None], [11.0, 12.0]) is None
    # Differences 1 and 3: 2 ± 12.7062 · √2/√2, by a table of t(97.5 %, 1), over a mean of 10.
    assert interval([9.0, 11.0], [10.0, 14.0]) == pytest.approx((-1.07062, 1.47062), abs=1e-5)
    # Welch: means 10 and 12, s²/n of 1 and 4, so √5 with 25/(1 + 16) = 1.47059 degrees of freedom.
    low, high = interval([9.0, 11.0], [10.0, 14.0], paired=False)
    assert (low + high) / 2 == pytest.approx(0.2)
    assert high - low > 2 * 0.1 * 4.302653 * math.sqrt(
        5
    )  # as with two degrees of freedom, at least
