"""Batches: the tensors and metrics of many examples as ordinary layers; examples as flat arrays, also in processes.

Knows: which blocks have a batch; the cells and constants of a plan by number, and how a call of one is written down and
read; that a pool's processes are sent the block once.
Refuses to know: how a batch is run, and what a cell computes.
"""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, islice, repeat
from types import TracebackType
from typing import Any, Final, Generic, Literal, Self, TypeAlias, cast, final, overload

from wengert.arrays import IntegerArray, is_array, is_integer
from wengert.arrays.stated import stated_array
from wengert.errors import BlockStateError, BlockValueError
from wengert.fold.block import AnyBlock, Block, Tensors, convert_to_block
from wengert.fold.calls import Calls, Direct, Failing
from wengert.fold.convert import OBJECT, VOID, zeros_of_type
from wengert.fold.epochs import group_by_batches
from wengert.fold.functions import data_of
from wengert.fold.inference import known
from wengert.fold.kept import Columns, Joined, KeptExpressions
from wengert.fold.plan import (
    BlockPlan,
    Example,
    Kept,
    Seeds,
    building,
    built,
    in_example,
    made,
    plan,
    say_example,
    seeds,
)
from wengert.fold.types import (
    ResultType,
    SequenceType,
    StackedType,
    TensorType,
    TupleType,
    Value,
    error_here,
    leaf_texts,
    tuple_text,
    value_text,
)
from wengert.generics import TypeVar
from wengert.graph.node import Expression, Node
from wengert.graph.operand import lift_any, shown
from wengert.ops import stack
from wengert.program.text import function_of

E = TypeVar("E")
T = TypeVar("T")
O = TypeVar("O", covariant=True, default=tuple[Tensors, ...])
Outputs: TypeAlias = "Tensors | tuple[Tensors | tuple[Tensors, ...], ...]"

# adds the results of one call to the values, given the operands of all calls that are left and the lengths of lists
Replay: TypeAlias = Callable[[Iterator[Value], Iterator[int], list[Value]], None]


@final
@dataclass(frozen=True, slots=True)
class LoomInput:
    """One example: its calls in order, the places of what they read, its data, and the places of what it gives.

    Places count the constants of the block, then the data, then the results of all calls.
    """

    block: str
    calls: array[int]
    operands: array[int]
    lengths: array[int]  # of the lists that calls read
    data: list[Value]
    outputs: array[int]
    metrics: dict[str, tuple[array[int], list[object]]]


@final
class Made(int):
    """A layer while an example is written down: the number of a call's result, or ~ of a constant's."""

    __slots__ = ()


@dataclass(slots=True)
class _WrittenExample:
    """An example while it is written down."""

    calls: array[int] = field(default_factory=lambda: array("i"))
    operands: list[Value] = field(default_factory=list)
    lengths: array[int] = field(default_factory=lambda: array("i"))
    results: int = 0


_written: Final[ContextVar[_WrittenExample]] = ContextVar("the example that is written down")


class Writer(Calls):
    """The cells and constants of one block by number; two writers of one block have the same numbers."""

    def __init__(self, root: AnyBlock) -> None:
        self._cells: list[Replay] = []
        self._constants: list[Value] = []
        self._plan = plan(root, OBJECT, self)
        self._root = root
        self._shown = repr(root)
        if not _is_batched(self._plan.root.output, lists=False):
            raise root.error("it gives lists, whose lengths no loom input has")
        if self._plan.waits is not None:
            raise root.error(
                f"{self._plan.waits!r} in it waits for computed values: no wiring is known before a run"
            )

    def cell(
        self, function: Callable[..., Value], given: ResultType, made: ResultType
    ) -> Callable[..., Value]:
        parts = given.parts if isinstance(given, TupleType) else (given,)
        arguments = ", ".join(value_text(of, repeat("next(terminals)")) for of in parts)
        results = leaf_texts(made, "made")
        operands = [text for i, of in enumerate(parts) for text in leaf_texts(of, f"x{i}")]
        replay = [
            "def replay(terminals, lengths, values):",
            f" made = called({arguments})",
            f" values += {tuple_text(results)}",
        ]
        number = self._enter(function_of(replay, {"called": function}, __name__))
        write = [
            f"def write({', '.join(f'x{i}' for i in range(len(parts)))}):",
            " example = written()",
            f" example.calls.append({number})",
            f" example.operands += {tuple_text(operands)}",
            " first = example.results",
            f" example.results = first + {len(results)}",
            f" return {value_text(made, (f'Made(first + {i})' for i in count()))}",
        ]
        direct: Callable[..., Value] = function_of(write, {"written": _written.get, "Made": Made}, __name__)
        return direct

    def rows(self, function: Callable[[Sequence[Value]], Value], made: ResultType) -> Direct:
        def replay(terminals: Iterator[Value], lengths: Iterator[int], values: list[Value]) -> None:
            values.append(function(tuple(islice(terminals, next(lengths)))))

        number = self._enter(replay)

        def write(x: Sequence[Value]) -> Made:
            example = _written.get()
            example.lengths.append(len(x))
            example.calls.append(number)
            example.operands += x
            example.results += 1
            return Made(example.results - 1)

        return write

    def parts(
        self, function: Callable[[Value], list[Value]], block: Failing
    ) -> Callable[[Value], list[Value]]:
        raise block.error(
            "how many elements it gives is not known while an example is written down; build from the examples"
        )

    def constant(self, x: Value, of: ResultType) -> Value:
        first = len(self._constants)
        self._constants.extend(of.flatten(x))
        return of.unflatten((Made(~i) for i in range(first, len(self._constants))), x)

    def _enter(self, replay: Replay) -> int:
        self._cells.append(replay)
        return len(self._cells) - 1

    def written(self, x: Value) -> LoomInput:
        """An example as flat arrays."""
        example, kept = _WrittenExample(), Kept()
        token = _written.set(example)
        try:
            with building(Example(kept)):
                result = built(self._plan.root, x)
        finally:
            _written.reset(token)
        outputs = self._plan.root.output.flatten(result)
        tensors = {name: [tensor for tensor, _ in values] for name, values in kept.items()}
        given = chain(example.operands, outputs, *tensors.values())
        data = {id(value): value for value in given if type(value) is not Made}
        places = {key: len(self._constants) + i for i, key in enumerate(data)}
        first = len(self._constants) + len(data)

        def placed(values: Iterable[Value]) -> array[int]:
            return array(
                "i", [places[id(x)] if type(x) is not Made else first + x if x >= 0 else ~x for x in values]
            )

        return LoomInput(
            self._shown,
            example.calls,
            placed(example.operands),
            example.lengths,
            [data_of(value) for value in data.values()],
            placed(outputs),
            {name: (placed(tensors[name]), [label for _, label in values]) for name, values in kept.items()},
        )

    def read(self, x: LoomInput, example: Example) -> list[Value]:
        """The layers that an example gives."""
        cells = self._cells
        if x.block != self._shown or max(x.calls, default=-1) >= len(cells):
            raise error_here(
                f"{self._root!r}: {shown(x.block)} has wired these inputs; build them with the block that did",
                BlockValueError,
            )
        values = [*self._constants, *map(_layer, x.data)]
        terminals, lengths = map(values.__getitem__, x.operands), iter(x.lengths)
        with building(example):
            for call in x.calls:
                cells[call](terminals, lengths, values)
        for name, (places, labels) in x.metrics.items():
            if example.kept is not None:
                tensors = [values[place] for place in places]
                example.kept.setdefault(name, []).extend(zip(tensors, labels, strict=True))
        return [values[place] for place in x.outputs]


def _layer(x: Value) -> Value:
    return lift_any(x) if is_array(x) and x.dtype.kind == "f" else x


_writer: Final[list[Writer]] = []  # of a process of a pool: the only one


@final
class Pool(Generic[E]):
    """Processes that make loom inputs, while the context lasts.

    Each begins as a new interpreter that is sent the block, by `pickle`, or by `cloudpickle` if that is installed
    and functions without a name of their own are in the block. It imports the script, which does its work under
    `if __name__ == "__main__":`. Raises BlockStateError where a process ends by itself.
    """

    def __init__(self, root: Block[E, object], processes: int) -> None:
        if not is_integer(processes) or int(processes) < 1:
            raise error_here(
                f"td.Compiler: a pool has at least one process, not {shown(processes)}", BlockValueError
            )
        self._processes = ProcessPoolExecutor(
            int(processes), multiprocessing.get_context("spawn"), _begin, (_pickled(root),)
        )
        self._root, self._ahead = root, 2 * int(processes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.shutdown(cancel_futures=True)

    def build_loom_inputs(self, examples: Iterable[E], batch_size: int = 100) -> list[LoomInput]:
        """As the compiler's own; `batch_size` examples go to a process at a time."""
        return self._given(lambda: [*self._processes.map(_wired, examples, chunksize=batch_size)])

    def batches(self, batches: Iterable[Sequence[E]]) -> Iterator[list[LoomInput]]:
        """The loom inputs of one batch after the other; while one is trained on, the next ones are made.

        Two batches for each process are under way, or wait: `batches` is read that far ahead.
        """
        waiting: deque[Future[list[LoomInput]]] = deque()
        try:
            for batch in batches:
                waiting.append(self._given(partial(self._processes.submit, _all_wired, list(batch))))
                if len(waiting) > self._ahead:
                    yield self._given(waiting.popleft().result)
            while waiting:
                yield self._given(waiting.popleft().result)
        finally:
            for future in waiting:
                future.cancel()

    def _given(self, ask: Callable[[], T]) -> T:
        """An answer of the processes."""
        try:
            return ask()
        except BrokenProcessPool as ended:
            raise error_here(
                f"{self._root!r}: a process of the pool has ended by itself. Each begins by importing the script: put "
                f"what that does under `if __name__ == '__main__':`; if it does, look for what they have printed, or "
                f"for too little memory",
                BlockStateError,
            ) from ended


def _compiled(root: Block[E, Any]) -> Compiler[E, Any]:  # Any: what its columns are
    return Compiler(root, plan(root, OBJECT))


def _begin(root: bytes) -> None:
    _writer[:] = [Writer(pickle.loads(root))]  # what the parent has sent


def _wired(x: Any) -> LoomInput:  # Any: an example
    return _writer[0].written(x)


def _all_wired(batch: list[Any]) -> list[LoomInput]:  # Any: as above
    found = []
    for i, x in enumerate(batch):
        with in_example((i, x)):
            found.append(_writer[0].written(x))
    return found


def _pickled(root: Block[E, object]) -> bytes:
    refused = pickle.PicklingError, AttributeError, TypeError
    try:
        return pickle.dumps(root)
    except refused as plain:
        advice = "name its functions, or install cloudpickle"
        try:
            data: bytes = importlib.import_module("cloudpickle").dumps(root)
        except ImportError:
            cause: Exception = plain
        except refused as error:
            cause, advice = error, "make in its functions what they need"
        else:
            return data
        raise root.error(f"it cannot be sent to a process: {cause}; {advice}", BlockStateError) from cause


@final
@dataclass(frozen=True)
class Batch(Generic[O]):
    """The results of a list of examples: in each tensor the first axis counts examples, or kept values.

    Integers make no layer: where a block gives them they are an array.
    """

    output_tensors: O
    metric_tensors: dict[str, Tensors]
    metric_labels: dict[str, list[object]]


@final
class Compiler(Generic[E, O]):
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

    def __init__(self, root: Block[E, Any], compiled: BlockPlan) -> None:
        self._root, self._plan = root, compiled
        self._writer: Writer | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _compiled, (self._root,)  # a plan is code that has been written for it

    @overload
    @classmethod
    def create(cls, root: Block[E, Outputs]) -> Compiler[E]: ...
    @overload
    @classmethod
    def create(cls, root: Block[E, IntegerArray]) -> Compiler[E, tuple[IntegerArray]]: ...
    @overload
    @classmethod
    def create(
        cls, root: Block[E, tuple[Tensors, IntegerArray]]
    ) -> Compiler[E, tuple[Tensors, IntegerArray]]: ...
    @overload
    @classmethod
    def create(
        cls, root: Block[E, tuple[IntegerArray, Tensors]]
    ) -> Compiler[E, tuple[IntegerArray, Tensors]]: ...
    @overload  # Any: which of more columns are integers
    @classmethod
    def create(cls, root: Block[E, tuple[Any, ...] | None]) -> Compiler[E, tuple[Any, ...]]: ...
    @overload  # Any: columns of tensors, and lists of what each example gives
    @classmethod
    def create(cls, root: Block[E, Any], *, lists: Literal[True]) -> Compiler[E, tuple[Any, ...]]: ...
    # Any: typed by the overloads
    @classmethod
    def create(cls, root: Block[E, Any], *, lists: bool = False) -> Compiler[E, Any]:
        """Check that a block has batches; what is convertible to a block is one.

        With `lists`, parts of the output may be lists, or stacks, as long as each example has them: such a column is
        no tensor but a list, with the lists or the layer of each example.
        Raises BlockError where it reads no data, gives objects, or lists without `lists`, or neither a tensor nor a
        metric.
        """
        if isinstance(root, (dict, list, tuple)):
            root = convert_to_block(root)
        if not isinstance(root, Block):
            raise error_here(f"td.Compiler: {shown(root)} is no block")
        compiled = plan(root, OBJECT)
        given, result = compiled.root.input, compiled.root.output
        if given not in (OBJECT, VOID):
            raise root.error(f"its input is {given}; a compiler's block begins with data")
        if not _is_batched(result, lists):
            may = not lists and _is_batched(result, lists=True)
            advice = "; td.Compiler.create(block, lists=True) takes lists" * may
            raise root.error(f"its output is {result}, which has objects or lists in it{advice}")
        if not compiled.metrics and not list(result.terminal_types()):
            raise root.error("it has neither a tensor nor a metric")
        if compiled.metrics and compiled.waits is not None:
            raise root.error(
                f"{compiled.waits!r} in it waits for computed values, so only a run knows how many metrics there "
                f"are; block.eval(x) has those of one example"
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
        kept: KeptExpressions | None = None,
    ) -> Batch[O]:
        """The batch of a list of examples, or of what `build_loom_inputs` has made of them.

        Layers that draw random numbers do so if there is a seed, for training: give each step its own.
        With `batch_size`, examples may come from any iterable, which is read that many at a time. Expressions that are
        `kept` are not built again, and new ones are kept.
        Raises BlockError for what is no list or tuple, BlockValueError for an empty one.
        """
        listed = [*self._listed(examples, batch_size)]
        joined = None if kept is None else kept.batch(self._plan, listed)
        if joined is None:
            joined = self._joined(listed, seed, kept)
        outputs, tensors, labels = joined
        return Batch(cast(O, outputs), {**tensors}, {**labels} if metric_labels else {})

    def _joined(self, examples: list[Any], seed: Seeds | None, kept: KeptExpressions | None) -> Joined:
        """The columns of a batch; Any: examples of every type."""
        metrics: Kept = {name: [] for name in self._plan.metrics}
        places = [*enumerate(examples)]
        rows = [self._row(place, metrics, seed, kept) for place in places]
        if not rows:
            raise self._root.error("a batch has at least one example", BlockValueError)
        begun = 0 if kept is None else kept.begin()
        outputs = tuple(_column(list(column), places) for column in zip(*rows, strict=True))
        tensors = {
            name: _stacked([x for x, _ in values]) if values else self._none(name)
            for name, values in metrics.items()
        }
        labels = {name: [label for _, label in values] for name, values in metrics.items()}
        if kept is not None:
            kept.keep_batch(self._plan, examples, (outputs, tensors, labels), begun)
        return outputs, tensors, labels

    def build_loom_inputs(self, examples: Iterable[E], batch_size: int | None = None) -> list[LoomInput]:
        """Of each example which cell reads what, as flat arrays: it can be pickled, and built again and again.

        Building from these calls no function of data and takes no data apart.
        Raises BlockError for a block that waits for computed values, and as `build`.
        """
        if self._writer is None:
            self._writer = Writer(self._root)
        found = []
        for i, x in enumerate(self._listed(examples, batch_size)):
            with in_example((i, x)):
                found.append(self._writer.written(x))
        return found

    def multiprocessing_pool(self, processes: int) -> Pool[E]:
        """Processes that make loom inputs; to be used as a context. The block has to be picklable.

        Raises BlockValueError for less than one process, BlockStateError for a block that cannot be pickled.
        """
        return Pool(self._root, processes)

    def _row(
        self, place: tuple[int, Any], metrics: Kept, seed: Seeds | None, kept: KeptExpressions | None
    ) -> Columns:
        """The columns of an example, Any: of every type; its metrics are added to those of the batch."""
        i, x = place
        found = None if kept is None else kept.find(self._plan, x)
        if found is None:
            example = Example({}, seeds(seed, i), place=place)
            if isinstance(x, LoomInput):
                if self._writer is None:
                    self._writer = Writer(self._root)
                found = [(True, value) for value in self._writer.read(x, example)], example.kept or {}
            else:
                begun = 0 if kept is None else kept.begin()
                found = self._built(x, example), example.kept or {}
                if kept is not None and self._plan.waits is None and not example.draws:
                    kept.keep(self._plan, x, *found, begun)
        columns, own = found
        for name, values in own.items():
            metrics.setdefault(name, []).extend(values)
        return columns

    def _built(self, x: E, example: Example) -> Columns:
        try:
            return columns_of(self._plan.root.output, made(self._plan, x, example))
        except Exception as error:
            say_example(error, example.place)
            raise

    def _none(self, metric: str) -> Value:
        """No values of a metric."""
        of = known(self._plan.metrics[metric])
        assert isinstance(of, TensorType), "checked by the block"
        return zeros_of_type(TensorType((0, *of.shape), of.dtype), self._root.fault)

    # Any: examples of every type
    def _listed(self, examples: object, batch_size: int | None) -> Iterable[Any]:
        if batch_size is not None:
            return (x for group in group_by_batches(cast(Any, examples), batch_size) for x in group)
        if not isinstance(examples, (list, tuple)):
            raise self._root.error(f"examples are a list, not {shown(examples)}")
        return examples


def _is_batched(of: ResultType, lists: bool) -> bool:
    """True if a type has nothing but tensors in it, and maybe lists, or nothing at all; recursive over the type."""
    if of == OBJECT or (isinstance(of, SequenceType) and not (lists and of.size is None)):
        return False
    return (lists or not isinstance(of, StackedType)) and all(_is_batched(part, lists) for part in of.parts)


def columns_of(of: ResultType, x: Value) -> Columns:
    """The columns in the result of an example: tensors of a fixed shape, and, with False, whatever has a length."""
    found: Columns = []
    todo = [(of, x)]
    while todo:
        part, value = todo.pop()
        if isinstance(part, TupleType):
            todo.extend(reversed(list(part.pieces(value))))
        elif part != VOID:
            found.append((isinstance(part, TensorType), value))
    return found


def _column(values: Columns, places: Sequence[tuple[int, object]]) -> Value:
    """All values as one tensor, or as a list where each has a length of its own."""
    column = [value for _, value in values]
    if not values[0][0]:
        return column
    made = _stacked(column)
    if isinstance(made, Node):
        _say_examples(made, places)
    return made


def _say_examples(column: Node, places: Sequence[tuple[int, object]]) -> None:
    """Have a column remember whose value each operand is, for errors of its run; a long one is made of several."""
    if len(column.operands) == len(places):
        column.examples = places
        return
    start = 0
    for part in column.operands:
        _say_examples(part, places[start : start + part.shape[0]])
        start += part.shape[0]


def _stacked(column: list[Value]) -> Value:
    dtype = column[0].dtype
    if dtype.kind in "iub" and not any(isinstance(x, Expression) for x in column):
        return stated_array([x.tolist() for x in column], dtype.name)
    # Any: layers of every type
    layers: list[Any] = [x if isinstance(x, Expression) else stated_array(x, dtype.name) for x in column]
    return stack(layers)
