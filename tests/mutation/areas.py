"""Which modules are mutated, and which tests ought to notice.

Knows: paths.
Refuses to know: how mutants are made and run.
"""

from __future__ import annotations

import random
from pathlib import Path

from .mutants import mutants, mutated
from .runs import Job

ROOT = Path(__file__).parents[2]
_HEART = ("tests/run/test_own_types.py", "tests/run/test_rules_for_types.py", "tests/run/test_tapes.py")
_OPS = ("tests/ops/test_values.py", "tests/ops", "tests/run/batching", "tests/symbolic")
AREAS: dict[
    str, tuple[str, tuple[str, ...]]
] = {  # modules, and the tests that ought to notice, quick ones first
    "control": ("src/wengert/control/*.py", ("tests/control",)),
    "differentiable": ("src/wengert/differentiable.py", (*_HEART, "tests/testing", "tests/run")),
    "delta": ("src/wengert/delta.py", (*_HEART, "tests/testing", "tests/run")),
    "ops": ("src/wengert/ops/**/*.py", _OPS),
}


def jobs_of(area: str, most: int | None = None, seed: int = 0) -> list[Job]:
    """The mutants of an area, or `most` of them drawn from the seed."""
    pattern, tests = AREAS[area]
    jobs = []
    for path in sorted(ROOT.glob(pattern)):
        source = path.read_text()
        parts = path.relative_to(ROOT / "src").with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for mutant in mutants(source):
            name = f"{path.relative_to(ROOT)}:{mutant.line}: {mutant.change} ({mutant.place})"
            jobs.append(Job(module, path, mutated(source, mutant), tests, name))
    if most is None or most >= len(jobs):
        return jobs
    return random.Random(seed).sample(jobs, most)
