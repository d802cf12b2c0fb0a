"""Runs that watchers of weights are told of: each operation, each update, and failures.

Knows: that a watched run goes node by node without a plan.
Refuses to know: what a watcher does with what it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from wengert.arrays import Value
from wengert.control import Context, Steps
from wengert.graph.node import Expression, Node
from wengert.graph.operation import Signature
from wengert.graph.watchers import Watcher, watchers_of
from wengert.graph.weights import Weight
from wengert.run.evaluation import Evaluation
from wengert.run.loops import Ends, Failure, Loops, Part, Values, arguments_of
from wengert.run.notes import located


class Careful(Loops):
    """Loops that leave every node to the careful part of an evaluation, which takes them one by one."""

    def __init__(self, usual: Loops) -> None:
        self._usual = usual
        self.inside = usual.inside

    def meaning(self, signature: Signature) -> Signature:
        return self._usual.meaning(signature)

    def around(self, part: Part, node: Node) -> AbstractContextManager[object]:
        return self._usual.around(part, node)

    def commit(
        self,
        deltas: Mapping[Expression, Value],
        snapshot: int,
        loss: Value = 0.0,
        refused: Callable[[Exception], None] | None = None,
    ) -> None:
        self._usual.commit(deltas, snapshot, loss, refused)

    def forward(
        self, nodes: list[Node], values: Values, failed: dict[Expression, Failure], ends: Ends | None = None
    ) -> int:
        return 0


class Watched(Evaluation):
    """An evaluation that tells each node."""

    # a class with room for attributes, so that the evaluation of a run can be one of both kinds
    watchers: Sequence[Watcher] = ()  # of the weights that have been met

    def __exit__(self, *failure: object) -> None:
        super().__exit__(*failure)
        if self.trains and len(failure) == 3 and failure[1] is None:
            self.tell_updated()

    def tell_updated(self) -> None:
        """Tell of each weight that a commit has changed."""
        for weight in [x for x in self.deltas if isinstance(x, Weight)]:
            for watcher in watchers_of([weight]):
                watcher.updated(weight)

    def begin(self, root: Expression) -> list[Node]:
        nodes = super().begin(root)
        self.watchers = watchers_of(x for x in self.values if isinstance(x, Weight))
        return nodes

    def backward(self, context: Context) -> Steps[None]:
        return self._backward_carefully(context)

    def _compute(self, node: Node, signature: Signature) -> None:
        super()._compute(node, signature)
        self._tell("forward", node)

    def _pull(self, node: Node, g: Value) -> None:
        super()._pull(node, g)
        self._tell("backward", node)

    def _tell(self, direction: str, node: Node) -> None:
        signature = self.resolved.get(node) or node.signature
        what = located(node, arguments_of(node, signature, self.values))
        for watcher in self.watchers:
            watcher.operation(direction, what)
