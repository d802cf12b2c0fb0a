"""The question after derivatives: of what loss, with respect to what, and the answer's type.

Knows: which expressions a delta can reach, so that no 0 stands where an error belongs; that the derivatives of one
question are data when it is run, and expressions when its layers are asked for.
Refuses to know: who answers; the executor of the run does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, cast, overload

from typing_extensions import TypeVar

from wengert.arrays import is_array
from wengert.control import Do
from wengert.control.do import Question
from wengert.errors import ArgumentError, NotDifferentiableError
from wengert.graph.answers import Deltas, NamedFields, Structure
from wengert.graph.binding import Data
from wengert.graph.binding import at as bound_to
from wengert.graph.expressions import Trainable
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any, shown
from wengert.graph.products import Rebuild
from wengert.graph.structures import targets_in
from wengert.graph.variables import Substitution, by_variables
from wengert.graph.weights import Buffer, Weight
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
K = TypeVar("K")
M = TypeVar("M", bound="Structure | Callable[..., object]")  # a model: a dataclass, or what is called
N = TypeVar("N", bound=NamedFields)
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


Mixed: TypeAlias = list[Expression] | list[Trainable] | list[Weight]
# Any: of a structure in a structure no more is said
Inner: TypeAlias = (
    Structure | Callable[..., object] | tuple[Any, ...] | Several[Any] | Mapping[Any, Any] | None
)


class Wanted(NamedTuple):
    """Targets of a question, the structure of the answer, and what stands for constants in the loss."""

    targets: tuple[Expression, ...]
    rebuild: Rebuild
    variables: Substitution | None


class Derivatives(Do[D_co], Generic[D_co, L_co]):
    """Derivatives, to be run; `layers` are the same as expressions."""

    __slots__ = ()

    @property
    @abstractmethod
    def layers(self) -> L_co:
        """The derivatives as expressions."""


class Gradients(Question[D_co], Derivatives[D_co, L_co], Generic[D_co, L_co]):
    """The derivatives of a loss, to be run; `layers` are the same as expressions."""

    __slots__ = ("_asked", "_given", "_layers", "_wanted")

    def __init__(self, loss: object, wrt: object, at: Data | None = None) -> None:
        """`at`: other data of some weights in this run."""
        root = lift_any(loss)
        targets, rebuild = targets_in(wrt)
        asked, targets, variables = by_variables(root, targets)
        self._wanted = wanted = Wanted(targets, rebuild, variables)
        super().__init__("gradients", bound_to("gradients", asked, at), wanted)
        self._given = root, wrt, at
        self._asked = asked
        self._layers: Any = None  # Any: as `L_co`

    @property
    def layers(self) -> L_co:
        """The derivatives as expressions, made when they are first asked for; nothing is computed.

        They follow the operations' own rules, whichever others the executor of a run may have.
        Raises NotDifferentiableError where only a run tells what lies between the loss and what is asked for.
        """
        if self._layers is None:
            found = as_layers("gradients(...).layers", self._asked, self._wanted.targets)
            self._layers = self._wanted.rebuild(found)
        return cast(L_co, self._layers)

    def __reduce__(self) -> tuple[type[Gradients[Any, Any]], tuple[object, ...]]:  # Any: of every type
        return Gradients, self._given


def as_layers(who: str, loss: object, targets: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The derivatives of a loss as expressions."""
    # at the top it would take a twentieth of what importing Wengert takes, and few programs ask
    from wengert.run.derivatives import derivatives

    asked, targets, _ = by_variables(lift_any(loss), targets)
    return derivatives(who, asked, targets)


# No two of these fit one argument but for the last: where a type holds `Any`, mypy answers `Any` to two matches.
@overload
def gradients(loss: Loss, /, wrt: Target[A, LA], *, at: Data | None = None) -> Gradients[A, LA]: ...
@overload
def gradients(loss: Loss, /, wrt: N, *, at: Data | None = None) -> Gradients[Deltas[N], N]: ...
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
) -> Gradients[list[A], list[LA]]: ...
@overload  # a list of weights of several classes too; of one class the same as above, or mypy answers Any
def gradients(
    loss: Loss, /, wrt: Several[Target[G, LG]] | Mixed, *, at: Data | None = None
) -> Gradients[list[G], list[LG]]: ...
@overload
def gradients(
    loss: Loss, /, wrt: Mapping[K, Target[A, LA]], *, at: Data | None = None
) -> Gradients[dict[K, A], dict[K, LA]]: ...
@overload  # Any: as in a list
def gradients(
    loss: Loss, /, wrt: dict[K, Trainable] | dict[K, Weight], *, at: Data | None = None
) -> Gradients[dict[K, Any], dict[K, Any]]: ...
@overload
def gradients(loss: Loss, /, wrt: M, *, at: Data | None = None) -> Gradients[Deltas[M], M]: ...
@overload  # Any: a structure within another; annotate what you get
def gradients(
    loss: Loss,
    /,
    wrt: tuple[Inner, *tuple[object, ...]]
    | tuple[Target[Any, Any], Inner, *tuple[object, ...]]
    | Several[Inner]
    | Mapping[Any, Inner],
    *,
    at: Data | None = None,
) -> Gradients[Any, Any]: ...
@overload  # Any: as above; this one for a dictionary that is written at the call
def gradients(
    loss: Loss, /, wrt: dict[str, Inner | Trainable], *, at: Data | None = None
) -> Gradients[Any, Any]: ...
def gradients(
    loss: Loss, /, wrt: Any, *, at: Data | None = None
) -> Gradients[Any, Any]:  # Any: typed by the overloads
    """The derivative of a scalar loss by each expression of `wrt`, 0 where it does not depend; no update.

    `wrt` is an expression, be it a weight, a layer or a literal, or a structure that holds some: a tuple, a list, a
    dictionary, a dataclass, a layer of `nn`, in any nesting. The answer has its structure, with data in the places of
    expressions; None and other parts stay. Shapes and dtypes are those of what is in `wrt`.
    `.layers` of the answer are the same derivatives as expressions, to build on: a penalty on a gradient, a
    product with a Hessian, a derivative of any order.
    `at` are other data for some weights below the loss, in this run only.
    Raises as `train` for the loss, as `predict` for `at`; at the call ArgumentError where `wrt` holds no expression,
    and NotDifferentiableError for an array or a mask in it.
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).double_weight(3.0)
    >>> gradients(w * w * w, w).run()
    27.0
    >>> from wengert import lift
    >>> x = lift(5.0)
    >>> gradients(w * x, {"w": w, "x": x}).run()
    {'w': 5.0, 'x': 3.0}
    >>> (dw,) = gradients(w * w * w, (w,)).layers
    >>> gradients(dw * dw, (w,)).run()
    (972.0,)
    """
    checked_loss("gradients", loss)
    check_targets("gradients", wrt)
    return Gradients(loss, wrt, at)


def check_targets(who: str, wrt: object) -> None:
    """Refuse what holds no expression, and an item of a tuple or list that is none; nothing at all is nothing."""
    targets, _ = targets_in(wrt)
    if targets is wrt or (len(targets) == 1 and targets[0] is wrt):
        return
    for x in wrt if isinstance(wrt, (tuple, list)) else (wrt,):
        if x is None or targets_in(x)[0]:
            continue
        if isinstance(x, Expression):
            raise NotDifferentiableError(
                f"{who}: {x!r} in `wrt` has no derivative: it is a "
                f"{'buffer' if isinstance(x, Buffer) else 'mask'}\n  at {user_position()}"
            )
        if is_array(x) or isinstance(x, (int, float)):
            raise NotDifferentiableError(
                f"{who}: `wrt` has {shown(x)}, which is no expression and so no part of the loss; "
                f"write x = wengert.lift(...), and use that in both places\n  at {user_position()}"
            )
        targets, wrt = (), x
    if not targets and (wrt or not isinstance(wrt, (tuple, list, dict))):
        raise ArgumentError(
            f"{who}: there is no weight and no other expression in {shown(wrt)}; `wrt` is one, or a tuple, a list, "
            f"a dictionary, a model or another object that holds some\n  at {user_position()}"
        )
