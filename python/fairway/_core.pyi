"""The compiled simulator: validates experiments and runs them."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, TypeAlias, final

from numpy.typing import NDArray

from fairway.errors import AlgorithmError, ExperimentError, SimulationError

__all__ = [
    "Ack",
    "AlgorithmError",
    "AnalysisData",
    "Cancelled",
    "CaptureError",
    "CollectError",
    "Control",
    "Experiment",
    "ExperimentError",
    "Flow",
    "Init",
    "LinuxData",
    "Member",
    "Planned",
    "Pool",
    "RateSample",
    "RunData",
    "ScriptError",
    "SimulationError",
    "Subflow",
    "Summaries",
    "Transfer",
    "TransferData",
    "TransferError",
    "algorithms",
    "analyse",
    "before_abort",
    "check_for_simulator",
    "compare_captures",
    "entries",
    "first_difference",
    "fluid_fixed_point",
    "fluid_rules",
    "fluid_run",
    "hosts",
    "indented",
    "linux_collect",
    "linux_layout",
    "loss_causes",
    "measured",
    "model_algorithms",
    "model_answer",
    "model_law",
    "model_laws",
    "model_queue",
    "model_saturation",
    "model_streams",
    "model_wlan",
    "outline",
    "packet_fates",
    "packet_kinds",
    "plan",
    "presets",
    "quantity",
    "ratio",
    "read_parquet",
    "result_schema",
    "run",
    "run_script",
    "schema",
    "specimen",
    "version",
    "write_parquet",
    "xfer_layout",
]

class CollectError(RuntimeError):
    """What a run on a kernel has left cannot be used; names the file or the flow."""

class ScriptError(ValueError):
    """A script that cannot be run; names file, line, column and what to do."""

class TransferError(RuntimeError):
    """A transfer that failed.

    Its arguments: what happened; and "cancelled", "input", "refused" or "failed".
    """

class CaptureError(ValueError):
    """A capture of which nothing can be read; names it, and says what was found."""

class Cancelled(Exception):  # noqa: N818
    """The run was cancelled through its `Control`."""

@final
class Control:
    """Progress and cancellation of a simulation or an analysis; safe to use from any thread.

    A simulation that is given one may use `cores` processors; what it finds is the same on any
    number.
    """

    def __new__(cls, cores: int = 1) -> Control: ...
    def cancel(self) -> None:
        """Ask it to stop; `run` or `analyse` then raises `Cancelled`."""
    @property
    def fraction(self) -> float:
        """Share of the simulated time that has passed, or of a capture that has been read, 0 to 1.

        It stays 0 for a pipe.
        """
    @property
    def packets(self) -> int:
        """Packets handled so far."""

@final
class Experiment:
    """An experiment without a sweep, resolved: what it says of its times, rates and sizes."""

    def __new__(cls, document: Planned | Mapping[str, Any] | str) -> Experiment: ...
    @property
    def document(self) -> dict[str, Any]:
        """The same in the keys of an experiment file."""
    @property
    def duration_ns(self) -> int:
        """Simulated time of the run."""
    @property
    def window_s(self) -> tuple[float, float]:
        """Beginning and end of the measuring window."""
    @property
    def sample_ns(self) -> int:
        """Period of the time series."""
    @property
    def last_start_ns(self) -> int:
        """When the last copy of the last flow starts."""
    @property
    def flow_times_ns(self) -> list[tuple[int, int | None]]:
        """Start and stop of each `[[flow]]`; the start is that of its first copy."""
    @property
    def base_rtt_ns(self) -> int:
        """Propagation delay of the longest path, there and back."""
    @property
    def bdp_bytes(self) -> int | None:
        """Rate of the slowest link times the base round-trip time; None without a rate."""
    @property
    def frame_bytes(self) -> int:
        """Bytes of the largest packet on a link."""
    @property
    def frame_overhead_bytes(self) -> int:
        """Bytes that links add to every packet."""
    @property
    def shared_rate_bps(self) -> int | None:
        """Lowest rate of the links that every flow of a chain or a dumbbell crosses.

        None if one of them changes or is unlimited, and for other topologies.
        """
    def link_rate_bps(self, link: str) -> int:
        """Rate of the link direction that results name so.

        Raises:
            ValueError: If there is no such link, or its rate changes or is unlimited.
        """
    def transfer_bytes(self, flow: str) -> int | None:
        """Bytes of the transfer that results name so; None without a size, and for copies."""

#: An experiment without a sweep: a handle, its document, or JSON.
_Document: TypeAlias = Experiment | Planned | Mapping[str, Any] | str
_Column: TypeAlias = tuple[str, NDArray[Any], NDArray[Any] | None, list[str] | None]

@final
class Planned:
    """An experiment as it was planned, whose document becomes Python's when it is read."""

    def __new__(cls, document: _Document) -> Planned: ...
    @property
    def document(self) -> dict[str, Any]:
        """The same in the keys of an experiment file."""
    def get(self, key: str, default: Any = None) -> Any:
        """What stands under a key at the top of the document, or else `default`."""
    def compact(self) -> str:
        """The document as compact JSON."""
    def canonical(self) -> str:
        """The document as compact JSON in ASCII with sorted keys, for digests."""

@final
class Pool:
    """Threads that simulate experiments one after the other."""

    def __new__(cls, experiments: Sequence[_Document], threads: int) -> Pool: ...
    def add(self, experiments: Sequence[_Document]) -> None:
        """Begin with further experiments, whose places come after those of the others."""
    def finished(self, timeout_s: float) -> list[tuple[int, tuple[bytes, bytes] | Exception]]:
        """What has finished since it was last asked: the place of each run, and what it gave.

        Waits so long for many, or for the last ones. A run gives its experiment and its summary as
        compact JSON, or what `run` would have raised.
        """
    def fraction(self) -> float:
        """Runs done of those that are under way, as a number of runs."""
    def stop(self) -> None:
        """Stop all runs, and wait until they have."""

@final
class Summaries:
    """Columns of many summaries, each of which is JSON."""

    def __new__(cls, summaries: Sequence[bytes]) -> Summaries: ...
    @property
    def seeds(self) -> NDArray[Any]:
        """The seed of each."""
    @property
    def metrics(self) -> dict[str, Any]:
        """The metrics of each, without those that the first lacks."""
    def rows(self, part: str) -> tuple[dict[str, Any], NDArray[Any]]:
        """Columns of the `flows` or `links` of all, and how many of them each summary has.

        A column is an array of numbers, in which NaN is no value, or else a list.
        """
    @property
    def warnings(self) -> list[list[str]]:
        """The warnings of those that have any."""

@final
class RunData:
    """What one simulation measured."""

    @property
    def summary(self) -> str:
        """Summary over the measuring window, with what models say, as compact JSON."""
    @property
    def series(self) -> dict[str, NDArray[Any]]:
        """Columns of the flow time series; `flow` indexes `flow_ids`."""
    @property
    def flow_ids(self) -> list[str]:
        """Names of the flows."""
    @property
    def queues(self) -> dict[str, NDArray[Any]]:
        """Columns of the queue time series; `link` indexes `link_ids`."""
    @property
    def link_ids(self) -> list[str]:
        """Names of the links."""
    @property
    def losses(self) -> dict[str, NDArray[Any]] | None:
        """Columns of the losses, if they were asked for; `flow` indexes `loss_flow_ids`.

        `link` indexes `loss_link_ids`; `cause` is 0 for dropped, 1 for lost and 2 for damaged.
        """
    @property
    def loss_flow_ids(self) -> list[str]:
        """Names of the flows that losses are of."""
    @property
    def loss_link_ids(self) -> list[str]:
        """Names of the link directions at which they happened."""

@final
class AnalysisData:
    """What was found in a capture."""

    @property
    def report(self) -> str:
        """Capture, connections, flows of datagrams and damages, as JSON."""
    @property
    def directions(self) -> list[tuple[int, int]]:
        """Directions that were followed: number of the connection, and index in it."""
    @property
    def series(self) -> dict[str, NDArray[Any]]:
        """Columns of their intervals; `flow` indexes `directions`, -1 and NaN are "none"."""
    @property
    def packets(self) -> dict[str, NDArray[Any]]:
        """Columns of their packets, with `packet_kinds` as `what` and `packet_fates` as `fate`."""

@final
class LinuxData:
    """What one run on a kernel has measured.

    Attributes:
        summary: The summary as JSON.
        series: Columns of the flow time series; `flow` indexes `flow_ids`.
        flow_ids: Names of the flows.
        queues: Columns of the queue time series; `link` indexes `link_ids`.
        link_ids: Names of the links.
        tcp_info: Columns `t_s`, `flow` and the kernel's fields; empty for those its version lacks.
        kernel: Release of the kernel.
        watched: Whether packets were watched one by one; if not, some figures are estimates.
        unseen_packets: Packets that the watch has missed.
        states_told: Whether the kernel told of reductions and timeouts; if not, they are all zero.
        broken: Connections that never came to be or were given up, as JSON.
        transfers: Transfers by a program, and what it said, as JSON.
        programs: Programs of this machine that ran, and what became of them, as JSON.
        ended_s: When the run ended, if before its time.
        remarks: What has to be known of the network and its captures.
        losses: Single losses, if asked for, and their `loss_flow_ids` and `loss_link_ids`.
    """

    summary: str
    series: dict[str, NDArray[Any]]
    flow_ids: list[str]
    queues: dict[str, NDArray[Any]]
    link_ids: list[str]
    tcp_info: dict[str, NDArray[Any]]
    kernel: str
    watched: bool
    unseen_packets: int
    states_told: bool
    broken: str
    transfers: str
    programs: str
    ended_s: float | None
    remarks: list[str]
    losses: tuple[dict[str, NDArray[Any]], list[str], list[str]] | None

class _Algorithms(Protocol):
    """Name in an experiment to class, as a mapping has it."""

    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> Callable[..., Any]: ...

@final
class Init:
    """What a connection tells its algorithm at the start."""

    def __new__(
        cls,
        *,
        mss: int = 1448,
        initial_window: int = 14480,
        initial_ssthresh: int | None = None,
        slow_start: str | None = None,
        seed: int = 0,
    ) -> Init: ...
    @property
    def mss(self) -> int:
        """Sender maximum segment size in bytes."""
    @property
    def initial_window(self) -> int:
        """Initial window in bytes."""
    @property
    def initial_ssthresh(self) -> int | None:
        """Initial slow-start threshold in bytes; None for infinite."""
    @property
    def slow_start(self) -> str | None:
        """Slow start that the experiment names; None for the algorithm's own."""
    @property
    def seed(self) -> int:
        """Seed of this connection's algorithm, for those that draw random numbers."""
    @property
    def coupling(self) -> Member | None:
        """The connections of its application; None without one."""

@final
class Flow:
    """What an algorithm may know about its connection when it is told of an event."""

    def __new__(
        cls,
        *,
        now: int = 0,
        mss: int = 1448,
        pipe: int = 0,
        in_flight: int = 0,
        srtt: int | None = None,
        min_rtt: int | None = None,
        snd_una: int = 0,
        snd_nxt: int = 0,
        delivered: int = 0,
        lost: int = 0,
        pacing_delay: int = 0,
        phase: str = "open",
        flight_size: None = None,
    ) -> Flow: ...
    @property
    def now(self) -> int:
        """Simulated time of the event, ns."""
    @property
    def now_s(self) -> float:
        """Simulated time of the event, s."""
    @property
    def mss(self) -> int:
        """Sender maximum segment size in bytes."""
    @property
    def pipe(self) -> int:
        """Bytes sent and not known to have left the network, before this event (RFC 6675 pipe)."""
    @property
    def in_flight(self) -> int:
        """The same after this event."""
    @property
    def srtt(self) -> int | None:
        """Smoothed round-trip time, ns, if there has been a sample."""
    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time, s, if there has been a sample."""
    @property
    def min_rtt(self) -> int | None:
        """Smallest round-trip time seen, ns."""
    @property
    def min_rtt_s(self) -> float | None:
        """Smallest round-trip time seen, s."""
    @property
    def snd_una(self) -> int:
        """First unacknowledged byte of the stream, after this event."""
    @property
    def snd_nxt(self) -> int:
        """Next new byte of the stream to be sent."""
    @property
    def delivered(self) -> int:
        """Bytes delivered to the receiver so far, in order or not."""
    @property
    def lost(self) -> int:
        """Bytes marked lost so far, each time they were."""
    @property
    def pacing_delay(self) -> int:
        """How long pacing holds the next segment back, from now on, ns; 0 if it may leave."""
    @property
    def pacing_delay_s(self) -> float:
        """How long pacing holds the next segment back, from now on, s; 0 if it may leave."""
    @property
    def phase(self) -> str:
        """What the sender does about loss: "open", "disorder", "cwr", "recovery" or "loss"."""
    def unacknowledged(self) -> int:
        """Bytes sent and not yet acknowledged cumulatively (RFC 5681 FlightSize)."""

@final
class Ack:
    """One arriving acknowledgement."""

    def __new__(
        cls,
        *,
        acked: int = 0,
        delivered: int = 0,
        lost: int = 0,
        ce: int = 0,
        rtt: int | None = None,
        one_way_delay_ms: int | None = None,
        rate: RateSample | None = None,
        may_grow: bool = False,
    ) -> Ack: ...
    @property
    def acked(self) -> int:
        """Bytes newly acknowledged cumulatively."""
    @property
    def delivered(self) -> int:
        """Bytes newly delivered: acknowledged and not selectively before, or newly SACKed."""
    @property
    def lost(self) -> int:
        """Bytes newly marked lost by this acknowledgement."""
    @property
    def ce(self) -> int:
        """Of the bytes newly delivered, those whose acknowledgement echoed a congestion mark."""
    @property
    def rtt(self) -> int | None:
        """Round-trip time that it measured, ns."""
    @property
    def rtt_s(self) -> float | None:
        """Round-trip time that it measured, s."""
    @property
    def one_way_delay_ms(self) -> int | None:
        """Receiver's clock less the sender's, ms modulo 2**32: only differences mean something."""
    @property
    def rate(self) -> RateSample | None:
        """Delivery rate, if the algorithm needs it and this acknowledgement measured it."""
    @property
    def may_grow(self) -> bool:
        """Whether the stack allows growth on this acknowledgement."""

@final
class RateSample:
    """What one acknowledgement says about the rate of delivery."""

    def __new__(
        cls,
        *,
        delivered: int = 0,
        interval: int = 0,
        prior_delivered: int = 0,
        sent_at: int = 0,
        prior_in_flight: int = 0,
        lost: int = 0,
        app_limited: bool = False,
    ) -> RateSample: ...
    @property
    def delivered(self) -> int:
        """Bytes delivered between the sending of the latest segment now delivered and now."""
    @property
    def interval(self) -> int:
        """Time that took, ns; zero if the sample says nothing."""
    @property
    def interval_s(self) -> float:
        """Time that took, s."""
    @property
    def prior_delivered(self) -> int:
        """`Flow.delivered` when that segment was sent."""
    @property
    def sent_at(self) -> int:
        """When that segment was sent, ns."""
    @property
    def sent_at_s(self) -> float:
        """When that segment was sent, s."""
    @property
    def prior_in_flight(self) -> int:
        """Bytes in flight when it had been sent, itself included."""
    @property
    def lost(self) -> int:
        """Bytes marked lost since then."""
    @property
    def app_limited(self) -> bool:
        """Whether the application had nothing to send then."""
    def bytes_per_s(self) -> float | None:
        """Bytes a second; None if the sample says nothing."""

@final
class Member:
    """A connection's place among those of its application."""

    @property
    def index(self) -> int:
        """Its place among the connections, from 0."""
    def tell(self, cwnd_segments: float, srtt: int) -> None:
        """Tell the others the window, in segments, and the round-trip time, in nanoseconds."""
    def acknowledged(self, bytes: int) -> None:  # noqa: A002
        """Bytes were acknowledged on this connection."""
    def lost(self) -> None:
        """This connection lost something."""
    def subflows(self) -> list[Subflow]:
        """The connections that have told their window and a round-trip time, in their order."""

@final
class Subflow:
    """What a connection has told the others of its application."""

    @property
    def own(self) -> bool:
        """Whether this is the connection that asks."""
    @property
    def cwnd(self) -> float:
        """Congestion window in segments."""
    @property
    def srtt_s(self) -> float:
        """Smoothed round-trip time in seconds."""
    @property
    def loss_interval(self) -> int:
        """The larger of the bytes acknowledged between its last two losses and those since."""

@final
class Transfer:
    """A transfer that runs in a thread of its own."""

    def __new__(cls, job: str, samples: bool = True) -> Transfer: ...
    def events(self) -> str:
        """What was said since the last call, as JSON."""
    def progress(self) -> str:
        """How far it is, as JSON."""
    def cancel(self) -> None:
        """Ask it to stop."""
    def wait(self, seconds: float) -> bool:
        """Wait for its end, but no longer than so many seconds; returns whether it has ended."""
    def sessions(self) -> list[TransferData]:
        """Its sessions that have ended since the last call."""
    def result(self) -> str | None:
        """Its result as JSON; None before its end. Raises `TransferError` if it failed."""

@final
class TransferData:
    """What one session of a transfer has measured."""

    @staticmethod
    def unpack(packed: bytes) -> TransferData:
        """What `pack` has made."""
    def pack(self) -> bytes:
        """Everything as bytes, for another process of the same program."""
    @property
    def number(self) -> int:
        """Its number, from 0."""
    @property
    def about(self) -> str:
        """What the job says of it, as JSON."""
    @property
    def failure(self) -> str | None:
        """Why it did not end well; None if it did."""
    @property
    def summary(self) -> str:
        """Figures over all of it, as JSON."""
    @property
    def taken(self) -> str:
        """How it was measured, as JSON."""
    @property
    def flow_ids(self) -> list[str]:
        """Names of the flows."""
    def series(self) -> dict[str, NDArray[Any]]:
        """Columns of the flow time series; `flow` indexes `flow_ids`."""
    def tcp_info(self) -> dict[str, NDArray[Any]]:
        """Columns `t_s`, `flow` and the kernel's fields; empty for those its version lacks."""

def version() -> str:
    """Version of the simulator."""

def plan(
    experiment: str | Mapping[str, Any],
    source: str,
    algorithms: _Algorithms | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Set values in an experiment, validate it, and give axes, repetitions, experiments of all."""

def run(
    experiment: _Document,
    control: Control | None = None,
    algorithms: _Algorithms | None = None,
    captures: str | PathLike[str] | None = None,
) -> RunData:
    """Simulate one experiment; releases the GIL.

    What it asks to capture is written into the directory `captures`, if that is given.
    """

def check_for_simulator(experiment: _Document, algorithms: _Algorithms | None = None) -> None:
    """Refuse an experiment that needs a kernel, or captures where the simulator cannot.

    Raises:
        ExperimentError: With the key.
    """

def quantity(text: str, kind: str) -> int:
    """A quantity as people write it: a "rate" in bit/s, a "size" in bytes, a "duration" in ns."""

def measured(text: str) -> tuple[float, str, str, float] | None:
    """A quantity of any kind as a number; None if the text is no quantity.

    Its value; what that counts: "s", "bit/s", "bytes", "packets", "segments" or "bdp"; the unit
    that it is written with; and how much of what is counted that unit is.
    """

def ratio(text: str) -> float | None:
    """A ratio as people write it, "0.01" or "1 %"; None if the text is none."""

def model_streams(document: str) -> str:
    """The parallelism threshold of a path, and what to expect of fewer and more streams.

    Question and answer are JSON. Raises ValueError for what makes no sense.
    """

def model_queue(document: str) -> str:
    """Sizes, lengths and delays of queues, by models. Question and answer are JSON.

    Raises ValueError for what makes no sense.
    """

def model_algorithms() -> list[str]:
    """Names of the algorithms that the models know."""

def fluid_run(document: str, duration_s: float, points: int, since_s: float) -> dict[str, Any]:
    """Windows, queue and loss over time: arrays by name, lists of them for classes of flows.

    Raises:
        ValueError: For what makes no sense.
    """

def fluid_fixed_point(document: str) -> str:
    """The state of a fluid that does not move, as JSON: `value`, which may be null, and `outside`.

    Raises:
        ValueError: For what makes no sense.
    """

def fluid_rules() -> list[str]:
    """Names of the congestion controls that have a fluid model."""

def analyse(
    path: str | PathLike[str], options: str, control: Control | None = None
) -> AnalysisData:
    """Analyse a capture, or standard input if its path is `-`. Releases the GIL.

    Options are JSON: `name` of the capture, `merge_interfaces`, and to `follow` connections by
    their numbers, with `most_rows` of single packets between `from_ns` and `until_ns`, in
    nanoseconds as the capture counts them.

    Raises:
        CaptureError: If nothing of it can be read.
        Cancelled: If `control` was cancelled.
    """

def compare_captures(paths: tuple[str | PathLike[str], str | PathLike[str]]) -> str:
    """What two captures of the same transfers tell together, as JSON. Releases the GIL.

    Raises:
        CaptureError: If nothing of one can be read, one is a pipe, or they have nothing in common.
        KeyboardInterrupt: On Ctrl-C.
    """

def first_difference(paths: tuple[str | PathLike[str], str | PathLike[str]], before: int) -> str:
    """The packet at which two captures part, and those `before`; CaptureError if unreadable."""

def loss_causes() -> list[str]:
    """Names of why packets did not arrive, by number."""

def packet_kinds() -> list[str]:
    """Names of the kinds of rows of single packets, by number."""

def model_saturation(document: str) -> str:
    """WLAN stations that always have data, from JSON to JSON; ValueError if it makes no sense."""

def model_wlan(document: str) -> str:
    """Flows with windows at an access point, from JSON to JSON; ValueError likewise."""

def packet_fates() -> list[str]:
    """Names of what became of packets, by number."""

def model_answer(experiment: _Document, algorithms: _Algorithms | None = None) -> str:
    """What models say of an experiment, as JSON; refuses what none covers."""

def model_laws() -> str:
    """The throughput laws with equation, range, source, parameters and results, as JSON."""

def model_law(
    name: str, columns: list[NDArray[Any]], shape: list[int]
) -> tuple[list[NDArray[Any]], NDArray[Any], list[str]]:
    """Evaluate a law at all points of a shape, in C order.

    Args:
        name: The law.
        columns: Its parameters, in its order: each has one number, or one for each point.
        shape: Of the points.

    Returns:
        A column for each result; for each point, which reason it may not be believed for, counted
        from 1, and 0 in range; the reasons.

    Raises:
        ValueError: If a quantity makes no sense: names it and the first point.
    """

def linux_layout(experiment: _Document, algorithms: _Algorithms | None = None) -> str:
    """What a Linux kernel's guest is told to run an experiment, as JSON."""

def xfer_layout(experiment: _Document, algorithms: _Algorithms | None = None) -> str:
    """What a generator does: `options` of its job and `interval_s` between samples, as JSON."""

def write_parquet(columns: Sequence[_Column]) -> bytes:
    """A Parquet file of columns: name, values, which rows have one, and words that values name."""

def read_parquet(file: bytes) -> list[_Column]:
    """The columns of such a file; raises ValueError if it is damaged, or no such file."""

def result_schema() -> str:
    """Columns of every table of results by its name, and units by the end of a name, as JSON."""

def schema() -> str:
    """JSON Schema of experiment files."""

def indented(compact: str) -> str:
    """Compact JSON as `json.dumps` writes it with `indent=2`."""

def outline(json: bytes) -> bytes:
    """JSON with a single 1 for all digits of a number; nothing of what is not JSON."""

def entries(
    axes: Sequence[Mapping[str, Any]],
    repetitions: Sequence[int],
    summaries: Sequence[bytes],
    metrics: Sequence[tuple[str, Sequence[float | None]]],
) -> list[bytes]:
    """Points of a sweep as lines of its `summary.json`, in pieces; every line ends in a comma.

    Args:
        axes: What each point sets.
        repetitions: Which repetition of these values each is.
        summaries: The summary of each as compact JSON.
        metrics: Names of further metrics, each with a value for each point.

    Raises:
        ValueError: If a metric is infinite or not a number, which JSON cannot hold.
    """

def specimen(path: str, kind: str | None = None) -> str | None:
    """A small valid experiment, as JSON, that has the key at `path` in a table of `kind`.

    Lists in the path have no index. Without a kind it is the first that has the key; without such
    a key there is none.
    """

def algorithms() -> str:
    """Every congestion control, as JSON."""

def presets() -> str:
    """Every stack preset, as JSON."""

def hosts(experiment: _Document, reached_by: str | None = None) -> list[str]:
    """The names of the hosts of an experiment, or of those that one of them reaches."""

def linux_collect(experiment: _Document, directory: str | PathLike[str]) -> LinuxData:
    """Read what a run of an experiment has left in a directory."""

def before_abort(to: int, sentence: str) -> None:
    """Write `sentence` to the descriptor `to` and exit where a library would abort the process."""

def run_script(text: str, name: str, preset: str | None = None) -> str:
    """Run a script against the endpoint; its verdict as JSON, with `text` for readers."""
