"""`Do`, `Tape` and `gather`: what they give, how they vary, and what is refused (T1 to T7)."""
# ruff: noqa: F841 -- cases are read by the type checker and never run

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar, assert_type

import numpy as np

import wengert as wg


def one() -> int:
    return 1


def case_constructors() -> None:  # T1
    assert_type(wg.Do.now(1), wg.Do[int])
    assert_type(wg.Do.delay(one), wg.Do[int])
    assert_type(wg.Do.defer(lambda: wg.Do.now("a")), wg.Do[str])
    fits: wg.Do[int] = wg.Do.fail(ValueError())
    assert_type(fits, wg.Do[int])


def case_resources(make: type[AbstractContextManager[str]]) -> None:  # T1
    assert_type(wg.Do.resource(lambda: make()), wg.Do[str])


def case_combinators(do: wg.Do[int]) -> None:  # T1
    assert_type(do.map(str), wg.Do[str])
    assert_type(do.flat_map(lambda n: wg.Do.now([n])), wg.Do[list[int]])
    assert_type(do.recover(lambda e: wg.Do.now(str(e))), wg.Do[int | str])
    assert_type(do.recover(lambda e: wg.Do.now(0)), wg.Do[int])
    assert_type(do.shared(), wg.Do[int])
    assert_type(do.nested(), wg.Do[int])
    assert_type(do.run(), int)
    assert_type(do.start(), Future[int])


def case_wrong_functions_are_refused(do: wg.Do[int]) -> None:  # T2
    do.flat_map(str)  # E[arg-type]: incompatible type "type\[str\]"
    wg.Do.fail("x")  # E[arg-type]: incompatible type "str"
    do.recover(lambda e: 0)  # E: incompatible type "Callable\[\[Exception\], int\]"
    wg.Do.now(1).map(len)  # E[arg-type]: incompatible type "Callable\[\[Sized\], int\]"
    narrow: wg.Do[int] = do.recover(lambda e: wg.Do.now("a"))  # E[arg-type]: incompatible type "str"


def registered(resume: Callable[[int], None], fail: Callable[[Exception], None]) -> None: ...


def wrongly_registered(resume: Callable[[int], None]) -> None: ...


async def asynchronous() -> str:
    return "a"


def case_outcomes_from_elsewhere(future: Future[int], layer: wg.DoubleLayer) -> None:
    assert_type(wg.Do.of(future), wg.Do[int])
    assert_type(wg.Do.of(asynchronous()), wg.Do[str])
    assert_type(wg.Do.of(wg.Do.now(1)), wg.Do[int])
    assert_type(wg.Do.of(layer), wg.Do[float])
    assert_type(wg.Do.callback(registered), wg.Do[int])
    assert_type(wg.Do.transaction(one, one, one), wg.Do[None])
    assert_type(wg.UnitContinuation.of(future), wg.UnitContinuation[int])
    assert_type(wg.UnitContinuation.callback(wrongly_registered), wg.UnitContinuation[int])
    units = wg.UnitContinuation.now(1), wg.UnitContinuation.now("a")
    assert_type(wg.gather(*units), wg.UnitContinuation[tuple[int, str]])
    wg.Do.of(3)  # E: incompatible type "int"
    wg.Do.of(asynchronous)  # E: incompatible type "Callable\[\[\], Coroutine\[Any, Any, str\]\]"
    wg.Do.callback(wrongly_registered)  # E[arg-type]
    wg.Do.transaction(one, one)  # E[call-arg]: Missing positional argument "abort"
    wg.gather(wg.Do.now(1), wg.UnitContinuation.now(1))  # E: No overload variant of "gather"


def case_do_is_covariant(do: wg.Do[bool], wide: wg.Do[object]) -> None:  # T3
    up: wg.Do[int] = do
    down: wg.Do[int] = wide  # E[assignment]: expression has type "Do\[.*", variable has type "Do\[.*"


def case_tapes_vary(
    tape: wg.Tape[bool, object], data: wg.Tape[object, object], delta: wg.Tape[bool, bool]
) -> None:  # T4
    up: wg.Tape[int, int] = tape
    wrong_data: wg.Tape[int, int] = data  # E[assignment]: expression has type "Tape\[object, object\]"
    wrong_delta: wg.Tape[int, int] = delta  # E[assignment]: expression has type "Tape\[bool, bool\]"


def case_differentiable_varies(
    x: wg.Differentiable[bool, object],
    wide: wg.Differentiable[object, object],
    narrow: wg.Differentiable[int, bool],
) -> None:  # T4
    up: wg.Differentiable[int, int] = x
    wrong_data: wg.Differentiable[int, int] = wide  # E[assignment]
    wrong_delta: wg.Differentiable[int, int] = narrow  # E[assignment]


def case_tapes_are_values(tape: wg.Tape[float, float]) -> None:  # T5
    tape.data = 2.0  # E[misc]: "data"
    wg.Tape(1.0, lambda delta: None)  # E: incompatible type "Callable\[\[Do\[Any\]\], None\]"
    assert_type(tape.data, float)


def case_gather(
    a: wg.Do[int],
    b: wg.Do[str],
    c: wg.Do[bool],
    d: wg.DoubleLayer,
    w: wg.FloatWeight,
    several: list[wg.Do[str]],
) -> None:  # T7
    assert_type(wg.gather(a, b), wg.Do[tuple[int, str]])
    assert_type(wg.gather(a, b, c), wg.Do[tuple[int, str, bool]])
    assert_type(wg.gather(d, d), wg.Do[tuple[float, float]])
    assert_type(wg.gather(a, d, w), wg.Do[tuple[int, float, np.float32]])
    assert_type(wg.gather(a, b, c, d, w, a), wg.Do[tuple[int, str, bool, float, np.float32, int]])
    assert_type(
        wg.gather(a, b, c, d, w, a, b, c), wg.Do[tuple[int, str, bool, float, np.float32, int, str, bool]]
    )
    assert_type(wg.gather(a, a, a, a, a, a, a, a, a), wg.Do[tuple[int, ...]])
    assert_type(wg.gather(*several), wg.Do[tuple[str, ...]])
    pair = (a, b)
    assert_type(wg.gather(*pair), wg.Do[tuple[int, str]])
    wg.gather(a, 1)  # E[call-overload]: matches argument types "Do\[int\]", "int"


def case_continuations(u: wg.UnitContinuation[int]) -> None:
    assert_type(u.map(str), wg.UnitContinuation[str])
    nothing = wg.UnitContinuation.now(None)
    assert_type(nothing + nothing, wg.UnitContinuation[None])
    u + nothing  # E[misc]: Invalid self argument "UnitContinuation\[int\]"
    assert_type(u.flat_map(lambda n: wg.UnitContinuation.now([n])), wg.UnitContinuation[list[int]])
    assert_type(u.run(), int)
    u.flat_map(str)  # E[arg-type]: incompatible type "type\[str\]"


A_co = TypeVar("A_co", covariant=True)
Data_co = TypeVar("Data_co", covariant=True)
Delta_contra = TypeVar("Delta_contra", contravariant=True)
B = TypeVar("B")


class DoTwin(Protocol[A_co]):
    """`Do` as a protocol: mypy checks the declared variance of protocols, of classes it does not (T6)."""

    def map(self, transform: Callable[[A_co], B], /) -> wg.Do[B]: ...
    def flat_map(self, then: Callable[[A_co], wg.Do[B]], /) -> wg.Do[B]: ...
    def shared(self) -> wg.Do[A_co]: ...
    def run(self) -> A_co: ...


class TapeTwin(Protocol[Data_co, Delta_contra]):
    """`Tape` as a protocol."""

    @property
    def data(self) -> Data_co: ...
    @property
    def backward(self) -> Callable[[wg.Do[Delta_contra]], wg.UnitContinuation[None]]: ...


def case_declared_variance_is_the_true_one(
    do: wg.Do[bool], tape: wg.Tape[bool, object], narrow: wg.Tape[bool, bool]
) -> None:  # T6
    do_twin: DoTwin[int] = do
    tape_twin: TapeTwin[int, int] = tape
    wrong: DoTwin[str] = do  # E[assignment]: expression has type "Do\[.*", variable has type "DoTwin\[str\]"
    wrong_delta: TapeTwin[bool, object] = narrow  # E[assignment]: expression has type "Tape\[bool, bool\]"
