"""The type cases and the plugin's tests on the oldest mypy and the oldest numpy that are supported.

The newest ones are what everything else runs on. Both ranges are those of `pyproject.toml`.

Knows: how an environment with other versions is made.
Refuses to know: what is tested there.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.wheel import ROOT, environment

pytestmark = pytest.mark.slow


def oldest() -> list[str]:
    """The requirements that bring the oldest supported versions, from the lower bounds of the project's own."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    given = [*project["dependencies"], *project["optional-dependencies"]["mypy"]]
    bounds = [re.fullmatch(r"(mypy|numpy)>=(\d+\.\d+),<\d+", requirement) for requirement in given]
    return [f"{bound[1]}=={bound[2]}.*" for bound in bounds if bound]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that sees the oldest versions, and whatever else is installed here."""
    found = environment(tmp_path_factory.mktemp("oldest") / "venv", "mypy", "mypyc", "numpy")
    options = (
        "--quiet",
        "--retries=1",
        "--only-binary=:all:",
        "--no-compile",
    )  # most of numpy is never imported
    done = subprocess.run(
        [found, "-m", "pip", "install", *options, *oldest()], capture_output=True, text=True
    )
    if "from versions: none" in done.stderr:
        pytest.skip(f"the package index cannot be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return found


def passes(python: Path, cache: Path, *tests: str) -> None:
    """Run tests of this checkout there; the output names the versions."""
    known = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MYPY_CACHE_DIR": str(cache)}
    code = "import mypy.version, numpy; print('mypy', mypy.version.__version__, 'numpy', numpy.__version__)"
    named = subprocess.run([python, "-c", code], env=known, capture_output=True, text=True)
    options = ["-q", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [python, "-m", "pytest", *options, *tests], cwd=ROOT, env=known, capture_output=True, text=True
    )
    print(named.stdout, done.stdout)
    pinned = [requirement.replace("==", " ").removesuffix("*") for requirement in oldest()]
    assert all(version in named.stdout for version in pinned), f"{pinned}: {named.stdout}"
    assert done.returncode == 0, named.stdout + done.stdout + done.stderr


def test_both_oldest_versions_are_pinned() -> None:
    assert [requirement.partition("==")[0] for requirement in oldest()] == ["numpy", "mypy"]


def test_type_cases_hold_on_the_oldest_versions(python: Path, tmp_path: Path) -> None:
    """Those with the project's configuration; each other one is a run of mypy over the library again."""
    others = [path.parent.relative_to(ROOT) for path in (ROOT / "typecheck").glob("*/mypy.ini")]
    assert others
    passes(python, tmp_path, "typecheck", *(f"--ignore={path}" for path in others))


@pytest.mark.nightly
def test_type_cases_of_every_configuration_hold_on_the_oldest_versions(python: Path, tmp_path: Path) -> None:
    passes(python, tmp_path, "typecheck")


@pytest.mark.nightly
def test_all_of_the_plugin_holds_on_the_oldest_versions(python: Path, tmp_path: Path) -> None:
    passes(python, tmp_path, "tests/mypy_plugin")
