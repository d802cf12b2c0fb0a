"""The seeded bugs: every right program is accepted, enough wrong ones are refused, and their judge can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import bugs
from benchmarks.bugs import JUDGES, PLAIN, PLUGIN, PYREFLY, RUN, Verdict, judged, main, passed, report
from benchmarks.judges import Finding
from benchmarks.twins import FOLDER, Twin, all_in, read
from tests.mypy_plugin.checking import advised_cache

# what types do not say: which axis or function is meant, what an input of unknown shape holds, how long the axes of a
# numpy array are, what numpy's stubs call Any, and that a condition on `X | None` is meant as `is not None`
NOT_FOUND = {
    "class_axis_of_segmentation",
    "contrastive_labels_of_a_column",
    "default_state_by_or",
    "layers_behind_an_input_without_a_shape",
    "loss_in_a_condition",
    "loss_of_an_argmax",
    "softmax_before_cross_entropy",
    "softmax_over_the_batch",
    "softmax_over_the_queries",
    "statement_and_array_differ",
    "td_target_of_another_rank",
    "value_of_the_action_taken_with_one_axis",
}

NUMBERS = '''"""A number is a text."""

# bug: x: int = "one"
x: int = 1
# bug:
print(x)
'''


def twin(tmp_path: Path, name: str, text: str) -> Twin:
    path = tmp_path / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return read(path)


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy keeps of the library, read once."""
    home = tmp_path_factory.mktemp("caches")
    for name, plugin in (("with_plugin", True), ("plain", False)):
        advised_cache(tmp_path_factory.getbasetemp(), plugin, home / f"cache_{name}")
    return home


@pytest.mark.slow
def test_right_programs_pass_and_mistakes_are_found(caches: Path) -> None:
    verdicts = judged(all_in(FOLDER), caches)
    assert len(verdicts) >= 304
    assert passed(verdicts), report(verdicts)
    assert {v.twin.name for v in verdicts if v.found[PLUGIN] is None} == NOT_FOUND
    plain = sum(v.found[PLAIN] is not None for v in verdicts)
    assert plain < sum(v.found[PLUGIN] is not None for v in verdicts)


@pytest.mark.slow
def test_the_judge_can_fail(tmp_path: Path, caches: Path) -> None:
    text = '"""No mistake."""\n\n# bug: x: int = 2\nx: int = 1\nprint(x)\n'
    harmless = twin(tmp_path, "harmless", text)
    elsewhere = twin(
        tmp_path, "elsewhere", text.replace("x: int = 2", "x = 'one'").replace("1\n", "1\ny: int = x\n")
    )
    refused = twin(tmp_path, "refused", text.replace("x: int = 1", "x: int = 'one'").replace("print", "int"))
    shown = twin(tmp_path, "shown", elsewhere.right.replace("y: int = x", "y: int = x  # shows"))
    found = twin(tmp_path, "found", NUMBERS)
    by_name = {v.twin.name: v for v in judged([harmless, elsewhere, refused, shown, found], caches)}
    assert set(by_name["harmless"].found.values()) == {None}
    assert not by_name["harmless"].false_alarms
    assert by_name["elsewhere"].found[PLUGIN] is None, "what mypy says of other lines does not count"
    shows = by_name["shown"].found[PLUGIN]
    assert shows is not None
    assert (shows.line, shows.code) == (5, "assignment")
    alarms = "\n".join(by_name["refused"].false_alarms)
    assert all(f"the right program is refused, {judge}" in alarms for judge in JUDGES)
    assert {judge: by_name["found"].found[judge] is not None for judge in JUDGES} == {
        PLUGIN: True,
        PLAIN: True,
        PYREFLY: True,
        RUN: False,
    }
    assert not passed([by_name["harmless"]])
    assert not passed([replace(by_name["found"], false_alarms=["one"])])
    assert passed([by_name["found"]])


def test_each_names_its_source() -> None:
    unnamed = [p.name for p in FOLDER.glob("*.py") if "\nSource: " not in p.read_text(encoding="utf-8")]
    assert not unnamed, "the report, as in `owner/repository#1, its title`, or `written for this table`"


def test_both_programs_are_read_from_one_file(tmp_path: Path) -> None:
    numbers = twin(tmp_path, "numbers", NUMBERS)
    assert numbers.says == "A number is a text."
    assert numbers.right == NUMBERS
    assert numbers.wrong.splitlines()[3:] == ['x: int = "one"', "# bug:", ""]
    assert numbers.lines == {4, 6}


@pytest.mark.parametrize("text", ['"""No mistake."""\nprint(1)\n', "# bug: print(2)\nprint(1)\n"])
def test_a_file_without_a_mistake_or_a_sentence_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"half\.py: a sentence on the first line and a `# bug:` are needed"):
        twin(tmp_path, "half", text)


def test_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Finding(4, "shape", "matmul: no")
    nothing: dict[str, Finding | None] = dict.fromkeys(JUDGES)
    numbers = twin(tmp_path, "numbers", NUMBERS)
    seen = Verdict(numbers, {**nothing, PLUGIN: found}, [])
    late = Verdict(replace(numbers, name="late"), {**nothing, RUN: Finding(0, "ShapeError", "")}, [])
    never = Verdict(replace(numbers, name="never"), nothing, ["never:3: the right program is refused"])
    monkeypatch.setattr(bugs, "judged", lambda chosen: [seen, late, never])
    assert main(["--messages"]) == 1
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said[1] == "numbers shape - - silent"
    assert "> matmul: no" in said
    assert "late - - - ShapeError" in said
    assert "with plugin 1 of 3 33.3%" in said
    assert "only the run finds: late" in said
    assert "nobody finds: never" in said
    assert said[-1] == never.false_alarms[0]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no_such_bug"])
    assert "unknown: no_such_bug" in capsys.readouterr().err
