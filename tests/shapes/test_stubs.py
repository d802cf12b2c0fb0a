"""The stubs for pyrefly: made from the rules, they show shapes and find bugs that pyrefly alone does not see."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import judges, twins
from benchmarks.timing import ROOT
from wengert_shapes import stubs

EXTENDED = pytest.mark.skipif(
    find_spec("shape_extensions") is None,
    reason="`pip install pyrefly-shape-extensions` for integers in types",
)
# in ports of known models: a size that is a type variable of a class, twice, and a union out of a list of unlike shapes
LINES_REFUSED = {"return self.last(wg.relu(self.first(x)))", "h = up(skips.pop()) + skips.pop()"}
if version("pyrefly") >= "1.5":
    LINES_REFUSED.add("return wg.cross_entropy(model(wg.literal(images, Batch, 784)), labels)")
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
reveal_type(top(wg.reshape(h, (h.shape[0], 864))))
top(wg.reshape(h, (h.shape[0], 863)))
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
    refused = f"{column.replace('B_', 'A_')}, /) -> ArrayLayer[square(1), T_, V_]: ..."
    assert refused in by_name["Broadcasting.__call__"], "(n, 1) with (n,)"


def test_texts_of_programs_are_overloads(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        'import wengert as wg\nwg.einsum("ij,jk->ik", x, w)\neinsum("...i->i", x)\nprint("a,b->")\n'
    )
    assert stubs.texts([program]) == ["ij,jk->ik", "...i->i"]
    (site,) = (site for site in stubs.sites(stubs.texts([program])) if site.name == "einsum")
    text = "\n".join(site.overloads)
    assert "x0: ArrayOperand[tuple[i_, j_], T_, V_], x1: ArrayOperand[tuple[j_, k_], T_, V_], /)" in text
    assert "...i" not in text, "how many axes the dots stand for is not known"


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
    for shape in (image, "Batch, Int[6]", "Batch, Int[12], Int[12], Int[6]", "Batch, Int[10]"):
        assert f"revealed type: ArrayLayer[tuple[{shape}]]" in said, said


@EXTENDED
@pytest.mark.slow
def test_the_recipe_of_the_page_shows_shapes_of_an_installed_library(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "checkers.md").read_text(encoding="utf-8")
    recipe = page.partition("```toml\n[tool.pyrefly]\n")[2].partition("```")[0]
    (tmp_path / "pyrefly.toml").write_text(recipe)
    (tmp_path / "shown.py").write_text(SHOWN)
    stubs.written(tmp_path / "typings")
    program = Path(sysconfig.get_path("scripts")) / "pyrefly"
    command = [str(program), "check", "-c", "pyrefly.toml", "--python-interpreter-path", sys.executable]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "revealed type: ArrayLayer[tuple[Batch, Int[6], Int[12], Int[12]]]" in said, said


MISFITS = """
from typing import NewType
import numpy as np
import wengert as wg
from wengert.nn import Conv2d, Linear, MultiHeadAttention
from wengert.plugins import SGD

Batch = NewType("Batch", int)
settings = SGD(learning_rate=0.1)
x = wg.literal(np.ones((2, 12), np.float32), Batch, 12)
images = wg.literal(np.ones((2, 3, 8, 8), np.float32), Batch, 3, 8, 8)
kernel = settings.array_weight(np.ones((4, 3, 9, 9), np.float32), 4, 3, 9, 9)
labels: np.ndarray[tuple[int, int], np.dtype[np.int64]] = np.zeros((2, 1), np.int64)
b, _ = x.shape
n = int(np.ones(1)[0])
wg.reshape(x, (b, 3, n))
wg.reshape(x, (b, 3, 5))  # reshape: the shapes have different numbers of elements
wg.conv2d(images, kernel)  # a window does not fit the image
wg.split(x, 5, axis=1)  # parts that do not divide the whole
wg.cross_entropy(x, labels)  # cross_entropy: labels have an axis less than the logits
wg.einsum("bi,ij->bj", x, x)  # einsum: a letter has two sizes
MultiHeadAttention.make(settings, 12, 5, seed=0)  # parts that do not divide the whole
Linear.make(settings, 36, 2, seed=0)(wg.concat([x, x, x], axis=1))
Linear.make(settings, 24, 2, seed=0)(wg.concat([x, x, x], axis=1))  # expected a last axis of another size
Linear.make(settings, 3, 2, seed=0)(wg.permute_dims(wg.take(x, [1, 5], axis=1), (0, 1)))  # expected a last axis
wg.mse_loss(x, x[:, 0])  # predictions and targets have axes of another number
wg.mse_loss(x, x, reduction="none") @ wg.literal(np.ones((12, 2), np.float32), 12, 2)
Linear.make(settings, 10, 2, seed=0)(x)  # expected a last axis of another size
x[:, :1] - wg.literal(np.ones(2, np.float32), Batch)  # a column (n, 1) and a vector (n,) would broadcast
"""


@EXTENDED
@pytest.mark.slow
def test_what_does_not_fit_is_refused_where_it_is_called_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "misfits.py").write_text(MISFITS)
    stubs.written(tmp_path / "stubs", [folder / "misfits.py"])
    said = {x.line: x.text for x in judges.pyrefly(folder, tmp_path / "stubs")["misfits.py"]}
    wanted = {
        number: line.partition("  # ")[2]
        for number, line in enumerate(MISFITS.splitlines(), 1)
        if "  # " in line
    }
    assert said.keys() == wanted.keys(), said
    for number, words in wanted.items():
        assert words in said[number]


JOINED = """
from typing import Literal, NewType, TypeVar
import numpy as np
import wengert as wg

Batch = NewType("Batch", int)
Time = NewType("Time", int)
D = TypeVar("D", bound=int)
S = TypeVar("S", bound=tuple[int, ...])
Sequences = wg.ArrayLayer[tuple[Batch, Time, Literal[8]]]
Step = wg.ArrayLayer[tuple[Batch, Literal[1], Literal[8]]]

def shifted(first: Step, x: Sequences) -> Sequences:
    return wg.concat([first, x[:, :-1]], axis=1)

def padded(first: Step) -> wg.ArrayLayer[tuple[Batch, Literal[3], Literal[8]]]:
    return wg.concat([first, wg.relu(first), first], axis=1)

def unrolled(x: Sequences) -> Sequences:
    return wg.stack([x[:, t] for t in range(x.shape[1])], axis=1)

def of_many(parts: list[Step]) -> wg.ArrayLayer[tuple[Batch, Literal[3], Literal[8]]]:
    return wg.concat(parts, axis=1)

def beside_numbers(first: Step, x: np.ndarray) -> wg.ArrayLayer[tuple[Batch, Literal[9], Literal[8]]]:
    return wg.concat([first, x], axis=1)

def generic(x: wg.ArrayLayer[tuple[Batch, D]]) -> wg.ArrayLayer[tuple[Batch, Literal[2], D]]:
    return wg.stack([x, x], axis=1)

def compared(x: wg.ArrayLayer[S], y: wg.ArrayLayer[S]) -> wg.ArrayLayer[S]:
    return wg.mse_loss(x, y, reduction="none")

def cut(x: wg.ArrayLayer[tuple[Batch, Literal[32], Literal[32]]]) -> wg.ArrayLayer[tuple[Batch, Literal[4], int]]:
    b, _, _ = x.shape
    return wg.reshape(wg.permute_dims(wg.reshape(x, (b, 2, 16, 2, 16)), (0, 1, 3, 2, 4)), (b, 4, -1))
"""


@EXTENDED
@pytest.mark.slow
def test_lists_of_arrays_are_accepted_with_sizes_known_or_not(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "joined.py").write_text(JOINED)
    stubs.written(tmp_path / "stubs")
    assert not judges.pyrefly(folder, tmp_path / "stubs")
    wrong = JOINED.replace(
        "Literal[3], Literal[8]]]:\n    return wg.concat([",
        "Literal[2], Literal[8]]]:\n    return wg.concat([",
    )
    assert wrong != JOINED
    (folder / "joined.py").write_text(wrong)
    (said,) = judges.pyrefly(folder, tmp_path / "stubs")["joined.py"]
    assert "Int[3]" in said.text


@EXTENDED
@pytest.mark.slow
def test_most_seeded_bugs_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    chosen = twins.all_in(twins.FOLDER)
    for twin in chosen:
        (folder / f"right_{twin.name}.py").write_text(twin.right)
        (folder / f"wrong_{twin.name}.py").write_text(twin.wrong)
    stubs.written(tmp_path / "stubs", folder.glob("*.py"))
    counts = []
    for places in ((), (tmp_path / "stubs",)):
        said = judges.pyrefly(folder, *places)
        counts.append(sum(any(x.line in t.lines for x in said.get(f"wrong_{t.name}.py", ())) for t in chosen))
        assert not {twin.name for twin in chosen if said.get(f"right_{twin.name}.py")}
    assert counts[1] >= counts[0] + 156, counts


@EXTENDED
@pytest.mark.slow
def test_ports_of_models_are_accepted_but_for_known_lines(tmp_path: Path) -> None:
    stubs.written(tmp_path / "stubs")
    folder = tmp_path / "programs"
    shutil.copytree(ROOT / "typecheck" / "right", folder)
    said = judges.pyrefly(folder, tmp_path / "stubs")
    lines = {name: (folder / name).read_text().splitlines() for name in said}
    refused = {lines[name][x.line - 1].strip() for name, found in said.items() for x in found}
    assert refused == LINES_REFUSED
