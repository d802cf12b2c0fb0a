"""Weights that are loaded while requests are answered: each answer is that of one version, whole.

Knows: versions of a network, and which of them an answer is of: exactly one, as a mixture of two gives other numbers.
Refuses to know: how requests are joined.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import wengert as wg
from wengert import saving
from wengert.nn import Linear
from wengert.plugins import SGD
from wengert.serving import Batcher

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Reload: TypeAlias = Callable[["Network", Path, Callable[[], Awaitable[object]]], Awaitable[object]]
VERSIONS = 6
X = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)


class Network:
    """Two layers, whose weights are of one version."""

    def __init__(self, seed: int) -> None:
        settings = SGD(learning_rate=0.1)
        self.first = Linear.make(settings, 3, 8, seed=2 * seed)
        self.second = Linear.make(settings, 8, 2, seed=2 * seed + 1)

    def answer(self, x: Numbers) -> wg.Do[Any]:  # Any: an array
        return self.second(wg.tanh(self.first(x))).predict()


def versions_of(answer: Numbers, of_versions: Sequence[Numbers]) -> list[int]:
    """The versions that give this answer, up to what a run of more requests rounds otherwise."""
    return [k for k, one in enumerate(of_versions) if np.allclose(answer, one, atol=1e-5)]


async def at_once(network: Network, path: Path, between: Callable[[], Awaitable[object]]) -> None:
    """As a service does it."""
    await asyncio.to_thread(saving.load, path, network)
    await between()


async def layer_by_layer(network: Network, path: Path, between: Callable[[], Awaitable[object]]) -> None:
    """A mistake: two commits, and requests are answered between them."""
    await asyncio.to_thread(saving.load, path, {"first": network.first}, strict=False)
    await between()
    await asyncio.to_thread(saving.load, path, {"second": network.second}, strict=False)


def seen_of(
    reload: Reload, folder: Path, answer: Callable[[Network, Numbers], wg.Do[Any]]
) -> list[list[int]]:
    """The versions that each answer of a service is of, with weights that are loaded all the time."""
    paths = [folder / f"{k}.safetensors" for k in range(VERSIONS)]
    right: list[list[Numbers]] = [[] for _ in X]
    for k, path in enumerate(paths):
        saving.save(path, version := Network(k))
        for i, x in enumerate(X):
            right[i].append(version.answer(x).run())
    network, seen = Network(0), list[list[int]]()

    async def main() -> None:
        async with Batcher(partial(answer, network), window=0.0, limit=4) as batcher:

            async def ask() -> None:
                found = await asyncio.gather(*map(batcher, X))
                seen.extend(versions_of(y, of) for y, of in zip(found, right, strict=True))

            for k in [*range(1, VERSIONS), *range(VERSIONS)]:
                meanwhile = asyncio.create_task(ask())
                await reload(network, paths[k], ask)
                await meanwhile

    asyncio.run(main())
    assert len(seen) == 2 * len(X) * (2 * VERSIONS - 1)
    return seen


def test_each_answer_is_of_one_version(tmp_path: Path) -> None:
    seen = seen_of(at_once, tmp_path, Network.answer)
    assert all(len(found) == 1 for found in seen) and {found[0] for found in seen} == {*range(VERSIONS)}


def test_weights_that_are_loaded_in_two_commits_tear_answers(tmp_path: Path) -> None:
    assert [] in seen_of(layer_by_layer, tmp_path, Network.answer)


def test_weights_that_are_read_apart_from_the_run_tear_answers(tmp_path: Path) -> None:
    """A mistake in the function of a `Batcher`: data of a weight, read once for all runs."""
    kept: list[Any] = []

    def old(network: Network, x: Numbers) -> wg.Do[Any]:
        if not kept:
            kept.append(network.second.weight.data.copy())
        found: wg.Do[Any] = (wg.tanh(network.first(x)) @ kept[0] + network.second.bias).predict()
        return found

    assert [] in seen_of(at_once, tmp_path, old)
