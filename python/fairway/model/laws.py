"""Throughput laws: what one stream gets where losses, its window or its own queue limit it.

Every parameter is a number or an array of numbers, and arrays are broadcast together. The answer
has the results by name, each with its unit at the end, and says where the law may be believed: see
`fairway.model.answer.Answer`. Equations and ranges are those of `describe`.

Parameters that have the same meaning in all laws: `loss` is the probability that a packet is lost
(where losses are periodic, one in every 1/loss packets), `rtt_s` the round-trip time, `rto_s` the
first retransmission timeout, `packets_per_ack` the packets for each acknowledgement by which the
window grows (1 in Linux, which counts packets), `window_limit_packets` the limit of the window,
`capacity_pps` what the bottleneck carries, `buffer_packets` its buffer.

All raise ValueError if a quantity makes no sense: it names the quantity, and the first index at
which it does so.

>>> round(mathis(loss=0.01, rtt_s=0.1).window_packets, 2)
12.25
>>> cubic(loss=[1e-4, 1e-6], rtt_s=0.1).rate_pps.round()
array([ 1874., 59261.])
"""

from __future__ import annotations

from fairway.model.answer import ask, describe
from fairway.model.loss_laws import (
    aimd,
    bic,
    bic_large,
    bic_linux,
    bic_small,
    cardwell,
    cubic,
    highspeed,
    htcp,
    hybla,
    mathis,
    pftk,
    reno_balance,
    scalable,
    scalable_linux,
    westwood_path,
    westwood_plus,
)
from fairway.model.share_laws import (
    bbr_share,
    dctcp,
    dctcp_marks,
    fast,
    hybla_growth,
    late_joiner,
    ledbat,
    tcp_ceiling,
    udp,
    vegas,
)

__all__ = [
    "aimd",
    "ask",
    "bbr_share",
    "bic",
    "bic_large",
    "bic_linux",
    "bic_small",
    "cardwell",
    "cubic",
    "dctcp",
    "dctcp_marks",
    "describe",
    "fast",
    "highspeed",
    "htcp",
    "hybla",
    "hybla_growth",
    "late_joiner",
    "ledbat",
    "mathis",
    "pftk",
    "reno_balance",
    "scalable",
    "scalable_linux",
    "tcp_ceiling",
    "udp",
    "vegas",
    "westwood_path",
    "westwood_plus",
]
