"""Operations as values, and what each means for operands of known kinds.

Knows: that an operation is a name, a shape rule, a value rule and one derivative rule an operand; that all of
it is decided by the operands' kinds and the static attributes, so that it is decided once for each
combination (a `Signature`) and looked up ever after.
Refuses to know: any particular operation, operands' values, and who runs a node.

The rules are written for arrays, numbers and expressions alike: they use Python's operators and the functions
of `case.xp`, the namespace that fits the operands.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import copysign
from types import BuiltinFunctionType
from typing import Any, ClassVar, Final, Self, TypeVar
from weakref import WeakValueDictionary

from wengert.arrays import ARRAY_CLASS, FLOAT32, FLOAT64, Float32, entered, isolated, namespace_for, plain
from wengert.errors import NotDifferentiableError
from wengert.graph.kinds import CLASSES, Column, Kind, Role, Shape, layer_class, with_role
from wengert.later import later

_MOST_SIGNATURES = 4096  # an operation; beyond it the table starts afresh, so that it cannot grow without end

Rule = Callable[..., Any]  # Any: rules take and give data of every registered type, and expressions
Classes = tuple[type, ...]  # of the data of operands
R = TypeVar("R")
Attributes = tuple[tuple[str, Any], ...]  # Any: static arguments such as axis; hashable
# A shape rule: the result's kind from the operands' kinds and the static attributes, by keyword.
Infer = Callable[..., Kind]

UNARY: Final = 0  # the interpreters' fast cases: which operands are nodes
NODE_NODE: Final = 1
NODE_CONSTANT: Final = 2
CONSTANT_NODE: Final = 3
GENERAL: Final = 4
EXTERNAL: Final = 5  # one operand: what makes a tape
UNRESOLVED: Final = 6  # kinds are known only in the run
CELL: Final = 7  # a template of nodes
_MODES: Final[dict[tuple[int, tuple[int, ...]], int]] = {
    (1, (0,)): UNARY,
    (2, (0, 1)): NODE_NODE,
    (2, (0,)): NODE_CONSTANT,
    (2, (1,)): CONSTANT_NODE,
}

_NUMBERS: Final = frozenset({Column.NUMBER, Column.DOUBLE, Column.FLOAT})  # nobody can write to these
_ARRAYS: Final = frozenset({Column.FLOAT, Column.ARRAY, Column.INDEX})  # with an array's namespace


class Case:
    """The operands of a rule before any value is there: their kinds, and the namespace that fits them."""

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


def bound(rule: Rule, case: Case, options: dict[str, Any]) -> Rule:
    """The rule with its case and attributes filled in; a built-in function is a rule that needs neither."""
    found = rule if isinstance(rule, BuiltinFunctionType) else partial(rule, case, **options)
    return there(case, found)


def there(case: Case, rule: Rule) -> Rule:
    """The rule on the device of its result: where there are several, arrays are made on the present one."""
    return rule if case.result.device == "cpu" else partial(_entered, case.result.device, rule)


def _entered(device: Any, rule: Rule, *operands: Any) -> Any:  # Any: one of cupy's; data of every kind
    with entered(device):
        return rule(*operands)


def guarded(rule: Rule, case: Case, options: dict[str, Any]) -> Rule:
    """`bound`, for a rule that has promised nothing: what it is given cannot be written to, what it keeps is a copy."""
    return isolated(bound(rule, case, options))


def summed(rule: Rule, case: Case, index: int) -> Rule:
    """The rule, and then the delta of broadcasting: the sum over every axis along which the operand stretched."""
    shape, sum_to = case.shape(index), case.xp.sum_to
    if case.kinds[index].column is Column.DOUBLE:
        item, dtype = case.xp.item, case.kinds[index].dtype
        return lambda g, y, *operands: item(sum_to(rule(g, y, *operands), ()), dtype)
    return there(case, lambda g, y, *operands: sum_to(rule(g, y, *operands), shape))


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # two that nobody asks for take 0.3 ms to write
class Rules:
    """The rules of an operation for operands of certain types.

    `derivatives[i]` takes (case, g, y, *operands, **attributes) and gives the delta of operand i, or is None
    where there is none; a mapping has the rules of few operands, one rule instead of a tuple serves any number of
    them and gets the index first.
    The delta is summed back to the operand's shape afterwards if the operation `broadcasts`.
    `at_weight[i]`, where there is one, gives that delta as a lazy term if operand i is a weight.
    `updates[i]` gives what replaces the data of operand i, a buffer, when a delta goes through the operation.
    `batch` makes the same for many rows at once, as `Batch` says; without it they go one by one.
    `ragged` makes it for examples of unlike sizes, whose rows lie in one table, as `Ragged` says; the attributes that
    `sizes` names may differ between them.
    No delta passes a `detached` result; one arrives at a `variable`, whatever is below it, and goes no further. To what
    is a `part` of its operand deltas come where `infer` says so, whatever else the operand has.
    An `external` node has no rules: a `Do` makes its tape.

    Rules that are `pure` promise to write into nothing that they are given, to keep none of it, and to depend on
    nothing else: plans may trace them. All others are given arrays that cannot be written to, and a result that they
    keep is copied.
    """

    infer: Infer
    value: Rule
    derivatives: Sequence[Rule | None] | Mapping[int, Rule] | Rule = ()
    at_weight: Mapping[int, Rule] = field(default_factory=dict)
    broadcasts: bool = False
    detached: bool = False
    variable: bool = False
    part: bool = False
    external: bool = False
    batch: Rule | None = None
    ragged: Rule | None = None
    sizes: tuple[str, ...] = ()
    pure: bool = False
    updates: Mapping[int, Rule] = field(default_factory=dict)

    def derivative(self, index: int) -> Rule | None:
        """The rule for operand `index`."""
        if callable(self.derivatives):
            return partial(self.derivatives, index)
        if isinstance(self.derivatives, Mapping):
            return self.derivatives.get(index)
        if index < len(self.derivatives):
            return self.derivatives[index]
        raise NotDifferentiableError(
            f"no derivative is defined for operand {index}; say None where it is zero"
        )


class Operation:
    """A name, its rules for numbers and arrays, and rules for whatever other types somebody has added.

    `late`: a run computes it of weights when the first operation reads it, and not in the order in which it was built.
    """

    late = False
    changes: ClassVar[int] = 0  # how often an operation has got rules that it had not

    def __init__(self, name: str, rules: Rules | None, module: str = "", listed: bool = True) -> None:
        self.name = name
        self.module = module  # of an operation that is not Wengert's own
        self.rules = rules
        self.added: dict[tuple[type, ...], Rules] = {}
        self.signatures: dict[object, Signature] = {}
        self._number = next(_numbers)  # of its rules: no operation has it again
        self.listed = listed
        if listed:
            OPERATIONS[self.key] = self
        elif not module:
            _UNLISTED.setdefault(name, self)

    @property
    def key(self) -> str:
        """The name under which another process finds it."""
        return f"{self.module}.{self.name}" if self.module else self.name

    def define(self, rules: Rules) -> None:
        """Give a name its rules, one that was only declared or one that had others."""
        self.rules = rules
        self._forget()

    def add(self, classes: tuple[type, ...], rules: Rules) -> None:
        """Rules for operands whose Data are of these classes, one for each operand."""
        self.added[classes] = rules
        self._forget()

    def _forget(self) -> None:
        """Drop the signatures: nodes that are made from now on get the new rules."""
        self.signatures.clear()
        self._number = next(_numbers)
        Operation.changes += 1

    def __reduce__(self) -> tuple[object, ...]:
        return _operation_named, (self.key, *((self.name, self.rules, self.module) if self.module else ()))

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def rules_for(self, kinds: Sequence[Kind]) -> Rules:
        """The rules added for the most specific classes that fit all operands, else the operation's own."""
        added = best_of(self.added, kinds) if self.added else None
        if added is not None:
            return added
        if self.rules is None and not self.module:  # of an operator: declared before its family is loaded
            _LOAD_FAMILY(self.name)
        if self.rules is None:
            raise NotDifferentiableError(f"no rule for operands of {names_of(kinds)}")
        return self.rules

    def signature(self, kinds: tuple[Kind, ...], attributes: Attributes) -> Signature:
        """The meaning of this operation for such operands; bound once for each combination."""
        found = self.signatures.get((kinds, attributes, tuple([type(x) for _, x in attributes])))
        if found is not None:
            return found
        key = (kinds, *exactly(attributes))  # another one only where a tuple or a zero is among them
        found = self.signatures.get(key)
        if found is None:
            # nobody else looks for numpy's 1
            given = tuple((name, plain(value)) for name, value in attributes)
            same = tuple(map(_types, given)) == key[2]
            found = self._new(key, kinds, attributes) if same else self.signature(kinds, given)
            if len(self.signatures) >= _MOST_SIGNATURES:
                self.signatures.clear()
            self.signatures[key] = found
            if not attributes and len(kinds) in (1, 2):
                # the keys that `unary` and `binary` ask for
                self.signatures[kinds if len(kinds) == 2 else kinds[0]] = found
            elif len(kinds) == 2 and [type(value) in (int, str) for _, value in attributes] == [True]:
                self.signatures[*kinds, *attributes[0], type(attributes[0][1])] = found  # that of `indexing`
        return found

    def _new(self, key: object, kinds: tuple[Kind, ...], attributes: Attributes) -> Signature:
        """A signature that is not in the table: one that nodes still have, or a new one."""
        key = self._number, key  # which does not hold on to the operation
        found = _LIVING.get(key)
        return _LIVING.setdefault(key, Signature(self, kinds, attributes)) if found is None else found


_LOAD_FAMILY: Final = later("wengert.ops", "load_family")  # which stands a floor above
_LOAD_FAMILIES: Final = later("wengert.ops", "load_families")
_numbers: Final = itertools.count()
OPERATIONS: Final[dict[str, Operation]] = {}
# All signatures that somebody has: a node made after an operation's table began afresh means the same as one from
# before. One table, as one for each operation takes 0.5 ms when the library is imported, and 1,200 objects.
_LIVING: Final[WeakValueDictionary[object, Signature]] = WeakValueDictionary()
# those that rules alone call; without what an executor makes of them for itself
_UNLISTED: Final[WeakValueDictionary[str, Operation]] = WeakValueDictionary()


def _operation_named(key: str, *made_of: Any) -> Operation:  # Any: what `Operation` takes
    """The operation of this process; one that nobody has defined here is made from its pickled rules."""
    found = OPERATIONS.get(key) or _UNLISTED.get(key)
    if found is None and not made_of:  # of a family that nobody has asked for here
        _LOAD_FAMILIES()
        found = OPERATIONS.get(key) or _UNLISTED.get(key)
    return Operation(*made_of) if found is None else found


def exactly(attributes: Attributes) -> tuple[Attributes, tuple[object, ...]]:
    """Key of attributes, equal for the same ones only: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    return attributes, tuple(map(_types, attributes))


def _types(attribute: tuple[str, Any]) -> object:  # Any: as in Attributes
    """The type of an attribute, and the sign of a zero; of a tuple, those of its items."""
    value = attribute[1]
    if isinstance(value, tuple):
        types = tuple(map(type, value))
        return types if _SIGNED.isdisjoint(types) else tuple(map(_signed, value))
    return _signed(value)


_SIGNED: Final = frozenset((float, FLOAT32.type, FLOAT64.type))


def _signed(value: Any) -> object:  # Any: as in Attributes
    """The type, and beside it the sign of a zero that has one."""
    cls = type(value)
    return (cls, copysign(1.0, value)) if cls in _SIGNED and not value else cls


class Signature:
    """One operation on operands of known kinds: result kind, bound value rule, bound derivative rules."""

    __slots__ = (
        *("attributes", "cls", "kind", "kinds", "mode", "nodes", "operation", "pulls", "value"),
        *("alike", "family", "foreign", "form", "kernels", "__weakref__"),
    )
    alike: Any  # Any: what interpreters of many rows remember, as in the next three; unset until then
    family: Any
    foreign: bool  # whether a rule of others is called, which may take any time; unset until somebody asks
    form: Any  # Any: what interpreters of many rows remember; unset until then
    kernels: Any  # Any: as above

    def __init__(self, operation: Operation, kinds: tuple[Kind, ...], attributes: Attributes) -> None:
        self.operation = operation
        self.kinds = kinds
        self.attributes = attributes
        self.nodes = tuple(i for i, k in enumerate(kinds) if k.role is not Role.LITERAL)
        self.pulls: tuple[tuple[int, Rule], ...] = ()
        options = dict(attributes)
        rules = operation.rules_for(kinds)
        result = rules.infer(kinds, **options)
        begins = rules.external or rules.variable or bool(rules.updates)
        trainable = begins or (not rules.detached and any(k.trainable for k in kinds))
        trainable = trainable and (not rules.part or result.trainable)
        self.kind = with_role(result, Role.LAYER if trainable else Role.CONSTANT)
        self.cls = layer_class(result) if operation.listed else CLASSES.get(result.column, CLASSES[None])
        if rules.external:
            self.mode = EXTERNAL
            self.value: Rule = rules.value
            return
        if not all(k.known for k in kinds):
            self.mode = UNRESOLVED
            self.value = rules.value
            return
        # the sums of deltas of a device are made there, which `GENERAL` has time for
        near = all(k.device == "cpu" for k in (*kinds, result))
        self.mode = _mode(kinds, self.nodes) if near else GENERAL
        self.value, self.pulls = self.bound_to(Case(kinds, result))

    def copy(self) -> Self:
        """A copy, about which interpreters remember nothing."""
        made = object.__new__(type(self))
        for name in (*Signature.__slots__, *type(self).__slots__):
            if name not in ("alike", "family", "foreign", "form", "kernels", "__weakref__"):
                setattr(made, name, getattr(self, name))
        return made

    @property
    def pure(self) -> bool:
        """True if the rules have promised to be `pure`."""
        return self.operation.rules_for(self.kinds).pure

    @property
    def sends(self) -> tuple[int, ...]:
        """The operands that get a delta."""
        return tuple([i for i, _ in self.pulls])

    @property
    def adds(self) -> bool:
        """True if it is Python's own sum of two values, so that any number of them may be one."""
        rules = None if self.operation.rules is None else self.operation.rules_for(self.kinds)
        return rules is not None and rules.value is operator.add and self.kind.column is not Column.OTHER

    def bound_to(self, case: Case, lazily: bool = True) -> tuple[Rule, tuple[tuple[int, Rule], ...]]:
        """The value rule and the derivative rules by operand, with `case` and the attributes filled in.

        The deltas of weights are lazy terms where the operation has such; expressions are lazy by themselves.
        """
        options, rules = dict(self.attributes), self.operation.rules_for(self.kinds)
        given = bound if rules.pure or not any(map(_has_arrays, (*self.kinds, self.kind))) else guarded
        pulls = () if rules.detached else tuple(self._pulls(rules, case, options, lazily, given))
        return given(rules.value, case, options), pulls

    def _pulls(
        self, rules: Rules, case: Case, options: dict[str, Any], lazily: bool, given: Callable[..., Rule]
    ) -> Iterator[tuple[int, Rule]]:
        for index, k in enumerate(self.kinds):
            if lazily and index in rules.updates:
                yield index, given(rules.updates[index], case, options)
                continue
            rule = rules.derivative(index) if k.trainable else None
            if rule is None:
                continue
            lazy = rules.at_weight.get(index) if lazily else None
            if k.role is Role.WEIGHT and lazy is not None:
                yield index, given(lazy, case, options)
            elif rules.broadcasts and (k.shape != case.result.shape or k.column is not case.result.column):
                yield index, summed(given(rule, case, options), case, index)
            else:
                yield index, given(rule, case, options)

    def __reduce__(self) -> tuple[object, ...]:
        return _signature_of, (self.operation, self.kinds, self.attributes)


def _signature_of(operation: Operation, kinds: tuple[Kind, ...], attributes: Attributes) -> Signature:
    return operation.signature(kinds, attributes)


def _has_arrays(of: Kind) -> bool:
    return of.column not in _NUMBERS


def _mode(kinds: tuple[Kind, ...], nodes: tuple[int, ...]) -> int:
    return _MODES.get((len(kinds), nodes), GENERAL)


def best_of(added: Mapping[Classes, R], kinds: Sequence[Kind]) -> R | None:
    """The rules added for the most specific classes that fit all operands; None if nothing fits."""
    classes = tuple(map(data_class, kinds))
    fitting = [key for key in added if _fits(classes, key)]
    best = [key for key in fitting if all(_fits(key, other) for other in fitting)]
    if best:
        return added[best[0]]
    if fitting:
        raise NotDifferentiableError(f"more than one rule fits {names_of(kinds)}, none best: add one")
    return None


def _fits(classes: Classes, wanted: Classes) -> bool:
    return len(classes) == len(wanted) and all(map(issubclass, classes, wanted))


def data_class(of: Kind) -> type:
    """The class of the data of such operands."""
    if of.column is Column.OTHER:
        return of.dtype if isinstance(of.dtype, type) else object
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return float
    return Float32 if of.column is Column.FLOAT else ARRAY_CLASS


def names_of(kinds: Sequence[Kind]) -> str:
    """The classes of the data of operands, for a message."""
    return ", ".join(data_class(k).__name__ for k in kinds)
