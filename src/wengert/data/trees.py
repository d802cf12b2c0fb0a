"""Trees written as s-expressions: `(3 (2 a) (4 film))`.

Knows: leaves with a word, nodes with children, and where in a line something is wrong; no depth is too deep.
Refuses to know: files, and what labels mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from wengert.errors import DataError

_TOKEN: Final = re.compile(r"[ \t\r]*([()]|[^ \t\r\n()]+)")  # a no-break space is part of a word: "8 1/2"
_LABEL: Final = re.compile(r"[0-9]{1,9}")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaf:
    """A word."""

    label: int
    word: str

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"({self.label} {self.word})"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """One or more trees under a label; `str` writes it as it was read."""

    label: int
    children: tuple[Tree, ...]

    def __repr__(self) -> str:
        return f"<Node of label {self.label} with {len(self.children)} children>"

    def __str__(self) -> str:
        said: list[str] = []
        waiting: list[Tree | str] = [self]
        while waiting:
            match waiting.pop():
                case Node(label, children):
                    spread = (part for child in reversed(children) for part in (child, " "))
                    waiting += [")", *spread]
                    said.append(f"({label}")
                case part:
                    said.append(str(part))
        return "".join(said)


Tree: TypeAlias = Leaf | Node


def tree(text: str, /, *, labels: int | None = None, place: str = "tree", line: int = 1) -> Tree:
    """The tree that a line is, with labels below `labels`.

    Raises DataError with place, line and column, both from 1, for anything else.
    >>> read = tree("(3 (2 a) (4 film))")
    >>> read.label, [leaf.word for leaf in read.children], str(read)
    (3, ['a', 'film'], '(3 (2 a) (4 film))')
    >>> tree("(3 (2 a) (4 film)")
    Traceback (most recent call last):
    wengert.errors.DataError: tree:1:18: the line ends, and 1 ")" has to follow

    Source: the format of the Penn Treebank, as the Sentiment Treebank has it.
    """
    return _TreeReader(text, labels, place, line).read()


class _TreeReader:
    """Reads one line; what is open stands on a stack of its own."""

    def __init__(self, text: str, labels: int | None, place: str, line: int) -> None:
        self._text = text
        self._labels = labels
        self._place = f"{place}:{line}"
        self._at = 0

    def read(self) -> Tree:
        self._expect("(")
        open_: list[tuple[int, list[Tree]]] = [(self._label(), [])]
        while True:
            label, children = open_[-1]
            token = self._next(f'the line ends, and {len(open_)} ")" has to follow')
            done: Tree
            if token == "(":
                open_.append((self._label(), []))
                continue
            if token == ")":
                if not children:
                    raise self._wrong("a label is followed by a word or by trees, and here by nothing", token)
                done = Node(label, tuple(children))
            elif children:
                raise self._wrong(f"{_brief(token)} stands where a tree has to begin or end", token)
            else:
                done = Leaf(label, token)
                self._expect(")")
            open_.pop()
            if not open_:
                self._end()
                return done
            open_[-1][1].append(done)

    def _next(self, otherwise: str) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            self._at = len(self._text)
            raise self._wrong(otherwise)
        self._at = found.end()
        return found[1]

    def _expect(self, wanted: str) -> None:
        token = self._next(f'the line ends where "{wanted}" has to be')
        if token != wanted:
            raise self._wrong(f'{_brief(token)} stands where "{wanted}" has to be', token)

    def _label(self) -> int:
        token = self._next("the line ends where a label has to be")
        if _LABEL.fullmatch(token) is None:
            raise self._wrong(f"{_brief(token)} stands where a label, a whole number, has to be", token)
        label = int(token)
        if self._labels is not None and label >= self._labels:
            raise self._wrong(f"the label {label} is none of 0 to {self._labels - 1}", token)
        return label

    def _end(self) -> None:
        rest = _TOKEN.match(self._text, self._at)
        if rest is not None:
            self._at = rest.end()
            raise self._wrong(f"{_brief(rest[1])} stands after the end of the tree", rest[1])

    def _wrong(self, what: str, token: str = "") -> DataError:
        return DataError(f"{self._place}:{self._at - len(token) + 1}: {what}")


def _brief(token: str) -> str:
    return repr(token[:38])  # a word may be as long as the file
