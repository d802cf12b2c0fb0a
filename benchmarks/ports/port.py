"""What a port is: a public program, written with Wengert, beside itself in the library that it was written for.

Both begin with the weights that our layers are made with, read the same data and have the same optimizer, so that
their losses can be compared step by step.

Knows: what belongs to a port, and what its reference needs of PyTorch.
Refuses to know: which ports there are.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from inspect import getsource
from pathlib import Path
from typing import Any, Final

from benchmarks.workload import OURS, Step, Variant, Workload, agreement
from wengert import nn

TORCH, JAX, NUMPY, PLAIN = "torch", "jax.jit", "plain numpy", "plain Python"
MODULES: Final = {TORCH: ("torch",), JAX: ("jax",)}
EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
Value = Any  # an array, a tensor


@dataclass(frozen=True)
class Port:
    """A program, and both ways to run a step of it; `parts` are the functions and classes that ours is made of."""

    name: str
    source: str
    what: str
    peer: str
    ours: Callable[[], Step]
    theirs: Callable[[], Step]
    parts: tuple[Callable[..., Any] | type, ...]
    steps: int = 30
    compared: int = 30  # how many of them, from the first, have equal losses
    example: str = ""
    small: Callable[[], Step] | None = None  # ours at sizes that take no time, for a look at whether it runs

    def workload(self) -> Workload:
        """A step of it, timed beside its reference; before that the losses of four steps are compared."""
        variants = (
            Variant(OURS, self.ours),
            Variant(self.peer, self.theirs, needs=MODULES.get(self.peer, ())),
        )
        made = Workload(
            f"port-{self.name}",
            f"{self.source}: {self.what}",
            "ms a step",
            1e-3,
            1,
            variants,
            warm=12,
            settles=10.0,  # loops of C are compiled when runs have paid for them
            check=partial(agreement, variants, min(4, self.compared)),
        )
        if self.small is None:
            return made
        return replace(
            made, small=replace(made, variants=(replace(variants[0], make=self.small), variants[1]))
        )

    def lines(self) -> int:
        """Of ours, without empty lines; data that both read are in none."""
        return sum(bool(line.strip()) for part in self.parts for line in getsource(part).splitlines())


def apart(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The greatest relative distance of two losses of a step."""
    return max(abs(x - y) / abs(y) for x, y in zip(ours, theirs, strict=True))


@cache
def example(name: str) -> Any:  # Any: a module has no static type here
    """The module of an example, which is no part of a package."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses, and who reads its source, look for it
    spec.loader.exec_module(module)
    return module


def torch() -> Any:  # Any: benchmarks type-check where no peer is installed
    """PyTorch on one thread."""
    library: Any = import_module("torch")
    library.set_num_threads(1)
    return library


def tensors(model: object) -> dict[str, Value]:
    """The weights of a model, by their places, as parameters of PyTorch."""
    made = torch().tensor
    return {place: made(weight.data, requires_grad=True) for place, weight in nn.weights(model).items()}


def recurrent(module: Any, cells: Sequence[nn.LSTMCell[Any, Any, Any]]) -> Value:
    """PyTorch's module with the weights of our cells, one a layer; of its two biases only one learns."""
    for layer, cell in enumerate(cells):
        for name, data in (
            ("weight_ih", cell.inputs.data.T),
            ("weight_hh", cell.hidden.data.T),
            ("bias_ih", cell.bias.data),
            ("bias_hh", 0.0 * cell.bias.data),
        ):
            parameter = getattr(module, f"{name}_l{layer}")
            parameter.data = torch().tensor(data).contiguous()
            parameter.requires_grad_(name != "bias_hh")
    return module


def stepped(optimizer: Any, loss: Value) -> float:
    """One step of an optimizer of PyTorch; the loss before it."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return float(loss.detach())
