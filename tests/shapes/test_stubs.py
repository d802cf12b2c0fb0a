"""The stubs for pyrefly: made from the rules, they show shapes and find bugs that pyrefly alone does not see."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import judges, twins
from wengert_shapes import stubs

EXTENDED = pytest.mark.skipif(
    find_spec("shape_extensions") is None,
    reason="`pip install pyrefly-shape-extensions` for integers in types",
)
# right programs that pyrefly refuses with them: `Add[...]` of `wengert.dims`, an `int` and a name, arrays of no axes
REFUSED = {"dense_block_without_its_growth", "heads_and_width_exchanged", "loss_of_each_replica"}
SHOWN = """
from typing import Literal, reveal_type
import numpy as np
import wengert as wg
from wengert.nn import Linear
from wengert.plugins import SGD

class Batch(int): ...

settings = SGD(learning_rate=0.1)
images = wg.literal(np.ones((2, 1, 28, 28), np.float32), Batch, 1, 28, 28)
kernel = settings.array_weight(np.ones((6, 1, 5, 5), np.float32), 6, 1, 5, 5)
h = wg.relu(wg.conv2d(images, kernel, stride=2))
reveal_type(h)
reveal_type(wg.mean(h, axis=(2, 3)))
reveal_type(wg.permute_dims(h, (0, 2, 3, 1)))
top = Linear.make(settings, 864, 10, seed=0)
reveal_type(top(wg.reshape(h, (2, 864))))
top(wg.reshape(h, (2, 863)))
h @ kernel
"""


def test_an_overload_is_what_a_rule_says() -> None:
    by_name = {site.name: "\n".join(site.overloads) for site in stubs.sites()}
    reduction = by_name["Reduction.__call__"]
    assert (
        "(self, x: ArrayOperand[tuple[A_, B_], T_, V_], /, *, axis: Literal[-1], keepdims: Literal[True]) "
        "-> ArrayLayer[tuple[A_, Literal[1]], T_, V_]: ..."
    ) in reduction
    assert "ArrayOperand[tuple[A_], T_, V_], /, *, axis: Literal[1]" not in reduction, "refused by the rule"
    assert (
        "a: ArrayOperand[tuple[M_, K_], T_, V_], b: ArrayOperand[tuple[K_, N_], T_, V_], /) -> "
        in by_name["matmul"]
    )
    column = "a: ArrayOperand[tuple[A_, Literal[1]], T_, V_], b: ArrayOperand[tuple[B_], T_, V_]"
    assert column in by_name["Broadcasting.__call__"]
    assert column.replace("B_", "A_") not in by_name["Broadcasting.__call__"], "(n, 1) with (n,)"


def test_a_copy_keeps_what_else_a_module_has(tmp_path: Path) -> None:
    files = stubs.written(tmp_path)
    assert (tmp_path / "wengert-stubs" / "py.typed").read_text() == "partial\n"
    text = next(path for path in files if path.name == "literals.pyi").read_text()
    assert "def checked_array(" in text
    plain = text.replace("[A_: int, T_: Any, V_: Any]", "")
    assert plain.count("def literal[") > 10


@EXTENDED
@pytest.mark.slow
def test_shapes_are_shown_and_misfits_refused(tmp_path: Path) -> None:
    stubs.written(tmp_path / "stubs")
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "shown.py").write_text(SHOWN)
    found = judges.pyrefly(folder, tmp_path / "stubs")["shown.py"]
    assert {x.line for x in found} == {19, 20}
    program = Path(sysconfig.get_path("scripts")) / "pyrefly"
    command = [str(program), "check", "-c", "pyrefly.toml", "--python-interpreter-path", sys.executable]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    image = "Batch, Int[6], Int[12], Int[12]"
    for shape in (image, "Batch, Int[6]", "Batch, Int[12], Int[12], Int[6]", "Int[2], Int[10]"):
        assert f"revealed type: ArrayLayer[tuple[{shape}]]" in said, said


@EXTENDED
@pytest.mark.slow
def test_more_seeded_bugs_are_found_than_without(tmp_path: Path) -> None:
    stubs.written(tmp_path / "stubs")
    folder = tmp_path / "programs"
    folder.mkdir()
    chosen = twins.all_in(twins.FOLDER)
    for twin in chosen:
        (folder / f"right_{twin.name}.py").write_text(twin.right)
        (folder / f"wrong_{twin.name}.py").write_text(twin.wrong)
    counts = []
    for places in ((), (tmp_path / "stubs",)):
        said = judges.pyrefly(folder, *places)
        counts.append(sum(any(x.line in t.lines for x in said.get(f"wrong_{t.name}.py", ())) for t in chosen))
        refused = {twin.name for twin in chosen if said.get(f"right_{twin.name}.py")}
        assert refused <= (REFUSED if places else set())
    assert counts[1] >= counts[0] + 50, counts
