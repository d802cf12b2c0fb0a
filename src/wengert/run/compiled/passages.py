"""The stretches of one evaluation: which of its nodes programs have run, and their turn on the way back.

Knows: that a stretch ends before a bind; that a program sends deltas only where nobody could tell the difference: not
to a user's own tape, which may not ask for them, and not in the middle of what was sent by hand.
Refuses to know: which stretches have programs, and what these do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wengert.arrays import Value, all_quiet
from wengert.control import Context, Run, Steps
from wengert.differentiable import Tape
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, UNRESOLVED
from wengert.graph.order import PORTION
from wengert.lazy import LazyDelta, dense
from wengert.run.compiled.interrupted import Interrupted
from wengert.run.received import OwnTape, nowhere

if TYPE_CHECKING:
    from wengert.run.compiled.stretch import Passage
    from wengert.run.compiled.stretches import Stretches
    from wengert.run.evaluation import Evaluation

# nodes of open kinds, without which a program that nobody goes back by takes 1.1 to 1.2 of the interpreter's time
_OPEN: Final = 3
_AT_ONCE: Final = (
    1  # programs of parts made in a run; one takes 5 times as long as 20,000 operations by the interpreter
)


class Passages:
    """Those that have run forward; false if there are none."""

    __slots__ = ("_last", "_making", "_stretches", "goes_back", "in_parts")

    def __init__(self, stretches: Stretches | None, goes_back: bool = True) -> None:
        self._stretches = stretches
        self.goes_back = goes_back  # whether deltas are likely to go back
        self.in_parts = False  # an expression too long for a plan: its parts are stretches
        self._making = _AT_ONCE  # how many programs of parts may still be made in this run
        self._last: dict[Node, Passage] = {}  # by the last node

    def __bool__(self) -> bool:
        return len(self._last) > 0

    def close(self) -> None:
        """Let go of all; there will be no more."""
        self._last.clear()
        self._stretches = None

    def forward(self, nodes: list[Node], evaluation: Evaluation, whole: bool) -> int:
        """How many of the nodes, the first ones, have got their values; none if they have to be run one by one.

        A `whole` expression without a bind is not a stretch.
        """
        if self._stretches is None or evaluation.failed:
            return 0
        modes = [node.signature.mode for node in nodes]
        bind = modes.index(EXTERNAL) if EXTERNAL in modes else len(nodes)
        if whole and bind == len(nodes) and not self.in_parts:
            return 0
        nodes, modes = nodes[:bind], modes[:bind]  # a list of its own: the caller's will be emptied
        if not self.goes_back and not self.in_parts and modes.count(UNRESOLVED) < _OPEN:
            return 0
        if not evaluation.goes_back and _reads_much(nodes, evaluation):
            return 0  # a program gives the values of all nodes, the interpreter lets go of them
        with suppress(Interrupted):
            allowed = self._may_make if self.in_parts else None
            passage = self._stretches.passage(nodes, evaluation.values, allowed)
            if passage is not None:
                evaluation.values.update(passage.found)
                if evaluation.goes_back:
                    self._last[passage.nodes[-1]] = passage
                return len(passage.nodes)
        return 0

    def _may_make(self) -> bool:
        self._making -= 1
        return self._making >= 0

    def way(self, evaluation: Evaluation, loss: Expression, run: Run) -> Callable[[], Value] | None:
        """What makes the changes of weights after the whole way back, if a program has been made for that."""
        return (
            None
            if self._stretches is None or self.in_parts
            else self._stretches.ways.back(evaluation, loss, run)
        )

    def that_ends(self, node: Node) -> Passage | None:
        """The one whose last node this is."""
        return self._last.get(node)

    def open_all(self, evaluation: Evaluation) -> None:
        """Leave all of them to the interpreter from now on."""
        for passage in [*self._last.values()]:
            self.open(passage, evaluation)

    def open(self, passage: Passage, evaluation: Evaluation) -> None:
        """Leave one of them to it."""
        del self._last[passage.nodes[-1]]
        evaluation.resolved |= passage.open(evaluation.values)

    def back(
        self, passage: Passage, evaluation: Evaluation, context: Context, failures: list[Exception]
    ) -> Steps[None]:
        """The turn of its nodes."""
        pending = evaluation.pending
        late = [x for x in reversed(passage.nodes) if x in pending] if pending else []
        by_program = passage.ends.issuperset(late) if late else True
        for x in late if by_program else ():
            yield from evaluation.collected(x, context, failures)
        if not by_program or not self._sent(passage, evaluation):
            self.open(passage, evaluation)
            for node in reversed(passage.nodes):
                yield from evaluation._back(node, context, failures)
        context.run.check()

    def _sent(self, passage: Passage, evaluation: Evaluation) -> bool:
        """Send all deltas on their way by a program; False where the interpreter has to."""
        deltas = evaluation.deltas
        # Any: asked for any expression; of every type
        tapes: dict[Any, Tape[Any, Any]] = evaluation.tapes
        lazy: dict[Any, Any] = evaluation.lazy
        arrived = {i: deltas[x] for i, x in enumerate(passage.nodes) if x in deltas}
        if not arrived:
            return True
        binds = [x for x in passage.given if x in tapes]
        if any(not isinstance(tapes[x], OwnTape) for x in binds):
            return False
        unwanted = [x for x in binds if tapes[x].backward is nowhere]
        joined: dict[Any, Value] | None = None  # Any: leaves, of every type
        if self.in_parts:  # what has arrived at leaves is added up in the program, in the same order
            joined = {
                x: deltas.get(x)
                for x in passage.leaves
                if x not in tapes and not isinstance(deltas.get(x), LazyDelta)
            }
        may_make = self._may_make if self.in_parts else None
        try:
            sent = passage.send(arrived, frozenset(unwanted), joined, may_make)
        except Interrupted:
            return False
        if sent is None:
            return False
        for i in arrived:
            del deltas[passage.nodes[i]]
        with all_quiet():
            for x, delta in sent:
                if joined is not None and x in joined:
                    deltas[x] = delta
                elif x in tapes:
                    lazy.setdefault(x, []).append(partial(dense, delta))
                else:
                    evaluation.add(x, delta)
        return True


def _reads_much(nodes: Sequence[Node], evaluation: Evaluation) -> bool:
    """Whether their values are likely to take much memory: kinds that are open do not tell."""
    known = evaluation.values
    given = (x for node in nodes for i in node.signature.nodes if (x := node.operands[i]) in known)
    most = max((getattr(known[x], "nbytes", 0) for x in given if isinstance(x, Node)), default=0)
    return most * len(nodes) > PORTION
