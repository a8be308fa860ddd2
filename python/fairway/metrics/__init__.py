"""Metrics: each one function from what was traced to a number, and by name for sweeps and studies.

The functions here are for values that a user gathers. `measure` reads a number of a run by its
name; `docs/metrics.md` lists all names, with units, sources and what each needs.
"""

from fairway.metrics.dynamics import (
    coefficient_of_variation,
    delta_fair_acks,
    delta_fair_time_s,
    largest_increase_bps,
    largest_reduction,
    mean_one_way_delay_s,
    percentile,
    responsiveness_bins,
)
from fairway.metrics.fairness import (
    asymmetry,
    epsilon,
    harm,
    jain_index,
    max_min_rates,
    max_min_ratio,
    product_measure,
    unfairness,
)
from fairway.metrics.losses import (
    duplicate_ratio,
    loss_event_rate,
    loss_events,
    loss_of_received,
    loss_of_sent,
    loss_rate,
    loss_synchronisation,
    packet_delivery_ratio,
    retransmission_ratio,
)
from fairway.metrics.parallel import aggregate_reduction
from fairway.metrics.rates import (
    buffer_delay_percent,
    completion_s,
    nai_per_s,
    payload_utilisation,
    power,
    rate_bps,
    slowdown,
    tcp_efficiency_percent,
    throughput_ratio,
    transfer_time_ratio,
)
from fairway.metrics.reading import all_of_outcome, measure, of_outcome

__all__ = [
    "aggregate_reduction",
    "all_of_outcome",
    "asymmetry",
    "buffer_delay_percent",
    "coefficient_of_variation",
    "completion_s",
    "delta_fair_acks",
    "delta_fair_time_s",
    "duplicate_ratio",
    "epsilon",
    "harm",
    "jain_index",
    "largest_increase_bps",
    "largest_reduction",
    "loss_event_rate",
    "loss_events",
    "loss_of_received",
    "loss_of_sent",
    "loss_rate",
    "loss_synchronisation",
    "max_min_rates",
    "max_min_ratio",
    "mean_one_way_delay_s",
    "measure",
    "nai_per_s",
    "of_outcome",
    "packet_delivery_ratio",
    "payload_utilisation",
    "percentile",
    "power",
    "product_measure",
    "rate_bps",
    "responsiveness_bins",
    "retransmission_ratio",
    "slowdown",
    "tcp_efficiency_percent",
    "throughput_ratio",
    "transfer_time_ratio",
    "unfairness",
]
