"""The questions that a person asks of an expression: predict, train, gradients.

Knows: their types, and that only scalar losses are trained.
Refuses to know: who answers; the executor of the run does.
"""

from __future__ import annotations

from dataclasses import Field
from typing import Any, ClassVar, Protocol, TypeVar, overload

from wengert.arrays import Dv, Float32, HostArray, T, Value
from wengert.control import Context, Do, Steps
from wengert.differentiable import Differentiable
from wengert.errors import ShapeError
from wengert.graph.expressions import ArrayOperand, DoubleExpression, FloatExpression
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, asked
from wengert.graph.operand import lift_any
from wengert.graph.products import is_product
from wengert.graph.site import user_position

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
P = TypeVar("P", covariant=True)


class Predictable(Protocol[P]):
    """A layer, a weight or a mask: whatever has `predict`."""

    def predict(self) -> Do[P]: ...


class Structure(Protocol):
    """A frozen dataclass of expressions."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # Any: as typeshed declares it


@overload
def predict(x: Predictable[A], /) -> Do[A]: ...
@overload
def predict(x: tuple[Predictable[A], Predictable[B]], /) -> Do[tuple[A, B]]: ...
@overload
def predict(x: tuple[Predictable[A], Predictable[B], Predictable[C]], /) -> Do[tuple[A, B, C]]: ...
@overload
def predict(x: tuple[Predictable[A], ...], /) -> Do[tuple[A, ...]]: ...
@overload
def predict(x: float, /) -> Do[float]: ...
@overload
def predict(x: Float32, /) -> Do[Float32]: ...
@overload
def predict(x: Differentiable[A, Any], /) -> Do[A]: ...
@overload
def predict(
    x: Structure, /
) -> Do[Any]: ...  # Any: the same class with data in its fields; annotate what you get
def predict(
    x: Any, /
) -> Do[Any]:  # Any: typed by the overloads; products of other forms give their structure
    """The data of an expression, or of a tuple or frozen dataclass of expressions; weights stay as they are.

    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(2.0)
    >>> predict((w * 3.0, w + 1.0)).run()
    (6.0, 3.0)
    """
    return asked("predict", x)


@overload
def train(loss: ArrayOperand[tuple[()], T, Dv], /) -> Do[HostArray[tuple[()], T]]: ...
@overload
def train(loss: DoubleExpression, /) -> Do[float]: ...
@overload
def train(loss: FloatExpression, /) -> Do[Float32]: ...
def train(loss: Any, /) -> Do[Any]:  # Any: typed by the overloads
    """The loss before the update; when run, every weight that a delta reaches takes one step (S5, S6).

    Raises ShapeError at the call for a loss that is not scalar: reduce it first, with `sum` or `mean`.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> train(w * w).run(), w.data
    (4.0, 0.0)
    """
    check_loss(loss)
    return asked("train", loss)


def check_loss(loss: object) -> None:
    """Refuse at the call what can never be trained; what only the run tells is refused there."""
    if is_product(loss) and not isinstance(loss, Expression):
        raise ShapeError(
            f"train: a loss is one scalar expression, not a {type(loss).__name__}\n  at {user_position()}"
        )
    of = lift_any(loss).kind
    if of.column in (Column.MASK, Column.INDEX):
        raise ShapeError(f"train: {of.text()} has no derivative and is no loss\n  at {user_position()}")
    if of.shape not in ((), None):
        raise ShapeError(
            f"train: a loss is a scalar, this one has shape {of.shape}; "
            f"reduce it first, as in train(mean(loss))\n  {loss!r}\n  at {user_position()}"
        )


# Any throughout: the Delta of a Double is float, of an array its array; overloads by position keep them apart
@overload
def gradients(loss: Value, wrt: tuple[Differentiable[Any, A]], /) -> Do[tuple[A]]: ...
@overload
def gradients(
    loss: Value, wrt: tuple[Differentiable[Any, A], Differentiable[Any, B]], /
) -> Do[tuple[A, B]]: ...
@overload
def gradients(
    loss: Value, wrt: tuple[Differentiable[Any, A], Differentiable[Any, B], Differentiable[Any, C]], /
) -> Do[tuple[A, B, C]]: ...
@overload
def gradients(
    loss: Value,
    wrt: tuple[
        Differentiable[Any, A], Differentiable[Any, B], Differentiable[Any, C], Differentiable[Any, D]
    ],
    /,
) -> Do[tuple[A, B, C, D]]: ...
@overload
def gradients(loss: Value, wrt: list[Any], /) -> Do[tuple[Any, ...]]: ...
def gradients(loss: Value, wrt: Any, /) -> Do[Any]:
    """The derivative of a scalar loss with respect to each of `wrt`, zero where it does not depend; no update.

    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(3.0)
    >>> gradients(w * w, (w,)).run()
    (6.0,)
    """
    check_loss(loss)
    targets = tuple(wrt)
    for x in targets:
        lift_any(x)

    def answer(context: Context) -> Steps[Any]:
        return context.run.executor.gradients(loss, targets, context)

    return Do.program(answer)
