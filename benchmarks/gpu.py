"""`python -m benchmarks.gpu`: steps of networks on a GPU, beside PyTorch eager and JAX, as a table for `benchmarks/`.

Run it on a machine with a device; one call takes at most ten minutes. Where a library is absent its column says so.

Knows: that a step is over when its loss has been read, so that all wait for the device alike; that first steps compile.
Refuses to know: networks, which the other benchmarks have.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any, Final

from benchmarks import nets_ours
from benchmarks.nets_data import Given, Sizes
from wengert.arrays.dispatch import gpus

NETS: Final = {
    "mlp": Sizes(batch=64, widths=(64, 128, 128, 10)),
    "vae": Sizes(batch=128, widths=(784, 400, 20)),
    "lstm": Sizes(batch=32, time=16, widths=(256,)),
    "transformer": Sizes(batch=8, time=32, widths=(128,), heads=4, layers=2, classes=64),
    "images": Sizes(batch=64, widths=(3, 16, 32, 32), side=32),
}
WARM, ROUNDS, SECONDS = 30, 50, 30.0
Step = Callable[[], float]


def main(rounds: int = ROUNDS, warm: int = WARM) -> int:
    """Print the table; 1 where there is no device."""
    found = gpus()
    if found is None or not found.names:
        print(f"no device to be used: {found.failure if found else 'cupy is not installed'}")
        return 1
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {', '.join(found.names)}, cupy {found.version}, {platform.platform()}"
    )
    print("\n| network, ms a step | wengert | PyTorch eager | JAX |\n|---|---|---|---|")
    for name, sizes in NETS.items():
        row = [_cell(of, name, sizes, rounds, warm) for of in (_ours, _torch, _jax)]
        print(f"| {name} | {' | '.join(row)} |", flush=True)
    return 0


def _cell(make: Callable[[str, Sizes], Step | None], name: str, sizes: Sizes, rounds: int, warm: int) -> str:
    step = make(name, sizes)
    return "absent" if step is None else f"{1e3 * timed(step, rounds, warm):.3f}"


def timed(step: Step, rounds: int = ROUNDS, warm: int = WARM) -> float:
    """The median seconds of a step, after some that compile."""
    for _ in range(warm):
        step()
    seconds: list[float] = []
    begun = perf_counter()
    while len(seconds) < rounds and perf_counter() - begun < SECONDS:
        before = perf_counter()
        step()
        seconds.append(perf_counter() - before)
    return median(seconds)


def _ours(name: str, sizes: Sizes) -> Step | None:
    cupy = import_module("cupy")
    with on_device(cupy.asarray):
        step: Step = getattr(nets_ours, name)(sizes)
    return step


@contextmanager
def on_device(on: Callable[[Any], Any]) -> Generator[None]:
    """Have networks of ours made with weights and batches where `on` puts them."""
    nets: Any = nets_ours  # Any: its data are another module's
    before = nets.data
    try:
        nets.data = _Moved(before, on)
        yield
    finally:
        nets.data = before


class _Moved:
    """The data of networks, on a device."""

    def __init__(self, data: Any, on: Callable[[Any], Any]) -> None:  # Any: a module
        self._data, self._on = data, on

    def __getattr__(self, name: str) -> Any:  # Any: what the module has
        made = getattr(self._data, name)
        if not callable(made):
            return made

        def moved(sizes: Sizes) -> Given:
            given: Given = made(sizes)
            batches = [tuple(self._on(x) if x.dtype.kind == "f" else x for x in b) for b in given.batches]
            return Given({key: self._on(x) for key, x in given.weights.items()}, batches)

        return moved


def _torch(name: str, sizes: Sizes) -> Step | None:
    if find_spec("torch") is None:
        return None
    torch = import_module("torch")
    torch.set_default_device("cuda")
    return _made("benchmarks.nets_torch", name, sizes)


def _jax(name: str, sizes: Sizes) -> Step | None:
    if find_spec("jax") is None:
        return None
    return _made("benchmarks.nets_jax", name, sizes)


def _made(module: str, name: str, sizes: Sizes) -> Step | None:
    """The step of a network; None where the module has no such network."""
    make = getattr(import_module(module), name, None)
    if make is None:
        return None
    step: Step = make(sizes)
    return step


if __name__ == "__main__":
    raise SystemExit(main())
