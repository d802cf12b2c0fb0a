"""Data on its way: prefetched, shuffled, drawn by weight, padded; tables, images, and what is wrong with them."""

from __future__ import annotations

import gzip
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data import workers
from wengert.data import (
    Items,
    Rows,
    batches,
    bucketed_batches,
    cifar10,
    from_columns,
    image_folder,
    mnist,
    normalize,
    pad,
    prefetch,
    random_crop,
    random_flip,
    read_csv,
    read_npz,
    shuffled,
    weighted_batches,
)
from wengert.errors import ArgumentError, DataError


@dataclass(frozen=True, eq=False)
class Points(Rows):
    x: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    label: np.ndarray[tuple[int], np.dtype[np.int64]]


def places() -> list[Any]:
    return [np.arange(i, i + 3) for i in range(0, 12, 3)]


@pytest.mark.slow
def test_batches_do_not_depend_on_the_number_of_workers() -> None:
    expected = [workers.drawn(p).tolist() for p in places()]
    for count in (0, 1, 2):
        made = prefetch(places(), workers.drawn, workers=count, ahead=3)
        assert [x.tolist() for x in made] == expected and len(made) == 4


@pytest.mark.slow
def test_a_worker_that_dies_is_one_error() -> None:
    with pytest.raises(DataError, match="prefetch: a worker process died while batch 0 was made"):
        list(prefetch(places(), workers.killed, workers=1))


def test_errors_and_ends_of_a_thread() -> None:
    with pytest.raises(ValueError, match="no file for"):
        list(prefetch(places(), workers.failing))
    made = iter(prefetch(iter(places()), workers.drawn))
    next(made)
    made.close()  # type: ignore[attr-defined] # a generator
    assert not [t for t in threading.enumerate() if t.name.startswith("prefetch")]
    with pytest.raises(TypeError, match="has no length"):
        len(prefetch(iter(places()), workers.drawn))
    with pytest.raises(ArgumentError, match="workers is an integer from 0 on; got -1"):
        prefetch(places(), workers.drawn, workers=-1)


def test_a_buffer_shuffles() -> None:
    found = list(shuffled(range(100), 10, seed=0))
    assert sorted(found) == list(range(100)) != found
    assert all(x - place < 10 for place, x in enumerate(found))
    assert found != list(shuffled(range(100), 10, seed=1))
    with pytest.raises(ArgumentError, match="size is an integer from 1 on; got 0"):
        shuffled([], 0, seed=0)


def test_weights_are_frequencies() -> None:
    made = weighted_batches(Items("abc"), [1.0, 0.0, 3.0], 50, seed=0, epoch=0, count=4000)
    seen = Counter(x for batch in made for x in batch)
    assert seen.keys() == {"a", "c"} and 0.22 < seen["a"] / 4000 < 0.28
    for weights in ([1.0], [0.0] * 3, [1.0, -1.0, 1.0], [1.0, float("nan"), 1.0]):
        with pytest.raises(ArgumentError, match="weighted_batches: weights are 3 finite numbers"):
            weighted_batches(Items("abc"), weights, 2, seed=0, epoch=0)


def test_buckets_pad_less() -> None:
    lengths = np.random.default_rng(0).integers(1, 50, 300).tolist()
    data = Items(lengths)

    def waste(made: Any) -> int:
        return sum(max(batch) * len(batch) - sum(batch) for batch in made)

    made = bucketed_batches(data, lengths, 16, seed=0, epoch=0)
    assert sorted(x for batch in made for x in batch) == sorted(lengths)
    assert 5 * waste(made) < waste(batches(data, 16, seed=0, epoch=0))
    assert {len(b) for b in bucketed_batches(data, lengths, 16, seed=0, epoch=0, drop_last=True)} == {16}
    with pytest.raises(ArgumentError, match="300 examples and 1 lengths"):
        bucketed_batches(data, [1], 16, seed=0, epoch=0)
    with pytest.raises(ArgumentError, match="none longer than length=1"):
        pad([np.ones(2)], length=1)
    assert pad([np.ones((2, 3)), np.ones((1, 3))])[0].shape == (2, 2, 3)


def test_rows_are_indexed() -> None:
    points = Points(np.arange(8.0, dtype=np.float32).reshape(4, 2), np.arange(4))
    assert points[1:3].label.tolist() == [1, 2] and points[points.label > 2].label.tolist() == [3]
    assert points[np.array([3, 0])].label.tolist() == [3, 0]
    one: Any = 1
    with pytest.raises(
        ArgumentError, match=r"the key is a slice, an array of places or a mask; got 1; .* data\[i : i"
    ):
        points[one]


class Frame:
    """A column by its name, as of pandas and polars: anything that numpy makes an array of."""

    def __getitem__(self, name: str) -> Any:
        class Column:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return np.array({"a": [1, 2], "b": [3, 4], "label": [0, 1]}[name], dtype)

        return Column()


def test_tables_make_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,label\n1,3,0\n2,4,1\n")
    np.savez(tmp_path / "t.npz", a=[1, 2], b=[3, 4], label=[0, 1])
    tables: list[Any] = [Frame(), read_csv(tmp_path / "t.csv"), read_npz(tmp_path / "t.npz")]
    for table in tables:
        points = from_columns(Points, table, x=["a", "b"])
        assert points.x.tolist() == [[1.0, 3.0], [2.0, 4.0]] and points.label.tolist() == [0, 1]
        assert (points.x.dtype.name, points.label.dtype.name) == ("float32", "int64")


@pytest.mark.parametrize(
    ("library", "make"), [("pandas", "DataFrame"), ("polars", "DataFrame"), ("datasets", "Dataset.from_dict")]
)
def test_tables_of_libraries_that_are_installed(library: str, make: str) -> None:
    columns = {"a": [1.0, 2.0], "b": [3.0, 4.0], "label": [0, 1]}
    table = attrgetter(make)(pytest.importorskip(library))(columns)
    points = from_columns(Points, table, x=["a", "b"])
    assert points.x.tolist() == [[1.0, 3.0], [2.0, 4.0]] and points.label.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: from_columns(Points, {"x": [[1.0]]}), "the table has no column 'label'"),
        (lambda p: from_columns(Points, {}, y="a"), "y is no field of Points, which has x, label"),
        (lambda p: from_columns(Points, {"x": [["a"]], "label": [0]}), "'x' is no column for Points.x"),
        (lambda p: read_csv(written(p, b"a,b\n1\n")), ":2: there are 1 fields, and 2 names"),
        (lambda p: read_csv(written(p, b"a,a\n")), "the first line has no names, or one twice"),
        (lambda p: read_csv(written(p, b"a\n\xff\n")), "no file of comma-separated values"),
        (lambda p: read_npz(written(p, b"PK\x03\x04 and no more")), "it is no npz file of arrays"),
        (lambda p: mnist(p), "it has none of train-images"),
        (
            lambda p: mnist(written(p, b"\0\0\x08\x03", "train-images-idx3-ubyte").parent),
            "no whole idx file of bytes",
        ),
        (
            lambda p: cifar10(written(p, b"\0" * 3072, "test_batch.bin").parent, "test"),
            "no multiple of 3,073",
        ),
        (
            lambda p: cifar10(written(p, b"\x0a" * 3073, "test_batch.bin").parent, "test"),
            "a label is beyond 9",
        ),
        (lambda p: random_flip(np.ones((2, 2)), seed=0), "random_flip: images are an array"),
        (lambda p: normalize(np.ones((1, 1, 1, 2)), [0.0], [1.0]), "mean and std are a number a channel"),
    ],
)
def test_what_is_wrong_is_one_error(make: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    with pytest.raises((ArgumentError, DataError), match=said):
        make(tmp_path)


def written(folder: Path, content: bytes, name: str = "file") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_mnist_is_read_with_and_without_compression(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28), np.uint8)
    head = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in images.shape)
    labels = bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 9])
    for ending, pack in (("-ubyte", bytes), (".ubyte.gz", gzip.compress)):
        folder = tmp_path / ending
        folder.mkdir()
        written(folder, pack(head + images.tobytes()), f"train-images-idx3{ending}")
        written(folder, pack(labels), f"train-labels-idx1{ending}")
        found = mnist(folder)
        assert np.array_equal(found.images, images.reshape(3, 784)) and found.labels.tolist() == [5, 0, 9]


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="of the extra `images`")
    for name, level in (("cat", 255), ("dog", 0)):
        (tmp_path / name).mkdir()
        image.new("L", (6, 4), level).save(tmp_path / name / "a.png")
    found, classes = image_folder(tmp_path, (2, 3))
    assert found.images.shape == (2, 2, 3, 3) and found.images[0].min() == 1.0 and classes == ("cat", "dog")
    drawn = np.random.default_rng(0).integers(0, 256, (2, 3, 4), np.uint8)
    drawn[..., 3] = 255
    image.fromarray(drawn).save(
        tmp_path / "dog" / "B.PNG"
    )  # pixels beside transparency, in a size that is kept
    found, _ = image_folder(tmp_path, (2, 3))
    assert found.labels.tolist() == [0, 1, 1]
    assert np.allclose(found.images[1], drawn[..., :3] / 255.0)
    written(tmp_path / "dog", b"no picture", "b.png")
    with pytest.raises(DataError, match="it is no picture that can be read"):
        image_folder(tmp_path, (2, 3))


def test_changes_by_chance_are_those_of_each_image() -> None:
    images = np.random.default_rng(0).standard_normal((6, 5, 5, 2)).astype(np.float32)
    changes: list[Callable[[Any], Any]] = [
        lambda x: random_crop(x, 2, seed=(1, 2)),
        lambda x: random_flip(x, seed=(1, 2)),
    ]
    for change in changes:
        found = change(images)
        assert found.shape == images.shape and found.dtype == np.float32
        assert np.array_equal(change(images[:3]), found[:3]), "of the seed and the place alone"
        assert not np.array_equal(found, images)
    wide = np.pad(images[0], ((2, 2), (2, 2), (0, 0)))
    cropped = random_crop(images, 2, seed=(1, 2))[0]
    assert any(np.array_equal(cropped, wide[i : i + 5, j : j + 5]) for i in range(5) for j in range(5))
