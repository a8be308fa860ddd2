"""What the files of a run have in them, as `fairway.ground.shape.problem` takes it."""

from __future__ import annotations

from typing import Any

from fairway.ground import result_schema
from fairway.ground.shape import (
    COUNT_OR_NONE,
    NUMBER,
    NUMBER_OR_NONE,
    TEXT_OR_NONE,
    Distinct,
    Each,
    Either,
    Maybe,
)
from fairway.model.beside import OF_FLOWS, OF_LINKS

#: What every summary says of the user's own algorithms.
_ALGORITHMS = Each({"class": str, "file": TEXT_OR_NONE, "sha256": TEXT_OR_NONE})
#: What models say of a flow or link beside what was measured (`fairway.model.beside`).
_PREDICTED = {"id": str, "model": str, "in_range": bool, "outside": TEXT_OR_NONE,
              "residual": Each(NUMBER_OR_NONE)}  # fmt: skip
_BESIDE = {
    "sources": Each(str),
    "flows": [{**_PREDICTED, **dict.fromkeys(OF_FLOWS, NUMBER_OR_NONE)}],
    "links": [{**_PREDICTED, **dict.fromkeys(OF_LINKS, NUMBER_OR_NONE)}],
    "metrics": {"residual": Each(NUMBER_OR_NONE)},
}
#: What a program did (`crates/linux/src/commands.rs`).
_PROGRAM = {
    "id": str,
    "host": str,
    "command": [str],
    **dict.fromkeys(("started_s", "ended_s"), NUMBER_OR_NONE),
    **dict.fromkeys(("exit_code", "signal"), COUNT_OR_NONE),
    "failure": TEXT_OR_NONE,
    **dict.fromkeys(("stdout", "stderr"), str),
}
#: What every summary has, as `fairway.ground.shape.problem` takes it.
SUMMARY_SHAPE = {
    **result_schema.shape("summary"),
    # Sweeps add metrics.
    "metrics": Each(NUMBER_OR_NONE),
    "wall_s": Maybe(NUMBER),
    "warnings": Maybe([str]),
    "algorithms": Maybe(_ALGORITHMS),
    "programs": Maybe([_PROGRAM]),
    "model": Maybe(Either(({"refused": [str]}, _BESIDE))),
}
#: What a real transfer's summary has besides.
TRANSFER_SHAPE = {
    "transfer": {
        "end": str,
        "duration_s": NUMBER,
        "interval_s": NUMBER,
        "payload_bytes": int,
        "connections": int,
        "cpu": {"user_s": NUMBER, "system_s": NUMBER},
        "path": {
            "min_rtt_s": NUMBER_OR_NONE,
            "most_throughput_bps": NUMBER,
            "receive_window_limited": NUMBER_OR_NONE,
        },
        "flows": [{"id": str, "start_s": NUMBER, "payload_bytes": int}],
    }
}
_ANSWER = {"name": str, "source": str, "in_range": bool, "outside": TEXT_OR_NONE}


def _of_model(table: str) -> dict[str, Any]:
    """Flows or links of a model, which counts nothing."""
    counts = (one.name for one in result_schema.columns(table).values() if one.kind == "count")
    return {**result_schema.shape(table), **dict.fromkeys(counts, COUNT_OR_NONE), "model": _ANSWER}


_MODEL_SHAPE = {
    **SUMMARY_SHAPE,
    "packets": COUNT_OR_NONE,
    "flows": Distinct(_of_model("flows"), "id"),
    "applications": Maybe(list),
    "links": Distinct(_of_model("links"), "id"),
}
MANIFEST_SHAPE = {
    "experiment": dict,
    "version": str,
    "backend": str,
    "content_hash": str,
    "algorithms": Maybe(_ALGORITHMS),
}


def shape_of(backend: str | None) -> dict[str, Any]:
    """What every summary of a backend has, as `fairway.ground.shape.problem` takes it."""
    return _MODEL_SHAPE if backend == "model" else SUMMARY_SHAPE
