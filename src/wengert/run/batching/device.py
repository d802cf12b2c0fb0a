"""The kernels of batched operations on a device: launches for any number of rows, between tables that lie there.

Knows: that results go straight into rows of tables, and sides of products into those of a workspace, where a launch
writes them; that anything else is an array of the pool, so that nothing else has a place.
Refuses to know: which rows come together, and what a launch computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wengert.arrays import HOST, Value, is_array
from wengert.arrays.abstract import sizes_for
from wengert.program.cuda import CudaKernel
from wengert.program.memory import Allocation
from wengert.program.program import Argument, Eqn, Program, Values, Var
from wengert.program.simplify import needed
from wengert.run.compiled.device import LaunchedProgram

__all__ = ["DeviceKernel"]


class DeviceKernel:
    """Some equations as launches: as `Kernel`, on one of cupy's devices.

    Of `kept` those have a place which a launch can write there.
    """

    def __init__(
        self,
        device: Any,  # Any: one of cupy's
        inputs: Sequence[Var],
        eqns: Sequence[Eqn],
        outputs: Sequence[Argument],
        wanted: Sequence[Var],
        kept: Mapping[Var, object],
    ) -> None:
        leaving = (*outputs, *wanted)
        self._launched = made = LaunchedProgram(device, Program([*inputs], needed(eqns, leaving), leaving))
        self.source = "\n".join(dict.fromkeys(kernel.source for kernel in made.schedule.kernels))
        self._count = len(outputs)
        self._flat = [x.aval.form == "array" and x.aval.order == "compact" for x in inputs]
        self._views = {
            e.result: e.arguments[0]
            for e in made.program.eqns
            if e.function is HOST.reshape and isinstance(e.arguments[0], Var)
        }
        written = {
            x
            for step in made.schedule.steps
            if isinstance(step, CudaKernel)
            for group in step.groups
            for x in group.outputs
        }
        last = dict(zip(wanted, made.program.outputs[self._count :], strict=True))
        roots = {x: root for x in kept if x in last and (root := self._root(last[x])) in written}
        self.buffers: list[Allocation] = []
        self.place: dict[Var, int] = {}
        self._homes: dict[Var, int] = {}  # of what launches write, in which buffer
        for x, root in roots.items():
            if root not in self._homes:
                self._homes[root] = self.place[x] = len(self.buffers)
                self.buffers.append(Allocation(x.shape, x.dtype, kept[x]))
        self._direct: dict[Var, int] = {}  # the same, in which array that is given for a result
        for i, x in enumerate(made.program.outputs[: self._count]):
            root = self._root(x)
            if root in written and root not in self._homes:
                self._direct.setdefault(root, i)

    def _root(self, x: Argument) -> Any:  # Any: a variable, or a constant
        """The variable whose memory a result is a view of."""
        while isinstance(x, Var) and x in self._views:
            x = self._views[x]
        return x

    def frame(self, start: int, rows: int, *wholes: Value) -> tuple[Value, ...]:
        """The parts of wholes that belong to some rows."""
        found = []
        for whole, buffer in zip(wholes, self.buffers, strict=True):
            lines = sizes_for(buffer.shape, 1)[0]
            found.append(whole[start * lines : (start + rows) * lines])
        return tuple(found)

    def run(self, rows: int, *given: Value) -> tuple[Value, ...]:
        """Write the outputs into what is given for them, and return the values of what is wanted."""
        count, launched = len(self._flat), self._launched
        out, frame = given[count : count + self._count], given[count + self._count :]
        with launched.device:
            inputs = [
                launched.launches.flat(x) if flat and is_array(x) else x
                for x, flat in zip(given, self._flat, strict=False)
            ]
            places = {x: frame[i].reshape(sizes_for(x.shape, rows)) for x, i in self._homes.items()}
            places |= {x: out[i].reshape(sizes_for(x.shape, rows)) for x, i in self._direct.items()}
            values: Values = launched.computed(inputs, rows, places)
            found = [launched.now(x, values, rows) for x in launched.program.outputs]
            for i, (to, x) in enumerate(zip(out, launched.program.outputs, strict=False)):
                if self._direct.get(self._root(x)) != i:
                    to[...] = found[i]
        return tuple(found[self._count :])
