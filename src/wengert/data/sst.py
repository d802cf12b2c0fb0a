"""The Stanford Sentiment Treebank: parsed sentences with a judgement at every node.

Knows: the names of its files, and that a line is a tree whose labels go from 0, very negative, to 4.
Refuses to know: how a tree is read.
"""

from __future__ import annotations

import os
from typing import Final, Literal, TypeAlias, get_args

from wengert.data.files import check_part
from wengert.data.rows import Items
from wengert.data.trees import Tree, tree
from wengert.errors import DataError
from wengert.graph.paths import Path, opened, path_of

Part: TypeAlias = Literal["train", "dev", "test"]
_LABELS: Final = 5


def sst(path: Path, part: Part = "train") -> Items[Tree]:
    """The trees of a file, one a line, or of the file of this part in a folder: `train.txt`, `dev.txt`, `test.txt`.

    Raises DataError, with file, line and column, for what is no such tree; OSError where there is no such file;
    ArgumentError for a path that is none.
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = Path(folder, "dev.txt").write_text("(3 (2 A) (4 film))\\n(2 Yes)\\n")
    ...     trees = sst(folder, "dev")
    >>> [tree.label for tree in trees]
    [3, 2]

    Source: R. Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank", 2013.
    """
    check_part("sst", part, get_args(Part))
    place = path_of("sst", path, DataError)
    if os.path.isdir(place):
        place = os.path.join(place, f"{part}.txt")
    with opened("sst", place, DataError) as file:
        content = file.read()
    found = [
        tree(_text(line, place, number), labels=_LABELS, place=place, line=number)
        for number, line in enumerate(content.split(b"\n"), 1)
        if line.strip()
    ]
    if not found:
        raise DataError(f"{place}: it has no tree, and should have one a line, as in (3 (2 a) (4 film))")
    return Items(found)


def _text(line: bytes, place: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode("utf-8")) + 1
        raise DataError(f"{place}:{number}:{column}: this is no UTF-8 text: {error.reason}") from error
