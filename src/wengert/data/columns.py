"""Sets of examples from tables: columns by name, wherever they come from.

Knows: that `table[name]` is a column in pandas, polars, Hugging Face's datasets, numpy's npz files and dictionaries, so
that none of them is imported; that the types of a dataclass's fields say which dtypes its arrays have.
Refuses to know: how a table was made.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import fields
from io import StringIO
from typing import Any, Final, Protocol, TypeVar

from wengert.arrays.samples import column, read_arrays
from wengert.data.rows import Rows
from wengert.errors import ArgumentError, DataError
from wengert.graph.paths import Path, opened, path_of
from wengert.site import user_position

R = TypeVar("R", bound=Rows)
_NAMED: Final = re.compile(r"\b(float32|float64|u?int(?:8|16|32|64)|Float32|Float64)\b")


class HasColumns(Protocol):
    """A frame, a dataset, a dictionary: whatever gives a column by its name."""

    def __getitem__(self, name: str, /) -> Any: ...  # Any: whatever numpy makes an array of


def from_columns(cls: type[R], table: HasColumns, **names: str | Sequence[str]) -> R:
    """A set of examples: each field of `cls` is a column, or several side by side, of a table.

    A field that is not named takes the column of its own name. Dtypes are those that the fields' annotations name; a
    column that numpy cannot make one of is a DataError, and so is one that is missing. ArgumentError for a name that is
    no field. Tables are frames of pandas and polars, datasets of Hugging Face, what `numpy.load` gives of a file, and
    dictionaries, such as those of `read_csv` and `read_npz`.
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True, eq=False)
    ... class Points(Rows):
    ...     x: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    ...     label: np.ndarray[tuple[int], np.dtype[np.int64]]
    >>> found = from_columns(Points, {"a": [1, 2], "b": [3, 4], "label": ["0", "1"]}, x=["a", "b"])
    >>> found.x.tolist(), found.x.dtype.name, found.label.tolist()
    ([[1.0, 3.0], [2.0, 4.0]], 'float32', [0, 1])

    Source: the mapping protocol of Python.
    """
    known = [field.name for field in fields(cls)]
    unknown = sorted(names.keys() - {*known})
    if unknown:
        raise ArgumentError(
            f"from_columns: {', '.join(unknown)} is no field of {cls.__name__}, which has {', '.join(known)}\n"
            f"  at {user_position()}"
        )
    hints = {field.name: field.type for field in fields(cls)}
    made: dict[str, Any] = {}  # Any: arrays of every type
    for name in known:
        of = names.get(name, name)
        parts = [_column(table, of)] if isinstance(of, str) else [_column(table, one) for one in of]
        try:
            made[name] = column(parts, not isinstance(of, str), _dtype(hints[name]))
        except (ValueError, TypeError) as error:
            raise DataError(
                f"from_columns: {of!r:.60} is no column for {cls.__name__}.{name}: {error!s:.100}\n"
                f"  at {user_position()}"
            ) from error
    return cls(**made)


def _column(table: HasColumns, name: str) -> Any:  # Any: as above
    try:
        return table[name]
    except (KeyError, LookupError) as error:
        raise DataError(
            f"from_columns: the table has no column {name!r:.60}\n  at {user_position()}"
        ) from error


def _dtype(annotation: object) -> str | None:
    """`float32` of `np.ndarray[..., np.dtype[np.float32]]`, whose text is read: a class of a function has no names."""
    found = _NAMED.search(annotation if isinstance(annotation, str) else repr(annotation))
    return None if found is None else found[1].lower()


def read_csv(path: Path, *, delimiter: str = ",") -> dict[str, list[str]]:
    """The columns of a file of comma-separated values by the names in its first line, as texts.

    `from_columns` makes numbers of them. DataError, with the line, for one that has more or fewer fields than the
    first, a name that comes twice, and what is no UTF-8; OSError where there is no file.
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = Path(folder, "points.csv").write_text("x,label\\n0.5,1\\n1.5,0\\n")
    ...     read_csv(Path(folder, "points.csv"))
    {'x': ['0.5', '1.5'], 'label': ['1', '0']}

    Source: RFC 4180.
    """
    place = path_of("read_csv", path, DataError)
    with opened("read_csv", place, DataError) as file:
        content = file.read()
    try:
        lines = csv.reader(
            StringIO(content.decode("utf-8-sig"), newline=""), delimiter=delimiter, strict=True
        )
        names = next(lines, [])
        if not names or len({*names}) < len(names):
            raise DataError(f"{place}: the first line has no names, or one twice: {names!r:.60}")
        columns: list[list[str]] = [[] for _ in names]
        for line in lines:
            if line and len(line) != len(names):
                raise DataError(
                    f"{place}:{lines.line_num}: there are {len(line)} fields, and {len(names)} names"
                )
            for held, field in zip(columns, line, strict=False):  # an empty line has none
                held.append(field)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{place}: it is no file of comma-separated values: {error!s:.100}") from error
    return dict(zip(names, columns, strict=True))


def read_npz(path: Path) -> dict[str, Any]:  # Any: arrays of every type
    """The arrays of an npz file by name; no pickle is read. DataError for what is none; OSError where there is none.

    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "points.npz"), x=np.eye(2))
    ...     read_npz(Path(folder, "points.npz"))["x"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Source: numpy's format, NEP 1.
    """
    place = path_of("read_npz", path, DataError)
    with opened("read_npz", place, DataError) as file:
        try:
            return read_arrays(file)
        except Exception as error:  # of zipfile, zlib and numpy: a stranger's file
            raise DataError(f"{place}: it is no npz file of arrays: {error!s:.100}") from error
