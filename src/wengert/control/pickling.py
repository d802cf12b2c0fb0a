"""How a `Do` crosses a process boundary (S14): a chain of any length goes as a list, so that it needs no stack.

Knows: the kinds of `Do` that have one source and perhaps a function.
Refuses to know: what a pickle is for.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any

from wengert.control.do import Do
from wengert.control.kinds import FlatMap, Map, Nested, Recover

# A kind, and what it takes beside its source. Any: chains are of all types.
Step = tuple[Callable[..., Do[Any]], tuple[Any, ...]]

_TAKES: dict[type[Do[Any]], tuple[str, ...]] = {  # Any: as above
    Map: ("transform",),
    FlatMap: ("then",),
    Recover: ("handler",),
    Nested: (),
}


def _reduced(do: Do[Any]) -> tuple[Callable[..., Do[Any]], tuple[Any, ...]]:  # Any: as above
    steps: list[Step] = []
    link: Any = do  # Any: the links have different slots
    while type(link) in _TAKES:
        steps.append((type(link), tuple(getattr(link, name) for name in _TAKES[type(link)])))
        link = link.source
    return _built, (link, steps[::-1])


def _built(do: Do[Any], steps: list[Step]) -> Do[Any]:  # Any: as above
    for kind, arguments in steps:
        do = kind(do, *arguments)
    return do


for _kind in _TAKES:
    copyreg.pickle(_kind, _reduced)
