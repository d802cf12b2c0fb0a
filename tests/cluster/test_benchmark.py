"""The benchmark of steps by workers runs, over the engine in this process."""

from __future__ import annotations

import pytest

from benchmarks.distributed import main
from wengert.cluster import Local


def test_the_benchmark_says_what_a_step_costs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--sizes", "0.01", "--steps", "2"], Local())
    head, line = capsys.readouterr().out.splitlines()
    assert head.count("|") == line.count("|") == 5 and float(line.split("|")[0]) == 0.01
