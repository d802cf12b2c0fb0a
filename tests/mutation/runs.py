"""Mutants against tests: each in a process of its own, which begins where numpy and pytest are imported already.

Knows: that a module is replaced before anything imports it, that a mutant is found if pytest fails or does not end,
and that a score means nothing unless the tests pass without a mutant.
Refuses to know: what a mutant changes, and which tests belong to which module.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

QUICK, SLOW = "not slow and not nightly and not gpu", "slow and not nightly and not gpu"
_SLOWER = 8  # times as long as the quick tests, or a mutant that slow tests pass would seem to be found
_MEMORY = 6 << 30  # bytes a process; a mutant may never stop to allocate


@dataclass(frozen=True)
class Job:
    """A module, the tree in its place (None: its own), the tests that ought to notice, and a name for the report."""

    module: str
    path: Path
    tree: ast.Module | None
    tests: tuple[str, ...]
    name: str
    marks: str = QUICK  # a mutant that these tests do not find meets the slow ones


@dataclass
class Score:
    """Which mutants were found."""

    found: list[Job] = field(default_factory=list)
    survived: list[Job] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The part that was found."""
        return len(self.found) / (len(self.found) + len(self.survived))


class _Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another code; its file, its name and everything else stay."""

    def __init__(self, module: str, path: Path, code: CodeType) -> None:
        self.module, self.path, self.code = module, path, code

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        package = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=package
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, vars(module))


def ran(job: Job, limit: float) -> Callable[[], bool | None]:
    """Start a job; what is given says whether its tests passed, None while they run."""
    limit *= _SLOWER if job.marks == SLOW else 1
    begun, pid = time.monotonic(), os.fork()
    if pid == 0:
        _run(job, limit)

    def ask() -> bool | None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status == 0
        if time.monotonic() - begun > limit:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        return None

    return ask


def _run(job: Job, limit: float) -> None:
    """In the new process: never comes back."""
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))  # also if nobody waits any more
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    quiet = os.open(os.environ.get("MUTANT_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    code = 1
    try:
        if job.tree is not None:
            compiled = compile(job.tree, str(job.path), "exec")
            sys.meta_path.insert(0, _Replaced(job.module, job.path, compiled))
        import pytest  # imported already, before the fork

        options = [
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            "--no-header",
            "-m",
            job.marks,
        ]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is imported already
        code = int(pytest.main([*options, *job.tests]))
        code = 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED and job.marks == SLOW else code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def score(jobs: Iterable[Job], limit: float, workers: int, tell: Callable[[str], object] = print) -> Score:
    """Run every job; mutants whose tests passed have survived."""
    waiting = list(jobs)[::-1]
    running: dict[str, tuple[Job, Callable[[], bool | None]]] = {}
    result = Score()
    quick = {job.name for job in waiting if job.marks == QUICK}
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop()
            running[job.name] = (job, ran(job, limit))
        time.sleep(0.02)
        for name, (job, ask) in list(running.items()):
            passed = ask()
            if passed is None:
                continue
            del running[name]
            if passed and name in quick:
                quick.remove(name)
                waiting.append(replace(job, marks=SLOW))
                continue
            (result.survived if passed else result.found).append(job)
            if passed:
                tell(f"survived: {name}")
    return result


def must_pass(tests: Sequence[tuple[str, ...]], limit: float) -> None:
    """Every set of tests passes without a mutant."""
    jobs = [Job("", Path(), None, names, " ".join(names)) for names in dict.fromkeys(tests)]
    failed = score(jobs, limit, 1, lambda text: None).found
    if failed:
        raise AssertionError(f"without any mutant these tests fail: {[job.name for job in failed]}")
