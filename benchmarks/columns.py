"""Workloads of columns and heads: 1, 2 and 4 columns, with one fine head a step and with all 20, on 1 and 2 cores.

Knows: which libraries compute each of them, and the bars.
Refuses to know: how any of them does, and how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

from benchmarks.agreement import QUICK, check_agreement
from benchmarks.columns_by_hand import one_by_one
from benchmarks.columns_functional import Autograd, Jax
from benchmarks.columns_ours import InCells, Ours
from benchmarks.columns_stacked import stacked
from benchmarks.columns_torch import Compiled, Lean, Modules
from benchmarks.network import Model, Network
from benchmarks.workload import BY_HAND, INTERPRETED, OURS, Step, Variant, Workload
from wengert.run import Parallel, Sequential

MS = 1e-3
CORES = 2
WARM = 40  # steps: by then `Parallel` has its plan, has timed it, and has tried it in tasks and in a line
Maker = Callable[[], Model[Any]]  # Any: a model takes what its library likes
CELLS = f"{OURS}, in cells"
FUSED, STACKED = f"{BY_HAND}, fused", f"{BY_HAND}, heads stacked"
LEAN, MODULES, COMPILED = "torch", "torch, module and SGD", "torch.compile"
JAX, AUTOGRAD = "jax.jit", "autograd"
PARALLEL = f"{OURS}, {CORES} threads"

SKIP_BARS = {
    (OURS, FUSED): 1.10,
    (CELLS, FUSED): 1.10,
    (OURS, LEAN): 0.55,
    (OURS, MODULES): 0.40,
    (OURS, JAX): 1.0,
    (INTERPRETED, FUSED): 1.35,
}
NO_SKIP_BARS = {
    (OURS, STACKED): 1.15,
    (CELLS, STACKED): 1.15,
    (OURS, FUSED): 1.15,
    (OURS, LEAN): 0.45,
    (OURS, JAX): 1.0,
}
NEVER_SLOWER = 1.05  # Parallel over Sequential, where there is too little to share
WIDE = ((512, 128, 1 / 1.4), (1024, 256, 1 / 1.6))  # width, batch, and the least gain of two threads


def _step(make: Maker, network: Network) -> Step:
    model = make()
    around = cycle([model.given(batch) for batch in network.batches()])
    return lambda: model.step(next(around))


def _variant(
    name: str, network: Network, make: Maker, *needs: str, threads: int = 1, slow: bool = False
) -> Variant:
    return Variant(name, partial(_step, make, network), needs, threads, slow)


def _name(network: Network) -> str:
    return f"columns-{network.columns}" + ("" if network.skip else "-no-skip")


def _what(network: Network) -> str:
    heads = "one of" if network.skip else "all"
    return (
        f"{network.columns} column{'s' * (network.columns > 1)} of 3072-{network.width}-{network.width}, "
        f"coarse head, {heads} 20 fine heads, batch {network.lines}"
    )


def one_core(network: Network) -> Workload:
    """Everybody, with one thread."""
    n = network
    checked: dict[str, Maker] = {
        OURS: partial(Ours, n),
        CELLS: partial(InCells, n),
        INTERPRETED: partial(Ours, n, Sequential(compiled=False)),
        FUSED: partial(one_by_one, n, fused=True),
    }
    if not n.skip:
        checked[STACKED] = partial(stacked, n)
    return Workload(
        _name(n),
        _what(n),
        unit="ms a step",
        seconds_in_unit=MS,
        parts=1,
        variants=(
            *(_variant(name, n, make) for name, make in checked.items()),
            _variant(BY_HAND, n, partial(one_by_one, n, fused=False)),
            _variant(LEAN, n, partial(Lean, n), "torch"),
            _variant(MODULES, n, partial(Modules, n), "torch"),
            _variant(COMPILED, n, partial(Compiled, n), "torch", slow=True),
            _variant(JAX, n, partial(Jax, n), "jax"),
            _variant(AUTOGRAD, n, partial(Autograd, n), "autograd"),
        ),
        bars=SKIP_BARS if n.skip else NO_SKIP_BARS,
        check=partial(check_agreement, _name(n), n, checked),
        quick_check=partial(check_agreement, _name(n), n, checked, QUICK),
    )


def two_cores(network: Network, bar: float = NEVER_SLOWER) -> Workload:
    """Two threads, of ours, of the peers and of BLAS; and one, which they have to beat."""
    n = network
    paper = n.width == Network(1).width
    name = f"{_name(n)}{'' if paper else f'-wide-{n.width}'}-two-cores"
    checked: dict[str, Maker] = {PARALLEL: lambda: Ours(n, Parallel(threads=CORES))}
    made = Workload(
        name,
        f"{_what(n)}; wall time on two cores",
        unit="ms a step",
        seconds_in_unit=MS,
        parts=1,
        variants=(
            *(_variant(variant, n, make) for variant, make in checked.items()),
            _variant(OURS, n, partial(Ours, n)),
            _variant(FUSED, n, partial(one_by_one, n, fused=True)),
            _variant(BY_HAND, n, partial(one_by_one, n, fused=False)),
            _variant(f"{BY_HAND}, 2 threads", n, partial(one_by_one, n, fused=False), threads=CORES),
            *(() if n.skip else (_variant(STACKED, n, partial(stacked, n)),)),
            _variant(f"{LEAN}, 2 threads", n, partial(Lean, n, CORES), "torch", threads=CORES),
            _variant(f"{MODULES}, 2 threads", n, partial(Modules, n, CORES), "torch", threads=CORES),
            _variant(
                f"{COMPILED}, 2 threads", n, partial(Compiled, n, CORES), "torch", threads=CORES, slow=True
            ),
            _variant(f"{JAX}, 2 threads", n, partial(Jax, n), "jax", threads=CORES),
            _variant(f"{AUTOGRAD}, 2 threads", n, partial(Autograd, n), "autograd", threads=CORES),
        ),
        bars={(PARALLEL, OURS): bar},
        cores=CORES,
        warm=WARM,
        check=partial(check_agreement, name, n, checked) if paper else None,  # 200 wide steps take a minute
        quick_check=partial(check_agreement, name, n, checked, QUICK) if paper else None,
    )
    if paper:
        return replace(made, small=replace(made, warm=3))
    return replace(made, small=replace(two_cores(Network(n.columns, n.skip)), name=name, warm=3))


_NETWORKS = [Network(columns, skip) for skip in (True, False) for columns in (1, 2, 4)]
WORKLOADS = (
    *map(one_core, _NETWORKS),
    *map(two_cores, _NETWORKS),
    *(two_cores(Network(2, width=width, lines=lines), bar) for width, lines, bar in WIDE),
)
