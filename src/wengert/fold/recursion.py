"""Blocks that others may refer to before they are there: recursion, also mutual.

Knows: declarations, what they are resolved to, and that no block may reach itself before data are taken apart.
Refuses to know: any other block.
"""

from __future__ import annotations

from typing import Any, Generic, final

from wengert.arrays import is_integer
from wengert.errors import BlockError, BlockValueError
from wengert.fold.block import A, AnyBlock, B, Block, convert_to_block
from wengert.fold.calls import Calls
from wengert.fold.convert import canonicalize_type, convert_to_type
from wengert.fold.inference import Inferred, Sides, Sited, Solver, Unknown, Use
from wengert.fold.types import ResultType, error_here
from wengert.generics import TypeVar
from wengert.graph.operand import shown

# Any: of a recursion whose types nobody states
I = TypeVar("I", default=Any)
O = TypeVar("O", default=Any)


@final
class ForwardDeclaration(Sited, Generic[I, O]):
    """A block that others may refer to before it is there: calling it gives a reference.

    Data may be any depth. A recursion that is deeper than `limit` is an error: by default than 2,000,000 blocks, and
    than 10,000 where computed values are awaited.
    Raises BlockValueError where it is resolved twice and, when built, for data that contain themselves, BlockError
    where it is not resolved when a block is built, and where what resolves it begins with itself, so that no data
    would ever be read.
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
        self,
        input_type: object = None,
        output_type: object = None,
        name: str | None = None,
        *,
        limit: int | None = None,
    ) -> None:
        super().__init__(name, {})
        if limit is not None and (not is_integer(limit) or int(limit) < 1):
            raise error_here(f"{self!r}: a limit is at least 1, not {shown(limit)}", BlockValueError)
        self.limit = None if limit is None else int(limit)
        self.declared: Sides = (_declared(input_type), _declared(output_type))
        self.body: AnyBlock | None = None

    def __call__(self) -> Block[I, O]:
        """A reference to what it will be resolved to."""
        if self.body is not None:
            raise error_here(f"{self!r} is resolved: use the block itself", BlockValueError)
        return Reference(self)

    def resolve_to(self, block: Block[I, O], /) -> None:
        """Say what all references mean."""
        body = convert_to_block(block)
        if self.body is not None:
            raise error_here(f"{self!r} is resolved already", BlockValueError)
        self._check_reads(body)
        self.body = body
        try:
            Reference(self)
        except BlockError:
            self.body = None
            raise

    def _check_reads(self, body: Inferred) -> None:
        """Refuse a block that reaches itself before any of its data are taken apart."""
        todo, met = [body], set[int]()
        while todo:
            block = todo.pop()
            if id(block) in met:
                continue
            met.add(id(block))
            if isinstance(block, Reference):
                if block.forward is self:
                    raise error_here(
                        f"{self!r} is resolved to {body!r}, which begins with {self!r} on the same input: that is a "
                        f"cycle without an end; take the data apart first, or choose by OneOf"
                    )
                todo.extend([block.forward.body] if block.forward.body is not None else [])
            todo.extend(block.same_input())


def _declared(of: object) -> ResultType | None:
    return None if of is None else canonicalize_type(convert_to_type(of))


class Reference(Block[A, B]):
    """A use of a forward declaration, before it is resolved and after."""

    def __init__(self, forward: ForwardDeclaration[Any, Any]) -> None:  # Any: of every type
        super().__init__(forward.name)
        self.forward = forward
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        sides = solver.forwards.get(self.forward)
        if sides is None:
            given, made = self.forward.declared
            sides = solver.forwards[self.forward] = (given or Unknown(), made or Unknown())
            if self.forward.limit is not None:
                solver.limit = max(solver.limit or 0, self.forward.limit)
            if self.forward.body is not None:
                solver.bodies[self.forward] = solver.use(self.forward.body)
        body = solver.bodies.get(self.forward)
        if body is None and solver.whole:
            raise self.error(f"{self.forward!r}, made at {self.forward.site}, was never resolved")
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
        use.target = body

    def compile(self, use: Use, calls: Calls) -> None:
        raise AssertionError("a plan has what it stands for")
