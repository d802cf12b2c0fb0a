"""`Factory`: a constructor as a value, with its whole signature.

Knows: that a class is a function from its arguments to an instance.
Refuses to know: plugins; any callable will do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
A_co = TypeVar("A_co", covariant=True)


class Factory(Generic[P, A_co]):
    """Makes instances: `Factory(S).new_instance(...)` has the arguments and the type of `S(...)`.

    >>> Factory(complex).new_instance(1.0, imag=2.0)
    (1+2j)
    >>> Factory(complex)
    Factory(complex)
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[P, A_co]) -> None:
        self.make = make

    def new_instance(self, *args: P.args, **kwargs: P.kwargs) -> A_co:
        """A new instance."""
        return self.make(*args, **kwargs)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> A_co:
        """Call `new_instance`, so that a factory goes where a function is wanted."""
        return self.make(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Factory({getattr(self.make, '__qualname__', self.make)})"
