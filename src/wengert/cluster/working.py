"""Work of a worker on a message: a shard of a step, as a pure function of what the message has.

Knows: that structures and the settings of weights are kept by their keys, so that they are read once; that the data of
weights are read for one evaluation and let go of; which bits this process computes.
Refuses to know: who sent the message, and what becomes of the answer.
"""

from __future__ import annotations

import platform
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache, partial
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

from wengert.arrays import Value
from wengert.arrays.agreement import fingerprint
from wengert.arrays.pools import called_on_one_blas_thread
from wengert.cluster.engine import SharedRef
from wengert.control import Context, Do, Executor, Steps
from wengert.graph.kinds import Column
from wengert.graph.node import Expression
from wengert.graph.store import Ref as Cell
from wengert.graph.weights import Buffer, Weight
from wengert.run.shards import Shard
from wengert.saving.portable import Portable
from wengert.version import __version__

V = TypeVar("V")
_KEPT: Final = 64  # structures and models that a worker keeps
_MAKERS: Final = {Column.DOUBLE: "double_weight", Column.FLOAT: "float_weight", Column.OTHER: "data_weight"}


class WorkerIdentity(NamedTuple):
    """Common ground of processes that compute the same: code, and bits of fixed numbers."""

    code: str
    bits: str


@cache
def identity() -> WorkerIdentity:
    """That of this process."""
    return WorkerIdentity(
        f"wengert {__version__}, Python {platform.python_version()}", called_on_one_blas_thread(fingerprint)
    )


class WeightSpec(NamedTuple):
    """A weight without its data and its optimizer's state."""

    settings: Any  # Any: what a user put together
    make: str
    name: str

    def weight(self, data: Value) -> Weight:
        """A weight with these data."""
        made: Weight = getattr(self.settings, self.make)(data, name=self.name)
        return made


def spec_of(weight: Weight) -> WeightSpec:
    """The spec of one weight."""
    make = "buffer" if isinstance(weight, Buffer) else _MAKERS.get(weight.kind.column, "array_weight")
    return WeightSpec(weight.settings, make, weight.name)


class CachedRef(NamedTuple):
    """A value that is read once in each process: its key there, and where to read it."""

    key: str
    value: SharedRef[Any]  # Any: structures, and specs of weights


class Task(NamedTuple):
    """A shard: its structure, its literals, its weights by their places among all of the step, and their data."""

    structure: CachedRef
    literals: tuple[Value, ...]
    places: tuple[int, ...]
    specs: CachedRef
    data: SharedRef[Sequence[Value]]
    back: bool
    executor: Callable[[], Executor]


class Computed(NamedTuple):
    """The answer to a task: the value, deltas by the places of their weights, by whom, and in how many seconds."""

    value: Value
    deltas: tuple[tuple[int, Value], ...]
    by: WorkerIdentity
    seconds: float


class _Models(NamedTuple):
    """Structures and models that this process keeps, the latest last."""

    structures: OrderedDict[str, bytes]
    weights: OrderedDict[str, list[Weight]]


_models: Final = _Models(OrderedDict(), OrderedDict())
_executors: Final[dict[object, Executor]] = {}


def _once(table: OrderedDict[str, V], key: str, make: Callable[[], V]) -> V:
    found = table.pop(key) if key in table else make()
    table[key] = found
    if len(table) > _KEPT:
        table.popitem(last=False)
    return found


def compute(task: Task) -> Computed:
    """Compute a shard, with one thread of BLAS."""
    return called_on_one_blas_thread(partial(_computed, task))


def _computed(task: Task) -> Computed:
    structure = _once(_models.structures, task.structure.key, task.structure.value.read)
    data = task.data.read()
    weights = _once(_models.weights, task.specs.key, partial(_made, task.specs.value, data))
    began = monotonic()  # what is read may be late for reasons of its own, such as a machine that has died
    try:
        for weight, x in zip(weights, data, strict=True):
            weight.ref = Cell(x)
        own = tuple(weights[i] for i in task.places)
        loss = Portable[Expression](task.structure.key, structure, task.literals, own).expression()
        if task.executor not in _executors:
            _executors[task.executor] = task.executor()
        found: Shard = Do.program(partial(_asked, loss, task.back)).run(_executors[task.executor])
        places = {id(weight): i for i, weight in enumerate(weights)}
        deltas = tuple((places[id(weight)], delta) for weight, delta in found.deltas.items())
        return Computed(found.value, deltas, identity(), monotonic() - began)
    finally:
        for weight in weights:
            weight.ref = Cell(None)


def _made(specs: SharedRef[Sequence[WeightSpec]], data: Sequence[Value]) -> list[Weight]:
    return [spec.weight(x) for spec, x in zip(specs.read(), data, strict=True)]


def _asked(loss: Expression, back: bool, context: Context) -> Steps[Shard]:
    (found,) = yield from context.run.executor.shards((loss,), back, context)
    shard: Shard = found
    return shard
