"""TensorFlow Fold's blocks: typed combinators from the shapes of data to networks (`import wengert.fold as td`).

Knows: their public names.
Refuses to know: arrays, and how anything is run.
"""

from __future__ import annotations

from wengert.fold.batching import epochs, group_by_batches
from wengert.fold.block import Block, Several, Tensors
from wengert.fold.compiler import Batch, Compiler, Metric
from wengert.fold.composition import Identity, Pipe, Void
from wengert.fold.connecting import Composition
from wengert.fold.control import ForwardDeclaration, OneOf, Optional
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import canonicalize_type, convert_to_type
from wengert.fold.data import InputTransform, OneHot, OneHotFromList, Row, Scalar, Tensor, Vector
from wengert.fold.functions import Function
from wengert.fold.graph import composition
from wengert.fold.items import GetItem, Length, Nth, Slice
from wengert.fold.layers import FC, Embedding, Layer
from wengert.fold.records import AllOf, Record
from wengert.fold.reductions import Max, Mean, Min, Reduce, Sum
from wengert.fold.sequences import RNN, Fold, Map
from wengert.fold.tensors import Concat, FromTensor, Zeros
from wengert.fold.types import (
    BroadcastSequenceType,
    PyObjectType,
    ResultType,
    SequenceType,
    TensorType,
    TupleType,
    VoidType,
)
from wengert.fold.wires import Wire
from wengert.fold.zipping import Broadcast, NGrams, Zip, ZipWith

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
    "Fold",
    "ForwardDeclaration",
    "FromTensor",
    "Function",
    "GetItem",
    "Identity",
    "InputTransform",
    "Layer",
    "Length",
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
    "SequenceType",
    "Several",
    "Slice",
    "Sum",
    "Tensor",
    "TensorType",
    "Tensors",
    "TupleType",
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
