"""Protocol buffers as data (F23)."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any

import pytest

from wengert import fold as td
from wengert.errors import WengertError

descriptors: Any = importlib.import_module("google.protobuf.descriptor_pb2")
structs: Any = importlib.import_module("google.protobuf.struct_pb2")
FIELD = "google.protobuf.FieldDescriptorProto"


def test_a_message_is_a_dict_of_all_its_fields() -> None:
    field = descriptors.FieldDescriptorProto(name="a", number=3, type="TYPE_INT32")
    tree = td.SerializedMessageToTree(FIELD).eval(field.SerializeToString())
    assert tree["name"] == "a"
    assert tree["number"] == 3
    assert tree["label"] is tree["options"] is None
    assert tree["type"] == {"name": "TYPE_INT32", "index": 4, "number": 5}


def test_repeated_fields_and_messages_are_lists_and_dicts() -> None:
    message = descriptors.DescriptorProto(name="m", reserved_name=["x", "y"])
    message.field.add(name="a")
    tree = td.SerializedMessageToTree("google.protobuf.DescriptorProto").eval(message.SerializeToString())
    assert tree["reserved_name"] == ["x", "y"]
    assert [field["name"] for field in tree["field"]] == ["a"]
    assert tree["enum_type"] == []


def test_maps_are_lists_of_keys_and_values() -> None:
    message = structs.Struct()
    message.update({"b": 2.0, "a": [True, None]})
    tree = td.SerializedMessageToTree("google.protobuf.Struct").eval(message.SerializeToString())
    first, second = tree["fields"]
    assert (first["key"], second["key"]) == ("a", "b")
    assert second["value"]["number_value"] == 2.0
    values = first["value"]["list_value"]["values"]
    assert [value["bool_value"] for value in values] == [True, None]
    assert values[1]["null_value"] == {"name": "NULL_VALUE", "index": 0, "number": 0}


def test_blocks_read_the_tree() -> None:
    number: Any = td.SerializedMessageToTree(FIELD) >> td.GetItem("number") >> td.Scalar()
    assert number.eval(descriptors.FieldDescriptorProto(number=7).SerializeToString()) == 7.0


@pytest.mark.parametrize(
    ("name", "data", "error", "text"),
    [
        (3, b"", TypeError, "is a string, not 3"),
        ("no.Such", b"", ValueError, "knows no message 'no.Such'"),
        (FIELD, b"\xff\xff", ValueError, "is no such message"),
        (FIELD, "text", ValueError, "'text' is no such message"),
    ],
)
def test_what_is_no_message(name: Any, data: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}.*test_messages.py:") as caught:
        td.SerializedMessageToTree(name).eval(data)
    assert isinstance(caught.value, WengertError)


def test_no_depth_of_a_message_is_too_deep_for_the_stack() -> None:
    message = structs.Struct()
    inner = message
    for _ in range(30):  # three messages each; protobuf itself admits 100
        inner = inner.fields["a"].struct_value
    read = td.SerializedMessageToTree("google.protobuf.Struct")
    content = message.SerializeToString()

    def below(frames: int) -> dict[str, Any]:
        return read.eval(content) if frames == 0 else below(frames - 1)

    tree: Any = below(sys.getrecursionlimit() - len(inspect.stack()) - 60)
    for _ in range(30):
        tree = tree["fields"][0]["value"]["struct_value"]
    assert tree is None, "the innermost was never set"


def test_the_package_is_asked_for_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(RuntimeError, match=r"(?s)pip install wengert\[proto\].*test_messages\.py:"):
        td.SerializedMessageToTree(FIELD)


def test_a_oneof_is_the_name_of_the_field_that_is_set() -> None:
    block = td.SerializedMessageToTree("google.protobuf.Value")
    tree = block.eval(structs.Value(number_value=3).SerializeToString())
    assert tree["kind"] == "number_value"
    assert block.eval(b"")["kind"] is None
    cases: Any = {
        "number_value": td.GetItem("number_value") >> td.Scalar(),
        "string_value": td.GetItem("string_value") >> td.InputTransform(len) >> td.Scalar(),
    }
    chosen = block >> td.OneOf(lambda tree: tree["kind"], cases)
    assert chosen.eval(structs.Value(string_value="four").SerializeToString()) == 4.0
