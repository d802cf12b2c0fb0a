"""A formula of named sizes is found again by its values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wengert.check.sizes import NamedSizes, chosen

Formula = Callable[[int, int, int], int]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (lambda b, t, h: 7, "7"),
        (lambda b, t, h: b, "Batch"),
        (lambda b, t, h: t - 1, "Time - 1"),
        (lambda b, t, h: 64 * b * t, "64*Batch*Time"),
        (lambda b, t, h: b * t * h, "Batch*H*Time"),
        (lambda b, t, h: t * t, "Time*Time"),
        (lambda b, t, h: (h - 3) // 2 + 1, "(H + 1)//2 - 1"),
        (lambda b, t, h: h // 4, "H//4"),
        (lambda b, t, h: -(-h // 8), "(H + 7)//8"),
        (lambda b, t, h: t + h + 1, "H + Time + 1"),
        (lambda b, t, h: 2 * t - 1, "2*Time - 1"),
        (lambda b, t, h: hash((b, t, h)) % 1009, "?"),
    ],
)
def test_a_formula_is_found(formula: Formula, text: str) -> None:
    choices = chosen(["Batch", "Time", "H"])
    values = [formula(choice["Batch"], choice["Time"], choice["H"]) for choice in choices]
    assert NamedSizes(choices).shape([(n,) for n in values]) == f"({text},)"


def test_numbers_in_a_text_are_replaced_and_those_of_lines_and_names_are_not() -> None:
    choices = chosen(["Batch"])
    texts = [f"(5, {c['Batch']}) at fc1, x.py:{c['Batch']}, 0.5" for c in choices]
    assert NamedSizes(choices).text(
        [t.replace(f":{c['Batch']}", ":7") for t, c in zip(texts, choices, strict=True)]
    ) == ("(5, Batch) at fc1, x.py:7, 0.5")
    assert NamedSizes(choices).text(["one 3", *["other 3"] * 7]) == "one 3"


def test_choices_are_unlike_each_other() -> None:
    choices = chosen([f"N{i}" for i in range(12)])
    numbers = [n for choice in choices for n in choice.values()]
    assert len(set(numbers)) == len(numbers)
    assert {choice["N3"] % 8 for choice in choices} == set(range(8))
