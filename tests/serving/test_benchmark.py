"""The benchmark of serving runs, and joins requests."""

from __future__ import annotations

import re

import pytest

from benchmarks.serving import main


@pytest.mark.slow
@pytest.mark.parametrize("over", [[], ["--http"]])
def test_both_ways_answer_and_requests_are_joined(
    over: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--rounds", "1", "--requests", "60", "--width", "16", *over])
    shown = capsys.readouterr().out
    found = re.search(
        r"throughput \d+\.\d\d \(.*\), requests a second of CPU \d+\.\d\d, (\d+\.\d) requests a run", shown
    )
    assert found is not None and float(found[1]) > 5.0, shown
