"""Examples to learn from: loaders for a few known data sets, batches, splits.

Knows: its public names.
Refuses to know: networks, and what is learnt. Nothing is downloaded: a loader takes the path of a user's own file.
"""

from __future__ import annotations

from wengert.data.batching import Batches, batches, split
from wengert.data.cifar import Cifar100, cifar100
from wengert.data.columns import HasColumns, from_columns, read_csv, read_npz
from wengert.data.digits import Digits, digits
from wengert.data.images import (
    Cifar10,
    Images,
    Mnist,
    cifar10,
    image_folder,
    mnist,
    normalize,
    random_crop,
    random_flip,
)
from wengert.data.loading import Prefetched, prefetch, shuffled
from wengert.data.rows import Items, Rows, Source
from wengert.data.sampling import bucketed_batches, pad, weighted_batches
from wengert.data.sst import sst
from wengert.data.trees import Leaf, Node, Tree, tree

__all__ = [
    "Batches",
    "Cifar10",
    "Cifar100",
    "Digits",
    "HasColumns",
    "Images",
    "Items",
    "Leaf",
    "Mnist",
    "Node",
    "Prefetched",
    "Rows",
    "Source",
    "Tree",
    "batches",
    "bucketed_batches",
    "cifar10",
    "cifar100",
    "digits",
    "from_columns",
    "image_folder",
    "mnist",
    "normalize",
    "pad",
    "prefetch",
    "random_crop",
    "random_flip",
    "read_csv",
    "read_npz",
    "shuffled",
    "split",
    "sst",
    "tree",
    "weighted_batches",
]
