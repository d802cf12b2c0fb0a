"""The question after derivatives: of what loss, with respect to what, and the answer's type.

Knows: which expressions a delta can reach, so that no 0 stands where an error belongs; that the derivatives of one
question are data when it is run, and expressions when its layers are asked for.
Refuses to know: who answers; the executor of the run does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, cast, overload

from typing_extensions import TypeVar

from wengert.control.do import Question
from wengert.errors import ArgumentError, NotDifferentiableError
from wengert.graph.binding import Data
from wengert.graph.binding import at as bound_to
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any, shown
from wengert.graph.weights import Weight
from wengert.run.ask import Loss, checked_loss
from wengert.site import user_position

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
G = TypeVar(
    "G", default=Any
)  # Any: of weights of several classes in a list each delta is what its weight's is
P = TypeVar("P", covariant=True)
LA = TypeVar("LA")
LB = TypeVar("LB")
LC = TypeVar("LC")
LD = TypeVar("LD")
LE = TypeVar("LE")
LG = TypeVar("LG", default=Any)  # Any: as `G`
D_co = TypeVar("D_co", covariant=True)
L_co = TypeVar("L_co", covariant=True)


class Several(Protocol[P]):
    """A list: `reverse` keeps tuples out, whose overloads say what is at each place."""

    def __iter__(self) -> Iterator[P]: ...
    def reverse(self) -> None: ...


class Target(Protocol[D_co, L_co]):
    """An expression whose derivative is a `D_co`, and as an expression an `L_co`."""

    @property
    def _layer(self) -> L_co: ...
    def _delta(self) -> D_co: ...


class Gradients(Question[D_co], Generic[D_co, L_co]):
    """The derivatives of a loss, to be run; `layers` are the same as expressions."""

    __slots__ = ("_at", "_layers", "_loss", "_targets")

    def __init__(self, loss: object, targets: tuple[Expression, ...], at: object = None) -> None:
        """`at`: the loss with the data that some weights have in this run."""
        super().__init__("gradients", loss if at is None else at, targets)
        self._loss = loss
        self._at = at
        self._targets = targets
        self._layers: tuple[Expression, ...] | None = None

    @property
    def layers(self) -> L_co:
        """The derivatives as expressions, made when they are first asked for; nothing is computed.

        They follow the operations' own rules, whichever others the executor of a run may have.
        Raises NotDifferentiableError where only a run tells what lies between the loss and what is asked for.
        """
        if self._layers is None:
            # at the top it would take a twentieth of what importing Wengert takes, and few programs ask
            from wengert.run.derivatives import derivatives

            self._layers = derivatives(lift_any(self._loss), self._targets)
        return cast(L_co, self._layers)

    def __reduce__(self) -> tuple[type[Gradients[Any, Any]], tuple[object, ...]]:  # Any: of every type
        return Gradients, (self._loss, self._targets, self._at)


@overload
def gradients(
    loss: Loss, /, wrt: tuple[Target[A, LA]], *, at: Data | None = None
) -> Gradients[tuple[A], tuple[LA]]: ...
@overload
def gradients(
    loss: Loss, /, wrt: tuple[Target[A, LA], Target[B, LB]], *, at: Data | None = None
) -> Gradients[tuple[A, B], tuple[LA, LB]]: ...
@overload
def gradients(
    loss: Loss, /, wrt: tuple[Target[A, LA], Target[B, LB], Target[C, LC]], *, at: Data | None = None
) -> Gradients[tuple[A, B, C], tuple[LA, LB, LC]]: ...
@overload
def gradients(
    loss: Loss,
    /,
    wrt: tuple[Target[A, LA], Target[B, LB], Target[C, LC], Target[D, LD]],
    *,
    at: Data | None = None,
) -> Gradients[tuple[A, B, C, D], tuple[LA, LB, LC, LD]]: ...
@overload
def gradients(
    loss: Loss,
    /,
    wrt: tuple[
        Target[A, LA],
        Target[B, LB],
        Target[C, LC],
        Target[D, LD],
        Target[E, LE],
        *tuple[Target[E, LE], ...],
    ],
    *,
    at: Data | None = None,
) -> Gradients[tuple[A, B, C, D, E, *tuple[E, ...]], tuple[LA, LB, LC, LD, LE, *tuple[LE, ...]]]: ...
@overload
def gradients(
    loss: Loss, /, wrt: Several[Target[A, LA]], *, at: Data | None = None
) -> Gradients[tuple[A, ...], tuple[LA, ...]]: ...
@overload  # a list of weights of several classes too; of one class the same as above, or mypy answers Any
def gradients(
    loss: Loss, /, wrt: Several[Target[G, LG]] | list[Expression] | list[Weight], *, at: Data | None = None
) -> Gradients[tuple[G, ...], tuple[LG, ...]]: ...
def gradients(
    loss: Loss, /, wrt: Any, *, at: Data | None = None
) -> Gradients[Any, Any]:  # Any: typed by the overloads
    """The derivative of a scalar loss with respect to each of `wrt`, 0 where it does not depend; no update.

    `.layers` of the answer are the same derivatives as expressions, to build on: a penalty on a gradient, a
    product with a Hessian, a derivative of any order.
    `at` are other data for some weights below the loss, in this run only.
    Raises as `train` for the loss, as `predict` for `at`; at the call ArgumentError where `wrt` is no tuple or list,
    and NotDifferentiableError for one that no weight is below, to which no delta comes.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(3.0)
    >>> gradients(w * w * w, (w,)).run()
    (27.0,)
    >>> (dw,) = gradients(w * w * w, (w,)).layers
    >>> gradients(dw * dw, (w,)).run()
    (972.0,)
    """
    checked_loss("gradients", loss)
    return Gradients(loss, checked_targets(wrt), None if at is None else bound_to("gradients", loss, at))


def checked_targets(wrt: object) -> tuple[Expression, ...]:
    """The expressions of `wrt`; refuses each that no delta can reach, where 0 would be a wrong answer."""
    if not isinstance(wrt, (tuple, list)):
        raise ArgumentError(
            f"gradients: `wrt` is a tuple or a list of expressions, as in gradients(loss, (w,)); "
            f"got {shown(wrt)}\n  at {user_position()}"
        )
    for x in wrt:
        if not isinstance(x, Expression):
            raise NotDifferentiableError(
                f"gradients: `wrt` has {shown(x)}, which is no expression and so no part of the loss; "
                f"make a weight of it and use that in both places\n  at {user_position()}"
            )
        if not x.kind.trainable:
            raise NotDifferentiableError(
                f"gradients: no weight is below {x!r}, so no delta is computed there; "
                f"make a weight of it\n  at {user_position()}"
            )
    return tuple(wrt)
