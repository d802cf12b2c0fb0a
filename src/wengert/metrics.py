"""Metrics: measures of predictions beside labels, as values that are merged.

Knows: what of a batch has to be kept, so that the measure of many batches, of whatever sizes, is that of all their
examples at once.
Refuses to know: models, batches, and who measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import add
from typing import Any, Literal, Protocol, Self, TypeAlias, final, get_args, runtime_checkable

from wengert.arrays import is_integer, within
from wengert.arrays.vectors import Vector, area, as_vector, counted, hits, labels_of, moments
from wengert.errors import ArgumentError, ShapeError
from wengert.site import user_position

__all__ = [
    "AUC",
    "F1",
    "R2",
    "Accuracy",
    "ConfusionMatrix",
    "Mean",
    "Mergeable",
    "Perplexity",
    "Precision",
    "Recall",
    "TopK",
]

Average: TypeAlias = Literal["macro", "micro"]
Data: TypeAlias = Any  # reason: arrays of numpy and cupy of every shape and dtype, lists of numbers


@runtime_checkable
class Mergeable(Protocol):
    """A measure of some examples: `merge` gives that of these and of others, `value` the number.

    `fit`, `evaluate` and the plans of `fold` take functions that give one. Merging is associative up to rounding.
    """

    def merge(self, other: Any, /) -> Any:  # Any: of the same class, which a protocol of many cannot say
        """The measure of the examples of both."""
        ...

    @property
    def value(self) -> float:
        """The number; NaN where there are no examples for it."""
        ...


def _same(what: str, a: int, b: int) -> None:
    if a != b:
        raise ShapeError(
            f"{what}: there are {a:,} predictions and {b:,} labels; give as many\n  at {user_position()}"
        )


def _classes(what: str, found: Data, classes: int) -> Data:
    if not within(found, classes):
        wrong = next(int(x) for x in found if not 0 <= x < classes)
        raise ArgumentError(
            f"{what}: there is the class {wrong}, and classes={classes} are 0 to {classes - 1}\n  at {user_position()}"
        )
    return found


@final
@dataclass(frozen=True)
class Mean:
    """The mean of numbers.

    >>> Mean.of([1.0, 2.0]).merge(Mean.of([6.0])).value
    3.0

    Source: as in every textbook.
    """

    total: float = 0.0
    count: int = 0

    @classmethod
    def of(cls, numbers: Data) -> Self:
        """The mean of an array or list."""
        found = as_vector(numbers)
        return cls(float(found.sum()), len(found))

    def merge(self, other: Self, /) -> Self:
        """The mean of both."""
        return type(self)(self.total + other.total, self.count + other.count)

    @property
    def value(self) -> float:
        """total / count; NaN of none."""
        return self.total / self.count if self.count else math.nan


@final
@dataclass(frozen=True)
class Accuracy:
    """The share of predictions that are right.

    Predictions are classes, or floats of which the greatest of each row is the class. ShapeError for another number of
    labels.
    >>> Accuracy.of([1, 0, 2], [1, 1, 2]).merge(Accuracy.of([[0.1, 0.9]], [1])).value
    0.75

    Source: as in every textbook.
    """

    right: int = 0
    count: int = 0

    @classmethod
    def of(cls, predicted: Data, labels: Data) -> Self:
        """That of a batch."""
        found, true = labels_of(predicted), labels_of(labels)
        _same("Accuracy", len(found), len(true))
        return cls(int((found == true).sum()), len(true))

    def merge(self, other: Self, /) -> Self:
        """The accuracy of both."""
        return type(self)(self.right + other.right, self.count + other.count)

    @property
    def value(self) -> float:
        """right / count; NaN of none."""
        return self.right / self.count if self.count else math.nan


@final
@dataclass(frozen=True)
class TopK:
    """The share of rows in which the label is among the k classes with the greatest scores; of equal ones the first.

    >>> TopK.of([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]], [1, 2], k=2).value
    0.5

    Source: O. Russakovsky et al., "ImageNet Large Scale Visual Recognition Challenge", 2015.
    """

    right: int = 0
    count: int = 0

    @classmethod
    def of(cls, scores: Data, labels: Data, k: int) -> Self:
        """That of a batch: scores with a row a label."""
        if not is_integer(k) or int(k) < 1:
            raise ArgumentError(f"TopK: k is an integer from 1 on; got {k!r:.40}\n  at {user_position()}")
        true = labels_of(labels)
        shape = getattr(scores, "shape", None) or (len(scores), len(scores[0]))
        _same("TopK", math.prod(shape[:-1]), len(true))
        return cls(*hits(scores, _classes("TopK", true, shape[-1]), int(k)))

    def merge(self, other: Self, /) -> Self:
        """That of both."""
        return type(self)(self.right + other.right, self.count + other.count)

    @property
    def value(self) -> float:
        """right / count; NaN of none."""
        return self.right / self.count if self.count else math.nan


@dataclass(frozen=True)
class ConfusionMatrix:
    """How often each class, a row, was taken for each class, a column; its value is the accuracy.

    Predictions are classes, or scores as those of `Accuracy`. `precision`, `recall` and `f1` are of the classes
    together: "macro", the mean over classes that there are among labels or predictions, one without a denominator
    counting 0; or "micro", of all counts. ArgumentError for a class that is none of `classes`; ShapeError for another
    number of labels.
    >>> found = ConfusionMatrix.of([0, 1, 1, 1], [0, 0, 1, 1], classes=2)
    >>> found.counts, found.value, round(found.precision(), 4), found.recall(), round(found.f1(), 4)
    (((1, 1), (0, 2)), 0.75, 0.8333, 0.75, 0.7333)

    Source: as in every textbook; averages as scikit-learn has them.
    """

    counts: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, predicted: Data, labels: Data, classes: int) -> Self:
        """That of a batch."""
        found, true = labels_of(predicted), labels_of(labels)
        _same(cls.__name__, len(found), len(true))
        n = int(classes)
        return cls(counted(_classes(cls.__name__, found, n), _classes(cls.__name__, true, n), n))

    def merge(self, other: Self, /) -> Self:
        """The counts of both; ShapeError for another number of classes."""
        if len(self.counts) != len(other.counts):
            raise ShapeError(
                f"{type(self).__name__}: one is of {len(self.counts)} classes, the other of {len(other.counts)}\n"
                f"  at {user_position()}"
            )
        pairs = zip(self.counts, other.counts, strict=True)
        return type(self)(tuple(tuple(map(add, a, b)) for a, b in pairs))

    @property
    def value(self) -> float:
        """The share of predictions that are right; NaN of none."""
        right, _, true = self._sums()
        return sum(right) / sum(true) if sum(true) else math.nan

    def precision(self, average: Average = "macro") -> float:
        """Of the predictions of a class, the share that is right."""
        right, predicted, true = self._sums()
        return self._averaged(right, predicted, true, predicted, average)

    def recall(self, average: Average = "macro") -> float:
        """Of the examples of a class, the share that was found."""
        right, predicted, true = self._sums()
        return self._averaged(right, true, true, predicted, average)

    def f1(self, average: Average = "macro") -> float:
        """The harmonic mean of precision and recall: 2 · right / (predicted + true)."""
        right, predicted, true = self._sums()
        twice, both = [2 * n for n in right], list(map(add, predicted, true))
        return self._averaged(twice, both, true, predicted, average)

    def _sums(self) -> tuple[list[int], list[int], list[int]]:
        right = [row[i] for i, row in enumerate(self.counts)]
        return (
            right,
            [sum(column) for column in zip(*self.counts, strict=True)],
            [sum(row) for row in self.counts],
        )

    def _averaged(
        self, above: list[int], below: list[int], true: list[int], predicted: list[int], average: Average
    ) -> float:
        if average not in get_args(Average):
            raise ArgumentError(
                f"{type(self).__name__}: average is 'macro' or 'micro'; got {average!r:.40}\n  at {user_position()}"
            )
        if average == "micro":
            return sum(above) / sum(below) if sum(below) else math.nan
        there = [i for i in range(len(true)) if true[i] or predicted[i]]
        shares = [above[i] / below[i] if below[i] else 0.0 for i in there]
        return sum(shares) / len(shares) if shares else math.nan


@final
@dataclass(frozen=True)
class Precision(ConfusionMatrix):
    """A `ConfusionMatrix` whose value is the macro precision.

    >>> round(Precision.of([0, 1, 1, 1], [0, 0, 1, 1], classes=2).value, 4)
    0.8333

    Source: as `ConfusionMatrix`.
    """

    @property
    def value(self) -> float:
        """`precision()`."""
        return self.precision()


@final
@dataclass(frozen=True)
class Recall(ConfusionMatrix):
    """A `ConfusionMatrix` whose value is the macro recall.

    >>> Recall.of([0, 1, 1, 1], [0, 0, 1, 1], classes=2).value
    0.75

    Source: as `ConfusionMatrix`.
    """

    @property
    def value(self) -> float:
        """`recall()`."""
        return self.recall()


@final
@dataclass(frozen=True)
class F1(ConfusionMatrix):
    """A `ConfusionMatrix` whose value is the macro F1.

    >>> round(F1.of([0, 1, 1, 1], [0, 0, 1, 1], classes=2).value, 4)
    0.7333

    Source: as `ConfusionMatrix`.
    """

    @property
    def value(self) -> float:
        """`f1()`."""
        return self.f1()


@final
@dataclass(frozen=True, eq=False)
class AUC:
    """The area under the receiver operating characteristic: the share of pairs of a positive and a negative example in
    which the positive one has the greater score, half of the pairs with equal ones.

    It keeps all scores, 16 bytes an example, and so is exact; they are joined when the value is asked for. NaN where
    all labels are equal. ShapeError for another number of labels; ArgumentError for one that is not 0 or 1.
    >>> AUC.of([0.9, 0.3], [1, 0]).merge(AUC.of([0.6, 0.5], [0, 1])).value
    0.75

    Source: J. Hanley, B. McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC)
    curve", 1982.
    """

    parts: tuple[tuple[Vector, Vector], ...] = ()

    @classmethod
    def of(cls, scores: Data, labels: Data) -> Self:
        """That of a batch: a score and 0 or 1 an example."""
        found, true = as_vector(scores), as_vector(labels)
        _same("AUC", len(found), len(true))
        if not ((true == 0.0) | (true == 1.0)).all():
            raise ArgumentError(
                f"AUC: labels are 0 or 1; got {sorted({*true.tolist()})[:5]}\n  at {user_position()}"
            )
        return cls(((found, true),))

    def merge(self, other: Self, /) -> Self:
        """That of both."""
        return type(self)((*self.parts, *other.parts))

    @property
    def value(self) -> float:
        """The area."""
        scores, labels = ([x for part in self.parts for x in part[i].tolist()] for i in range(2))
        return area(as_vector(scores), as_vector(labels))


@final
@dataclass(frozen=True)
class Perplexity:
    """exp of the mean of losses, each the negative log likelihood of a token in nats.

    >>> import math
    >>> round(Perplexity.of([math.log(2.0)] * 3).merge(Perplexity.of([math.log(16.0)])).value, 6)
    3.363586

    Source: F. Jelinek et al., "Perplexity: a measure of the difficulty of speech recognition tasks", 1977.
    """

    total: float = 0.0
    count: int = 0

    @classmethod
    def of(cls, losses: Data) -> Self:
        """That of a batch: a loss a token."""
        found = as_vector(losses)
        return cls(float(found.sum()), len(found))

    def merge(self, other: Self, /) -> Self:
        """That of both."""
        return type(self)(self.total + other.total, self.count + other.count)

    @property
    def value(self) -> float:
        """exp(total / count), infinite where that is above a double; NaN of none."""
        if not self.count:
            return math.nan
        mean = self.total / self.count
        return math.exp(mean) if mean < 709.0 else math.inf


@final
@dataclass(frozen=True)
class R2:
    """The coefficient of determination: 1 - Σ(y - ŷ)² / Σ(y - mean of y)².

    Sums are about the mean of each batch, and stay exact where that is large. NaN where all y are equal.
    >>> R2.of([1.0, 2.0], [1.0, 3.0]).merge(R2.of([5.0], [5.0])).value
    0.875

    Source: T. Chan, G. Golub, R. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances",
    1979, for the merge.
    """

    count: int = 0
    mean: float = 0.0
    about: float = 0.0
    errors: float = 0.0

    @classmethod
    def of(cls, predicted: Data, y: Data) -> Self:
        """That of a batch; ShapeError for other numbers of them."""
        found, true = as_vector(predicted), as_vector(y)
        _same("R2", len(found), len(true))
        return cls(len(true), *moments(found, true))

    def merge(self, other: Self, /) -> Self:
        """That of both."""
        n = self.count + other.count
        if not n:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.count / n
        about = self.about + other.about + apart * apart * self.count * other.count / n
        return type(self)(n, mean, about, self.errors + other.errors)

    @property
    def value(self) -> float:
        """The coefficient."""
        return 1.0 - self.errors / self.about if self.about else math.nan
