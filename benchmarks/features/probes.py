"""Probes of libraries by the rows of a page: small programs that assert, or reasons for there being none.

Knows: the kinds of answer, and how a file of probes is read without being imported.
Refuses to know: any library, and how its rows are called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Check: TypeAlias = Callable[[], None]

FOLDER = Path(__file__).resolve().parent
LIBRARIES = {  # columns of the page, in its order: what the command calls them, and the files of their probes
    "pytorch": ("pytorch", "lightning"),
    "equinox": ("jaxes", "equinox"),
    "keras": ("keras",),
    "flax": ("jaxes", "flax"),
    "tinygrad": ("tinygrad",),
}
PACKAGES = {  # whose versions are said
    "pytorch": ("torch", "lightning", "torchmetrics"),
    "equinox": ("equinox", "optax", "jax"),
    "keras": ("keras", "jax"),
    "flax": ("flax", "optax", "jax"),
    "tinygrad": ("tinygrad",),
}

_STANDARD = """
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and
bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_to
ceil clip concat copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide empty empty_like
equal exp expand_dims expm1 eye flip floor floor_divide from_dlpack full full_like greater greater_equal hypot
isfinite isin isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not
logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply
negative nextafter nonzero not_equal ones ones_like permute_dims positive pow prod reciprocal remainder repeat
reshape roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take
take_along_axis tan tanh tensordot tile tril triu trunc unique_all unique_counts unique_inverse unique_values
unstack var vecdot where zeros zeros_like
"""
STANDARD = _STANDARD.split()  # functions of the array API standard, 2024.12, for arrays of real numbers


class Kind(Enum):
    """How a library answers a row."""

    WORKS = "works"  # by names of the library, or of a package made for it
    BY_HAND = "by hand"  # by a few lines of the user's own
    NO = "no"
    NOT_RUN = "not run"  # by names that nothing here can run: a device, a download, a service


@dataclass(frozen=True)
class Probe:
    """A row of a library: what kind of answer it is, the program or None, and the reason if it is no answer."""

    kind: Kind
    check: Check | None = None
    reason: str = ""


@dataclass(frozen=True)
class Rows:
    """Probes by the titles of the page's rows, in the order of a file."""

    probes: dict[str, Probe] = field(default_factory=dict)

    def works(self, title: str) -> Callable[[Check], Check]:
        """The row is answered by what this function calls."""
        return self._kept(title, Kind.WORKS, "")

    def by_hand(self, title: str) -> Callable[[Check], Check]:
        """The row is answered by the lines of this function."""
        return self._kept(title, Kind.BY_HAND, "")

    def lacks(self, title: str, reason: str) -> Callable[[Check], Check]:
        """The row is not answered, which this function shows: a name that is missing, an error, another value."""
        return self._kept(title, Kind.NO, reason)

    def absent(self, title: str, reason: str) -> None:
        """The row is not answered, and there is no name to look for."""
        self.probes[title] = Probe(Kind.NO, None, reason)

    def not_run(self, title: str, reason: str) -> None:
        """The row is answered by documentation alone, as what it needs is not here."""
        self.probes[title] = Probe(Kind.NOT_RUN, None, reason)

    def _kept(self, title: str, kind: Kind, reason: str) -> Callable[[Check], Check]:
        def keep(check: Check) -> Check:
            self.probes[title] = Probe(kind, check, reason)
            return check

        return keep


@dataclass(frozen=True)
class Written:
    """A probe as its file has it, which imports nothing."""

    title: str
    kind: Kind
    source: str  # of the program, or of the line that gives the reason
    lines: int  # of the program, but for what it asserts
    reason: str
    asserts: bool


_KINDS = {"works": Kind.WORKS, "by_hand": Kind.BY_HAND, "lacks": Kind.NO, "absent": Kind.NO}
_KINDS["not_run"] = Kind.NOT_RUN


def written(source: str) -> list[Written]:
    """The probes of a file by its text; a title that two probes have comes twice."""
    found = []
    for node in ast.parse(source).body:
        calls = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Expr):
            calls = [node.value]
        for call in calls:
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            given = [x.value for x in call.args if isinstance(x, ast.Constant) and isinstance(x.value, str)]
            if call.func.attr in _KINDS and given:
                text = ast.get_source_segment(source, node) or ""
                reason = given[1] if len(given) > 1 else ""
                lines, asserts = _counted(node)
                found.append(Written(given[0], _KINDS[call.func.attr], text, lines, reason, asserts))
    return found


def _counted(node: ast.stmt) -> tuple[int, bool]:
    """The lines of a probe but for checks, and whether it has a check."""
    if not isinstance(node, ast.FunctionDef):
        return 0, False
    checks = [part for part in ast.walk(node) if isinstance(part, ast.stmt) and _is_check(part)]
    rows = {row for part in checks for row in range(part.lineno, (part.end_lineno or part.lineno) + 1)}
    body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    return len(set(body) - rows), bool(checks)


def _is_check(part: ast.stmt) -> bool:
    if isinstance(part, ast.Assert):
        return True
    call = part.value if isinstance(part, ast.Expr) else None
    if isinstance(part, ast.With):
        call = part.items[0].context_expr
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CHECKS


@cache
def probes_of(library: str) -> list[Written]:
    """The probes of a library, of all of its files."""
    texts = [(FOLDER / f"{file}.py").read_text(encoding="utf-8") for file in LIBRARIES[library]]
    return [probe for text in texts for probe in written(text)]


# -- what probes assert by ----------------------------------------------------------------------------
# `Any` in these signatures: arrays of five libraries, which share no type.


def near(found: Any, expected: Any, within: float = 1e-4) -> None:
    """Assert that numbers are those expected, whatever library's array they are in."""
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=within, atol=within)


class refuses:
    """A context in which an error of one of these types has to come."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        assert kind is not None, "nothing was refused"
        return issubclass(kind, self._errors)


def lacks_names(module: Any, *names: str) -> None:
    """Assert that a module, or a class, has none of these names."""
    found = [name for name in names if hasattr(module, name)]
    assert not found, f"{module} has {found}"


def standard_names(*modules: Any) -> int:
    """How many functions of the array API standard these have by its names."""
    return sum(any(hasattr(module, name) for module in modules) for name in STANDARD)


CHECKS = {near.__name__, refuses.__name__, lacks_names.__name__}
