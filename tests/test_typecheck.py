"""The type cases under `typecheck/`, in one run of mypy, and the tests in which their runner must fail.

Knows: where the cases are.
Refuses to know: what they say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.typecases import Case, Error, cases_in, check, outside, problems

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "typecheck").glob("*.py"))
CASES = [case for path in FILES for case in cases_in(path)]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def answers() -> dict[Path, list[Error]]:
    """What mypy says of every file."""
    return check(FILES, ROOT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}:{case.name}")
def test_type_case(case: Case, answers: dict[Path, list[Error]]) -> None:
    found = problems(case, answers)
    assert not found, f"{case.path.name}:\n" + "\n".join(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_wrong_outside_the_cases(path: Path, answers: dict[Path, list[Error]]) -> None:
    assert not outside(path, answers)
    assert cases_in(path), "a file without cases is not a file of cases"


WRONG = """
import wengert as wg
import no_such_module  # helper of the last test: mypy sees nothing behind it

def case_accepted_but_marked() -> None:
    x: int = 1  # E[assignment]

def case_refused_but_not_marked() -> None:
    x: int = "one"

def case_refused_with_another_code() -> None:
    x: int = "one"  # E[arg-type]

def case_refused_with_another_text() -> None:
    x: int = "one"  # E[assignment]: incompatible with the moon

def case_right() -> None:
    x: int = "one"  # E[assignment]: Incompatible types
    y: int = "one"  # E
"""


def verdicts(text: str, folder: Path) -> dict[str, list[str]]:
    """What the runner says of each case in a file of this text."""
    path = folder / "wrong_cases.py"
    path.write_text(text, encoding="utf-8")
    # the repository's configuration, without its list of files
    errors = check([path], ROOT, "--cache-dir", str(folder / "cache"))
    return {case.name: problems(case, errors) for case in cases_in(path)}


def test_the_runner_fails_where_it_must(tmp_path: Path) -> None:
    said = verdicts(WRONG.replace("import no_such_module", "# none"), tmp_path)
    assert "accepted, but must be refused" in said["case_accepted_but_marked"][0]
    assert "unexpected [assignment]" in said["case_refused_but_not_marked"][0]
    assert "differs: got [assignment]" in said["case_refused_with_another_code"][0]
    assert "differs: got [assignment]" in said["case_refused_with_another_text"][0]
    assert said["case_right"] == []


def test_the_runner_passes_nothing_where_an_import_fails(tmp_path: Path) -> None:
    said = verdicts(WRONG, tmp_path)
    assert all("mypy cannot see" in found[0] for found in said.values())


def test_the_runner_says_when_mypy_itself_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mypy failed"):
        check([tmp_path / "missing.py"], ROOT)
