"""How far repeated runs differ, on figures made up by hand."""

from __future__ import annotations

import polars as pl
import pytest

import fairway
from fairway import InputError
from fairway.plot.page import render
from fairway.results.repeat import relative_difference, repeated, sentence
from fairway.results.report import repeated_runs
from fairway.results.run import Run


def made_up(goodput: float, delay: float | None, jain: float, sample: float) -> Run:
    flow = dict.fromkeys(
        ("mean_cwnd_segments", "mean_srtt_s", "fct_s", "retransmitted_segments"), 0
    )
    summary = {
        "title": "Made up",
        "backend": "linux",
        "seed": 1,
        "wall_s": goodput,
        "flows": [
            {"id": "a", "cc": "reno", "goodput_bps": goodput, "mean_one_way_delay_s": delay, **flow}
        ],
        "links": [],
        "metrics": {"jain_index": jain},
        "kernel": {"release": "6.1.0", "virtual_time": True, "repeatable": True},
    }
    table = pl.DataFrame({"t_s": [sample]})
    return Run(experiment={}, summary=summary, series=table, queues=table, version="0")


def section_of(run: Run) -> str:
    return render(run.title, "", repeated_runs(run))


def test_every_figure_that_differs_is_named_the_largest_difference_first():
    runs = iter([made_up(100.0, 0.5, 1.0, 7.0), made_up(125.0, None, 1.0, 7.0)])
    found = repeated(made_up(100.0, 0.4, 1.0, 7.0), lambda: next(runs), 2)
    delay, goodput = found["differences"]
    assert delay == {"figure": "flow a mean_one_way_delay_s",
                     "first": 0.4, "least": 0.4, "most": 0.5, "relative": 1.0}  # fmt: skip
    assert goodput == {"figure": "flow a goodput_bps",
                       "first": 100.0, "least": 100.0, "most": 125.0, "relative": 0.2}  # fmt: skip
    assert (found["times"], found["figures"], found["samples_equal"]) == (2, 7, True)
    assert sentence(found) == (
        "Run 2 more times with the same seed: 2 of 7 figures differed, most of all "
        "flow a mean_one_way_delay_s, by 100.00%."
    )


def test_equal_figures_over_different_samples_are_told_apart():
    first = made_up(100.0, 0.4, 1.0, 7.0)
    found = repeated(first, lambda: made_up(100.0, 0.4, 1.0, 7.1), 1)
    assert found["differences"] == [] and not found["samples_equal"]
    assert "but not every sample" in sentence(found)


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [(0.0, 0.0, 0), (None, None, 0), (0.0, None, 1), (-1.0, 1.0, 2), (4.0, 5.0, 0.2), (0, 3, 1)],
)
def test_a_difference_is_a_part_of_the_larger(one, other, difference):
    assert relative_difference(one, other) == pytest.approx(difference)


def test_the_report_says_what_was_measured_and_what_was_not():
    first = made_up(100.0, 0.4, 1.0, 7.0)
    assert "Not measured for this run" in section_of(first)
    first.summary["repeated"] = repeated(first, lambda: made_up(80.0, 0.4, 1.0, 7.0), 1)
    assert "20.000%" in section_of(first)


def test_the_simulator_repeats_itself(small):
    run = fairway.run(small, repeat=1)
    assert run.summary["repeated"]["differences"] == []
    assert run.summary["repeated"]["samples_equal"]


def test_a_sweep_is_not_repeated(sweep_file):
    with pytest.raises(InputError, match="repeat: one experiment"):
        fairway.run(sweep_file, repeat=1)
