"""Types of the values in `study.toml` and `claims.toml`; which keys there are, `files` says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.ground.shape import NUMBER, Each, Either, Maybe

_TEXTS = Either((str, [str]))
_NAMES = Maybe(Each(str))
#: Any value; a truth value is named beside the others, as it is none of them.
_ANYTHING = (object, bool)
#: A value that an experiment file may have, which the reader of experiments checks.
_ANY = Maybe(Each(_ANYTHING))
#: One for all, or for a value of an axis each.
_COUNT = Maybe(Either((int, dict)))


def _of(texts: str, **others: Any) -> Mapping[str, Any]:
    """A table of keys that may be missing: names of texts, and others with their types."""
    return {name: Maybe(str) for name in texts.split()} | others


_COLUMN = _of(
    "metric title file column column_axis mean_over",
    match=_NAMES, columns=_NAMES, scale=Maybe(NUMBER), at=_ANY,
)  # fmt: skip

STUDY = _of(
    "title source question summary experiment backend",
    axes=Maybe(Each([_ANYTHING])),
    scenarios=Maybe(Each(Each(_ANYTHING))),
    names=_NAMES,
    set=_ANY,
    repetitions=_COUNT,
    points=Maybe(_of("file", match=_NAMES)),
    quick=Maybe(
        _of(
            "note", axes=Maybe(Each([_ANYTHING])), set=_ANY, repetitions=_COUNT,
            leave_out=Maybe([str]),
        )
    ),
    compare=Maybe([_COLUMN]),
    reference=Maybe([_COLUMN]),
    figure=Maybe(
        [
            _of(
                "kind title axis x y group color reference",
                metric=Maybe(_TEXTS), panel=Maybe(_TEXTS), quantity=Maybe(_TEXTS), at=_ANY,
                beside=_NAMES, excess=Maybe(bool), log=Maybe(bool), from_s=Maybe(NUMBER),
                until_s=Maybe(NUMBER), within=Maybe(NUMBER), limit=Maybe(NUMBER),
                trend=Maybe(NUMBER),
            )
        ]
    ),
)  # fmt: skip

#: Tests of claims have types of their own (`claims.kinds`).
CLAIMS = {
    "claim": Maybe(
        [_of("id statement where family", test=Maybe([Each(_ANYTHING)]), unknown=Maybe(_ANYTHING))]
    )
}
