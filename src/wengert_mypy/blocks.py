"""Blocks of `wengert.fold` where a program makes, joins and uses them: their exact types, and the errors of the run.

Knows: how a block is written, with its short forms; that the arguments of a block whose types say too little are kept
in its type, until it begins with data; where the rules are asked.
Refuses to know: what a block gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from mypy import errorcodes
from mypy.errorcodes import ErrorCode
from mypy.nodes import (
    CallExpr,
    DictExpr,
    Expression,
    FloatExpr,
    IntExpr,
    LambdaExpr,
    ListExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    StrExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
)
from mypy.plugin import FunctionContext, MethodContext, MethodSigContext, Plugin
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    LiteralType,
    TupleType,
    Type,
    TypeOfAny,
    TypeVarType,
    get_proper_type,
)

from wengert_mypy.arithmetic import dim_at
from wengert_mypy.block_rules import Blocks
from wengert_mypy.block_types import (
    BLOCK,
    described,
    get_integers,
    held,
    holding,
    kind,
    reads_nothing,
    shown,
    tensor,
)
from wengert_mypy.checker import as_base, changed, failed, stored, tree_of
from wengert_mypy.dimensions import Unknown
from wengert_mypy.names import FOLD, NDARRAY, SHAPE
from wengert_shapes.rules import Misfit, Size

Context: TypeAlias = FunctionContext | MethodContext | MethodSigContext
_NO_TYPE: Final = AnyType(TypeOfAny.special_form)
_RECORD: Final = f"{FOLD}joining.Record"
_CONSTANT: Final = f"{FOLD}tensors.FromTensor"
_CHILDREN: Final = frozenset(
    {
        "elem_block", "combine_block", "start_block", "default_block", "initial_state", "cell",
        "some_case", "none_case", "pre_block", "body", "keep", "until",
    }
)  # fmt: skip
_FLAGS: Final = frozenset({"flatten", "batched"})
_SIZES: Final = frozenset({"num_units_out", "n", "concat_dim", "key"})
_SAYS_ALL: Final = frozenset(
    {"Tensor", "Scalar", "Vector", "Zeros", "FromTensor", "InputTransform", "Void", "Metric"}
)
_BEGINS: Final = frozenset(
    {f"{FOLD}data.Data", f"{FOLD}data.InputTransform", f"{FOLD}messages.SerializedMessageToTree"}
)


class Reading:
    """Blocks as they are written in one call."""

    def __init__(self, plugin: Plugin, ctx: Context) -> None:
        self.ctx = ctx
        self.rules = Blocks(plugin, ctx.api, ctx.context)

    def block(self, x: Expression) -> Type | None:
        """The type of a block, or of what an expression is short for; None where that is not known."""
        if isinstance(x, DictExpr | TupleExpr | ListExpr):
            return self.record(x)
        return self.of_type(stored(self.ctx.api, x))

    def of_type(self, t: Type) -> Type | None:
        """The type of a block that a value of this type is."""
        proper = get_proper_type(t)
        if isinstance(proper, TupleType):
            children = [self.of_type(item) for item in proper.items]
            return self._made(None, children, ordered=True)
        if not isinstance(proper, Instance):
            return None
        if as_base(proper, BLOCK) is not None:
            return proper
        if proper.type.fullname in ("builtins.float", "builtins.int") or (
            proper.type.fullname.startswith("numpy.") and proper.type.fullname != NDARRAY
        ):
            return self._constant(self.rules.layer(()))
        if proper.type.has_base(NDARRAY) or tensor(proper) is not None:
            return self._constant(proper if tensor(proper) is not None else self.rules.layer(None))
        return None

    def _constant(self, of: Type) -> Type:
        return Instance(self.rules.info(_CONSTANT), [of])

    def record(self, x: Expression) -> Type | None:
        """The record that a dict, a tuple or a list of pairs is short for."""
        found = self.pairs(x)
        if found is None:
            return None
        keys, children = found
        if isinstance(x, DictExpr):
            order = sorted(range(len(keys)), key=lambda i: str(keys[i])) if all(keys) else None
            if order is None or not _sortable(keys):
                return None if len(keys) > 1 else self._made(keys, children, ordered=False)
            order = sorted(range(len(keys)), key=lambda i: _key(keys[i]))
            keys, children = [keys[i] for i in order], [children[i] for i in order]
        return self._made(
            None if isinstance(x, TupleExpr) else keys, children, ordered=not isinstance(x, DictExpr)
        )

    def pairs(self, x: Expression) -> tuple[list[Type | None], list[Type | None]] | None:
        """Keys, as far as they are literals, and blocks of a dict, a tuple or a list of pairs."""
        if isinstance(x, TupleExpr):
            return [None] * len(x.items), [self.block(item) for item in x.items]
        if isinstance(x, DictExpr):
            pairs = list(x.items)
        elif isinstance(x, ListExpr):
            pairs = []
            for item in x.items:
                if not isinstance(item, TupleExpr) or len(item.items) != 2:
                    return None
                pairs.append((item.items[0], item.items[1]))
        else:
            return None
        if any(key is None for key, _ in pairs):
            return None  # `**others`
        return [None if key is None else self.key(key) for key, _ in pairs], [
            self.block(value) for _, value in pairs
        ]

    def key(self, x: Expression) -> Type | None:
        """A literal."""
        if isinstance(x, StrExpr | IntExpr):
            return self.rules.literal(x.value)
        if isinstance(x, UnaryExpr) and x.op == "-" and isinstance(x.expr, IntExpr):
            return self.rules.literal(-x.expr.value)
        t = get_proper_type(stored(self.ctx.api, x))
        if isinstance(t, Instance) and t.last_known_value is not None:
            return t.last_known_value
        return t if isinstance(t, LiteralType) else None

    def _made(
        self, keys: list[Type | None] | None, children: list[Type | None], ordered: bool
    ) -> Type | None:
        known = [child for child in children if child is not None]
        if len(known) < len(children):
            return None
        bases = [as_base(child, BLOCK) for child in known if isinstance(child, Instance)]
        reads = [_NO_TYPE if base is None else base.args[0] for base in bases]
        named = [key for key in keys or [] if key is not None]
        given: Type = self.rules.tuple(reads) if ordered and keys is None else _NO_TYPE
        return holding(
            Instance(self.rules.info(_RECORD), [given, _NO_TYPE]),
            {
                "children": self.rules.tuple(known),
                "keys": self.rules.tuple(named) if keys is not None and len(named) == len(keys) else None,
                "ordered": self.rules.literal(True) if ordered else None,
            },
        )

    # arguments

    def arguments(self) -> Iterator[tuple[str | None, Expression]]:
        """Arguments with the names of their parameters."""
        for name, given in zip(
            self.ctx.callee_arg_names if not isinstance(self.ctx, MethodSigContext) else [],
            self.ctx.args,
            strict=True,
        ):
            for x in given:
                yield name, x

    def parts(self, of: TypeInfo) -> dict[str, Type | None]:
        """The arguments that the rules of a block ask for."""
        kept: dict[str, Type | None] = {}
        several: list[Type | None] = []
        for name, x in self.arguments():
            if name == "name":
                continue
            if of.name in ("AllOf", "Pipe"):
                several.append(self.block(x))
            elif name is None:
                continue
            elif name in _CHILDREN:
                kept[name] = self.block(x)
            elif name in ("case_blocks", "cases"):
                kept["cases"] = self._cases(x)
            elif name in _FLAGS:
                if not (isinstance(x, NameExpr) and x.name == "False"):
                    kept[name] = self.rules.literal(True)
            elif name in _SIZES:
                kept[name] = self.key(x) if name in ("key", "concat_dim") else self._size(x)
            elif name == "named_children":
                record = self.block(x)
                if isinstance(record, Instance):
                    kept |= {key: held(record, key) for key in ("children", "keys", "ordered")}
            elif name == "function":
                kept |= self._function(x)
        if several and all(several):
            known = self.rules.tuple([t for t in several if t is not None])
            kept["chain" if of.name == "Pipe" else "blocks"] = known
        elif of.name == "AllOf" and not several:
            kept["blocks"] = self.rules.tuple([])
        return kept

    def _size(self, x: Expression) -> Type | None:
        n = dim_at(self.ctx.api, x, stored(self.ctx.api, x))
        return None if n is None else self.rules.writer.dim_type(n)

    def _cases(self, x: Expression) -> Type | None:
        found = self.pairs(x)
        if found is None or None in found[1] or not found[1]:
            return None
        return self.rules.tuple([t for t in found[1] if t is not None])

    def _function(self, x: Expression) -> dict[str, Type | None]:
        if isinstance(x, LambdaExpr):
            place = f"{tree_of(self.ctx.api).fullname}:{x.line}:{x.column}"
            return {"lambda": self.rules.literal(place)}
        t = get_proper_type(stored(self.ctx.api, x))
        name = x.fullname if isinstance(x, RefExpr) else ""
        own = name.startswith("wengert.ops.")
        if isinstance(t, CallableType) and not t.variables and not own:
            return {}
        return {"function": t, "name": self.rules.literal(name) if own else None}

    # stated outputs

    def stated(self, of: TypeInfo, made: Instance) -> Type | None:
        """The exact output of a block that states it itself."""
        given = {name: x for name, x in self.arguments() if name is not None}
        like = self.rules.result(made)
        integers = get_integers(like)
        if of.name == "Vector" and "size" in given and not integers:
            return self.rules.layer((dim_at(self.ctx.api, given["size"]),), like)
        if of.name == "Tensor" and not integers:
            shape = given.get("shape")
            items = shape.items if isinstance(shape, TupleExpr | ListExpr) else None
            return (
                None
                if items is None
                else self.rules.layer(tuple(dim_at(self.ctx.api, x) for x in items), like)
            )
        if of.name == "OneHot":
            return self.rules.layer((self._one_hot(given),)) if "dtype" not in given else None
        if of.name == "OneHotFromList" and "dtype" not in given:
            listed = given.get("elements")
            items = listed.items if isinstance(listed, ListExpr | TupleExpr) else None
            return None if items is None else self.rules.layer((self._count(len(items)),))
        if of.name == "Length" and "dtype" not in given:
            return self.rules.layer(())
        if of.name == "Zeros" and "of" in given:
            return self._zeros(given["of"])
        return None

    def _count(self, n: int) -> Size:
        return dim_at(self.ctx.api, IntExpr(n), self.rules.literal(n))

    def _one_hot(self, given: dict[str, Expression]) -> Size:
        start, stop = given.get("start"), given.get("stop")
        first = None if start is None else dim_at(self.ctx.api, start)
        if stop is None:
            return first
        last = dim_at(self.ctx.api, stop)
        return None if first is None or last is None else last - first

    def _zeros(self, x: Expression) -> Type | None:
        if isinstance(x, TupleExpr):
            parts = [self._zeros(item) for item in x.items]
            known = [t for t in parts if t is not None]
            return self.rules.tuple(known) if len(known) == len(parts) else None
        if isinstance(x, ListExpr):
            if any(isinstance(item, StrExpr) for item in x.items):
                return None
            return self.rules.layer(tuple(dim_at(self.ctx.api, item) for item in x.items))
        if isinstance(x, StrExpr):
            return self.rules.layer(()) if x.value == "float32" else None
        n = dim_at(self.ctx.api, x)
        return None if n is None else self.rules.layer((n,))


def _key(t: Type | None) -> int | str:
    assert isinstance(t, LiteralType), "all are"
    return t.value if isinstance(t.value, int | str) else 0


def _sortable(keys: list[Type | None]) -> bool:
    return all(keys) and len({type(_key(key)) for key in keys}) == 1


def _closed(block: Type) -> bool:
    """True if what a block gives does not depend on the type of what it reads, as that is data."""
    b = get_proper_type(block)
    if not isinstance(b, Instance):
        return False
    chain = held(b, "chain")
    if isinstance(chain, TupleType):
        return any(map(_closed, chain.items))
    if any(b.type.has_base(name) for name in _BEGINS) or reads_nothing(b) or b.type.name == "Optional":
        return True
    for name in ("children", "blocks", "cases"):
        several = held(b, name)
        if isinstance(several, TupleType):
            return bool(several.items) and all(map(_closed, several.items))
    part = held(b, "elem_block")
    if part is not None:
        return _closed(part)
    base = as_base(b, BLOCK)
    given = None if base is None else get_proper_type(base.args[0])
    unsure = given is None or isinstance(given, AnyType | TypeVarType)
    return (
        not b.extra_attrs and b.type.fullname == BLOCK and not unsure and kind(given or _NO_TYPE) == "object"
    )


def _told(block: Type, error: Misfit) -> tuple[str, ErrorCode]:
    """The text of an error with its block; of an operation it names that itself."""
    said = str(error)
    operation = said.partition(":")[0].isidentifier() and ": " in said and not said.startswith("its ")
    return (said, SHAPE) if operation else (f"{described(block)}: {said}", errorcodes.OPERATOR)


def made(plugin: Plugin, ctx: FunctionContext) -> Type:
    """The type of a new block, with what made it where its types do not say all."""
    result = get_proper_type(ctx.default_return_type)
    if not isinstance(result, Instance) or as_base(result, BLOCK) is None:
        return ctx.default_return_type
    reading = Reading(plugin, ctx)
    try:
        _check_numbers(reading, result)
        stated = reading.stated(result.type, result)
        if stated is not None:
            result = _giving(result, stated)
        if result.type.name in _SAYS_ALL:
            return _refused_constant(reading, result)
        block = holding(result, reading.parts(result.type))
        if not block.extra_attrs:
            return result
        given = reading.rules.applied(block, _NO_TYPE)
    except Misfit as error:
        text, code = _told(result, error)
        failed(ctx.api, text, ctx.context, errorcodes.ARG_TYPE if code is errorcodes.OPERATOR else code)
        return result
    except Unknown:
        return result
    if isinstance(get_proper_type(given), AnyType):
        return block
    if not _closed(block):
        return _giving(block, given)
    keys = held(block, "keys")
    output = held(_giving(result, given), "output")
    return holding(
        _giving(result, given),
        {"keys": keys, "children": held(block, "children") if keys else None, "output": output},
    )


def _check_numbers(reading: Reading, block: Instance) -> None:
    """Refuse numbers that a block cannot be made of."""
    given = {name: reading.key(x) for name, x in reading.arguments() if name is not None and _is_number(x)}
    n = {
        name: t.value for name, t in given.items() if isinstance(t, LiteralType) and isinstance(t.value, int)
    }
    kind_of = block.type.name
    if kind_of == "FC" and n.get("num_units_out", 1) < 1:
        raise Misfit("a layer has at least one unit")
    if kind_of == "NGrams" and n.get("n", 1) < 1:
        raise Misfit(f"a window has at least one element, not {n['n']}")
    if kind_of == "OneHot" and "start" in n and ("stop" in n or len(list(reading.arguments())) == 1):
        first, last = (n["start"], n["stop"]) if "stop" in n else (0, n["start"])
        if last <= first:
            raise Misfit(f"no integer lies from {first} to {last}")
    for name, x in reading.arguments():
        if kind_of == "FC" and name in ("input_keep_prob", "output_keep_prob"):
            value = float(x.value) if isinstance(x, FloatExpr | IntExpr) else 1.0
            if not 0.0 < value <= 1.0:
                raise Misfit(f"a probability to keep is more than 0, at most 1, not {value}")


def _is_number(x: Expression) -> bool:
    return isinstance(x, IntExpr) or (isinstance(x, UnaryExpr) and isinstance(x.expr, IntExpr))


def _refused_constant(reading: Reading, block: Instance) -> Type:
    for name, x in reading.arguments():
        if block.type.name == "FromTensor" and name == "tensor" and isinstance(x, IntExpr):
            raise Misfit(f"{x.value} is no tensor: give a float, an array, a weight or a layer")
    return block


def _giving(block: Instance, output: Type) -> Instance:
    """The type of a block that gives this."""
    own = as_base(Instance(block.type, list(block.type.defn.type_vars)), BLOCK)
    variable = None if own is None else get_proper_type(own.args[1])
    for i, v in enumerate(block.type.defn.type_vars):
        if isinstance(variable, TypeVarType) and v.id == variable.id:
            args = list(block.args)
            args[i] = output
            return Instance(block.type, args, block.line, block.column, extra_attrs=block.extra_attrs)
    proper = get_proper_type(output)
    whole = None if own is None else get_proper_type(own.args[1])
    if isinstance(whole, Instance) and whole.args and isinstance(get_proper_type(whole.args[0]), TypeVarType):
        return block  # a list of what is a variable of the class: mypy has it
    known = None if as_base(block, BLOCK) is None else proper
    return block if known is None else holding(block, {"output": known})


def joining(plugin: Plugin, ctx: MethodSigContext, turned: bool) -> FunctionLike:
    """The signature of `>>` for these two sides."""
    signature = ctx.default_signature
    first = get_proper_type(signature.arg_types[0]) if len(signature.arg_types) == 1 else None
    if len(ctx.args) != 1 or len(ctx.args[0]) != 1 or first is None:
        return signature
    if not turned and not (isinstance(first, Instance) and first.type.fullname == BLOCK):
        return signature  # the first of several takes whatever is known
    reading = Reading(plugin, ctx)
    written = ctx.context.left if turned and isinstance(ctx.context, OpExpr) else ctx.args[0][0]
    literal = isinstance(written, DictExpr | TupleExpr | ListExpr)
    # by itself: what stands on the left may have made another type of it
    other = reading.block(written) if literal else reading.of_type(ctx.api.get_expression_type(written))
    receiver = reading.of_type(ctx.type)
    if receiver is None or other is None:
        return signature
    left, right = (other, receiver) if turned else (receiver, other)
    rules = reading.rules
    result: Type = _NO_TYPE
    try:
        given = rules.applied(left, _NO_TYPE)
        result = _joined(rules, left, right, rules.applied(right, given))
    except Misfit as error:
        text, code = _told(right, error)
        failed(ctx.api, text, ctx.context, code)
    except Unknown:
        return signature
    return changed(signature, arg_types=[_NO_TYPE], ret_type=result, variables=[])


def _joined(rules: Blocks, left: Type, right: Type, output: Type) -> Type:
    """The type of a chain of two."""
    first = get_proper_type(left)
    assert isinstance(first, Instance), "it is a block"
    base = as_base(first, BLOCK)
    chain = Instance(rules.info(BLOCK), [_NO_TYPE if base is None else base.args[0], output])
    if _closed(left):
        return holding(chain, {"keys": held(first, "keys")})
    parts: list[Type] = []
    for side in (left, right):
        several = held(side, "chain") if isinstance(side, Instance) else None
        parts += several.items if isinstance(several, TupleType) else [side]
    if _closed(right) or not any(isinstance(t, Instance) and _open(t) for t in parts):
        return chain
    return holding(chain, {"chain": rules.tuple(parts)})


def _open(block: Instance) -> bool:
    """True if the types of a block say less than the rules know."""
    return block.extra_attrs is not None or block.type.fullname.startswith(FOLD)


def applied(plugin: Plugin, ctx: MethodContext) -> Type:
    """The wire that leaves a block."""
    result = get_proper_type(ctx.default_return_type)
    wires = [get_proper_type(t) for given in ctx.arg_types for t in given]
    if not isinstance(result, Instance) or result.type.fullname != f"{FOLD}block.Wire":
        return result
    inside = [t.args[0] for t in wires if isinstance(t, Instance) and t.args]
    if len(inside) != len(wires) or not inside:
        return result
    rules = Blocks(plugin, ctx.api, ctx.context)
    try:
        made = rules.applied(ctx.type, inside[0] if len(inside) == 1 else rules.tuple(inside))
    except Misfit as error:
        text, code = _told(ctx.type, error)
        failed(ctx.api, text, ctx.context, errorcodes.ARG_TYPE if code is errorcodes.OPERATOR else code)
        return result
    except Unknown:
        return result
    return Instance(result.type, [made])


def compiled(plugin: Plugin, ctx: MethodSigContext) -> FunctionLike:
    """The signature of `Compiler.create` for a block; lists and objects have no batch."""
    stated = isinstance(ctx.context, CallExpr) and "lists" in ctx.context.arg_names
    given = ctx.args[0][0] if ctx.args and len(ctx.args[0]) == 1 and not stated else None
    root = None if given is None else Reading(plugin, ctx).block(given)
    if root is None:
        return ctx.default_signature
    rules = Blocks(plugin, ctx.api, ctx.context)
    try:
        data = ctx.api.named_generic_type("builtins.object", [])
        made = rules.applied(root, _NO_TYPE if _closed(root) else data)
        if _unbatched(made):
            advice = "; td.Compiler.create(block, lists=True) takes lists" * (not _has_objects(made))
            raise Misfit(f"its output is {shown(made)}, which has objects or lists in it{advice}")
    except Misfit as error:
        text, _ = _told(root, error)
        failed(ctx.api, text, ctx.context, errorcodes.ARG_TYPE)
        return changed(ctx.default_signature, arg_types=[_NO_TYPE, *ctx.default_signature.arg_types[1:]])
    except Unknown:
        return ctx.default_signature
    return ctx.default_signature


def _unbatched(t: Type) -> bool:
    """True if a batch of values has no tensor; recursive over a type, which a person has written."""
    proper = get_proper_type(t)
    if isinstance(proper, TupleType):
        return any(map(_unbatched, proper.items))
    return kind(proper) in ("list", "endless", "object") and not isinstance(proper, AnyType | TypeVarType)


def _has_objects(t: Type) -> bool:
    proper = get_proper_type(t)
    if isinstance(proper, TupleType):
        return any(map(_has_objects, proper.items))
    if isinstance(proper, Instance) and kind(proper) == "list":
        return _has_objects(proper.args[0])
    return kind(proper) in ("object", "endless")


def evaluated(ctx: MethodContext) -> Type:
    """The result of `eval` or `build`; a dict that lacks a name is refused."""
    receiver = get_proper_type(ctx.type)
    keys = held(receiver, "keys") if isinstance(receiver, Instance) else None
    x = ctx.args[0][0] if ctx.args and len(ctx.args[0]) == 1 else None
    if isinstance(keys, TupleType) and isinstance(x, DictExpr):
        there = [key.value for key, _ in x.items if isinstance(key, StrExpr | IntExpr)]
        wanted = [t.value for t in keys.items if isinstance(t, LiteralType)]
        missing = next((key for key in wanted if key not in there), None)
        if len(there) == len(x.items) and missing is not None:
            ctx.api.fail(f"the dict has nothing under {missing!r}", ctx.context, code=errorcodes.ARG_TYPE)
    return ctx.default_return_type


Hook: TypeAlias = Callable[..., Type]


def method_hook(plugin: Plugin, name: str) -> Hook | None:
    """The answer for the result of a method of blocks."""
    if name == "__call__":
        return partial(applied, plugin)
    return evaluated if name in ("eval", "build") else None
