"""Batching by hand: which nodes of several trees can be computed at once.

All nodes of one height are a level; leaves are level 0. Rows of a table of states stand in this order, so that a
level is a slice, and its parts are rows further up.

Knows: heights, rows, and where everything is read and written.
Refuses to know: any library, and what a node computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.forest import Trees, below

Places = np.ndarray[Any, np.dtype[np.intp]]


@dataclass(frozen=True)
class Level:
    """A slice of rows, and the rows of their left and right parts."""

    rows: slice
    left: Places
    right: Places


@dataclass(frozen=True)
class Plan:
    """A batch as numbers: the words of the first rows, levels above them, every row's label, and the roots."""

    words: Places
    levels: tuple[Level, ...]
    labels: Places
    roots: Places

    @property
    def leaves(self) -> int:
        return len(self.words)

    @property
    def size(self) -> int:
        return len(self.labels)


def planned(trees: Trees) -> Plan:
    """The plan of a batch."""
    height: list[int] = []
    left: list[int] = []
    right: list[int] = []
    words: list[int] = []
    labels: list[int] = []
    roots = []
    for tree in trees:
        done: list[int] = []  # rows whose wholes are still to come
        for number, node in enumerate(below((tree,)), len(height)):
            if node.parts:
                b, a = done.pop(), done.pop()
                height.append(1 + max(height[a], height[b]))
            else:
                a = b = 0
                height.append(0)
            left.append(a)
            right.append(b)
            words.append(node.word)
            labels.append(node.label)
            done.append(number)
        roots += done
    heights = np.array(height)
    order = np.argsort(heights, kind="stable")
    row = np.empty_like(order)
    row[order] = np.arange(len(order))
    ends = np.cumsum(np.bincount(heights)).tolist()
    lefts, rights = row[np.array(left)[order]], row[np.array(right)[order]]
    levels = tuple(
        Level(slice(start, stop), lefts[start:stop], rights[start:stop]) for start, stop in pairwise(ends)
    )
    return Plan(np.array(words)[order[: ends[0]]], levels, np.array(labels)[order], row[np.array(roots)])


def added_by_word(words: Places, rows: Any) -> tuple[Places, Any]:  # Any: arrays of any float type
    """Each word once, and the sum of its rows."""
    order = np.argsort(words, kind="stable")
    along = words[order]
    starts = np.flatnonzero(np.concatenate(([True], along[1:] != along[:-1])))
    return along[starts], np.add.reduceat(rows[order], starts, axis=0)
