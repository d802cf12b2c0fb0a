"""What blocks refuse, each with the block and the user's line, where Python would say less."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import wengert as wg
from tests.fold.made import F, Id, S, Unchecked, V, made
from wengert.errors import BlockError

NUMBERS = made.Map(S())
AT_ONCE: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a basis of no integers": (lambda: made.OneHot("a"), TypeError, "OneHot.*from one integer to another"),
    "a basis up to no integer": (
        lambda: made.OneHot(0, 2.5),
        TypeError,
        "OneHot.*from one integer to another",
    ),
    "a list of lists": (lambda: made.OneHotFromList([[1]]), TypeError, "OneHotFromList.*unhashable"),
    "an axis that is text": (lambda: made.Concat("a"), TypeError, "Concat.*an axis is an integer, not 'a'"),
    "half an axis": (lambda: made.Concat(0.5), TypeError, "Concat.*an axis is an integer, not 0.5"),
    "steps of nothing": (lambda: made.Slice(step=0), ValueError, "Slice.*the step of a slice is not 0"),
    "elements of no type": (lambda: made.Record(()) >> made.Map(Id()), TypeError, "Map.*have no type"),
    "an argument too few": (
        lambda: (S(), S(), S()) >> made.Function(wg.add),
        TypeError,
        r"Function.*\(float32 \(\), float32 \(\), float32 \(\)\).*too many positional arguments",
    ),
    "an argument too many": (
        lambda: S() >> made.Function(lambda a, b: a + b),
        TypeError,
        r"Function.*float32 \(\), and a function of \(a, b\) does not.*missing a required argument: 'b'",
    ),
    "a state that nobody says": (
        lambda: made.Compiler.create(NUMBERS >> made.RNN(F(lambda x, s: (x, s))) >> made.GetItem(1)),
        TypeError,
        "<td.RNN cell=<td.Function>>: the type of its state is not known; say it with initial_state",
    ),
    "a first state twice": (
        lambda: made.RNN(F(lambda x, s: (x, s)), made.Zeros([]), True),
        ValueError,
        "only one can be",
    ),
    "a part that a wire has not": (
        lambda: (S(), S()) >> made.composition(lambda w: w[2]),
        IndexError,
        "has no part 2",
    ),
}
OF_DATA: dict[str, tuple[object, object, type[Exception], str]] = {
    "what has no hash": (made.OneHotFromList("ab"), [1], KeyError, r"\[1\] is not in the list"),
    "no sequences": (made.Zip(), 5, TypeError, "Zip.*its input is 5"),
    "one sequence": (made.Zip(), ([1], 5), TypeError, "Zip.*its input is 5"),
    "no pair": (made.Nth(), 5, TypeError, "Nth.*its input is 5"),
    "three things": (made.Nth(), ([1], 0, 0), TypeError, "Nth.*it takes a list and a place"),
    "no list": (made.Nth(), (5, 0), TypeError, "Nth.*its input is 5"),
}


@pytest.mark.parametrize(("make", "kind", "text"), AT_ONCE.values(), ids=AT_ONCE)
def test_blocks_refuse_what_they_are_made_of(
    make: Callable[[], object], kind: type[Exception], text: str
) -> None:
    with pytest.raises(BlockError, match=f"(?s){text}.*test_refusals.py:") as caught:
        make()
    assert isinstance(caught.value, kind)


@pytest.mark.parametrize(("block", "data", "kind", "text"), OF_DATA.values(), ids=OF_DATA)
def test_blocks_refuse_data(block: Unchecked, data: object, kind: type[Exception], text: str) -> None:
    with pytest.raises(BlockError, match=f"(?s){text}.*test_refusals.py:") as caught:
        block.eval(data)
    assert isinstance(caught.value, kind)


def test_a_function_that_says_nothing_of_its_arguments_is_called() -> None:
    assert (S() >> F(lambda *xs: xs[0] + 1.0)).eval(2) == 3.0
    assert ((S(), V(1)) >> F(lambda a, b, c=2.0: a * c)).eval((2, [3])) == 4.0


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("TrainPlan", "from wengert.training import TrainPlan"),
        ("Plan", "its settings are fields"),
        ("EdibleIterator", "prepares ahead"),
        ("create_variable_scope", "name="),
        ("Weaver", "wg.cell"),
    ],
)
def test_names_that_fold_has_elsewhere_say_what_to_write(name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=rf"module 'wengert.fold' has no attribute '{name}': .*{advice}"):
        getattr(made, name)
    with pytest.raises(AttributeError, match=r"has no attribute .\w+s.$"):
        getattr(made, name + "s")
