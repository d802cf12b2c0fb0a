"""Mistakes in programs of blocks: mypy accepts every right one, and refuses each wrong one in the words of the run."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from benchmarks import judges
from benchmarks.judges import Finding
from benchmarks.timing import ROOT
from benchmarks.twins import Twin, all_in

FOLDER = ROOT / "typecheck" / "block_bugs"
TWINS = {twin.name: twin for twin in all_in(FOLDER)}

# where mypy says the same in other words: what is written is not seen, or is checked at another block
OTHER_WORDS = {
    "computed_choice_of_two_widths": "the output of the cases",
    "dict_of_a_vector": "its input is float32 (2,); it takes data, or a tuple",
    "mean_of_integers": "the mean of integers is no integer",
    "name_missing_in_the_data": "has nothing under 'b'",
    "reading_twice": "is float32 (), but the input of <td.Vector> is object",
    "slice_of_what_has_no_end": "its input is endless float32 (), of which a slice takes nothing",
    "two_arguments_of_one": "its input is float32 (), and a function of 2 arguments does not take that",
    "two_arguments_of_three": "and a function of 2 arguments does not take that",
    "width_changed_in_the_state_only": "the state is float32 (4,), but the output of <td.FC>",
}


def plain(text: str) -> str:
    """A message with no more of a block than its name, and without the block that it is of."""
    said = re.sub(r"<td\.(\w+)[^<>]*>", r"<td.\1>", text.replace("=<lambda>", ""))
    return said.partition(">: ")[2] or said


def executed(program: str, name: str) -> str:
    """The first line of what a program raises, or nothing."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program, name, "exec"), {"__name__": name})
    except Exception as error:
        return str(error).partition("\n")[0]
    return ""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """What mypy says of all programs."""
    folder: Path = tmp_path_factory.mktemp("blocks")
    for twin in TWINS.values():
        (folder / f"right_{twin.name}.py").write_text(twin.right, encoding="utf-8")
        (folder / f"wrong_{twin.name}.py").write_text(twin.wrong, encoding="utf-8")
    said = judges.mypy(folder, True, folder)
    return {name: list(found) for name, found in said.items()}


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_the_right_program_runs_and_the_wrong_one_is_refused_by_the_run(twin: Twin) -> None:
    assert executed(twin.right, twin.name) == ""
    assert executed(twin.wrong, twin.name) != ""


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_mypy_says_what_the_run_says(twin: Twin, answers: dict[str, list[Finding]]) -> None:
    assert answers.get(f"right_{twin.name}.py", []) == []
    found = [x.text for x in answers.get(f"wrong_{twin.name}.py", []) if x.line in twin.lines]
    assert found, "accepted"
    wanted = OTHER_WORDS.get(twin.name) or plain(executed(twin.wrong, twin.name))
    assert wanted in plain(found[0]) or wanted in found[0]


def test_there_are_enough_and_no_exception_is_left_over() -> None:
    assert len(TWINS) >= 60
    assert OTHER_WORDS.keys() <= TWINS.keys()
