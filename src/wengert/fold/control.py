"""Blocks that choose: by data, and by their absence.

Knows: keys of cases.
Refuses to know: what the cases do. Choices by computed values are in `computed`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, overload

from wengert.errors import BlockError, BlockKeyError, BlockValueError
from wengert.fold.block import A, AnyBlock, B, Block, C, X, Y
from wengert.fold.code import Code, Written
from wengert.fold.composition import feed
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.data import InputTransform
from wengert.fold.solver import Solver, Use
from wengert.fold.zeros import zeros_of_type
from wengert.graph.operand import shown

T = TypeVar("T")


class OneOf(Written[A, B]):
    """The case under the key that `key_fn` finds in the data; with `pre_block`, the case reads what that gives.

    Cases are a dict, a list of pairs, or a tuple, whose keys are its places and -1 the last one.
    Raises BlockValueError without cases, BlockError where outputs of cases differ, BlockKeyError, when built, for
    a key that no case has.
    >>> from wengert import fold as td
    >>> sign = td.OneOf(lambda x: x > 0, {True: td.Scalar(), False: td.FromTensor(0.0)})
    >>> sign.eval(3).item(), sign.eval(-3).item()
    (3.0, 0.0)

    Source: TensorFlow Fold, `td.OneOf`.
    """

    @overload
    def __init__(
        self: OneOf[X, C],
        key_fn: Callable[[X], Hashable] | Block[X, Any],
        cases: Mapping[Any, Block[X, C]] | list[tuple[Any, Block[X, C]]] | tuple[Block[X, C], ...],
        *,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: OneOf[X, C],
        key_fn: Callable[[X], Hashable] | Block[X, Any],
        cases: Mapping[Any, Block[Y, C]] | list[tuple[Any, Block[Y, C]]] | tuple[Block[Y, C], ...],
        pre_block: Block[X, Y],
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self, key_fn: Any, cases: Any, pre_block: AnyBlock | None = None, name: str | None = None
    ) -> None:  # Any: typed by the overloads
        super().__init__(name, key_fn=key_fn, cases=cases)
        if not callable(key_fn):
            raise BlockError(self.fault("the key is found by a function of data, or by a block"))
        self._key = key_fn if isinstance(key_fn, Block) else InputTransform(key_fn)
        self._cases, self._places = listed_cases(self, cases)
        self._pre = None if pre_block is None else convert_to_block(pre_block)
        self.settled()

    def same_input(self) -> Iterable[AnyBlock]:
        return [self._key] if self._pre is None else [self._key, self._pre]

    def constrain(self, solver: Solver, use: Use) -> None:
        feed(solver, use, self._key, use.input, "its input")
        solver.equal(use, "a key", OBJECT, f"the output of {self._key!r}", use.parts[0].output)
        source = use.input
        if self._pre is not None:
            feed(solver, use, self._pre, use.input, "its input")
            source = use.parts[1].output
        for block in self._cases:
            feed(solver, use, block, source, "what the cases read")
            solver.equal(
                use, "the output of the cases", use.output, f"the output of {block!r}", use.parts[-1].output
            )

    def write(self, use: Use, code: Code, x: str) -> str:
        keyed, *parts = use.parts
        key = code.ask(keyed, x)
        if self._pre is not None:
            x = code.ask(parts.pop(0), x)
        places, look = code.name(self._places), partial(case_of, self, self._places)
        place = code.tried(f"{places}[{key}]", "(KeyError, TypeError)", look, key)
        return code.chosen(place, [partial(code.ask, part, x) for part in parts])


class Optional(Written["A | None", B]):
    """A block for data that may be None: None goes to `none`, which reads nothing, or becomes zeros.

    Raises BlockError where the two give different types.
    >>> from wengert import fold as td
    >>> td.Optional(td.Vector(2)).eval(None).tolist(), td.Optional(td.Scalar(), 4.0).eval(None).item()
    ([0.0, 0.0], 4.0)

    Source: TensorFlow Fold, `td.Optional`.
    """

    def __init__(
        self: Optional[X, C],
        some: Block[X, C],
        none: Block[None, C] | float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name, some=some)
        self._some = convert_to_block(some)
        self._none = None if none is None else convert_to_block(none)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "its input", use.input, "data that may be None", OBJECT)
        feed(solver, use, self._some, use.input, "its input")
        solver.equal(use, "its output", use.output, f"the output of {self._some!r}", use.parts[0].output)
        if self._none is not None:
            none = solver.use(self._none)
            use.parts.append(none)
            solver.equal(use, "what None gives", VOID, f"the input of {self._none!r}", none.input)
            solver.equal(use, "its output", use.output, f"the output of {self._none!r}", none.output)

    def write(self, use: Use, code: Code, x: str) -> str:
        some, *none = use.parts

        def without() -> str:
            zeros = partial(zeros_of_type, use.output, self.fault)
            return code.ask(none[0], "None") if none else f"{code.name(zeros)}()"

        return code.chosen(f"({x} is None)", [partial(code.ask, some, x), without])


def listed_cases(block: AnyBlock, cases: Any) -> tuple[list[AnyBlock], dict[Any, int]]:  # Any: of every type
    """The blocks of a dict, of a list of pairs or of a tuple, and the place of each key among them."""
    listed = isinstance(cases, tuple)
    try:
        pairs = list(enumerate(cases)) if listed else list(dict(cases).items())
    except (TypeError, ValueError):
        raise BlockError(
            block.fault(f"cases are a dict, a list of pairs of key and block, or a tuple; got {shown(cases)}")
        ) from None
    if not pairs:
        raise BlockValueError(block.fault("there are no cases"))
    places = {key: i for i, (key, _) in enumerate(pairs)}
    if listed:
        places[-1] = len(pairs) - 1
    return [convert_to_block(case) for _, case in pairs], places


def case_of(block: AnyBlock, cases: Mapping[Any, T], key: Any) -> T:  # Any: a key of every type
    """The case under a key."""
    try:
        found = cases.get(key)
    except TypeError:  # it has no hash, so no case has it
        found = None
    if found is None:
        listed = ", ".join(shown(k) for k in list(cases)[:8])
        raise BlockKeyError(block.fault(f"there is no case {shown(key)}; the cases are {listed}")) from None
    return found
