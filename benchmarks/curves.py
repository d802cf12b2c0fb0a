"""Learning curves, batched and node by node: `python -m benchmarks.curves PATH [--plot out.png]`.

The network of `examples/sentiment.py` learns the trees in the folder PATH twice from one beginning: with
`run.Batched`, and with `run.Sequential`, node by node. It prints by how much the losses of single steps lie apart,
the loss and the accuracies of every epoch, and what another seed changes, which is the noise to compare with.

    python -m benchmarks.curves PATH --size 32 --most 800 --epochs 2    # a quick look, a minute or two

Knows: which steps a training has, and that nothing but the executor differs.
Refuses to know: the network, and how long anything takes.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

from benchmarks.plot import COLOURS
from benchmarks.workload import ADVICE
from wengert.control import Executor
from wengert.data import Items, Tree, batches
from wengert.run import Batched, Sequential

EXAMPLE: Final = Path(__file__).resolve().parent.parent / "examples" / "sentiment.py"
BATCHED, ALONE, OTHER = "batched", "node by node", "batched, another seed"


@dataclass
class Curve:
    """What one training has been like."""

    losses: list[float] = field(default_factory=list)  # of every step
    epochs: list[float] = field(default_factory=list)  # the mean loss of each
    accuracies: list[tuple[float, float]] = field(
        default_factory=list
    )  # after each: of five classes, and of two


def example() -> ModuleType:
    """The module of the network."""
    spec = importlib.util.spec_from_file_location("sentiment_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def learned(
    model: Any, train: Items[Tree], dev: Items[Tree], executor: Executor, epochs: int, batch: int
) -> Curve:  # Any: a module has no static type here
    """Train, and take down what it is like; the order of the examples is the same for all."""
    curve = Curve()
    for epoch in range(epochs):
        losses = [
            float(model.loss(part).train().run(executor))
            for part in batches(train, batch, seed=0, epoch=epoch)
        ]
        curve.losses += losses
        curve.epochs.append(sum(losses) / len(losses))
        curve.accuracies.append(model.accuracy(dev))
    return curve


def compared(
    made: Callable[[int], Any], train: Items[Tree], dev: Items[Tree], epochs: int, batch: int
) -> dict[str, Curve]:  # Any: as above
    """The curves of `made(seed)`, by what differs."""
    runs: Mapping[str, tuple[int, Executor]] = {
        BATCHED: (0, Batched()),
        ALONE: (0, Sequential()),
        OTHER: (1, Batched()),
    }
    return {
        name: learned(made(seed), train, dev, executor, epochs, batch)
        for name, (seed, executor) in runs.items()
    }


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    """By how much two losses of a step lie apart at most, of the loss."""
    return max(abs(x - y) / abs(y) for x, y in zip(one, other, strict=True))


def said(curves: Mapping[str, Curve]) -> str:
    """The figures as lines; raises AssertionError where the executor makes more of a difference than another seed."""
    batched, alone, other = (curves[name] for name in (BATCHED, ALONE, OTHER))
    first, whole = apart(batched.losses[:1], alone.losses[:1]), apart(batched.losses, alone.losses)
    noise = apart(batched.losses, other.losses)
    assert whole < noise, f"the executor changes a loss by {whole:.1e}, and another seed by {noise:.1e}"
    lines = [
        f"{len(batched.losses)} steps: losses lie apart by {first:.1e} in the first, by at most {whole:.1e} in all; "
        f"another seed changes them by up to {noise:.1e}"
    ]
    for name, curve in curves.items():
        for epoch, (loss, (fine, binary)) in enumerate(zip(curve.epochs, curve.accuracies, strict=True), 1):
            lines.append(
                f"{name}, epoch {epoch}: loss {loss:.5f}; dev {fine:.1%} of five, {binary:.1%} of two"
            )
    return "\n".join(lines)


def draw(curves: Mapping[str, Curve], path: Path) -> None:
    """The losses of all steps; what agrees lies one on the other, so the second curve is dashed."""
    try:
        module = import_module("matplotlib.figure")
    except ModuleNotFoundError as absent:
        raise SystemExit(f"--plot: matplotlib is not installed ({ADVICE})") from absent
    figure = module.Figure(figsize=(7.0, 4.0), layout="constrained")
    ax = figure.subplots()
    for (name, curve), style, colour in zip(curves.items(), ("-", "--", ":"), COLOURS, strict=False):
        ax.plot(curve.losses, style, color=colour, label=name)
    ax.set_xlabel("step")
    ax.set_ylabel("loss, a tree")
    ax.legend(frameon=False)
    figure.savefig(path, dpi=110)


def main(path: Path, size: int, most: int | None, epochs: int, batch: int, plot: Path | None) -> None:
    """Train, print, and draw."""
    module = example()
    train, dev, _ = (module.some(module.sst(path, part), most) for part in module.PARTS)
    with threadpool_limits(1):
        curves = compared(
            lambda seed: module.Sentiment(module.words(train), size, seed), train, dev, epochs, batch
        )
    print(said(curves))
    if plot is not None:
        draw(curves, plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the folder of train.txt, dev.txt, test.txt")
    for name, default in (("size", 32), ("epochs", 2), ("batch", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--most", type=int, help="trees of each file")
    parser.add_argument("--plot", type=Path, help="a picture of the curves")
    main(**vars(parser.parse_args()))
