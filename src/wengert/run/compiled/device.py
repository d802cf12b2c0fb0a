"""Programs of plans on a device: launches of kernels and calls of its library, in order, that wait for nothing.

Knows: that what is traced for the host is computed by the device's functions of the same names, or by kernels; that
results come from the library's pool and go back after their last use; that a loss stays on the device until somebody
reads it; that weights change in one launch, after everything else.
Refuses to know: the text of kernels, and which device it is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, Final

from wengert.arrays import (
    HOST,
    Value,
    device_launches,
    device_name,
    is_array,
    is_host_array,
    namespace_for,
    quietly,
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
from wengert.program.fused import FusedGroup
from wengert.program.program import Argument, Eqn, Program, Values, Var, mapped, now, vars_in
from wengert.program.simplify import Pieces
from wengert.run.commit import Interrupted
from wengert.run.compiled.program import PlanProgram

__all__ = ["DeviceProgram"]

_LARGEST: Final = 5  # arrays that an error names
_DRAWN: Final = (HOST.dropout_mask, HOST.dropout_masks)
_STEP: Final = 2000  # bytes of a step, about
Call = Callable[[Values], None]


class DeviceProgram(PlanProgram):
    """A program whose steps are launched one after the other; its results are new arrays."""

    def __init__(self, device: Any, p: Program) -> None:  # Any: one of cupy's
        self._launches = device_launches()
        self._namespace = namespace_for(device, True)
        self._device = device
        scheduled = for_device(p)
        self.schedule: LaunchPlan = scheduled
        self._program = p = scheduled.program
        self._constants: dict[int, tuple[Value, Value]] = {}  # arrays of numpy with theirs on the device
        with device:  # a kernel is loaded for the present one
            self._calls = [*map(self._call, scheduled.steps)]
        seeds = {x for e in p.eqns if e.function in _DRAWN for x in e.reads}
        self._moved = [x for x in p.inputs if x not in seeds]  # generators take their seeds on the host
        self._ends = self._last_uses(scheduled.steps)
        self._effects = [*map(self._effect, p.effects)]
        self.source = "\n".join(dict.fromkeys(kernel.source for kernel in scheduled.kernels))
        self.frame_source = ""
        self.run = self._run if p.targets is None else self._run_and_change

    def outputs(self, inputs: Sequence[Value]) -> tuple[Value, ...]:
        """The outputs of one that changes nothing; DeviceError where there is no memory, Interrupted where it fails."""
        try:
            return quietly(self.called, inputs)
        except DeviceError:
            raise
        except Exception as failure:
            raise Interrupted from failure

    def take(self) -> tuple[Value, ...]:
        """Nothing: buffers are the pool's."""
        return ()

    def give(self, frame: tuple[Value, ...]) -> None:
        """Nothing, as above."""

    def forget(self) -> None:
        """Nothing, as above."""

    def size(self) -> int:
        """The bytes that it takes on the host, about."""
        return _STEP * len(self._calls)

    # -- a run ----------------------------------------------------------------------------------------------

    def _run(self, inputs: Sequence[Value], frame: tuple[Value, ...]) -> tuple[Value, ...]:
        with self._device:
            values = self._computed(inputs)
            return tuple(self._now(x, values) for x in self._program.outputs)

    def _run_and_change(
        self, inputs: Sequence[Value], frame: tuple[Value, ...]
    ) -> Generator[Value, list[Value], tuple[tuple[Value, ...], list[Change]]]:
        with self._device:
            values = self._computed(inputs)
        outputs = tuple(self._now(x, values) for x in self._program.outputs)
        targets = yield outputs[0]
        with self._device:
            values |= zip(self._program.targets or (), targets, strict=True)
            return outputs, self._changes(values)

    def _computed(self, inputs: Sequence[Value]) -> Values:
        values: Values = dict(zip(self._program.inputs, inputs, strict=True))
        for x in self._moved:
            if is_host_array(values[x]):
                values[x] = self._launches.on_device(values[x])
        for step, call, over in zip(self.schedule.steps, self._calls, self._ends, strict=True):
            try:
                call(values)
            except Exception as failure:
                if not self._launches.is_out_of_memory(failure):
                    raise
                raise DeviceError(self._without_memory(step, values)) from failure
            for x in over:
                values.pop(x, None)
        return values

    def _without_memory(self, step: Step, values: Values) -> str:
        """The text for a device without memory: the peak, and the largest arrays by their operations."""
        of = {e.result: e.source for each in self.schedule.steps for e in _eqns(each)}
        told = {id(x): (x, of.get(var)) for var, x in values.items() if is_array(x)}
        largest = sorted(told.values(), key=lambda pair: -pair[0].nbytes)[:_LARGEST]
        lines = [
            f"{x.nbytes:,} bytes: {x.dtype}{list(x.shape)} of {'an input' if source is None else source.operation}"
            for x, source in largest
        ]
        made = next(_eqns(step)).source
        return (
            f"{device_name(self._device)} has no memory left for {'a step' if made is None else made.operation}; "
            f"{self._launches.memory()}; no weight has changed. The largest arrays:\n  "
            + "\n  ".join(lines)
            + "\n  use smaller batches, or shards(loss, batch, count)"
        )

    def _changes(self, values: Values) -> list[Change]:
        """The changes of all targets, of which one launch for all differences."""
        weights, steps, others = [], [], []
        for e, effect in zip(self._program.effects, self._effects, strict=True):
            given = [self._now(x, values) for x in e.arguments]
            if e.function is subtract_into:
                weights.append(given[0])
                steps.append(given[1])
            else:
                others += effect(*given)
        return [*self._launches.subtractions(weights, steps), *others]

    # -- steps ----------------------------------------------------------------------------------------------

    def _last_uses(self, steps: Sequence[Step]) -> list[list[Var]]:
        """After each step the values that nobody reads any more."""
        stay = {*vars_in(tuple(self._program.outputs)), *(x for e in self._program.effects for x in e.reads)}
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
            kernel = self._launches.compiled(step.source, step.name)
            many = len(step.groups) > 1
            return partial(self._launch_many if many else self._launch, step, kernel)
        return self._called(step)

    def _sum(self, step: ColumnSums, values: Values) -> None:
        found = self._launches.sum_columns([values[e.arguments[0]] for e in step.eqns])
        values.update(zip((e.result for e in step.eqns), found, strict=True))

    def _launch(self, step: CudaKernel, kernel: Any, values: Values) -> None:  # Any: cupy's kernel
        (group,) = step.groups
        operands, count = self._operands(group, values), count_of(group)
        strides = [self._launches.stride(operands[i], axis) for i, axis in strides_of(group)]
        blocks = blocks_of(step, count)
        if blocks:
            kernel((blocks,), (step.threads,), (*operands, *strides, self._launches.integer(count)))

    def _launch_many(self, step: CudaKernel, kernel: Any, values: Values) -> None:  # Any: as above
        rows, counts = [], [*map(count_of, step.groups)]
        for group, count in zip(step.groups, counts, strict=True):
            operands = self._operands(group, values)
            rows.append([count, *map(self._launches.word, operands)])
        found, blocks = self._launches.table(rows, [-(-n // step.threads) for n in counts])
        if blocks:
            kernel((blocks,), (step.threads,), (found,))

    def _operands(self, group: FusedGroup, values: Values) -> list[Value]:
        """The operands of a kernel; results are new arrays."""
        read, written = group.dtypes()
        operands = [
            dtype.type(values[x]) if x.aval.form == "number" else values[x]
            for x, dtype in zip(group.inputs, read, strict=True)
        ]
        for x, dtype in zip(group.outputs, written, strict=True):
            values[x] = made = self._launches.empty(sizes_for(x.shape, 0), dtype)
            operands.append(made)
        return operands

    def _called(self, e: Eqn) -> Call:
        """The call of a function of the device's library, or of a user's."""
        if isinstance(e.function, Pieces):
            return partial(self._assembled, e, e.function)
        function = e.function
        if e.pure and e.result.aval.form != "number":
            found = self._launches.counterpart(e.function, self._namespace)
            if found is None:
                raise NoProgram(f"{e.function} has no counterpart on a device")
            function = found
        arguments = mapped(self._constant, e.arguments)
        options = {name: mapped(self._constant, x) for name, x in e.options.items()}

        def call(values: Values) -> None:
            given = {name: now(x, values) for name, x in options.items()}
            values[e.result] = function(*(now(x, values) for x in arguments), **given)

        return call

    def _assembled(self, e: Eqn, pieces: Pieces, values: Values) -> None:
        make = self._launches.empty if pieces.whole else self._namespace.zeros
        values[e.result] = made = make(sizes_for(e.result.shape, 0), e.result.dtype)
        for key, x in zip(pieces.keys, e.arguments, strict=True):
            made[key] = self._now(x, values)

    def _effect(self, e: Eqn) -> Callable[..., list[Change]]:
        if e.function is put_into:
            put: Callable[..., list[Change]] = self._launches.replacement
            return put
        if e.function not in EFFECTS:
            raise NoProgram(f"{e.function} changes weights in no known way")
        found: Callable[..., list[Change]] | None = self._launches.counterpart(e.function, self._namespace)
        return (lambda *given: []) if found is None else found

    def _constant(self, x: Argument) -> Argument:
        """A constant, on the device if it is an array of the host's."""
        if not is_host_array(x) or not x.ndim:
            return x
        found = self._constants.get(id(x))
        if found is None:
            with self._device:
                found = self._constants[id(x)] = (x, self._launches.on_device(x))
        return found[1]

    def _now(self, x: Argument, values: Values) -> Any:  # Any: data
        return now(mapped(self._constant, x), values)


def _eqns(step: Step) -> Iterator[Eqn]:
    if isinstance(step, Eqn):
        yield step
    elif isinstance(step, ColumnSums):
        yield from step.eqns
    else:
        for group in step.groups:
            yield from group.eqns
