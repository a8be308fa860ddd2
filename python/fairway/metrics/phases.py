"""What a sender was doing, phase by phase: read from samples of its window and threshold."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairway.errors import InputError
from fairway.ground.columns import Columns

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from fairway.metrics.subject import Traced

    Floats = npt.NDArray[np.float64]

Kind = Literal["slow start", "avoidance", "recovery", "timeout"]

#: In which the window grows, until it is reduced.
_GROWTH = ("slow start", "avoidance")
#: Window after a timeout: one segment (RFC 5681, section 3.1, equation 3), or two if an
#: acknowledgement came before the sample.
_LOSS_WINDOW = 2.0
#: Column of a run's series where the stack inflates its window (`results.tables.INFLATED`).
_INFLATED = "inflated_cwnd_segments"
#: `ca_state` of Linux's `struct tcp_info`: CWR and Recovery; Loss.
_REDUCING, _LOSS = (2, 3), 4
#: `phases.<flow>.<what>_<number>_<figure>`, or `phases.<flow>.<what>_count`.
_FIGURE = re.compile(r"([a-z]+(?:_[a-z]+)*?)_(?:([0-9]{1,18})_([a-z_]+)|count)")


@dataclass(frozen=True)
class Phase:
    """A time in which a sender did one thing with its window.

    Attributes:
        kind: `slow start`, `avoidance`, `recovery` or `timeout`; `epoch` for the growth from one
            reduction to the next, of whatever kinds.
        start_s: Time of its first sample.
        end_s: Time of the first sample that is no longer of it, or of the last of all.
        start_segments: Window in its first sample.
        end_segments: Window in its last sample.
        peak_segments: Largest window of its samples.
        peak_s: When that was first seen.
        ssthresh_segments: Slow-start threshold in its last sample; none while infinite.
        inflated_peak_segments: Largest window of its samples with what fast recovery inflates it
            by; of an epoch up to the next one, as a plot of ns-2's `cwnd_` shows it.
    """

    kind: Kind | Literal["epoch"]
    start_s: float
    end_s: float
    start_segments: float
    end_segments: float
    peak_segments: float
    peak_s: float
    ssthresh_segments: float | None
    inflated_peak_segments: float

    @property
    def duration_s(self) -> float:
        """How long it lasted, as far as samples tell."""
        return self.end_s - self.start_s


def phases(run: Traced, flow: str | int = 0) -> list[Phase]:
    """The phases of one flow of a run, in their order.

    From the window and the threshold of its samples, as `of_samples` says; of a run on a kernel
    from the state that it tells. `flow` is an id, or a place in the experiment.

    Raises:
        InputError: If there is no such flow.
    """
    known = [str(row["id"]) for row in run.summary["flows"]]
    name = known[flow] if isinstance(flow, int) and 0 <= flow < len(known) else flow
    if name not in known:
        raise InputError(f"phases: no flow {flow!r}; there is {', '.join(known)}")
    info = run.table("tcp_info")
    if info is None:
        return of_series(run.sampled("series"), str(name))
    rows = _of_flow(info, str(name), ("snd_cwnd_segments", "ca_state"))
    names = ("t_s", "snd_cwnd_segments", "snd_ssthresh_segments", "rtt_s", "ca_state")
    return of_samples(*map(rows.numbers, names))


def of_series(series: Columns | pl.DataFrame, flow: str) -> list[Phase]:
    """The phases of a flow, from time series as in `series.parquet`; none without a window."""
    rows = _of_flow(Columns.of(series), flow, ("cwnd_segments",))
    inflated = rows.numbers(_INFLATED) if _INFLATED in rows else None
    names = ("t_s", "cwnd_segments", "ssthresh_segments", "srtt_s")
    t, window, ssthresh, rtt = map(rows.numbers, names)
    return of_samples(t, window, ssthresh, rtt, inflated=inflated)


def of_samples(
    t_s: Floats,
    window: Floats,
    ssthresh: Floats,
    srtt_s: Floats,
    state: Floats | None = None,
    inflated: Floats | None = None,
) -> list[Phase]:
    """The phases that samples of one sender show.

    - *Slow start*: the window is below the threshold, or the threshold infinite (RFC 5681,
      section 3.1).
    - *Avoidance*: the window is at the threshold or above.
    - *Recovery* begins with the sample in which the window is lower than before, and ends with the
      first in which it is larger again, a smoothed round-trip time later or more: what recovery
      does to the window, such as proportional rate reduction (RFC 6937), is part of it.
    - *Timeout*: as recovery, but the window falls to one or two segments and below the threshold;
      it ends as soon as the window grows.

    A fall is a reduction if it is larger than a sixteenth of the window and than the steps of a
    segment a round trip that delay-based algorithms take (`fairway.metrics.episodes.reductions`).
    What happens between two samples is not seen: take some in each round trip. A window that
    nothing makes grow after a reduction, as that of a sender with little to send or of Vegas at
    its equilibrium, stays in recovery, though the lost data was repaired long ago.

    Args:
        t_s: Times, rising, in seconds.
        window: Congestion windows, in segments; finite.
        ssthresh: Slow-start thresholds, in segments; NaN while infinite.
        srtt_s: Smoothed round-trip times, in seconds; NaN before the first.
        state: Linux's `ca_state`, if it is known: then recovery is where it is 2 or 3, and a
            timeout where it is 4 and the window has not grown yet.
        inflated: Windows with what fast recovery inflates them by, in segments; the windows unless
            given.

    Returns:
        Phases in their order, each beginning where the one before ends; none without samples.
    """
    if not len(t_s):
        return []
    threshold = np.where(np.isnan(ssthresh), np.inf, ssthresh)
    kinds = np.where(window < threshold, "slow start", "avoidance").astype(object)
    if state is None:
        _mark_reductions(kinds, t_s, window, threshold, srtt_s)
    else:
        _mark_states(kinds, window, state)
    shown = window if inflated is None else inflated
    stretches = [
        (kind, list(rows))
        for kind, rows in itertools.groupby(range(len(kinds)), key=kinds.__getitem__)
    ]
    return [
        _phase(kind, rows[0], rows[-1], t_s, window, ssthresh, shown) for kind, rows in stretches
    ]


def epochs(found: Sequence[Phase]) -> list[Phase]:
    """The congestion epochs: growth from one reduction to the next, with its peak.

    The peak of an epoch is its congestion point, and its `ssthresh_segments` what the reduction
    after it set; that of the last epoch, which no reduction ends, is its own.
    """
    made = []
    at = 0
    for grows, group in itertools.groupby(found, key=lambda phase: phase.kind in _GROWTH):
        parts = list(group)
        at += len(parts)
        if grows:
            peak = max(parts, key=lambda phase: phase.peak_segments)
            after = found[at] if at < len(found) else parts[-1]
            repair = itertools.takewhile(lambda phase: phase.kind not in _GROWTH, found[at:])
            made.append(
                Phase(
                    "epoch",
                    parts[0].start_s,
                    parts[-1].end_s,
                    parts[0].start_segments,
                    parts[-1].end_segments,
                    peak.peak_segments,
                    peak.peak_s,
                    after.ssthresh_segments,
                    max(phase.inflated_peak_segments for phase in (*parts, *repair)),
                )
            )
    return made


def figure(run: Traced, flow: str, name: str) -> float | None:
    """One number of a flow's phases, for the metric `phases.<flow>.<name>`.

    The name is `<what>_count` or `<what>_<number>_<figure>`, such as `slow_start_1_end_s`: `<what>`
    is a kind of phase or `epoch`, `<figure>` an attribute of `Phase`, and numbers begin at 1. None
    if there was no such phase.

    Raises:
        InputError: If there is no such figure.
    """
    kinds = {kind.replace(" ", "_"): kind for kind in ("epoch", *_GROWTH, "recovery", "timeout")}
    figures = [field for field in Phase.__annotations__ if field != "kind"] + ["duration_s"]
    match = _FIGURE.fullmatch(name)
    if match is None or match[1] not in kinds or (match[2] and match[3] not in figures):
        raise InputError(
            f"metric phases.{flow}.{name}: expected <phase>_count or <phase>_<number>_<figure>, "
            f"where a phase is {', '.join(kinds)} and a figure {', '.join(figures)}"
        )
    found = run.phases_of(flow)
    if match[1] == "epoch":
        found = epochs(found)
    chosen = [phase for phase in found if phase.kind == kinds[match[1]]]
    if not match[2]:
        return float(len(chosen))
    number = int(match[2])
    if not 1 <= number <= len(chosen):
        return None
    value: float | None = getattr(chosen[number - 1], match[3])
    return value


def _of_flow(table: Columns, flow: str, needed: Sequence[str]) -> Columns:
    """A flow's rows in the order of time, those without a value that is needed left out."""
    is_kept = table.text("flow").equals(flow)
    for name in needed:
        is_kept &= table.known(name)
    rows = table.keep(is_kept)
    return rows.keep(np.argsort(rows.numbers("t_s"), kind="stable"))


def _mark_reductions(
    kinds: npt.NDArray[np.object_], t: Floats, window: Floats, threshold: Floats, srtt: Floats
) -> None:
    from fairway.metrics.episodes import Trace, reductions

    if len(t) < 2:
        return
    nothing = np.zeros(len(t))
    trace = Trace(t, window, threshold, srtt, nothing, 0)
    starts = np.searchsorted(t, reductions(trace))
    grows = np.flatnonzero(np.diff(window) > 0) + 1
    for first, limit in itertools.pairwise([*starts, len(t)]):
        grown = grows[(grows > first) & (grows < limit)]
        falls_until = int(grown[0]) if len(grown) else limit
        least = window[first:falls_until].min()
        is_timeout = least <= _LOSS_WINDOW and least < threshold[falls_until - 1]
        if not is_timeout:
            rtt = srtt[first] if np.isfinite(srtt[first]) else 0.0
            grown = grown[t[grown] >= t[first] + rtt]
        end = int(grown[0]) if len(grown) else limit
        kinds[first:end] = "timeout" if is_timeout else "recovery"


def _mark_states(kinds: npt.NDArray[np.object_], window: Floats, state: Floats) -> None:
    kinds[np.isin(state, _REDUCING)] = "recovery"
    for in_loss, group in itertools.groupby(range(len(kinds)), key=lambda i: state[i] == _LOSS):
        rows = list(group)
        if in_loss:
            grown = [i for i in rows[1:] if window[i] > window[i - 1]]
            kinds[rows[0] : grown[0] if grown else rows[-1] + 1] = "timeout"


def _phase(
    kind: Kind,
    first: int,
    last: int,
    t: Floats,
    window: Floats,
    ssthresh: Floats,
    inflated: Floats,
) -> Phase:
    peak = first + int(np.argmax(window[first : last + 1]))
    return Phase(
        kind,
        float(t[first]),
        float(t[min(last + 1, len(t) - 1)]),
        float(window[first]),
        float(window[last]),
        float(window[peak]),
        float(t[peak]),
        None if np.isnan(ssthresh[last]) else float(ssthresh[last]),
        float(inflated[first : last + 1].max()),
    )
