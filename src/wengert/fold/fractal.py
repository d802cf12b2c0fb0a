"""Fractal networks: a short path and a long path, mixed, each of which is such a network again.

Knows: which paths a network has, and which of them are taken in training.
Refuses to know: what the layers on the paths compute.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from typing import TypeAlias

from wengert.arrays import is_integer
from wengert.errors import BlockValueError
from wengert.fold.block import AnyBlock, Block, Tensors, convert_to_block
from wengert.fold.calls import Calls
from wengert.fold.inference import Frames, Solver, Steps, Use
from wengert.fold.kinds import Composite
from wengert.fold.plan import drawn_seed
from wengert.fold.types import TupleType, Value
from wengert.graph.operand import shown

# which block, then at each level the first or the second half of the long path
Place: TypeAlias = tuple[int, ...]
# at a place and a depth: the short path, the long one
Taken: TypeAlias = Callable[[Place, int], tuple[bool, bool]]


def average(a: Tensors, b: Tensors) -> Tensors:
    """The mean of two layers."""
    mean: Tensors = (a + b) * 0.5
    return mean


def _both(place: Place, depth: int) -> tuple[bool, bool]:
    return True, True


class FractalNet(Composite[Tensors, Tensors]):
    """Fractal blocks in a row: f₀ is a layer, fₙ₊₁(x) = mixer(a layer of x, fₙ(fₙ(x))), all layers different.

    `base_layer_builder` makes each layer, whose output has the type of its input; without a `mixer` it is the mean of
    both. With `drop_path`, in training, which is `build` with a seed, paths are left out: with the probability
    `p_local_drop_path` each short path and each long one by its own probability, but never both; else all paths but
    those of one length.
    Raises BlockError where a layer gives another type than it takes, BlockValueError for what is no number of blocks,
    no depth or no probability.
    >>> from wengert import fold as td
    >>> net = td.FractalNet(2, 1, lambda: td.Function(lambda x: x + 1.0))
    >>> (td.Scalar() >> net).eval(0).item()
    3.0

    Source: G. Larsson, M. Maire and G. Shakhnarovich, "FractalNet", 2017; TensorFlow Fold, `td.FractalNet`.
    """

    def __init__(
        self,
        num_fractal_blocks: int,
        fractal_block_depth: int,
        base_layer_builder: Callable[[], Block[Tensors, Tensors]],
        mixer: Callable[[Tensors, Tensors], Tensors] | None = None,
        drop_path: bool = False,
        p_local_drop_path: float = 0.5,
        p_drop_base_case: float = 0.25,
        p_drop_recursive_case: float = 0.25,
        name: str | None = None,
    ) -> None:
        super().__init__(name, num_fractal_blocks=num_fractal_blocks, fractal_block_depth=fractal_block_depth)
        for what, n, least in (("blocks", num_fractal_blocks, 1), ("levels", fractal_block_depth, 0)):
            if not is_integer(n) or int(n) < least:
                raise self.error(f"the number of {what} is at least {least}, not {shown(n)}", BlockValueError)
        chances = (p_local_drop_path, p_drop_base_case, p_drop_recursive_case)
        for chance in chances:
            if not 0.0 <= chance <= 1.0:
                raise self.error(f"a probability is from 0 to 1, not {shown(chance)}", BlockValueError)
        self._blocks, self._depth = int(num_fractal_blocks), int(fractal_block_depth)
        self._chances = chances if drop_path else None
        self._mix = self.cell(mixer or average)
        self._layers: dict[Place, AnyBlock] = {}
        for block in range(self._blocks):
            places: list[Place] = [(block,)]
            for _ in range(self._depth + 1):
                self._layers |= {place: convert_to_block(base_layer_builder()) for place in places}
                places = [(*place, half) for place in places for half in (0, 1)]
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "its input", use.input, "its output", use.output)
        for block in self._layers.values():
            part = solver.part(use, block)
            solver.equal(use, "its input", use.input, f"the input of {block!r}", part.input)
            solver.link(use, "its input", use.input, f"the output of {block!r}", part.output)

    def frames(self, use: Use, calls: Calls) -> Frames:
        layers = dict(zip(self._layers, use.parts, strict=True))
        mix = calls.cell(self._mix, TupleType(use.output, use.output), use.output)

        def steps(x: Value) -> Steps:
            taken = self._taken()
            for block in range(self._blocks):
                x = yield from _fractal(layers, mix, taken, (block,), self._depth, x)
            return x

        return steps

    def _taken(self) -> Taken:
        """Which paths this example takes."""
        seed = None if self._chances is None else drawn_seed()
        if seed is None or self._chances is None:
            return _both
        chance, (local, drop_short, drop_long) = random.Random(repr(seed)), self._chances
        if chance.random() >= local:
            column = chance.randrange(self._depth + 1)
            return lambda place, depth: (depth == column, depth > column)

        def each(place: Place, depth: int) -> tuple[bool, bool]:
            short = chance.random() >= drop_short
            return short, not short or chance.random() >= drop_long

        return each


def _fractal(
    layers: dict[Place, Use], mix: Callable[..., Value], taken: Taken, place: Place, depth: int, x: Value
) -> Generator[tuple[Use | None, Value], Value, Value]:
    """One network of a depth; recursive over the depth, which a person has written."""
    short, long = taken(place, depth) if depth else (True, False)
    made = []
    if short:
        made.append((yield layers[place], x))
    if long:
        half = yield from _fractal(layers, mix, taken, (*place, 0), depth - 1, x)
        made.append((yield from _fractal(layers, mix, taken, (*place, 1), depth - 1, half)))
    return mix(*made) if len(made) > 1 else made[0]
