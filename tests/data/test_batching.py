"""Sets, batches and splits: each example once, in an order that seed and epoch decide."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wengert.arrays import samples
from wengert.data import Batches, Items, Rows, batches, digits, split
from wengert.errors import ArgumentError, DataError, PackageError


@dataclass(frozen=True, eq=False)
class Points(Rows):
    x: np.ndarray[Any, np.dtype[np.float32]]
    label: np.ndarray[tuple[int], np.dtype[np.int64]]


def points(n: int) -> Points:
    return Points(np.arange(2 * n, dtype=np.float32).reshape(n, 2), np.arange(n))


@given(
    st.integers(0, 40), st.integers(1, 12), st.integers(0, 5), st.integers(0, 5), st.booleans(), st.booleans()
)
def test_each_example_is_in_one_batch(
    n: int, size: int, seed: int, epoch: int, shuffle: bool, drop_last: bool
) -> None:
    made = batches(points(n), size, seed=seed, epoch=epoch, shuffle=shuffle, drop_last=drop_last)
    lengths = [len(batch) for batch in made]
    assert lengths == [size] * (n // size) + [n % size] * (n % size > 0 and not drop_last)
    seen = [int(label) for batch in made for label in batch.label]
    assert len({*seen}) == len(seen) == sum(lengths)
    if not shuffle:
        assert seen == list(range(len(seen)))
    for batch in made:
        assert (batch.x[:, 0] == 2 * batch.label).all()


def test_the_order_is_that_of_seed_and_epoch() -> None:
    def seen(seed: int, epoch: int) -> list[int]:
        return [i for batch in batches(Items(range(50)), 8, seed=seed, epoch=epoch) for i in batch]

    assert seen(3, 4) == seen(3, 4)
    assert len({tuple(seen(seed, epoch)) for seed in range(5) for epoch in range(5)}) == 25


def test_the_order_is_written_down() -> None:  # it must not change with numpy, or a resumed training would
    assert samples.order(0, 0, 8).tolist() == ORDER


ORDER = [6, 3, 1, 4, 5, 2, 7, 0]


def test_any_batch_can_be_had_at_once_and_is_made_when_it_is_asked_for() -> None:
    taken: list[list[int]] = []

    class Watched:
        def __len__(self) -> int:
            return 10**6

        def take(self, indices: samples.Labels, /) -> list[int]:
            taken.append(indices.tolist())
            return taken[-1]

    made = batches(Watched(), 10, seed=1, epoch=2)
    assert len(made) == 10**5 and not taken
    last = made[-1]
    assert taken == [last] and made[10**5 - 1] == last
    with pytest.raises(IndexError):
        made[10**5]
    assert repr(made) == "<100000 batches>"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": 0}, "batches: size is an integer from 1 on; got 0"),
        ({"size": 2.0}, "size is an integer from 1 on; got 2.0"),
        ({"size": True}, "got True"),
        ({"seed": -1}, "seed is an integer from 0 on; got -1"),
        ({"epoch": "1"}, "epoch is an integer from 0 on; got '1'"),
    ],
)
def test_wrong_numbers_are_refused(options: dict[str, Any], said: str) -> None:
    given_: dict[str, Any] = {"size": 2, "seed": 0, "epoch": 0, **options}
    with pytest.raises(ArgumentError) as caught:
        batches(points(3), given_.pop("size"), **given_)
    assert said in str(caught.value) and "test_batching.py:" in str(caught.value)


@pytest.mark.parametrize("data", [np.ones((4, 2)), [1, 2]])
def test_what_is_no_set_of_examples_is_refused(data: Any) -> None:
    # an array has a `take`, too, which takes single elements of all
    actions: list[Callable[[], object]] = [
        lambda: batches(data, 2, seed=0, epoch=0),
        lambda: Batches(data, [np.array([0])]),
        lambda: split(data, (0.5, 0.5), seed=0),
    ]
    for action in actions:
        with pytest.raises(
            ArgumentError, match=r"(?s)derives from data.Rows, .*data.Items.*test_batching\.py:"
        ):
            action()


# -- splits ---------------------------------------------------------------------------------------


@given(st.integers(10, 200), st.integers(0, 9))
def test_parts_are_all_there_is(n: int, seed: int) -> None:
    parts = split(points(n), (0.5, 0.3, 0.2), seed=seed)
    assert [len(part) for part in parts] == pytest.approx([0.5 * n, 0.3 * n, 0.2 * n], abs=1)
    assert sorted(int(i) for part in parts for i in part.label) == list(range(n))


def test_a_split_is_that_of_its_seed() -> None:
    first, again, other = (split(points(50), (0.8, 0.2), seed=seed)[1].label.tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("fractions", [(0.8, 0.3), (1.2, -0.2), (0.5,), (), (float("nan"), 1.0), (0.0, 1.0)])
def test_wrong_fractions_are_refused(fractions: tuple[float, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"positive and sum to 1, as in \(0.8, 0.2\); got"):
        split(points(10), fractions, seed=0)


def test_a_part_without_an_example_is_refused() -> None:
    with pytest.raises(DataError, match=r"of 10 examples a fraction of 0\.01 has none"):
        split(points(10), (0.99, 0.01), seed=0)


# -- sets -----------------------------------------------------------------------------------------


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(
        DataError, match="Points: arrays differ in their number of rows: 'x' has 3, 'label' has 4"
    ):
        Points(np.zeros((3, 2), np.float32), np.arange(4))


@pytest.mark.parametrize("x", [3, [1, 2], np.float32(1), np.array(1.0)])
def test_what_is_no_array_with_rows_is_refused(x: Any) -> None:
    with pytest.raises(DataError, match=r"Points: 'x' is .*, and has to be an array with a row an example"):
        Points(x, np.arange(1))


def test_a_set_without_fields_is_refused() -> None:
    with pytest.raises(DataError, match="Rows has no fields"):
        Rows()


def test_a_batch_is_a_copy_of_its_own_class() -> None:
    whole = points(5)
    batch = whole.take(np.array([4, 0]))
    assert type(batch) is Points and batch.label.tolist() == [4, 0]
    batch.x[:] = -1
    assert whole.x.min() == 0
    with pytest.raises(FrozenInstanceError):
        batch.label = whole.label  # type: ignore[misc] # that it is refused is what is tested


# -- digits ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_digits() -> None:
    found = digits()
    assert len(found) == 1797 and found.images.shape == (1797, 64)
    assert found.images.dtype == np.float32 and found.labels.dtype == np.int64
    assert (found.images.min(), found.images.max()) == (-0.5, 0.5)
    assert sorted({*found.labels.tolist()}) == list(range(10))


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(
        PackageError, match=r"needs the package scikit-learn.*pip install 'wengert\[examples\]'"
    ):
        digits()


@pytest.mark.slow
def test_importing_needs_no_optional_package() -> None:
    optional = ("sklearn", "rich", "matplotlib", "tensorboardX", "safetensors", "scipy")
    code = f"import sys, wengert.data, wengert.training; print([m for m in {optional} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done
