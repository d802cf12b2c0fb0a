"""Each law, of the simplest descriptions that it is about; generated ones take longer."""

from __future__ import annotations

import pytest

from wengert.control import Do, laws
from wengert.control.laws import Events, Make, Tracked

from .tracking import Boom, Other

MAKES: dict[str, Make[int]] = {
    "now": lambda e: Do.now(2),
    "delay": lambda e: Do.delay(lambda: len(e)),
    "fail": lambda e: Do.fail(Boom("x")),
    "resource": lambda e: Do.resource(lambda: Tracked(e, "r")).map(len),
    "failing exit": lambda e: Do.resource(lambda: Tracked(e, "r", Other("exit"))).map(len),
}


def after(events: Events, n: int) -> Do[int]:
    return Do.delay(lambda: events.append(f"after {n}")).map(lambda _: n + 1)


def handled(events: Events, failure: Exception) -> Do[int]:
    return Do.delay(lambda: events.append(f"handled {failure}")).map(lambda _: -1)


def failed(events: Events, failure: Exception) -> Do[int]:
    return Do.fail(Other(f"again {failure}"))


@pytest.mark.parametrize("name", MAKES)
def test_d8_the_laws_of_plain_descriptions(name: str) -> None:
    make = MAKES[name]
    laws.right_identity(make)
    laws.associativity(make, after, after)
    laws.map_is_flat_map(make, lambda n: n * 2)
    laws.recover_of_now(make, handled)
    laws.recover_is_associative(make, failed, handled)
    laws.gather_keeps(make)
    laws.releases(make)


def test_d8_the_laws_of_values_and_failures() -> None:
    laws.left_identity(1, after)
    laws.recover_of_fail(Boom("x"), handled)
    laws.failure_stops(Boom("x"), after)
