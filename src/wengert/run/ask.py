"""The questions that a person asks of expressions, `predict` and `train`; `assign` and `apply` of weights; `update`.

Knows: their types; that only scalar losses are trained; which values and deltas a weight can take, and that an
assignment is a delta which replaces, so that both add to what else a run commits; that an update of a buffer is an
assignment of what the run computes.
Refuses to know: who answers, and when the commit is; the executor of the run does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias, overload

from wengert.arrays import (
    ArrayLiteral,
    Cpu,
    Dv,
    Float32,
    Gpu,
    GpuArray,
    Host,
    HostArray,
    S,
    T,
    Value,
    freeze,
    is_array,
    shape_of,
)
from wengert.control import Do
from wengert.control.do import Question
from wengert.delta import zero
from wengert.differentiable import Differentiable
from wengert.errors import ArgumentError, NotDifferentiableError, ShapeError
from wengert.generics import TypeVar
from wengert.graph.answers import Inner, NamedFields, Structure, Values
from wengert.graph.binding import Data, Numbers, by_weight, checked_data
from wengert.graph.binding import at as bound_to
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayOperand,
    DoubleExpression,
    FloatExpression,
    Predictable,
    ScalarLoss,
    ScalarOperand,
)
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Foreign, asked, check_scalar_loss
from wengert.graph.operand import lift_any
from wengert.graph.products import is_product, with_also
from wengert.graph.weights import Buffer, Weight
from wengert.lazy import LazyDelta, Replacement, read_only
from wengert.ops.buffers import with_update
from wengert.site import user_position

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
Z = TypeVar("Z")
# Any: every dtype, device
Loss: TypeAlias = ArrayOperand[tuple[()], Any, Any] | DoubleExpression | FloatExpression
W = TypeVar("W", bound=Weight)
N = TypeVar("N", bound=Numbers)
G = TypeVar("G", bound="Numbers | LazyDelta")
M = TypeVar("M", bound=Structure)
F = TypeVar("F", bound=NamedFields)


# No two of these fit one layer: where a type holds `Any`, mypy answers `Any` to two matches.
@overload
def predict(x: Predictable[A], /, *, at: Data | None = None) -> Do[A]: ...
@overload
def predict(x: F, /, *, at: Data | None = None) -> Do[Values[F]]: ...
@overload
def predict(x: tuple[Predictable[A], Predictable[B]], /, *, at: Data | None = None) -> Do[tuple[A, B]]: ...
@overload
def predict(
    x: tuple[Predictable[A], Predictable[B], Predictable[C]], /, *, at: Data | None = None
) -> Do[tuple[A, B, C]]: ...
@overload
def predict(
    x: tuple[Predictable[A], Predictable[B], Predictable[C], Predictable[D]], /, *, at: Data | None = None
) -> Do[tuple[A, B, C, D]]: ...
@overload
def predict(
    x: tuple[
        Predictable[A],
        Predictable[B],
        Predictable[C],
        Predictable[D],
        Predictable[E],
        *tuple[Predictable[E], ...],
    ],
    /,
    *,
    at: Data | None = None,
) -> Do[tuple[A, B, C, D, E, *tuple[E, ...]]]: ...
@overload
def predict(x: tuple[Predictable[A]], /, *, at: Data | None = None) -> Do[tuple[A]]: ...
@overload
def predict(x: tuple[()], /, *, at: Data | None = None) -> Do[tuple[()]]: ...
@overload  # Any: data in structures within; the mypy plugin says of which types
def predict(
    x: tuple[Inner, *tuple[object, ...]], /, *, at: Data | None = None
) -> Do[tuple[Any, *tuple[Any, ...]]]: ...
@overload
def predict(
    x: tuple[Predictable[A], Inner, *tuple[object, ...]], /, *, at: Data | None = None
) -> Do[tuple[A, *tuple[Any, ...]]]: ...
@overload
def predict(
    x: tuple[Predictable[A], Predictable[B], Inner, *tuple[object, ...]], /, *, at: Data | None = None
) -> Do[tuple[A, B, *tuple[Any, ...]]]: ...
@overload
def predict(x: DoubleExpression, /, *, at: Data | None = None) -> Do[float]: ...
@overload
def predict(x: FloatExpression, /, *, at: Data | None = None) -> Do[Float32]: ...
@overload
def predict(
    x: ArrayLiteral[T, Cpu] | Differentiable[Host[T], Host[T]], /, *, at: Data | None = None
) -> Do[Host[T]]: ...
@overload
def predict(
    x: ArrayLiteral[T, Gpu], /, *, at: Data | None = None
) -> Do[GpuArray[Any, T]]: ...  # Any: the shape
@overload
def predict(
    x: Foreign[A, Any], /, *, at: Data | None = None
) -> Do[A]: ...  # Any: its Delta, which does not matter here
@overload
def predict(x: M, /, *, at: Data | None = None) -> Do[Values[M]]: ...
# Any: typed by the overloads; products of other forms give their structure
def predict(x: Any, /, *, at: Data | None = None) -> Do[Any]:
    """The data of an expression, or of a tuple or frozen dataclass of expressions; weights stay as they are.

    `at` are other data for some weights below it, in this run only: no weight changes, and nothing is copied, so
    nobody should write to an array there before the run is over.

    Layers whose number a checker does not know are a list: `gather(*layers)` gives their data as well.
    Raises NotDifferentiableError at the call for what is no expression; as `assign` for `at`, in the run for a weight
    of it that is not below `x`.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(2.0)
    >>> predict((w * 3.0, w + 1.0)).run()
    (6.0, 3.0)
    >>> predict(w * 3.0, at={w: 5.0}).run(), w.data
    (15.0, 2.0)
    """
    return asked("predict", bound_to("predict", lift_any(x, "predict"), at))


@overload
def train(loss: ArrayOperand[tuple[()], T, Cpu], /) -> Do[HostArray[tuple[()], T]]: ...
@overload
def train(loss: ArrayOperand[tuple[()], T, Gpu], /) -> Do[GpuArray[tuple[()], T]]: ...
@overload
def train(loss: DoubleExpression, /) -> Do[float]: ...
@overload
def train(loss: FloatExpression, /) -> Do[Float32]: ...
@overload
def train(loss: ScalarLoss[E], /, *, also: Predictable[A]) -> Do[tuple[E, A]]: ...
@overload
def train(loss: ScalarLoss[E], /, *, also: F) -> Do[tuple[E, Values[F]]]: ...
@overload
def train(loss: ScalarLoss[E], /, *, also: tuple[()]) -> Do[tuple[E, tuple[()]]]: ...
@overload
def train(loss: ScalarLoss[E], /, *, also: tuple[Predictable[A]]) -> Do[tuple[E, tuple[A]]]: ...
@overload
def train(
    loss: ScalarLoss[E], /, *, also: tuple[Predictable[A], Predictable[B]]
) -> Do[tuple[E, tuple[A, B]]]: ...
@overload
def train(
    loss: ScalarLoss[E], /, *, also: tuple[Predictable[A], Predictable[B], Predictable[C]]
) -> Do[tuple[E, tuple[A, B, C]]]: ...
@overload
def train(
    loss: ScalarLoss[E],
    /,
    *,
    also: tuple[Predictable[A], Predictable[B], Predictable[C], Predictable[D]],
) -> Do[tuple[E, tuple[A, B, C, D]]]: ...
@overload
def train(
    loss: ScalarLoss[E],
    /,
    *,
    also: tuple[
        Predictable[A],
        Predictable[B],
        Predictable[C],
        Predictable[D],
        Predictable[Z],
        *tuple[Predictable[Z], ...],
    ],
) -> Do[tuple[E, tuple[A, B, C, D, Z, *tuple[Z, ...]]]]: ...
@overload  # Any: as of `predict`
def train(
    loss: ScalarLoss[E], /, *, also: tuple[Inner, *tuple[object, ...]]
) -> Do[tuple[E, tuple[Any, *tuple[Any, ...]]]]: ...
@overload
def train(
    loss: ScalarLoss[E], /, *, also: tuple[Predictable[A], Inner, *tuple[object, ...]]
) -> Do[tuple[E, tuple[A, *tuple[Any, ...]]]]: ...
@overload
def train(
    loss: ScalarLoss[E], /, *, also: tuple[Predictable[A], Predictable[B], Inner, *tuple[object, ...]]
) -> Do[tuple[E, tuple[A, B, *tuple[Any, ...]]]]: ...
@overload
def train(loss: ScalarLoss[E], /, *, also: M) -> Do[tuple[E, Values[M]]]: ...
def train(loss: Any, /, *, also: Any = None) -> Do[Any]:  # Any: typed by the overloads
    """The loss before the update; when run, every weight that a delta reaches takes one step, at the end of the run.

    A run that raises changes no weight. Several trainings in one run add up to one step; other questions in it see
    the weights as they were before.

    `also` are expressions whose values are wanted as well: one, or a tuple, NamedTuple or frozen dataclass of them,
    which comes back with data in it. They are those of the same pass, before the update; each node is computed once.

    Raises ShapeError at the call for a loss that is not scalar: reduce it first, with `sum` or `mean`;
    NotDifferentiableError for a mask and for what is no expression.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> train(w * w).run(), w.data
    (4.0, 0.0)
    >>> train(w * w + 1.0, also=(w * 3.0, w)).run()
    (1.0, (0.0, 0.0))
    """
    return asked("train", with_also(checked_loss("train", loss), also))


class UndecidedError(NotDifferentiableError):
    """A derivative that is no expression before a run has chosen what it goes through."""


def checked_loss(who: str, loss: object) -> Expression:
    """The loss as an expression; refuses at the call what can never be one; the rest is left to the run."""
    if is_product(loss) and not isinstance(loss, Expression):
        raise ShapeError(
            f"{who}: a loss is one scalar expression, not a {type(loss).__name__}; "
            f"add its parts, as in a + b\n  at {user_position()}"
        )
    x = lift_any(loss, who)
    if x.kind.column in (Column.MASK, Column.INDEX):
        what = "a mask" if x.kind.column is Column.MASK else "an array of integers"
        raise NotDifferentiableError(
            f"{who}: {what} has no derivative and is no loss\n  {x!r}\n  at {user_position()}"
        )
    check_scalar_loss(x, who)
    return x


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
    Raises at the call as `assign`, and ArgumentError for a buffer; a delta has its weight's shape, dtype and device.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> apply({w: 3.0}).run()
    >>> w.data
    0.5
    """
    return Question("apply", {w: _sent(w, d) for w, d in by_weight("apply", deltas)})


def update(
    buffer: Buffer[S, T, Dv],
    value: ArrayExpression[S, T, Dv] | ScalarOperand[T] | float,
    /,
    *,
    rate: float = 1.0,
) -> Do[None]:
    """Give a buffer the value of an expression; at a `rate` below 1, data + rate (value - data).

    What a `gather` has beside it, trainings too, is one transaction with it: the value is of the same forward pass, and
    read from weights and buffers as they were before. Several updates of a buffer in one run, and errors, as for
    `with_update`, which is the same as part of a loss.
    >>> import numpy as np
    >>> from wengert import gather
    >>> from wengert.plugins import SGD
    >>> settings = SGD(learning_rate=0.5)
    >>> w = settings.array_weight(np.array([2.0, 4.0]))
    >>> average = settings.buffer(w.data)
    >>> gather((w @ w).train(), update(average, w, rate=0.1)).run()[1]
    >>> update(average, w, rate=0.1).run()
    >>> average.data.tolist(), w.data.tolist()
    ([1.8, 3.6], [0.0, 0.0])
    """
    given: Any = value  # Any: the overloads of `with_update` are for each column
    x = with_update(given, buffer, given, rate=rate)  # refuses here what is no update
    first: Do[None] = Question("apply", {})  # so that the run is alone before anything is read
    return first.flat_map(partial(_value, x)).flat_map(partial(_updated, buffer, float(rate)))


def _value(x: Expression, _: None) -> Do[Value]:
    return asked("value", x)


def _updated(buffer: Weight, rate: float, value: Value) -> Do[None]:
    return Question("apply", {buffer: LazyDelta([Replacement(value, rate=rate)])})


def _frozen(who: str, w: Weight, x: Value) -> Value:
    data = checked_data(who, w, x)
    return freeze(data) if is_array(data) else data


def _assigned(w: Weight, x: Value) -> LazyDelta:
    return LazyDelta([Replacement(_frozen("assign", w, x), frozen=True)])


def _sent(w: Weight, delta: Value) -> Value:
    if isinstance(w, Buffer):
        raise ArgumentError(
            f"apply: {w!r} has no optimizer, to which a delta could go; write assign, or update\n  at {user_position()}"
        )
    if w.kind.column is Column.OTHER:
        nothing = zero(w.ref.data)
        if shape_of(delta) != shape_of(nothing):
            raise ShapeError(
                f"apply: a delta of shape {shape_of(delta)} for {w!r}, whose deltas have {shape_of(nothing)}\n"
                f"  at {user_position()}"
            )
        return freeze(delta) if is_array(delta) else delta
    if not isinstance(delta, LazyDelta):
        return _frozen("apply", w, delta)
    assert w.kind.shape is not None, "a weight has data"
    try:
        delta.check(w.kind.shape)
    except ShapeError as error:
        raise ShapeError(f"apply: for {w!r}: {error}\n  at {user_position()}") from None
    return read_only(delta)
