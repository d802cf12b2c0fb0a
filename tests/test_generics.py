"""Type variables with defaults behave as those of `typing_extensions`, which nothing loads."""

from __future__ import annotations

import pickle
import sys
import typing
from collections.abc import Callable
from types import new_class
from typing import Any, get_args

import pytest
import typing_extensions

from wengert import generics
from wengert.arrays.types import S, T
from wengert.graph import ArrayLayer


def shown(make: Callable[..., Any], *given: Any) -> str:
    """What classes and aliases with variables that `make` makes say where they are given these types."""
    a, b, c = make("a"), make("b", default=int), make("c", bound="str | bytes", default=str)

    generic: Any = typing.Generic
    protocol: Any = typing.Protocol
    three: Any = new_class("Three", (generic[a, b, c],))
    two: Any = new_class("Two", (protocol[a, b],))
    below: Any = new_class("Below", (three[a, b, c], generic[a, b, c]))
    told = []
    for of in (three, two, below, three[a, b, c] | None):
        try:
            told.append(str(of[given]))
        except TypeError as error:
            told.append(str(error))
    return "\n".join(told)


@pytest.mark.skipif(
    sys.version_info[:3] == (3, 13, 0), reason="a union of Python 3.13.0 cannot fill in defaults"
)
@pytest.mark.parametrize("count", range(1, 5))
def test_missing_types_are_the_defaults(count: int) -> None:
    given = (float, complex, bytes, list)[:count]
    assert shown(generics.TypeVar, *given) == shown(typing_extensions.TypeVar, *given)


def test_an_annotation_with_a_part_of_the_types_has_the_others() -> None:
    assert get_args(ArrayLayer[tuple[int, int]])[0] == tuple[int, int]
    assert len(get_args(ArrayLayer[tuple[int, int]])) == 3


def test_a_variable_is_of_the_module_that_makes_it_and_is_pickled_by_name() -> None:
    assert isinstance(S, typing.TypeVar)
    assert S.__module__ == "wengert.arrays.types"
    assert pickle.loads(pickle.dumps((S, T))) == (S, T)
