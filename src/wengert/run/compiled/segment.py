"""Segments, which are nodes between binds, and cells: parts of expressions as programs, for values and for deltas.

Knows: that whoever comes later may read the value of any node, so that the first program gives all of them; that only
the run tells which nodes a delta arrives at, so that there is a backward program for each case; that deltas leave one
by one, in the interpreter's order, to be added to what has arrived from elsewhere; how long a program may be, where a
cell is as long as what it does and Python takes 0.3 ms and 25 KB to compile an operation, and where nodes that are
more are cut into parts with programs of their own; that a tree or a sequence which never comes again calls the same few
cells all the time, so that a cell earns its programs by its calls; that what backward reads stays with a call, and
nothing else of it.
Refuses to know: who sends and gets deltas, which expression a call is of, and weights: they are values that are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from math import prod
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import ref

from wengert.arrays import ARRAY_CLASS, Value, is_array
from wengert.arrays.ownership import is_turned
from wengert.control import without_collector
from wengert.graph.apply import resolve
from wengert.graph.node import Expression, Node
from wengert.graph.operation import CELL, UNRESOLVED, Signature
from wengert.graph.template import CellSignature, Parts, Template, template_of
from wengert.later import later
from wengert.run.commit import Interrupted, fails
from wengert.run.compiled.binder import matcher
from wengert.run.compiled.cache import Cache, Item, RunCounts, clock, grown
from wengert.run.loops import (
    Call,
    Failure,
    Loops,
    Values,
    arguments_of,
    inside_of,
)

if TYPE_CHECKING:
    from wengert.run.compiled.program import PlanProgram

Form = tuple[object, ...]
_COMPILER: Final = "wengert.run.compiled.compiler"
_traced_segment, _traced_backward, _traced_cell, _traced_cell_backward = (
    later(_COMPILER, f"traced_{what}") for what in ("segment", "backward", "cell", "cell_backward")
)
_NUMBERS: Final = count()  # a segment is named by one where it must not be held
_PLAIN: Final = frozenset((float, int, type(None)))  # of which the class tells all
_MOST_BACK: Final = 16  # programs that send deltas; more cases are left to the interpreter


class Programs(Item):
    """A program for the values of something, and one for the deltas of what it reads in each case of what arrives."""

    def __init__(self, program: PlanProgram) -> None:
        self.program = program
        self.worked = False  # in some run
        self.back: dict[object, BackwardCase | None] = {}  # None: the interpreter's business

    def size(self) -> int:
        back = [x.program for x in [*self.back.values()] if x is not None]
        return sum(program.size() for program in (self.program, *back))

    def let_go(self) -> None:
        self.program.forget()
        self.back.clear()

    def case(self, key: object, make: Callable[[], BackwardCase | None]) -> BackwardCase | None:
        """The backward program of a case, made if need be; None where the interpreter has to go back."""
        if key not in self.back and len(self.back) < _MOST_BACK:
            self.back[key] = made = make()
            grown(0 if made is None else made.program.size())
        return self.back.get(key)


class Segment(Programs):
    """The programs of one structure."""

    def __init__(
        self,
        nodes: Sequence[Node],
        leaves: Sequence[Expression],
        forms: Mapping[int, Form],
        program: PlanProgram,
        cells: bool,
        signatures: Mapping[int, Signature],
    ) -> None:
        super().__init__(program)
        self.number = next(_NUMBERS)
        self.match = matcher(nodes, leaves)
        self.forms = forms  # of the leaves that are no weights
        self.shares: list[frozenset[int]] = []  # the leaves whose memory each computed value may be
        self.cells = cells  # whether some of the nodes are calls of such
        self.signatures = signatures  # of nodes whose kinds were open
        used = {node.operands[i] for node in nodes for i in node.signature.nodes}
        self.ends = [i for i, node in enumerate(nodes) if node not in used]

    def evaluate(self, nodes: Sequence[Node], values: Mapping[Expression, Value]) -> SegmentRun | None:
        """The values of nodes; None if they are others than those that the programs were made for."""
        found = self.match(nodes)
        if found is None:
            return None
        leaves, literals = found
        try:
            data = [values[x] for x in leaves]
        except KeyError:
            return None  # it is one of the nodes, where there it was another one's value: no match
        for i, form in self.forms.items():
            if form_of(data[i]) != form:
                return None
        inputs = (*data, *literals)
        try:
            outputs = self.program.outputs(inputs)
        except Interrupted as stop:
            stop.of = "" if self.worked else described("a segment", nodes)
            raise
        self.worked = True
        return SegmentRun(self, nodes, leaves, inputs, outputs)


class SegmentRun(NamedTuple):
    """One run of a segment; nothing of it outlives the evaluation that it is part of."""

    segment: Segment
    nodes: Sequence[Node]
    leaves: tuple[Expression, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def found(self) -> Iterable[tuple[Node, Value]]:
        """Each node with its value."""
        return zip(self.nodes, self.outputs, strict=False)

    @property
    def given(self) -> list[Expression]:
        """The leaves that are no weights."""
        return [self.leaves[i] for i in self.segment.forms]

    @property
    def ends(self) -> set[Node]:
        """The nodes that no other one of them reads."""
        return {self.nodes[i] for i in self.segment.ends}

    @property
    def computed(self) -> tuple[Value, ...]:
        """In the order of `Operations.found`."""
        return self.outputs[len(self.nodes) :] if self.segment.cells else self.outputs

    def open(self, values: Values) -> dict[Node, Signature]:
        """Put what the interpreter would have found on its way among `values`; the kinds that were open, found."""
        resolved: dict[Node, Signature] = {}
        computed = iter(self.computed)
        for node in self.nodes:
            signature, arguments = node.signature, arguments_of(node, node.signature, values)
            if signature.mode == UNRESOLVED:
                resolved[node] = signature = resolve(node, arguments)
            if signature.mode == CELL:
                _entered(node, template_of(signature), arguments, values, computed)
            elif self.segment.cells:
                next(computed)
        return resolved

    def send(
        self,
        deltas: dict[int, Value],
        unwanted: frozenset[Expression],
        joined: dict[Expression, Value] | None = None,
        allowed: Callable[[], bool] | None = None,
    ) -> Sent | None:
        """Deltas that those which have arrived at some nodes send to the leaves; None: the interpreter has to do it.

        The `unwanted` leaves get none. The leaves `joined`, in their order, get one delta each, with what they have
        already (None: nothing) in it. `allowed`: whether a program may be made now. Raises Interrupted where a program
        fails that had been made.
        """
        key: object = tuple([(i, form_of(delta)) for i, delta in deltas.items()])
        if unwanted:
            key = key, tuple([i for i, x in enumerate(self.leaves) if x in unwanted])
        if joined is not None:
            apart = tuple([i for i, x in enumerate(self.leaves) if x not in joined])
            key = key, apart, tuple(map(form_of, joined.values()))
        back = self.segment.back
        if key not in back and allowed is not None and not allowed():
            return None
        make = partial(_traced_backward, self, deltas, unwanted, joined or {})
        found = self.segment.case(key, make)
        if found is None:
            return None
        try:
            sent = found.run(self, deltas, joined or {})
        except Interrupted as stop:
            if not found.worked:
                back[key] = None
                stop.of = described("the way back through a segment", self.nodes)
            raise
        found.worked = True
        return sent


Sent = list[tuple[Expression, Value]]


class BackwardCase:
    """A program that sends deltas: back through a segment or a call of a cell, for what has arrived in one case."""

    def __init__(self, program: PlanProgram, reads: Iterable[int], to: Sequence[int]) -> None:
        self.program = program
        # of nothing, inputs, values, and the deltas that have arrived, the ones it needs
        self.reads: Callable[[Sequence[Value]], Sequence[Value]] = itemgetter(0, 0, *(i + 1 for i in reads))
        self.to = to  # by output, the number of a leaf or operand
        self.worked = False  # in some run

    def run(
        self, segment_run: SegmentRun, deltas: Mapping[int, Value], joined: Mapping[Expression, Value]
    ) -> Sent:
        """Deltas sent in one run."""
        before = parts_of(x for x in joined.values() if x is not None)
        everything = [None, *segment_run.inputs, *segment_run.computed, *parts_of(deltas.values()), *before]
        outputs = self.program.outputs(self.reads(everything)[2:])
        leaves = segment_run.leaves
        return [(leaves[i], delta) for i, delta in zip(self.to, outputs, strict=True)]


def form_of(value: Any) -> Form:  # Any: values of every type
    """Key of the values that a program may be given in one place."""
    cls: object = type(value)
    if cls is ARRAY_CLASS:
        return (
            value.shape,
            value.dtype,
            value.flags.c_contiguous or ("turned" if is_turned(value) else "gaps"),
        )
    if cls in _PLAIN:
        return (cls,)
    if is_array(value):
        return cls, value.shape, value.dtype
    if isinstance(value, Parts):
        return Parts, *((index, form_of(delta)) for index, delta in value.arrived.items())
    if isinstance(value, tuple):
        return tuple, *map(form_of, value)
    return (cls,)


def parts_of(deltas: Iterable[Value]) -> Iterator[Value]:
    """The deltas as they are given to a program."""
    for delta in deltas:
        if isinstance(delta, Parts):
            yield from parts_of(delta.arrived.values())
        else:
            yield delta


def _entered(
    node: Node, template: Template, arguments: tuple[Value, ...], values: Values, computed: Iterator[Value]
) -> Value:
    """As `loops.entered`, of values that have been computed."""
    if template.remat:  # what is within is not there; of several results the parts are nodes of their own
        values[inside_of(node)] = Call(template, arguments)
        return next(computed) if template.single else None
    inner: Values = dict(zip(template.inputs, arguments, strict=True))
    for x in template.nodes:
        signature = x.signature
        if signature.mode == CELL:
            given = arguments_of(x, signature, inner)
            inner[x] = _entered(x, template_of(signature), given, inner, computed)
        else:
            inner[x] = next(computed)
    values[inside_of(node)] = template, inner
    return inner[template.results[0]] if template.single else tuple(inner[x] for x in template.results)


Alike = tuple[int, Signature, Signature]

_ALIKE: Final = 8  # of as many nodes, with the same first and last one
_signature = attrgetter("signature")


class Segments:
    """All that one interpreter has."""

    def __init__(self, worth: int, admits: Callable[[Sequence[Node]], bool] | None = None) -> None:
        self._admits = admits  # what else a segment has to be, if it is anything
        self._runs = RunCounts(worth)
        self._made: Cache[Alike, Segment] = Cache(_ALIKE)

    def evaluate(
        self,
        nodes: Sequence[Node],
        values: Mapping[Expression, Value],
        allowed: Callable[[], bool] | None = None,
    ) -> SegmentRun | None:
        """One run of a segment, forward: the values of `nodes`, which read the others' `values`.

        `allowed`: whether programs may be made now, where something else has counted the runs.

        None where the interpreter has to run them: they have not come back often, or something fails in them.
        Raises Interrupted where programs fail that had been made.
        """
        if not 0 < len(nodes) <= MOST:
            return None
        key = len(nodes), nodes[0].signature, nodes[-1].signature
        for segment in self._made.of(key):
            found = segment.evaluate(nodes, values)
            if found is not None:
                self._made.use(key, segment)
                return found
        earned = self._runs.earned(hash(tuple(map(_signature, nodes)))) if allowed is None else True
        if not earned or operations(nodes) > MOST or not (self._admits is None or self._admits(nodes)):
            return None
        if allowed is not None and not allowed():
            return None
        made: Segment | None = _traced_segment(nodes, values)
        found = None if made is None else made.evaluate(nodes, values)
        if made is not None and found is not None:
            self._made.keep(key, made)
        return found


# -- calls of cells --------------------------------------------------------------------------------

_WORTH: Final = 256  # calls that take as long as making the programs, where arrays are small
_FEWEST: Final = 3  # nodes: a call of fewer takes as long by a program
_MOST_WITHIN: Final = 200  # of more, making programs would stop a run for longer than one can overlook


class CellPrograms(Programs):
    """The programs of one template."""

    def __init__(self, template: Template, program: PlanProgram) -> None:
        super().__init__(program)
        self.template = ref(template)  # not held: with it live the weights that the cell reads
        self._doubt = ""  # the failure of the first call by it

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


class CellRun(Call):
    """One call by a program."""

    __slots__ = ("outputs", "programs")

    def __init__(
        self,
        template: Template,
        programs: CellPrograms,
        arguments: tuple[Value, ...],
        outputs: tuple[Value, ...],
    ) -> None:
        self.template, self.arguments = template, arguments  # `super` would take longer than the rest
        self.programs, self.outputs = programs, outputs

    def sent(self, g: Value) -> list[tuple[int, Value]] | None:
        programs, arrived = self.programs, g.arrived if isinstance(g, Parts) else {0: g}
        key = tuple([(i, form_of(delta)) for i, delta in arrived.items()])
        make = partial(_traced_cell_backward, self.template, arrived)
        found = programs.back.get(key) or programs.case(key, make)
        if found is None:
            return None
        given = (None, *self.arguments, *self.outputs, *arrived.values())
        try:
            deltas = found.program.called(found.reads(given)[2:])
        except Exception:  # the interpreter meets it once more, and says where
            return None
        return [*zip(found.to, deltas, strict=True)]


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

    def called(self, template: Template, arguments: tuple[Value, ...]) -> tuple[Value, Call | None] | None:
        if len(template.nodes) < _FEWEST:
            return None
        key = id(template)
        made = next(iter(self._made.of(key)), None)
        if made is None or made.template() is not template:
            if not self._calls.earned(key) or operations(template.nodes) > _MOST_WITHIN:
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
        return outputs[0] if template.single else outputs[: len(template.results)], run

    def within(self, template: Template, values: Values, failed: dict[Expression, Failure]) -> int:
        done = super().within(template, values, failed)
        for made in self._made.of(id(template)) if done == len(template.nodes) else ():
            made.tell(template)
        return done


# -- lengths ----------------------------------------------------------------------------------------

MOST: Final = 20_000  # operations
# elements of a node's operands and result: 32 KB, which an addition goes through in 5 us
_LIGHT: Final = 8_192
_PART: Final = 5_000  # of them in a part of what is longer: making the program of one takes 0.5 s


def described(what: str, nodes: Sequence[Node]) -> str:
    """A structure, for the text of a warning."""
    last = nodes[-1]
    return (
        f"{what} of {len(nodes)} nodes, the last of which is {last.signature.operation.name} at {last.site}"
    )


def operations(nodes: Sequence[Node]) -> int:
    """The operations in nodes, with what is in those that are cells; more than `MOST` are not all counted."""
    return _counted(Counter[Signature](map(_signature, nodes)))


def is_light(nodes: Sequence[Node]) -> bool:
    """True if nodes are small, so that making a plan takes far longer than running them, up to 60 times."""
    counts = Counter(map(_signature, nodes))
    elements: int = sum(
        count * sum(prod(k.shape) for k in (signature.kind, *signature.kinds) if k.shape is not None)
        for signature, count in counts.items()
    )
    return elements < _LIGHT * len(nodes)


def has_cells(nodes: Sequence[Node]) -> bool:
    """True if one of the nodes is a cell."""
    return any(isinstance(node.signature, CellSignature) for node in nodes)


def cut(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Neighbours that are about 5,000 operations together, or one cell that is longer."""
    lengths: dict[Signature, int] = {}
    begin = total = 0
    for at, node in enumerate(nodes):
        signature = node.signature
        length = lengths.get(signature)
        if length is None:
            length = lengths[signature] = _counted(Counter[Signature]([signature]))
        if total and total + length > _PART:
            yield [*nodes[begin:at]]
            begin, total = at, 0
        total += length
    yield [*nodes[begin:]]


def _counted(waiting: Counter[Signature]) -> int:
    """The operations in so many nodes of each signature; more than `MOST` are not all counted."""
    found = 0
    while waiting and found <= MOST:
        one, times = waiting.popitem()
        found += times
        if isinstance(one, CellSignature):
            for inner, count in Counter[Signature](map(_signature, one.template.nodes)).items():
                waiting[inner] += count * times
    return found
