"""Parts of a model on nodes, called as the model would be here; `node(do)`, `node.keep(do)`; executors of shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, assert_type

import numpy as np

import wengert as wg
from wengert.cluster import Distributed, Handle, Local, Node
from wengert.nn import Linear
from wengert.plugins import SGD

Vectors = wg.ArrayLayer[tuple[int, Literal[4]]]
Inputs = wg.ArrayExpression[tuple[int, Literal[3]]]
Scalar = wg.ArrayLayer[tuple[()]]


class Both(NamedTuple):
    vectors: Vectors
    norm: Scalar


class Expert:
    def __init__(self, seed: int, width: int = 8) -> None:
        self.inner = Linear.make(SGD(learning_rate=0.1), 3, 4, seed=seed)

    def __call__(self, x: Inputs, *, scale: float = 1.0) -> Vectors:
        return self.inner(x) * scale


class Twice:
    def __call__(self, a: Vectors, b: Vectors) -> Both:
        return Both(a + b, wg.sum(a * b))


class Plain:
    """No model: it cannot be called."""


def made(seed: int) -> Expert:
    return Expert(seed)


def both(part: Callable[[Vectors, Vectors], Both]) -> None: ...


def case_placing(node: Node) -> None:
    expert = node.place(Expert, 7, width=3)
    twice = node.place(Twice)
    by_function = node.place(made, 7)
    both(twice)
    assert_type(by_function.version, int)
    assert_type(expert.digest(), str)
    node.place(Expert)  # E: Missing positional argument|Missing argument
    node.place(Expert, "7")  # E: incompatible type "str"|is not assignable to
    node.place(Expert, 7, depth=3)  # E: Unexpected keyword argument .depth
    node.place(Plain)  # E: incompatible type|is not assignable to
    both(expert)  # E: incompatible type|is not assignable to


def case_calling(node: Node, x: Vectors, images: wg.ArrayLayer[tuple[int, Literal[3]]]) -> None:
    expert, twice = node.place(Expert, 7), node.place(Twice)
    y = expert(images, scale=0.5)
    assert_type(y, Vectors)
    found = twice(x, y)
    assert_type(found, Both)
    assert_type(found.norm.train(), wg.Do[np.ndarray[tuple[()], np.dtype[np.float32]]])
    twice(x)  # E: Missing positional argument "b"|Too few arguments|Missing argument `b`
    twice(x, 1)  # E: incompatible type "int"|is not assignable to
    expert(images, scale="half")  # E: incompatible type "str"|is not assignable to
    expert(x)  # E: incompatible type "ArrayLayer|is not assignable to
    expert(images, size=1)  # E: Unexpected keyword argument .size


def case_descriptions(node: Node, do: wg.Do[list[int]]) -> None:
    assert_type(node(do), wg.Do[list[int]])
    kept = node.keep(do)
    assert_type(kept, wg.Do[Handle[list[int]]])
    assert_type(kept.flat_map(lambda handle: handle.map(len)), wg.Do[int])
    assert_type(kept.flat_map(lambda handle: handle.get()), wg.Do[list[int]])
    node(3)  # E: incompatible type "int"|is not assignable to
    node.keep(len)  # E: incompatible type|is not assignable to


def case_staleness(engine: Local) -> None:
    late = wg.run.Distributed(engine, stale=4)
    assert_type(late, Distributed)
    assert_type(late.commits, tuple[tuple[tuple[int, int], ...], ...])
    wg.run.Distributed(engine, stale=4, order=late.commits)
    Distributed(engine, stale=4, order=[[[0, 1]]])
    Distributed(engine, stale="4")  # E: incompatible type "str"|is not assignable to
    wg.run.Distributed(engine, order=[[0]])  # E: incompatible type "int"|is not assignable to
