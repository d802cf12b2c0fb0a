"""New data for weights from elsewhere: `assign` puts values in their place, `apply` sends deltas to their optimizers.

Knows: which values and deltas a weight can take; that an assignment is a delta which replaces, so that both add to
what else a run commits.
Refuses to know: when the commit is; the executor of the run does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from typing_extensions import TypeVar

from wengert.arrays import Value, freeze, is_array
from wengert.control import Do
from wengert.control.do import Question
from wengert.errors import ShapeError
from wengert.graph.binding import Numbers, by_weight, checked_data
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, Replacement, read_only
from wengert.site import user_position

W = TypeVar("W", bound=Weight)
N = TypeVar("N", bound=Numbers)
G = TypeVar("G", bound="Numbers | LazyDelta")


# Two each: a dictionary that is written at the call has keys of whatever classes, one that has a type has its own.
@overload
def assign(values: Mapping[Weight, Numbers], /) -> Do[None]: ...
@overload
def assign(values: Mapping[W, N], /) -> Do[None]: ...
def assign(values: Mapping[Any, Any], /) -> Do[None]:  # Any: typed by the overloads
    """Give weights new data, all in one commit; their optimizers keep their state.

    What a `gather` has beside it, trainings too, is one transaction with it, and sees the weights as they were. Arrays
    are copied once, at the call. A weight that is assigned and trained in one run, or assigned twice, fails the run.

    Raises at the call: ArgumentError for a key that is no weight; ShapeError, DTypeError, DeviceError for data that
    are not of the weight's shape, dtype and device.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> assign({w: 3.0}).run()
    >>> w.data
    3.0
    """
    return Question("apply", {w: _assigned(w, x) for w, x in by_weight("assign", values)})


@overload
def apply(deltas: Mapping[Weight, Numbers | LazyDelta], /) -> Do[None]: ...
@overload
def apply(deltas: Mapping[W, G], /) -> Do[None]: ...
def apply(deltas: Mapping[Any, Any], /) -> Do[None]:  # Any: typed by the overloads
    """Take one step with deltas that were computed elsewhere, each through its weight's optimizer, all in one commit.

    In a run that trains, too, they are added to what that finds. A `LazyDelta` of rows stays one. Arrays are copied.
    Raises at the call as `assign`; a delta has its weight's shape, dtype and device.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> apply({w: 3.0}).run()
    >>> w.data
    0.5
    """
    return Question("apply", {w: _sent(w, d) for w, d in by_weight("apply", deltas)})


def _frozen(who: str, w: Weight, x: Value) -> Value:
    data = checked_data(who, w, x)
    return freeze(data) if is_array(data) else data


def _assigned(w: Weight, x: Value) -> LazyDelta:
    return LazyDelta([Replacement(_frozen("assign", w, x), frozen=True)])


def _sent(w: Weight, delta: Value) -> Value:
    if not isinstance(delta, LazyDelta):
        return _frozen("apply", w, delta)
    assert w.kind.shape is not None, "a weight has data"
    try:
        delta.check(w.kind.shape)
    except ShapeError as error:
        raise ShapeError(f"apply: for {w!r}: {error}\n  at {user_position()}") from None
    return read_only(delta)
