"""Shape rules of operations: families by their class, irregular operations by their name.

Knows: the parameters of the library's operations; of windows that slide one number for all axes, or one for each.
Refuses to know: the rules, and how a call is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from mypy.types import NoneType, TypeVarType, get_proper_type

from wengert_mypy.arguments import operands, pairs_of_axes, several
from wengert_mypy.arithmetic import dim_at
from wengert_mypy.calls import Call, Rule
from wengert_mypy.dimensions import Unknown, rank_of_array, shape_in
from wengert_mypy.names import ALONG_AXIS, FAMILIES, LITERAL, REDUCTION
from wengert_shapes import arrangement, contraction, losses, rules, windows
from wengert_shapes.algebra import ONE, number
from wengert_shapes.index import indexed
from wengert_shapes.rules import Misfit, Shape


def _elementwise(call: Call) -> Shape:
    return call.shape(0)


def _broadcasting(call: Call) -> Shape | TypeVarType:
    return call.joint(0, 1)


def _reduction(call: Call) -> Shape:
    return rules.reduced(call.shape(0), call.axes("axis"), call.flag("keepdims"))


def _extremum(call: Call) -> Shape:
    shape, axes = call.shape(0), call.axes("axis")
    for a in range(len(shape)) if axes is None else rules.axes_in(axes, shape):
        size = shape[a]
        if size is not None and size.value == 0:
            shown = None if axes is None else axes[0] if len(axes) == 1 else tuple(axes)
            raise Misfit(f"no element to choose from along axis {shown} of shape {rules.text(shape)}")
    return _reduction(call)


def _along_axis(call: Call) -> Shape:
    shape = call.shape(0)
    rules.axis_in(call.axis("axis", -1), len(shape), shape)
    return shape


def _ternary(call: Call) -> Shape | TypeVarType:
    return call.joint(0, 1, 2)


def _matmul(call: Call) -> Shape:
    return rules.matmul(call.shape(0), call.shape(1))


def _reshape(call: Call) -> Shape:
    return arrangement.reshaped(call.shape_or(0, (None,)), call.dims("shape"))


def _axes(call: Call, of: int | str) -> tuple[int, ...]:
    axes = call.axes(of)
    if axes is None:
        raise Unknown
    return tuple(axes)


def _permute_dims(call: Call) -> Shape:
    return rules.permuted(call.shape(0), _axes(call, "axes"))


def _expand_dims(call: Call) -> Shape:
    return rules.expanded(call.shape(0), _axes(call, "axis"))


def _squeeze(call: Call) -> Shape:
    return rules.squeezed(call.shape(0), _axes(call, "axis"))


def _broadcast_to(call: Call) -> Shape:
    return rules.stretched(call.shape_or(0, ()), call.dims("shape"))


def _concat(call: Call) -> Shape:
    shapes, listed = call.sequence(0)
    stated, axis = _known_of(shapes), call.axis("axis", 0)
    made = rules.joined(stated, axis)
    at = rules.axis_in(axis, len(made), made)
    return made if listed and len(stated) == len(shapes) else (*made[:at], None, *made[at + 1 :])


def _stack(call: Call) -> Shape:
    shapes, listed = call.sequence(0)
    axis = call.axis("axis", 0)
    made = rules.stacked(_known_of(shapes), axis)
    at = rules.axis_in(axis, len(made), made)
    return (*made[:at], number(len(shapes)) if listed else None, *made[at + 1 :])


def _known_of(shapes: Sequence[Shape | None]) -> list[Shape]:
    stated = [shape for shape in shapes if shape is not None]
    if shapes and not stated:
        raise Unknown
    return stated


def _known(shape: Shape | None) -> Shape:
    if shape is None:
        raise Unknown
    return shape


def _getitem(call: Call) -> Shape:
    return _known(indexed(call.shape(0), call.key(1)))


def _take(call: Call) -> Shape:
    shape = call.shape(0)
    at = rules.axis_in(call.axis("axis", 0), len(shape), shape)
    return shape[:at] + _known(call.array(1)) + shape[at + 1 :]


def _take_along_axis(call: Call) -> Shape:
    shape, indices = call.shape(0), call.array(1)
    unknown = (None,) * len(shape)  # as many axes as the array, or the run refuses them
    return arrangement.along(shape, unknown if indices is None else indices, call.axis("axis", -1))


def _segment_sum(call: Call) -> Shape:
    return (*call.dims("num_segments"), *arrangement.of_segments(call.shape(0), _known(call.array(1))))


def _segment_softmax(call: Call) -> Shape:
    arrangement.of_segments(call.shape(0), _known(call.array(1)))
    return call.shape(0)


def _with_update(call: Call) -> Shape:
    value = call.shape_or(2, call.shape_or(1, ()))
    buffer = call.shape_or(1, value)
    if len(buffer) != len(value) or any(map(rules.differ, buffer, value)):
        raise Misfit(f"a value of shape {rules.text(value)} for a buffer of {rules.text(buffer)}")
    return call.shape(0)


def _top_k(call: Call) -> Shape:
    (k,) = call.dims(1)
    shape, axis = call.shape(0), call.axis("axis", -1)
    if k is not None and k.value is not None:
        return arrangement.chosen(shape, k.value, axis)
    at = rules.axis_in(axis, len(shape), shape)
    return (*shape[:at], k, *shape[at + 1 :])


def _flip(call: Call) -> Shape:
    return arrangement.flipped(call.shape(0), call.axes("axis"))


def _roll(call: Call) -> Shape:
    return arrangement.rolled(call.shape(0), several(call, "shift"), call.axes("axis"))


def _running(call: Call) -> Shape:
    return arrangement.longer(call.shape(0), int(call.flag("include_initial")), call.axis("axis", -1))


def _diff(call: Call) -> Shape:
    if call.type("prepend") is not None or call.type("append") is not None:
        raise Unknown
    return arrangement.differences(call.shape(0), call.axis("n", 1), call.axis("axis", -1))


def _searchsorted(call: Call) -> Shape:
    arrangement.vector(call.shape_or(0, (None,)))
    return call.shape(1)


def _nonzero(call: Call) -> Shape:
    return tuple(call.dims("size"))


def _one_hot(call: Call) -> Shape:
    return (*_known(call.array(0)), *call.dims(1))


def _moveaxis(call: Call) -> Shape:
    return arrangement.moved(call.shape(0), _axes(call, 1), _axes(call, 2))


def _matrix_transpose(call: Call) -> Shape:
    return arrangement.transposed(call.shape(0))


def _repeat(call: Call) -> Shape:
    (count,), axes = call.dims(1), call.axes("axis")
    return arrangement.repeated(call.shape(0), count, None if axes is None else axes[0])


def _tile(call: Call) -> Shape:
    return arrangement.tiled(call.shape(0), call.dims(1))


def _matrices(call: Call) -> Shape:
    arrangement.matrix(call.shape(0))
    return call.shape(0)


def _diagonal(call: Call) -> Shape:
    return arrangement.diagonal(call.shape(0), call.axis("offset", 0))


def _trace(call: Call) -> Shape:
    return _diagonal(call)[:-1]


def _unstack(call: Call) -> Shape:
    return rules.reduced(call.shape(0), [call.axis("axis", 0)], False)


def _square(call: Call) -> Shape:
    return arrangement.square(call.shape(0))


def _solve(call: Call) -> Shape:
    return arrangement.solution(call.shape(0), call.shape(1))


def _det(call: Call) -> Shape:
    return _square(call)[:-2]


def _eigenvalues(call: Call) -> Shape:
    return arrangement.eigenvalues(call.shape(0))


def _singular_values(call: Call) -> Shape:
    return arrangement.singular_values(call.shape(0))


def _outer(call: Call) -> Shape:
    return arrangement.outer(call.shape(0), call.shape(1))


def _matrix_rank(call: Call) -> Shape:
    arrangement.matrix(call.shape(0))
    return call.shape(0)[:-2]


def _vecdot(call: Call) -> Shape:
    return arrangement.dot(call.shape(0), call.shape(1), call.axis("axis", -1))


def _kron(call: Call) -> Shape:
    return arrangement.kron(call.shape(0), call.shape(1))


def _matrix_norm(call: Call) -> Shape:
    shape = call.shape(0)
    arrangement.matrix(shape)
    return rules.reduced(shape, (-2, -1), call.flag("keepdims"))


def _sized(call: Call) -> Shape:
    return call.dims(0)


def _eye(call: Call) -> Shape:
    columns = call.type(1)
    square = columns is None or isinstance(get_proper_type(columns), NoneType)
    return (*call.dims(0), *call.dims(0 if square else 1))


def _arange(call: Call) -> Shape:
    if call.type("stop") is not None or call.type("step") is not None:
        return (None,)
    return call.dims(0)


def _linspace(call: Call) -> Shape:
    return call.dims("num")


def _einsum(call: Call) -> Shape:
    return _known(contraction.einsum(call.word(0, ""), operands(call, 1)))


def _tensordot(call: Call) -> Shape:
    return contraction.tensordot(call.shape(0), call.shape(1), pairs_of_axes(call, "axes", 2))


def _cross_entropy(call: Call) -> Shape:
    logits, axis = call.shape(0), call.axis("axis", -1)
    losses.lines(logits, axis)
    lines = rules.loss_lines(losses.last(logits, axis), call.array(1))
    return _reduced(call, lines)


def _reduced(call: Call, each: Shape | None) -> Shape:
    """Shape of the losses of all lines, which are not asked for where they become one number."""
    return _known(each) if call.word("reduction", "mean") == "none" else ()


def _compared(call: Call) -> Shape:
    return _reduced(call, _alike(call, 0, 1))


def _alike(call: Call, *of: int) -> Shape | None:
    """The shape of operands that have one, None where nothing is known of any."""
    shapes = []
    for i in of:
        with suppress(Unknown):
            shapes.append(call.shape(i))
    return losses.alike(*shapes) if shapes else None


def _cosine_similarity(call: Call) -> Shape:
    return losses.lines(_known(_alike(call, 0, 1)), call.axis("axis", -1))


def _soft_labels(call: Call) -> Shape:
    shape = _alike(call, 0, 1)
    return _reduced(call, None if shape is None else losses.lines(shape, call.axis("axis", -1)))


def _triplets(call: Call) -> Shape:
    shape = _alike(call, 0, 1, 2)
    return _reduced(call, None if shape is None else losses.lines(shape, -1))


def _cosine_embedding(call: Call) -> Shape:
    shape = _known(_alike(call, 0, 1))
    return _reduced(call, losses.of_pairs(shape, shape, call.shape_or(2, losses.lines(shape, -1))))


def _ctc(call: Call) -> Shape:
    return _reduced(call, losses.spelled(call.shape(0), _known(call.array(1))))


def _glu(call: Call) -> Shape:
    return arrangement.split_equally(call.shape(0), number(2), call.axis("axis", -1))


def _prelu(call: Call) -> Shape:
    return losses.sloped(call.shape(0), call.shape_or(1, (ONE,)))


def stated(call: Call, of: int | str) -> Shape:
    """The shape that the arguments `*dims` state for an array; Unknown where none is given."""
    ctx, place = call.ctx, call.position(of)
    if not ctx.args[place] or any(kind.is_star() for kind in ctx.arg_kinds[0]):
        raise Unknown
    dims: Shape = ()
    before = None
    for x, t, kind in zip(ctx.args[place], ctx.arg_types[place], ctx.arg_kinds[place], strict=True):
        if x is not before:  # `*shape` comes once for each of its items
            dims += shape_in(t) if kind.is_star() else (dim_at(ctx.api, x, t),)
        before = x
    array = call.type(0)
    rules.check_stated(dims, None if array is None else rank_of_array(array))
    rules.check_stated(dims, _written(call, dims))
    return dims


def _written(call: Call, dims: Shape) -> Shape | None:
    """The numbers in the call of numpy that makes an array, where `dims` are numbers too: a name takes every size."""
    try:
        shape = call.shape(0)
    except Unknown:
        return None
    if len(shape) != len(dims):
        return None
    numbers = [
        n is not None and d is not None and None not in (n.value, d.value)
        for n, d in zip(shape, dims, strict=True)
    ]
    return tuple(n if known else None for n, known in zip(shape, numbers, strict=True))


def _literal(call: Call) -> Shape:
    return stated(call, "dims")


_ONES: Final = (ONE, ONE)


def _placed(call: Call, count: int) -> tuple[Shape, Shape, Shape]:
    """Stride, padding and dilation along each of so many axes."""
    ones, zeros = (ONE,) * count, (number(0),) * count
    return call.several("stride", ones), call.several("padding", zeros), call.several("dilation", ones)


def _convolved(call: Call, count: int) -> Shape:
    return windows.convolved(call.shape(0), call.shape(1), *_placed(call, count), call.axis("groups", 1))


def _spread(call: Call, count: int) -> Shape:
    stride, padding, dilation = _placed(call, count)
    beyond = call.several("output_padding", (number(0),) * count)
    x, kernel = call.shape(0), call.shape(1)
    return windows.spread(x, kernel, stride, padding, beyond, dilation, call.axis("groups", 1))


def _resized(call: Call) -> Shape:
    return windows.resized(call.shape(0), call.dims("size"))


def _adapted(call: Call) -> Shape:
    return windows.adapted(call.shape(0), call.several("size", _ONES))


def _shuffled(call: Call) -> Shape:
    return windows.shuffled(call.shape(0), call.axis(1, 1))


def _unshuffled(call: Call) -> Shape:
    return windows.unshuffled(call.shape(0), call.axis(1, 1))


def _pool1d(call: Call) -> Shape:
    (size,) = call.dims("size")
    (step,), (padding,) = call.several("stride", (size,)), call.several("padding", (number(0),))
    x = call.shape(0)
    if len(x) != 3:
        raise Misfit(f"input of shape {rules.text(x)} is not (batch, channels, n)")
    wide = (x[0], x[1], ONE, x[2])
    return *x[:2], windows.pooled(wide, (ONE, size), (ONE, step), (number(0), padding), _ONES)[3]


def _pool(call: Call) -> Shape:
    size = call.several("size", _ONES)
    _, padding, dilation = _placed(call, 2)
    stride = call.several("stride", size)
    return windows.pooled(call.shape(0), size, stride, padding, dilation)


def _pad(call: Call) -> Shape:
    return windows.padded(call.shape(0), call.pairs("widths"))


FAMILY_RULES: Final[Mapping[str, Rule]] = {
    f"{FAMILIES}Elementwise": _elementwise,
    f"{FAMILIES}Predicate": _elementwise,
    f"{FAMILIES}Broadcasting": _broadcasting,
    f"{FAMILIES}Comparison": _broadcasting,
    REDUCTION: _reduction,
    ALONG_AXIS: _along_axis,
}

FUNCTION_RULES: Final[Mapping[str, Rule]] = {
    "wengert.ops.linear.matmul": _matmul,
    "wengert.ops.comparison.where": _ternary,
    "wengert.ops.arithmetic.clip": _ternary,
    "wengert.ops.activation.gelu": _elementwise,
    "wengert.ops.conversion.astype": _elementwise,
    "wengert.ops.conversion.to_device": _elementwise,
    "wengert.ops.noise.dropout": _elementwise,
    "wengert.ops.cumulative.cumulative_sum": _running,
    "wengert.ops.cumulative.cumulative_prod": _running,
    "wengert.ops.cumulative.diff": _diff,
    "wengert.ops.sorting.sort": _along_axis,
    "wengert.ops.sorting.argsort": _along_axis,
    "wengert.ops.sorting.argmin": _extremum,
    "wengert.ops.sorting.count_nonzero": _reduction,
    "wengert.ops.sorting.searchsorted": _searchsorted,
    "wengert.ops.sorting.nonzero": _nonzero,
    "wengert.ops.sorting.one_hot": _one_hot,
    "wengert.ops.manipulation.moveaxis": _moveaxis,
    "wengert.ops.manipulation.matrix_transpose": _matrix_transpose,
    "wengert.ops.manipulation.repeat": _repeat,
    "wengert.ops.manipulation.tile": _tile,
    "wengert.ops.diagonals.tril": _matrices,
    "wengert.ops.diagonals.triu": _matrices,
    "wengert.ops.diagonals.diagonal": _diagonal,
    "wengert.ops.diagonals.trace": _trace,
    "wengert.ops.joining.unstack": _unstack,
    "wengert.ops.solving.inv": _square,
    "wengert.ops.solving.solve": _solve,
    "wengert.ops.solving.det": _det,
    "wengert.ops.solving.pinv": _matrix_transpose,
    "wengert.ops.solving.matrix_power": _square,
    "wengert.ops.factorization.cholesky": _square,
    "wengert.ops.factorization.eigvalsh": _eigenvalues,
    "wengert.ops.factorization.svdvals": _singular_values,
    "wengert.ops.norms.outer": _outer,
    "wengert.ops.norms.matrix_rank": _matrix_rank,
    "wengert.ops.norms.vecdot": _vecdot,
    "wengert.ops.norms.kron": _kron,
    "wengert.ops.norms.cross": _broadcasting,
    "wengert.ops.norms.vector_norm": _reduction,
    "wengert.ops.norms.matrix_norm": _matrix_norm,
    "wengert.ops.creation.zeros": _sized,
    "wengert.ops.creation.ones": _sized,
    "wengert.ops.creation.full": _sized,
    "wengert.ops.creation.eye": _eye,
    "wengert.ops.creation.arange": _arange,
    "wengert.ops.creation.linspace": _linspace,
    "wengert.ops.creation.full_like": _elementwise,
    "wengert.ops.comparison.logical_and": _broadcasting,
    "wengert.ops.comparison.logical_or": _broadcasting,
    "wengert.ops.comparison.logical_xor": _broadcasting,
    "wengert.ops.comparison.all": _reduction,
    "wengert.ops.comparison.any": _reduction,
    "wengert.ops.comparison.logical_not": _elementwise,
    "wengert.ops.classification.softmax": _along_axis,
    "wengert.ops.classification.log_softmax": _along_axis,
    "wengert.ops.classification.cross_entropy": _cross_entropy,
    "wengert.ops.losses.binary_cross_entropy": _compared,
    "wengert.ops.losses.binary_cross_entropy_with_logits": _compared,
    "wengert.ops.losses.hinge_embedding_loss": _compared,
    "wengert.ops.losses.hinge_loss": _compared,
    "wengert.ops.losses.huber_loss": _compared,
    "wengert.ops.losses.kl_div": _compared,
    "wengert.ops.losses.l1_loss": _compared,
    "wengert.ops.losses.mse_loss": _compared,
    "wengert.ops.losses.smooth_l1_loss": _compared,
    "wengert.ops.losses.cosine_similarity": _cosine_similarity,
    "wengert.ops.losses.cosine_embedding_loss": _cosine_embedding,
    "wengert.ops.losses.triplet_margin_loss": _triplets,
    "wengert.ops.classification.nll_loss": _cross_entropy,
    "wengert.ops.classification.softmax_cross_entropy": _soft_labels,
    "wengert.ops.alignment.ctc_loss": _ctc,
    "wengert.ops.activation.glu": _glu,
    "wengert.ops.rectification.prelu": _prelu,
    "wengert.ops.rectification.leaky_relu": _elementwise,
    "wengert.ops.rectification.elu": _elementwise,
    "wengert.ops.rectification.celu": _elementwise,
    "wengert.ops.manipulation.reshape": _reshape,
    "wengert.ops.manipulation.permute_dims": _permute_dims,
    "wengert.ops.manipulation.expand_dims": _expand_dims,
    "wengert.ops.manipulation.squeeze": _squeeze,
    "wengert.ops.manipulation.broadcast_to": _broadcast_to,
    "wengert.ops.joining.concat": _concat,
    "wengert.ops.joining.stack": _stack,
    "wengert.ops.indexing.getitem": _getitem,
    "wengert.ops.indexing.take": _take,
    "wengert.ops.indexing.take_along_axis": _take_along_axis,
    "wengert.ops.indexing.segment_sum": _segment_sum,
    "wengert.ops.segments.segment_max": _segment_sum,
    "wengert.ops.segments.segment_min": _segment_sum,
    "wengert.ops.segments.segment_mean": _segment_sum,
    "wengert.ops.segments.segment_softmax": _segment_softmax,
    "wengert.ops.segments.index_add": _elementwise,
    "wengert.ops.segments.scatter_add": _elementwise,
    "wengert.ops.buffers.with_update": _with_update,
    "wengert.ops.sorting.argmax": _extremum,
    "wengert.ops.sorting.top_k": _top_k,
    "wengert.ops.manipulation.flip": _flip,
    "wengert.ops.manipulation.roll": _roll,
    "wengert.ops.contraction.einsum": _einsum,
    "wengert.ops.contraction.tensordot": _tensordot,
    LITERAL: _literal,
    "wengert.ops.convolution.conv2d": partial(_convolved, count=2),
    "wengert.ops.convolution.conv1d": partial(_convolved, count=1),
    "wengert.ops.convolution.conv3d": partial(_convolved, count=3),
    "wengert.ops.convolution.conv_transpose1d": partial(_spread, count=1),
    "wengert.ops.convolution.conv_transpose2d": partial(_spread, count=2),
    "wengert.ops.convolution.conv_transpose3d": partial(_spread, count=3),
    "wengert.ops.resampling.interpolate": _resized,
    "wengert.ops.resampling.pixel_shuffle": _shuffled,
    "wengert.ops.resampling.pixel_unshuffle": _unshuffled,
    "wengert.ops.resampling.adaptive_avg_pool2d": _adapted,
    "wengert.ops.resampling.adaptive_max_pool2d": _adapted,
    "wengert.ops.resampling.max_pool1d": _pool1d,
    "wengert.ops.resampling.avg_pool1d": _pool1d,
    "wengert.ops.pooling.max_pool2d": _pool,
    "wengert.ops.pooling.avg_pool2d": _pool,
    "wengert.ops.manipulation.pad": _pad,
}

# one operation each whose family's rule is not the whole of its rule
MEMBER_RULES: Final[Mapping[str, Rule]] = {
    "wengert.ops.reduction.max": _extremum,
    "wengert.ops.reduction.min": _extremum,
}


def _operator(call: Call) -> Shape | TypeVarType:
    return call.joint(None, 0)


def _reflected(call: Call) -> Shape | TypeVarType:
    return call.joint(0, None)


def _matrix_operator(call: Call) -> Shape:
    return rules.matmul(call.receiver(), call.shape(0))


def _reflected_matrix_operator(call: Call) -> Shape:
    return rules.matmul(call.shape(0), call.receiver())


def _index_operator(call: Call) -> Shape:
    return _known(indexed(call.receiver(), call.key(0)))


_ARITHMETIC: Final = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "pow",
    "mod": "remainder",
}

OPERATOR_RULES: Final[Mapping[str, tuple[str, Rule]]] = {
    **{f"__{short}__": (name, _operator) for short, name in _ARITHMETIC.items()},
    **{f"__r{short}__": (name, _reflected) for short, name in _ARITHMETIC.items()},
    "__matmul__": ("matmul", _matrix_operator),
    "__rmatmul__": ("matmul", _reflected_matrix_operator),
    "__getitem__": ("getitem", _index_operator),
}
