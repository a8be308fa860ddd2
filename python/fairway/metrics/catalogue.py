"""Every metric by name: what it is of, what it needs, and the function that it comes from."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairway.ground import result_schema
from fairway.metrics import dynamics, fairness, losses, parallel, rates
from fairway.metrics.subject import Subject

#: What a metric is made of.
COUNTERS = "counters"
SERIES = "time series"
LOSSES = "`measure.losses = true`"
EXPERIMENT = "counters and the experiment"


def unit_of(name: str) -> str:
    """The unit that a metric's name ends in; "1" where it has none."""
    return result_schema.unit(name) or "1"


@dataclass(frozen=True)
class Metric:
    """A metric that sweeps, studies and claims know by name.

    Attributes:
        name: Its name, which ends in the unit.
        needs: What it is made of.
        function: What it is: formula, edge cases and source are in its documentation.
        read: The value for flows, or for a link.
        other_unit: Its unit, if no name can end in it.
    """

    name: str
    needs: str
    function: Callable[..., Any]
    read: Callable[[Subject], float | None]
    other_unit: str = ""

    @property
    def unit(self) -> str:
        """Its unit; "1" where it has none."""
        return self.other_unit or unit_of(self.name)


def _counted(name: str, function: Callable[[int, int], float | None], second: str) -> Metric:
    """A function of the segments sent and another counter."""

    def read(of: Subject) -> float | None:
        sent, other = of.total("sent_segments"), of.total(second)
        return None if sent is None or other is None else function(sent, other)

    return Metric(name, COUNTERS, function, read)


def _corruption(of: Subject) -> float | None:
    sent, lost, dropped = map(of.total, ("sent_segments", "lost_segments", "dropped_segments"))
    if sent is None or lost is None or dropped is None:
        return None
    return losses.loss_rate(sent, lost - dropped)


def _sum(column: str) -> Callable[[Subject], float | None]:
    def read(of: Subject) -> float | None:
        values = of.values(column)
        return math.fsum(values) if values else None

    return read


def _ctt(of: Subject) -> float | None:
    """The longest: of flows that start together, until the last of all acknowledgements."""
    times = of.values("ctt_s")
    return max(times) if times else None


def _throughput_ratio(of: Subject) -> float | None:
    rate = _sum("throughput_bps")(of)
    return None if rate is None else rates.throughput_ratio(rate, of.bottleneck_bps())


def _payload_utilisation(of: Subject) -> float | None:
    rate = _sum("goodput_bps")(of)
    return None if rate is None else rates.payload_utilisation(rate, of.bottleneck_bps(), 1.0)


def _power(of: Subject) -> float | None:
    throughput, delay = _sum("throughput_bps")(of), _one_way_delay(of)
    return None if throughput is None or delay is None else rates.power(throughput, delay)


def _one_way_delay(of: Subject) -> float | None:
    """Over the packets of all flows: each flow's mean counts as often as it had packets arrive."""
    delays = of.values("mean_one_way_delay_s")
    if delays is None or len(delays) < 2:
        return delays[0] if delays else None
    sent, lost = of.values("sent_segments"), of.values("lost_segments")
    if sent is None or lost is None:
        return None
    arrived = [one - other for one, other in zip(sent, lost, strict=True)]
    total = math.fsum(arrived)
    weighted = (delay * count for delay, count in zip(delays, arrived, strict=True))
    return math.fsum(weighted) / total if total > 0 else None


def _buffer_delay(of: Subject) -> float | None:
    """Each flow against its own base: their paths may differ."""
    means, found = of.values("mean_srtt_s"), []
    if means is None:
        return None
    series = of.run.sampled("series")
    series = series.keep(series.known("srtt_s"))
    for flow, mean_s in zip(of.ids, means, strict=True):
        own = series.numbers("srtt_s")[series.text("flow").equals(flow)]
        percent = rates.buffer_delay_percent(mean_s, float(own.min())) if len(own) else None
        if percent is None:
            return None
        found.append(percent)
    return _mean(found) if found else None


def _fairness(
    name: str,
    function: Callable[..., float | None],
    of_goodputs: Callable[[list[float]], float | None] | None = None,
) -> Metric:
    """A function of the flows' goodputs, or what is made of it for a list of them."""

    def read(of: Subject) -> float | None:
        goodputs = of.values("goodput_bps")
        return (of_goodputs or function)(goodputs) if goodputs else None

    return Metric(name, COUNTERS, function, read)


def _asymmetry(goodputs: list[float]) -> float | None:
    return fairness.asymmetry(*goodputs) if len(goodputs) == 2 else None


def _max_min(goodputs: list[float]) -> float | None:
    routes = {str(flow): ["bottleneck"] for flow in range(len(goodputs))}
    fair = fairness.max_min_rates(routes, {"bottleneck": math.fsum(goodputs)})
    return fairness.max_min_ratio(dict(zip(routes, goodputs, strict=True)), fair)


def _of_bins(
    name: str,
    function: Callable[[list[float]], float | None],
    worst: Callable[[list[float]], float],
) -> Metric:
    """A function of the goodput over time; of several flows the worst, or their mean."""

    def read(of: Subject) -> float | None:
        found = [function(of.samples(flow, "goodput_bps")) for flow in of.ids]
        known = [value for value in found if value is not None]
        return worst(known) if known and len(known) == len(found) else None

    return Metric(name, SERIES, function, read)


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _delta_fair(of: Subject) -> float | None:
    """Over the whole run: convergence is what a measuring window would leave out."""
    import numpy as np

    if len(of.ids) != 2:
        return None
    series = of.run.sampled("series")
    goodputs = np.nan_to_num(series.numbers("goodput_bps"))
    first, second = (series.text("flow").equals(flow) for flow in of.ids)
    ends = series.numbers("t_s")
    # Bins that both have: a kernel samples a connection while there is one.
    times, ones, others = np.intersect1d(ends[first], ends[second], return_indices=True)
    one, other = goodputs[first][ones], goodputs[second][others]
    return dynamics.delta_fair_time_s(times.tolist(), one.tolist(), other.tolist())


def _loss_event_rate(of: Subject) -> float | None:
    """Events of each flow by itself, of all flows together over what all have sent."""
    table, sent = of.losses, of.total("sent_segments")
    if not sent:
        return None
    events = 0
    for row in of.rows:
        times = table.numbers("t_s")[table.text("flow").equals(row["id"])].tolist()
        if times and row["mean_srtt_s"] is None:
            return None
        events += len(losses.loss_events(times, row["mean_srtt_s"] or 0.0))
    return events / sent


def _loss_synchronisation(of: Subject) -> float | None:
    """At the queue that drops most of their packets; active is who has data outstanding."""
    import numpy as np

    single, rtt_s = of.losses, of.mean("mean_srtt_s")
    table = single.keep(single.text("cause").equals("dropped"))
    if not table.rows or rtt_s is None:
        return None
    links = table.text("link")
    most = max(links.present, key=lambda link: (int(links.equals(link).sum()), link))
    dropped = table.keep(links.equals(most))
    series = of.run.sampled("series")
    flights = series.keep(series.text("flow").is_in(of.ids))
    ends, places = np.unique(flights.numbers("t_s"), return_inverse=True)
    busy = flights.numbers("pipe_segments") > 0
    times, active = ends.tolist(), np.bincount(places, busy, len(ends)).tolist()

    def active_at(time_s: float) -> int:
        place = bisect.bisect_right(times, time_s) - 1
        return int(active[place]) if place >= 0 else 0

    return losses.loss_synchronisation(
        dropped.numbers("t_s").tolist(),
        list(map(str, dropped.text("flow").tolist())),
        rtt_s,
        active_at,
    )


def _queue_delay(percent: float) -> Callable[[Subject], float | None]:
    def read(of: Subject) -> float | None:
        link, (low, high) = of.ids[0], of.resolved.window_s
        queues = of.run.sampled("queues")
        times = queues.numbers("t_s")
        is_inside = queues.text("link").equals(link) & (times >= low) & (times <= high)
        backlog = queues.numbers("backlog_bytes")[is_inside]
        return dynamics.percentile((backlog * 8 / of.link_rate_bps(link)).tolist(), percent)

    return read


#: Metrics of flows: of one, of a group, or of all that are compared.
OF_FLOWS = (
    Metric("throughput_bps", COUNTERS, rates.rate_bps, _sum("throughput_bps")),
    Metric("goodput_bps", COUNTERS, rates.rate_bps, _sum("goodput_bps")),
    Metric("throughput_ratio", EXPERIMENT, rates.throughput_ratio, _throughput_ratio),
    Metric("payload_utilisation", EXPERIMENT, rates.payload_utilisation, _payload_utilisation),
    _counted("loss_of_sent", losses.loss_of_sent, "lost_segments"),
    _counted("loss_of_received", losses.loss_of_received, "lost_segments"),
    _counted("retransmission_ratio", losses.retransmission_ratio, "retransmitted_segments"),
    _counted("duplicate_ratio", losses.duplicate_ratio, "duplicate_segments"),
    _counted("congestion_loss_rate", losses.loss_rate, "dropped_segments"),
    Metric("corruption_loss_rate", COUNTERS, losses.loss_rate, _corruption),
    Metric("loss_event_rate", LOSSES, losses.loss_event_rate, _loss_event_rate),
    Metric("loss_synchronisation", LOSSES, losses.loss_synchronisation, _loss_synchronisation),
    _counted("packet_delivery_ratio", losses.packet_delivery_ratio, "lost_segments"),
    Metric("ctt_s", COUNTERS, rates.completion_s, _ctt),
    Metric("mean_one_way_delay_s", COUNTERS, dynamics.mean_one_way_delay_s, _one_way_delay),
    _fairness("jain_index", fairness.jain_index),
    _fairness("asymmetry", fairness.asymmetry, _asymmetry),
    _fairness("unfairness", fairness.unfairness),
    _fairness("max_min_ratio", fairness.max_min_ratio, _max_min),
    _fairness("product_measure_bps", fairness.product_measure),
    _fairness("epsilon", fairness.epsilon),
    Metric("delta_fair_time_s", SERIES, dynamics.delta_fair_time_s, _delta_fair),
    _of_bins("largest_reduction", dynamics.largest_reduction, max),
    _of_bins("largest_increase_bps", dynamics.largest_increase_bps, max),
    _of_bins("coefficient_of_variation", dynamics.coefficient_of_variation, _mean),
    Metric("power", COUNTERS, rates.power, _power, "bit/s²"),
    _counted("tcp_efficiency_percent", rates.tcp_efficiency_percent, "retransmitted_segments"),
    Metric("buffer_delay_percent", SERIES, rates.buffer_delay_percent, _buffer_delay),
    Metric("aggregate_reduction", SERIES, parallel.aggregate_reduction,
           lambda of: parallel.aggregate_reduction(of.run.sampled("series"), of.ids)),
)  # fmt: skip

#: Metrics of a link.
OF_LINKS = tuple(
    Metric(f"p{percent}_queue_delay_s", SERIES, dynamics.percentile, _queue_delay(percent))
    for percent in (50, 95, 99)
)

#: Functions of what no single run has: of two runs, of theory, of a time that a user knows.
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    rates.slowdown,
    losses.loss_events,
    fairness.max_min_rates,
    fairness.harm,
    dynamics.responsiveness_bins,
    dynamics.delta_fair_acks,
)


@functools.cache
def by_name(of_links: bool) -> dict[str, Metric]:
    """Metrics of flows, or of links, by name."""
    return {metric.name: metric for metric in (OF_LINKS if of_links else OF_FLOWS)}
