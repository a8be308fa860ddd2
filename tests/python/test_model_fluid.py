"""Fluid models from Python and from the command line."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fairway.cli.main import program
from fairway.errors import InputError
from fairway.model.fluid import DropTail, Flows, Fluid, Red, rules

RED = Red(50, 350, 0.02, weight=1.33e-4, gentle=False)
#: 3750 packets a second of 1500 bytes: 60 Renos on 200 ms.
PUBLISHED = Fluid(45e6, [Flows(60, 0.2)], RED, equations="published")

PATH = ["model", "fluid", "--rate", "45 Mbit/s", "--rtt", "200 ms", "--flows", "60"]


def command(*options: str):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(program(), [*PATH, *options])


def heun(duration_s: float, step_s: float) -> np.ndarray:
    """The published equations by Heun's method: window, queue, average."""
    count = round(duration_s / step_s)
    past = np.zeros((count + 1, 3))
    past[0] = 1.0, 0.0, 0.0
    times = np.arange(count + 1) * step_s

    def slopes(index: int, t: float, now: np.ndarray) -> np.ndarray:
        w, q, x = now
        rtt = 0.2 + q / 3750
        back, taken = t - rtt, 0.0
        if back >= 0:
            low = min(int(back / step_s), index - 1)
            share = back / step_s - low
            w0, q0, x0 = (1 - share) * past[low] + share * past[low + 1]
            loss = 0.0 if x0 < 50 else 0.02 * (x0 - 50) / 300
            taken = w * w0 * loss / (2 * (0.2 + q0 / 3750))
        rise = 60 * w / rtt - 3750
        return np.array(
            [
                1 / rtt - taken,
                max(rise, 0.0) if q <= 0 else rise,
                3750 * math.log1p(-1.33e-4) * (x - q),
            ]
        )

    for index in range(count):
        t, now = times[index], past[index]
        first = slopes(index, t, now)
        guess = now + step_s * first
        guess[1] = max(guess[1], 0.0)
        second = slopes(index, t + step_s, guess)
        past[index + 1] = now + step_s * (first + second) / 2
        past[index + 1][1] = max(past[index + 1][1], 0.0)
    return past


def test_another_integration() -> None:
    other = heun(10.0, 1e-3)
    curves = PUBLISHED.run(10.0, 11)
    for second in (1, 5, 10):
        expected = other[second * 1000]
        found = (
            curves.windows[0][second],
            curves.queue_packets[second],
            curves.average_packets[second],
        )
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_the_published_fixed_point() -> None:
    # W = R·C/N, W²p = 2, p = 0.02(q - 50)/300 and R = 0.2 + q/3750 together.
    point = PUBLISHED.fixed_point()
    assert point is not None and point.outside is None
    assert point.queue_packets == pytest.approx(175.962, rel=1e-5)
    assert point.windows == pytest.approx([15.4327], rel=1e-5)
    assert point.dropped == pytest.approx(0.0083974, rel=1e-4)
    # 3750 packets of 1448 bytes.
    assert point.goodputs_bps == pytest.approx([3750 * 1448 * 8], rel=1e-6)


def test_arrays() -> None:
    curves = Fluid(1e8, [Flows(50, 0.05), Flows(50, 0.1, "cubic", start_s=5)], RED).run(10, 101)
    assert curves.time_s[-1] == 10 and len(curves.windows) == 2
    for column in (curves.queue_packets, curves.dropped, curves.windows[1], curves.goodputs_bps[1]):
        assert column.shape == (101,) and np.isfinite(column).all()
    assert (curves.windows[1][:50] == 0).all() and curves.windows[1][51] > 0
    assert curves.means["queue_range"][0] <= curves.means["queue_packets"]


@pytest.mark.parametrize(
    ("fluid", "told"),
    [
        (Fluid(0, [Flows(60, 0.2)], RED), "capacity"),
        (Fluid(math.nan, [Flows(60, 0.2)], RED), "finite"),
        (Fluid(1e8, [], RED), "classes of flows"),
        (Fluid(1e8, [Flows(60, 0.2, "bbr")], RED), "bbr"),
        (Fluid(1e8, [Flows(60, 0.2, "cubic")], RED, equations="published"), "cubic"),
        (Fluid(1e8, [Flows(60, 0.2)], DropTail(-1)), "limit of the queue"),
        (Fluid(1e8, [Flows(60, 0.2)], Red(5, 5)), "upper threshold"),
        (Fluid(1e8, [Flows(60, 0.2)], packet_bytes=0), "bytes"),
        (Fluid(1e8, [Flows(60, -0.2)]), "round-trip time"),
    ],
)
def test_what_makes_no_sense(fluid: Fluid, told: str) -> None:
    with pytest.raises(InputError, match=told):
        fluid.run(1.0)
    with pytest.raises(InputError, match=told):
        fluid.fixed_point()


def test_nothing_stops_the_windows() -> None:
    assert Fluid(1e8, [Flows(60, 0.2)]).fixed_point() is None


def test_rules() -> None:
    assert {"reno", "cubic", "westwood+", "vegas"} <= set(rules()) and "bbr" not in rules()


def test_json() -> None:
    red = ["--min-threshold", "50", "--max-threshold", "350", "--max-probability", "0.02"]
    red += ["--weight", "0.000133", "--no-gentle", "--equations", "published", "--json"]
    found = command(*red)
    assert found.exit_code == 0, found.output
    told = json.loads(found.output)
    assert told["fixed_point"]["queue_packets"] == pytest.approx(175.962, rel=1e-5)
    assert told["in_range"] is True and told["outside"] is None
    assert len(told["curves"]["time_s"]) == len(told["curves"]["windows"][0])
    # It swings around the fixed point: the mean is not far.
    assert told["means"]["windows"][0] == pytest.approx(15.4, rel=0.1)


def test_table_fits() -> None:
    found = command("--flows", "40", "--cc", "reno", "--cc", "westwood+", "--duration", "5 s")
    assert found.exit_code == 0, found.output
    assert "40" in found.output and "westwood+" in found.output
    assert max(map(len, found.output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--cc", "bbr"], '"bbr" has no fluid model'),
        (
            ["--cc", "reno", "--cc", "cubic", "--flows", "1", "--flows", "2"],
            "expected one for all classes",
        ),
        (["--queue", "droptail"], "--limit 100"),
        (["--duration", "0 s"], "--duration"),
        (["--rtt", "fast"], "--rtt"),
        (["--plot", "curves.txt", "--duration", "1 s"], ".svg, .png or .pdf"),
        (["--weight", "2"], "RED's weight"),
    ],
)
def test_errors(options: list[str], told: str) -> None:
    found = command(*options)
    assert found.exit_code != 0
    assert told in f"{found.output}{found.exception}"
    assert found.exception is None or isinstance(found.exception, (SystemExit, InputError))


def test_plot(tmp_path: Path) -> None:
    file = tmp_path / "curves.svg"
    found = command("--duration", "5 s", "--plot", str(file))
    assert found.exit_code == 0, found.output
    assert file.read_text().startswith("<svg")
