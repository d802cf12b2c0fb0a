"""Which tests one worker of pytest-xdist takes as a whole, and which files begin first.

Knows: that a file's fixtures are made once where one worker has all of it, that all type cases share the runs of mypy,
that what begins last and takes long is waited for, and that workers share the cores and what each has compiled.
Refuses to know: what a test does.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, MutableMapping, Sequence
from typing import Any, Final, SupportsIndex

import pytest
from xdist.scheduler import LoadFileScheduling

TYPES: Final = "typecheck/"
FIRST: Final = (  # files that take tens of seconds, most of them for other processes
    TYPES,
    "tests/cluster/test_rays.py",
    "tests/test_benchmarks.py",
    "tests/test_versions.py",
    "tests/test_bugs.py",
    "tests/test_site.py",
    "tests/mypy_plugin/",
    "tests/executors/test_executors.py",
    "tests/run/test_plans_operations.py",
    "tests/ops/test_gradients.py",
    "tests/run/test_thrown.py",
    "tests/run/batching/test_rules.py",
    "tests/run/test_plans_examples.py",
    "tests/run/batching/test_dtypes.py",
    "tests/run/test_parallel_conformance.py",
    "tests/test_",
)


class Collection(list[str]):
    """The names of the tests that a worker has, which know their places: `list.index` goes through all of them."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self._places = {name: i for i, name in reversed([*enumerate(self)])}

    def index(self, name: str, *within: SupportsIndex) -> int:
        return super().index(name, *within) if within else self._places[name]


class ByFile(LoadFileScheduling):  # type: ignore[misc] # pytest-xdist ships no types
    """A file to a worker; the type cases to one.

    For each test that ends pytest-xdist counts what is left of all files that its worker has had, and looks through
    all tests for each that it gives away: 6 of 47 seconds of CPU time for 18,000 tests that do nothing.
    """

    def _split_scope(self, nodeid: str) -> str:  # the name by which pytest-xdist asks
        return TYPES if nodeid.startswith(TYPES) else str(super()._split_scope(nodeid))

    def add_node_collection(
        self, node: Any, collection: Sequence[str]
    ) -> None:  # Any: a worker of pytest-xdist's
        super().add_node_collection(node, collection)
        if node in self.registered_collections:
            self.registered_collections[node] = Collection(collection)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:  # Any: as above
        super().mark_test_complete(node, item_index, duration)
        work = self.assigned_work[node]
        file = self._split_scope(self.registered_collections[node][item_index])
        if all(work[file].values()):  # done with: it is neither counted again nor given to another worker
            del work[file]


def share_cores(environment: MutableMapping[str, str]) -> None:
    """One thread of BLAS a worker: threads of several workers on the same cores wait for each other in loops.

    With two threads each, 400 small steps of `tests/test_benchmarks.py` took 71 seconds of CPU time, with one 5.
    Whoever sets the number decides.
    """
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")


def file_of(item: pytest.Item) -> str:
    """The name of an item's file."""
    return item.nodeid.partition("::")[0]


def rank(nodeid: str) -> int:
    """Place in the order of files: those of `FIRST` in theirs, all others behind."""
    return next((i for i, name in enumerate(FIRST) if nodeid.startswith(name)), len(FIRST))


class Plugin:
    """What pytest asks for, where there are workers.

    One that reads `backwards` begins with the last file: pytest rewrites the assertions of each file that it has not
    seen before, 12 s in all; two workers that begin at both ends rewrite half of the files each.
    """

    def __init__(self, backwards: bool = False) -> None:
        self.backwards = backwards

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """What a folder has, from its end."""
        report = yield
        if self.backwards and isinstance(collector, pytest.Session | pytest.Directory):
            report.result.reverse()
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_collection_modifyitems")
    def pytest_in_one_order(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Files by name, before they are put into an order by chance: workers must agree."""
        items.sort(key=file_of)
        yield

    @pytest.hookimpl(trylast=True)  # after they have been put into an order by chance
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """What takes long comes first; the rest stays in its order."""
        items.sort(key=lambda item: rank(item.nodeid))

    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Any
    ) -> ByFile:  # Any: of pytest-xdist's own
        """Files by their order, not by how many tests they have."""
        config.option.loadscopereorder = False
        return ByFile(config, log)
