"""Expressions of examples that are kept, so that an example is recorded once however often it is trained.

Knows: that an expression is data and can run again; how many bytes its nodes take, about; that an example which draws
random numbers, or waits for computed values, has another expression in each step.
Refuses to know: what stands in an expression, and who runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, final

from wengert.errors import BlockValueError
from wengert.fold.plan import Kept
from wengert.fold.types import Value, error_here
from wengert.graph.node import next_serial

Columns: TypeAlias = list[tuple[bool, Value]]  # of one example: tensors, and what has a length
Joined: TypeAlias = tuple[tuple[Value, ...], dict[str, Value], dict[str, list[object]]]  # of a batch

NODE_BYTES: Final = (
    400  # 272 for a node with its operands, measured on CPython 3.11, and what executors keep of it
)


@final
class KeptExpressions:
    """The columns and metrics of examples, by identity, up to a number of bytes; what comes later is built anew.

    Those of whole batches are kept, too, so that a batch which comes back is read as one thing; at most as many as
    there are examples, as batches of examples that are shuffled do not come back.

    Several compilers may share it: what one has built of an example is nothing to the others.
    Examples must not change while they are kept. Nothing is thrown out for others: an epoch goes through all examples,
    so that whatever was thrown out would be the next to be asked for.
    >>> from wengert import fold as td
    >>> kept, compiler = td.KeptExpressions(1_000_000), td.Compiler.create(td.Scalar())
    >>> examples = [1.5, 2.5]
    >>> first, again = (compiler.build(examples, kept=kept) for _ in range(2))
    >>> len(kept), again.output_tensors[0].predict().run().tolist()
    (2, [1.5, 2.5])
    """

    def __init__(self, most: int) -> None:
        if most < 0:
            raise error_here(
                f"td.KeptExpressions: a bound of bytes is 0 or more, not {most}", BlockValueError
            )
        self._most = most
        self._bytes = 0
        self._found: dict[tuple[int, int], tuple[object, Columns, Kept, int]] = {}  # and bytes
        self._batches: dict[tuple[int, ...], Joined] = {}

    def __len__(self) -> int:
        return len(self._found)

    def find(self, by: object, x: object) -> tuple[Columns, Kept] | None:
        """The columns and metrics of an example, as the compiler's plan `by` has built them."""
        found = self._found.get((id(by), id(x)))  # both are kept too, so that nothing else has that identity
        return None if found is None else found[1:3]

    def begin(self) -> int:
        """The state before an example is built, for `keep`."""
        return next_serial()

    def keep(self, by: object, x: object, columns: Columns, metrics: Kept, begun: int) -> None:
        """Keep an example that was built since `begin`, if there is room."""
        size = NODE_BYTES * (next_serial() - begun)
        if self._bytes + size <= self._most:
            self._bytes += size
            self._found[id(by), id(x)] = (by, x), columns, metrics, size

    def batch(self, by: object, examples: Sequence[object]) -> Joined | None:
        """The batch of these examples, in this order."""
        return self._batches.get((id(by), *map(id, examples)))

    def keep_batch(self, by: object, examples: Sequence[object], joined: Joined, begun: int) -> None:
        """Keep what was joined of examples since `begin`, if all of them are kept, and there is room."""
        found = [self._found.get((id(by), id(x))) for x in examples]
        sizes = [kept[3] for kept in found if kept is not None]
        if len(sizes) < len(found) or len(self._batches) >= len(self._found):
            return
        # nodes, and their numbers and a schedule
        size = NODE_BYTES * (next_serial() - begun) + sum(sizes) // 2
        if self._bytes + size <= self._most:
            self._bytes += size
            self._batches[id(by), *map(id, examples)] = joined
