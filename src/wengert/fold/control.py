"""Blocks that choose: by data, by their absence, and by recursion.

Knows: keys of cases, and declarations that blocks may refer to before they are resolved.
Refuses to know: what the cases do. Choices by computed values are none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar, final, overload

from wengert.errors import BlockError, BlockKeyError, BlockValueError
from wengert.fold.block import A, AnyBlock, B, Block, C, Composite, Sides, Steps, X, Y
from wengert.fold.composition import feed
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import OBJECT, VOID, canonicalize_type, convert_to_type
from wengert.fold.data import InputTransform
from wengert.fold.machine import Run
from wengert.fold.solver import Solver, Unknown, Use
from wengert.fold.tensors import zeros_of_type
from wengert.fold.types import ResultType, Value
from wengert.graph.operand import shown
from wengert.graph.site import user_position

I = TypeVar("I")
O = TypeVar("O")


class OneOf(Composite[A, B]):
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
        listed = isinstance(cases, tuple)
        pairs = list(enumerate(cases)) if listed else list(dict(cases).items())
        if not pairs:
            raise BlockValueError(self.fault("there are no cases"))
        self._cases = [convert_to_block(block) for _, block in pairs]
        self._places = {key: i for i, (key, _) in enumerate(pairs)}
        if listed:
            self._places[-1] = len(pairs) - 1
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

    def steps(self, use: Use, x: Value, run: Run) -> Steps:
        key = yield use.parts[0], x
        first = 1
        if self._pre is not None:
            x = yield use.parts[1], x
            first = 2
        try:
            place = self._places.get(key)
        except TypeError:
            place = None
        if place is None:
            known_keys = ", ".join(shown(k) for k in list(self._places)[:8])
            raise BlockKeyError(self.fault(f"there is no case {shown(key)}; the cases are {known_keys}"))
        return (yield use.parts[first + place], x)


class Optional(Composite["A | None", B]):
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

    def steps(self, use: Use, x: Value, run: Run) -> Steps:
        if x is not None:
            return (yield use.parts[0], x)
        if len(use.parts) == 2:
            return (yield use.parts[1], None)
        return zeros_of_type(use.output, self.fault)


@final
class ForwardDeclaration(Generic[I, O]):
    """A block that others may refer to before it is there: calling it gives a reference.

    Raises BlockValueError where it is resolved twice, BlockError where it is not resolved when a block is built,
    and where what resolves it begins with itself, so that no data would ever be read.
    >>> from wengert import add, fold as td
    >>> tree: td.ForwardDeclaration[object, td.Tensors] = td.ForwardDeclaration()
    >>> node = td.Record((tree(), tree())) >> td.Function(add)
    >>> total = td.OneOf(lambda x: isinstance(x, tuple), {True: node, False: td.Scalar()})
    >>> tree.resolve_to(total)
    >>> total.eval(((1, 2), 3)).item()
    6.0

    Source: TensorFlow Fold, `td.ForwardDeclaration`.
    """

    def __init__(
        self, input_type: object = None, output_type: object = None, name: str | None = None
    ) -> None:
        self.declared: Sides = (_declared(input_type), _declared(output_type))
        self.name = name
        self.body: AnyBlock | None = None
        self.site = user_position()

    def __repr__(self) -> str:
        return f"<td.ForwardDeclaration{' ' + repr(self.name) if self.name else ''}>"

    def __call__(self) -> Block[I, O]:
        """A reference to what it will be resolved to."""
        if self.body is not None:
            raise BlockValueError(f"{self!r} is resolved: use the block itself\n  at {user_position()}")
        return Reference(self)

    def resolve_to(self, block: Block[I, O], /) -> None:
        """Say what all references mean."""
        body = convert_to_block(block)
        if self.body is not None:
            raise BlockValueError(f"{self!r} is resolved already\n  at {user_position()}")
        self._check_reads(body)
        self.body = body
        try:
            Reference(self)
        except BlockError:
            self.body = None
            raise

    def _check_reads(self, body: AnyBlock) -> None:
        """Refuse a block that reaches itself before any of its data are taken apart."""
        todo, met = [body], set[int]()
        while todo:
            block = todo.pop()
            if id(block) in met:
                continue
            met.add(id(block))
            if isinstance(block, Reference):
                if block.forward is self:
                    raise BlockError(
                        f"{self!r} is resolved to {body!r}, which begins with {self!r} on the same input: that is a "
                        f"cycle without an end; take the data apart first, or choose by OneOf\n  at {user_position()}"
                    )
                todo.extend([block.forward.body] if block.forward.body is not None else [])
            todo.extend(block.same_input())


def _declared(of: object) -> ResultType | None:
    return None if of is None else canonicalize_type(convert_to_type(of))


class Reference(Composite[A, B]):
    """What stands for a forward declaration until it is resolved, and after."""

    def __init__(self, forward: ForwardDeclaration[Any, Any]) -> None:  # Any: of every type
        super().__init__(forward.name)
        self.forward = forward
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        sides = solver.forwards.get(self.forward)
        if sides is None:
            given, made = self.forward.declared
            sides = solver.forwards[self.forward] = (given or Unknown(), made or Unknown())
            if self.forward.body is not None:
                solver.bodies[self.forward] = solver.use(self.forward.body)
        body = solver.bodies.get(self.forward)
        if body is None and solver.whole:
            raise BlockError(self.fault(f"{self.forward!r}, made at {self.forward.site}, was never resolved"))
        for what, of, mine, its in zip(
            ("input", "output"),
            sides,
            (use.input, use.output),
            (None, None) if body is None else (body.input, body.output),
            strict=True,
        ):
            solver.equal(use, f"the {what} of {self.forward!r}", of, f"the {what} of this use", mine)
            if its is not None:
                solver.equal(use, f"the {what} of {self.forward!r}", of, f"the {what} of its block", its)
        use.parts += [] if body is None else [body]

    def steps(self, use: Use, x: Value, run: Run) -> Steps:
        return (yield use.parts[0], x)


__all__ = ["ForwardDeclaration", "OneOf", "Optional"]
