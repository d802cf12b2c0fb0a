"""`wengert.data`: sets, batches and splits keep their class; readers say what they read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, assert_type

import numpy as np

import wengert as wg
from wengert.data import (
    Cifar100,
    Digits,
    Items,
    Leaf,
    Node,
    Rows,
    Tree,
    batches,
    cifar100,
    digits,
    split,
    sst,
)


@dataclass(frozen=True, eq=False)
class Points(Rows):
    x: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    label: np.ndarray[tuple[int], np.dtype[np.int64]]


def case_sets() -> None:
    train, test = split(digits(), (0.8, 0.2), seed=0)
    assert_type(train, Digits)
    assert_type(test.images, np.ndarray[tuple[int, Literal[64]], np.dtype[np.float32]])
    train.images = test.images  # E: is read-only
    print(train.pictures)  # E: has no attribute "pictures"
    split(digits(), 0.8, seed=0)  # E: incompatible type "float"
    split(digits(), (0.8, 0.2))  # E: Missing named argument "seed"


def case_batches(
    points: Points, trees: Items[Tree], indices: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:
    made = batches(points, 32, seed=0, epoch=1)
    assert_type(made[0], Points)
    assert_type([batch.label for batch in made], list[np.ndarray[tuple[int], np.dtype[np.int64]]])
    assert_type(batches(trees, 32, seed=0, epoch=1, shuffle=False, drop_last=True)[3], Items[Tree])
    assert_type(points.take(indices), Points)
    batches(points, 32, seed=0)  # E: Missing named argument "epoch"
    batches(points, "32", seed=0, epoch=1)  # E: incompatible type "str"
    batches([points], 32, seed=0, epoch=1)  # E: incompatible type "list\[Points\]"


def case_readers(path: Path) -> None:
    images = cifar100(path, "test")
    assert_type(images, Cifar100)
    assert_type(images.pixels(), np.ndarray[tuple[int, Literal[3072]], np.dtype[np.float32]])
    cifar100(path, "dev")  # E: incompatible type "Literal\['dev'\]"
    sst(path, "validation")  # E: incompatible type "Literal\['validation'\]"
    digits(path)  # E: Too many arguments for "digits"


def case_trees(path: Path) -> None:
    def words(tree: Tree) -> list[str]:
        match tree:
            case Leaf(label, word):
                assert_type(label, int)
                return [word]
            case Node(_, children):
                return [word for child in children for word in words(child)]

    first = sst(path)[0]
    assert_type(first, Tree)
    words(first)
    print(first.word)  # E: has no attribute "word"


def case_bytes_are_no_operands(images: Cifar100, w: wg.ArrayWeight[Any, np.float32]) -> None:
    assert_type(images.pixels() @ w, wg.ArrayLayer[Any])
    images.images @ w  # E
