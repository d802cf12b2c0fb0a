"""The questions after derivatives: gradients, products along a direction, and every element; the answers' types.

Knows: which expressions a delta can reach, so that no 0 stands where an error belongs; that the derivatives of one
question are data when it is run, and expressions when its layers are asked for; that the reverse sweep is linear in the
delta it begins with, so that its own reverse sweep is forward mode; that a row or column of a Jacobian is the same
graph with another delta in its place.
Refuses to know: rules, and who answers; the executor of the run does.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import product
from operator import add
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, cast, overload

from wengert.arrays import (
    Cpu,
    Float32,
    Floating,
    Gpu,
    GpuArray,
    Host,
    HostArray,
    S,
    T,
    is_array,
    namespace_for,
)
from wengert.control import Do
from wengert.control.do import Map, Question
from wengert.errors import ArgumentError, DTypeError, NotDifferentiableError, ShapeError
from wengert.generics import TypeVar
from wengert.graph.answers import Deltas, JacobianLayers, Jacobians, NamedFields, Structure
from wengert.graph.binding import Data, Numbers, checked_data
from wengert.graph.binding import at as bound_to
from wengert.graph.expressions import ArrayLayer, ArrayOperand, ScalarOperand, Trainable
from wengert.graph.kinds import Column, Kind
from wengert.graph.node import Expression, Node, asked
from wengert.graph.operand import LITERAL, lift_any, shown
from wengert.graph.operation import EXTERNAL
from wengert.graph.order import below
from wengert.graph.products import Rebuild
from wengert.graph.structures import pairs_of, targets_in
from wengert.graph.variables import Substitution, by_variables
from wengert.graph.weights import Buffer, Weight
from wengert.ops import astype, reshape, stack
from wengert.ops import sum as summed
from wengert.run.ask import Loss, UndecidedError, checked_loss
from wengert.site import user_position

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
G = TypeVar("G", default=Any)  # Any: of weights of several classes each delta is what its weight's is
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
F = TypeVar("F", bound=Floating, default=Any)  # Any: after `S`, which has a default
V = TypeVar("V", bound=Numbers)
X = TypeVar("X", bound="ArrayOperand[Any, Any, Any]")  # Any: every array
J = TypeVar("J", bound="Structure | NamedFields | Callable[..., object]")
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
# Any: of the type of what it belongs to, which the run checks
Tangent: TypeAlias = Numbers | Target[Any, Any]
Tangents: TypeAlias = Mapping[Any, Tangent]  # Any: by expressions of any type


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
def gradients(loss: Loss, /, wrt: Any, *, at: Data | None = None) -> Gradients[Any, Any]:  # Any: as above
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


# -- along a direction, and of every element -----------------------------------------------------


class Derived(Map[D], Derivatives[D, L_co], Generic[D, L_co]):
    """Derivatives, to be run; `layers` are the same as expressions, to build on."""

    __slots__ = ("_given", "_layers")

    def __init__(self, given: Given, made: Do[Any], rebuild: Callable[[Any], D], layers: object) -> None:
        """`given` says who was asked for what; `layers` is an error where only a run tells."""
        self._given = given
        self._layers: Any = layers  # Any: as `L_co`
        super().__init__(made, rebuild)

    @property
    def layers(self) -> L_co:
        """The derivatives as expressions; NotDifferentiableError where only a run tells what they go through."""
        if isinstance(self._layers, UndecidedError):
            raise UndecidedError(*self._layers.args)
        layers: L_co = self._layers
        return layers

    def __reduce__(self) -> Any:  # Any: asked for anew, and not made of the parts of a chain of maps
        return _again, self._given


Choice: TypeAlias = Callable[[Expression], Expression]
Given: TypeAlias = tuple[Callable[..., Any], tuple[object, ...], Data | None]  # Any: what the function gives


def _again(ask: Callable[..., object], arguments: tuple[object, ...], at: Data | None) -> object:
    return ask(*arguments, at=at)


def _same(x: A) -> A:
    return x


def _derived(
    given: Given, who: str, x: Expression, derive: Callable[[Choice], Derivatives[Any, Any]]
) -> Derivatives[Any, Any]:  # Any: as the overloads say
    """Derivatives that are known at the call, else those of what the run chooses.

    What a function with awaits has returned in a run is an expression: put in the place of the call, it leaves nothing
    that waits. Each function is called once, and what is derived is evaluated in the same run.
    """
    try:
        return derive(_same)
    except UndecidedError as error:
        if not any(node.signature.mode == EXTERNAL for node in below(x, frozenset())[0]):
            raise
        first: Do[Any] = asked("resolved", bound_to(who, x, given[2]))  # Any: a function of expressions
        return Derived(given, first.flat_map(derive), _same, error)


def _answer(
    given: Given, who: str, targets: tuple[Expression, ...], rebuild: Callable[[Any], Any]
) -> Derivatives[Any, Any]:  # Any: data and layers of what is derived
    made: Do[tuple[Any, ...]] = asked("predict", bound_to(who, lift_any(targets), given[2]))
    return Derived(given, made, rebuild, rebuild(targets))


@overload
def jvp(
    x: Target[A, LA], tangents: Tangents, /, *, at: Data | None = None
) -> Derivatives[tuple[A, A], tuple[LA, LA]]: ...
@overload
def jvp(
    x: Target[A, LA], wrt: Target[Any, Any] | Inner, v: object, /, *, at: Data | None = None
) -> Derivatives[tuple[A, A], tuple[LA, LA]]: ...
# Any: typed by the overloads
def jvp(x: Any, wrt: Any, v: object = None, /, *, at: Data | None = None) -> Derivatives[Any, Any]:
    """The value of an expression, and its derivative along v: J v, a product of its Jacobian with a vector.

    It is Σ_w Σ_j ∂x/∂w_j v_w,j, where w are weights, layers or literals below `x`: one, or a structure of some as of
    `gradients`, and `v` the same structure with arrays or expressions of their shapes and dtypes. As one argument:
    {w: v, ...}. Shapes and dtypes of both answers: those of `x`.
    `at` are other data for some weights, in this run only. It takes about the time of two more forward passes.
    Of functions that await, what the run chose is derived; `layers` raises NotDifferentiableError there.
    Raises at the call as `assign` for arrays that do not fit, ArgumentError for structures that differ and a key that
    is no expression, NotDifferentiableError for a rule that has to see values.
    >>> import numpy as np
    >>> from wengert import lift, literal, sin
    >>> x = literal(np.array([0.0, 1.0]))
    >>> value, tangent = jvp(x * x * x, x, np.array([1.0, 2.0])).run()
    >>> value.tolist(), tangent.tolist()
    ([0.0, 1.0], [0.0, 6.0])

    Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2008, section 3.1; by two reverse sweeps as in
    J. Townsend, "A new trick for calculating Jacobian vector products", 2017.
    """
    given = jvp, (x, wrt) if v is None else (x, wrt, v), at
    root, directions = _differentiable("jvp", x), _directions("jvp", wrt, v)

    def derive(chosen: Choice) -> Derivatives[Any, Any]:  # Any: as below
        y = _shaped("jvp", chosen(root))
        delta = _basis(y.kind)
        pulled = as_layers("jvp", _dot(y, delta), tuple(map(chosen, directions)))
        along = _sum_of_dots(pulled, map(chosen, directions.values()))
        return _answer(given, "jvp", (y, as_layers("jvp", along, (delta,))[0]), tuple)

    return _derived(given, "jvp", root, derive)


@overload
def jacobian(
    x: ScalarOperand[Any, Any, Any], /, wrt: Target[A, LA], *, at: Data | None = None
) -> Derivatives[A, LA]: ...
@overload
def jacobian(
    x: ArrayOperand[S, Any, Cpu], /, wrt: ScalarOperand[F, Any, Any], *, at: Data | None = None
) -> Derivatives[HostArray[S, F], ArrayLayer[S, F, Cpu]]: ...
@overload
def jacobian(
    x: ArrayOperand[Any, Any, Cpu], /, wrt: ArrayOperand[Any, T, Cpu], *, at: Data | None = None
) -> Derivatives[Host[T], ArrayLayer[Any, T, Cpu]]: ...
@overload
def jacobian(
    x: ArrayOperand[Any, Any, Gpu], /, wrt: ArrayOperand[Any, T, Gpu], *, at: Data | None = None
) -> Derivatives[GpuArray[Any, T], ArrayLayer[Any, T, Gpu]]: ...
@overload
def jacobian(
    x: ScalarOperand[Any, Any, Any], /, wrt: J, *, at: Data | None = None
) -> Derivatives[Deltas[J], J]: ...
@overload
def jacobian(
    x: X, /, wrt: J, *, at: Data | None = None
) -> Derivatives[Jacobians[J, X], JacobianLayers[J, X]]: ...
@overload  # Any: a structure of arrays; annotate what you get
def jacobian(
    x: Target[Any, Any], /, wrt: tuple[Any, ...] | Several[Any] | Mapping[Any, Any], *, at: Data | None = None
) -> Derivatives[Any, Any]: ...
def jacobian(x: Any, /, wrt: Any, *, at: Data | None = None) -> Derivatives[Any, Any]:  # Any: as above
    """The derivative of every element of an expression by every element of `wrt`: J[i, j] = ∂x[i]/∂w[j].

    `wrt` is an expression or a structure of some, as of `gradients`, and the answer has its structure.
    Shapes: x.shape + w.shape; dtypes: those of `wrt`. It takes as many backward passes as `x` has elements, or as many
    forward passes as `w` has where these are fewer. Their nodes are built at the call, and alike: `run.Batched` does
    them together. `at` are other data for some weights, in this run only.
    Raises at the call as `gradients` for `wrt`; functions that await, and the rest, as of `jvp`.
    >>> import numpy as np
    >>> from wengert import literal
    >>> x = literal(np.array([1.0, 2.0, 3.0]))
    >>> jacobian(x[1:] * x[:1], x).run().tolist()
    [[2.0, 1.0, 0.0], [3.0, 0.0, 1.0]]

    Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2008, section 3.1 and 3.2.
    """
    given = jacobian, (x, wrt), at
    root = _differentiable("jacobian", x)
    check_targets("jacobian", wrt)
    targets, rebuild = targets_in(wrt)

    def derive(chosen: Choice) -> Derivatives[Any, Any]:  # Any: as below
        y, by = _shaped("jacobian", chosen(root)), tuple(map(chosen, targets))
        delta = _basis(y.kind)
        pulled = as_layers("jacobian", _dot(y, delta), by)
        found = tuple(_matrix(y, delta, w, row) for w, row in zip(by, pulled, strict=True))
        return _answer(given, "jacobian", found, rebuild)

    return _derived(given, "jacobian", root, derive)


@overload
def hessian_product(
    loss: Loss, tangents: Mapping[K, Target[A, LA]], /, *, at: Data | None = None
) -> Derivatives[dict[K, A], dict[K, LA]]: ...
@overload
def hessian_product(
    loss: Loss, tangents: Mapping[K, V], /, *, at: Data | None = None
) -> Derivatives[dict[K, V], dict[K, Any]]: ...
@overload  # Any: numbers and arrays in one dictionary
def hessian_product(
    loss: Loss, tangents: Mapping[Any, Numbers], /, *, at: Data | None = None
) -> Derivatives[dict[Any, Any], dict[Any, Any]]: ...
@overload
def hessian_product(
    loss: Loss, wrt: Target[A, LA], v: Tangent, /, *, at: Data | None = None
) -> Derivatives[A, LA]: ...
@overload
def hessian_product(
    loss: Loss, wrt: tuple[Target[A, LA]], v: tuple[Tangent], /, *, at: Data | None = None
) -> Derivatives[tuple[A], tuple[LA]]: ...
@overload
def hessian_product(
    loss: Loss,
    wrt: tuple[Target[A, LA], Target[B, LB]],
    v: tuple[Tangent, Tangent],
    /,
    *,
    at: Data | None = None,
) -> Derivatives[tuple[A, B], tuple[LA, LB]]: ...
@overload  # Any: a structure of arrays; the mypy plugin says of which types
def hessian_product(
    loss: Loss, wrt: Inner, v: object, /, *, at: Data | None = None
) -> Derivatives[Any, Any]: ...
def hessian_product(
    loss: Loss, wrt: Any, v: object = None, /, *, at: Data | None = None
) -> Derivatives[Any, Any]:  # Any: typed by the overloads
    """The product of a loss's Hessian with a vector, H v, without the Hessian.

    (H v)_w = Σ_u Σ_j ∂²loss/∂w∂u_j v_u,j over all u, which are weights, layers or literals: one, or a structure of some
    as of `gradients`, and `v` the same structure with arrays or expressions of their shapes and dtypes. The answer has
    that structure, too. As one argument, {w: v, ...}, for {w: (H v)_w, ...}.
    It takes about the time of two gradients. `.layers` are the same as expressions.
    Raises at the call as `gradients` for the loss, as `jvp` for the rest.
    >>> from wengert.plugins import SGD
    >>> settings = SGD(learning_rate=0.1)
    >>> w, u = settings.double_weight(2.0), settings.double_weight(3.0)
    >>> hessian_product(w * w * w, w, 10.0).run()
    120.0
    >>> hessian_product(w * w * u, (w, u), (1.0, 0.0)).run()
    (6.0, 4.0)
    >>> hessian_product(w * w * w, {w: 10.0}).run()[w]
    120.0

    Source: B. A. Pearlmutter, "Fast exact multiplication by the Hessian", 1994, as the reverse of a reverse sweep.
    """
    checked_loss("hessian_product", loss)
    directions = _directions("hessian_product", wrt, v)
    given = hessian_product, (loss, wrt) if v is None else (loss, wrt, v), at
    root, of = lift_any(loss), {w: w for w in directions} if v is None else wrt

    def derive(chosen: Choice) -> Derivatives[Any, Any]:  # Any: as below
        slopes = as_layers("hessian_product", chosen(root), tuple(map(chosen, directions)))
        along = _sum_of_dots(slopes, map(chosen, directions.values()))
        targets, rebuild = targets_in(of)
        return Gradients(along, of if chosen is _same else rebuild(map(chosen, targets)), at)

    return _derived(given, "hessian_product", root, derive)


def _differentiable(who: str, x: object) -> Expression:
    y = lift_any(x, who)
    if y.kind.column not in (Column.DOUBLE, Column.FLOAT, Column.ARRAY):
        raise NotDifferentiableError(f"{who}: {y!r} is no array and no number\n  at {user_position()}")
    return y


def _shaped(who: str, y: Expression) -> Expression:
    """An expression whose elements are counted."""
    if y.kind.shape is None:
        raise UndecidedError(
            f"{who}: the shape of {y!r} is known only in the run; state it in the annotation of what makes it\n"
            f"  at {user_position()}"
        )
    return y


def _directions(who: str, wrt: object, v: object) -> dict[Expression, Expression]:
    """Tangents as expressions, by what they belong to."""
    if v is not None:
        check_targets(who, wrt)
        return _in_pairs(who, wrt, v)
    if not isinstance(wrt, Mapping) or not wrt:
        raise ArgumentError(
            f"{who}: write the vector as a third argument, or {{w: array}} for both; got {shown(wrt)} alone\n"
            f"  at {user_position()}"
        )
    check_targets(who, tuple(wrt))
    return {w: _direction(who, w, x) for w, x in wrt.items()}


def _in_pairs(who: str, wrt: object, v: object) -> dict[Expression, Expression]:
    found: dict[Expression, Expression] = {}
    for place, w, x in pairs_of(wrt, v):
        if w is None or x is None:
            raise ArgumentError(
                f"{who}: the vector is a structure as `wrt`, with an array in the place of each expression; it has "
                f"{shown(x)}{f' at {place!r}' if place else ''}\n  at {user_position()}"
            )
        direction = _direction(who, w, x)
        if found.setdefault(w, direction) is not direction and not _equal(found[w], direction):
            raise ArgumentError(
                f"{who}: {w!r} stands in `wrt` twice, and the vector has different parts for it\n"
                f"  at {user_position()}"
            )
    return found


def _equal(a: Expression, b: Expression) -> bool:
    """True if two tangents of one expression are literals of the same numbers."""
    values = [x.operands[0] for x in (a, b) if isinstance(x, Node) and x.signature.operation is LITERAL]
    return len(values) == 2 and bool(
        (values[0] == values[1]).all() if is_array(values[0]) else values[0] == values[1]
    )


def _direction(who: str, w: Expression, v: object) -> Expression:
    if not isinstance(v, Expression):
        return lift_any(checked_data(who, w, v))
    if v.kind.shape != w.kind.shape:
        raise ShapeError(f"{who}: a tangent of shape {v.kind.shape} for {w!r}\n  at {user_position()}")
    if v.kind.dtype != w.kind.dtype:
        raise DTypeError(f"{who}: a tangent of {v.kind.dtype} for {w!r}\n  at {user_position()}")
    return v


def _basis(of: Kind, index: tuple[int, ...] | None = None) -> Expression:
    """A literal of a kind, all 0 but for a 1 at an index."""
    assert of.shape is not None, "asked where it is known"
    value = namespace_for(of.device, True).zeros(of.shape, of.dtype)
    if index is not None:
        value[index] = 1.0
    if of.column is not Column.ARRAY:
        value = Float32(value) if of.column is Column.FLOAT else float(value)
    return lift_any(value)


def _dot(a: Any, b: Any) -> Any:  # Any: expressions of one kind
    """The sum of the products of elements."""
    return a * b if a.kind.column is not Column.ARRAY else summed(a * b)


def _sum_of_dots(a: Iterable[Expression], b: Iterable[Expression]) -> Any:  # Any: as above
    products = [_dot(x, y) for x, y in zip(a, b, strict=True)]
    return reduce(add, products)


def _matrix(y: Expression, delta: Expression, w: Expression, row: Expression) -> Any:  # Any: a layer
    """The Jacobian of `y` by `w`, where `row` is that of the `delta` at `y`."""
    if y.kind.shape == ():
        return Substitution({delta: _basis(y.kind, ())})(row)
    shape = (*_shape(y), *_shape(w))
    if not math.prod(shape):
        return lift_any(namespace_for(w.kind.device, True).zeros(shape, w.kind.dtype))
    if w.kind.column is Column.ARRAY and math.prod(_shape(w)) >= math.prod(_shape(y)):
        return reshape(stack(_at_each(row, delta)), shape)
    tangent = _basis(w.kind)
    (along,) = as_layers("jacobian", _dot(row, tangent), (delta,))
    columns = stack(_at_each(along, tangent), axis=-1)
    return reshape(columns if y.kind.dtype == w.kind.dtype else astype(columns, w.kind.dtype), shape)


def _at_each(made: Expression, place: Expression) -> list[Any]:  # Any: layers of one kind
    """Copies of a graph with a literal at `place`, each with a 1 at another index of that."""
    indices = product(*map(range, _shape(place)))
    return [Substitution({place: _basis(place.kind, index)})(made) for index in indices]


def _shape(x: Expression) -> tuple[int, ...]:
    shape = x.kind.shape
    assert shape is not None, "asked where it is known"
    return shape
