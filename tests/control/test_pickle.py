"""S14: a `Do` is a description, which travels."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from typing import Any, TypeVar

import cloudpickle
import pytest

from wengert.control import Context, Do, Steps, gather

from .tracking import Boom

A = TypeVar("A")


def travelled(source: Do[A]) -> Do[A]:
    copy: Do[A] = cloudpickle.loads(cloudpickle.dumps(source))
    return copy


async def body() -> int:
    return await Do.now(7)


def steps(context: Context) -> Steps[object]:
    seen: object = yield Do.now(context.environment)
    return seen


DOS: list[tuple[Do[Any], object]] = [  # Any: of all types
    (Do.now(1), 1),
    (Do.delay(lambda: 2), 2),
    (Do.defer(lambda: Do.now(3)), 3),
    (Do.resource(lambda: nullcontext(4)), 4),
    (Do.now(4).map(lambda n: n + 1), 5),
    (Do.now(4).flat_map(lambda n: Do.now(n + 2)), 6),
    (Do.coroutine(body), 7),
    (Do.within("here", Do.program(steps)), "here"),
    (Do.fail(Boom("x")).recover(lambda failure: Do.now(str(failure))), "x"),
    (gather(Do.now(1), Do.now(2).nested(), Do.now(3).shared()), (1, 2, 3)),
]


@pytest.mark.parametrize(("source", "value"), DOS, ids=[type(source).__name__ for source, _ in DOS])
def test_d19_every_kind_pickles(source: Do[Any], value: object) -> None:  # Any: of all types
    assert source.run() == value
    assert travelled(source).run() == value
    assert source.start().result(10) == value


def test_a_failure_that_was_raised_pickles() -> None:
    failing = Do.fail(Boom("x"))
    with pytest.raises(Boom):
        failing.run()
    with pytest.raises(Boom, match="x"):
        travelled(Do.fail(Boom("x")).recover(Do.fail)).run()


def test_shared_stays_one_within_a_pickle() -> None:
    counts: list[int] = []

    def count() -> int:
        counts.append(1)
        return len(counts)

    shared = Do.delay(count).shared()
    assert travelled(gather(shared, shared)).run() == (1, 1)


@pytest.mark.slow
def test_another_process_runs_it() -> None:
    data = cloudpickle.dumps(gather(Do.now(20), Do.delay(lambda: 22)).map(sum))
    script = "import sys, pickle; print(pickle.load(sys.stdin.buffer).run())"
    done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
    assert done.stdout.strip() == b"42"
