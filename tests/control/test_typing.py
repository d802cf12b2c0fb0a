"""The static types of effects, checked by the type checkers; at run time these only run."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import nullcontext
from typing import assert_type

from wengert.control import Context, Do, Steps, UnitContinuation, gather


def test_t1_constructors_and_methods() -> None:
    one = Do.now(1)
    assert_type(one, Do[int])
    assert_type(Do.delay(lambda: "a"), Do[str])
    assert_type(Do.defer(lambda: one), Do[int])
    assert_type(Do.resource(lambda: nullcontext(1.5)), Do[float])
    assert_type(one.map(str), Do[str])
    assert_type(one.flat_map(lambda n: Do.now(str(n))), Do[str])
    assert_type(one.recover(lambda failure: Do.now(str(failure))), Do[int | str])
    assert_type(one.shared().nested(), Do[int])
    assert_type(one.run(), int)
    assert_type(one.start(), Future[int])


def test_t2_fail_fits_every_do() -> None:
    failing: Do[int] = Do.fail(ValueError("x"))
    assert_type(failing.recover(lambda _: Do.now(1)), Do[int])
    assert failing.recover(lambda _: Do.now(1)).run() == 1


def test_t3_do_is_covariant() -> None:
    wide: Do[object] = Do.now(1)
    assert wide.run() == 1


def test_t7_gather_is_typed_for_each_position() -> None:
    one, text = Do.now(1), Do.now("a")
    pair = (one, text)
    assert_type(gather(), Do[tuple[()]])
    assert_type(gather(one), Do[tuple[int]])
    assert_type(gather(one, text), Do[tuple[int, str]])
    assert_type(gather(*pair), Do[tuple[int, str]])
    assert_type(gather(one, text, one), Do[tuple[int, str, int]])
    assert_type(gather(one, text, one, text, one), Do[tuple[int, str, int, str, int]])
    assert_type(gather(one, text, one, text, one, text), Do[tuple[int, str, int, str, int, str]])
    assert_type(gather(one, one, one, one, one, one, one, one, one), Do[tuple[int, ...]])
    several: list[Do[int]] = [one, one]
    assert_type(gather(*several), Do[tuple[int, ...]])


def test_t56_await_gives_the_value() -> None:
    async def body() -> int:
        assert_type(await Do.now("a"), str)
        number, text = await gather(Do.now(1), Do.now("a"))
        assert_type(number, int)
        assert_type(text, str)
        return number

    def steps(context: Context) -> Steps[str]:
        yield Do.now(1)
        return "a"

    assert_type(Do.coroutine(body), Do[int])
    assert_type(Do.program(steps), Do[str])
    assert_type(Do.within(1, Do.now(1)), Do[int])
    assert Do.coroutine(body).run() == 1


def test_unit_continuation() -> None:
    unit = UnitContinuation.now(1)
    assert_type(unit.map(str), UnitContinuation[str])
    assert_type(unit.flat_map(lambda n: UnitContinuation.now(str(n))), UnitContinuation[str])
    wide: UnitContinuation[object] = unit
    assert_type(wide.run(), object)
