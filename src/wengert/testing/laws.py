"""Checks of the laws of a `Do` and of a differentiable type, on samples.

Knows: which laws there are (`control.laws`, `delta.check_additive`) and how to compare data of any type.
Refuses to know: how anything is made; everything is given.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from wengert.arrays import HOST, Value, form_of, is_array, shape_of
from wengert.control import Do
from wengert.control.laws import (
    Events,
    Handler,
    Make,
    Then,
    associativity,
    failure_stops,
    gather_keeps,
    left_identity,
    map_is_flat_map,
    observe,
    recover_is_associative,
    recover_of_fail,
    recover_of_now,
    releases,
    right_identity,
)
from wengert.delta import Parameter, check_additive, zero
from wengert.differentiable import DeepLearning, Tape
from wengert.graph.products import is_product, leaves_of

try:  # optional: it pickles closures, of which most `Do`s are made; without it only data are checked
    from cloudpickle import dumps as pickled_do
except ImportError:
    pickled_do = None

__all__ = ["check_laws", "check_type_laws"]

A = TypeVar("A")
X = TypeVar("X")
D = TypeVar("D")
E = TypeVar("E")
Same = Callable[[Any, Any], bool]  # Any: data and deltas of every type


def _again(events: Events, value: A) -> Do[A]:
    return Do.now(value)


def check_laws(
    make: Make[A],
    then: Then[A, A] = _again,
    after: Then[A, A] = _again,
    handler: Handler[A] = lambda events, failure: Do.fail(failure),
) -> None:
    """The laws of effects for the `Do` that `make(events)` gives, which writes what it does into `events`.

    Monad, `recover`, `gather` and release; `then` and `after` go on with a value, `handler` with a failure.
    Raises AssertionError with both sides of the first law that does not hold.

    >>> check_laws(lambda events: Do.delay(lambda: len(events)))
    """
    failure = ValueError("a sample failure")
    right_identity(make)
    associativity(make, then, after)
    map_is_flat_map(make, lambda value: (value,))
    recover_of_fail(failure, handler)
    recover_of_now(make, handler)
    recover_is_associative(make, handler, handler)
    failure_stops(failure, then)
    gather_keeps(make)
    releases(lambda events: make(events).flat_map(lambda value: then(events, value)))
    seen = observe(make)
    if seen.failure is None:
        left_identity(cast(A, seen.value), then)


def check_type_laws(
    evidence: DeepLearning[X, D, E],
    samples: Sequence[X],
    *,
    deltas: Sequence[E] = (),
    same: Same | None = None,
) -> None:
    """The laws of a differentiable type, for its evidence (what `register` gives) and some of its values.

    `zero(data)` is neutral and addition of deltas is associative and commutative; forward twice gives equal
    data; a tape takes a delta; data, deltas and, where cloudpickle is installed, the `Do` survive pickling.
    `deltas` are samples of Delta; without them, data stand in where zero and data are of one type. `same`
    compares two data or two deltas, by default with `==`. Weights in samples are updated by the deltas that they get.
    Of data that a weight can hold (`extend.Parameter`) a zero step changes nothing, a step leaves the form of array and
    deltas alone and the data before it as they were, and the array of each gives it back.
    Raises AssertionError that names law and sample.

    >>> import wengert as wg
    >>> class Percent(int): ...
    >>> @wg.register(Percent)
    ... def percent(x: Percent) -> Do[Tape[float, float]]:
    ...     return Do.now(Tape(x / 100, lambda delta: wg.UnitContinuation.now(None)))
    >>> check_type_laws(percent, [Percent(50), Percent(300)])
    """
    agree = same or equal_data
    for x in samples:
        data = evidence.forward(x).map(lambda tape: tape.data).run()
        _check_forward(evidence, x, data, agree)
        nothing = zero(data)
        found: list[Any] = list(deltas) or ([data] if _one_type(nothing, data) else [])  # Any: a Delta
        _check_addition(nothing, found, agree)
        _check_pickle(data, f"the data of {x!r}", agree)
        _check_do_pickles(evidence, x, data, agree)
        if isinstance(data, Parameter):
            _check_parameter(data, [nothing, *deltas], agree)
        for delta in (nothing, *found):
            _check_pickle(delta, f"a delta of {x!r}", agree)
            _check_tape(evidence, x, delta)  # the last: a sample that learns has other data then


def equal_data(a: Value, b: Value) -> bool:
    """Equal in type, shape and every element; products leaf by leaf."""
    if type(a) is not type(b):
        return False
    if is_product(a):
        ours, theirs = leaves_of(a)[0], leaves_of(b)[0]
        return len(ours) == len(theirs) and all(map(equal_data, ours, theirs))
    if is_array(a):
        return a.dtype == b.dtype and shape_of(a) == shape_of(b) and bool(HOST.to_host(a == b).all())
    return bool(a == b)


def _one_type(nothing: object, data: object) -> bool:
    return type(nothing) is type(data) and shape_of(nothing) == shape_of(data)


def _check_forward(evidence: DeepLearning[X, D, E], x: X, data: D, same: Same) -> None:
    again = evidence.forward(x).map(lambda tape: tape.data).run()
    assert same(data, again), f"forward of {x!r} gave {data!r}, and when run again {again!r}"
    do = evidence.forward(x)
    first, second = (do.map(lambda tape: tape.data).run() for _ in range(2))
    assert same(first, second), f"one Do of the tape of {x!r} gave {first!r}, and when run again {second!r}"


def _check_addition(nothing: Any, deltas: Sequence[Any], same: Same) -> None:  # Any: Delta of every type
    """The laws of a Delta; those of a product hold if they hold for each of its fields."""
    if not is_product(nothing):
        check_additive(nothing, list(deltas), same)
        return
    columns = zip(*(leaves_of(delta)[0] for delta in deltas), strict=True) if deltas else ()
    for neutral, leaves in zip(leaves_of(nothing)[0], columns, strict=False):
        check_additive(neutral, list(leaves), same)


# Any: of every type
def _check_parameter(data: Parameter[Any, Any], steps: Sequence[Any], same: Same) -> None:
    """The laws of what a weight holds."""
    still = data.stepped(steps[0])
    assert same(still, data), f"a step of zero makes {still!r} of {data!r}"
    for step in steps:
        before = pickle.dumps(data)
        made = data.stepped(step)
        assert pickle.dumps(data) == before, f"a step changes {data!r} in place; give another value"
        for x in (data, made):
            forms = [form_of(y) for y in (x.to_array(), data.to_array(), zero(x), zero(data))]
            assert None not in forms, f"the array or the delta of {x!r} is neither a number nor an array"
            assert forms[0] == forms[1] and forms[2] == forms[3], (
                f"a step of {step!r} leads to another form: {x!r}"
            )
            back = x.from_array(x.to_array())
            assert same(x, back), f"{x!r} is {back!r} after to_array and from_array"


def _check_tape(evidence: DeepLearning[X, D, E], x: X, delta: E) -> None:
    def send(tape: Tape[D, E]) -> None:
        assert isinstance(tape, Tape), f"forward of {x!r} gave {tape!r}, which is no Tape"
        tape.backward(Do.now(delta)).run()

    evidence.forward(x).map(send).run()


def _check_pickle(value: object, what: str, same: Same) -> None:
    back = pickle.loads(pickle.dumps(value))
    assert same(value, back), f"{what} is {value!r}, and {back!r} after pickling"


def _check_do_pickles(evidence: DeepLearning[X, D, E], x: X, data: D, same: Same) -> None:
    if pickled_do is None:
        return
    back = pickle.loads(pickled_do(evidence.forward(x))).map(lambda tape: tape.data).run()
    assert same(data, back), f"the Do of {x!r} gives {data!r}, and {back!r} after pickling"
