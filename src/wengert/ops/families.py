"""Families of operations: the types that a checker sees, and the decorators that make an operation of rules.

Knows: that `exp` and `tanh` differ in nothing that a type could say, so that a family is typed once, and that
an operation written with these decorators is found by Python's operators, by tests and by interpreters; how a
user's typed signature, shape rule, value rule and derivative rules become one polymorphic function.
Refuses to know: any formula.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, Literal, ParamSpec, Protocol, TypeVar, cast, overload

from wengert.arrays import Axis, Dv, IntegerArray, S, T, Value, is_array
from wengert.differentiable import Differentiable
from wengert.elsewhere import misspelt
from wengert.errors import ArgumentError, WengertError
from wengert.graph.apply import apply, of_one, of_two, unary
from wengert.graph.batch import rowwise
from wengert.graph.detached import IndexExpression, Indices, Mask
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
    Layer,
    Operand,
    ScalarOperand,
)
from wengert.graph.node import Expression
from wengert.graph.operand import described, shown
from wengert.graph.operation import OPERATIONS, Attributes, Infer, Operation, Rule, Rules
from wengert.ops import kinds
from wengert.ops.batching import aligned, by_elements, reduced, reducing
from wengert.site import user_position

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
E = TypeVar("E")
P = ParamSpec("P")
R = TypeVar("R")
Derivatives = tuple[Rule | None, ...]
_INNER: Final = re.compile(r"^\w+: ")  # the name of the operation that an error begins with


class Ruled(Protocol):
    """An operation of the library, which takes rules for a user's Data."""

    @overload
    def rule(  # type: ignore[overload-overlap] # narrow first: the last takes what the others leave
        self, a: type[A], /, *, infer: Infer, value: Callable[..., float], derivatives: Derivatives = ()
    ) -> Callable[[Operand[A]], DoubleLayer]: ...
    @overload
    def rule(
        self, a: type[A], /, *, infer: Infer, value: Callable[..., C], derivatives: Derivatives = ()
    ) -> Callable[[Differentiable[A, E]], Layer[C, E]]: ...
    @overload
    def rule(  # type: ignore[overload-overlap] # narrow first: the last takes what the others leave
        self,
        a: type[A],
        b: type[B],
        /,
        *,
        infer: Infer,
        value: Callable[..., float],
        derivatives: Derivatives = (),
    ) -> Callable[[Operand[A], Operand[B]], DoubleLayer]: ...
    @overload
    def rule(
        self,
        a: type[A],
        b: type[B],
        /,
        *,
        infer: Infer,
        value: Callable[..., C],
        derivatives: Derivatives = (),
    ) -> Callable[[Differentiable[A, E], Operand[B]], Layer[C, E]]: ...
    # Any: typed by the overloads
    def rule(self, *classes: Any, infer: Any, value: Any, derivatives: Any = ()) -> Any:
        """Add a rule for operands whose Data are of these classes, or derive from them, as `extend.rule_for` does.

        The answer is this function once more, as a type checker may use it for such operands.
        """


class Elementwise(Ruled, Protocol):
    """One operand, result of the same shape."""

    @overload
    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]: ...
    @overload
    def __call__(self, x: DoubleExpression, /) -> DoubleLayer: ...
    @overload
    def __call__(self, x: FloatExpression, /) -> FloatLayer: ...


class Broadcasting(Ruled, Protocol):
    """Two operands of one dtype that broadcast."""

    @overload
    def __call__(
        self, a: ArrayExpression[Any, T, Dv], b: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> ArrayLayer[Any, T, Dv]: ...
    @overload
    def __call__(
        self, a: ScalarOperand[T] | T | float, b: ArrayExpression[Any, T, Dv], /
    ) -> ArrayLayer[Any, T, Dv]: ...
    @overload
    def __call__(self, a: DoubleExpression, b: DoubleExpression, /) -> DoubleLayer: ...
    @overload
    def __call__(self, a: FloatExpression, b: FloatExpression | float, /) -> FloatLayer: ...
    @overload
    def __call__(self, a: float, b: FloatExpression, /) -> FloatLayer: ...


class Comparison(Ruled, Protocol):
    """Two operands of one dtype that broadcast, to a mask; integers and any others, or a Python number."""

    @overload
    def __call__(self, a: Indices[Any, Dv], b: IndexExpression | int, /) -> Mask[Any, Dv]: ...
    @overload
    def __call__(self, a: IntegerArray | int, b: Indices[Any, Dv], /) -> Mask[Any, Dv]: ...
    @overload
    def __call__(self, a: IntegerArray, b: IntegerArray | int, /) -> Mask[Any]: ...
    @overload
    def __call__(
        self, a: ArrayExpression[Any, T, Dv], b: ArrayExpression[Any, T, Dv] | ScalarOperand[T] | T | float, /
    ) -> Mask[Any, Dv]: ...
    @overload
    def __call__(
        self, a: ScalarOperand[T] | T | float, b: ArrayExpression[Any, T, Dv], /
    ) -> Mask[Any, Dv]: ...
    @overload
    def __call__(self, a: DoubleExpression, b: DoubleExpression, /) -> Mask[tuple[()]]: ...
    @overload
    def __call__(self, a: FloatExpression, b: FloatExpression | float, /) -> Mask[tuple[()]]: ...
    @overload
    def __call__(self, a: float, b: FloatExpression, /) -> Mask[tuple[()]]: ...


class Predicate(Ruled, Protocol):
    """One operand, to a mask of the same shape."""

    @overload
    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> Mask[S, Dv]: ...
    @overload
    def __call__(self, x: DoubleExpression, /) -> Mask[tuple[()]]: ...
    @overload
    def __call__(self, x: FloatExpression, /) -> Mask[tuple[()]]: ...


class Reduction(Ruled, Protocol):
    """One operand, reduced over `axis` (all axes if None); reduced axes stay as size 1 with `keepdims`."""

    @overload
    def __call__(
        self, x: ArrayExpression[Any, T, Dv], /, *, axis: None = None, keepdims: Literal[False] = False
    ) -> ArrayLayer[tuple[()], T, Dv]: ...
    @overload
    def __call__(
        self, x: ArrayExpression[Any, T, Dv], /, *, axis: Axis = None, keepdims: bool = False
    ) -> ArrayLayer[Any, T, Dv]: ...
    @overload
    def __call__(self, x: DoubleExpression, /) -> DoubleLayer: ...
    @overload
    def __call__(self, x: FloatExpression, /) -> FloatLayer: ...


def defined(rule: Rule, rules: Rules) -> Operation:
    """The operation named like the function `rule`, which Python's operators may have declared already."""
    name, module = rule.__name__, rule.__module__
    if not module.startswith("wengert."):  # a name of its own beside the library's
        return Operation(name, rules, module)
    operation = OPERATIONS.get(name)
    if operation is None:
        return Operation(name, rules)
    operation.define(rules)
    return operation


# Any: whoever dresses it casts it to its family
def dressed(public: Callable[..., Any], rule: Rule, operation: Operation) -> Any:
    """A public function with the name, the docstring and the home of its rule."""
    functools.update_wrapper(public, rule, assigned=("__module__", "__doc__"), updated=())
    public.__name__ = public.__qualname__ = operation.name
    del public.__wrapped__  # type: ignore[attr-defined] # the rule's own signature is not the public one
    public.rule = partial(rule_for, public)  # type: ignore[attr-defined] # as `Ruled` says
    return public


def composed(function: Callable[P, R]) -> Callable[P, R]:
    """A public function that is made of other operations: what these refuse, it refuses in its own name.

    Derivatives and batching rules are those of the operations; the nodes have the line of the user's call.

    >>> import wengert as wg
    >>> @composed
    ... def swish(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    ...     return wg.multiply(x, wg.sigmoid(x))
    >>> swish(0.0).predict().run()
    0.0
    """

    @functools.wraps(function)
    def public(*operands: P.args, **attributes: P.kwargs) -> R:
        try:
            return function(*operands, **attributes)
        except WengertError as error:
            text = _INNER.sub("", str(error), count=1).partition("\n  operand ")[0].partition("\n  at ")[0]
            given = described([x for x in operands if isinstance(x, Expression) or is_array(x)])
            name = function.__name__.lstrip("_")  # a part of the public one
            raise type(error)(f"{name}: {text}{given}\n  at {user_position()}") from None

    return public


def operation_of(public: object) -> Operation | None:
    """The operation behind a public function of Wengert's, or one made by `extend.operation`; None of anything else."""
    found = getattr(public, "operation", None)
    if found is None and getattr(public, "__module__", "").startswith("wengert."):
        found = OPERATIONS.get(getattr(public, "__name__", ""))
    return found if isinstance(found, Operation) else None


F = TypeVar("F", bound=Callable[..., Any])  # Any: operations of every type


def rule_for(public: F, /, *classes: type, infer: Infer, value: Rule, derivatives: Derivatives = ()) -> F:
    """Add a rule to any operation for operands whose Data are of `classes`, one class an operand, or derive from them.

    `wg.multiply.rule(...)` is the same of an operation that numbers have. `infer` is as in `extend.operation`, mostly
    `kinds.of(cls)`; `value` takes (case, *operands), a derivative (case, g, y, *operands), None where there is none.
    The most specific classes win. Raises ArgumentError for what is no operation of the library, no class, or has more
    derivatives than operands.

    >>> import operator
    >>> import wengert as wg
    >>> class Money(float): ...
    >>> @wg.register(Money)
    ... def money(x: Money) -> wg.Do[wg.Tape[Money, float]]:
    ...     return wg.Do.now(wg.Tape(x, lambda delta: wg.UnitContinuation.now(None)))
    >>> matmul = rule_for(wg.matmul, Money, Money, infer=kinds.of(float), value=operator.mul, derivatives=(None, None))
    >>> (money(Money(2)) @ money(Money(3))).predict().run()
    6.0
    """
    of = operation_of(public)
    wrong = (
        f"{shown(public)} is no operation; write rule_for(wg.matmul, Data, ...)"
        if of is None
        else next(
            (
                f"expected the class of an operand's Data, got {shown(x)}"
                for x in classes
                if not isinstance(x, type)
            ),
            "",
        )
        or f"{len(derivatives)} derivatives for {len(classes)} operands" * (len(derivatives) > len(classes))
    )
    if of is None or wrong:
        raise ArgumentError(f"rule: {wrong}\n  at {user_position()}")
    of.add(classes, Rules(infer, value, derivatives))
    return public


def elementwise(
    *derivatives: Rule | None, value: Rule | None = None, detached: bool = False, pure: bool = False
) -> Callable[[Rule], Elementwise]:
    """A rule (case, x) as a unary operation; no delta passes a `detached` one.

    `value` replaces the rule where a built-in function computes the same without a call in between. `pure` promises
    what `Rules` says of all of them, and that each element is computed from its own operands alone: then plans look
    into them, and `Batched` runs them on rows.
    """

    def make(rule: Rule) -> Elementwise:
        rules = Rules(
            kinds.elementwise,
            value or rule,
            derivatives,
            detached=detached,
            batch=rowwise if pure else None,
            ragged=by_elements if pure else None,
            pure=pure,
        )
        operation = defined(rule, rules)
        return cast(Elementwise, dressed(of_one(operation), rule, operation))

    return make


def broadcasting(
    *derivatives: Rule | None, value: Rule | None = None, detached: bool = False, pure: bool = False
) -> Callable[[Rule], Broadcasting]:
    """A rule (case, a, b) as a binary operation that broadcasts; the arguments are those of `elementwise`."""

    def make(rule: Rule) -> Broadcasting:
        rules = Rules(
            kinds.broadcasting,
            value or rule,
            derivatives,
            broadcasts=True,
            detached=detached,
            batch=aligned if pure else None,
            ragged=by_elements if pure else None,
            pure=pure,
        )
        operation = defined(rule, rules)
        return cast(Broadcasting, dressed(of_two(operation), rule, operation))

    return make


def comparison(rule: Rule, *, pure: bool = False) -> Comparison:
    """A rule (case, a, b) as a comparison; no delta passes it; `pure` as in `elementwise`."""
    rules = Rules(
        kinds.comparison,
        rule,
        detached=True,
        batch=aligned if pure else None,
        ragged=by_elements if pure else None,
        pure=pure,
    )
    operation = defined(rule, rules)
    return cast(Comparison, dressed(of_two(operation), rule, operation))


def predicate(rule: Rule, *, pure: bool = False) -> Predicate:
    """A rule (case, x) as a mask of one operand; no delta passes it; `pure` as in `elementwise`."""
    rules = Rules(kinds.predicate, rule, detached=True, batch=rowwise if pure else None, pure=pure)
    operation = defined(rule, rules)
    return cast(Predicate, dressed(of_one(operation), rule, operation))


def reduction(
    derivative: Rule, infer: Infer = kinds.reduction, *, pure: bool = False, mean: bool | None = None
) -> Callable[[Rule], Reduction]:
    """A rule (case, x, *, axis, keepdims) as a reduction; on scalars there are no axes, and no keywords.

    `mean` says of a sum that it is none, and of a mean that it is one; None: it is neither.

    `pure` promises what `Rules` says, and that what is reduced is reduced for each place of the other axes by itself.
    """

    def make(rule: Rule) -> Reduction:
        rules = Rules(
            infer,
            rule,
            (derivative,),
            batch=reduced if pure else None,
            ragged=reducing(mean) if pure else None,
            pure=pure,
        )
        operation = defined(rule, rules)

        # Any: typed by Reduction
        def public(x: Any, /, *more: Any, axis: Axis = None, keepdims: bool = False, **wrong: Any) -> Any:
            if more or wrong:
                raise misspelt(operation.name, wrong, ("axis", "keepdims"), more)
            if axis is None and keepdims is False:  # as `reduced_by`: a call takes as long as this look
                return unary(operation, x)
            return apply(operation, (x,), reduced_by(axis, keepdims))

        return cast(Reduction, dressed(public, rule, operation))

    return make


def reduced_by(axis: Axis, keepdims: bool) -> Attributes:
    """The attributes of a reduction; none where they are the default, as on scalars."""
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    return () if axis is None and keepdims is False else (("axis", axis), ("keepdims", keepdims))


def spread(case: Value, g: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """A value of the reduced shape, stretched over the shape of operand 0: the delta of a sum."""
    shape = case.shape(0)
    if not keepdims:
        g = case.xp.reshape(g, kinds.reduced_shape(shape, axis, True))
    return case.xp.broadcast_to(g, shape)


class Custom(Generic[P, R]):
    """A function of expressions: positional arguments are operands, keywords are static attributes."""

    def __init__(self, signature: Callable[P, R], operation: Operation) -> None:
        functools.update_wrapper(self, signature)
        self.operation = operation

    def __call__(self, *operands: P.args, **attributes: P.kwargs) -> R:
        return cast(R, apply(self.operation, operands, tuple(sorted(attributes.items()))))

    def rule(self, *classes: type, infer: Infer, value: Rule, derivatives: Derivatives = ()) -> None:
        """Add rules for operands whose Data are of `classes`, one class an operand, as `extend.rule_for` does."""
        rule_for(self, *classes, infer=infer, value=value, derivatives=derivatives)


def operation(
    infer: Infer,
    value: Rule,
    *derivatives: Rule | None,
    at_weight: Mapping[int, Rule] | None = None,
    broadcasts: bool = False,
    detached: bool = False,
    batch: Rule | None = None,
    ragged: Rule | None = None,
    pure: bool = False,
) -> Callable[[Callable[P, R]], Custom[P, R]]:
    """A new operation; the decorated function gives its name, types and docstring; its body is not run.

    `infer` takes the operands' kinds and gives the result's; `value` takes (case, *operands); a derivative
    takes (case, g, y, *operands) and gives one operand's delta. Static attributes come as keywords to all.
    `case.xp` has the array functions that fit the operands, `case.shape(i)` an operand's shape. A derivative that
    is written with these and with operators alone can be differentiated again.

    What the functions are given cannot be written to: it may be the value or the delta of others as well. Those that
    are `pure` promise besides to keep none of it and to depend on nothing else: plans look into them then, so that
    they become the same program as the library's own.

    `batch` says how `run.Batched` does many at once: it takes (batch, *operands), those that `batch.stacked` marks
    with an axis of rows in front, and gives an expression with that axis; `batch.again(*operands)` is the same
    operation on them. One that treats each element by itself has `extend.rowwise`; `extend.batching` has rules for
    reductions and the like. Without it rows go one by one. `ragged` says the same of examples of unlike sizes, whose
    rows lie in one table: it takes (ragged, *operands) and gives an expression with its layout, as
    `extend.batching.by_elements` does. Without it the examples of each size run together.

    >>> import wengert as wg
    >>> from wengert import extend
    >>> @operation(
    ...     extend.kinds.elementwise, lambda case, x: x * x * x, lambda case, g, y, x: g * (3.0 * x * x)
    ... )
    ... def cube(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    ...     raise NotImplementedError
    >>> w = wg.plugins.SGD(learning_rate=0.1).double_weight(2.0)
    >>> cube(w).predict().run(), wg.gradients(cube(w), (w,)).run()
    (8.0, (12.0,))

    Rules for operands of other types are added with `cube.rule(Data, ..., infer=..., value=...)`.
    """

    def make(signature: Callable[P, R]) -> Custom[P, R]:
        rules = Rules(
            infer,
            value,
            derivatives,
            at_weight or {},
            broadcasts,
            detached,
            batch=batch,
            ragged=ragged,
            pure=pure,
        )
        name = getattr(signature, "__name__", "operation")
        return Custom(signature, Operation(name, rules, signature.__module__))

    return make
