"""Sweeps on a Dask cluster: the same bytes, whatever happens to its workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask
import pytest
from distributed import Client, KilledWorker, LocalCluster

import fairway
from conftest import ScriptedBackend, run_of
from fairway.backends.sim import Simulator
from fairway.errors import ExperimentError, InputError, Interrupted, RunFailed
from fairway.experiment.plan import plan
from fairway.ground import store
from fairway.ground.inventory import source_of
from fairway.ground.progress import Silent
from fairway.sweep import cluster as fairway_cluster
from fairway.sweep.cluster import Cluster
from fairway.sweep.run import run_plan
from fairway.sweep.storage import Answer, InMemory
from test_sweep_scale import KEEPS, TINY, alike, tree
from waiting import PATIENCE_S

# What Dask's processes leave open is theirs.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def workers():
    """A scheduler and two worker processes, which are started again when they die."""
    with (
        # Dask's own, 15 s, is less than a busy machine takes to start a worker again.
        dask.config.set({"distributed.deploy.lost-worker-timeout": PATIENCE_S}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
            memory_limit=0, silence_logs="CRITICAL",
        ) as cluster,
    ):  # fmt: skip
        yield cluster


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """What one process makes of `TINY`: what is kept -> every file."""
    found = {}
    for keep in KEEPS:
        place = tmp_path_factory.mktemp("process") / keep
        fairway.run(TINY, place, threads=1, keep=keep)
        found[keep] = tree(place)
    return found


@pytest.mark.parametrize("keep", KEEPS)
def test_two_workers_give_the_bytes_of_one_process(tmp_path, workers, process, keep):
    fairway.run(TINY, tmp_path / "workers", dask=workers.scheduler_address, keep=keep)
    assert tree(tmp_path / "workers") == process[keep]


@pytest.mark.parametrize("keep", KEEPS)
def test_workers_are_asked_once_for_the_same_experiment(tmp_path, workers, keep, monkeypatch):
    asked = []
    start = Cluster.start

    def recorded(self, parts):
        asked.extend(parts)
        start(self, asked)

    monkeypatch.setattr(Cluster, "start", recorded)
    planned = alike(TINY.replace("40", "3"), "a", "b")
    run_plan(planned, Simulator(), directory=tmp_path / "process", keep=keep)
    run_plan(
        planned, Simulator(), directory=tmp_path / "workers", keep=keep,
        dask=workers.scheduler_address,
    )  # fmt: skip
    assert [len(points) for points in asked] == [3]
    assert tree(tmp_path / "workers") == tree(tmp_path / "process")


def test_workers_of_this_machine_that_are_gone_for_good_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(fairway_cluster, "_ALONE_S", 0.3)
    start = Cluster.start

    def without_workers(self, parts):
        self._client.cluster.scale(0)
        while self._client.scheduler_info()["workers"]:
            time.sleep(0.05)
        start(self, parts)

    monkeypatch.setattr(Cluster, "start", without_workers)
    with pytest.raises(RunFailed, match="no worker has been left"):
        fairway.run(TINY, tmp_path / "out", dask="local", threads=1)


def test_captures_come_back_too(tmp_path, workers):
    text = TINY.replace("40", "2")
    fairway.run(text, tmp_path / "process", capture="hosts")
    fairway.run(text, tmp_path / "workers", capture="hosts", dask=workers.scheduler_address)
    assert any(name.endswith(".pcapng") for name in tree(tmp_path / "workers"))
    assert tree(tmp_path / "workers") == tree(tmp_path / "process")


def sent_by_value(monkeypatch, function):
    """Have workers do something else than `carry_out`."""
    monkeypatch.setattr(function, "__module__", "__main__")  # by its name they would not find it
    monkeypatch.setattr(fairway_cluster, "carry_out", function)


def stopping_at(gate):
    """On workers: `carry_out`, of which the first go on at once and others when there is `gate`."""

    def carry_out_or_wait(order):
        import time
        from uuid import uuid4

        from fairway.sweep.cluster import carry_out

        tickets = gate.with_suffix(".tickets")
        tickets.mkdir(exist_ok=True)
        is_early = len(list(tickets.iterdir())) < 10
        (tickets / uuid4().hex).touch()
        while not is_early and not gate.exists():
            time.sleep(0.01)
        return carry_out(order)

    return carry_out_or_wait


class Killer(Silent):
    """Kills a worker as soon as five runs have come back, and opens the gate."""

    def __init__(self, client: Client, gate: Path) -> None:
        self._client = client
        self._gate = gate
        self.killed_at = 0

    def update(self, state):
        if state.done >= 5 and not self.killed_at:
            self.killed_at = state.done
            for pid in list(self._client.run(os.getpid).values())[:1]:
                os.kill(pid, signal.SIGKILL)
            self._gate.touch()


@pytest.mark.parametrize("keep", KEEPS)
def test_killing_a_worker_midway_loses_nothing(tmp_path, workers, process, keep, monkeypatch):
    gate = tmp_path / "gate"
    sent_by_value(monkeypatch, stopping_at(gate))
    with Client(workers, set_as_default=False) as client:
        killer = Killer(client, gate)
        sweep = run_plan(
            plan(TINY), Simulator(), directory=tmp_path / "workers", keep=keep,
            dask=workers.scheduler_address, progress=killer,
            source=source_of("run", TINY, {}, "sim"),
        )  # fmt: skip
    assert 5 <= killer.killed_at <= 12
    sweep.save_overview(tmp_path / "workers")
    assert tree(tmp_path / "workers") == process[keep]


def test_a_run_whose_workers_keep_dying_is_named(tmp_path, workers, monkeypatch):
    assert workers.scheduler.allowed_failures == 3  # as the page says: the fourth is too many
    monkeypatch.setattr(workers.scheduler, "allowed_failures", 1)
    monkeypatch.setattr(fairway_cluster, "carry_out", lambda _: os._exit(1))
    with pytest.raises(RunFailed, match=r"2 workers died while they ran it.*too little memory"):
        fairway.run(TINY.replace("40", "2"), tmp_path / "s", dask=workers.scheduler_address)


def test_orders_of_many_runs_are_gone_on_with(tmp_path, workers, process, monkeypatch):
    def only_first(order):
        from dataclasses import replace

        from fairway.sweep.cluster import carry_out

        return carry_out(replace(order, experiments=order.experiments[:1]))

    monkeypatch.setattr(fairway_cluster, "_ORDERS", 1)
    sent_by_value(monkeypatch, only_first)
    fairway.run(TINY, tmp_path / "s", dask=workers.scheduler_address, keep="summaries")
    assert tree(tmp_path / "s") == process["summaries"]


def test_runs_of_an_order_that_kills_workers_are_ordered_one_by_one():
    class Order:
        """Of which nobody needs the result."""

        def release(self):
            pass

    class Arriving(list):
        def update(self, futures):
            """Nothing more arrives."""

    class Records:
        def __init__(self):
            self.runs = []

        def map(self, _, orders, **__):
            self.runs += [len(order.experiments) for order in orders]
            return [Order() for _ in orders]

    planned = plan(TINY, overrides={"sweep.repetitions": 3})
    client, whole = Records(), Order()
    cluster = Cluster(client, Answer(Simulator(), planned.algorithms, "1"), InMemory())
    cluster._points = dict(enumerate(planned.points))
    cluster._orders = {whole: (0, 1, 2)}
    killed = KilledWorker("order", None, 3)
    cluster._listen(Arriving([(whole, (KilledWorker, killed, None))]))
    assert client.runs == [1, 1, 1]
    assert sorted(cluster._orders.values()) == [(0,), (1,), (2,)]
    # One that has been ordered by itself is told.
    (alone, *_) = cluster._orders
    cluster._listen(Arriving([(alone, (KilledWorker, killed, None))]))
    assert cluster._arrived.get_nowait() == (0, (KilledWorker, killed, None))
    assert client.runs == [1, 1, 1]


def test_a_worker_with_another_build_is_refused(tmp_path, workers):
    class Other(Simulator):
        def engine(self) -> str:
            return "0123456789abcdef"

    with pytest.raises(InputError, match=r"worker tcp://.* another Fairway .* 0123456789ab"):
        run_plan(plan(TINY), Other(), directory=tmp_path / "s", dask=workers.scheduler_address)
    assert not list((tmp_path / "s" / store.POINTS).iterdir())


def test_a_simulation_that_fails_on_a_worker_fails_as_here(tmp_path, workers, monkeypatch):
    def failing(order):
        from fairway._core import SimulationError
        from fairway.backends.sim import Simulator
        from fairway.sweep.cluster import carry_out

        def run(self, experiment, control=None, algorithms=None):
            if experiment["seed"] == 1:
                raise SimulationError("at 1.5 s: link bottleneck: 3 packets in, 2 out")
            return kept(self, experiment, control, algorithms)

        kept, Simulator.run = Simulator.run, run
        try:
            return carry_out(order)
        finally:
            Simulator.run = kept

    sent_by_value(monkeypatch, failing)
    with pytest.raises(RunFailed, match=r"1 of 2 runs failed\nrepetition 0: at 1.5 s"):
        fairway.run(TINY.replace("40", "2"), tmp_path / "s", dask=workers.scheduler_address)
    assert len(list((tmp_path / "s" / store.POINTS).iterdir())) == 1


def test_what_no_worker_can_run_is_refused_before_they_are_asked(tmp_path, workers):
    text = TINY.replace('cc = "reno"', 'cc = "reno"\nprogram = "fairway"\nconnections = "auto"')
    with pytest.raises(ExperimentError, match="connections"):
        fairway.run(text, tmp_path / "s", dask=workers.scheduler_address)
    assert not (tmp_path / "s").exists()


def test_ctrl_c_keeps_what_has_arrived(tmp_path, workers, process, monkeypatch):
    gate = tmp_path / "gate"
    sent_by_value(monkeypatch, stopping_at(gate))

    class Impatient(Silent):
        def update(self, state):
            if state.done >= 5:
                raise KeyboardInterrupt

    planned = plan(TINY)
    with pytest.raises(Interrupted, match="same command again"):
        run_plan(
            planned, Simulator(), directory=tmp_path / "s", dask=workers.scheduler_address,
            progress=Impatient(),
        )  # fmt: skip
    gate.touch()
    assert 5 <= len(list((tmp_path / "s" / store.POINTS).iterdir())) <= 12
    fairway.run(TINY, tmp_path / "s")
    assert tree(tmp_path / "s") == process["runs"]


def test_a_terminal_that_interrupts_local_workers_too_shows_one_line(tmp_path):
    (tmp_path / "s.toml").write_text(TINY.replace("100 ms", "2 s").replace("40", "900"))
    with subprocess.Popen(
        [sys.executable, "-m", "fairway", "run", "s.toml", "--dask", "local", "-j1", "--out", "s"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # Shells start what is in the background with this signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as command:  # fmt: skip
        while command.poll() is None and not list(tmp_path.glob("s/points/r*")):
            time.sleep(0.05)
        os.killpg(command.pid, signal.SIGINT)
        said = command.stderr.read()
    assert command.returncode == Interrupted.exit_code
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("fairway: stopped with ")


def test_what_cannot_be_done_elsewhere_is_refused(tmp_path, workers):
    address = workers.scheduler_address
    with pytest.raises(InputError, match="name one"):
        fairway.run(TINY, dask=address)
    with pytest.raises(InputError, match="one run"):
        fairway.run(TINY.partition("[sweep]")[0], tmp_path / "s", dask=address)
    with pytest.raises(InputError, match="backend scripted answers on this machine alone"):
        backend = ScriptedBackend(lambda experiment, _: run_of(experiment, [1.0, 1.0]))
        run_plan(plan(TINY), backend, directory=tmp_path / "s", dask=address)
    example = Path(__file__).parents[2] / "examples" / "my_reno.py"
    mine = TINY.replace('"cubic"', '"python:my_reno.MyReno"')
    with pytest.raises(fairway.ExperimentError, match="only the simulator on this machine can"):
        file = tmp_path / "mine.toml"
        file.write_text(mine)
        (tmp_path / "my_reno.py").write_text(example.read_text())
        fairway.run(file, tmp_path / "s", dask=address, allow_python=True)


def test_an_address_without_a_scheduler_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(fairway_cluster, "_CONNECT_S", 1)
    # Nothing listens at the port of "discard".
    with pytest.raises(InputError, match="no scheduler answers there"):
        fairway.run(TINY, tmp_path / "s", dask="tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="needs certificates"):
        fairway.run(TINY, tmp_path / "s", dask="tls://127.0.0.1:9")
    for address in ("nonsense", "tcp://", "http://node:80", ""):
        with pytest.raises(InputError, match="expected the address of a scheduler"):
            fairway.run(TINY, tmp_path / "s", dask=address)
