"""Names in the library that the plugin asks mypy about, and its error codes.

Knows: where things are in the library, as text, for it cannot import them.
Refuses to know: what they are.
"""

from __future__ import annotations

from typing import Final

from mypy.errorcodes import ErrorCode

ARRAY_OPERAND: Final = "wengert.graph.expressions.ArrayOperand"
ARRAY_LAYER: Final = "wengert.graph.expressions.ArrayLayer"
ARRAY_LITERAL: Final = "wengert.arrays.types.ArrayLiteral"
INTEGER_ARRAY: Final = "wengert.arrays.types.IntegerArray"
SCALAR_OPERAND: Final = "wengert.graph.expressions.ScalarOperand"
DOUBLE_LAYER: Final = "wengert.graph.expressions.DoubleLayer"
FLOAT_LAYER: Final = "wengert.graph.expressions.FloatLayer"
LAYER: Final = "wengert.graph.expressions.Layer"
EXPRESSION: Final = "wengert.graph.node.Expression"
WEIGHT: Final = "wengert.graph.weights.Weight"
BUFFER: Final = "wengert.graph.weights.Buffer"
DELTAS: Final = "wengert.graph.answers.Deltas"
JACOBIANS: Final = "wengert.graph.answers.Jacobians"
JACOBIAN_LAYERS: Final = "wengert.graph.answers.JacobianLayers"
VALUES: Final = "wengert.graph.answers.Values"
ANSWER: Final = "wengert.graph.answers.Answer"
INDICES: Final = "wengert.graph.detached.Indices"
MASK: Final = "wengert.graph.detached.Mask"
MAKER: Final = "wengert.plugins.making.Maker"
WEIGHT_PART: Final = "wengert.plugins.making.WeightPart"
LAYER_PART: Final = "wengert.plugins.layers.LayerPart"
INJECT: Final = "wengert.plugins.inject.inject"
LITERAL: Final = "wengert.graph.literals.literal"
DIFFERENTIABLE: Final = "wengert.differentiable.Differentiable"
EVIDENCE: Final = "wengert.graph.evidence.Instance"
LOSSES: Final = frozenset({"wengert.run.ask.train"})
LIFT: Final = "wengert.graph.evidence.lift"
ELSEWHERE: Final = "wengert.elsewhere.Elsewhere"
CUSTOM: Final = "wengert.ops.families.Custom"
REGISTER: Final = "wengert.graph.evidence.register"
SCAN: Final = "wengert.run.scan.scan"
SPLIT: Final = "wengert.ops.joining.split"
PLUGIN_ACTIVE: Final = "wengert.testing.plugin.plugin_active"

FOLD: Final = "wengert.fold."
FAMILIES: Final = "wengert.ops.families."
NN: Final = "wengert.nn."
PLUGINS: Final = "wengert.plugins."
PLUGIN: Final = f"{PLUGINS}plugin.Plugin"
RATED: Final = f"{PLUGINS}rate.Rated"
DROPOUT: Final = f"{NN}dropout.Dropout"
REDUCTION: Final = f"{FAMILIES}Reduction"
ALONG_AXIS: Final = "wengert.ops.classification.AlongAxis"

ADD: Final = "wengert.dims.Add"
MUL: Final = "wengert.dims.Mul"
FLOOR_DIV: Final = "wengert.dims.FloorDiv"
COMPUTED: Final = frozenset({ADD, MUL, FLOOR_DIV})

NDARRAY: Final = "numpy.ndarray"
NUMPY_FLOATING: Final = "numpy.floating"
NUMPY_SCALAR: Final = "numpy.generic"
CUPY_ARRAY: Final = "cupy.ndarray"
CUPY_DEVICE: Final = "cupy.cuda.Device"

SHAPE: Final = ErrorCode("shape", "Shapes of arrays that do not fit", "Wengert")
NOT_DIFFERENTIABLE: Final = ErrorCode(
    "not-differentiable", "Values that are no expressions and for which nothing is registered", "Wengert"
)
ANY_ARRAY: Final = ErrorCode("any-array", "Arrays of unknown element type in expressions", "Wengert")
DTYPE: Final = ErrorCode("dtype", "Element types that do not mix", "Wengert")
DEVICE: Final = ErrorCode("device", "Arrays on several devices that do not mix", "Wengert")
LAZY: Final = ErrorCode("lazy", "Layers used as if they had been computed", "Wengert")
SETTINGS: Final = ErrorCode("settings", "Plugins that cannot be put together as written", "Wengert")
VALUE: Final = ErrorCode("value", "Numbers that an operation or a plugin cannot take", "Wengert")
ANY_SHAPE: Final = ErrorCode("any-shape", "Shapes that are not known, with strict_shapes", "Wengert")
