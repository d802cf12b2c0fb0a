"""`python -m tests.mutation AREA... [--most N] [--seed S]`: how many small mistakes the tests notice."""

from __future__ import annotations

import argparse

import hypothesis  # noqa: F401 # before the forks, so that no process has to import it
import numpy  # noqa: F401 # as above
import pytest  # noqa: F401 # as above

from .areas import AREAS, jobs_of
from .runs import must_pass, score


def main() -> None:
    """Print the survivors and the score of each area."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("areas", nargs="*", choices=[[], *AREAS], help="all if none is named")
    parser.add_argument("--most", type=int, default=None, help="mutants of an area, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a mutant's tests")
    given = parser.parse_args()
    for area in given.areas or AREAS:
        jobs = jobs_of(area, given.most, given.seed)
        must_pass([job.tests for job in jobs], 10 * given.limit)
        result = score(jobs, given.limit, given.workers)
        print(f"{area}: {len(result.found)} of {len(jobs)} found, {100 * result.ratio:.1f} %", flush=True)


if __name__ == "__main__":
    main()
