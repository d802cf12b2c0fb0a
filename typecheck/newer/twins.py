"""The variance that is declared for `Do` and `Tape` is the one that a checker works out for twins of them (T6)."""
# ruff: noqa: F841 -- cases are read by the type checker and never run

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import wengert as wg


class DoTwin[A]:
    """The methods of `Do`; not `start`, for typeshed has a future that anybody may fulfil as invariant."""

    def map[B](self, transform: Callable[[A], B]) -> DoTwin[B]:
        raise NotImplementedError

    def flat_map[B](self, then: Callable[[A], DoTwin[B]]) -> DoTwin[B]:
        raise NotImplementedError

    def recover[B](self, handler: Callable[[Exception], DoTwin[B]]) -> DoTwin[A | B]:
        raise NotImplementedError

    def shared(self) -> DoTwin[A]:
        raise NotImplementedError

    def run(self) -> A:
        raise NotImplementedError


@dataclass(frozen=True)
class TapeTwin[Data, Delta]:
    """The fields of `Tape`."""

    data: Data
    backward: Callable[[DoTwin[Delta]], wg.UnitContinuation[None]]


class DifferentiableTwin[Data, Delta](Protocol):
    """The property of `Differentiable`."""

    @property
    def forward(self) -> DoTwin[TapeTwin[Data, Delta]]: ...


def case_do(do: wg.Do[int], twin: DoTwin[int]) -> None:  # T6
    wider: wg.Do[object] = do
    wider_twin: DoTwin[object] = twin
    narrower: wg.Do[bool] = do  # E[assignment]: "Do\[int\]"
    narrower_twin: DoTwin[bool] = twin  # E[assignment]: "DoTwin\[int\]"


def case_the_data_of_tapes(tape: wg.Tape[int, int], twin: TapeTwin[int, int]) -> None:  # T6
    wider: wg.Tape[object, int] = tape
    wider_twin: TapeTwin[object, int] = twin
    narrower: wg.Tape[bool, int] = tape  # E[assignment]: "Tape\[int, int\]"
    narrower_twin: TapeTwin[bool, int] = twin  # E[assignment]: "TapeTwin\[int, int\]"


def case_the_delta_of_tapes(tape: wg.Tape[int, int], twin: TapeTwin[int, int]) -> None:  # T6
    narrower: wg.Tape[int, bool] = tape
    narrower_twin: TapeTwin[int, bool] = twin
    wider: wg.Tape[int, object] = tape  # E[assignment]: "Tape\[int, int\]"
    wider_twin: TapeTwin[int, object] = twin  # E[assignment]: "TapeTwin\[int, int\]"


def case_differentiable(x: wg.Differentiable[int, int], twin: DifferentiableTwin[int, int]) -> None:  # T6
    fits: wg.Differentiable[object, bool] = x
    fits_twin: DifferentiableTwin[object, bool] = twin
    wrong: wg.Differentiable[bool, bool] = x  # E[assignment]
    wrong_twin: DifferentiableTwin[bool, bool] = twin  # E[assignment]
