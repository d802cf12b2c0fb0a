"""The order of files, and what one worker takes as a whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.scheduling import FIRST, TYPES, ByFile, Collection, rank, share_cores

ROOT = Path(__file__).resolve().parent.parent
TEST = "import pytest\n\n\n@pytest.mark.parametrize('x', range(6))\ndef test(x: int) -> None:\n    pass\n"
CONFTEST = """\
import os

from tests.scheduling import Plugin


def pytest_configure(config):
    config.pluginmanager.register(Plugin(backwards=os.environ.get("PYTEST_XDIST_WORKER") == "gw1"))
"""


def test_what_takes_long_comes_first() -> None:
    assert rank("typecheck/a.py::case") == 0
    assert rank("tests/mypy_plugin/test_states.py::test") < rank("tests/test_docs.py::test")
    assert rank("tests/run/test_cell.py::test") == len(FIRST)


def test_what_begins_first_is_there() -> None:
    assert [name for name in FIRST if not list(ROOT.glob(f"{name.rstrip('/')}*"))] == []


def test_a_worker_has_one_thread_of_blas_unless_somebody_says_otherwise() -> None:
    unset, chosen = dict[str, str](), {"OPENBLAS_NUM_THREADS": "4"}
    share_cores(unset)
    share_cores(chosen)
    assert (unset, chosen) == ({"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "4"})
    assert "PYTEST_XDIST_WORKER" not in os.environ or "OPENBLAS_NUM_THREADS" in os.environ


class Worker:
    """One as pytest-xdist has it, that does nothing."""

    shutting_down = False

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.gateway = SimpleNamespace(id="gw")

    def send_runtest_some(self, places: list[int]) -> None:
        self.sent += places

    def shutdown(self) -> None:
        self.shutting_down = True


class Options:
    """What a scheduler asks of pytest's configuration."""

    option = type("Option", (), {"loadscopereorder": False})

    def getvalue(self, name: str) -> list[str]:
        return {"tx": ["popen", "popen"]}[name]


def test_what_is_done_with_is_forgotten_and_what_a_dead_worker_leaves_is_done_by_another() -> None:
    names = [f"tests/test_{file}.py::test[{x}]" for file in "abcdef" for x in range(4)]
    first, second = workers = [Worker(), Worker()]
    scheduler: Any = ByFile(cast("pytest.Config", Options()))  # Any: of workers that do nothing
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, names)
    scheduler.schedule()
    for i in range(5):  # more is sent as less is left
        scheduler.mark_test_complete(first, first.sent[i])
    given = dict[str, Any](scheduler.assigned_work)
    assert list(scheduler.assigned_work[first]) == ["tests/test_c.py"], given
    died_in = scheduler.remove_node(first)
    assert died_in == names[first.sent[5]]
    for place in second.sent:  # grows, until nothing is left
        scheduler.mark_test_complete(second, place)
    assert scheduler.tests_finished and second.shutting_down
    done = [*first.sent[:5], *second.sent]
    assert sorted(done) == list(range(len(names)))


def test_a_collection_finds_the_first_place_of_a_name_as_a_list_does() -> None:
    names = ["a", "b", "a"]
    assert [Collection(names).index(x) for x in "ab"] == [0, 1] and Collection(names).index("a", 1) == 2
    with pytest.raises(KeyError):
        Collection(names).index("c")


@pytest.mark.slow
def test_a_file_is_one_workers_and_so_are_the_type_cases(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "typecheck/d", "typecheck/e"):
        path = tmp_path / f"{name}/test_{name[-1]}.py"
        path.parent.mkdir(parents=True)
        path.write_text(TEST)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-n", "2", "-v", "-p", "no:cacheprovider", "-p", "no:randomly"]
    command += ["a", "b", "c", "typecheck"]  # one worker reads them backwards: both have to have one order
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    found: dict[str, set[str]] = {}
    for worker, path in re.findall(r"^\[(gw\d)\] .* PASSED (\S+)::", done.stdout, re.MULTILINE):
        found.setdefault(TYPES if path.startswith(TYPES) else path, set()).add(worker)
    assert len(found) == 4, done.stdout + done.stderr
    assert all(len(workers) == 1 for workers in found.values()), found
