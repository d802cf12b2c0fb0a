"""How blocks become layers: one loop with a stack of its own, so that data nest as deep as memory allows (S8).

Knows: uses of blocks with known types, the order in which they are asked, the depth of cells.
Refuses to know: any single block, and what a layer computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from wengert.control import Executor
from wengert.errors import BlockError, WengertError
from wengert.fold.convert import OBJECT, tensor_type, type_of
from wengert.fold.solver import Solver, Use, known
from wengert.fold.types import Endless, ResultType, SequenceType, TensorType, TupleType, Value
from wengert.graph.node import Expression
from wengert.graph.operand import shown
from wengert.graph.site import user_position
from wengert.run.ask import predict

if TYPE_CHECKING:
    from wengert.fold.block import AnyBlock, Steps


@dataclass
class Run:
    """What is kept while layers are built for one example."""

    depths: dict[int, tuple[object, int]] | None = None  # by identity, with what keeps that identity alive
    metrics: dict[str, list[tuple[Value, object]]] = field(
        default_factory=dict
    )  # by name: tensors and labels

    def call(self, function: Callable[..., Value], *given: Value) -> Value:
        """A function of layers as one cell; everything that computes goes through here."""
        result = function(*given)
        if self.depths is not None:
            depth = 1 + self.depth_of(given)
            for leaf in _leaves(result):
                self.depths[id(leaf)] = (leaf, depth)
        return result

    def depth_of(self, x: Value) -> int:
        """The greatest depth of anything in `x`."""
        depths = self.depths or {}
        return max((depths[id(leaf)][1] for leaf in _leaves(x) if id(leaf) in depths), default=0)


def planned(block: AnyBlock, plans: dict[ResultType | None, Use], x: object) -> Use:
    """The block with all its types known, for this kind of input."""
    key = None if block.known_input is not None else type_of(x)
    found = plans.get(key)
    if found is None:
        found, _ = plan(block, key)
        plans[key] = found
    _check_given(found, x)
    return found


def plan(block: AnyBlock, given: ResultType | None) -> tuple[Use, dict[str, ResultType]]:
    """A use of a block in which all types are known, and the types of its metrics.

    `given` is the type of what enters, for where the blocks themselves leave that open.
    """
    solver = Solver(whole=True)
    root = solver.use(block)
    solver.solve()
    if given is not None and known(root.input) is None:
        solver.equal(root, "its input", root.input, "the data", given)
    solver.solve(defaults=True)
    for use in solver.uses:
        for side, of in (("input", use.input), ("output", use.output)):
            if known(of) is None:
                raise BlockError(
                    f"{use.block!r}: the type of its {side} is not known; set_{side}_type says it"
                    f"\n  at {use.block.site}"
                )
        use.input, use.output = cast(ResultType, known(use.input)), cast(ResultType, known(use.output))
        use.facts = {name: cast(ResultType, known(of)) for name, of in use.facts.items()}
    return root, solver.metrics


def _check_given(root: Use, x: object) -> None:
    """Where blocks begin with tensors, the input has to have them; nobody else would look."""
    todo: list[tuple[ResultType, object]] = [(root.input, x)]
    while todo:
        of, value = todo.pop()
        if of == OBJECT:
            continue
        if isinstance(of, TensorType):
            fits = tensor_type(value) == of
        elif isinstance(of, TupleType):
            fits = isinstance(value, tuple) and len(value) == len(of)
        elif isinstance(of, SequenceType):
            fits = isinstance(value, (Endless, list))
        else:
            fits = True
        if not fits:
            raise BlockError(
                f"{root.block!r}: its input is {root.input}, and {shown(value)} is no {of}\n  at {user_position()}"
            )
        if isinstance(of, TupleType):
            todo.extend(zip(of.parts, cast(Any, value), strict=True))
        elif isinstance(of, SequenceType):
            todo.extend((of.item, part) for part in of.open(value))


def built(root: Use, x: Value, run: Run) -> Value:
    """The value of a use for an input."""
    stack: list[tuple[Use, Steps]] = []
    use, given = root, x
    while True:
        try:
            if use.steps is None:
                result = cast(Any, use).value(use, given, run)
            else:
                stack.append((use, use.steps(use, given, run)))
                result = None
            while stack:
                use, frame = stack[-1]
                try:
                    use, given = frame.send(result)
                    break
                except StopIteration as done:
                    stack.pop()
                    result = done.value
            else:
                return result
        except Exception as error:
            _explain(error, use)
            raise


def _explain(error: Exception, use: Use) -> None:
    """Say which block asked for what failed, unless the error says so itself."""
    if not isinstance(error, BlockError):
        where = "" if isinstance(error, WengertError) else " from the data"
        error.add_note(f"while {use.block!r} was built{where}; the block was made at {use.block.site}")


def _leaves(x: Value) -> list[Value]:
    """What is in tuples, lists and endless repetitions, in order."""
    found: list[Value] = []
    todo: list[Value] = [x]
    while todo:
        item = todo.pop()
        if isinstance(item, (tuple, list)):
            todo.extend(reversed(item))
        elif isinstance(item, Endless):
            todo.append(next(item))
        else:
            found.append(item)
    return found


def evaluated(x: Value, executor: Executor | None) -> Value:
    """The same structure with data instead of layers, all predicted in one run."""
    layers = list({id(leaf): leaf for leaf in _leaves(x) if isinstance(leaf, Expression)}.values())
    data = dict(zip(map(id, layers), cast(Any, predict(cast(Any, tuple(layers)))).run(executor), strict=True))
    return _replaced(x, data)


def _replaced(x: Value, data: dict[int, Value]) -> Value:
    done: list[Value] = []
    todo: list[Value] = [x]
    while todo:
        item = todo.pop()
        if isinstance(item, _Close):
            parts = [done.pop() for _ in range(item.count)][::-1]
            done.append(item.make(parts))
        elif isinstance(item, (tuple, list)):
            todo.append(_Close(len(item), tuple if isinstance(item, tuple) else list))
            todo.extend(reversed(item))
        elif isinstance(item, Endless):
            todo.extend((_Close(1, lambda parts: Endless(parts[0])), next(item)))
        else:
            done.append(data.get(id(item), item))
    return done[0]


@dataclass(slots=True, frozen=True)
class _Close:
    """After `count` values: put them together."""

    count: int
    make: Callable[[list[Value]], Value]
