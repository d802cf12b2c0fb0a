"""`fit`: the loop, put together.

Knows: its options, and which part each of them goes to.
Refuses to know: how each part does what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from wengert.control import Executor
from wengert.graph.paths import Path
from wengert.saving.naming import weights_by_name
from wengert.training.given import B, Data, LossOf, Metric, checked_loss, in_shards, whole
from wengert.training.keeping import CheckpointStore, Keeper, store_at
from wengert.training.looping import Fitting
from wengert.training.records import Event, History, Watch
from wengert.training.running import Ending, run


def fit(
    loss: LossOf[B],
    data: Data[B],
    *,
    seed: int,
    epochs: int | None = None,
    steps: int | None = None,
    batch_size: int | None = None,
    validation: Data[B] | None = None,
    metrics: Mapping[str, Metric[B]] | None = None,
    patience: int | None = None,
    min_delta: float = 0.0,
    monitor: str | None = None,
    mode: str = "min",
    accumulate: int = 1,
    callbacks: Iterable[Callable[[Event], object]] = (),
    weights: object = None,
    checkpoint: Path | CheckpointStore | None = None,
    every: int | None = None,
    resume: bool = False,
    best: Path | None = None,
    tensorboard: Path | None = None,
    show: bool = True,
    executor: Executor | None = None,
    shards: int | None = None,
) -> History:
    """Train on all data, `epochs` times or for `steps` updates, and tell how it went.

    `loss(batch, seed)` is the scalar loss of a batch. In training its seed is (seed, step), for `Sequential`, `Dropout`
    or `numpy.random.default_rng`; on the validation data it is None, which evaluates. It may give results besides, as
    (loss, results), of the same pass: metrics get their data, and numbers with names are metrics themselves.

    data: a set of `wengert.data`, in batches of `batch_size` (32) in an order that seed and epoch decide; a function
        from the epoch to its batches, a sequence or any iterable; or an iterable. A batch weighs in means by its `len`;
        a tuple, list or dictionary of arrays by the rows of the first.
    validation, metrics: for `evaluate` after each epoch; where the loss gives results, metrics in each step, too.
    patience: stop when so many epochs in a row are not better, by more than `min_delta`, than the best before them, by
        the metric `monitor`, which should be small or, with mode="max", great; without one by the loss.
    accumulate: batches a step, in the memory of one: the mean of their deltas by examples; buffers go a step for each.
    callbacks: told each `Step` and `Epoch`; one with a method `resumed` first the epochs before. show: a bar by rich in
        a terminal or a notebook; else a line an epoch, to stderr.
    weights: what `saving.save` takes, such as a model; all that the loss has. For `checkpoint`, from which
        `resume=True` goes on with the same bits, killed at any moment: written after the first step, each `every` steps
        and each epoch, by `cluster.folder(path)` with the weights of nodes; and for `best`, the best epoch's weights.
    shards: each batch is divided into so many parts, as by `wengert.shards`, a shorter last one into as many as it has
        examples. With `executor=cluster.Distributed(...)` workers compute them, and may come and go: the bits stay.

    Raises ArgumentError for options that do not fit together; CheckpointError for a checkpoint that cannot be resumed
    or written; DataError for no examples; NonFiniteError before any weight learns; PackageError without a package.
    >>> import wengert as wg
    >>> from wengert.data import Digits, digits
    >>> from wengert.nn import Linear
    >>> model = Linear.make(wg.plugins.SGD(learning_rate=0.5), 64, 10, seed=0)
    >>> def loss(batch: Digits, seed: object) -> wg.ArrayLayer[tuple[()]]:
    ...     return wg.cross_entropy(model(batch.images), batch.labels)
    >>> history = fit(loss, digits(), seed=0, epochs=2, batch_size=64)
    >>> history.steps, history.epochs[1].loss < history.epochs[0].loss
    (58, True)

    Source: as in every textbook; that a step's chance comes of its number is what makes a resumed one exact.
    """
    watch, loss = Watch(monitor, mode), checked_loss("fit", loss)
    ending = Ending(epochs, steps, patience, min_delta, watch)
    named = None if weights is None else weights_by_name(weights)
    seed, accumulated = whole("seed", seed, 0), whole("accumulate", accumulate, 1)  # numpy integers too
    count = None if shards is None else whole("shards", shards, 1)
    keeper = Keeper(named, seed, store_at(checkpoint), every, best, watch)
    options = batch_size, executor, validation, metrics, named, accumulated, count, keeper.file
    loop = Fitting(loss if count is None else in_shards(loss, count), data, seed, *options)
    return run(loop, ending, keeper, keeper.begin(resume), callbacks, tensorboard, show)
