"""`Sequential`: a type that carries the types of its layers, followed one by one where it is called.

Knows: that mypy itself checks each call, with the rules of each layer.
Refuses to know: any layer.
"""

from __future__ import annotations

from mypy.nodes import ARG_POS, TempNode
from mypy.plugin import FunctionSigContext, MethodContext, Plugin
from mypy.types import AnyType, CallableType, Instance, TupleType, Type, TypeOfAny, get_proper_type

from wengert_mypy.calls import Context
from wengert_mypy.checker import as_base, result_of
from wengert_mypy.dimensions import Writer
from wengert_mypy.names import ARRAY_OPERAND, NDARRAY, NUMPY_FLOATING
from wengert_mypy.symbolic import solved, takes_computed


def composed(plugin: Plugin, ctx: Context) -> Type:
    """The type of a new `Sequential` with the types of its layers."""
    made = get_proper_type(ctx.default_return_type)
    if not isinstance(made, Instance) or any(kind != ARG_POS for kinds in ctx.arg_kinds for kind in kinds):
        return made
    layers = [t for given in ctx.arg_types for t in given]
    fallback = ctx.api.named_generic_type("builtins.tuple", [AnyType(TypeOfAny.special_form)])
    return Instance(made.type, [*made.args[:2], TupleType(layers, fallback)])


def followed(plugin: Plugin, ctx: Context) -> Type:
    """Result type of the layers of a `Sequential`, each checked as if it had been called here."""
    assert isinstance(ctx, MethodContext), "a Sequential is called by its method"
    receiver = get_proper_type(ctx.type)
    layers = get_proper_type(receiver.args[2]) if isinstance(receiver, Instance) else None
    if not isinstance(layers, TupleType) or not ctx.arg_types[0]:
        return ctx.default_return_type
    writer = Writer(plugin, ctx.api.named_generic_type)
    t: Type = _operand(ctx)
    for layer in layers.items:
        given = TempNode(t, context=ctx.context)
        if takes_computed(layer):
            assert isinstance(layer, CallableType), "overloaded functions are left to mypy"
            layer = solved(FunctionSigContext([[given]], layer, ctx.context, ctx.api), writer)
        t = writer.normalised(result_of(ctx.api, layer, given))
    return t


def _operand(ctx: MethodContext) -> Type:
    """The layer that a `Sequential` makes of its operand; integers stay what they are."""
    result = get_proper_type(ctx.default_return_type)
    given = get_proper_type(ctx.arg_types[0][0])
    if not isinstance(given, Instance) or not isinstance(result, Instance):
        return result
    operand = as_base(given, ARRAY_OPERAND)
    if operand is not None:
        return Instance(result.type, list(operand.args))
    array = as_base(given, NDARRAY)
    return given if array is not None and not _is_floating(array) else result


def _is_floating(array: Instance) -> bool:
    dtype = get_proper_type(array.args[1])
    element = get_proper_type(dtype.args[0]) if isinstance(dtype, Instance) and dtype.args else None
    return isinstance(element, Instance) and element.type.has_base(NUMPY_FLOATING)
