"""What a node costs: workloads of chains and diamonds.

An expression of ours is built in every step, as the peers do it, and run by the interpreter or by a plan; or it
is kept: built once, and run in every step. Diamonds are nested 1,000 deep: 2 ** 1,000 paths lead through them.

Knows: lengths, variants and bars.
Refuses to know: how any library computes them, which `chains` has, and how time is taken.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.chains import autograd, by_hand, chain, chain_back, diamonds, diamonds_back, jax, ours, torch
from benchmarks.workload import BY_HAND, INTERPRETED, OURS, Variant, Workload
from wengert.run import Sequential

US = 1e-6
DEEP = 1_000_000
REBUILT, KEPT, TORCH = f"{OURS}, rebuilt", f"{OURS}, kept", "torch"
KEPT_US = 0.06 if sys.version_info < (3, 13) else 0.09  # a node of a kept chain of floats: bytecode only


@dataclass(frozen=True)
class Bars:
    """The greatest time of a node in us, and the greatest ratio to PyTorch; None where there is no bar."""

    interpreted: tuple[float | None, float | None] = (None, None)
    rebuilt: tuple[float | None, float | None] = (None, None)
    kept: tuple[float | None, float | None] = (None, None)

    def named(self) -> dict[str, tuple[float | None, float | None]]:
        """Ours, with its bars."""
        return {INTERPRETED: self.interpreted, REBUILT: self.rebuilt, KEPT: self.kept}


def _workload(
    name: str, what: str, nodes: int, bars: Bars, *, arrays: bool = False, array_constants: bool = False
) -> Workload:
    loop, back = (diamonds, diamonds_back) if "diamond" in name else (chain, chain_back)
    network = partial(loop, nodes)
    given = (network, arrays, array_constants)
    hand = partial(by_hand, network, partial(back, nodes), arrays, array_constants)
    return Workload(
        name,
        f"{what}, {nodes:,} nodes",
        unit="us a node",
        seconds_in_unit=US,
        parts=nodes,
        variants=(
            Variant(INTERPRETED, partial(ours, *given, executor=Sequential(compiled=False))),
            Variant(REBUILT, partial(ours, *given)),
            Variant(KEPT, partial(ours, *given, kept=True)),
            Variant(TORCH, partial(torch, *given), ("torch",)),
            Variant("autograd", partial(autograd, *given), ("autograd",)),
            Variant("jax.jit", partial(jax, *given), ("jax",)),
            Variant(BY_HAND, hand),
        ),
        bars={(mine, TORCH): ratio for mine, (_, ratio) in bars.named().items() if ratio is not None},
        most={mine: time for mine, (time, _) in bars.named().items() if time is not None},
    )


def _deep(nodes: int = DEEP) -> Workload:
    """A chain too long for a plan, for recursion, and for most peers to be waited for."""
    given = (partial(chain, nodes), False, False)
    return Workload(
        "deep-chain",
        f"{_CHAIN} on floats, {nodes:,} nodes",
        unit="us a node",
        seconds_in_unit=US,
        parts=nodes,
        variants=(
            Variant(OURS, partial(ours, *given)),
            Variant(TORCH, partial(torch, *given), ("torch",)),
            Variant(BY_HAND, partial(by_hand, given[0], partial(chain_back, nodes), False, False)),
        ),
        most={OURS: 3.0},
        warm=1,
    )


_CHAIN = "x = x * a; x = x + b"
_DIAMOND = "x = (x + x) * 0.5"
_ARRAYS = Bars(interpreted=(4.5, 0.7), rebuilt=(2.0, 0.38), kept=(1.3, 0.25))
_SMALL = "on 16x64 float32"
WORKLOADS = (
    _workload("scalar-chain", f"{_CHAIN} on floats", 1000, Bars((1.2, 0.25), kept=(KEPT_US, None))),
    _workload("scalar-diamond", f"{_DIAMOND} on floats", 2000, Bars((1.2, 0.27), kept=(KEPT_US, None))),
    _workload("array-chain", f"{_CHAIN} {_SMALL}", 1000, _ARRAYS, arrays=True),
    _workload(
        "array-chain-arrays",
        f"{_CHAIN} {_SMALL}, a and b arrays too",
        1000,
        _ARRAYS,
        arrays=True,
        array_constants=True,
    ),
    _workload("array-diamond", f"{_DIAMOND} {_SMALL}", 2000, _ARRAYS, arrays=True),
    replace(_deep(), small=_deep(10_000)),
)
