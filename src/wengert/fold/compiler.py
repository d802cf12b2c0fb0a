"""What many examples give together: their tensors and their metrics as batches, which are ordinary layers.

Knows: which blocks have a batch, and the order of examples.
Refuses to know: how a batch is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast, final

from wengert.arrays.stated import stated_array
from wengert.errors import BlockError, BlockValueError
from wengert.fold.batching import group_by_batches
from wengert.fold.block import Block, Tensors
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.machine import Example, Kept, Seeds, seeds
from wengert.fold.plan import Plan, plan
from wengert.fold.pool import Pool
from wengert.fold.results import made
from wengert.fold.structures import SequenceType
from wengert.fold.types import ResultType, StackedType, TensorType, Value
from wengert.fold.unification import known
from wengert.fold.wiring import LoomInput, Writer
from wengert.fold.zeros import zeros_of_type
from wengert.graph.operand import shown
from wengert.ops import stack
from wengert.site import user_position

E = TypeVar("E")


@final
@dataclass(frozen=True)
class Batch:
    """What a list of examples gave: in each tensor the first axis counts examples, or kept values.

    Integers make no layer: where a block gives them they are an array.
    """

    output_tensors: tuple[Tensors, ...]
    metric_tensors: dict[str, Tensors]
    metric_labels: dict[str, list[object]]


@final
class Compiler(Generic[E]):
    """A block for many examples at once.

    >>> import wengert as wg
    >>> from wengert import fold as td
    >>> compiler = td.Compiler.create(td.Scalar() >> td.Function(wg.square))
    >>> compiler.build([1, 2, 3]).output_tensors[0].predict().run().tolist()
    [1.0, 4.0, 9.0]
    >>> wired = compiler.build_loom_inputs([1, 2, 3])
    >>> compiler.build(wired[:2]).output_tensors[0].predict().run().tolist()
    [1.0, 4.0]

    Source: TensorFlow Fold, `td.Compiler`.
    """

    def __init__(self, root: Block[E, object], compiled: Plan) -> None:
        self._root, self._plan = root, compiled
        self._writer: Writer | None = None

    @classmethod
    def create(cls, root: Block[E, object]) -> Compiler[E]:
        """Check that a block has batches.

        Raises BlockError where it reads no data, gives objects or lists, or neither a tensor nor a metric.
        """
        if not isinstance(root, Block):
            raise BlockError(f"td.Compiler: {shown(root)} is no block\n  at {user_position()}")
        compiled = plan(root, OBJECT)
        given, result = compiled.root.input, compiled.root.output
        if given not in (OBJECT, VOID):
            raise BlockError(root.fault(f"its input is {given}; a compiler's block begins with data"))
        if not _is_batched(result):
            raise BlockError(root.fault(f"its output is {result}, which has objects or lists in it"))
        if not compiled.metrics and not list(result.terminal_types()):
            raise BlockError(root.fault("it has neither a tensor nor a metric"))
        if compiled.metrics and compiled.waits is not None:
            raise BlockError(
                root.fault(
                    f"{compiled.waits!r} in it waits for computed values, so only a run knows how many metrics there "
                    f"are; block.eval(x) has those of one example"
                )
            )
        return cls(root, compiled)

    @property
    def root(self) -> Block[E, object]:
        """The block."""
        return self._root

    def build(
        self,
        examples: Iterable[E] | Sequence[LoomInput],
        batch_size: int | None = None,
        metric_labels: bool = False,
        *,
        seed: Seeds | None = None,
    ) -> Batch:
        """The batch of a list of examples, or of what `build_loom_inputs` has made of them.

        Layers that draw random numbers do so if there is a seed, for training: give each step its own.
        With `batch_size`, examples may come from any iterable, which is read that many at a time.
        Raises BlockError for what is no list or tuple, BlockValueError for an empty one.
        """
        kept: Kept = {name: [] for name in self._plan.metrics}
        rows = [
            self._row(i, x, Example(kept, seeds(seed, i)))
            for i, x in enumerate(self._listed(examples, batch_size))
        ]
        if not rows:
            raise BlockValueError(self._root.fault("a batch has at least one example"))
        outputs = tuple(_stacked(list(column)) for column in zip(*rows, strict=True))
        tensors = {
            name: _stacked([x for x, _ in values]) if values else self._none(name)
            for name, values in kept.items()
        }
        labels = {name: [label for _, label in values] for name, values in kept.items()}
        return Batch(outputs, tensors, labels if metric_labels else {})

    def build_loom_inputs(self, examples: Iterable[E], batch_size: int | None = None) -> list[LoomInput]:
        """Of each example which cell reads what, as flat arrays: it can be pickled, and built again and again.

        Building from these calls no function of data and takes no data apart.
        Raises BlockError for a block that waits for computed values, and as `build`.
        """
        if self._writer is None:
            self._writer = Writer(self._root)
        found = []
        for i, x in enumerate(self._listed(examples, batch_size)):
            with _example(i, x):
                found.append(self._writer.written(x))
        return found

    def multiprocessing_pool(self, processes: int) -> Pool[E]:
        """Processes that make loom inputs; to be used as a context. The block has to be picklable.

        Raises BlockValueError for less than one process, BlockStateError for a block that cannot be pickled.
        """
        return Pool(self._root, processes)

    def _row(self, number: int, x: E | LoomInput, example: Example) -> list[Value]:
        if isinstance(x, LoomInput):
            if self._writer is None:
                self._writer = Writer(self._root)
            return self._writer.read(x, example)
        with _example(number, x):
            return self._plan.root.output.flatten(made(self._plan, x, example))

    def _none(self, metric: str) -> Value:
        """No values of a metric."""
        of = known(self._plan.metrics[metric])
        assert isinstance(of, TensorType), "checked by the block"
        return zeros_of_type(TensorType((0, *of.shape), of.dtype), self._root.fault)

    def _listed(
        self, examples: object, batch_size: int | None
    ) -> Iterable[Any]:  # Any: examples of every type
        if batch_size is not None:
            return (x for group in group_by_batches(cast(Any, examples), batch_size) for x in group)
        if not isinstance(examples, (list, tuple)):
            raise BlockError(self._root.fault(f"examples are a list, not {shown(examples)}"))
        return examples


@contextmanager
def _example(number: int, x: object) -> Iterator[None]:
    """An error says in which example of a batch it is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in example {number} of the batch, {shown(x)}")
        raise


def _is_batched(of: ResultType) -> bool:
    """Whether a type has nothing but tensors in it, or nothing at all; recursive over the type."""
    listed = isinstance(of, (SequenceType, StackedType))
    return of != OBJECT and not listed and all(map(_is_batched, of.parts))


def _stacked(column: list[Value]) -> Value:
    kind = column[0].dtype
    if kind.kind in "iu":
        return stated_array([x.tolist() for x in column], kind.name)
    return stack(column)
