"""Networks as people train them, as workloads, beside PyTorch and JAX.

A dense network with Adam and one of varying batches, two networks of convolutions, an LSTM, a transformer with AdamW,
a variational autoencoder, a new graph each step, one prediction, and a network of numbers. PyTorch runs eagerly with
its fused optimizers, JAX is compiled. Networks whose plans may get loops of C are measured without these, too.

Knows: sizes, bars, and that all libraries have to see the same losses before anything is timed.
Refuses to know: how a library computes, and how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks import nets_jax, nets_ours, nets_torch
from benchmarks.nets_data import Sizes
from benchmarks.workload import OURS, Step, Variant, Workload, agreement, warmed
from wengert.run import Sequential

KEPT, CELLS = f"{OURS}, kept", f"{OURS}, cells"
NUMPY = ", native=False"  # how the name of a variant ends that leaves all to numpy
SLOWER = 1.25  # its bar, in bars of the one with loops of C
TORCH, JAX = "torch", "jax.jit"
MS, US = ("ms a step", 1e-3), ("us", 1e-6)
WARM = 12
Make = Callable[[Sizes], Step]
MakeBy = Callable[..., Step]  # of sizes, and of an executor by name


def with_and_without(ours: Mapping[str, MakeBy]) -> dict[str, Make]:
    """Each variant with loops of C where there is a compiler, and each without."""
    without = {
        f"{name}{NUMPY}": partial(make, executor=Sequential(native=False)) for name, make in ours.items()
    }
    return {**ours, **without}


def first_steps(make: Make, sizes: Sizes) -> Step:
    """A step is a network that is made anew, and its first ten steps."""
    return lambda: warmed(make(sizes), 10)


@dataclass(frozen=True)
class Net:
    """A network: its sizes, those that take no time, and who computes it."""

    name: str
    what: str
    sizes: Sizes
    small: Sizes
    ours: Mapping[str, Make]
    torch: Make
    most: Mapping[str, float]  # by our variant with loops of C, of the ratio to PyTorch
    jax: Make | None = None
    unit: tuple[str, float] = MS
    warm: int = WARM

    def bar(self, ours: str) -> float | None:
        """The greatest ratio to PyTorch that is accepted of a variant; None where any is."""
        loops = ours.removesuffix(NUMPY)
        most = self.most.get(loops)
        return most if most is None or loops == ours else SLOWER * most

    def workload(self, sizes: Sizes, small: Workload | None = None) -> Workload:
        """The network of these sizes."""
        peers = {TORCH: (self.torch, "torch")} | ({JAX: (self.jax, "jax")} if self.jax else {})
        variants = (
            *(Variant(name, partial(make, sizes)) for name, make in self.ours.items()),
            *(Variant(name, partial(make, sizes), needs=(module,)) for name, (make, module) in peers.items()),
        )
        return Workload(
            f"net-{self.name}",
            self.what,
            *self.unit,
            parts=1,
            variants=variants,
            bars={(ours, TORCH): most for ours in self.ours if (most := self.bar(ours)) is not None},
            warm=self.warm,
            settles=20.0,  # loops of C are compiled when runs have paid for it, after the plan
            check=partial(agreement, variants),
            quick_check=small.check if small else None,
            small=small,
        )

    def both(self) -> Workload:
        """The workload, with the one for a look at it."""
        return self.workload(self.sizes, self.workload(self.small))


def _prediction(name: str, widths: tuple[int, ...]) -> Net:
    return Net(
        name,
        f"one prediction of {'-'.join(map(str, widths))}",
        Sizes(1, widths),
        Sizes(1, (3, 2)),
        with_and_without(
            {
                OURS: nets_ours.prediction,
                CELLS: nets_ours.prediction_in_cells,
                KEPT: nets_ours.kept_prediction,
            }
        ),
        nets_torch.prediction,
        {OURS: 1.1, CELLS: 1.1, KEPT: 0.6},
        nets_jax.prediction,
        unit=US,
        warm=200,
    )


_NETS: Final = (
    Net(
        "mlp",
        "dense 784-512-512-10, batch 128, Adam",
        Sizes(128, (784, 512, 512, 10)),
        Sizes(4, (6, 5, 3)),
        with_and_without({OURS: nets_ours.mlp}),
        nets_torch.mlp,
        {OURS: 0.85},
        nets_jax.mlp,
    ),
    Net(
        "vae",
        "variational autoencoder 784-400-20, batch 128, Adam",
        Sizes(128, (784, 400, 20)),
        Sizes(3, (6, 5, 2)),
        with_and_without({OURS: nets_ours.vae}),
        nets_torch.vae,
        {OURS: 0.9},
        nets_jax.vae,
    ),
    Net(
        "varying",
        "dense 784-128-10, batches of 1 to 128, SGD",
        Sizes(128, (784, 128, 10)),
        Sizes(4, (6, 5, 3)),
        with_and_without({OURS: nets_ours.varying}),
        nets_torch.varying,
        {OURS: 0.8},
        warm=400,
    ),
    Net(
        "cnn",
        "64 images of 1x28x28, convolutions to 16 and 32 channels, Adam",
        Sizes(64, (1, 16, 32), side=28),
        Sizes(2, (1, 3, 4), side=4),
        with_and_without({OURS: nets_ours.images}),
        nets_torch.images,
        {OURS: 1.0},
        nets_jax.images,
    ),
    Net(
        "conv",
        "32 images of 3x32x32, three convolutions to 64 channels, Adam",
        Sizes(32, (3, 64, 64, 64), side=32),
        Sizes(2, (3, 3, 3, 3), side=4),
        with_and_without({OURS: nets_ours.images}),
        nets_torch.images,
        {OURS: 1.2},
        nets_jax.images,
    ),
    Net(
        "lstm",
        "LSTM of 256, 64 steps, batch 32, Adam",
        Sizes(32, (256,), time=64),
        Sizes(2, (3,), time=3),
        with_and_without({OURS: nets_ours.lstm}),
        nets_torch.lstm,
        {OURS: 1.1},
        nets_jax.lstm,
    ),
    Net(
        "transformer",
        "4 blocks of width 128, 4 heads, 16 sequences of 64 words, AdamW",
        Sizes(16, (128,), time=64, heads=4, layers=4, classes=50),
        Sizes(2, (4,), time=3, heads=2, layers=1, classes=5),
        with_and_without({OURS: nets_ours.transformer}),
        nets_torch.transformer,
        {OURS: 0.9},
        nets_jax.transformer,
    ),
    Net(
        "dag",
        "200 nodes of 32x32, another graph each step, SGD",
        Sizes(side=32, layers=200),
        Sizes(side=2, layers=9),
        {OURS: nets_ours.dag},
        nets_torch.dag,
        {OURS: 0.58},
    ),
    _prediction("predict-small", (16, 32, 4)),
    _prediction("predict-large", (784, 128, 10)),
    Net(
        "moons",
        "2-16-16-1 of numbers on 20 points, SGD",
        Sizes(20, (2, 16, 16, 1)),
        Sizes(2, (2, 2, 1)),
        {OURS: nets_ours.moons, CELLS: nets_ours.moons_in_cells},
        nets_torch.moons,
        {OURS: 0.3},
    ),
)
_FIRST: Final = Net(
    "first-steps",
    "a new network 784-128-10 and its first ten steps, batch 128, Adam",
    Sizes(128, (784, 128, 10)),
    Sizes(4, (6, 5, 3)),
    {OURS: partial(first_steps, nets_ours.mlp)},
    partial(first_steps, nets_torch.mlp),
    {OURS: 1.0},
    partial(first_steps, nets_jax.mlp),
    unit=("ms", 1e-3),
    warm=2,
)
NETS: Final = (*_NETS, _FIRST)
WORKLOADS: Final = tuple(net.both() for net in NETS)
