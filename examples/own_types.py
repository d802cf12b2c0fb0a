"""Types of your own, and types of others, made differentiable from outside.

Four ways, each with public names only:

- `fractions.Fraction` belongs to Python. One registered function makes it an expression.
- A table of word vectors has deltas of another form than its data: which words, and by how much. A training
  step touches the rows of the words that were looked up, however long the table is.
- A tuple of expressions is an expression.
- A frozen dataclass of expressions is an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

import wengert as wg
from wengert.extend import Case, Column, Kind, LazyDelta, Rows, kind, operation
from wengert.plugins import SGD

X = TypeVar("X")
Array = np.ndarray[Any, np.dtype[np.float32]]

# -- A type that nobody here owns ----------------------------------------------------------------------------


@wg.register(Fraction)
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    """An exact number as a double; like every literal it has no use for a derivative."""
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


def share(part: Fraction, seed: float = 0.0) -> float:
    """Learn, by training alone, what part of 3 a fraction is."""
    w = SGD(learning_rate=0.1).double_weight(seed)
    loss = wg.square(w - fraction(part) * 3.0)
    for _ in range(100):
        loss.train().run()
    return w.data


# -- A type whose Delta is not its Data ----------------------------------------------------------------------


@dataclass(frozen=True)
class Vectors:
    """Data of a table: every word's vector."""

    of: Mapping[str, Array]


@dataclass(frozen=True)
class Touched:
    """Delta of a table: what a few words' vectors are to change by. Two of them add word by word."""

    by: Mapping[str, Array]

    def __add__(self, other: Touched) -> Touched:
        both = dict(self.by)
        for word, change in other.by.items():
            both[word] = both[word] + change if word in both else change
        return Touched(both)


class Table:
    """A vector for each word, kept as one array weight."""

    def __init__(self, words: list[str], size: int) -> None:
        self.rows, self.size = {word: row for row, word in enumerate(words)}, size
        self.weight = SGD(learning_rate=0.1).array_weight(
            np.ones((len(words), size), np.float32), name="table"
        )

    def vector(self, word: str) -> Array:
        """The present vector of a word."""
        vector: Array = self.weight.data[self.rows[word]]
        return vector


@wg.register(Table)
def table(x: Table) -> wg.Do[wg.Tape[Vectors, Touched]]:
    """Data by word, deltas by word; the array weight inside gets the rows that were touched."""

    def by_word(
        tape: wg.Tape[Any, Any],
    ) -> wg.Tape[Vectors, Touched]:  # Any: a lazy delta stands for an array
        def rows_of(touched: Touched) -> LazyDelta:
            rows = np.array([x.rows[word] for word in touched.by])
            return LazyDelta((Rows(rows, np.stack(list(touched.by.values())), x.weight.shape),))

        data = Vectors({word: tape.data[row] for word, row in x.rows.items()})
        return wg.Tape(data, lambda delta: tape.backward(delta.map(rows_of)))

    return x.weight.forward.map(by_word)


def _vector_kind(kinds: Sequence[Kind], *, word: str, size: int) -> Kind:
    return kind(Column.ARRAY, (size,), np.dtype(np.float32))


def _vector(case: Case, vectors: Vectors, *, word: str, size: int) -> Array:
    return vectors.of[word]


def _touched(case: Case, g: Array, y: Array, vectors: Vectors, *, word: str, size: int) -> Touched:
    return Touched({word: g})


@operation(_vector_kind, _vector, _touched)
def look_up(words: wg.Layer[Vectors, Touched], /, *, word: str, size: int) -> wg.ArrayLayer[Any, np.float32]:
    """The vector of one word, an operation of our own: its kind, its value, its derivative."""
    raise NotImplementedError  # never called: the three functions above are what it does


def pull_together(vectors: Table, a: str, b: str) -> float:
    """One step that makes two words more alike, and longer ones shorter; the loss before it."""
    words = table(vectors)
    va, vb = (look_up(words, word=word, size=vectors.size) for word in (a, b))
    return float(wg.train(wg.sum(wg.square(va - vb)) + wg.sum(va * vb)).run())


# -- Products ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line(Generic[X]):
    """A straight line, of numbers or of expressions."""

    slope: X
    height: X


def fitted_line() -> Line[float]:
    """The line through (1, 5) and (3, 9), found by descent."""
    settings = SGD(learning_rate=0.05)
    weights = Line(settings.double_weight(0.0), settings.double_weight(0.0))
    errors = [weights.slope * x + weights.height - y for x, y in ((1.0, 5.0), (3.0, 9.0))]
    for _ in range(500):
        wg.train(wg.square(errors[0]) + wg.square(errors[1])).run()
    found = wg.predict(weights).run()
    return Line(found.slope, found.height)


def both_at_once() -> tuple[float, float]:
    """A pair of expressions, predicted in one run: what they share is computed once."""
    shared = fraction(Fraction(1, 4)) + 1.0
    return wg.predict((shared * 2.0, shared * shared)).run()


def main() -> tuple[float, Table, Line[float], tuple[float, float]]:
    """Try all four; returns what each of them found."""
    learned = share(Fraction(2, 7))
    print(f"Fraction(2, 7) of 3, learned: {learned:.6f}")
    vectors = Table(["one", "two", "three", "four"], size=2)
    loss = pull_together(vectors, "one", "three")
    print(f"a table after one step, loss {loss}:")
    for word in vectors.rows:
        print(f"    {word:<6} {vectors.vector(word)}")
    line = fitted_line()
    print(f"a line through (1, 5) and (3, 9): {line.slope:.3f}·x + {line.height:.3f}")
    pair = both_at_once()
    print(f"a pair: {pair}")
    print(
        "own_types.py: four classes of other people's are differentiated, each by one function that was registered"
    )
    return learned, vectors, line, pair


if __name__ == "__main__":
    main()
