"""Examples to learn from: loaders for a few known data sets, batches, splits.

Knows: its public names.
Refuses to know: networks, and what is learnt. Nothing is downloaded: a loader takes the path of a user's own file.
"""

from __future__ import annotations

from wengert.data.batching import Batches, batches, split
from wengert.data.cifar import Cifar100, cifar100
from wengert.data.digits import Digits, digits
from wengert.data.rows import Items, Rows, Source
from wengert.data.sst import sst
from wengert.data.trees import Leaf, Node, Tree, tree

__all__ = [
    "Batches",
    "Cifar100",
    "Digits",
    "Items",
    "Leaf",
    "Node",
    "Rows",
    "Source",
    "Tree",
    "batches",
    "cifar100",
    "digits",
    "split",
    "sst",
    "tree",
]
