"""Everything of mypy that is no documented plugin interface, in one place, tested on each supported version.

Knows: where mypy keeps what the plugin reads, and how it compares and infers types.
Refuses to know: what that is done for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mypy.checker import TypeChecker
from mypy.erasetype import erase_typevars
from mypy.expandtype import expand_type, freshen_function_type_vars
from mypy.infer import infer_function_type_arguments
from mypy.maptype import map_instance_to_supertype
from mypy.messages import format_type
from mypy.nodes import ARG_POS, Import, ImportAll, ImportFrom, MypyFile
from mypy.options import Options
from mypy.plugin import CheckerPluginInterface
from mypy.server.trigger import make_wildcard_trigger
from mypy.subtypes import is_subtype
from mypy.typeops import make_simplified_union
from mypy.types import (
    CallableType,
    Instance,
    Type,
    TypeVarId,
    TypeVarType,
    UninhabitedType,
    UnionType,
    get_proper_type,
)

__all__ = [
    "accepts",
    "as_base",
    "changed",
    "imported",
    "inferred",
    "mentioned",
    "shown",
    "tree_of",
    "watched",
    "widened",
]


def as_base(t: Instance, fullname: str) -> Instance | None:
    """`t` seen as the base class of that name, with its arguments; None where it is no base."""
    for info in t.type.mro:
        if info.fullname == fullname:
            return map_instance_to_supertype(t, info)
    return None


def tree_of(api: CheckerPluginInterface) -> MypyFile:
    """The module that is being checked."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    return api.tree


def imported(tree: MypyFile) -> Iterator[str]:
    """The names of the modules that a module imports directly; some may be names in modules."""
    for statement in tree.imports:
        if isinstance(statement, Import):
            yield from (name for name, _ in statement.ids)
        elif isinstance(statement, ImportFrom | ImportAll):
            base = statement.id
            if statement.relative:
                package = tree.fullname.split(".") + [""] * tree.is_package_init_file()
                stem = package[: len(package) - statement.relative]
                base = ".".join([*stem, statement.id] if statement.id else stem)
            yield base
            if isinstance(statement, ImportFrom):
                yield from (f"{base}.{name}" for name, _ in statement.names)


def watched(api: CheckerPluginInterface, names: Iterator[str]) -> list[MypyFile]:
    """The modules of these names; whoever is being checked now is checked again when one of them changes."""
    assert isinstance(api, TypeChecker), "mypy has one checker"
    found = [api.tree]
    for name in dict.fromkeys(names):
        module = api.modules.get(name)
        if module is None or module is api.tree:
            continue
        api.tree.plugin_deps.setdefault(make_wildcard_trigger(name), set()).add(api.tscope.current_target())
        api.module_refs.add(name)
        found.append(module)
    return found


def accepts(formal: Type, t: Type) -> bool:
    """Whether a parameter takes values of a type, whatever its type variables become."""
    proper = get_proper_type(formal)
    if isinstance(proper, UnionType):
        return any(accepts(item, t) for item in proper.items)
    if isinstance(proper, TypeVarType):
        return is_subtype(t, proper.upper_bound)
    return is_subtype(t, erase_typevars(proper))


def mentioned(formal: Type, name: str) -> Instance | None:
    """The class of that name among those that a parameter takes."""
    waiting = [formal]
    while waiting:
        t = get_proper_type(waiting.pop())
        if isinstance(t, UnionType):
            waiting += t.items
        elif isinstance(t, TypeVarType):
            waiting.append(t.upper_bound)
        elif isinstance(t, Instance) and t.type.fullname == name:
            return t
    return None


def inferred(
    api: CheckerPluginInterface,
    signature: CallableType,
    given: Sequence[Sequence[Type]],
    missing: Type | None = None,
) -> CallableType:
    """A signature with its type variables replaced by what arguments of these types make of them.

    A variable that they leave open becomes its default, else `missing`; without either nothing is replaced.
    """
    assert isinstance(api, TypeChecker), "mypy has one checker"
    fresh = freshen_function_type_vars(
        signature
    )  # a function that calls itself has its own variables in `given`
    types = [t for formal in given for t in formal]
    places = iter(range(len(types)))
    solved, _ = infer_function_type_arguments(
        fresh,
        types,
        [ARG_POS] * len(types),
        [None] * len(types),
        [[next(places) for _ in formal] for formal in given],
        api.expr_checker.argument_infer_context(),
        strict=False,
    )
    values: dict[TypeVarId, Type] = {}
    for variable, value in zip(fresh.variables, solved, strict=True):
        found = variable.default if value is None and variable.has_default() else value or missing
        if found is None:
            return signature
        values[variable.id] = missing if missing is not None and _is_never(found) else found
    made = expand_type(fresh, values)
    return changed(made, variables=[])


def _is_never(t: Type) -> bool:
    return isinstance(get_proper_type(t), UninhabitedType)


def changed(signature: CallableType, **parts: object) -> CallableType:
    """A signature with other `arg_types`, `ret_type` or `variables`."""
    known: dict[str, Any] = parts  # Any: mypy marks the defaults of these by a type of its own
    return signature.copy_modified(**known)


def widened(formal: Type, by: Type) -> Type:
    """A parameter type that also takes another type."""
    return make_simplified_union([formal, by])


def shown(t: Type, options: Options) -> str:
    """A type as mypy's own messages show it, in quotation marks."""
    return format_type(t, options)
