"""The throughput laws from Python: arrays, ranges, errors, and the commands."""

import inspect
import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from typer.testing import CliRunner

from fairway import _core
from fairway.cli.main import program
from fairway.errors import InputError
from fairway.model import laws
from fairway.model.answer import Answer

FUNCTIONS = {
    name: getattr(laws, name.replace("+path", "_path").replace("+", "_plus").replace("-", "_"))
    for name in laws.describe()
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_parameters_of_its_law(name):
    found = inspect.signature(FUNCTIONS[name]).parameters
    known = {p["name"]: p for p in laws.describe()[name]["parameters"]}
    assert list(found) == list(known)
    for parameter, entry in known.items():
        default = math.inf if entry["default"] is None else entry["default"]
        if entry["is_required"]:
            default = inspect.Parameter.empty
        assert found[parameter].default == default, parameter
    text = inspect.getdoc(FUNCTIONS[name])
    assert all(f"`{result['name']}`" in text for result in laws.describe()[name]["results"])


#: By hand, as in the tests of the laws themselves: one number of each.
WORKED = [
    # √(3/2·10²); √15000/0.05.
    ("mathis", {"loss": 1e-2, "rtt_s": 0.1}, "window_packets", 12.2474),
    ("mathis", {"loss": 1e-4, "rtt_s": 0.05}, "rate_pps", 2449.49),
    # √(4·1.75/0.5/10⁻³) = √14000.
    ("aimd", {"loss": 1e-3, "rtt_s": 1, "increase_packets": 4, "retention": 0.75},
     "window_packets", 118.322),
    ("pftk", {"loss": 0.02, "rtt_s": 0.1, "rto_s": 0.4, "packets_per_ack": 2},
     "throughput_pps", 47.0118),
    # 0.1 + 0.1·log2(10/2 + 1).
    ("cardwell", {"data_packets": 10, "loss": 0, "rtt_s": 0.1, "rto_s": 0.3,
                  "initial_window_packets": 2}, "latency_s", 0.358496),
    # √198/0.1; √99/√0.002; 30 packets: w² − 30·w = 1000.
    ("reno-balance", {"loss": 0.01, "rtt_s": 0.1}, "rate_pps", 140.712),
    ("westwood+", {"loss": 0.01, "rtt_s": 0.1, "queueing_s": 0.02}, "rate_pps", 222.486),
    ("westwood+path", {"loss": 1 / 1001, "rtt_s": 0.1, "capacity_pps": 300},
     "window_packets", 50),
    # 10⁷ packets in 210 round trips.
    ("bic", {"loss": 1e-7, "rtt_s": 0.1}, "window_packets", 47_619.05),
    ("bic-large", {"loss": 1e-7, "rtt_s": 0.1}, "rate_pps", 489_898),
    ("bic-small", {"loss": 1e-2, "rtt_s": 0.05}, "rate_pps", 225.07),
    ("bic-linux", {"loss": 1 / 28_129.06, "rtt_s": 0.1, "packets_per_ack": 2},
     "peak_packets", 1000),
    ("scalable", {"loss": 1e-3, "rtt_s": 0.1}, "periodic_window_packets", 74.889),
    ("scalable-linux", {"loss": 1e-3, "rtt_s": 0.1}, "window_packets", 86.6025),
    ("highspeed", {"loss": 1e-4, "rtt_s": 0.1}, "window_packets", 259.78),
    ("cubic", {"loss": 1e-4, "rtt_s": 0.1}, "window_packets", 187.40),
    ("htcp", {"loss": 1e-6, "rtt_s": 0.1, "retention": 0.8}, "window_packets", 9413.7),
    ("hybla", {"loss": 1e-3, "rtt_s": 0.3}, "rate_pps", 1549.19),
    ("hybla-growth", {"time_s": 1, "rtt_s": 0.3, "threshold_packets": 32},
     "window_packets", 804),
    ("vegas", {"flows": 4, "alpha_packets": 2, "capacity_pps": 1250, "rtt_s": 0.04},
     "window_packets", 14.5),
    ("fast", {"alpha_packets": 2, "sum_of_alphas_packets": 8, "capacity_pps": 1250,
              "rtt_s": 0.04}, "rate_pps", 312.5),
    ("late-joiner", {"earlier_flows": 1, "alpha_packets": 3, "capacity_pps": 1, "rtt_s": 1},
     "queue_packets", 7.8541),
    ("ledbat", {"capacity_pps": 1250, "rtt_s": 0.05}, "window_packets", 187.5),
    ("bbr-share", {"capacity_pps": 4166.667, "rtt_s": 0.04, "buffer_bdp": 10},
     "bbr_share", 0.517046),
    ("dctcp", {"capacity_pps": 25, "rtt_s": 1, "threshold_packets": 20, "flows": 10},
     "alpha", 0.626032),
    ("dctcp-marks", {"mark_probability": 0.05, "rtt_s": 0.01}, "rate_pps", 4000),
    ("udp", {"offered_bps": 1e9, "line_bps": 1e8, "loss": 0.15}, "goodput_bps", 81.3477e6),
    ("tcp-ceiling", {"line_bps": 1e8}, "goodput_bps", 94.1482e6),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "result", "expected"), WORKED)
def test_worked_examples(name, given, result, expected):
    answer = FUNCTIONS[name](**given)
    found = answer.values[result]
    assert isinstance(found, float)
    assert found == pytest.approx(expected, rel=2e-5)
    assert getattr(answer, result) == found
    assert answer.in_range is True or name == "dctcp"
    # As part of an array it is the same.
    again = laws.ask(
        name, **{**given, "rtt_s": [given["rtt_s"], 2.0]} if "rtt_s" in given else given
    )
    assert np.ravel(again.values[result])[0] == found


def test_every_law_is_in_the_examples():
    assert {name for name, *_ in WORKED} == set(FUNCTIONS)


def test_htcp_against_a_root_finder():
    # The packets of an epoch of d seconds, integrated by hand: see the law's equation.
    def packets(d, t, r):
        x = max(0.0, d - 1)
        first, second = d + 5 * x**2 + x**3 / 12, d**2 / 2 + 5 * x**3 / 3 + x**4 / 48
        return (r * 2 * first / t * d + 2 * (1 - r) * second / t) / t

    for loss in (1e-2, 1e-4, 1e-7):
        for rtt_s, keep in ((0.01, 0.5), (0.3, 0.8)):
            d = brentq(lambda d: packets(d, rtt_s, keep) - 1 / loss, 1e-6, 1e4, xtol=1e-14)  # noqa: B023
            found = laws.htcp(loss, rtt_s, keep)
            assert found.epoch_s == pytest.approx(d, rel=1e-9)
            assert found.window_packets == pytest.approx(rtt_s / (loss * d), rel=1e-9)


def test_arrays_are_broadcast():
    loss, rtt_s = np.array([[1e-2], [1e-4], [1e-6]]), np.array([0.01, 0.1])
    answer = laws.cubic(loss, rtt_s)
    assert answer.window_packets.shape == answer.in_range.shape == (3, 2)
    # RFC 9438: 1.0538·(10⁵)^¾ = 5926.1, and Reno's √1.5·10³ at 10 ms.
    assert answer.window_packets[2] == pytest.approx([1224.745, 5926.1], rel=1e-5)
    strided = laws.cubic(loss=np.logspace(-6, -2, 9)[::2], rtt_s=0.1)
    assert strided.window_packets[0] == pytest.approx(5926.1, rel=1e-5)
    assert laws.cubic(loss=[], rtt_s=0.1).window_packets.shape == (0,)
    assert laws.cubic(loss=[1e-4], rtt_s=[[0.1]]).rate_pps.shape == (1, 1)
    assert laws.cubic(np.float32(0.25), 1).window_packets == pytest.approx(
        1.0538 * 4**0.75, rel=1e-4
    )


def test_where_a_law_may_not_be_believed():
    answer = laws.highspeed([1e-8, 1e-4, 0.5], 0.1)
    assert answer.in_range.tolist() == [False, True, False]
    beyond, between, lossy = answer.reason
    assert "83,000" in beyond and between is None and "timeouts" in lossy
    assert answer.outside.tolist() == [1, 0, 2] and answer.reasons == (beyond, lossy)
    alone = laws.mathis(0.5, 0.1)
    assert (alone.in_range, alone.outside, alone.reason) == (False, 1, lossy)
    assert laws.mathis(0.01, 0.1).reason is None


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: laws.mathis(0, 0.1), r"^loss: expected a number above 0 and below 1, got 0$"),
        (lambda: laws.mathis([0.1, np.nan, 2], 0.1), r"^loss\[1\]: .*, got NaN$"),
        (lambda: laws.mathis([[0.1], [0.2]], [0.1, -1]), r"^rtt_s\[0, 1\]: .*, got -1$"),
        (lambda: laws.mathis([0.1, 0.2], np.inf), r"^rtt_s: .*, got inf$"),
        (lambda: laws.mathis([0.1, 0.2], [1, 2, 3]), r"loss \(2,\), rtt_s \(3,\)"),
        (lambda: laws.mathis("much", 0.1), r"^loss: expected numbers, got 'much'$"),
        (lambda: laws.mathis(10**400, 0.1), r"^loss: expected numbers"),
        (lambda: laws.mathis(None, 0.1), r"^loss: expected a number above 0"),
        (lambda: laws.mathis([[0.1], [0.1, 0.2]], 0.1), r"^loss: expected numbers"),
        (lambda: laws.westwood_plus(0.1, 0.1, [0.01, 0.2]), r"^queueing_s\[1\]: .* part of"),
        (lambda: laws.ask("my own", loss=0.1), r"there is no such law; the laws are mathis, "),
        (lambda: laws.ask("mathis", loss=0.1, p=1), r"^p: mathis has no such parameter"),
        (lambda: laws.ask("mathis", loss=0.1), r"^rtt_s: mathis needs it; Round-trip time"),
        (
            lambda: laws.mathis(0.1, 0.1).window,
            r"^window: the results are window_packets, rate_pps",
        ),
    ],
)
def test_what_makes_no_sense_is_named(ask, message):
    with pytest.raises((ValueError, AttributeError), match=message):
        ask()


def test_the_binding_checks_what_it_is_given():
    column = np.array([0.1, 0.2])
    for name, columns, shape in [
        ("mine", [column], [2]),
        ("mathis", [column], [2]),
        ("mathis", [column, column, column], [3]),
        ("mathis", [np.arange(4.0)[::2], column, column], [2]),
    ]:
        with pytest.raises((ValueError, TypeError)):
            _core.model_law(name, columns, shape)


def test_an_answer_can_be_copied():
    import copy
    import pickle

    answer = laws.mathis([0.01, 0.5], 0.1)
    for again in (copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
        assert isinstance(again, Answer)
        assert again.window_packets.tolist() == answer.window_packets.tolist()
    assert "rate_pps" in dir(answer)


def run(*words):
    return CliRunner().invoke(program(), ["model", *words])


def test_a_law_in_words():
    done = run("law", "pftk", "--loss", "2 %", "--rtt", "100 ms", "--rto=400 ms",
               "--packets-per-ack", "2")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "throughput        47.01 packets/s" in done.output
    assert "In range: loss up to 30 %." in done.output
    assert "Padhye" in done.output
    assert max(map(len, done.output.splitlines())) <= 80


def test_a_law_outside_of_its_range():
    done = run("law", "mathis", "--loss", "5 %", "--rtt", "0.1")
    assert "Outside of its range: loss above 2 %" in done.output


def test_a_law_as_json():
    done = run("law", "cubic", "--loss", "1e-4", "--rtt", "100 ms", "--json")
    found = json.loads(done.stdout)
    assert found["given"] == {"loss": 1e-4, "rtt_s": 0.1}
    assert found["results"]["window_packets"] == pytest.approx(187.40, rel=1e-5)
    assert (found["in_range"], found["reason"]) == (True, None)
    done = run("law", "westwood+", "--loss", "1 %", "--rtt", "0.1", "--queueing", "0", "--json")
    found = json.loads(done.stdout)
    assert found["results"]["rate_pps"] is None and "no queue" in found["reason"]


def test_several_values_give_a_row_each():
    done = run("law", "cubic", "--loss", "1e-2,1e-4", "--rtt", "10 ms,100 ms")
    assert done.exit_code == 0, done.output
    assert "187.4" in done.output
    assert max(map(len, done.output.splitlines())) <= 80
    done = run("law", "cubic", "--loss", "1e-2,0.3", "--rtt", "0.1", "--json")
    assert [p["in_range"] for p in json.loads(done.stdout)["points"]] == [True, False]


def test_units_of_options():
    # 15 Mbit/s of 1500 bytes are 1250 packets a second.
    words = ["law", "vegas", "--flows", "4", "--alpha", "2 packets", "--rtt", "40 ms", "--json"]
    for capacity in (["15 Mbit/s"], ["1250"], ["1250 packets/s"],
                     ["12 Mbit/s", "--packet", "1200 bytes"]):  # fmt: skip
        done = run(*words, "--capacity", *capacity)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["results"]["window_packets"] == pytest.approx(14.5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["law", "mine"], 'there is no law "mine"'),
        (["law", "--loss", "0.1"], "which law"),
        (["law", "mathis"], "--loss: mathis needs it"),
        (["law", "mathis", "--loss"], "--loss: expected a value after it"),
        (["law", "mathis", "--loss", "0.1", "--loss", "0.2"], "--loss: given twice"),
        (["law", "mathis", "--loss", "2", "--rtt", "1"], "--loss: expected a number above 0"),
        (
            ["law", "mathis", "--loss", "little", "--rtt", "1"],
            '--loss: expected a number, got "lit',
        ),
        (["law", "mathis", "--loss", "0.1", "--rtt", "1 km"], "--rtt: "),
        (["law", "mathis", "--loss", "0.1", "--speed", "1"], "--speed: mathis has no such"),
        (["law", "mathis", "cubic", "--rtt", "1"], "cubic: one law at a time"),
        (["law", "mathis", "--rtt", "1", "--plot", "x.jpg"], "a figure ends in"),
        (["law", "vegas", "--rtt", "1", "--plot", "x.png"], "vegas: has no window over loss"),
        (["law", "mathis", "--plot", "x.png"], "--rtt: mathis needs it"),
        (["law", "mathis", "--rtt", "1", "--rto", "1", "--plot", "x.png"], "--rto: none of these"),
        (["law", "mathis", "--rtt", "1", "--loss", "1", "--plot", "x.png"], "of all losses"),
        (["law", "mathis", "--packet", "0 bytes", "--loss", "1"], "--packet: expected more than 0"),
        (["laws", "mine"], 'there is no law "mine"'),
    ],
)
def test_commands_say_what_is_wrong(words, message):
    done = run(*words)
    assert isinstance(done.exception, InputError), done.output
    assert message in str(done.exception)


def test_too_many_rows():
    many = ",".join(str(1 / n) for n in range(2, 60))
    done = run("law", "cubic", "--loss", many, "--rtt", many)
    assert isinstance(done.exception, InputError) and "3364 combinations" in str(done.exception)


def test_laws_are_listed_and_described():
    for words in (["laws"], ["law"]):
        done = run(*words)
        assert all(f"\n{name} " in f"\n{done.output}" for name in laws.describe())
        assert max(map(len, done.output.splitlines())) <= 80
    assert [law["name"] for law in json.loads(run("laws", "--json").stdout)] == list(FUNCTIONS)
    done = run("laws", "cardwell")
    assert "--initial-window" in done.output and "latency_s" in done.output
    assert max(map(len, done.output.splitlines())) <= 80


@pytest.mark.parametrize(
    "words", ["laws", "laws pftk", "law pftk --loss 0.01 --rtt 0.1 --rto 1"], ids=lambda w: w[:8]
)
def test_a_narrow_terminal_has_no_longer_lines(words):
    done = CliRunner(env={"COLUMNS": "40"}).invoke(program(), ["model", *words.split()])
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_windows_over_loss_are_drawn(tmp_path):
    file = tmp_path / "windows.svg"
    done = run("law", "mathis", "cubic", "--rtt", "100 ms", "--plot", str(file))
    assert done.exit_code == 0, done.output
    text = file.read_text()
    assert text.startswith("<svg") and "cubic" in text and "mean window (packets)" in text
