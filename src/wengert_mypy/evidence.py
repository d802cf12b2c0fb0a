"""Registrations as types: which `Instance[X, Data, Delta]` a module can see, and what a value of X is lifted to.

Knows: that evidence is a symbol of a module: the own one, one that it imports directly, a configured one, or the one
where the class of the value is defined.
Refuses to know: calls. Nothing is kept: what is visible is read again each time, so that no answer is stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    Decorator,
    Expression,
    FuncDef,
    MypyFile,
    NameExpr,
    RefExpr,
    SymbolTableNode,
    TypeInfo,
    Var,
)
from mypy.plugin import CheckerPluginInterface, Plugin
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny, get_proper_type

from wengert_mypy.checker import accepts, as_base, imported, tree_of, watched
from wengert_mypy.names import (
    ARRAY_LAYER,
    DOUBLE_LAYER,
    EVIDENCE,
    FLOAT_LAYER,
    LAYER,
    NDARRAY,
    NUMPY_FLOATING,
    REGISTER,
)


@dataclass(frozen=True, slots=True)
class Found:
    """One registration: where it is, and its `Instance[X, Data, Delta]`."""

    fullname: str
    type: Instance


class Registry:
    """Registrations visible from the module that is being checked."""

    def __init__(self, plugin: Plugin, extensions: tuple[str, ...]) -> None:
        self._plugin = plugin
        self._extensions = extensions

    def found(self, api: CheckerPluginInterface, t: Instance) -> list[Found]:
        """The most specific registrations for values of a type; more than one is ambiguous."""
        # where a value is, the module of its class has run, however its name came here
        homes = (base.module_name for base in t.type.mro[:-1])
        names = chain(imported(tree_of(api)), self._extensions, homes)
        fitting = [
            found
            for module in watched(api, names)
            for found in self._in_module(module, own=module is tree_of(api))
            if accepts(found.type.args[0], t)
        ]
        return [f for f in fitting if all(accepts(o.type.args[0], f.type.args[0]) for o in fitting)]

    def lifted(self, found: Found) -> Type | None:
        """The type of the layer that a registered value becomes; None where a library is not loaded."""
        _, data, delta = found.type.args
        proper = get_proper_type(data)
        if isinstance(proper, Instance):
            if proper.type.fullname == "builtins.float":
                return self._instance(DOUBLE_LAYER, [])
            if proper.type.fullname == NUMPY_FLOATING:
                return self._instance(FLOAT_LAYER, [])
            array = as_base(proper, NDARRAY)
            dtype = None if array is None else get_proper_type(array.args[1])
            if isinstance(dtype, Instance) and dtype.args:
                device = self._device()
                return self._instance(ARRAY_LAYER, [AnyType(TypeOfAny.special_form), dtype.args[0], device])
        return self._instance(LAYER, [data, delta])

    def _device(self) -> Type:
        layer = self._plugin.lookup_fully_qualified(ARRAY_LAYER)
        assert layer is not None and isinstance(layer.node, TypeInfo), "the lifted class was found"
        return layer.node.defn.type_vars[2].default  # Cpu: where numpy's arrays are

    def _instance(self, fullname: str, args: list[Type]) -> Instance | None:
        found = self._plugin.lookup_fully_qualified(fullname)
        return Instance(found.node, args) if found is not None and isinstance(found.node, TypeInfo) else None

    def _in_module(self, module: MypyFile, own: bool) -> Iterator[Found]:
        for symbol in module.names.values():
            t = self._evidence(symbol, module, own)
            if t is not None and symbol.fullname is not None:
                yield Found(symbol.fullname, t)

    def _evidence(self, symbol: SymbolTableNode, module: MypyFile, own: bool) -> Instance | None:
        node = symbol.node
        if isinstance(node, Decorator):
            found = node.var.type if node.var.type is not None else self._decorated(node)
        elif isinstance(node, Var) and node.is_inferred and (own or node.type is None):
            # whether mypy has come to that line already depends on the run; the source says the same in all
            found = self._assigned(node, module)
        elif isinstance(node, Var):
            found = node.type
        else:
            return None
        t = None if found is None else get_proper_type(found)
        if not isinstance(t, Instance) or t.type.fullname != EVIDENCE:
            return None
        # not what it imports
        return t if (symbol.fullname or "").rpartition(".")[0] == module.fullname else None

    def _decorated(self, node: Decorator) -> Type | None:
        """The evidence of `@register(X)` above a function that mypy has not come to."""
        made = (self._registered(decorator, node.func) for decorator in node.original_decorators)
        return next((t for t in made if t is not None), None)

    def _assigned(self, node: Var, module: MypyFile) -> Type | None:
        """The evidence of `name = register(X)(function)` in a module that mypy has not come to."""
        for statement in module.defs:
            if not isinstance(statement, AssignmentStmt) or not isinstance(statement.rvalue, CallExpr):
                continue
            names = [x.name for x in statement.lvalues if isinstance(x, NameExpr)]
            arguments = statement.rvalue.args
            if node.name in names and len(arguments) == 1 and isinstance(arguments[0], RefExpr):
                function = arguments[0].node
                if isinstance(function, FuncDef):
                    return self._registered(statement.rvalue.callee, function)
        return None

    def _registered(self, call: Expression, function: FuncDef) -> Type | None:
        """Type that `register(X)` makes of a function, as the function's signature says."""
        if not isinstance(call, CallExpr) or len(call.args) != 1:
            return None
        callee, cls = call.callee, call.args[0]
        if not isinstance(callee, RefExpr) or callee.fullname != REGISTER:
            return None
        tape = _tape(function.type.ret_type) if isinstance(function.type, CallableType) else None
        if tape is None or not isinstance(cls, RefExpr) or not isinstance(cls.node, TypeInfo):
            return None
        of = Instance(cls.node, [AnyType(TypeOfAny.special_form)] * len(cls.node.type_vars))
        return self._instance(EVIDENCE, [of, *tape.args])


def _tape(result: Type) -> Instance | None:
    """The `Tape[Data, Delta]` in `Do[Tape[Data, Delta]]`."""
    do = get_proper_type(result)
    tape = get_proper_type(do.args[0]) if isinstance(do, Instance) and do.args else None
    return tape if isinstance(tape, Instance) and len(tape.args) == 2 else None
