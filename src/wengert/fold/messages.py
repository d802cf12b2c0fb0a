"""Protocol buffers as data: a message becomes nested dicts and lists.

Knows: what each kind of field becomes.
Refuses to know: which messages there are; the package `protobuf` does, and is imported only when a block is made.
"""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

from wengert.errors import BlockStateError, BlockValueError
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT
from wengert.fold.inference import Solver, Use
from wengert.fold.kinds import Primitive
from wengert.graph.operand import shown

Proto: TypeAlias = Any  # what the package `protobuf` gives, which has no types of its own


# Any: the values of fields, which have many types
class SerializedMessageToTree(Primitive[bytes, dict[str, Any]]):
    """The bytes of a protocol buffer as a dict of all its fields, by name.

    A message is a dict, a repeated field a list, an enum a dict of its name, index and number; a field that can be
    absent and is, is None. Under the name of a oneof stands the name of its field that is set, a key for `OneOf`, or
    None. The message type has the full name `message_type_name` in protobuf's default pool, where generated modules
    enter theirs. The package comes with `pip install wengert[proto]`.
    Raises BlockError for what is no string, BlockStateError without the package, BlockValueError for an unknown name
    and, when built, for bytes that are no such message.
    >>> from google.protobuf import duration_pb2
    >>> from wengert import fold as td
    >>> block = td.SerializedMessageToTree("google.protobuf.Duration")
    >>> block.eval(duration_pb2.Duration(seconds=3).SerializeToString())
    {'seconds': 3, 'nanos': 0}

    Source: TensorFlow Fold, `td.SerializedMessageToTree`.
    """

    def __init__(self, message_type_name: str, name: str | None = None) -> None:
        super().__init__(name, message_type_name=message_type_name)
        if not isinstance(message_type_name, str):
            raise self.error(f"the name of a message type is a string, not {shown(message_type_name)}")
        try:
            pool: Proto = importlib.import_module("google.protobuf.descriptor_pool")
            factory: Proto = importlib.import_module("google.protobuf.message_factory")
            self._refused: type[Exception] = importlib.import_module("google.protobuf.message").DecodeError
        except ImportError as missing:
            raise self.error(
                f"it needs the package protobuf: pip install wengert[proto] ({missing})", BlockStateError
            ) from missing
        try:
            self._message = factory.GetMessageClass(pool.Default().FindMessageTypeByName(message_type_name))
        except KeyError:
            raise self.error(
                f"protobuf knows no message {message_type_name!r}; import the module made of its .proto file",
                BlockValueError,
            ) from None
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the input", use.input, "data", OBJECT)
        solver.equal(use, "the output", use.output, "data", OBJECT)

    def direct(self, use: Use, calls: Calls) -> Direct:
        return self._tree

    def _tree(self, x: bytes) -> dict[str, Any]:
        try:
            message = self._message.FromString(x)
            return _fields(message)
        # UnicodeDecodeError: the texts of older messages are looked at when they are asked for
        except (self._refused, TypeError, UnicodeDecodeError, RecursionError) as error:
            raise self.error(f"{shown(x)} is no such message: {error!s:.200}", BlockValueError) from None


Waiting: TypeAlias = list[tuple[Proto, dict[str, Any]]]


def _fields(message: Proto) -> dict[str, Any]:
    """All fields; messages in messages wait for their turn, so that no depth is too deep."""
    whole: dict[str, Any] = {}
    waiting: Waiting = [(message, whole)]
    while waiting:
        inner, into = waiting.pop()
        for field in inner.DESCRIPTOR.fields:
            into[field.name] = _field(inner, field, waiting)
        for choice in inner.DESCRIPTOR.oneofs:
            if not _is_presence(choice):
                into[choice.name] = inner.WhichOneof(choice.name)
    return whole


def _is_presence(choice: Proto) -> bool:
    """True if a oneof is how `optional` is said in newer files: nobody has written it."""
    return len(choice.fields) == 1 and choice.name == f"_{choice.fields[0].name}"


def _field(message: Proto, field: Proto, waiting: Waiting) -> object:
    value = getattr(message, field.name)
    if not field.is_repeated:
        absent = field.has_presence and not message.HasField(field.name)
        return None if absent else _value(value, field, waiting)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        fields = field.message_type.fields_by_name
        return [
            {
                "key": _value(key, fields["key"], waiting),
                "value": _value(value[key], fields["value"], waiting),
            }
            for key in sorted(value)
        ]
    return [_value(item, field, waiting) for item in value]


def _value(value: Proto, field: Proto, waiting: Waiting) -> object:
    if field.message_type is not None:
        made: dict[str, Any] = {}
        waiting.append((value, made))
        return made
    if field.enum_type is not None:
        # newer writers may use numbers without a name here
        found = field.enum_type.values_by_number.get(value)
        return {"name": getattr(found, "name", None), "index": getattr(found, "index", None), "number": value}
    return value
