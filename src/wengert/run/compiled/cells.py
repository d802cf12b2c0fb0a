"""Calls of cells by programs: the values of one call as a function of its operands, and its deltas as another one.

Knows: that a tree or a sequence which never comes again calls the same few cells all the time; that a cell earns its
programs by the time of its calls; that a program has the interpreter's bits for arrays that lie in memory as those do
which it was made for; that what backward reads stays with the call, and nothing else of it.
Refuses to know: which expression a call belongs to, and when backward comes to it.
"""

from __future__ import annotations

from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Final
from weakref import ref

from wengert.arrays import ARRAY_CLASS, Value
from wengert.control import without_collector
from wengert.graph.node import Expression, Node
from wengert.graph.template import Parts, Template
from wengert.later import later
from wengert.run.commit import fails
from wengert.run.compiled.cache import Cache, Item, clock, grown
from wengert.run.compiled.segment import BackwardCase, described, form_of, operations
from wengert.run.loops import Call, Ends, Failure, Loops, Values, backward, computed_within, forward, passed

if TYPE_CHECKING:
    from wengert.run.compiled.program import PlanProgram

_FIXED: Final = 1e-3  # seconds that making the programs of a cell takes, whatever it does,
_EACH: Final = 0.75e-3  # and for each of its operations
_FEWEST: Final = 3  # nodes: a call of fewer takes as long by a program
_MOST_CELLS: Final = 4096  # of which the times of calls are known
_MOST: Final = 200  # of more, making programs would stop a run for longer than one can overlook
_MOST_BACK: Final = 16  # programs that send deltas; calls at which others arrive are left to the interpreter
_COMPILER: Final = "wengert.run.compiled.compiler"
_traced_cell, _traced_cell_backward = (
    later(_COMPILER, "traced_cell"),
    later(_COMPILER, "traced_cell_backward"),
)

Sent = list[tuple[int, Value]]  # deltas, each with the number of its operand


class CellPrograms(Item):
    """The programs of one template."""

    def __init__(self, template: Template, forward: PlanProgram) -> None:
        super().__init__()
        self.template = ref(template)  # not held: with it live the weights that the cell reads
        self.forward = forward
        self._worked = False  # in some call
        self._doubt = ""  # the failure of the first call by it
        self._single, self._results = template.single, len(template.results)
        self._back: dict[
            object, BackwardCase | None
        ] = {}  # by what arrives; None: the interpreter's business

    def size(self) -> int:
        back = [x.program for x in [*self._back.values()] if x is not None]
        return sum(program.size() for program in (self.forward, *back))

    def let_go(self) -> None:
        self.forward.forget()
        self._back.clear()

    def called(self, arguments: tuple[Value, ...]) -> tuple[Value, ...] | None:
        """Results of a call, and what it leaves for backward; None where the interpreter has to run it."""
        for x in arguments:
            cls: object = type(x)
            if cls is ARRAY_CLASS and not x.flags.c_contiguous:
                return None
        try:
            found = self.forward.called(arguments)
        except Exception as failure:  # the interpreter meets it once more, and says where
            if not self._worked:
                self._doubt = repr(failure)
            return None
        self._worked = True
        return found

    def tell(self, template: Template) -> None:
        """Warn, once, if the first call failed: the interpreter has met no failure in it."""
        if self._doubt and not self._worked:
            self._worked = True
            fails(described("a cell", template.nodes), self._doubt)

    def value(self, outputs: tuple[Value, ...]) -> Value:
        """The value of a call: that of its result, or a tuple of those of all results."""
        return outputs[0] if self._single else outputs[: self._results]

    def sent(self, call: CellRun, g: Value) -> Sent | None:
        """The deltas of operands; None as above."""
        arrived = g.arrived if isinstance(g, Parts) else {0: g}
        key = tuple([(i, form_of(delta)) for i, delta in arrived.items()])
        found = self._back.get(key)
        if found is None and key not in self._back and len(self._back) < _MOST_BACK:
            found = self._back[key] = _traced_cell_backward(call.template, arrived)
            grown(0 if found is None else found.program.size())
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


class _Earning:
    """Seconds that the calls of a cell have taken so far, forward node by node, and that its programs would cost."""

    __slots__ = ("price", "spent", "template")

    def __init__(self, template: Template, worth: float) -> None:
        self.template = ref(template)
        count = operations(template.nodes)
        self.price = worth * (_FIXED + _EACH * count) if count <= _MOST else inf
        self.spent = 0.0

    def begin_again(self) -> None:
        """Wait longer for the next programs, should these have to go for others."""
        self.price, self.spent = 2 * self.price, 0.0


class CellLoops(Loops):
    """The usual loops, with programs for the cells that are called often.

    `worth` is how often the calls of a cell have to cost what its programs do before these are made.
    """

    def __init__(self, worth: float = 1.0, goes_back: bool = True) -> None:
        self.inside = self
        self.goes_back = goes_back
        self._worth = worth
        self._earning: dict[int, _Earning] = {}  # by the identity of the template
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
            made = self._earned(template)
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
        begun = perf_counter()
        if self.goes_back:
            done = forward(template.nodes, values, failed, self)
        else:
            done = passed(template.nodes, values, failed, template.ends, self)
        if len(template.nodes) >= _FEWEST:
            self._of(template).spent += perf_counter() - begun
            for made in self._made.of(id(template)) if done == len(template.nodes) else ():
                made.tell(template)
        return done

    def _of(self, template: Template) -> _Earning:
        found = self._earning.get(id(template))
        if found is None or found.template() is not template:
            if len(self._earning) >= _MOST_CELLS:
                self._earning.clear()
            found = self._earning[id(template)] = _Earning(template, self._worth)
        return found

    def _earned(self, template: Template) -> CellPrograms | None:
        """The programs of a cell whose calls have paid for them; None if they have not, or there are none."""
        earning = self._of(template)
        if earning.spent < earning.price:
            return None
        earning.begin_again()
        with without_collector():
            made: CellPrograms | None = _traced_cell(template, self.goes_back)
        if made is None:
            earning.price = inf
        return made
