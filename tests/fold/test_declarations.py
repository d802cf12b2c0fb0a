"""Declarations, which are resolved once and to something that has an end (F70)."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as wg
from tests.fold.made import made
from wengert import fold as td
from wengert.errors import BlockError


def test_forward_declarations_are_resolved_once_and_to_something() -> None:  # F70
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration(name="f")
    use = made.Record((fwd(), made.Scalar()))
    with pytest.raises(TypeError, match=r"(?s)'f'.* was never resolved.*test_declarations.py:"):
        use.eval((1, 2))
    fwd.resolve_to(td.Scalar())
    assert use.eval((1, 2)) == (1.0, 2.0)
    with pytest.raises(ValueError, match="resolved already"):
        fwd.resolve_to(td.Scalar())
    with pytest.raises(ValueError, match="use the block itself"):
        fwd()


def test_a_declaration_that_begins_with_itself_is_refused() -> None:  # F70
    def direct(fwd: Any) -> Any:
        return fwd()

    def first_of_a_pipe(fwd: Any) -> Any:
        return fwd() >> made.Function(wg.exp)

    def one_of_all(fwd: Any) -> Any:
        return made.AllOf(made.Scalar(), fwd()) >> made.Function(wg.add)

    def the_key(fwd: Any) -> Any:
        return made.OneOf(fwd(), (made.InputTransform(str),))

    def on_a_wire(fwd: Any) -> Any:
        return td.composition(lambda x: made.Function(wg.exp)(fwd()(x)))

    for body in (direct, first_of_a_pipe, one_of_all, the_key, on_a_wire):
        fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
        with pytest.raises(BlockError, match=r"a cycle without an end"):
            fwd.resolve_to(body(fwd))
        assert fwd.body is None


def test_declarations_that_begin_with_each_other_are_refused() -> None:  # F70
    one: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    two: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    use = two()
    two.resolve_to(one() >> made.Function(wg.exp))
    with pytest.raises(BlockError, match="a cycle without an end"):
        one.resolve_to(use)


def test_a_declaration_of_other_types_is_refused_where_it_is_resolved() -> None:
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration(td.PyObjectType(), "float32")
    with pytest.raises(TypeError, match=r"float32 \(\), but .* is float32 \(2,\)"):
        fwd.resolve_to(td.Vector(2))
    fwd.resolve_to(td.Scalar())
