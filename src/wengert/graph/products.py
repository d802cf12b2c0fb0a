"""Products: tuples, NamedTuples and frozen dataclasses of expressions are expressions.

Knows: how to take such a structure apart into its leaves and put one of the same structure together; that one beside a
loss is computed with it, in one pass.
Refuses to know: what the leaves are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final

from wengert.control import Do, UnitContinuation, gather
from wengert.delta import zero
from wengert.differentiable import Tape, enrol_where, registered
from wengert.errors import NotDifferentiableError
from wengert.graph.node import Expression, check_scalar_loss, new_node
from wengert.graph.operand import lift_any, shown, tape_do
from wengert.graph.operation import Operation, Rules
from wengert.site import user_position

Rebuild = Callable[[Iterable[Any]], Any]  # Any: a structure of data, of deltas or of layers


def is_product(x: object) -> bool:
    """True if `x` is a tuple or a frozen dataclass."""
    if isinstance(x, Expression | Tape) or registered(x):
        return False
    if isinstance(x, tuple):
        return True
    parameters = getattr(type(x), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def parts_of(x: object) -> tuple[list[object], Rebuild]:
    """The fields of one product in order, and what makes the same product of others."""
    if isinstance(x, tuple):
        cls = type(x)
        if hasattr(cls, "_make"):
            return list(x), cls._make
        return list(x), tuple
    names = fields_of(type(x))
    return [getattr(x, name) for name in names], partial(_with_fields, x, names)


def _with_fields(x: Any, names: Sequence[str], parts: Iterable[Any]) -> Any:  # Any: a frozen dataclass
    return dataclasses.replace(x, **dict(zip(names, parts, strict=True)))


def fields_of(cls: type) -> list[str]:
    """The names of those fields of a frozen dataclass that it is made of."""
    return [f.name for f in dataclasses.fields(cls) if f.init]


Opened = tuple[list[object], Rebuild] | None


def _product(x: object) -> Opened:
    return parts_of(x) if is_product(x) else None


# Any: expressions and whatever a user put in a field
def leaves_of(x: object, opened: Callable[[object], Opened] = _product) -> tuple[list[Any], Rebuild]:
    """All leaves of nested products, left to right, and what puts one of the same nesting together.

    `opened` gives the parts of other structures, and None for a leaf; one within itself is a leaf there.
    """
    if type(x) is tuple and not any(map(opened, x)):
        return list(x), tuple
    leaves: list[object] = []
    plan: list[
        tuple[int, Rebuild] | None
    ] = []  # in postfix order: None takes a leaf, else n results become one
    todo: list[object] = [x]
    around: set[int] = set()  # the identities of what is open
    while todo:
        item = todo.pop()
        if isinstance(item, _Rebuilding):
            around.discard(item.of)
            plan.append((item.parts, item.rebuild))
        elif id(item) not in around and (found := opened(item)) is not None:
            parts, rebuild = found
            around.add(id(item))
            todo.append(_Rebuilding(len(parts), rebuild, id(item)))
            todo.extend(reversed(parts))
        else:
            leaves.append(item)
            plan.append(None)

    return leaves, partial(_put_together, tuple(plan))


def _put_together(plan: tuple[tuple[int, Rebuild] | None, ...], values: Iterable[Any]) -> Any:
    """The product that a plan in postfix order makes of its leaves."""
    source = iter(values)
    done: list[Any] = []
    for step in plan:
        if step is None:
            done.append(next(source))
        else:
            count, rebuild = step
            start = len(done) - count
            done[start:] = [rebuild(done[start:])]
    return done[0]


class _Rebuilding:
    __slots__ = ("of", "parts", "rebuild")

    def __init__(self, parts: int, rebuild: Rebuild, of: int) -> None:
        self.parts = parts
        self.rebuild = rebuild
        self.of = of


def zero_of(data: object) -> Any:  # Any: the Delta that belongs to `data`
    """The delta that changes nothing, of the structure of `data`."""
    leaves, rebuild = leaves_of(data)
    return rebuild(map(zero, leaves))


def leaves_like(product: object, structure: object) -> list[Any]:  # Any: deltas of every type
    """The parts of `structure` at the leaves of `product`; a leaf's own tuple is not taken apart."""
    leaves: list[Any] = []
    todo = [(product, structure)]
    while todo:
        like, item = todo.pop()
        if is_product(like):
            todo.extend(reversed(list(zip(parts_of(like)[0], parts_of(item)[0], strict=True))))
        else:
            leaves.append(item)
    return leaves


def forward_of_product(x: object) -> Do[Tape[Any, Any]]:  # Any: the product's structure of Data and of Delta
    """The tape of a product: Data and Delta have its structure, fields are independent branches."""
    leaves, rebuild = leaves_of(x)
    return gather(*(tape_do(leaf) for leaf in leaves)).map(_Joined(x, rebuild))


def _send(tape: Tape[Any, Any], delta: Do[Any], before: None) -> UnitContinuation[None]:
    return tape.backward(delta)


class _Joined:
    """From the tapes of all leaves to the tape of the product."""

    __slots__ = ("product", "rebuild")

    def __init__(self, product: object, rebuild: Rebuild) -> None:
        self.product = product
        self.rebuild = rebuild

    def __call__(self, tapes: tuple[Tape[Any, Any], ...]) -> Tape[Any, Any]:
        def backward(delta: Do[Any]) -> UnitContinuation[None]:
            parts = delta.map(partial(leaves_like, self.product)).shared()
            sent = UnitContinuation.now(None)
            for index, tape in enumerate(tapes):
                sent = sent.flat_map(partial(_send, tape, parts.map(itemgetter(index))))
            return sent

        return Tape(self.rebuild(tape.data for tape in tapes), backward)


enrol_where(is_product, forward_of_product)


BESIDE: Final = Operation(
    "beside",
    Rules(
        lambda kinds: kinds[0],
        lambda case, x, *others: x,
        {0: lambda case, g, y, x, *others: g},
        pure=True,
    ),
)


class Also:
    """A loss, and a structure whose values are asked for with it; `root` is an expression that has both below."""

    __slots__ = ("_root", "loss", "outputs", "rebuild", "structure")

    def __init__(self, loss: Expression, structure: object) -> None:
        leaves, self.rebuild = leaves_of(structure)  # once for all runs
        self.loss, self.structure = loss, structure
        self.outputs = tuple([lift_any(x, "train: also") for x in leaves])
        self._root: Expression | None = None if self.outputs else loss

    @property
    def root(self) -> Expression:
        """The loss, with the values beside it; made when it is first asked for."""
        if self._root is None:
            loss, operands = self.loss, (self.loss, *self.outputs)
            signature = BESIDE.signature(tuple([x.kind for x in operands]), ())
            self._root = new_node(signature.cls, signature.kind, signature, operands, loss.code, loss.offset)
        return self._root

    def __reduce__(self) -> tuple[object, ...]:
        return Also, (self.loss, self.structure)


def with_also(loss: object, also: object) -> object:
    """The loss to train, together with what is asked for besides; the loss itself if nothing is."""
    if also is None:
        return loss
    root = lift_any(loss, "train")
    check_scalar_loss(root, "train")
    if isinstance(also, Expression):
        return Also(root, also)
    for x in leaves_of(also)[0]:
        if isinstance(x, list | dict):
            raise NotDifferentiableError(
                "train: also: expressions are asked for by a tuple, a NamedTuple or a frozen dataclass; got "
                f"{shown(x)}\n"
                f"  at {user_position()}"
            )
    return Also(root, also)
