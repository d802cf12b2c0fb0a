"""Mutants against tests: each in a process of its own, which begins where numpy and pytest are imported already.

Knows: that a module is replaced before anything imports it, that a mutant is found if a test fails or does not end,
and that a score means nothing unless the tests pass without a mutant.
Refuses to know: what a mutant changes, and which tests belong to which module.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from pathlib import Path

import hypothesis
import numpy  # noqa: F401 # before the forks, so that no process has to import it
import pytest

from .mutants import Mutant, mutated
from .processes import Process, Tell, allow
from .reach import Reach, Recorder
from .replaced import Replaced, refuse_imported

# What only a slow test would find counts as a survivor; that hypothesis is imported already is no warning here.
_OPTIONS = shlex.split(
    "-q --no-header -n 0 -p no:randomly -p no:cacheprovider -p no:faulthandler --hypothesis-profile=mutation "
    "-m 'sampled or not slow' -W ignore::pytest.PytestAssertRewriteWarning"
)


@dataclass(frozen=True)
class Job:
    """A module's file, its text, what is changed in it, and a name for the report."""

    path: Path
    source: str
    mutant: Mutant
    name: str


@dataclass
class Score:
    """Which mutants were found, and where; and which were not."""

    found: dict[str, str] = field(default_factory=dict)
    survived: list[str] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The part that was found."""
        return len(self.found) / (len(self.found) + len(self.survived))

    @property
    def interval(self) -> tuple[float, float]:
        """Where the ratio of all mutants is, with a confidence of 95 %, if these were drawn (Wilson 1927)."""
        n, z = len(self.found) + len(self.survived), 1.96
        middle, whole = self.ratio + z * z / n / 2, 1 + z * z / n
        half = z * sqrt(self.ratio * (1 - self.ratio) / n + (z / n / 2) ** 2)
        return (middle - half) / whole, (middle + half) / whole


class _Chosen:
    """A plugin of pytest: these tests in this order, each with ten times the seconds that it needs, and some."""

    def __init__(self, order: Sequence[str], reach: Reach, tell: Tell) -> None:
        self.order, self.reach, self.tell = {name: i for i, name in enumerate(order)}, reach, tell

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda x: self.order[x.nodeid]
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.tell(item.nodeid)
        allow(10 * self.reach.cpu[item.nodeid] + 5, 10 * self.reach.wall[item.nodeid] + 30)
        return (yield)


def recorded(tests: Sequence[str], files: Sequence[Path]) -> Reach:
    """What the tests do without a mutant; an `AssertionError` if one of them fails."""
    refuse_imported(files)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "reach")

        def record(tell: Tell) -> int:
            allow(3600, 7200)
            _quietly()
            recorder = Recorder(files)
            code = pytest.main([*_OPTIONS, *tests], plugins=[recorder])
            tell(", ".join(recorder.failed) or "collection")
            recorder.reach.save(kept)
            return code

        process = Process(record)
        failed = process.failure(os.waitpid(process.pid, 0)[1])
        if failed:
            raise AssertionError(f"without any mutant: {failed}")
        return Reach.load(kept)


def score(
    jobs: Iterable[Job], reach: Reach, workers: int = 1, tell: Callable[[str], object] = print
) -> Score:
    """Run every job; a mutant has survived if all tests that could notice it have passed."""
    waiting = list(jobs)[::-1]
    for name in reach.modules:
        with contextlib.suppress(ImportError):  # some are made at run time
            importlib.import_module(name)
    refuse_imported([job.path for job in waiting])
    running: dict[int, tuple[Job, Process]] = {}
    result = Score()
    try:
        while waiting or running:
            if waiting and len(running) < workers:
                job = waiting.pop()
                process = Process(partial(_tested, job, reach))
                running[process.pid] = job, process
                continue
            pid, status = os.waitpid(-1, 0)
            job, process = running.pop(pid)
            if failure := process.failure(status):
                result.found[job.name] = failure
            else:
                result.survived.append(job.name)
            tell(f"{job.name}: {failure or 'survived'}")
    finally:
        for _, process in running.values():
            process.kill()
    return result


def _tested(job: Job, reach: Reach, tell: Tell) -> int:
    """In the new process: the tests that could notice a mutant, up to the first that does."""
    order = reach.order(job.path, job.mutant.lines)
    if not order:
        return 0  # no test gets there
    tell("import")
    _quietly()
    code = compile(mutated(job.source, job.mutant), str(job.path), "exec")
    Replaced({str(job.path): (code, {})})
    files = dict.fromkeys(name.partition("::")[0] for name in order)
    status = pytest.main([*_OPTIONS, "-x", *files], plugins=[_Chosen(order, reach, tell)])
    return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else status


def _quietly() -> None:
    """Tests of drawn examples draw the same in each process, with no eye on the clock and on former failures."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # a failure is enough, however large
    hypothesis.settings.register_profile(
        "mutation", derandomize=True, deadline=None, database=None, phases=phases
    )
