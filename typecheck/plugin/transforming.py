"""`td.InputTransform` of a lambda that nothing tells what it takes: what it gives is known (T83)."""

from __future__ import annotations

from typing import Any, assert_type

import wengert.fold as td


def case_of_a_comprehension() -> None:  # T83
    lengths = td.InputTransform(lambda text: [len(word) for word in text.split()])
    assert_type(lengths, td.InputTransform[Any, list[int]])
    td.InputTransform(lambda texts: dict.fromkeys(texts, 1))
    td.InputTransform(lambda text: text + 1) >> td.Map(td.Scalar())
    lengths >> td.Scalar()  # E: list\[int\]


def case_of_what_is_known() -> None:  # T83
    known: td.Block[str, int] = td.InputTransform(lambda text: len(text))
    print(known)
    td.InputTransform(len)
    wrong: td.Block[int, int] = td.InputTransform(lambda n: len(n))  # E[arg-type]: expected "Sized"
    print(wrong)
