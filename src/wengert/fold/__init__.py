"""TensorFlow Fold's blocks: typed combinators from the shapes of data to networks (`import wengert.fold as td`).

Knows: their public names.
Refuses to know: arrays, and how anything is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.elsewhere import unnamed
from wengert.fold.block import Block, Several, Tensors, Wire, convert_to_block
from wengert.fold.compiler import Batch, Compiler, LoomInput
from wengert.fold.compositions import Composition, composition
from wengert.fold.control import Filter, Loop, OneOf, Optional, Switch
from wengert.fold.convert import canonicalize_type, convert_to_type
from wengert.fold.data import InputTransform, OneHot, OneHotFromList, Row, Scalar, Tensor, Vector
from wengert.fold.epochs import epochs, group_by_batches
from wengert.fold.fractal import FractalNet
from wengert.fold.functions import Function, ScopedLayer
from wengert.fold.items import GetItem, Length, Nth, Slice
from wengert.fold.joining import AllOf, Identity, Pipe, Record, Void
from wengert.fold.kept import KeptExpressions
from wengert.fold.layers import FC, Embedding, Layer
from wengert.fold.messages import SerializedMessageToTree
from wengert.fold.recursion import ForwardDeclaration
from wengert.fold.segments import SegmentReduce
from wengert.fold.sequences import (
    RNN,
    Broadcast,
    Fold,
    Map,
    Max,
    Mean,
    Min,
    NGrams,
    Reduce,
    Sum,
    Zip,
    ZipWith,
)
from wengert.fold.tensors import Concat, FromTensor, Metric, Stack, Unstack, Zeros
from wengert.fold.types import (
    BroadcastSequenceType,
    PyObjectType,
    ResultType,
    SequenceType,
    StackedType,
    TensorType,
    TupleType,
    VoidType,
)

__all__ = [
    "FC",
    "RNN",
    "AllOf",
    "Batch",
    "Block",
    "Broadcast",
    "BroadcastSequenceType",
    "Compiler",
    "Composition",
    "Concat",
    "Embedding",
    "Filter",
    "Fold",
    "ForwardDeclaration",
    "FractalNet",
    "FromTensor",
    "Function",
    "GetItem",
    "Identity",
    "InputTransform",
    "KeptExpressions",
    "Layer",
    "Length",
    "LoomInput",
    "Loop",
    "Map",
    "Max",
    "Mean",
    "Metric",
    "Min",
    "NGrams",
    "Nth",
    "OneHot",
    "OneHotFromList",
    "OneOf",
    "Optional",
    "Pipe",
    "PyObjectType",
    "Record",
    "Reduce",
    "ResultType",
    "Row",
    "Scalar",
    "ScopedLayer",
    "SegmentReduce",
    "SequenceType",
    "SerializedMessageToTree",
    "Several",
    "Slice",
    "Stack",
    "StackedType",
    "Sum",
    "Switch",
    "Tensor",
    "TensorType",
    "Tensors",
    "TupleType",
    "Unstack",
    "Vector",
    "Void",
    "VoidType",
    "Wire",
    "Zeros",
    "Zip",
    "ZipWith",
    "canonicalize_type",
    "composition",
    "convert_to_block",
    "convert_to_type",
    "epochs",
    "group_by_batches",
]

if not TYPE_CHECKING:  # or a checker would take every name for one that is there
    _fields = "a plan is a dataclass, its settings are fields: from wengert.training import TrainPlan"
    _ahead = "pool.batches(batches) prepares ahead; td.epochs and td.group_by_batches go over examples"
    _by_name = "a layer has its weights, and name= says their name"
    _cells = "an operation is a wg.cell, and a weaver's call is a call"
    _elsewhere = {
        **{name: f"from wengert.training import {name}" for name in ("TrainPlan", "EvalPlan", "InferPlan")},
        **dict.fromkeys(("Plan", "define_plan_flags", "plan_default_params"), _fields),
        "EdibleIterator": _ahead,
        "create_variable_scope": _by_name,
        **dict.fromkeys(("Loom", "LoomOp", "Weaver", "TypeShape"), _cells),
    }

    def __getattr__(name: str) -> object:
        """The error for a name that TensorFlow Fold has, with what to write."""
        raise unnamed(__name__, name, _elsewhere)
