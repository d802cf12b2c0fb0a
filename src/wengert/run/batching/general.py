"""One listing of two recordings: what differs between two numbers of rows is the number of rows.

Knows: that both numbers are primes and no factor of any size, so that a number which differs is a multiple of the
rows; anything else that differs is refused.
Refuses to know: what the calls compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.arrays import Value, is_host_array
from wengert.arrays.kernels import FOR_ANY_ROWS
from wengert.graph.operation import Signature
from wengert.lazy import LazyDelta, Product, Rows, Term
from wengert.run.batching.foreign import ForRows, Own
from wengert.run.batching.listing import Count, Dims, Listing, NotGeneral, Ones, Slot, Sparse, Step
from wengert.run.batching.recording import Recording, counts_of, record
from wengert.run.batching.rules import batched
from wengert.run.compiled.tracing import Call, Function, Traced


def listing_of(signature: Signature, shared: Sequence[bool], pattern: Sequence[bool]) -> Listing:
    """The listing for any number of rows; raises `NotGeneral`."""
    counts = counts_of(signature, shared)
    one, two = (record(batched(signature, shared, n), pattern, n) for n in counts)
    try:
        return _Merge(counts).merged(one, two)
    finally:
        one.trace.close()
        two.trace.close()


class _Merge:
    """What two recordings have in common."""

    def __init__(self, counts: tuple[int, int]) -> None:
        self.counts = counts
        self.slots: dict[Traced, Slot] = {}  # by the outlines of both

    def merged(self, one: Recording, two: Recording) -> Listing:
        if (one.forward, len(one.calls)) != (two.forward, len(two.calls)):
            raise NotGeneral("the number of calls depends on the number of rows")
        inputs = [self.slot(a, b) for a, b in zip(one.inputs, two.inputs, strict=True)]
        arriving = [
            None if a is None or b is None else self.slot(a, b)
            for a, b in zip(one.arriving, two.arriving, strict=True)
        ]
        steps = [self.step(a, b) for a, b in zip(one.calls, two.calls, strict=True)]
        results = [self.argument(a, b) for a, b in zip(one.results, two.results, strict=True)]
        deltas = [self.delta(a, b) for a, b in zip(one.deltas, two.deltas, strict=True)]
        return Listing(inputs, steps[: one.forward], results, arriving, steps[one.forward :], deltas)

    def slot(self, a: Traced, b: Traced) -> Slot:
        """The slot of a value that both have made."""
        x, y = a.value, b.value
        if is_host_array(x) and is_host_array(y) and x.dtype == y.dtype and x.ndim == y.ndim:
            dims: Dims = tuple(self.number(n, m) for n, m in zip(x.shape, y.shape, strict=True))
            made = Slot(dims, x.dtype, x.flags.c_contiguous and bool(x.ndim))
        elif is_host_array(x) or type(x) is not type(y):
            raise NotGeneral("the kind of a value depends on the number of rows")
        else:
            made = Slot(None, None, False)
        self.slots[a.outline] = self.slots[b.outline] = made
        return made

    def step(self, a: Call, b: Call) -> Step:
        if a.result is None or b.result is None or a.options.keys() != b.options.keys():
            raise NotGeneral("a call changes something in place")
        arguments = self.argument(a.arguments, b.arguments)
        options = {name: self.argument(x, b.options[name]) for name, x in a.options.items()}
        return Step(
            self.function(a.function, b.function), arguments, options, self.slot(a.result, b.result), a.pure
        )

    def function(self, a: Function, b: Function) -> Function:
        if isinstance(a, Own) and isinstance(b, Own):
            if (a.signature.operation, a.index) == (b.signature.operation, b.index):
                return ForRows(a, b, self.argument, self.number)
        elif a is b or a == b:
            return FOR_ANY_ROWS.get(a, a)
        raise NotGeneral(f"{getattr(a, '__name__', a)} is another function for each number of rows")

    def number(self, a: int, b: int) -> int | Count:
        if a == b:
            return a
        n, m = self.counts
        if a % n or b % m or a // n != b // m:
            raise NotGeneral(f"{a} for {n} rows is {b} for {m}")
        return Count(a // n)

    def argument(self, a: Any, b: Any) -> Any:  # Any: as in `Call`
        if isinstance(a, Traced) and isinstance(b, Traced):
            of = self.slots[a.outline]
            if of is self.slots[b.outline]:
                return of
        if type(a) is not type(b):
            raise NotGeneral(f"an argument is {type(a).__name__} or {type(b).__name__}")
        if isinstance(a, (tuple, list)) and len(a) == len(b):
            return tuple(self.argument(x, y) for x, y in zip(a, b, strict=True))
        if isinstance(a, slice):
            pairs = ((a.start, b.start), (a.stop, b.stop), (a.step, b.step))
            return slice(*(self.argument(x, y) for x, y in pairs))
        if type(a) is int:
            return self.number(a, b)
        if is_host_array(a):
            return self.array(a, b)
        if a is b or a == b:
            return a
        raise NotGeneral(f"an argument is {a!r:.40} or {b!r:.40}")

    def array(self, a: Value, b: Value) -> Any:  # Any: an array, or ones
        if a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()):
            return a
        if a.ndim == b.ndim == 1 and a.dtype == b.dtype and (a == 1).all() and (b == 1).all():
            count = self.number(len(a), len(b))
            if isinstance(count, Count):
                return Ones(count, a.dtype)
        raise NotGeneral("a constant array depends on the number of rows")

    def delta(self, a: Any, b: Any) -> Any:  # Any: as in `Recording`
        if not isinstance(a, LazyDelta):
            return self.argument(a, b)
        if len(a.terms) != len(b.terms) or (a.factor, b.factor) != (1.0, 1.0):
            raise NotGeneral("a sum depends on the number of rows")
        terms = [self.term(x, y) for x, y in zip(a.terms, b.terms, strict=True)]
        return Sparse(terms, self.argument(a.rest, b.rest))

    def term(self, a: Term, b: Term) -> tuple[type[Term], tuple[Any, ...]]:  # Any: as in `Sparse`
        if isinstance(a, Product) and isinstance(b, Product):
            return Product, (self.argument(a.left, b.left), self.argument(a.right, b.right))
        if isinstance(a, Rows) and isinstance(b, Rows):
            return Rows, tuple(
                self.argument(x, y) for x, y in ((a.key, b.key), (a.values, b.values), (a.shape, b.shape))
            )
        raise NotGeneral(f"a term {type(a).__name__} is not known")
