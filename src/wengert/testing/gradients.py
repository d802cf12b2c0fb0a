"""Check of the derivatives of a function of expressions: its full Jacobian against a numerical one.

Knows: which operands and deltas make a whole Jacobian: weights and layers, each element alone and mixtures of all;
which numerical method a function allows.
Refuses to know: any formula; the other side is made from values alone.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, cast

from wengert.arrays import FLOAT64, HOST, Value, dtype_of, is_array, shape_of, zeros_like
from wengert.control import Do, UnitContinuation
from wengert.graph.kinds import Role
from wengert.graph.node import Expression
from wengert.graph.operand import external, lift_any, value_kind
from wengert.lazy import dense
from wengert.ops import multiply, sum
from wengert.plugins import SGD
from wengert.run import gradients, predict
from wengert.run.tapes import OwnTape
from wengert.testing.numerical import Replay, check_form, compared, complex_step, differences, error_of

COMPLEX_RTOL: Final = 1e-12
DIFFERENCES_RTOL: Final = 1e-9
_SAME_FUNCTION: Final = (
    1e-6  # an analytic function's two Jacobians agree to 1e-9; |x| off the real line not at all
)

Pull = Callable[[Value], tuple[Value, ...]]  # from the delta of the result to those of the operands


@dataclass(frozen=True, slots=True)
class Checked:
    """Outcome of a check: by which method, how many elements, and the greatest relative error among them."""

    method: Literal["complex step", "differences"]
    elements: int
    worst: float


def check_gradients(
    function: Callable[..., Any],  # Any: a function of expressions of any kind
    *operands: Value,
    rtol: float | None = None,
    seed: int = 0,
    order: Literal[1, 2] = 1,
) -> Checked:
    """Compare the whole Jacobian of `function(*expressions)` with a numerical one, or raise AssertionError.

    Operands are floats and float64 arrays inside the function's smooth domain. Each is given as a weight and
    as a layer; deltas are sent backward for every element of the result alone and for random mixtures of all.
    The numerical side is a complex step (`rtol` 1e-12) where that agrees with differences, so that the
    function is analytic, and else extrapolated differences (`rtol` 1e-9). Errors are relative to the largest
    element of the operand's Jacobian, or to 1e-3 where that is smaller.
    With `order=2` the derivatives of a random mixture of the result are what is checked so, operand by operand:
    the whole Hessian.

    >>> import wengert
    >>> check_gradients(wengert.multiply, 2.0, 3.0).worst < 1e-9
    True
    >>> check_gradients(wengert.multiply, 2.0, 3.0, order=2).worst < 1e-9
    True
    """
    values = tuple(map(_checked_operand, operands, range(len(operands))))
    if order == 1:
        weights, result = _applied(function, values)
        ways: dict[str, Pull] = {
            "weight": partial(deltas_at_weights, result, weights),
            "layer": partial(deltas_at_layers, function, values),
        }
        return _checked(function, values, weights, result, ways, rtol, seed)
    found = [_second(function, values, index, rtol, seed) for index in range(len(values))]
    analytic = all(each.method == "complex step" for each in found)
    return Checked(
        "complex step" if analytic else "differences",
        builtins.sum(each.elements for each in found),
        max((each.worst for each in found), default=0.0),
    )


def _applied(
    function: Callable[..., Any], values: tuple[Value, ...]
) -> tuple[tuple[Expression, ...], Expression]:
    weights = weights_of(values)
    return weights, lift_any(function(*weights))


def _second(
    function: Callable[..., Any], values: tuple[Value, ...], index: int, rtol: float | None, seed: int
) -> Checked:
    """The derivative by operand `index`, as an expression, checked like any function."""
    (g, _), *_ = cotangents_of(value_of(_applied(function, values)[1]), seed)

    def derivative(*xs: Any) -> Expression:  # Any: expressions of every column
        layers: tuple[Expression, ...] = gradients(loss_of(function(*xs), g), list(xs)).layers
        return layers[index]

    derivative.__name__ = f"the derivative of {name_of(function)} by operand {index}"
    weights, result = _applied(derivative, values)
    behind = derivative(*(multiply(w, 1.0) for w in cast(Any, weights)))  # Any: weights of every column
    ways: dict[str, Pull] = {
        "weight": partial(deltas_at_weights, result, weights),
        "layer": partial(deltas_at_weights, behind, weights),
    }
    # its derivatives may all but cancel, and not its rounding
    size = HOST.abs(HOST.to_host(value_of(result)))
    least = float(HOST.max(size)) if size.size else 0.0
    return _checked(derivative, values, weights, result, ways, rtol, seed, least)


def _checked(
    function: Callable[..., Any],
    values: tuple[Value, ...],
    weights: tuple[Expression, ...],
    result: Expression,
    ways: dict[str, Pull],
    rtol: float | None,
    seed: int,
    least: float = 0.0,
) -> Checked:
    """The Jacobian of `result`, which is `function(*weights)`, as each of the ways gives it."""
    cotangents = cotangents_of(value_of(result), seed)
    reference, checked_rtol, method = _numerical(function, values, weights, result)
    limit = checked_rtol if rtol is None else rtol
    worst, elements = 0.0, 0
    for role, pull in ways.items():
        for g, name in cotangents:
            for index, (x, delta, jacobian) in enumerate(zip(values, pull(g), reference, strict=True)):
                where = f"{name_of(function)}: operand {index} as a {role}, {name}"
                check_form(delta, x, where)
                found = compared(delta, g, jacobian, limit, least, where)
                worst, elements = max(worst, found), elements + HOST.to_host(delta).size
    return Checked(method, elements, worst)


def _checked_operand(x: Value, index: int) -> Value:
    if isinstance(x, (float, int)) and not is_array(x):
        return float(x)
    if not is_array(x) or dtype_of(x) != FLOAT64:
        what = f"an array of {dtype_of(x)}" if is_array(x) else f"{x!r:.60}"
        raise TypeError(
            f"check_gradients: operand {index} is {what}; derivatives are checked in float64 only: "
            f"pass floats and float64 arrays, and close over the rest"
        )
    return x


def _numerical(
    function: Callable[..., Any],
    values: tuple[Value, ...],
    leaves: tuple[Expression, ...],
    root: Expression,
) -> tuple[list[Value], float, Literal["complex step", "differences"]]:
    replay = Replay(root, leaves)
    known = dict(zip(leaves, values, strict=True))

    def along(index: int, x: Value) -> Value:
        """The function of one operand; the numerical methods move arrays, of shape () for a float."""
        moved = x.item() if isinstance(values[index], float) else x
        if replay.possible:
            return HOST.to_host(replay({**known, leaves[index]: moved}))
        others = (moved if i == index else v for i, v in enumerate(values))
        return HOST.to_host(value_of(lift_any(function(*weights_of(tuple(others))))))

    sides = [(partial(along, i), HOST.to_host(x)) for i, x in enumerate(values)]
    rough = [differences(f, x) for f, x in sides]
    if replay.possible:
        try:
            exact = [complex_step(f, x) for f, x in sides]
        except TypeError:  # a function that takes no complex numbers, such as those of `math`
            return rough, DIFFERENCES_RTOL, "differences"
        if all(error_of(e, r, r) <= _SAME_FUNCTION for e, r in zip(exact, rough, strict=True)):
            return exact, COMPLEX_RTOL, "complex step"
    return rough, DIFFERENCES_RTOL, "differences"


_RANDOM: Final = 2  # mixtures


def weights_of(values: Sequence[Value]) -> tuple[Expression, ...]:
    """Operands as weights."""
    settings = SGD(learning_rate=0.0)
    return tuple(
        settings.double_weight(x) if isinstance(x, float) else settings.array_weight(x) for x in values
    )


def loss_of(result: Any, g: Value) -> Any:  # Any: an expression with data of g's column
    """A scalar whose backward sends exactly `g` to `result`."""
    return sum(multiply(result, g)) if is_array(g) else multiply(result, g)


def deltas_at_weights(result: Expression, weights: Sequence[Expression], g: Value) -> tuple[Value, ...]:
    """The deltas at `weights` when `g` arrives at `result`."""
    return tuple(gradients(loss_of(result, g), list(weights)).run())


def deltas_at_layers(function: Callable[..., Any], values: Sequence[Value], g: Value) -> tuple[Value, ...]:
    """The deltas at layers whose data are exactly `values`, in their own memory layout, when `g` arrives."""
    arrived: list[list[Value]] = [[] for _ in values]

    def layer(x: Value, into: list[Value]) -> Expression:
        def backward(delta: Do[Any]) -> UnitContinuation[None]:  # Any: float or array
            return UnitContinuation.delay(lambda: into.append(dense(delta.run())))

        return external(Do.now(OwnTape(x, backward)), value_kind(x, Role.LAYER))

    result = lift_any(function(*map(layer, values, arrived)))
    gradients(
        loss_of(result, g), []
    ).run()  # no training: weights that the function closes over stay as they are
    for index, deltas in enumerate(arrived):
        if len(deltas) > 1:
            raise AssertionError(f"{name_of(function)}: operand {index} got {len(deltas)} deltas in one run")
    return tuple(deltas[0] if deltas else zeros_like(x) for x, deltas in zip(values, arrived, strict=True))


def value_of(result: Expression) -> Value:
    """The data of a result; TypeError unless they are float64."""
    value: Value = predict(cast(Any, result)).run()  # Any: an expression of any column
    if dtype_of(value) != FLOAT64:
        raise TypeError(
            f"check_gradients: the result is {dtype_of(value)}; derivatives are checked in float64 only"
        )
    return value


def cotangents_of(result: Value, seed: int) -> list[tuple[Value, str]]:
    """Random deltas for the whole result, and 1 for each of its elements alone."""
    number = random.Random(seed)
    shape = shape_of(result)
    size = HOST.to_host(result).size

    def made(elements: list[float]) -> Value:
        if not is_array(result):
            return elements[0]
        return HOST.reshape(HOST.astype(HOST.to_host(elements), FLOAT64), shape)

    mixtures = [
        (made([number.uniform(0.5, 2.0) for _ in range(size)]), "a random delta") for _ in range(_RANDOM)
    ]
    units = [(made([float(i == k) for i in range(size)]), f"element {k} of the result") for k in range(size)]
    return mixtures + units


def name_of(function: object) -> str:
    """Name of a function in messages."""
    return getattr(function, "__name__", None) or repr(function)
