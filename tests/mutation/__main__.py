"""`python -m tests.mutation AREA... [--most N] [--seed S]`: how many small mistakes the tests notice."""

from __future__ import annotations

import argparse
from pathlib import Path

from .areas import AREAS, files_of, jobs_of
from .reach import Reach
from .runs import recorded, score


def main() -> None:
    """Print what becomes of each mutant, and the score of each area."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("areas", nargs="*", choices=[[], *AREAS], help="all if none is named")
    parser.add_argument("--most", type=int, default=None, help="mutants of an area, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--bar", type=float, default=0.0, help="fail if the score of an area is surely below")
    parser.add_argument("--only", default="", help="mutants with this in their names")
    parser.add_argument("--keep", type=Path, help="a folder for what the tests reach, found out once an area")
    given = parser.parse_args()
    below = []
    for area in given.areas or AREAS:
        kept = None if given.keep is None else given.keep / f"{area}.json"
        if kept is not None and kept.exists():
            reach = Reach.load(kept)
        else:
            reach = recorded(AREAS[area][1], files_of(area))
            if kept is not None:
                reach.save(kept)
        jobs = [job for job in jobs_of(area, given.most, given.seed) if given.only in job.name]
        result = score(jobs, reach, given.workers, lambda text: print(text, flush=True))
        low, high = result.interval
        print(
            f"{area}: {len(result.found)} of {len(jobs)} found, {100 * result.ratio:.1f} % "
            f"({100 * low:.1f} to {100 * high:.1f})",
            flush=True,
        )
        if high < given.bar:
            below.append(area)
    if below:
        raise SystemExit(f"less than {100 * given.bar:.0f} % of the mutants are found: {', '.join(below)}")


if __name__ == "__main__":
    main()
