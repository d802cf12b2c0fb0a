"""Blocks of `wengert.fold` as mypy sees them: what each gives for an input, by the rules and in the words of the run.

Knows: for each block of the library what it gives; how a function or an operation is asked what it gives for layers of
other shapes.
Refuses to know: where mypy asks, and what is done with an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mypy.nodes import CallExpr, Context, NameExpr, TypeInfo
from mypy.plugin import CheckerPluginInterface, Plugin
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    Overloaded,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarType,
    get_proper_type,
)

from wengert_mypy.block_types import (
    BLOCK,
    ENDLESS,
    arity,
    described,
    get_integers,
    has_tensors,
    held,
    is_data,
    kind,
    number,
    reads_nothing,
    shape,
    shown,
    size,
    tensor,
    terminals,
    unsure,
    word,
)
from wengert_mypy.checker import accepts, as_base, asked, lambda_at
from wengert_mypy.dimensions import Unknown, Writer
from wengert_mypy.names import ARRAY_LAYER, FOLD, INTEGER_ARRAY
from wengert_shapes.algebra import ONE
from wengert_shapes.rules import Misfit, Shape, Size, differ, text

_NO_TYPE: Final = AnyType(TypeOfAny.special_form)


class Blocks:
    """The outputs of blocks, for one question of mypy."""

    def __init__(self, plugin: Plugin, api: CheckerPluginInterface, where: Context) -> None:
        self.plugin, self.api, self.where = plugin, api, where
        self.writer = Writer(plugin, api.named_generic_type)

    # types

    def layer(self, shape: Shape | None, like: Type | None = None) -> Type:
        """A layer of a shape, with the dtype and device of another one."""
        info = self.info(ARRAY_LAYER)
        base = None if like is None else tensor(like)
        rest = list(base.args[1:]) if base else [v.default for v in info.defn.type_vars[1:]]
        return Instance(info, [_NO_TYPE if shape is None else self.writer.shape_type(shape), *rest])

    def info(self, name: str) -> TypeInfo:
        """A class of the library."""
        found = self.plugin.lookup_fully_qualified(name)
        if found is None or not isinstance(found.node, TypeInfo):
            raise Unknown
        return found.node

    def integers(self) -> Type:
        """The type of arrays of integers."""
        return Instance(self.info(INTEGER_ARRAY), [])

    def tuple(self, items: Sequence[Type]) -> TupleType:
        """A tuple type."""
        return TupleType(list(items), self.api.named_generic_type("builtins.tuple", [_NO_TYPE]))

    def list(self, item: Type) -> Type:
        """A list type."""
        return self.api.named_generic_type("builtins.list", [item])

    def literal(self, value: int | str | bool) -> Type:
        """The type of one value."""
        name = f"builtins.{type(value).__name__}"
        return LiteralType(value, self.api.named_generic_type(name, []))

    # what a block gives

    def applied(self, block: Type, x: Type) -> Type:
        """Output of a block for an input; Misfit where it takes none such, Unknown where nothing is known."""
        b = get_proper_type(block)
        if not isinstance(b, Instance) or as_base(b, BLOCK) is None:
            raise Unknown
        rule = next((RULES[info.fullname] for info in b.type.mro if info.fullname in RULES), None)
        parts = held(b, "chain")
        if isinstance(parts, TupleType):
            for part in parts.items:
                x = self.applied(part, x)
            return x
        return self.declared(b, x) if rule is None else rule(self, b, get_proper_type(x))

    def declared(self, block: Instance, x: Type) -> Type:
        """Output of a block of which only the types are known; mypy has its own words where they do not fit."""
        base = as_base(block, BLOCK)
        if base is None or not accepts(base.args[0], x):
            raise Unknown
        return base.args[1]

    def called(self, block: Instance, x: Type) -> Type:
        """Output of the function of a block."""
        given = x.items if isinstance(x, TupleType) else [x]
        declared = self.result(block)
        if isinstance(x, AnyType) or held(block, "batched") is not None:
            return declared
        if not all(has_tensors(t) for t in given):
            if not any(unsure(t) for t in given):
                raise Misfit(f"its input is {shown(x)}; a function takes a tensor, or a tuple of tensors")
            return declared
        if held(block, "lambda") is None and held(block, "function") is None:
            return self.declared(block, x)
        marked = word(held(block, "lambda"))
        if marked is not None:
            found = lambda_at(self.api, self.where, marked)
            if found is None:
                return declared
            names = found.arg_names
            if len(names) != len(given):
                takes = ", ".join(map(str, names))
                missing = [f"missing a required argument: {name!r}" for name in names[len(given) :]]
                why = (missing or ["too many positional arguments"])[0]
                raise Misfit(f"its input is {shown(x)}, and a function of ({takes}) {_NOT}: {why}")
            return asked(self.api, found, None, given, self.where)
        function = held(block, "function")
        if isinstance(function, Instance) and as_base(function, BLOCK) is not None:
            return self.applied(function, x)
        name = word(held(block, "name"))
        if isinstance(function, CallableType) and not function.variables:
            return self.declared(block, x)
        if not isinstance(function, Instance | CallableType | Overloaded):
            return declared
        if any(get_integers(t) for t in given):
            return self.integers() if name is not None else declared
        if name is None and isinstance(function, Instance):
            return declared
        call = CallExpr(NameExpr((name or "function").rpartition(".")[2]), [], [], [])
        if isinstance(call.callee, NameExpr):
            call.callee.fullname = name or ""
        call.set_line(self.where)
        count = arity(function)
        if count is not None and len(given) != count:
            raise Misfit(f"its input is {shown(x)}, and a function of {count} arguments {_NOT}")
        return asked(self.api, function, call, given, self.where)

    def result(self, block: Instance) -> Type:
        """The declared output of a block."""
        base, stated = as_base(block, BLOCK), held(block, "output")
        return stated or (_NO_TYPE if base is None else base.args[1])

    # sequences

    def element(self, x: Type, what: str = "its input", endless: bool = False) -> Type:
        """The type of the elements of what a block reads."""
        t = get_proper_type(x)
        if isinstance(t, TupleType):
            for i, item in enumerate(t.items[1:], 1):
                if not self.same(t.items[0], item):
                    told = f"is {shown(item)}, but an element is {shown(t.items[0])}"
                    raise Misfit(f"part {i} of {what} {told}")
            return t.items[0] if t.items else _NO_TYPE
        if isinstance(t, Instance) and t.type.fullname == "builtins.list":
            return t.args[0]
        if isinstance(t, Instance) and t.type.fullname == ENDLESS:
            if not endless:
                raise Misfit(f"{what} is endless; it takes a list")
            return t.args[0]
        if tensor(t) is not None or isinstance(t, NoneType) or get_integers(t):
            raise Misfit(f"{what} is {shown(t)}; it takes a list, or a tuple of one type")
        return _NO_TYPE

    def same(self, a: Type, b: Type) -> bool:
        """True if two types may be one; what is not known is taken for what it should be."""
        a, b = get_proper_type(a), get_proper_type(b)
        if unsure(a) or unsure(b):
            return True
        if isinstance(a, TupleType) and isinstance(b, TupleType):
            return len(a.items) == len(b.items) and all(map(self.same, a.items, b.items))
        first, second = tensor(a), tensor(b)
        if first is not None and second is not None:
            dtypes = get_proper_type(first.args[1]), get_proper_type(second.args[1])
            if not any(isinstance(t, AnyType | TypeVarType) for t in dtypes) and dtypes[0] != dtypes[1]:
                return False
            mine, other = shape(first), shape(second)
            if mine is None or other is None:
                return True
            return len(mine) == len(other) and not any(map(differ, mine, other))
        if isinstance(a, Instance) and isinstance(b, Instance) and a.type is b.type and len(a.args) == 1:
            return self.same(a.args[0], b.args[0])
        return kind(a) == kind(b)

    def joined(self, a: Type, b: Type, first: str, second: str) -> Type:
        """One type of two; Misfit where they differ."""
        if not self.same(a, b):
            raise Misfit(f"{first} is {shown(a)}, but {second} is {shown(b)}")
        return b if unsure(a) else a


_NOT: Final = "does not take that"


def _data(blocks: Blocks, block: Instance, x: Type) -> Type:
    if kind(x) in ("tensor", "integers", "list", "nothing", "endless") and not is_data(x):
        raise Misfit(f"what it reads is {shown(x)}, but the input of {described(block)} is object")
    blocks.declared(block, x)
    return blocks.result(block)


def _fc(blocks: Blocks, block: Instance, x: Type) -> Type:
    known = shape(x)
    if kind(x) == "integers" or (known is not None and len(known) != 1):
        raise Misfit(f"its input is {shown(x)}; it takes a vector of floating numbers")
    if kind(x) != "tensor" and not unsure(x):
        raise Misfit(f"its input is {shown(x)}, which is no tensor")
    made: Shape = (size(held(block, "num_units_out")),)
    return blocks.layer(made, x if tensor(x) is not None else blocks.result(block))


def _embedding(blocks: Blocks, block: Instance, x: Type) -> Type:
    if kind(x) != "integers" and not unsure(x):
        raise Misfit(f"its input is {shown(x)}; it takes an integer")
    return blocks.layer((size(held(block, "num_units_out")),))


def _concat(blocks: Blocks, block: Instance, x: Type) -> Type:
    if kind(x) in ("tensor", "integers", "list", "nothing", "endless"):
        raise Misfit(f"its input is {shown(x)}; it joins a tuple of tensors")
    if not isinstance(x, TupleType):
        return blocks.result(block)
    flatten = held(block, "flatten") is not None
    parts = terminals(x) if flatten else x.items
    if any(unsure(t) for t in parts):
        return blocks.result(block)
    if not parts or not all(tensor(t) is not None or get_integers(t) for t in parts):
        nested = "; flatten=True takes nested tuples" * any(kind(t) == "tuple" for t in parts)
        raise Misfit(f"its input is {shown(x)}; it joins tensors, at least one{nested}")
    if all(map(get_integers, parts)):
        return blocks.integers()
    axis = number(held(block, "concat_dim")) if held(block, "concat_dim") is not None else 0
    total: list[Size] = []
    first = _at_least_vector(parts[0])
    for place, part in enumerate(parts):
        own = _at_least_vector(part)
        problem = _unlike(blocks, parts[0], part, first, own, axis)
        if problem is not None:
            told = f"part 0 is {shown(parts[0])} and part {place} is {shown(part)}"
            raise Misfit(f"{told}, whose {problem} differ")
        if own is None or axis is None or first is None:
            return blocks.layer(None, parts[0])
        if not 0 <= axis < len(own):
            raise Misfit(f"a tensor of shape {text(own)} has no axis {axis}")
        total.append(own[axis])
    assert first is not None and axis is not None, "returned above"
    made = total[0]
    for n in total[1:]:
        made = None if made is None or n is None else made + n
    return blocks.layer((*first[:axis], made, *first[axis + 1 :]), parts[0])


def _unlike(
    blocks: Blocks, a: Type, b: Type, first: Shape | None, own: Shape | None, axis: int | None
) -> str | None:
    """The difference between two parts that cannot be joined."""
    if not blocks.same(blocks.layer(None, a), blocks.layer(None, b)) or get_integers(a) != get_integers(b):
        return "dtypes"
    if first is None or own is None:
        return None
    if len(first) != len(own):
        return "numbers of axes"
    around = [differ(n, m) for i, (n, m) in enumerate(zip(first, own, strict=True)) if i != axis]
    return f"sizes beside axis {axis}" if any(around) else None


def _at_least_vector(t: Type) -> Shape | None:
    known = shape(t)
    return known if known is None or known else (ONE,)


def _reduced(blocks: Blocks, block: Instance, x: Type) -> Type:
    """Sum, Min, Max and Mean."""
    item = blocks.element(x)
    if kind(item) not in ("tensor", "integers") and not unsure(item):
        raise Misfit(f"its input is {shown(x)}; it takes tensors")
    if block.type.name == "Mean" and get_integers(item):
        raise Misfit(f"the mean of {shown(item)} is no integer")
    return blocks.result(block) if unsure(item) else item


def _reduce(blocks: Blocks, block: Instance, x: Type) -> Type:
    item = blocks.element(x)
    default = held(block, "default_block")
    if default is not None:
        wanted = blocks.applied(default, NoneType())
        item = blocks.joined(item, wanted, "an element of its input", "the element wanted")
    function = held(block, "combine_block")
    if function is None:
        return blocks.result(block)
    if unsure(item):
        return blocks.result(block)
    made = blocks.applied(function, blocks.tuple([item, item]))
    return blocks.joined(item, made, "an element", f"the output of {described(function)}")


def _map(blocks: Blocks, block: Instance, x: Type) -> Type:
    part = held(block, "elem_block")
    item = blocks.element(x, endless=True)
    if part is None:
        return blocks.result(block)
    made = blocks.applied(part, item)
    proper = get_proper_type(x)
    if isinstance(proper, Instance) and proper.type.fullname == ENDLESS:
        return Instance(proper.type, [made])
    return blocks.list(made)


def _fold(blocks: Blocks, block: Instance, x: Type) -> Type:
    step, start = held(block, "combine_block"), held(block, "start_block")
    item = blocks.element(x)
    if step is None or start is None:
        return blocks.result(block)
    state = blocks.applied(start, NoneType())
    if unsure(state):
        return blocks.result(block)
    made = blocks.applied(step, blocks.tuple([state, item]))
    return blocks.joined(state, made, "the state", f"the output of {described(step)}")


def _rnn(blocks: Blocks, block: Instance, x: Type) -> Type:
    cell, start = held(block, "cell"), held(block, "initial_state")
    if cell is None or start is None:
        return blocks.result(block)
    state = blocks.applied(start, NoneType())
    made = get_proper_type(blocks.applied(cell, blocks.tuple([blocks.element(x), state])))
    if not isinstance(made, TupleType) or len(made.items) != 2:
        if unsure(made):
            return blocks.result(block)
        raise Misfit(f"an output and the state is (?, {shown(state)}), but its cell gives {shown(made)}")
    if not blocks.same(state, made.items[1]):
        pair = f"(?, {shown(state)}), but a side of {described(cell)} is {shown(made)}"
        raise Misfit(f"an output and the state is {pair}")
    return blocks.tuple([blocks.list(made.items[0]), state])


def _zip(blocks: Blocks, block: Instance, x: Type) -> Type:
    if kind(x) in ("tensor", "integers", "list", "nothing", "endless"):
        raise Misfit(f"its input is {shown(x)}; it takes a tuple of sequences")
    if not isinstance(x, TupleType):
        return blocks.result(block)
    items = [blocks.element(t, f"part {i}", endless=True) for i, t in enumerate(x.items)]
    ends = [get_proper_type(t) for t in x.items]
    made = blocks.tuple(items)
    if ends and all(kind(t) == "endless" for t in ends) and isinstance(ends[0], Instance):
        return Instance(ends[0].type, [made])
    return blocks.list(made)


def _zip_with(blocks: Blocks, block: Instance, x: Type) -> Type:
    if unsure(x):
        return blocks.result(block)
    return _map(blocks, block, get_proper_type(_zip(blocks, block, x)))


def _ngrams(blocks: Blocks, block: Instance, x: Type) -> Type:
    item, n = blocks.element(x), number(held(block, "n"))
    if unsure(item) or n is None:
        return blocks.result(block)
    return blocks.list(blocks.tuple([item] * n))


def _stack(blocks: Blocks, block: Instance, x: Type) -> Type:
    item = blocks.element(x)
    if get_integers(item):
        return blocks.integers()
    known = shape(item)
    return blocks.result(block) if known is None else blocks.layer((None, *known), item)


def _unstack(blocks: Blocks, block: Instance, x: Type) -> Type:
    known = shape(x)
    if kind(x) in ("list", "tuple", "nothing", "endless") or (known is not None and not known):
        raise Misfit(f"its input is {shown(x)}; it takes a tensor with an axis to go along")
    return blocks.result(block) if known is None else blocks.list(blocks.layer(known[1:], x))


def _length(blocks: Blocks, block: Instance, x: Type) -> Type:
    blocks.element(x)
    return blocks.result(block)


def _broadcast(blocks: Blocks, block: Instance, x: Type) -> Type:
    return Instance(blocks.info(ENDLESS), [x])


def _get_item(blocks: Blocks, block: Instance, x: Type) -> Type:
    key = held(block, "key")
    if block.type.name == "Slice" and kind(x) == "list":
        return x
    value = key.value if isinstance(key, LiteralType) else None
    if isinstance(x, TupleType) and type(value) is int:
        if not -len(x.items) <= value < len(x.items):
            raise Misfit(f"its input is {shown(x)}, which has no part {value}")
        return x.items[value]
    if kind(x) == "list" and isinstance(x, Instance) and (type(value) is int or key is None):
        return x.args[0] if key is not None else blocks.result(block)
    refused = kind(x) in ("tensor", "integers", "nothing", "endless")
    if refused or (isinstance(value, str) and kind(x) in ("tuple", "list") and not is_data(x)):
        told = "a slice" if block.type.name == "Slice" else repr(value) if value is not None else "a key"
        raise Misfit(f"its input is {shown(x)}, of which {told} takes nothing")
    return blocks.result(block)


def _nth(blocks: Blocks, block: Instance, x: Type) -> Type:
    if kind(x) in ("tensor", "integers", "nothing", "endless") or (kind(x) == "list" and not is_data(x)):
        raise Misfit(f"its input is {shown(x)}; it takes a list and a place")
    if not isinstance(x, TupleType) or len(x.items) != 2:
        return blocks.result(block)
    return blocks.element(x.items[0], "the list")


def _identity(blocks: Blocks, block: Instance, x: Type) -> Type:
    return x


def _void(blocks: Blocks, block: Instance, x: Type) -> Type:
    return NoneType()


def _constant(blocks: Blocks, block: Instance, x: Type) -> Type:
    if kind(x) in ("tensor", "integers", "list", "endless", "tuple"):
        raise Misfit(f"its input is {shown(x)}, and a constant reads nothing")
    return blocks.result(block)


def _fed(blocks: Blocks, block: Type, x: Type) -> Type:
    return blocks.applied(block, NoneType() if reads_nothing(block) else x)


def _all_of(blocks: Blocks, block: Instance, x: Type) -> Type:
    parts = held(block, "blocks")
    if not isinstance(parts, TupleType):
        return blocks.result(block)
    return blocks.tuple([_fed(blocks, part, x) for part in parts.items]) if parts.items else NoneType()


def _record(blocks: Blocks, block: Instance, x: Type) -> Type:
    parts, ordered = held(block, "children"), held(block, "ordered") is not None
    if not isinstance(parts, TupleType):
        return blocks.result(block)
    if kind(x) in ("tensor", "integers", "endless") or (kind(x) == "list" and not is_data(x)):
        raise Misfit(f"its input is {shown(x)}; it takes data, or a tuple")
    sources: list[Type] = [_NO_TYPE] * len(parts.items)
    if isinstance(x, TupleType) and not is_data(x):
        if not ordered:
            advice = "a dict has no order: give a tuple of blocks, or an OrderedDict"
            raise Misfit(f"its input is {shown(x)}, and {advice}")
        if len(x.items) != len(parts.items):
            raise Misfit(f"its input has {len(x.items)} parts, and it has {len(parts.items)} blocks")
        sources = x.items
    return blocks.tuple([_fed(blocks, part, t) for part, t in zip(parts.items, sources, strict=True)])


def _one_of(blocks: Blocks, block: Instance, x: Type) -> Type:
    cases = held(block, "cases")
    if not isinstance(cases, TupleType):
        return blocks.result(block)
    pre = held(block, "pre_block")
    if pre is not None:
        x = blocks.applied(pre, x)
    made = [(_fed(blocks, case, x), case) for case in cases.items]
    result, _ = made[0]
    for t, case in made[1:]:
        result = blocks.joined(result, t, "the output of the cases", f"the output of {described(case)}")
    return result


def _optional(blocks: Blocks, block: Instance, x: Type) -> Type:
    some, none = held(block, "some_case"), held(block, "none_case")
    if some is None:
        return blocks.result(block)
    made = blocks.applied(some, _NO_TYPE)
    if none is None:
        return made
    return blocks.joined(
        made, blocks.applied(none, NoneType()), "its output", f"the output of {described(none)}"
    )


def _loop(blocks: Blocks, block: Instance, x: Type) -> Type:
    body = held(block, "body")
    if body is None:
        return blocks.result(block)
    return blocks.joined(x, blocks.applied(body, x), "its input", f"the output of {described(body)}")


def _filter(blocks: Blocks, block: Instance, x: Type) -> Type:
    item, keep = blocks.element(x), held(block, "keep")
    if keep is not None:
        blocks.applied(keep, item)
    return blocks.result(block) if unsure(item) else blocks.list(item)


Rule = Callable[[Blocks, Instance, Type], Type]
RULES: Final[Mapping[str, Rule]] = {
    f"{FOLD}{name}": rule
    for name, rule in {
        "data.Data": _data,
        "data.InputTransform": _data,
        "functions.Function": Blocks.called,
        "layers.FC": _fc,
        "layers.Embedding": _embedding,
        "tensors.Concat": _concat,
        "tensors.FromTensor": _constant,
        "tensors.Zeros": _constant,
        "tensors.Stack": _stack,
        "tensors.Unstack": _unstack,
        "sequences._Arithmetic": _reduced,
        "sequences.Reduce": _reduce,
        "sequences.Map": _map,
        "sequences.Fold": _fold,
        "sequences.RNN": _rnn,
        "sequences.Zip": _zip,
        "sequences.ZipWith": _zip_with,
        "sequences.NGrams": _ngrams,
        "sequences.Broadcast": _broadcast,
        "items.GetItem": _get_item,
        "items.Nth": _nth,
        "items.Length": _length,
        "joining.Identity": _identity,
        "joining.Void": _void,
        "joining.AllOf": _all_of,
        "joining.Record": _record,
        "control.OneOf": _one_of,
        "control.Switch": _one_of,
        "control.Optional": _optional,
        "control.Loop": _loop,
        "control.Filter": _filter,
        "tensors.Metric": _void,
    }.items()
}
