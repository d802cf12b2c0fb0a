"""Calls of cells by programs: the values of one call as a function of its operands, and its deltas as another one.

Knows: that a tree or a sequence which never comes again calls the same few cells all the time; that a cell earns its
programs by its calls; that a program has the interpreter's bits for arrays that lie in memory as those do
which it was made for; that what backward reads stays with the call, and nothing else of it.
Refuses to know: which expression a call belongs to, and when backward comes to it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import ref

from wengert.arrays import ARRAY_CLASS, Value
from wengert.control import without_collector
from wengert.graph.node import Expression, Node
from wengert.graph.template import Parts, Template
from wengert.later import later
from wengert.run.commit import fails
from wengert.run.compiled.cache import Cache, RunCounts, clock
from wengert.run.compiled.segment import Programs, described, form_of, operations
from wengert.run.loops import Call, Ends, Failure, Loops, Values, backward, computed_within, forward, passed

if TYPE_CHECKING:
    from wengert.run.compiled.program import PlanProgram

_WORTH: Final = 256  # calls that take as long as making the programs, where arrays are small
_FEWEST: Final = 3  # nodes: a call of fewer takes as long by a program
_MOST: Final = 200  # of more, making programs would stop a run for longer than one can overlook
_COMPILER: Final = "wengert.run.compiled.compiler"
_traced_cell, _traced_cell_backward = (
    later(_COMPILER, "traced_cell"),
    later(_COMPILER, "traced_cell_backward"),
)

Sent = list[tuple[int, Value]]  # deltas, each with the number of its operand


class CellPrograms(Programs):
    """The programs of one template."""

    def __init__(self, template: Template, program: PlanProgram) -> None:
        super().__init__(program)
        self.template = ref(template)  # not held: with it live the weights that the cell reads
        self._doubt = ""  # the failure of the first call by it
        self._single, self._results = template.single, len(template.results)

    def called(self, arguments: tuple[Value, ...]) -> tuple[Value, ...] | None:
        """Results of a call, and what it leaves for backward; None where the interpreter has to run it."""
        for x in arguments:
            cls: object = type(x)
            if cls is ARRAY_CLASS and not x.flags.c_contiguous:
                return None
        try:
            found = self.program.called(arguments)
        except Exception as failure:  # the interpreter meets it once more, and says where
            if not self.worked:
                self._doubt = repr(failure)
            return None
        self.worked = True
        return found

    def tell(self, template: Template) -> None:
        """Warn, once, if the first call failed: the interpreter has met no failure in it."""
        if self._doubt and not self.worked:
            self.worked = True
            fails(described("a cell", template.nodes), self._doubt)

    def value(self, outputs: tuple[Value, ...]) -> Value:
        """The value of a call: that of its result, or a tuple of those of all results."""
        return outputs[0] if self._single else outputs[: self._results]

    def sent(self, call: CellRun, g: Value) -> Sent | None:
        """The deltas of operands; None as above."""
        arrived = g.arrived if isinstance(g, Parts) else {0: g}
        key = tuple([(i, form_of(delta)) for i, delta in arrived.items()])
        found = self.back.get(key) or self.case(key, partial(_traced_cell_backward, call.template, arrived))
        if found is None:
            return None
        given = (None, *call.arguments, *call.outputs, *arrived.values())
        try:
            deltas = found.program.called(found.reads(given)[2:])
        except Exception:  # as above
            return None
        return [*zip(found.to, deltas, strict=True)]


class CellRun(Call):
    """One call by a program."""

    __slots__ = ("arguments", "outputs", "programs", "template")

    def __init__(
        self,
        template: Template,
        programs: CellPrograms,
        arguments: tuple[Value, ...],
        outputs: tuple[Value, ...],
    ) -> None:
        self.template = template
        self.programs = programs
        self.arguments = arguments
        self.outputs = outputs

    def sent(self, g: Value) -> Sent | None:
        return self.programs.sent(self, g)

    def opened(self) -> tuple[Template, Values]:
        return self.template, computed_within(self.template, self.arguments)


class CellLoops(Loops):
    """The usual loops, with programs for the cells that are called often.

    A cell gets its programs after `worth` calls.
    """

    def __init__(self, worth: int = _WORTH, goes_back: bool = True) -> None:
        self.inside = self
        self.goes_back = goes_back
        self._calls = RunCounts(worth)  # by the identity of the template
        self._made: Cache[int, CellPrograms] = Cache()
        self._passing = CellLoops(worth, False) if goes_back else self

    @property
    def passing(self) -> Loops:
        return self._passing

    def forward(
        self, nodes: list[Node], values: Values, failed: dict[Expression, Failure], ends: Ends | None = None
    ) -> int:
        if ends is None:
            return forward(nodes, values, failed, self)
        return passed(nodes, values, failed, ends, self._passing)

    def backward(self, nodes: list[Node], values: Values, deltas: Values, failures: list[Exception]) -> None:
        backward(nodes, values, deltas, failures, self)

    def called(self, template: Template, arguments: tuple[Value, ...]) -> tuple[Value, Call | None] | None:
        if len(template.nodes) < _FEWEST:
            return None
        key = id(template)
        made = next(iter(self._made.of(key)), None)
        if made is None or made.template() is not template:
            if not self._calls.earned(key) or operations(template.nodes) > _MOST:
                return None
            with without_collector():
                made = _traced_cell(template, self.goes_back)
            if made is None:
                return None
            self._made.keep(key, made)
        made.used = clock()
        outputs = made.called(arguments)
        if outputs is None:
            return None
        run = CellRun(template, made, arguments, outputs) if self.goes_back else None
        return made.value(outputs), run

    def within(self, template: Template, values: Values, failed: dict[Expression, Failure]) -> int:
        if self.goes_back:
            done = forward(template.nodes, values, failed, self)
        else:
            done = passed(template.nodes, values, failed, template.ends, self)
        for made in self._made.of(id(template)) if done == len(template.nodes) else ():
            made.tell(template)
        return done
