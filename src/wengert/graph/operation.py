"""Operations as values, and what each means for operands of known kinds.

Knows: that an operation is a name, a shape rule, a value rule and one derivative rule an operand; that all of
it is decided by the operands' kinds and the static attributes, so that it is decided once for each
combination (a `Signature`) and looked up ever after.
Refuses to know: any particular operation, operands' values, and who runs a node.

The rules are written for arrays, numbers and expressions alike: they use Python's operators and the functions
of `case.xp`, the namespace that fits the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import BuiltinFunctionType
from typing import Any, Final

from wengert.arrays import namespace_for
from wengert.graph.kinds import Column, Kind, Role, Shape, with_role
from wengert.graph.node import layer_class

_MOST_SIGNATURES = 4096  # an operation; beyond it the table starts afresh, so that it cannot grow (S13)

Attributes = tuple[tuple[str, Any], ...]  # Any: static arguments such as axis; hashable
# A shape rule: the result's kind from the operands' kinds and the static attributes, by keyword.
Infer = Callable[..., Kind]
Rule = Callable[..., Any]  # Any: rules take and give data of every registered type, and expressions

UNARY: Final = 0  # the interpreters' fast cases: which operands are nodes
NODE_NODE: Final = 1
NODE_CONSTANT: Final = 2
CONSTANT_NODE: Final = 3
GENERAL: Final = 4
EXTERNAL: Final = 5  # one operand: what makes a tape
UNRESOLVED: Final = 6  # kinds are known only in the run
_MODES: Final[dict[tuple[int, tuple[int, ...]], int]] = {
    (1, (0,)): UNARY,
    (2, (0, 1)): NODE_NODE,
    (2, (0,)): NODE_CONSTANT,
    (2, (1,)): CONSTANT_NODE,
}


_ARRAYS: Final = frozenset({Column.FLOAT, Column.ARRAY, Column.INDEX})


class Case:
    """What a rule may ask about its operands before any value is there."""

    __slots__ = ("kinds", "result", "xp")

    def __init__(self, kinds: tuple[Kind, ...], result: Kind) -> None:
        self.kinds = kinds
        self.result = result
        self.xp: Any = (
            namespace_for(  # Any: a Namespace, or the operations themselves for derivatives of derivatives
                result.device,
                any(k.column in _ARRAYS or (k.column is Column.MASK and k.shape) for k in (*kinds, result)),
            )
        )

    def shape(self, index: int) -> Shape:
        """The shape of one operand."""
        shape = self.kinds[index].shape
        assert shape is not None, "cases are made of known kinds only"
        return shape


class Operation:
    """A name and its rules; `extend.operation` and the decorators of `ops` make one.

    `derivatives[i]` takes (case, g, y, *operands, **attributes) and gives the delta of operand i, or is None
    where there is none; the delta is summed back to the operand's shape afterwards if `broadcasts`.
    `at_weight[i]`, where there is one, gives that delta as a lazy term if operand i is a weight.
    """

    def __init__(
        self,
        name: str,
        infer: Infer,
        value: Rule,
        derivatives: Sequence[Rule | None] | Rule = (),
        *,
        at_weight: dict[int, Rule] | None = None,
        broadcasts: bool = False,
        external: bool = False,
        detached: bool = False,
    ) -> None:
        self.name = name
        self.define(
            infer,
            value,
            derivatives,
            at_weight=at_weight,
            broadcasts=broadcasts,
            external=external,
            detached=detached,
        )
        self.signatures: dict[object, Signature] = {}
        OPERATIONS[name] = self

    def define(
        self,
        infer: Infer,
        value: Rule,
        derivatives: Sequence[Rule | None] | Rule = (),
        *,
        at_weight: dict[int, Rule] | None = None,
        broadcasts: bool = False,
        external: bool = False,
        detached: bool = False,
    ) -> None:
        """Give the name its rules: `detached` for results that no delta passes."""
        self.infer = infer
        self.value = value
        self.derivatives = derivatives
        self.at_weight = at_weight or {}
        self.broadcasts = broadcasts
        self.external = external
        self.detached = detached

    @classmethod
    def declared(cls, name: str) -> Operation:
        """A name that expressions refer to; `define` gives it its rules."""
        return cls(name, _undefined, _undefined)

    def __reduce__(self) -> tuple[object, ...]:
        return _operation_named, (self.name,)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def derivative(self, index: int) -> Rule | None:
        """The rule for operand `index`; an operation of any number of operands has one rule for all."""
        if callable(self.derivatives):
            return partial(self.derivatives, index)
        return self.derivatives[index] if index < len(self.derivatives) else None

    def signature(self, kinds: tuple[Kind, ...], attributes: Attributes) -> Signature:
        """What applying this operation to such operands means; worked out once for each combination."""
        key = (kinds, attributes)
        found = self.signatures.get(key)
        if found is None:
            found = Signature(self, kinds, attributes)
            if len(self.signatures) >= _MOST_SIGNATURES:
                self.signatures.clear()
            self.signatures[key] = found
            if len(kinds) == 2 and not attributes:
                self.signatures[kinds] = found  # the key that `binary` asks for
        return found


def _undefined(*operands: Any, **attributes: Any) -> Any:  # Any: stands for every rule
    raise AssertionError("import wengert.ops: it gives the operators their rules")


OPERATIONS: Final[dict[str, Operation]] = {}


def _operation_named(name: str) -> Operation:
    return OPERATIONS[name]


class Signature:
    """One operation on operands of known kinds: result kind, bound value rule, bound derivative rules."""

    __slots__ = ("attributes", "cls", "kind", "kinds", "mode", "nodes", "operation", "pulls", "value")

    def __init__(self, operation: Operation, kinds: tuple[Kind, ...], attributes: Attributes) -> None:
        self.operation = operation
        self.kinds = kinds
        self.attributes = attributes
        self.nodes = tuple(i for i, k in enumerate(kinds) if k.role is not Role.LITERAL)
        self.pulls: tuple[tuple[int, Rule], ...] = ()
        options = dict(attributes)
        result = operation.infer(kinds, **options)
        trainable = operation.external or (not operation.detached and any(k.trainable for k in kinds))
        self.kind = with_role(result, Role.LAYER if trainable else Role.CONSTANT)
        self.cls = layer_class(result)
        if operation.external:
            self.mode = EXTERNAL
            self.value: Rule = operation.value
            return
        if not (result.known and all(k.known for k in kinds)):
            self.mode = UNRESOLVED
            self.value = operation.value
            return
        self.mode = _mode(kinds, self.nodes)
        case = Case(kinds, result)
        self.value = _bound(operation.value, case, options)
        self.pulls = tuple(self._pulls(case, options))

    def _pulls(self, case: Case, options: dict[str, Any]) -> Iterator[tuple[int, Rule]]:
        for index, k in enumerate(self.kinds):
            if self.operation.detached:
                break
            rule = self.operation.derivative(index) if k.trainable else None
            if rule is None:
                continue
            lazy = self.operation.at_weight.get(index)
            if k.role is Role.WEIGHT and lazy is not None:
                yield index, _bound(lazy, case, options)
            elif self.operation.broadcasts and k.shape != case.result.shape:
                yield index, _summed(_bound(rule, case, options), case, index)
            else:
                yield index, _bound(rule, case, options)

    def __reduce__(self) -> tuple[object, ...]:
        return _signature_of, (self.operation, self.kinds, self.attributes)


def _signature_of(operation: Operation, kinds: tuple[Kind, ...], attributes: Attributes) -> Signature:
    return operation.signature(kinds, attributes)


def _mode(kinds: tuple[Kind, ...], nodes: tuple[int, ...]) -> int:
    return _MODES.get((len(kinds), nodes), GENERAL)


def _bound(rule: Rule, case: Case, options: dict[str, Any]) -> Rule:
    """The rule with its case and attributes filled in; a built-in function is a rule that needs neither."""
    if isinstance(rule, BuiltinFunctionType):
        return rule
    return partial(rule, case, **options)


def _summed(rule: Rule, case: Case, index: int) -> Rule:
    """The rule, and then the delta of broadcasting: the sum over every axis along which the operand stretched."""
    shape, sum_to = case.shape(index), case.xp.sum_to
    if case.kinds[index].column is Column.DOUBLE:
        return lambda g, y, *operands: float(sum_to(rule(g, y, *operands), ()))
    return lambda g, y, *operands: sum_to(rule(g, y, *operands), shape)
