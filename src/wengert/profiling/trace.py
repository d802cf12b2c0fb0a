"""A profile as a trace: JSON that chrome://tracing and Perfetto open.

Knows: the Trace Event Format: complete events (`X`), which nest on a thread by their times, and pairs (`b`, `e`) for
what may overlap.
Refuses to know: where the events come from.

Source: "Trace Event Format", the Chromium project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from operator import attrgetter
from typing import TypeAlias

from wengert.graph.operation import CELL
from wengert.profiling.record import Event, Record, Thread, plain

_Json: TypeAlias = dict[str, object]
_Arguments: TypeAlias = dict[tuple[int, int, int], _Json]  # of the events with one signature and origin
_start = attrgetter("start")


def write(record: Record, path: str | os.PathLike[str]) -> None:
    """The trace as a file, an event a line; times are in microseconds."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
        for event in _events(record):
            file.write(json.dumps(event) + ",\n")
        file.write(json.dumps(_named("process_name", 0, "wengert")))
        file.write(f'\n], "otherData": {{"events left out": {record.dropped}}}}}\n')


def _events(record: Record) -> Iterator[_Json]:
    for thread in tuple(record.threads):
        yield _named("thread_name", thread.number, thread.name)
        known: _Arguments = {}
        for event in sorted(thread.events, key=_start):
            key = (id(event.signature), id(event.origin[0]), event.origin[1])  # the events keep both alive
            if key not in known:
                known[key] = _arguments(event)
            yield from _written(event, thread, known[key])


def _named(what: str, thread: int, name: str) -> _Json:
    return {"ph": "M", "name": what, "pid": os.getpid(), "tid": thread, "args": {"name": name}}


def _written(event: Event, thread: Thread, arguments: _Json) -> Iterator[_Json]:
    common = {"name": plain(event.name), "cat": event.part, "pid": os.getpid(), "tid": thread.number}
    start, elapsed = event.start / 1e3, event.elapsed / 1e3
    if event.number is None:
        yield {**common, "ph": "X", "ts": start, "dur": elapsed, "args": arguments}
    else:
        yield {**common, "ph": "b", "id": event.number, "ts": start, "args": arguments}
        yield {**common, "ph": "e", "id": event.number, "ts": start + elapsed}


def _arguments(event: Event) -> _Json:
    arguments: _Json = {"line": event.line} if event.line else {}
    signature = event.signature
    if signature is not None:
        arguments["operands"] = [kind.text() for kind in signature.kinds]
        arguments["result"] = signature.kind.text()
        if signature.mode != CELL:  # whose arguments are a whole structure
            arguments |= {name: repr(value) for name, value in signature.attributes}
    return arguments
