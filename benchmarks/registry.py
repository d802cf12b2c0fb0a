"""All workloads by name.

Knows: the list.
Refuses to know: anything about one of them.
"""

from __future__ import annotations

from typing import Final

from benchmarks import columns, overhead
from benchmarks.workload import Workload

WORKLOADS: Final[dict[str, Workload]] = {w.name: w for w in (*overhead.WORKLOADS, *columns.WORKLOADS)}
