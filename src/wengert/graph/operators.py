"""Python's operators: the operations behind them, as names, and the evidence that a user's Data have one.

Knows: which ten operations have an operator; that a type checker takes one of layers where the Data have its method.
Refuses to know: rules. `ops` gives the operations theirs, and a user those for Data of his own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wengert.graph.operation import Operation

ADD: Final = Operation("add", None)
SUBTRACT: Final = Operation("subtract", None)
MULTIPLY: Final = Operation("multiply", None)
DIVIDE: Final = Operation("divide", None)
POW: Final = Operation("pow", None)
REMAINDER: Final = Operation("remainder", None)
MATMUL: Final = Operation("matmul", None)
NEGATIVE: Final = Operation("negative", None)
ABS: Final = Operation("abs", None)
GETITEM: Final = Operation("getitem", None)

if TYPE_CHECKING:  # no run asks for them
    from typing import Protocol

    from wengert.generics import TypeVar

    B = TypeVar("B", contravariant=True)
    R = TypeVar("R", covariant=True)

    class Adds(Protocol[B, R]):
        """Data with `a + b`."""

        def __add__(self, other: B, /) -> R: ...

    class Subtracts(Protocol[B, R]):
        """Data with `a - b`."""

        def __sub__(self, other: B, /) -> R: ...

    class Multiplies(Protocol[B, R]):
        """Data with `a * b`."""

        def __mul__(self, other: B, /) -> R: ...

    class Divides(Protocol[B, R]):
        """Data with `a / b`."""

        def __truediv__(self, other: B, /) -> R: ...

    class Raises(Protocol[B, R]):
        """Data with `a ** b`."""

        def __pow__(self, other: B, /) -> R: ...

    class LeavesRemainder(Protocol[B, R]):
        """Data with `a % b`."""

        def __mod__(self, other: B, /) -> R: ...

    class Contracts(Protocol[B, R]):
        """Data with `a @ b`."""

        def __matmul__(self, other: B, /) -> R: ...

    class IsAdded(Protocol[B, R]):
        """Data with `a + b` where they are `b`."""

        def __radd__(self, other: B, /) -> R: ...

    class IsSubtracted(Protocol[B, R]):
        """Data with `a - b` where they are `b`."""

        def __rsub__(self, other: B, /) -> R: ...

    class IsMultiplied(Protocol[B, R]):
        """Data with `a * b` where they are `b`."""

        def __rmul__(self, other: B, /) -> R: ...

    class Negates(Protocol[R]):
        """Data with `-a`."""

        def __neg__(self) -> R: ...

    class HasAbs(Protocol[R]):
        """Data with `abs(a)`."""

        def __abs__(self) -> R: ...
