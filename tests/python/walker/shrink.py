"""Makes a find smaller: fewer acts, fewer options, fewer keys, as long as the same law breaks."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from walker import draw
from walker.acts import Act, Walk
from walker.draw import Document


def smaller(walk: Walk, still: Callable[[Walk], bool], seconds: float) -> Walk:
    """The smallest walk that was found in so many seconds of which `still` is true."""
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in _candidates(walk):
            if time.monotonic() > end:
                return walk
            if still(candidate):
                walk, progress = candidate, True
                break
    return walk


def _candidates(walk: Walk) -> Iterator[Walk]:
    """Walks that are one step smaller, those that drop most first."""
    for act in walk.acts:
        yield walk.without(act)
    for act in walk.acts:
        for simpler in _simpler(act):
            yield replace(walk, acts=tuple(simpler if one is act else one for one in walk.acts))
    named = {word for act in walk.acts for word in act.words}
    for name, document in walk.documents.items():
        if name not in named:
            yield replace(walk, documents={k: v for k, v in walk.documents.items() if k != name})
            continue
        for less in _fewer_keys(document):
            if not draw.plan_errors(less):
                yield replace(walk, documents={**walk.documents, name: less})


def _simpler(act: Act) -> Iterator[Act]:
    if act.interrupt is not None:
        yield replace(act, interrupt=None)
    if act.options:
        yield replace(act, options=())
        for at in range(0, len(act.options), 2):
            yield replace(act, options=act.options[:at] + act.options[at + 2 :])
    if act.width is not None:
        yield replace(act, width=None)


def _fewer_keys(document: Document) -> Iterator[Document]:
    """Documents with one table, element or key less, large ones first."""
    for path in sorted(_places(document), key=len):
        less = copy.deepcopy(document)
        node = less
        for part in path[:-1]:
            node = node[part]
        del node[path[-1]]
        yield less


def _places(node: object, above: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    items = (
        node.items() if isinstance(node, dict)
        else enumerate(node) if isinstance(node, list)
        else ()
    )  # fmt: skip
    for name, value in items:
        yield (*above, name)
        yield from _places(value, (*above, name))
