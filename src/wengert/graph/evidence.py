"""Registration with typed evidence, and lifting: how values of any class become layers.

Knows: the type class's instances as values that a checker can see (`Instance`), and the explicit lift.
Refuses to know: what an implementation does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar, overload

from wengert.arrays import Array, Cpu, Dv, Float32, Floating, Host, S, T
from wengert.control import Do
from wengert.differentiable import DeepLearning, Implementation, Tape, enrol
from wengert.errors import ArgumentError
from wengert.graph.apply import apply
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
    Layer,
    Place,
)
from wengert.graph.kinds import Role, kind_from_data
from wengert.graph.node import Node
from wengert.graph.operand import BUILT_IN, LITERAL, external, lift_any, shown, tape_do
from wengert.site import user_position

ANYTHING: object = Any  # a class since Python 3.11, of which nothing is an instance
X = TypeVar("X")
D = TypeVar("D")
E = TypeVar("E")
N = TypeVar("N", bound=Floating)

DoubleDeepLearning: TypeAlias = DeepLearning[X, float, float]
FloatDeepLearning: TypeAlias = DeepLearning[X, Float32, Float32]
# Any: deltas may be numpy's own arrays
ArrayDeepLearning: TypeAlias = DeepLearning[X, Array[S, T, Place], Any]


@dataclass(frozen=True, slots=True)
class Instance(Generic[X, D, E]):
    """Evidence that values of `cls` are differentiable: a witness, and callable as the explicit lift."""

    cls: type[X]
    implementation: Implementation

    def forward(self, x: X, /) -> Do[Tape[D, E]]:
        """The tape of one value."""
        tape: Do[Tape[D, E]] = self.implementation.rule(x)
        return tape

    @overload
    def __call__(self: Instance[X, float, float], x: X, /) -> DoubleLayer: ...  # type: ignore[overload-overlap] # narrow first: the last takes what the others leave
    @overload
    def __call__(self: Instance[X, Float32, Float32], x: X, /) -> FloatLayer: ...  # type: ignore[overload-overlap] # narrow first: the last takes what the others leave
    @overload
    def __call__(self: Instance[X, Host[N], Host[N]], x: X, /) -> ArrayLayer[Any, N, Cpu]: ...  # type: ignore[overload-overlap] # narrow first: the last takes what the others leave
    @overload
    def __call__(self, x: X, /) -> Layer[D, E]: ...
    def __call__(self, x: X, /) -> Any:  # Any: typed by the overloads
        """The layer of one value."""
        return external(x, kind_from_data(self.implementation.data, Role.LAYER))


class DoubleEvidence:
    """Evidence for what a `DoubleExpression` is: floats, weights, layers, and whatever has such a `forward`."""

    def forward(self, x: DoubleExpression, /) -> Do[Tape[float, float]]:
        """The tape of one value."""
        return tape_do(x)


class FloatEvidence:
    """Evidence for what a `FloatExpression` is."""

    def forward(self, x: FloatExpression, /) -> Do[Tape[Float32, Float32]]:
        """The tape of one value."""
        return tape_do(x)


class ArrayEvidence:
    """Evidence for what an `ArrayExpression` is."""

    def forward(self, x: ArrayExpression[S, T, Dv], /) -> Do[Tape[Array[S, T, Dv], Array[S, T, Dv]]]:
        """The tape of one value."""
        return tape_do(x)


double_evidence: Final = DoubleEvidence()
float_evidence: Final = FloatEvidence()
array_evidence: Final = ArrayEvidence()


def register(cls: type[X]) -> Callable[[Callable[[X], Do[Tape[D, E]]]], Instance[X, D, E]]:
    """Make the values of a class differentiable, whoever owns it; the result is the evidence.

    Raises ArgumentError for what is no class, and for a built-in type, whose values are literals already.
    >>> from wengert import Do, Tape, UnitContinuation
    >>> class Percent(int): ...
    >>> @register(Percent)
    ... def percent(x: Percent) -> Do[Tape[float, float]]:
    ...     return Do.now(Tape(x / 100, lambda delta: UnitContinuation.now(None)))
    >>> (percent(Percent(50)) * 3.0).predict().run()
    1.5
    """
    if not isinstance(cls, type):
        raise ArgumentError(
            f"register: expected a class, got {shown(cls)}; write @register(type(x)) for the class of a value\n"
            f"  at {user_position()}"
        )
    if cls is object or cls is ANYTHING:
        raise ArgumentError(
            f"register: {shown(cls)} is every class, and evidence is for one; write @register(type(x)) for that of a "
            f"value\n  at {user_position()}"
        )
    if cls in BUILT_IN:
        raise ArgumentError(
            f"register: {cls.__name__} is built in, and its values are literals already; register a class of "
            f"your own, which may derive from it\n  at {user_position()}"
        )

    def enter(rule: Callable[[X], Do[Tape[D, E]]]) -> Instance[X, D, E]:
        return Instance(cls, enrol(cls, rule))

    return enter


@overload
def lift(x: DoubleExpression, /) -> DoubleLayer: ...
@overload
def lift(x: FloatExpression, /) -> FloatLayer: ...
@overload
def lift(x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]: ...
@overload
def lift(x: Layer[D, E], /) -> Layer[D, E]: ...
# Any: typed by the overloads; a registered value is accepted with the mypy plugin
def lift(x: Any, /) -> Any:
    """Any built-in or registered value, or a product of such, as its layer.

    Raises NotDifferentiableError for any other, with what to write.
    >>> lift(2.0) * lift(3.0)  # doctest: +ELLIPSIS
    <DoubleLayer multiply () float64, built at ...>
    """
    made = lift_any(x)
    return made if isinstance(made, Node) else apply(LITERAL, (made,))
