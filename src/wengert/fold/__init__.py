"""TensorFlow Fold's blocks: typed combinators from the shapes of data to networks (`import wengert.fold as td`).

Knows: their public names.
Refuses to know: arrays, and how anything is run.
"""

from __future__ import annotations

from wengert.fold.batching import epochs, group_by_batches
from wengert.fold.block import Block, Several, Tensors
from wengert.fold.compiler import Batch, Compiler
from wengert.fold.composition import Identity, Pipe, Void
from wengert.fold.computed import Filter, Loop, Switch
from wengert.fold.connecting import Composition
from wengert.fold.control import OneOf, Optional
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import canonicalize_type, convert_to_type
from wengert.fold.data import InputTransform, Row, Scalar, Tensor, Vector
from wengert.fold.embedding import Embedding
from wengert.fold.fractal import FractalNet
from wengert.fold.fully_connected import FC
from wengert.fold.functions import Function, ScopedLayer
from wengert.fold.graph import composition
from wengert.fold.items import GetItem, Length, Nth, Slice
from wengert.fold.layers import Layer
from wengert.fold.messages import SerializedMessageToTree
from wengert.fold.metrics import Metric
from wengert.fold.one_hot import OneHot, OneHotFromList
from wengert.fold.records import AllOf, Record
from wengert.fold.recursion import ForwardDeclaration
from wengert.fold.reductions import Max, Mean, Min, Reduce, Sum
from wengert.fold.sequences import RNN, Fold, Map
from wengert.fold.structures import BroadcastSequenceType, SequenceType, TupleType
from wengert.fold.tensors import Concat, FromTensor, Stack, Zeros
from wengert.fold.types import PyObjectType, ResultType, StackedType, TensorType, VoidType
from wengert.fold.wires import Wire
from wengert.fold.wiring import LoomInput
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
    "Filter",
    "Fold",
    "ForwardDeclaration",
    "FractalNet",
    "FromTensor",
    "Function",
    "GetItem",
    "Identity",
    "InputTransform",
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
