"""Registrations as types: which `Instance[X, Data, Delta]` a module can see, and what a value of X is lifted to.

Knows: that evidence is a symbol of a module: the own one, one that it imports directly, or a configured one.
Refuses to know: calls. Nothing is kept: what is visible is read again each time, so that no answer is stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from mypy.nodes import CallExpr, Decorator, MypyFile, RefExpr, SymbolTableNode, TypeInfo, Var
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
    """What is visible from the module that is being checked."""

    def __init__(self, plugin: Plugin, extensions: tuple[str, ...]) -> None:
        self._plugin = plugin
        self._extensions = extensions

    def found(self, api: CheckerPluginInterface, t: Instance) -> list[Found]:
        """The most specific registrations for values of a type; more than one is ambiguous."""
        names = chain(imported(tree_of(api)), self._extensions)
        fitting = [
            found
            for module in watched(api, names)
            for found in self._in_module(module)
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

    def _in_module(self, module: MypyFile) -> Iterator[Found]:
        for symbol in module.names.values():
            t = self._evidence(symbol, module.fullname)
            if t is not None and symbol.fullname is not None:
                yield Found(symbol.fullname, t)

    def _evidence(self, symbol: SymbolTableNode, module: str) -> Instance | None:
        node = symbol.node
        if isinstance(node, Decorator):
            found = node.var.type if node.var.type is not None else self._declared(node)
        elif isinstance(node, Var) and not node.is_inferred:
            found = node.type  # an inferred type would be there or not, depending on who is checked first
        else:
            return None
        t = None if found is None else get_proper_type(found)
        if not isinstance(t, Instance) or t.type.fullname != EVIDENCE:
            return None
        return t if (symbol.fullname or "").rpartition(".")[0] == module else None  # not what it imports

    def _declared(self, node: Decorator) -> Type | None:
        """The evidence of `@register(X)` above a function that mypy has not come to: what its signature says."""
        signature = node.func.type
        if not isinstance(signature, CallableType):
            return None
        for decorator in node.original_decorators:
            if not isinstance(decorator, CallExpr) or len(decorator.args) != 1:
                continue
            callee, cls = decorator.callee, decorator.args[0]
            if not (isinstance(callee, RefExpr) and callee.fullname == REGISTER):
                continue
            tape = _tape(signature.ret_type)
            if isinstance(cls, RefExpr) and isinstance(cls.node, TypeInfo) and tape is not None:
                of = Instance(cls.node, [AnyType(TypeOfAny.special_form)] * len(cls.node.type_vars))
                return self._instance(EVIDENCE, [of, *tape.args])
        return None


def _tape(result: Type) -> Instance | None:
    """The `Tape[Data, Delta]` in `Do[Tape[Data, Delta]]`."""
    do = get_proper_type(result)
    tape = get_proper_type(do.args[0]) if isinstance(do, Instance) and do.args else None
    return tape if isinstance(tape, Instance) and len(tape.args) == 2 else None
