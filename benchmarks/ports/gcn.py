"""Nodes of a graph told apart by their neighbours: the graph convolution network.

Knows: two layers over a sparse matrix, weight decay in the first only, a loss of the nodes whose label is known.
Refuses to know: citations; this graph is made. Dropout is left out, whose masks no two libraries share.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, Literal

import numpy as np

import wengert as wg
from benchmarks.ports.port import TORCH, Port, stepped, tensors, torch
from benchmarks.workload import Step
from wengert.nn import Linear, init
from wengert.plugins import Adam, L2Regularization, LearningRate

NODES, EDGES, CLASSES, FEATURES, HIDDEN, KNOWN = 2000, 8000, 7, 100, 16, 140
RATE, DECAY = 0.01, 5e-4
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Sparse = Any  # a matrix of SciPy
Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def graph() -> tuple[Sparse, Matrix, Numbers]:
    """A matrix of edges, most of them within a class, normalized as D^-½ (A + I) D^-½; features; and labels."""
    chance = np.random.default_rng(0)
    labels = chance.integers(0, CLASSES, NODES)
    one, other = chance.integers(0, NODES, (2, 4 * EDGES))
    kept = np.flatnonzero((labels[one] == labels[other]) | (chance.random(4 * EDGES) < 0.1))[:EDGES]
    ends = np.stack([one[kept], other[kept]])
    rows, columns = np.concatenate([ends, ends[::-1], np.tile(np.arange(NODES), (2, 1))], axis=1)
    edges = import_module("scipy.sparse").csr_array(  # not for those who run other benchmarks
        (np.ones(len(rows), np.float32), (rows, columns)), shape=(NODES, NODES)
    )
    edges.data[:] = 1.0
    root = np.asarray(edges.sum(axis=1)) ** -0.5
    edges.data *= np.repeat(root, np.diff(edges.indptr)) * root[edges.indices]
    features = (
        chance.standard_normal((NODES, FEATURES)) + 0.3 * chance.standard_normal((CLASSES, FEATURES))[labels]
    )
    return edges, features.astype(np.float32), labels


class Settings(Adam, LearningRate):
    """Adam with a rate."""


class Decayed(L2Regularization, Adam, LearningRate):
    """The same with L2."""


class Network:
    """Features of all nodes to scores of classes."""

    def __init__(self) -> None:
        chance = np.random.default_rng(0)
        decayed, settings = Decayed(l2=DECAY, learning_rate=RATE), Settings(learning_rate=RATE)
        self.hidden = Linear.make(decayed, FEATURES, HIDDEN, seed=chance, init=init.glorot_uniform())
        self.top = Linear.make(settings, HIDDEN, CLASSES, seed=chance, init=init.glorot_uniform())

    def __call__(self, edges: Sparse, x: Matrix) -> wg.ArrayLayer[tuple[int, Literal[7]]]:
        h = wg.relu(wg.sparse_matmul(edges, self.hidden(wg.literal(x, int, FEATURES))))
        return wg.sparse_matmul(edges, self.top(h))


def ours() -> Step:
    network, (edges, x, labels) = Network(), graph()

    def step() -> float:
        return wg.cross_entropy(network(edges, x)[:KNOWN], labels[:KNOWN]).train().run().item()

    return step


def theirs() -> Step:
    library, (edges, features, numbers), weights = torch(), graph(), tensors(Network())
    f: Any = library.nn.functional
    places = [library.from_numpy(part.astype(np.int64)) for part in (edges.indptr, edges.indices)]
    matrix = library.sparse_csr_tensor(*places, library.from_numpy(edges.data), edges.shape)
    x, labels = library.from_numpy(features), library.from_numpy(numbers)
    hidden, hidden_bias, top, top_bias = weights.values()
    optimizer = library.optim.Adam(
        [
            {"params": [hidden, hidden_bias], "weight_decay": DECAY},
            {"params": [top, top_bias], "weight_decay": 0.0},
        ],
        lr=RATE,
    )

    def step() -> float:
        h = f.relu(matrix @ (x @ hidden + hidden_bias))
        return stepped(optimizer, f.cross_entropy((matrix @ (h @ top + top_bias))[:KNOWN], labels[:KNOWN]))

    return step


PORT: Final = Port(
    "gcn",
    "tkipf/pygcn",
    "2,000 nodes, 18,000 edges, two layers of 16, Adam, L2",
    TORCH,
    ours,
    theirs,
    (Settings, Decayed, Network, ours),
)
