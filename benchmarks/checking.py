"""What type-checking takes: generated models with the plugin and without it, and our own type cases.

Cold is a run without any cache, numpy's and the library's own sources included; warm is the next one; touched
is one after an edit of the model. A round has every state of every configuration once, in turn.

Knows: how mypy is started, which state each run finds, and that a plugin that finds nothing proves nothing.
Refuses to know: what a model looks like.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.models import model, operations, spoiled
from benchmarks.report import Line
from benchmarks.timing import ROOT, Spread, children_seconds, keeping_bytecode
from wengert.testing.typecases import cases_in

WITH, WITHOUT = "the plugin", "mypy without the plugin"
SPOILED: Final = "spoiled"
STATES = COLD, WARM, TOUCHED = "cold", "warm", "touched"
LINES: Final = (200, 1000)
RATIO: Final = 1.25  # of mypy's own time, the greatest that the plugin may make of it
MOST: Final = {
    (200, COLD): 10.0,
    (200, WARM): 1.0,
    (1000, COLD): 10.0,
    (1000, WARM): 1.0,
    (1000, TOUCHED): 4.0,
}
MOST_CASES: Final = {COLD: 15.0, WARM: 4.0}
COLLECTOR: Final = ("--strict", "-O", "json")
CONFIGURATION: Final = f"""[mypy]
strict = true
mypy_path = {ROOT / "src"}:{ROOT / "stubs"}
enable_error_code = truthy-bool, unused-awaitable, ignore-without-code
"""


@dataclass(frozen=True)
class Taken:
    """Seconds of one run of mypy."""

    cpu: float
    wall: float


Found = dict[tuple[str, str], list[Taken]]  # by configuration and state


class Home:
    """A temporary folder with projects and with the bytecode of the plugin, which a first run makes.

    `libraries` has caches in which mypy has read the library, with the plugin and without it; whoever times a cold run
    gives none.
    """

    def __init__(self, folder: Path, libraries: Mapping[bool, Path] | None = None) -> None:
        self.folder = folder
        self.libraries = libraries or {}
        self.environment = keeping_bytecode(folder / "bytecode")

    def checked(self, files: Sequence[Path], cache: Path, *options: str) -> tuple[Taken, str]:
        """One run of mypy, and what it says."""
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *options, *map(str, files)]
        before, start = children_seconds(), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=self.environment)
        taken = Taken(children_seconds() - before, time.perf_counter() - start)
        if done.returncode not in (0, 1) or done.stderr.strip():
            raise RuntimeError(f"mypy failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        return taken, done.stdout


class Project:
    """A model, and mypy's configuration and cache for it."""

    def __init__(self, home: Home, name: str, source: str, plugin: bool) -> None:
        folder = home.folder / name
        folder.mkdir()
        self.home = home
        self.cache = folder / "cache"
        if plugin in home.libraries:
            shutil.copytree(home.libraries[plugin], self.cache)
        self.file = folder / "model.py"
        self.file.write_text(source)
        self.configuration = folder / "mypy.ini"
        self.configuration.write_text(CONFIGURATION + "plugins = wengert_mypy\n" * plugin)

    def checked(self) -> tuple[Taken, str]:
        """One run of mypy as the project is, and what it says."""
        return self.home.checked([self.file], self.cache, "--config-file", str(self.configuration))

    def state(self, state: str) -> Taken:
        """The time of a run that finds the project so."""
        if state == COLD:
            shutil.rmtree(self.cache, ignore_errors=True)
        if state == TOUCHED:
            self.file.write_text(self.file.read_text() + "# touched\n")
        taken, said = self.checked()
        if "Success" not in said:
            raise AssertionError(f"the model is refused, so its times are of something else:\n{said}")
        return taken


def check_finding(home: Home, source: str) -> str:
    """A sentence that the plugin is at work; AssertionError if a wrong size passes it."""
    _, said = Project(home, SPOILED, source, plugin=True).checked()
    found = [line for line in said.splitlines() if line.endswith("[shape]")]
    if not found:
        raise AssertionError(f"a wrong size passes, so the times are of mypy alone:\n{said}")
    return f"checking: a wrong size in the model is found: {found[0].partition(': error: ')[2]}"


def measured(projects: Mapping[str, Project], rounds: int) -> Found:
    """The times of each configuration in each state."""
    found: Found = {}
    for _ in range(rounds):
        for state in STATES:
            for name, project in projects.items():
                found.setdefault((name, state), []).append(project.state(state))
    return found


def line(what: str, found: Found, state: str) -> Line:
    """CPU seconds with the plugin and without it, and the ratio of each round."""
    ours, theirs = ([t.cpu for t in found[name, state]] for name in (WITH, WITHOUT))
    ratio = Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
    bar = None if state == WARM else RATIO  # a warm run checks nothing: it is mypy's start
    return Line(f"{what}, {state}", WITHOUT, "s", Spread.of(ours), Spread.of(theirs), ratio, bar)


def most(seconds: Sequence[Taken], bar: float | None) -> str:
    """Wall time beside the greatest that is accepted."""
    wall = Spread.of([t.wall for t in seconds])
    said = "" if bar is None else f", at most {bar:g}: {'met' if wall.median <= bar else 'MISSED'}"
    return f"  {wall.median:9.3f} s of wall time ({wall.low:.3f} to {wall.high:.3f}){said}"


def timed(rounds: int) -> list[Line]:
    """Everything, printed as it is found."""
    made: list[Line] = []
    with TemporaryDirectory() as folder:
        home = Home(Path(folder))
        print(check_finding(home, spoiled(model(LINES[0]))))
        for count in LINES:
            source = model(count)
            projects = {
                name: Project(home, f"{count} {name}", source, plugin=name == WITH)
                for name in (WITH, WITHOUT)
            }
            what = f"checking: {len(source.splitlines())} lines, {operations(source)} operations"
            found = measured(projects, rounds)
            for state in STATES:
                made.append(line(what, found, state))
                print(f"{what}, {state}; CPU time\n{made[-1].text()}")
                print(most(found[WITH, state], MOST.get((count, state))), flush=True)
        timed_cases(home, rounds)
    return made


def timed_cases(home: Home, rounds: int) -> None:
    """The type cases of `typecheck/` that share a configuration, in one run as their collector makes it."""
    written = sorted((ROOT / "typecheck").rglob("*.py"))
    files = [path for path in written if not _configured_apart(path) and cases_in(path)]
    cache = home.folder / "cases"
    found: dict[str, list[Taken]] = {COLD: [], WARM: []}
    for _ in range(rounds):
        shutil.rmtree(cache, ignore_errors=True)
        for seconds in found.values():
            seconds.append(home.checked(files, cache, *COLLECTOR)[0])
    for state, seconds in found.items():
        print(f"checking: {sum(len(cases_in(path)) for path in files)} type cases, {state}")
        print(most(seconds, MOST_CASES[state]), flush=True)


def _configured_apart(path: Path) -> bool:
    return any((folder / "mypy.ini").is_file() for folder in path.parents)


def quick(libraries: Mapping[bool, Path] | None = None) -> None:
    """Every configuration once, untimed."""
    with TemporaryDirectory() as folder:
        home = Home(Path(folder), libraries)
        print(check_finding(home, spoiled(model(LINES[0]))))
        for name in (WITH, WITHOUT):
            Project(home, name, model(LINES[0]), plugin=name == WITH).state(TOUCHED)
            print(f"ran: checking: {name}")
