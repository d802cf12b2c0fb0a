"""The layers of `wengert.nn`: what their types become where they are made and what shape a call of them gives.

Knows: that a layer's type carries its sizes, how `make` states them, and the words of the run time.
Refuses to know: weights, and how a layer computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from itertools import product
from operator import mul
from typing import Final, TypeAlias

from mypy.nodes import ARG_POS, ARG_STAR, TempNode
from mypy.plugin import FunctionSigContext, MethodContext, Plugin
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeOfAny,
    get_proper_type,
)

from wengert_mypy.arithmetic import dim_at
from wengert_mypy.calls import Call, Context, Rule
from wengert_mypy.checker import as_base, as_replace, bound, changed, result_of
from wengert_mypy.dimensions import Unknown, Writer, dim_of, shape_of
from wengert_mypy.names import ARRAY_OPERAND, NDARRAY, NN, NUMPY_FLOATING, SHAPE
from wengert_mypy.results import sharpened
from wengert_mypy.symbolic import solved, takes_computed
from wengert_shapes.algebra import ONE, floor_divide, number
from wengert_shapes.rules import Misfit, Shape, Size, differ, known, size_text, text
from wengert_shapes.windows import convolved, pooled, spread

Answer: TypeAlias = Callable[[Plugin, Context], Type]
REPLACE: Final = "dataclasses.replace"


def refilled(ctx: FunctionSigContext) -> CallableType:
    """The signature of `dataclasses.replace`: fields of a layer take what its constructor takes, an expression too."""
    made = as_replace(ctx)
    layer = get_proper_type(made.ret_type)
    if not isinstance(layer, Instance) or not layer.type.fullname.startswith(NN):
        return made
    found = layer.type.get("__init__")
    init = get_proper_type(found.type) if found is not None else None
    if not isinstance(init, CallableType):
        return made
    stated = bound(init, layer)
    types = dict(zip(stated.arg_names, stated.arg_types, strict=True))
    fields = zip(made.arg_names[1:], made.arg_types[1:], strict=True)
    return changed(made, arg_types=[made.arg_types[0], *(types.get(name, t) for name, t in fields)])


def sizes_of(call: Call) -> list[Size]:
    """The sizes that the type of the called layer carries."""
    assert isinstance(call.ctx, MethodContext), "layers are called by their methods"
    layer = get_proper_type(call.ctx.type)
    if not isinstance(layer, Instance):
        raise Unknown
    return [dim_of(t) for t in layer.args]


def last_axis(shape: Shape, size: Size) -> Shape:
    """The other axes."""
    if not shape or differ(shape[-1], size):
        raise Misfit(f"expected last axis {size_text(size)}, got {text(shape)}")
    return shape[:-1]


def same_shape(what: str, shape: Shape, wanted: Shape) -> None:
    if len(shape) != len(wanted) or any(differ(n, m) for n, m in zip(shape, wanted, strict=True)):
        raise Misfit(f"expected {what} of shape {text(wanted)}, got {text(shape)}")


def _linear(call: Call) -> Shape:
    inputs, outputs, *_ = sizes_of(call)
    return (*last_axis(call.shape(0), inputs), outputs)


def _embedding(call: Call) -> Shape:
    indices = call.array(0)
    if indices is None:
        raise Unknown
    return (*indices, sizes_of(call)[1])


def _embedding_bag(call: Call) -> Shape:
    width = sizes_of(call)[1]
    if not absent(call.type("offsets")):
        offsets = call.array("offsets")
        return (offsets[0] if offsets else None, width)
    indices = call.array(0)
    if indices is None:
        raise Unknown
    if not indices:
        raise Misfit("expected indices (..., n), or offsets in a vector of them; got one index")
    if not absent(call.type("lengths")) and (lengths := call.array("lengths")) is not None:
        same_shape("lengths", lengths, indices[:-1])
    return (*indices[:-1], width)


def _bilinear(call: Call) -> Shape:
    inputs, others, outputs, *_ = sizes_of(call)
    leading = last_axis(call.shape(0), inputs)
    other = call.shape(1)
    last_axis(other, others)
    same_shape("the other operand", other, (*leading, others))
    return (*leading, outputs)


def _layer_norm(call: Call) -> Shape:
    shape, width = call.shape(0), sizes_of(call)[0]
    return (*last_axis(shape, width), width if shape[-1] is None else shape[-1])


def _batch_norm(call: Call) -> Shape:
    shape, width = call.shape(0), sizes_of(call)[0]
    if len(shape) < 2 or differ(shape[1], width):
        raise Misfit(f"expected axis 1 of size {size_text(width)}, got {text(shape)}")
    return (shape[0], width if shape[1] is None else shape[1], *shape[2:])


def _instance_norm(call: Call) -> Shape:
    made = _batch_norm(call)
    if len(made) == 2:
        raise Misfit(f"one value of each channel has no variance, got {text(made)}")
    return made


def _stated_groups(call: Call) -> list[Size]:
    width, groups = _stated(2)(call)
    n, m = (None if size is None else size.value for size in (width, groups))
    if n is not None and m is not None and (m < 1 or n % m):
        raise Misfit(f"{m} groups do not divide {n} channels")
    return [width]


def _stated_ends(call: Call) -> list[Size]:
    """The features that a chain of linear maps takes and gives."""
    (inputs,) = _stated(1)(call)
    given, types = call.ctx.args[2], call.ctx.arg_types[2]
    if not given or ARG_STAR in call.ctx.arg_kinds[2]:
        return [inputs, None]
    return [inputs, dim_at(call.ctx.api, given[-1], types[-1])]


def _flatten(call: Call) -> Shape:
    shape = call.shape(0)
    if not shape:
        raise Misfit(f"expected (batch, ...), got {text(shape)}")
    sizes = known(shape[1:])
    return shape[0], None if sizes is None else reduce(mul, sizes, ONE)


def _global_pool(call: Call) -> Shape:
    shape = call.shape(0)
    if len(shape) < 3:
        raise Misfit(f"expected (batch, channels, ...), got {text(shape)}")
    return shape[:2]


def _stated_pool(call: Call) -> list[Size]:
    size = _size(call, 0)
    stride, padding = call.type("stride"), call.type("padding")
    return [
        size,
        size if absent(stride) or stride is None else dim_of(stride),
        number(0) if padding is None else dim_of(padding),
    ]


def _pool(call: Call) -> Shape:
    size, stride, padding = sizes_of(call)
    return pooled(call.shape(0), *((n, n) for n in (size, stride, padding, ONE)))


def _convolved(call: Call, count: int, transposed: bool = False) -> Shape:
    first, second, kernel, stride, padding, dilation, groups, *_ = sizes_of(call)
    parts = None if groups is None else groups.value
    if parts is None:  # nothing is known of the channels that groups divide
        first, second = (first, None) if transposed else (None, second)
    slide, steps = ((stride,) * count, (padding,) * count), (dilation,) * count
    sides = (kernel,) * count
    if transposed:
        beyond = (number(0),) * count
        return spread(call.shape(0), (first, second, *sides), *slide, beyond, steps, parts or 1)
    return convolved(call.shape(0), (second, first, *sides), *slide, steps, parts or 1)


def _step(call: Call) -> Shape:
    """The state that a cell or a leaf makes of an input alone."""
    inputs, hidden, *_ = sizes_of(call)
    return (*last_axis(call.shape(0), inputs), hidden)


def _lstm(call: Call) -> Shape:
    made = _step(call)
    h, c = state_of(call.type(1), made)
    same_shape("a state h", h, made)
    same_shape("a state c", c, made)
    return made


def _one_state(call: Call) -> Shape:
    made = _step(call)
    same_shape("a state h", call.shape_or(1, made), made)
    return made


def state_of(t: Type | None, otherwise: Shape) -> tuple[Shape, Shape]:
    """The shapes of h and c, each taken for `otherwise` where it is unknown, and both where there is no state."""
    proper = None if t is None else get_proper_type(t)
    if not isinstance(proper, TupleType) or len(proper.items) != 2:
        return otherwise, otherwise
    h, c = (shape_or(item, otherwise) for item in proper.items)
    return h, c


def shape_or(t: Type, otherwise: Shape) -> Shape:
    try:
        return shape_of(t)
    except Unknown:
        return otherwise


def _node(call: Call) -> Shape:
    hidden = sizes_of(call)[1]
    left = get_proper_type(call.type(0) or NoneType())
    if not isinstance(left, TupleType) or len(left.items) != 2:
        raise Unknown
    first = shape_of(left.items[0])
    made = (*last_axis(first, hidden), hidden)
    shapes = (shape_or(left.items[1], made), *state_of(call.type(1), made))
    for what, shape in zip(("a left c", "a right h", "a right c"), shapes, strict=True):
        same_shape(what, shape, made)
    return made


def _attention(call: Call) -> Shape:
    width, heads, *_ = sizes_of(call)
    query = call.shape(0)
    last_axis(query, width)
    key = query if absent(call.type(1)) else call.shape(1)
    last_axis(key, width)
    same_shape("a value", call.shape_or(2, key), key)
    if len(query) < 2:
        raise Misfit(f"expected (..., time, width), got {text(query)}")
    if len(query) != len(key) or any(differ(n, m) for n, m in zip(query[:-2], key[:-2], strict=True)):
        raise Misfit(f"a query of shape {text(query)} and a key of shape {text(key)} differ in batch")
    scores = (*query[:-2], heads, query[-2], key[-2])
    _check_mask(call.shape_or("mask", scores), scores)
    return query


def _encoded(call: Call) -> Shape:
    shape, width = call.shape(0), sizes_of(call)[0]
    last_axis(shape, width)
    if len(shape) < 2:
        raise Misfit(f"expected (..., time, width), got {text(shape)}")
    return shape


def _stated_width(call: Call) -> list[Size]:
    return _stated_attention(call)[:1]


def absent(t: Type | None) -> bool:
    return t is None or isinstance(get_proper_type(t), NoneType)


def _check_mask(mask: Shape, scores: Shape) -> None:
    padded = (ONE,) * (len(scores) - len(mask)) + mask
    if len(padded) != len(scores) or any(
        n != ONE and differ(n, m) for n, m in zip(padded, scores, strict=True)
    ):
        raise Misfit(f"expected a mask that broadcasts to {text(scores)}, got {text(mask)}")


def _stated(count: int) -> Callable[[Call], list[Size]]:
    """The sizes that the arguments behind `settings` state."""

    def sizes(call: Call) -> list[Size]:
        return [_size(call, i) for i in range(1, count + 1)]

    return sizes


def _size(call: Call, of: int | str) -> Size:
    return dim_at(call.ctx.api, call.expression(of), call.type(of))


def _stated_cells(call: Call) -> list[Size]:
    """Features, and how many cells a recurrent layer has, above each other and in how many directions."""
    depth = ONE if call.type("layers") is None else _size(call, "layers")
    try:
        ways: Size = number(1 + call.flag("bidirectional"))
    except Unknown:
        ways = None
    return [*_stated(2)(call), depth, ways]


def _given_cells(call: Call) -> list[Size]:
    """Features and numbers of cells of a layer that is put together from one cell, or from several."""
    made, given = get_proper_type(call.ctx.default_return_type), get_proper_type(call.type(0) or NoneType())
    if not isinstance(made, Instance):
        raise Unknown
    inputs, hidden = map(dim_of, made.args[:2])
    if isinstance(given, Instance) and not given.type.has_base("builtins.tuple"):
        return [inputs, hidden, ONE, ONE]
    return [None, hidden, None, None]


def _stated_attention(call: Call) -> list[Size]:
    width, heads = _stated(2)(call)
    n, m = (None if size is None else size.value for size in (width, heads))
    if n is not None and m is not None and (m < 1 or n % m):
        raise Misfit(f"{m} heads do not divide a width of {n}")
    return [width, heads]


def _stated_convolution(call: Call, transposed: bool = False) -> list[Size]:
    """The sizes of a layer: of its kernel, how it slides, and in how many groups."""
    inputs, outputs, kernel = _stated(3)(call)
    stride, dilation, groups = (
        ONE if t is None else dim_of(t) for t in map(call.type, ("stride", "dilation", "groups"))
    )
    parts = None if groups is None else groups.value
    for channels in (inputs, outputs):
        n = None if channels is None else channels.value
        if n is not None and parts is not None and (parts < 1 or n % parts):
            raise Misfit(f"{parts} groups do not divide {n} channels")
    if groups != ONE:
        each = [
            None if n is None or parts is None else floor_divide(n, number(parts)) for n in (inputs, outputs)
        ]
        inputs, outputs = (inputs, each[1]) if transposed else (each[0], outputs)
    padding = _stated_padding(call.type("padding"), kernel, stride, dilation)
    return [inputs, outputs, kernel, stride, padding, dilation, groups]


def _stated_padding(t: Type | None, kernel: Size, stride: Size, dilation: Size) -> Size:
    if t is None:
        return number(0)
    if not isinstance(word := get_proper_type(t), Instance | LiteralType) or not _is_text(word):
        return dim_of(t)
    side = None if kernel is None else kernel.value
    if side is None or stride is None or dilation is None:
        return None
    if side % 2 == 0 or stride != ONE:
        raise Misfit(f'padding "same" needs an odd kernel and a stride of 1, got {side} and {stride}')
    return dilation * number(side // 2)


def _is_text(t: Instance | LiteralType) -> bool:
    instance = t.fallback if isinstance(t, LiteralType) else t
    return instance.type.fullname == "builtins.str"


def _made(plugin: Plugin, ctx: Context, name: str, sizes: Callable[[Call], list[Size]]) -> Type:
    """The type of a new layer with the sizes that its arguments state."""
    layer = get_proper_type(ctx.default_return_type)
    if not isinstance(layer, Instance):
        return layer
    try:
        dims = sizes(Call(ctx))
    except Misfit as error:
        ctx.api.fail(f"{name}: {error}", ctx.context, code=SHAPE)
        return layer
    except Unknown:
        return layer
    writer = Writer(plugin, ctx.api.named_generic_type)
    return Instance(layer.type, [*map(writer.dim_type, dims), *layer.args[len(dims) :]])


def _put_together(plugin: Plugin, ctx: Context) -> Type:
    """The type of a convolution made of weights: without dilation and groups where none are given."""
    layer = get_proper_type(ctx.default_return_type)
    if not isinstance(layer, Instance):
        return layer
    call, writer = Call(ctx), Writer(plugin, ctx.api.named_generic_type)
    try:
        given = dict(enumerate(map(call.type, ("dilation", "groups")), start=5))
    except Unknown:
        return layer
    sizes = [writer.dim_type(ONE) if given.get(i, t) is None else t for i, t in enumerate(layer.args)]
    return Instance(layer.type, sizes)


def _called(name: str, rule: Rule) -> Answer:
    return partial(sharpened, name=name, rule=rule)


def _making(name: str, sizes: Callable[[Call], list[Size]]) -> Answer:
    return partial(_made, name=name, sizes=sizes)


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


# what mypy asks about each: a method of a layer, the function that makes one, or the class itself
_CONVOLUTIONS: Final[Mapping[str, Answer]] = {
    f"{NN}convolution.{name}{method}": answer
    for count, transposed in product((1, 2, 3), (False, True))
    for name, operation in (
        (f"ConvTranspose{count}d", f"conv_transpose{count}d")
        if transposed
        else (f"Conv{count}d", f"conv{count}d"),
    )
    for method, answer in (
        ("", _put_together),
        (".__call__", _called(operation, partial(_convolved, count=count, transposed=transposed))),
        (".make", _making(name, partial(_stated_convolution, transposed=transposed))),
    )
}


def _layer(place: str, rule: Rule, sizes: Callable[[Call], list[Size]]) -> dict[str, Answer]:
    """A layer that is called in its own name, and the function that makes it."""
    name = place.rpartition(".")[2]
    return {f"{NN}{place}.__call__": _called(name, rule), f"{NN}{place}.make": _making(name, sizes)}


NETWORKS: Final[Mapping[str, Answer]] = {
    **_CONVOLUTIONS,
    **_layer("attention.MultiHeadAttention", _attention, _stated_attention),
    **_layer("embedding.Embedding", _embedding, _stated(2)),
    **_layer("embedding.EmbeddingBag", _embedding_bag, _stated(2)),
    **_layer("linear.Bilinear", _bilinear, _stated(3)),
    **_layer("linear.Linear", _linear, _stated(2)),
    **_layer("normalization.BatchNorm", _batch_norm, _stated(1)),
    **_layer("normalization.LayerNorm", _layer_norm, _stated(1)),
    **_layer("normalization.RMSNorm", _layer_norm, _stated(1)),
    **_layer("normalization.GroupNorm", _batch_norm, _stated_groups),
    **_layer("normalization.InstanceNorm", _instance_norm, _stated(1)),
    f"{NN}blocks.MLP.__call__": _called("Linear", _linear),
    f"{NN}blocks.MLP.make": _making("MLP", _stated_ends),
    f"{NN}blocks.Flatten.__call__": _called("Flatten", _flatten),
    f"{NN}blocks.GlobalAvgPool.__call__": _called("GlobalAvgPool", _global_pool),
    f"{NN}blocks.MaxPool2d": _making("MaxPool2d", _stated_pool),
    f"{NN}blocks.MaxPool2d.__call__": _called("max_pool2d", _pool),
    f"{NN}blocks.AvgPool2d": _making("AvgPool2d", _stated_pool),
    f"{NN}blocks.AvgPool2d.__call__": _called("avg_pool2d", _pool),
    **_layer("recurrent.GRUCell", _one_state, _stated(2)),
    **_layer("recurrent.LSTMCell", _lstm, _stated(2)),
    **_layer("recurrent.RNNCell", _one_state, _stated(2)),
    f"{NN}sequential.Sequential": composed,
    f"{NN}sequential.Sequential.__call__": followed,
    f"{NN}attention.MultiHeadAttention.step": _called("MultiHeadAttention", _encoded),
    f"{NN}attention.MultiHeadAttention.attended": _called("MultiHeadAttention", _encoded),
    **{
        f"{NN}transformer.Transformer{layer}.{method}": answer
        for layer in ("EncoderLayer", "DecoderLayer", "Encoder", "Decoder")
        for method, answer in (
            ("__call__", _called("MultiHeadAttention", _encoded)),
            ("step", _called("MultiHeadAttention", _encoded)),
            ("make", _making("MultiHeadAttention", _stated_width)),
        )
    },
    f"{NN}tree.TreeLSTM.leaf": _called("TreeLSTM.leaf", _step),
    f"{NN}tree.TreeLSTM.make": _making("TreeLSTM", _stated(2)),
    f"{NN}tree.TreeLSTM.node": _called("TreeLSTM.node", _node),
    **{
        f"{NN}unrolled.{layer}{method}": _making(layer, sizes)
        for layer in ("GRU", "LSTM", "RNN")
        for method, sizes in (("", _given_cells), (".make", _stated_cells))
    },
}
