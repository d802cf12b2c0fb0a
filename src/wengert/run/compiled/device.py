"""Programs of plans on a device: launches of kernels and calls of its library, in order, that wait for nothing.

Knows: that what is traced for the host is computed by the device's functions of the same names, or by kernels; that
results come from the library's pool and go back after their last use; that a loss stays on the device until somebody
reads it; that weights change in one launch, after everything else; that the program of a batched operation writes into
rows of tables that lie there.
Refuses to know: the text of kernels, and which device it is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from wengert.arrays import (
    HOST,
    Value,
    device_launches,
    is_array,
    is_host_array,
    is_out_of_memory,
    namespace_for,
    without_memory,
)
from wengert.arrays.abstract import sizes_for
from wengert.arrays.changes import Change
from wengert.arrays.kernels import EFFECTS, put_into, subtract_into
from wengert.errors import DeviceError
from wengert.program.build import NoProgram
from wengert.program.cuda import (
    ColumnSums,
    CudaKernel,
    LaunchPlan,
    Step,
    blocks_of,
    count_of,
    for_device,
    strides_of,
)
from wengert.program.derive import AtRows
from wengert.program.fused import FusedGroup
from wengert.program.memory import Allocation
from wengert.program.program import Argument, Eqn, Program, Values, Var, mapped, now, vars_in
from wengert.program.simplify import Pieces, needed
from wengert.run.compiled.program import PlanProgram

__all__ = ["DeviceKernel", "DeviceProgram"]

_DRAWN: Final = (HOST.dropout_mask, HOST.dropout_masks)
_STEP: Final = 2000  # bytes of a step, about
# values, the number of rows, and where some results lie
Call = Callable[[Values, int, Mapping[Var, Value]], None]
_NOWHERE: Final[Mapping[Var, Value]] = {}


class LaunchedProgram:
    """The launches and calls of a program on a device, for any number of rows if its sizes mention them."""

    def __init__(self, device: Any, p: Program) -> None:  # Any: one of cupy's
        self.launches = device_launches()
        self.device = device
        self.schedule = for_device(p)
        self.program = p = self.schedule.program
        self._namespace = namespace_for(device, True)
        self._constants: dict[int, tuple[Value, Value]] = {}  # arrays of numpy with theirs on the device
        steps = self.schedule.steps
        with device:  # a kernel is loaded for the present one
            self._calls = [*map(self._call, steps)]
        seeds = {x for e in p.eqns if e.function in _DRAWN for x in e.reads}
        self._moved = [x for x in p.inputs if x not in seeds]  # generators take their seeds on the host
        self._ends = self._last_uses(steps)

    def computed(
        self, inputs: Sequence[Value], rows: int = 0, places: Mapping[Var, Value] = _NOWHERE
    ) -> Values:
        """The values after all steps, those of `places` in the arrays that are given for them; on its device.

        Raises DeviceError where there is no memory.
        """
        values: Values = dict(zip(self.program.inputs, inputs, strict=True))
        for x in self._moved:
            if is_host_array(values[x]):
                values[x] = self.launches.on_device(values[x])
        for step, call, over in zip(self.schedule.steps, self._calls, self._ends, strict=True):
            try:
                call(values, rows, places)
            except Exception as failure:
                if not is_out_of_memory(failure):
                    raise
                raise self._without_memory(step, values) from failure
            for x in over:
                values.pop(x, None)
        return values

    def now(self, x: Argument, values: Values, rows: int = 0) -> Any:  # Any: data
        """An argument after the steps; a constant array on the device."""
        return now(mapped(self._constant, x), values, rows)

    def _without_memory(self, step: Step, values: Values) -> DeviceError:
        """The error for a device without memory."""
        of = {e.result: e.source for each in self.schedule.steps for e in _eqns(each)}
        arrays = [(x, of.get(var)) for var, x in values.items()]
        made = next(_eqns(step)).source
        return without_memory(
            self.device,
            "a step" if made is None else made.operation,
            [(x, "an input" if source is None else source.operation) for x, source in arrays],
        )

    def _last_uses(self, steps: Sequence[Step]) -> list[list[Var]]:
        """After each step the values that nobody reads any more."""
        stay = {*vars_in(tuple(self.program.outputs)), *(x for e in self.program.effects for x in e.reads)}
        last: dict[Var, int] = {}
        for i, step in enumerate(steps):
            for e in _eqns(step):
                last |= dict.fromkeys((*e.reads, e.result), i)
        ends: list[list[Var]] = [[] for _ in steps]
        for x, i in last.items():
            if x not in stay:
                ends[i].append(x)
        return ends

    def _call(self, step: Step) -> Call:
        if isinstance(step, ColumnSums):
            return partial(self._sum, step)
        if isinstance(step, CudaKernel):
            kernel = self.launches.compiled(step.source, step.name)
            many = len(step.groups) > 1
            return partial(self._launch_many if many else self._launch, step, kernel)
        return self._called(step)

    def _sum(self, step: ColumnSums, values: Values, rows: int, places: Mapping[Var, Value]) -> None:
        found = self.launches.sum_columns([values[e.arguments[0]] for e in step.eqns])
        values.update(zip((e.result for e in step.eqns), found, strict=True))

    def _launch(
        self, step: CudaKernel, kernel: Any, values: Values, rows: int, places: Mapping[Var, Value]
    ) -> None:  # Any: cupy's kernel
        (group,) = step.groups
        operands, count = self._operands(group, values, rows, places), count_of(group, rows)
        strides = [self.launches.stride(operands[i], axis) for i, axis in strides_of(group)]
        blocks = blocks_of(step, count)
        if blocks:
            kernel((blocks,), (step.threads,), (*operands, *strides, self.launches.integer(count)))

    def _launch_many(
        self, step: CudaKernel, kernel: Any, values: Values, rows: int, places: Mapping[Var, Value]
    ) -> None:  # Any: as above
        lines, counts = [], [count_of(group, rows) for group in step.groups]
        for group, count in zip(step.groups, counts, strict=True):
            operands = self._operands(group, values, rows, places)
            lines.append([count, *map(self.launches.word, operands)])
        found, blocks = self.launches.table(lines, [-(-n // step.threads) for n in counts])
        if blocks:
            kernel((blocks,), (step.threads,), (found,))

    def _operands(
        self, group: FusedGroup, values: Values, rows: int, places: Mapping[Var, Value]
    ) -> list[Value]:
        """The operands of a kernel; results without a place are new arrays."""
        read, written = group.dtypes()
        operands = [
            dtype.type(values[x]) if x.aval.form == "number" else values[x]
            for x, dtype in zip(group.inputs, read, strict=True)
        ]
        for x, dtype in zip(group.outputs, written, strict=True):
            given = places.get(x)
            values[x] = made = (
                self.launches.empty(sizes_for(x.shape, rows), dtype) if given is None else given
            )
            operands.append(made)
        return operands

    def _called(self, e: Eqn) -> Call:
        """The call of a function of the device's library, or of a user's."""
        if isinstance(e.function, Pieces):
            return partial(self._assembled, e, e.function)
        function = e.function
        of_sizes = e.result.aval.form == "other" and not e.reads  # such as the axes of a shape
        if e.pure and e.result.aval.form != "number" and not of_sizes:
            found = self.launches.counterpart(e.function, self._namespace)
            if found is None:
                raise NoProgram(f"{e.function} has no counterpart on a device")
            function = found
        arguments = mapped(self._constant, e.arguments)
        options = {name: mapped(self._constant, x) for name, x in e.options.items()}

        by_rows = isinstance(function, AtRows)

        def call(values: Values, rows: int, places: Mapping[Var, Value]) -> None:
            given = [now(x, values, rows) for x in arguments]
            named = {name: now(x, values, rows) for name, x in options.items()}
            values[e.result] = function(rows, *given, **named) if by_rows else function(*given, **named)

        return call

    def _assembled(
        self, e: Eqn, pieces: Pieces, values: Values, rows: int, places: Mapping[Var, Value]
    ) -> None:
        make = self.launches.empty if pieces.whole else self._namespace.zeros
        values[e.result] = made = make(sizes_for(e.result.shape, rows), e.result.dtype)
        for key, x in zip(pieces.keys, e.arguments, strict=True):
            made[now(key, values, rows)] = self.now(x, values, rows)

    def effect(self, e: Eqn) -> Callable[..., list[Change]]:
        """The function that gives the changes of an effect."""
        if e.function is put_into:
            put: Callable[..., list[Change]] = self.launches.replacement
            return put
        if e.function not in EFFECTS:
            raise NoProgram(f"{e.function} changes weights in no known way")
        found: Callable[..., list[Change]] | None = self.launches.counterpart(e.function, self._namespace)
        return (lambda *given: []) if found is None else found

    def _constant(self, x: Argument) -> Argument:
        """A constant, on the device if it is an array of the host's: its functions refuse those."""
        if not is_host_array(x) or not x.ndim:
            return x[()] if is_host_array(x) else x
        found = self._constants.get(id(x))
        if found is None:
            with self.device:
                found = self._constants[id(x)] = (x, self.launches.on_device(x))
        return found[1]


class DeviceProgram(PlanProgram):
    """A program whose steps are launched one after the other; its results are new arrays."""

    def __init__(self, device: Any, p: Program) -> None:  # Any: one of cupy's
        self._launched = made = LaunchedProgram(device, p)
        self.schedule: LaunchPlan = made.schedule
        self._program, self._device = made.program, device
        self._effects = [*map(made.effect, self._program.effects)]
        self.source = "\n".join(dict.fromkeys(kernel.source for kernel in self.schedule.kernels))
        self.frame_source = ""
        self.run = self._run if p.targets is None else self._run_and_change
        self.free, self._forms = [], []  # buffers are the pool's
        self._frame = lambda start, rows: ()

    def size(self) -> int:
        """The bytes that it takes on the host, about."""
        return _STEP * len(self.schedule.steps)

    # -- a run ----------------------------------------------------------------------------------------------

    def _run(self, inputs: Sequence[Value], frame: tuple[Value, ...]) -> tuple[Value, ...]:
        with self._device:
            values = self._launched.computed(inputs)
            return tuple(self._launched.now(x, values) for x in self._program.outputs)

    def _run_and_change(
        self, inputs: Sequence[Value], frame: tuple[Value, ...]
    ) -> Generator[Value, list[Value], tuple[tuple[Value, ...], list[Change]]]:
        with self._device:
            values = self._launched.computed(inputs)
        outputs = tuple(self._launched.now(x, values) for x in self._program.outputs)
        targets = yield outputs[0]
        with self._device:
            values |= zip(self._program.targets or (), targets, strict=True)
            return outputs, self._changes(values)

    def _changes(self, values: Values) -> list[Change]:
        """The changes of all targets, of which one launch for all differences."""
        weights, steps, others = [], [], []
        for e, effect in zip(self._program.effects, self._effects, strict=True):
            given = [self._launched.now(x, values) for x in e.arguments]
            if e.function is subtract_into:
                weights.append(given[0])
                steps.append(given[1])
            else:
                others += effect(*given)
        return [*self._launched.launches.subtractions(weights, steps), *others]


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
                launched.launches.flat(x) if flat and is_array(x) and not is_host_array(x) else x
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


def _eqns(step: Step) -> Iterator[Eqn]:
    if isinstance(step, Eqn):
        yield step
    elif isinstance(step, ColumnSums):
        yield from step.eqns
    else:
        for group in step.groups:
            yield from group.eqns
