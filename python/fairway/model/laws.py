"""Throughput laws: what one stream gets where losses, its window or its own queue limit it.

Every parameter is a number or an array of numbers, and arrays are broadcast together. The answer
has the results by name, each with its unit at the end, and says where the law may be believed: see
`fairway.model.answer.Answer`. Equations and ranges are those of `describe`;
there is a function for each law, with the parameters and defaults of its declaration in
`crates/model`.

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

import inspect
from collections.abc import Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from fairway.model.answer import Answer, ask, describe

__all__ = ["ask", "describe"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Answer]: ...


def _function(law: str, entry: Mapping[str, Any]) -> Callable[..., Answer]:
    """The function of a law, with its parameters, its defaults and what it says of both."""
    signature = inspect.Signature(
        [
            inspect.Parameter(
                one["name"],
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=_default(one),
                annotation=ArrayLike,
            )
            for one in entry["parameters"]
        ],
        return_annotation=Answer,
    )

    def function(*args: ArrayLike, **given: ArrayLike) -> Answer:
        return ask(law, **signature.bind(*args, **given).arguments)

    parameters = "\n".join(f"    {one['name']}: {one['meaning']}" for one in entry["parameters"])
    results = ", ".join(f"`{one['name']}`" for one in entry["results"])
    function.__doc__ = (
        f"{entry['title']}.\n\nArgs:\n{parameters}\n\n"
        f"Results: {results}.\nSource: {entry['source']}."
    )
    function.__name__ = function.__qualname__ = _name(law)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _default(parameter: Mapping[str, Any]) -> Any:
    if parameter["is_required"]:
        return inspect.Parameter.empty
    # JSON has no infinity: null stands for no limit.
    return inf if parameter["default"] is None else parameter["default"]


def _name(law: str) -> str:
    """The name of a law as Python can write it."""
    return law.replace("+path", "_path").replace("+", "_plus").replace("-", "_")


for _law, _entry in describe().items():
    globals()[_name(_law)] = _function(_law, _entry)
