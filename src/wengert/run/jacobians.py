"""Derivatives that are no gradients: along a direction, of every element, and of a gradient along a direction.

Knows: that the reverse sweep is linear in the delta it begins with, so that its own reverse sweep is forward mode; that
a row or column is the same graph with another delta in its place.
Refuses to know: rules, runs, and structures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import product
from operator import add
from typing import Any, Generic, TypeAlias, overload

from typing_extensions import TypeVar

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
from wengert.control.do import Map
from wengert.errors import ArgumentError, DTypeError, NotDifferentiableError, ShapeError
from wengert.graph.answers import Deltas, JacobianLayers, Jacobians, NamedFields, Structure
from wengert.graph.binding import Data, Numbers, checked_data
from wengert.graph.binding import at as bound_to
from wengert.graph.expressions import ArrayLayer, ArrayOperand, ScalarOperand
from wengert.graph.kinds import Column, Kind
from wengert.graph.node import Expression, Node, asked
from wengert.graph.operand import LITERAL, lift_any, shown
from wengert.graph.operation import EXTERNAL
from wengert.graph.order import below
from wengert.graph.structures import pairs_of, targets_in
from wengert.graph.variables import Substitution
from wengert.ops import astype, reshape, stack
from wengert.ops import sum as summed
from wengert.run.ask import Loss, UndecidedError, checked_loss
from wengert.run.gradient import Derivatives, Gradients, Inner, Several, Target, as_layers, check_targets
from wengert.site import user_position

A = TypeVar("A")
B = TypeVar("B")
LA = TypeVar("LA")
K = TypeVar("K")
V = TypeVar("V", bound=Numbers)
M = TypeVar("M", bound="Structure | NamedFields | Callable[..., object]")
X = TypeVar("X", bound="ArrayOperand[Any, Any, Any]")  # Any: every array
N = TypeVar("N", bound=Floating, default=Any)  # Any: after `S`, which has a default
D = TypeVar("D")
L_co = TypeVar("L_co", covariant=True)
LB = TypeVar("LB")
Tangent: TypeAlias = (
    Numbers | Target[Any, Any]
)  # Any: of the type of what it belongs to, which the run checks
Tangents: TypeAlias = Mapping[Any, Tangent]  # Any: by expressions of any type


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

    def __reduce__(
        self,
    ) -> (
        Any
    ):  # Any: it is asked for anew, not made of the parts of a chain of maps, whose type this overrides
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
def jvp(
    x: Any, wrt: Any, v: object = None, /, *, at: Data | None = None
) -> Derivatives[Any, Any]:  # Any: typed by the overloads
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
    x: ArrayOperand[S, Any, Cpu], /, wrt: ScalarOperand[N, Any, Any], *, at: Data | None = None
) -> Derivatives[HostArray[S, N], ArrayLayer[S, N, Cpu]]: ...
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
    x: ScalarOperand[Any, Any, Any], /, wrt: M, *, at: Data | None = None
) -> Derivatives[Deltas[M], M]: ...
@overload
def jacobian(
    x: X, /, wrt: M, *, at: Data | None = None
) -> Derivatives[Jacobians[M, X], JacobianLayers[M, X]]: ...
@overload  # Any: a structure of arrays; annotate what you get
def jacobian(
    x: Target[Any, Any], /, wrt: tuple[Any, ...] | Several[Any] | Mapping[Any, Any], *, at: Data | None = None
) -> Derivatives[Any, Any]: ...
def jacobian(
    x: Any, /, wrt: Any, *, at: Data | None = None
) -> Derivatives[Any, Any]:  # Any: typed by the overloads
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
