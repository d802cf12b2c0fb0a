"""Classes that plugins merge: members of weight parts as keywords, the types of weights, layers and injected members.

Knows: that a class variable of a plugin which is a class names a part, that the parts of all plugins of a settings
class are one class, leftmost first, and where the run makes instances of it.
Refuses to know: what any part does, and shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from mypy.nodes import (
    ARG_NAMED,
    ARG_NAMED_OPT,
    ARG_STAR2,
    AssignmentStmt,
    CallExpr,
    NameExpr,
    RefExpr,
    TypeInfo,
    Var,
)
from mypy.plugin import AttributeContext, CheckerPluginInterface, ClassDefContext, MethodContext
from mypy.types import CallableType, FunctionLike, Instance, TupleType, Type, UnionType, get_proper_type

from wengert_mypy.calls import Context
from wengert_mypy.checker import changed, differ, merged, order_of, shown
from wengert_mypy.names import (
    ARRAY_LAYER,
    DOUBLE_LAYER,
    FLOAT_LAYER,
    INJECT,
    LAYER,
    MAKER,
    PLUGIN,
    SETTINGS,
    WEIGHT_PART,
)
from wengert_mypy.symbolic import SignatureContext

MAKES: Final = frozenset({"double_weight", "float_weight", "array_weight", "data_weight", "buffer"})
UNDECIDED: Final = frozenset(
    [
        *(
            f"__{side}{name}__"
            for side in ("", "r")
            for name in ("add", "sub", "mul", "truediv", "pow", "mod", "matmul")
        ),
        *(
            f"__{name}__"
            for name in ("pos", "neg", "abs", "getitem", "lt", "le", "gt", "ge", "eq", "ne", "await")
        ),
        *("predict", "train", "as_do", "data", "shape", "dtype", "device", "kind", "backward"),
    ]
)  # what no part decides, for the run would ask in a second way that does not obey
_PARTS: Final = "wengert_parts"  # of what mypy keeps with a plugin: its parts by name, empty where unknown
_INJECTED: Final = "wengert_injected"  # the names of its members that are filled
_LAYERS: Final = "wengert_layers"  # of what mypy keeps with a class made here: the parts of layers above it
_OF_LAYERS: Final = frozenset({ARRAY_LAYER, DOUBLE_LAYER, FLOAT_LAYER, LAYER})

Lookup: TypeAlias = Callable[[str], TypeInfo | None]
Kept: TypeAlias = dict[str, dict[str, list[str]]]  # what mypy keeps with a class


def remember_parts(ctx: ClassDefContext) -> None:
    """Keep the names of the parts that the body of a plugin states, which a class from the cache has no more."""
    parts: dict[str, str] = {}
    injected: list[str] = []
    for statement in ctx.cls.defs.body:
        if not isinstance(statement, AssignmentStmt):
            continue
        value = statement.rvalue
        for name in (to.name for to in statement.lvalues if isinstance(to, NameExpr)):
            if isinstance(value, RefExpr) and isinstance(value.node, TypeInfo):
                parts[name] = value.node.fullname
            elif name == "weight":
                parts[name] = ""
            elif isinstance(value, CallExpr) and isinstance(value.callee, RefExpr):
                injected += [name] * (value.callee.fullname == INJECT)
    ctx.cls.info.metadata[_PARTS] = parts
    ctx.cls.info.metadata[_INJECTED] = {"names": injected}


def _parts(settings: TypeInfo, name: str, lookup: Lookup) -> list[TypeInfo] | None:
    """The parts of that name, leftmost plugin first, each once; None where one is not known."""
    found: list[TypeInfo] = []
    for plugin in settings.mro:
        stated = plugin.metadata.get(_PARTS, {}).get(name)
        if stated is None:
            continue
        part = lookup(stated)
        if part is None:
            return None
        if part not in found:
            found.append(part)
    return found


def _names(settings: TypeInfo) -> Iterator[str]:
    yield from dict.fromkeys(name for plugin in settings.mro for name in plugin.metadata.get(_PARTS, {}))


# -- class statements -------------------------------------------------------------------------------


def unmergeable(ctx: ClassDefContext, lookup: Lookup) -> None:
    """Refuse a settings class of which the parts cannot be one class, in the words of the run."""
    info = ctx.cls.info
    for name in _names(info) if info.mro else ():
        parts = _parts(info, name, lookup)
        if parts and all(part.mro for part in parts) and not order_of(parts):
            pair = next(
                ((a, b) for i, a in enumerate(parts) for b in parts[i + 1 :] if b.has_base(a.fullname)), None
            )
            if pair is not None:
                left, right = pair
                owners = {p.metadata.get(_PARTS, {}).get(name): p.name for p in reversed(info.mro)}
                first, then = owners[right.fullname], owners[left.fullname]
                why = f"{right.name} extends {left.name}, so put {first} left of {then}"
            else:
                why = "no order of methods fits all"
            listed = ", ".join(part.name for part in parts)
            ctx.api.fail(
                f"{info.name}: the {name} parts {listed} cannot be one class; {why}", ctx.cls, code=SETTINGS
            )


def ambiguous(ctx: ClassDefContext) -> None:
    """Refuse a settings class with one member of two types, in the words of the run.

    mypy does not: of a frozen class it takes what is inherited for a definition of that class.
    """
    info = ctx.cls.info
    stated: dict[str, tuple[TypeInfo, Type]] = {}
    for plugin in info.mro[1:]:
        for name, symbol in plugin.names.items() if plugin.has_base(PLUGIN) else ():
            member = symbol.node
            if not isinstance(member, Var) or member.type is None or member.is_inferred or member.is_classvar:
                continue
            first, t = stated.setdefault(name, (plugin, member.type))
            if differ(t, member.type):
                one, two = (shown(x, ctx.api.options).strip('"') for x in (t, member.type))
                texts = f"{first.name}.{name}: {one} and {plugin.name}.{name}: {two}"
                why = f"{info.name}: one member with two types, {texts}"
                ctx.api.fail(
                    f"{why}; give both the same type, or one of them another name", ctx.cls, code=SETTINGS
                )


def undecided(ctx: ClassDefContext, base: str) -> None:
    """Refuse a part of a weight or of a layer that overrides what not every run would obey."""
    info, what = ctx.cls.info, "weight" if base == WEIGHT_PART else "layer"
    for name, symbol in info.names.items():
        if name in UNDECIDED:
            ctx.api.fail(
                f"{info.name}.{name}: a part of a {what} cannot decide this: override `forward`, whose tape every "
                "run and every operation reads",
                symbol.node or ctx.cls,
                code=SETTINGS,
            )


# -- keywords ---------------------------------------------------------------------------------------


def with_members(ctx: SignatureContext, signature: FunctionLike, lookup: Lookup) -> FunctionLike:
    """The signature of a method that makes weights: members in the place of any keywords."""
    settings = get_proper_type(getattr(ctx, "type", None))
    if not isinstance(settings, Instance) or not isinstance(signature, CallableType):
        return signature
    parts = None if settings.type.fullname in (MAKER, PLUGIN) else _parts(settings.type, "weight", lookup)
    if parts is None or ARG_STAR2 not in signature.arg_kinds:
        return signature
    members = _members(parts)
    place = signature.arg_kinds.index(ARG_STAR2)
    names = [*signature.arg_names[:place], *members]
    kinds = [ARG_NAMED_OPT if optional else ARG_NAMED for _, optional in members.values()]
    return changed(
        signature,
        arg_names=names,
        arg_kinds=[*signature.arg_kinds[:place], *kinds],
        arg_types=[*signature.arg_types[:place], *(t for t, _ in members.values())],
    )


def _members(parts: Sequence[TypeInfo]) -> Mapping[str, tuple[Type, bool]]:
    """Types by name, and whether there is a value already."""
    found: dict[str, tuple[Type, bool]] = {}
    for part in parts:
        for name, t, optional in _declared(part):
            found.setdefault(name, (t, optional))
    return found


def _declared(part: TypeInfo) -> Iterator[tuple[str, Type, bool]]:
    for owner in part.mro:
        for name, symbol in owner.names.items() if owner.has_base(WEIGHT_PART) else ():
            member = symbol.node
            if (
                isinstance(member, Var)
                and member.type is not None
                and not (member.is_inferred or member.is_property)
            ):
                yield name, member.type, member.has_explicit_value


# -- types of what is made --------------------------------------------------------------------------


def weight_of(ctx: MethodContext, made: Type, lookup: Lookup) -> Type:
    """The type of a weight with the parts of the settings that make it."""
    settings, weight = get_proper_type(ctx.type), get_proper_type(made)
    if not isinstance(settings, Instance) or not isinstance(weight, Instance):
        return made
    parts, above = (_parts(settings.type, name, lookup) or [] for name in ("weight", "layer"))
    own = lookup(WEIGHT_PART)
    if not above and own is not None and not any(_adds(part, own) for part in parts):
        return made  # the parts do something when it is made or stepped, and nobody sees more of it
    return merged(ctx.api, weight, parts, _kept(part.fullname for part in above))


def _adds(part: TypeInfo, own: TypeInfo) -> bool:
    """True if a part gives weights a member: a name that every part has is a hook."""
    owners = [owner for owner in part.mro if owner is not own and owner.has_base(own.fullname)]
    return any(not name.startswith("_") and own.get(name) is None for owner in owners for name in owner.names)


def layers_of(ctx: Context, result: Type, lookup: Lookup) -> Type:
    """The result of an operation with the parts of layers that its first operand brings which has any."""
    given = [t for types in ctx.arg_types for t in types]
    for t in [ctx.type, *given] if isinstance(ctx, MethodContext) else given:
        operand = get_proper_type(t)
        names = _above(operand) if isinstance(operand, Instance) else None
        if names:
            parts = [part for name in names if (part := lookup(name)) is not None]
            return _with_parts(ctx.api, result, parts, _kept(names))
    return result


def _kept(names: Iterable[str]) -> Kept:
    """The metadata of a class with these parts of layers above it."""
    listed = [*names]
    return {_LAYERS: {"parts": listed}} if listed else {}


def _above(t: Instance) -> list[str] | None:
    return next((owner.metadata[_LAYERS]["parts"] for owner in t.type.mro if _LAYERS in owner.metadata), None)


def _with_parts(api: CheckerPluginInterface, t: Type, parts: Sequence[TypeInfo], kept: Kept) -> Type:
    result = get_proper_type(t)
    if isinstance(result, TupleType):
        return result.copy_modified(items=[_with_parts(api, item, parts, kept) for item in result.items])
    if isinstance(result, UnionType):
        return UnionType([_with_parts(api, item, parts, kept) for item in result.items])
    if not isinstance(result, Instance) or result.type.fullname not in _OF_LAYERS:
        return t
    return merged(api, result, parts, kept)


def is_injected(plugin: TypeInfo, name: str) -> bool:
    """True if a member of a plugin is filled by its type."""
    return any(name in owner.metadata.get(_INJECTED, {}).get("names", ()) for owner in plugin.mro)


def injected(ctx: AttributeContext, lookup: Lookup) -> Type:
    """The type of a member that makes a part: it makes the merged class of these settings."""
    settings, stated = get_proper_type(ctx.type), get_proper_type(ctx.default_attr_type)
    if not isinstance(settings, Instance):
        return stated
    made = get_proper_type(
        stated.ret_type
        if isinstance(stated, CallableType)
        else stated.args[-1]
        if isinstance(stated, Instance) and stated.args
        else None
    )
    if not isinstance(made, Instance):
        return stated
    for name in _names(settings.type):
        parts = _parts(settings.type, name, lookup) or []
        if any(part.has_base(made.type.fullname) for part in parts):
            t = merged(ctx.api, made, parts, {})
            if isinstance(stated, CallableType):
                return changed(stated, ret_type=t)
            assert isinstance(stated, Instance), "as is asked above"
            return Instance(stated.type, [*stated.args[:-1], t])
    return stated
