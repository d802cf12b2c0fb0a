"""Counts of a graph are what its definition says, and too narrow a graph has none."""

from __future__ import annotations

from random import Random

import pytest

from wengert.arrays.places import places
from wengert.run.batching import grouping
from wengert.run.batching.grouping import ChainCounts
from wengert.run.batching.region import BITS, Group, GroupForm, Region, RowSource


def record(of: list[int], below: list[list[int]]) -> Region:
    """Nodes with the group of each (-1: inside a sum), and the nodes that it reads; those of one group read as many."""
    groups = []
    for entry in sorted({*of} - {-1}):
        members = [i for i, e in enumerate(of) if e == entry]
        form = GroupForm(RowSource.OPERATION, (*range(len(below[members[0]])),), (), (), (), ())
        refs = places([[x << BITS for x in below[i]] for i in members]).reshape(len(members), -1)
        groups.append(Group(form, None, members=places(members), refs=refs))
    size = len(of)
    numbers = places(range(size))
    return Region(numbers, groups, {}, numbers, numbers, [None] * size, True)


def drawn(chance: Random) -> tuple[list[int], list[list[int]]]:
    arity = [0, *(chance.randrange(1, 4) for _ in range(chance.randrange(1, 4)))]
    of, below, there = [0, 0], list[list[int]]([[], []]), [0, 1]
    for i in range(2, chance.randrange(3, 60)):
        of.append(-1 if chance.random() < 0.1 else chance.randrange(len(arity)))
        below.append([chance.choice(there[-8:]) for _ in range(arity[of[-1]] if of[-1] >= 0 else 0)])
        if of[-1] >= 0:
            there.append(i)
    return of, below


def circling(of: list[int], below: list[list[int]]) -> set[int]:
    """Groups that need themselves."""
    needs: dict[int, set[int]] = {e: set() for e in of}
    for entry, operands in zip(of, below, strict=True):
        needs[entry].update(of[x] for x in operands)
    for _ in needs:
        for there in needs.values():
            there |= {e for x in there for e in needs[x]}
    return {e for e, there in needs.items() if e in there}


def slowly(of: list[int], below: list[list[int]]) -> tuple[list[int], list[int]]:
    """Depths among nodes of groups in cycles, 0 for others; and counts, 1 for others."""
    depths, chains, inside = list[int](), list[dict[int, int]](), circling(of, below)
    for entry, operands in zip(of, below, strict=True):
        if entry not in inside:
            depths.append(0)
            chains.append({entry: 1})
            continue
        operands = [x for x in operands if of[x] in inside]
        depths.append(max([depths[x] + 1 for x in operands], default=0))
        most: dict[int, int] = {}
        for x in operands:
            for e, n in chains[x].items():
                most[e] = max(most.get(e, 0), n)
        most[entry] = most.get(entry, 0) + 1
        chains.append(most)
    return depths, [chains[i][entry] for i, entry in enumerate(of)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("wide", [True, False])
def test_counts_are_the_longest_chains(seed: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    of, below = drawn(Random(seed))
    depths, own = slowly(of, below)
    if not wide:
        monkeypatch.setattr(grouping, "_MOST", 0)
        own = [d + 1 for d in depths]
    found = ChainCounts(record(of, below))
    counts = found.own()
    assert counts is not None
    assert counts.tolist() == own
    assert found.depths().tolist() == depths


@pytest.mark.parametrize(
    ("chains", "length", "counted"), [(1, 8, True), (1, 9, False), (2, 600, True), (3, 9, True)]
)
def test_a_narrow_graph_is_not_counted(chains: int, length: int, counted: bool) -> None:
    of = [0] * chains + [1] * chains * (length - 1)
    below = [[] if i < chains else [i - chains] for i in range(chains * length)]
    assert (ChainCounts(record(of, below)).own() is not None) is counted


@pytest.mark.parametrize("seed", range(30))
def test_launches_are_in_order_and_of_one_group_each(seed: int) -> None:
    """Also where groups that are in a cycle take turns: no node runs before, or with, what it reads."""
    of, below = drawn(Random(seed))
    graph = record(of, below)
    launches = grouping.grouped(graph)
    if launches is None:
        return
    found = launches.tolist()
    assert all(found[x] < found[i] for i, operands in enumerate(below) if found[i] >= 0 for x in operands)
    group_of: dict[int, int] = {}
    assert all(group_of.setdefault(found[i], of[i]) == of[i] for i in range(len(of)) if found[i] >= 0)


def test_groups_of_a_cycle_take_turns() -> None:
    """Two kinds in turn on chains of unlike phase: by depth each kind would run at each depth."""
    of, below = list[int](), list[list[int]]()
    for chain, phase in enumerate((0, 1, 0, 1)):
        for step in range(12):
            of.append((step + phase) % 2)
            below.append([chain * 12 + step - 1] if step else [])
    of = [e + 1 if x else 0 for e, x in zip(of, below, strict=True)]
    launches = grouping.grouped(record(of, below))
    assert launches is not None
    assert launches.max() + 1 <= 1 + 12  # 1 + 2 * 11 by depth
