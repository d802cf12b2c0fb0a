"""Which modules are mutated, and which tests ought to notice.

Knows: paths.
Refuses to know: how mutants are made and run.
"""

from __future__ import annotations

import random
from pathlib import Path

from .mutants import mutants
from .runs import Job

ROOT = Path(__file__).parents[2]
_HEART = (
    "tests/testing",
    "tests/run/test_own_types.py",
    "tests/run/test_rules_for_types.py",
    "tests/run/test_tapes.py",
    "tests/run/test_questions.py",
    "tests/run/test_conformance_scalars.py",
    "tests/run/test_derivatives.py",
    "tests/run/test_derivatives_cells.py",
    "tests/run/test_derivatives_types.py",
)
_OPS = (
    "tests/ops",
    "tests/run/batching",
    "tests/symbolic",
    "tests/testing",
    "tests/errors/test_shapes.py",
    "tests/errors/test_dtypes.py",
    "tests/errors/test_losses.py",
)
AREAS: dict[str, tuple[str, tuple[str, ...]]] = {  # modules, and the tests that ought to notice
    "control": ("src/wengert/control/*.py", ("tests/control",)),
    "differentiable": ("src/wengert/differentiable.py", _HEART),
    "delta": ("src/wengert/delta.py", _HEART),
    "ops": ("src/wengert/ops/**/*.py", _OPS),
    "program": ("src/wengert/program/*.py", ("tests/executors", "tests/program")),
}


def files_of(area: str) -> list[Path]:
    """The modules of an area."""
    return sorted(ROOT.glob(AREAS[area][0]))


def jobs_of(area: str, most: int | None = None, seed: int = 0) -> list[Job]:
    """The mutants of an area, or `most` of them drawn from the seed."""
    jobs = []
    for path in files_of(area):
        source = path.read_text()
        for mutant in mutants(source):
            name = f"{path.relative_to(ROOT)}:{mutant.line}: {mutant.change} ({mutant.place})"
            jobs.append(Job(path, source, mutant, name))
    if most is None or most >= len(jobs):
        return jobs
    return random.Random(seed).sample(jobs, most)
