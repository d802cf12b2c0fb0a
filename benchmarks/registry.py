"""All workloads by name.

Knows: the list.
Refuses to know: anything about one of them.
"""

from __future__ import annotations

from typing import Final

from benchmarks import (
    beside,
    blocks,
    branches,
    child_sum,
    columns,
    directions,
    extended,
    images,
    lengths,
    nets,
    norms,
    overhead,
    prepared,
    table_one,
    treebank,
    trees,
)
from benchmarks.ports import registry as ports
from benchmarks.workload import Workload

WORKLOADS: Final[dict[str, Workload]] = {
    workload.name: workload
    for several in (
        overhead.WORKLOADS,
        lengths.WORKLOADS,
        beside.WORKLOADS,
        extended.WORKLOADS,
        norms.WORKLOADS,
        columns.WORKLOADS,
        images.WORKLOADS,
        nets.WORKLOADS,
        trees.WORKLOADS,
        table_one.WORKLOADS,
        treebank.WORKLOADS,
        blocks.WORKLOADS,
        child_sum.WORKLOADS,
        prepared.WORKLOADS,
        directions.WORKLOADS,
        branches.WORKLOADS,
        ports.WORKLOADS,
    )
    for workload in several
}
