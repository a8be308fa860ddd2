"""Congestion controls of one's own: found, checked, run, and failing in the open."""

import functools
import hashlib
import json
import linecache
import random
import re
import signal
import subprocess
import sys
import traceback

import pytest

import fairway
from conftest import SMALL, command
from fairway.algorithm import Ack, Flow, Init, RateSample
from fairway.errors import InputError
from fairway.experiment.plan import plan
from fairway.ground.permission import permitting
from waiting import PATIENCE_S, until

MSS = 1000


class Fixed:
    """A window that stays: what there has to be, and no more."""

    def __init__(self, init, segments=10):
        self.window = int(segments) * init.mss

    def cwnd(self):
        return self.window

    def ssthresh(self):
        return None

    def on_ack(self, ack, flow):
        pass

    def on_congestion(self, signal, flow):
        pass

    def on_recovered(self, cwnd, flow):
        pass

    def on_rto(self, first, flow):
        pass

    def on_spurious(self, flow):
        pass

    def on_idle(self, idle, rto, restart_window, flow):
        pass


#: `Fixed` as the text of a module.
FIXED = """\
class Fixed:
    def __init__(self, init, segments=10):
        self.window = int(segments) * init.mss
    def cwnd(self): return self.window
    def ssthresh(self): return None
    def on_ack(self, ack, flow): pass
    def on_congestion(self, signal, flow): pass
    def on_recovered(self, cwnd, flow): pass
    def on_rto(self, first, flow): pass
    def on_spurious(self, flow): pass
    def on_idle(self, idle, rto, restart_window, flow): pass
"""

ONE = SMALL.replace('cc = "bic"', 'cc = "mine"')


def run(maker, text=ONE, **options):
    return fairway.run(text, algorithms={"mine": maker}, **options)


def written(tmp_path, module, text, name="Fixed"):
    """An experiment file that names a class of a module beside it."""
    (tmp_path / f"{module}.py").write_text(text)
    path = tmp_path / "own.toml"
    path.write_text(SMALL.replace('cc = "bic"', f'cc = "python:{module}.{name}"'))
    return path


def windows(result, index=0):
    """The different windows of a flow, in segments."""
    ids = [flow["id"] for flow in result.summary["flows"]]
    return set(result.series.filter(result.series["flow"] == ids[index])["cwnd_segments"])


def test_a_class_has_the_name_it_is_given():
    assert windows(run(Fixed)) == {10.0}
    result = run(Fixed, overrides={"flow.0.cc_params": {"segments": 7}})
    assert windows(result) == {7.0}
    assert result.summary["flows"][0]["cc"] == "mine"
    # Whatever makes one when it is called.
    assert windows(run(functools.partial(Fixed, segments=3))) == {3.0}


def test_a_module_beside_the_experiment_is_found(tmp_path):
    path = written(tmp_path, "beside_it", FIXED)
    assert windows(fairway.run(path, allow_python=True)) == {10.0}
    with permitting(python=True):
        planned = plan(path)
    assert planned.points[0].experiment["flow"][0]["cc"] == "python:beside_it.Fixed"
    # Beside the file only, not in the current directory: the text alone has no place.
    with pytest.raises(fairway.ExperimentError, match="no module nowhere_at_all on sys"):
        fairway.run(path.read_text().replace("beside_it", "nowhere_at_all"), allow_python=True)


def test_a_package_on_the_path_is_found(tmp_path, monkeypatch):
    (tmp_path / "lab_package").mkdir()
    (tmp_path / "lab_package" / "__init__.py").write_text("")
    (tmp_path / "lab_package" / "inner.py").write_text(FIXED)
    monkeypatch.syspath_prepend(tmp_path)
    text = SMALL.replace('cc = "bic"', 'cc = "python:lab_package.inner.Fixed"')
    result = fairway.run(text, allow_python=True)
    assert windows(result) == {10.0}
    assert result.summary["flows"][0]["id"] == "Fixed#0"


def test_an_edited_module_is_read_again(tmp_path):
    path = written(tmp_path, "edited", FIXED)
    first = fairway.run(path, allow_python=True)
    (tmp_path / "edited.py").write_text(FIXED.replace("segments=10", "segments=11"))
    second = fairway.run(path, allow_python=True)
    assert (windows(first), windows(second)) == ({10.0}, {11.0})
    name = "python:edited.Fixed"
    assert first.algorithms[name]["sha256"] != second.algorithms[name]["sha256"]
    # The same name beside another file is another module.
    (tmp_path / "other").mkdir()
    path = written(tmp_path / "other", "edited", FIXED.replace("segments=10", "segments=12"))
    assert windows(fairway.run(path, allow_python=True)) == {12.0}


def test_sweeps_take_their_own_and_fairways(tmp_path):
    path = written(tmp_path, "swept", FIXED)
    path.write_text(
        path.read_text()
        + '[sweep]\nrepetitions = 2\n"flow.0.cc" = ["reno", "python:swept.Fixed"]\n'
    )
    sweep = fairway.run(path, tmp_path / "s", threads=4, allow_python=True)
    again = fairway.run(path, tmp_path / "s2", threads=1, allow_python=True)
    assert sweep.table.equals(again.table)
    for name in ("series", "flows", "queues"):
        for one, two in zip(sweep.outcomes, again.outcomes, strict=True):
            tables = [(o.directory / f"{name}.parquet").read_bytes() for o in (one, two)]
            assert tables[0] == tables[1]
    own = [o.summary.get("algorithms", {}) for o in sweep.outcomes]
    assert [list(names) for names in own] == [[], [], *[["python:swept.Fixed"]] * 2]


def test_a_sweep_goes_on_unless_the_code_has_changed(tmp_path):
    path = written(tmp_path, "resumed", FIXED)
    path.write_text(path.read_text() + '[sweep]\n"flow.0.cc" = ["reno", "python:resumed.Fixed"]\n')

    def written_at(sweep):
        return [(o.directory / "manifest.json").stat().st_mtime_ns for o in sweep.outcomes]

    first = written_at(fairway.run(path, tmp_path / "s", allow_python=True))
    assert written_at(fairway.run(path, tmp_path / "s", allow_python=True)) == first
    (tmp_path / "resumed.py").write_text(FIXED + "# changed\n")
    second = written_at(fairway.run(path, tmp_path / "s", allow_python=True))
    assert second[0] == first[0]
    assert second[1] != first[1]


def made_of(text, file):
    """`Fixed` as a notebook or a prompt makes it."""
    names = {"__name__": "__main__"}
    exec(compile(text, file, "exec"), names)
    return names["Fixed"]


def test_a_notebooks_cell_is_code_too(monkeypatch):
    monkeypatch.setitem(
        linecache.cache, "<cell 1>", (len(FIXED), None, FIXED.splitlines(True), "<cell 1>")
    )
    assert run(made_of(FIXED, "<cell 1>")).algorithms["mine"] == {
        "class": "__main__.Fixed",
        "file": None,
        "sha256": hashlib.sha256(FIXED.encode()).hexdigest(),
    }


def test_code_that_cannot_be_read_is_run_again(tmp_path):
    maker = made_of(FIXED, "<nowhere>")
    text = ONE + "[sweep]\nrepetitions = 2\n"
    times = []
    for _ in range(2):
        sweep = run(maker, text, out=tmp_path / "s")
        assert sweep.outcomes[0].summary["algorithms"]["mine"]["sha256"] is None
        times.append([(o.directory / "manifest.json").stat().st_mtime_ns for o in sweep.outcomes])
    assert times[0][0] != times[1][0]
    assert times[0][1] != times[1][1]


def test_results_say_which_code_it_was(tmp_path):
    path = written(tmp_path, "recorded", FIXED)
    fairway.run(path, tmp_path / "r", allow_python=True)
    code = {
        "python:recorded.Fixed": {
            "class": "recorded.Fixed",
            "file": "recorded.py",
            "sha256": hashlib.sha256(FIXED.encode()).hexdigest(),
        }
    }
    for name in ("manifest.json", "summary.json"):
        assert json.loads((tmp_path / "r" / name).read_text())["algorithms"] == code
    loaded = fairway.load(tmp_path / "r")
    assert loaded.algorithms == code
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert loaded.content_hash == manifest["content_hash"]
    # What has none says nothing of it.
    fairway.run(SMALL, tmp_path / "none")
    assert "algorithms" not in json.loads((tmp_path / "none" / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("python:Fixed", 'expected a module and a class; write "python:my_module.MyClass"'),
        ("python:", "expected a module and a class"),
        ("python:no such.Thing", "expected a module and a class"),
        ("python:not_there.Thing", "no module not_there in {dir} or on sys.path; put not_there.py"),
        ("python:bad.Fixt", "bad ({dir}/bad.py) has no class Fixt; it has Fixed, Halves"),
        ("python:bad.NUMBER", "bad.NUMBER is 3 (int), not a class"),
        ("python:bad.raises", "bad.raises is <function raises at"),
        ("python:bad.Halves", "bad.Halves is no congestion control: it has no method on_rto; "),
        ("python:bad.Raises", "ZeroDivisionError: by me ({dir}/bad.py"),
        ("python:bad.NoArguments", "cannot be made: TypeError: NoArguments.__init__() takes 1 "),
        ("python:subprocess.Popen", "subprocess is a module of Python itself; name one of your"),
        ("python:wrong_syntax.X", "importing wrong_syntax failed: SyntaxError: "),
        ("python:needs_more.X", "importing needs_more failed: ModuleNotFoundError: No module"),
        ("python:raises_too.X", "RuntimeError: at line 2 ({dir}/raises_too.py, line 2)"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_flow(tmp_path, name, says):
    (tmp_path / "bad.py").write_text(
        FIXED
        + "NUMBER = 3\n"
        + FIXED.replace("Fixed", "Halves").replace("on_rto", "on_timeout")
        + f"def raises(init): open({str(tmp_path / 'called')!r}, 'w')\n"
        + "class Raises(Fixed):\n    def __init__(self, init): raise ZeroDivisionError('by me')\n"
        + "class NoArguments(Fixed):\n    def __init__(self): pass\n"
    )
    (tmp_path / "wrong_syntax.py").write_text("class X:\n    def (\n")
    (tmp_path / "needs_more.py").write_text("import something_not_installed\n")
    (tmp_path / "raises_too.py").write_text("x = 1\nraise RuntimeError('at line 2')\n")
    path = tmp_path / "own.toml"
    path.write_text(SMALL.replace('cc = "bic"', f'cc = "{name}"'))
    with pytest.raises(fairway.ExperimentError) as refused:
        fairway.run(path, allow_python=True)
    assert str(refused.value).startswith(f'{path}: flow.0.cc: "{name}": ')
    assert says.format(dir=tmp_path) in str(refused.value)
    done = command("run", path, "--allow-python")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "__pycache__").exists()
    assert not (tmp_path / "called").exists()


def evil(tmp_path, name="evil.CC"):
    """An experiment that names a module, which leaves a mark if it is imported."""
    mark = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\n" + FIXED)
    path = tmp_path / "evil.toml"
    path.write_text(SMALL.replace('cc = "bic"', f'cc = "python:{name}"'))
    return path, mark


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "--backend", "model"],
        ["run", "--dask", "local", "--out", "o"],
        ["agree"],
        ["tune", "--algorithm", "bic", "--objective", "goodput"],
        ["study", "new", "mine", "--experiment"],
    ],
)
def test_nothing_is_imported_without_leave(tmp_path, monkeypatch, arguments):
    path, mark = evil(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = command(*arguments, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert not mark.exists()
    if "--backend" not in arguments and "--dask" not in arguments and "agree" not in arguments:
        digest = hashlib.sha256((tmp_path / "evil.py").read_bytes()).hexdigest()
        says = f'"python:evil.CC": would run the code in {tmp_path}/evil.py (SHA-256 {digest})'
        assert says in done.stderr
        assert "--allow-python" in done.stderr


@pytest.mark.parametrize("backend", ["linux", "model"])
def test_a_backend_that_cannot_run_a_class_does_not_import_it(tmp_path, backend):
    path, mark = evil(tmp_path)
    with pytest.raises(fairway.ExperimentError, match=f"{backend} cannot run a class in Python"):
        fairway.run(path, backend=backend, allow_python=True)
    with pytest.raises(fairway.ExperimentError, match="cannot run a class in Python"):
        fairway.agree(path, against=["sim", backend], allow_python=True)
    assert not mark.exists()


def test_a_study_is_data(tmp_path, monkeypatch):
    _, mark = evil(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.toml").write_text(SMALL)
    assert command("study", "new", "mine", "--experiment", "plain.toml").returncode == 0
    study = tmp_path / "mine" / "experiment.toml"
    study.write_text(SMALL.replace('cc    = "cubic"', 'cc = "python:evil.CC"'))
    (tmp_path / "evil.py").rename(tmp_path / "mine" / "evil.py")
    for asked in (["study", "show", "mine"], ["reproduce", "mine", "-q"]):
        done = command(*asked)
        assert done.returncode in (0, 2)
        assert not mark.exists(), asked
    assert done.returncode == 2
    assert "mine/evil.py (SHA-256" in done.stderr


def test_a_package_is_found_without_importing_it(tmp_path):
    path, mark = evil(tmp_path, "inner.evil.CC")
    (tmp_path / "inner").mkdir()
    (tmp_path / "evil.py").rename(tmp_path / "inner" / "evil.py")
    (tmp_path / "inner" / "__init__.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    with pytest.raises(fairway.ExperimentError, match=r"inner/evil\.py \(SHA-256 [0-9a-f]{64}\)"):
        fairway.run(path)
    assert not mark.exists()


def test_parameters_and_variants_are_checked(tmp_path):
    with pytest.raises(fairway.ExperimentError, match="unexpected keyword argument 'segmnts'"):
        run(Fixed, overrides={"flow.0.cc_params": {"segmnts": 7}})
    with pytest.raises(fairway.ExperimentError, match="has no variants; remove cc_variant"):
        run(Fixed, overrides={"flow.0.cc_variant": "paper"})


def test_given_names_are_checked():
    for name, maker, says in [
        ("cubic", Fixed, "is one of Fairway's own"),
        ("", Fixed, "cannot be a name"),
        ("python:x", Fixed, "cannot be a name"),
        ("mine", 3, "is 3 \\(int\\); give a class"),
    ]:
        with pytest.raises(InputError, match=says):
            fairway.run(SMALL, algorithms={name: maker})
    # Without the class, the name is nothing.
    with pytest.raises(fairway.ExperimentError, match='unknown congestion control "mine"'):
        fairway.run(ONE)


WRONG = [
    ("cwnd", 14480.0, "14480.0 (float)"),
    ("cwnd", float("nan"), "nan (float)"),
    ("cwnd", "ten", "'ten' (str)"),
    ("cwnd", None, "None (NoneType)"),
    ("cwnd", True, "True (bool)"),
    ("cwnd", -1000, "-1000 (int)"),
    ("cwnd", 999, "999 (int); it has to return an int: whole bytes from 1000 to"),
    ("cwnd", 10**30, "1000000000000000000000000000000 (int)"),
    ("ssthresh", -1, "-1 (int)"),
    ("ssthresh", float("inf"), "inf (float); it has to return an int: whole bytes, or None while"),
    ("pacing_rate", 1.5e6, "1500000.0 (float)"),
    ("pacing_rate", 0, "0 (int)"),
    ("wants_reduction", 1, "1 (int); it has to return True or False"),
    ("restarts_after_loss", "no", "'no' (str)"),
    ("min_rto", 0.2, "0.2 (float)"),
    ("needs", ["rate_samples"], "['rate_samples'] (list); it has to return a dict"),
    ("needs", {"rate_sample": True}, "a dict of what it needs"),
    ("needs", {"ecn": "yes"}, "a dict of what it needs"),
]


@pytest.mark.parametrize(("method", "answer", "says"), WRONG)
def test_wrong_answers_name_class_and_method(method, answer, says):
    wrong = type("Wrong", (Fixed,), {method: lambda _: answer})
    with pytest.raises(fairway.ExperimentError) as refused:
        run(wrong)
    assert f"Wrong.{method}() returned " in str(refused.value)
    assert says in str(refused.value)


def asked_once(method):
    return method in ("needs", "restarts_after_loss")


@pytest.mark.parametrize(
    ("method", "answer", "says"), [case for case in WRONG if not asked_once(case[0])]
)
def test_wrong_answers_in_a_run_stop_it(method, answer, says):
    right = {"cwnd": 10_000, "ssthresh": None, "pacing_rate": None, "min_rto": None}
    right["wants_reduction"] = False

    class Turns(Fixed):
        acks = 0

        def on_ack(self, ack, flow):
            self.acks += 1

    def answered(self):
        return answer if self.acks > 20 else right[method]

    turns = type("Turns", (Turns,), {method: answered})
    with pytest.raises(fairway.AlgorithmError) as stopped:
        run(turns)
    assert f"Turns.{method}() returned " in str(stopped.value)
    assert says in str(stopped.value)


class Broken(Fixed):
    """Fails at its hundredth acknowledgement."""

    acks = 0

    def on_ack(self, ack, flow):
        self.acks += 1
        if self.acks == 100:
            self.share(flow)

    def share(self, flow):
        return self.window // (flow.mss - flow.mss)


def test_an_exception_is_raised_with_its_own_traceback(tmp_path):
    with pytest.raises(ZeroDivisionError) as raised:
        run(Broken, out=tmp_path / "r")
    frames = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert frames[-2:] == ["on_ack", "share"]
    own = [frame.name for frame in traceback.extract_tb(raised.value.fairway_traceback)]
    assert own == ["on_ack", "share"]
    if sys.version_info >= (3, 11):
        (note,) = raised.value.__notes__
        assert note.startswith("in Broken.on_ack, at 0.")
    assert list(tmp_path.iterdir()) == []


def test_a_method_that_takes_too_little_is_an_exception_too():
    class Short(Fixed):
        def on_ack(self, ack):
            pass

    with pytest.raises(TypeError, match=r"on_ack\(\) takes 2 positional arguments but 3 were"):
        run(Short)


def test_the_command_prints_the_traceback_alone(tmp_path):
    text = FIXED.replace("def on_ack(self, ack, flow): pass", "def on_ack(self, ack, flow): 1 // 0")
    path = written(tmp_path, "breaks", text)
    done = command("run", path, "--allow-python", "--out", tmp_path / "r", "--quiet")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count('File "') == 1
    assert f'File "{tmp_path}/breaks.py", line 6, in on_ack' in done.stderr
    assert "ZeroDivisionError: " in done.stderr
    assert done.stderr.endswith(
        "fairway: a congestion control of your own failed, as shown above\n"
    )
    assert not (tmp_path / "r").exists()
    text = FIXED.replace(
        "def on_ack(self, ack, flow): pass", "def on_ack(self, *_): self.window = 1.5"
    )
    written(tmp_path, "breaks", text)
    done = command("run", path, "--allow-python", "--quiet")
    assert done.returncode == 3
    assert done.stderr.startswith("fairway: Fixed.cwnd() returned 1.5 (float); it has to return")
    assert "Traceback" not in done.stderr


def test_one_failure_stops_a_sweep():
    text = ONE + "[sweep]\nrepetitions = 50\n"
    made = []

    def broken(init):
        made.append(init)
        return Broken(init)

    with pytest.raises(ZeroDivisionError):
        run(broken, text, threads=2)
    assert len(made) < 50


_ENDLESS = "\n        while True: pass"
#: What comes once may be swallowed, here and by any code between two callbacks.
_SWALLOWS = """
        try:
            while True: pass
        except KeyboardInterrupt:
            while True: pass"""


@pytest.mark.parametrize("body", ["pass", _ENDLESS, _SWALLOWS])
def test_ctrl_c_stops_a_run(tmp_path, body):
    text = FIXED.replace("ack(self, ack, flow): pass", f"ack(self, ack, flow): {body}")
    path = written(tmp_path, "endless", text)
    place = tmp_path / "results"
    process = subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", str(path), "--allow-python",
         "--set", "duration=1000000 s", "--set", 'measure.sample="100 s"',
         "--out", str(place / "r")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    until(place.exists, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert list(place.iterdir()) == []


class Watching(Fixed):
    """Keeps what it is shown."""

    shown: list = []  # noqa: RUF012 — shared on purpose: the run makes its own object

    def __init__(self, init):
        super().__init__(init)
        self.init = init
        self.first = True

    def on_ack(self, ack, flow):
        self.shown.append((ack, flow))


#: Two flows that meet nothing in common.
_APART = """
duration = "3 s"
[topology]
kind = "parking-lot"
access = { rate = "1 Gbit/s", delay = "5 ms" }
[[topology.link]]
rate = "100 Mbit/s"
delay = "10 ms"
[[topology.link]]
rate = "100 Mbit/s"
delay = "10 ms"
[[flow]]
cc = "mine"
from = "r0"
to = "r1"
[[flow]]
cc = "mine"
start = "3 ms"
from = "r1"
to = "r2"
"""


def test_two_flows_are_told_in_the_order_of_time():
    """For what they keep in common time would go back and forth else."""
    times: list[int] = []

    class Both(Fixed):
        def on_ack(self, ack, flow):
            times.append(flow.now)

    run(functools.partial(Both, segments=100), _APART)
    assert len(times) > 1000
    assert times == sorted(times)


def test_what_it_is_shown():
    Watching.shown.clear()
    run(Watching, overrides={"stack.mss": "1000 bytes"})
    ack, flow = Watching.shown[50]
    assert flow.mss == MSS
    assert isinstance(flow.now, int)
    assert flow.now_s == flow.now / 1e9
    assert ack.rtt >= 20_000_000
    assert ack.rtt_s == ack.rtt / 1e9
    assert flow.min_rtt <= flow.srtt
    assert flow.unacknowledged() == flow.snd_nxt - flow.snd_una
    assert ack.delivered % MSS == 0
    assert flow.phase in ("open", "disorder")
    assert repr(ack).startswith("Ack(acked=")
    # In time, and acknowledged in order.
    times = [f.now for _, f in Watching.shown]
    assert times == sorted(times)
    total = sum(a.acked for a, _ in Watching.shown)
    assert total == Watching.shown[-1][1].snd_una


def test_everything_can_be_made_for_a_test():
    flow = Flow(now=1_500_000_000, snd_una=1000, snd_nxt=4000, phase="recovery", srtt=20_000_000)
    assert (flow.now_s, flow.unacknowledged(), flow.srtt_s) == (1.5, 3000, 0.02)
    with pytest.raises(ValueError, match='no phase "asleep"; there is open'):
        Flow(phase="asleep")
    # The name meant the pipe once: it is neither read nor set for RFC 5681's FlightSize.
    with pytest.raises(AttributeError, match=r"^flight_size was renamed pipe \(RFC 6675\)"):
        _ = flow.flight_size
    with pytest.raises(TypeError, match=r"^flight_size was renamed pipe"):
        Flow(flight_size=3000)
    with pytest.raises(AttributeError, match="'Flow' object has no attribute 'cwnd'"):
        _ = flow.cwnd
    # 15000 bytes in 10 ms are 1.5 MB/s.
    rate = RateSample(delivered=15000, interval=10_000_000)
    ack = Ack(acked=1448, rate=rate, may_grow=True)
    assert ack.rate.bytes_per_s() == 1_500_000.0
    assert RateSample().bytes_per_s() is None
    init = Init(mss=1000, initial_window=10_000)
    assert (init.initial_ssthresh, init.slow_start, init.coupling) == (None, None, None)
    with pytest.raises(AttributeError):
        flow.now = 3


def test_it_may_ask_for_a_reduction():
    class Delay(Fixed):
        """Asks for a reduction at every 50th acknowledgement, and counts them."""

        signals: list = []  # noqa: RUF012

        def __init__(self, init):
            super().__init__(init)
            self.acks = 0

        def on_ack(self, ack, flow):
            self.acks += 1

        def wants_reduction(self):
            return self.acks % 50 == 49

        def on_congestion(self, signal, flow):
            self.signals.append(signal)

    run(Delay)
    assert Delay.signals.count("delay") > 3
    assert set(Delay.signals) <= {"delay", "loss"}


def test_it_may_ask_for_a_pace():
    class Paced(Fixed):
        def pacing_rate(self):
            return 800_000

    # Ten segments of 1000 bytes a round trip of 20 ms would be 4 Mbit/s.
    flow = run(Paced, overrides={"flow.1.start": "2.9 s"}).summary["flows"][0]
    assert flow["goodput_bps"] == pytest.approx(800_000, rel=0.02)


def test_it_may_ask_for_delivery_rates():
    class Rated(Fixed):
        rates: list = []  # noqa: RUF012

        def needs(self):
            return {"rate_samples": True}

        def on_ack(self, ack, flow):
            if 1 < flow.now_s < 2.8:
                self.rates.append(ack.rate)

    run(Rated, overrides={"flow.1.start": "2.9 s"})
    # A segment of 1000 bytes, 1040 on the wire, takes 1.66 ms at 5 Mbit/s, its acknowledgement of
    # 40 bytes 0.06 ms, and both together 20 ms on their way: ten in 21.73 ms, or 3.68 Mbit/s.
    rates = [rate.bytes_per_s() for rate in Rated.rates if rate]
    assert len(rates) > 500
    assert all(8 * rate == pytest.approx(3.68e6, rel=0.01) for rate in rates)
    Watching.shown.clear()
    run(Watching)
    assert {ack.rate for ack, _ in Watching.shown} == {None}


@pytest.mark.parametrize("accurate", [True, False])
def test_it_may_ask_for_accurate_marks(accurate):
    class Marked(Fixed):
        marked: list = []  # noqa: RUF012

        def needs(self):
            return {"ecn": "accurate" if accurate else "stack"}

        def on_ack(self, ack, flow):
            self.marked.append(ack.ce)

    # A queue that marks whatever waits; the stack's own switch is off.
    marking = {"kind": "red", "limit": "90 packets", "ecn": True, "weight": 1.0,
               "min_threshold": "1 packets", "max_threshold": "80 packets"}  # fmt: skip
    changes = {"topology.bottleneck.queue": marking, "flow.0.cc_params": {"segments": 40}}
    Marked.marked.clear()
    run(Marked, overrides=changes)
    assert (sum(Marked.marked) > 0) is accurate


@pytest.mark.parametrize("restarts", [True, False])
def test_it_may_restart_after_a_loss(restarts):
    class Tahoe(Fixed):
        told: list = []  # noqa: RUF012

        def restarts_after_loss(self):
            return restarts

        def on_congestion(self, signal, flow):
            self.told.append(signal)

        def on_rto(self, first, flow):
            self.told.append("rto")

    Tahoe.told.clear()
    run(Tahoe, overrides={"topology.bottleneck.loss": {"probability": 0.01}})
    assert len(Tahoe.told) > 3
    assert ("loss" in Tahoe.told) is not restarts


def test_it_may_bound_the_timeout():
    def timeouts(bound_s):
        class Patient(Fixed):
            def min_rto(self):
                return bound_s and int(bound_s * 1e9)

        losses = {"topology.bottleneck.loss": {"probability": 0.4}, "duration": "60 s"}
        result = run(Patient, overrides={**losses, "measure.window": ["0 s", "60 s"]})
        return result.summary["flows"][0]["timeouts"]

    # Of 60 s, timeouts of 5 s or more leave room for 12.
    assert timeouts(5) <= 12 < timeouts(None)


def test_connections_of_one_application_know_each_other():
    class Coupled(Fixed):
        seen: dict = {}  # noqa: RUF012

        def __init__(self, init):
            super().__init__(init)
            self.member = init.coupling

        def on_ack(self, ack, flow):
            self.member.tell(10.0 + self.member.index, flow.srtt)
            self.seen[self.member.index] = [(s.own, s.cwnd) for s in self.member.subflows()]

    text = ONE.replace('cc = "mine"', 'cc = "mine"\napplication = "a"\ncount = 2')
    # A sink sends no data, and is told of nothing; a trial has no network.
    assert run(Coupled, text).summary["packets"] > 100
    assert Coupled.seen == {0: [(True, 10.0), (False, 11.0)], 1: [(False, 10.0), (True, 11.0)]}


def test_chance_follows_from_the_seed():
    class Dice(Fixed):
        def __init__(self, init):
            self.random = random.Random(init.seed)
            super().__init__(init, self.random.randint(4, 40))

    text = ONE.replace('cc = "mine"', 'cc = "mine"\ncount = 8')
    first, again = run(Dice, text), run(Dice, text)
    assert first.series.equals(again.series)


def test_the_schema_takes_names_of_classes():
    cc = fairway.schema()["properties"]["flow"]["items"]["properties"]["cc"]
    own, pattern = cc["anyOf"]
    assert "cubic" in own["enum"]
    assert re.search(pattern["pattern"], "python:my.module.Class")
    assert not re.search(pattern["pattern"], "cubik")
