"""Overloads by shape: each rule asked for shapes of up to four named axes, and each answer written as one.

Knows: how pyrefly chooses an overload by the types of arguments, and what to write for shapes that are not known.
Refuses to know: where the overloads go; layers; operations that compute with sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Final, NamedTuple, TypeAlias

from wengert_shapes import rules
from wengert_shapes.algebra import ONE, Atom, Dim, atom
from wengert_shapes.checks import misfit
from wengert_shapes.rules import Misfit, Shape

RANKS: Final = range(1, 5)
LETTERS: Final = "ABCD"
INTEGERS: Final = "np.dtype[np.integer[Any]]"  # of indices and labels
# a shape that no array has: only one that is not known fits it
UNKNOWN: Final = f"tuple[{', '.join(['Never'] * 7)}]"
# of which only the rank is known
WIDE: Final = tuple(f"tuple[{', '.join(['Any'] * rank)}]" for rank in (5, 6))
RAW: Final = "ArrayLiteral[T_, V_] | Differentiable[Host[T_], Host[T_]]"  # what has no shape in its type
FUNCTION: Final = "a: ArrayOperand[{}, T_, V_], b: ArrayOperand[{}, T_, V_], /"
_CALL: Final = f"self, {FUNCTION}"
METHOD: Final = "self: ArrayOperand[{}, T_, V_], other: ArrayOperand[{}, T_, V_], /"


class Row(NamedTuple):
    """One overload: the shapes of the operands, how further arguments are declared, and the shape of the result."""

    operands: tuple[Shape, ...]
    others: str
    result: Shape


class Site(NamedTuple):
    """Overloads for a function or method of a module; those that it has for arrays go, if it has any."""

    module: str
    name: str
    overloads: list[str]


def named(letters: str) -> Shape:
    return tuple(atom(Atom(f"{letter}_", f"{letter}_")) for letter in letters)


def dim_text(dim: Dim | None) -> str:
    assert dim is not None, "the rules are asked for shapes that are known"
    if dim.value is not None:
        return f"Literal[{dim}]"
    return str(dim) if str(dim).isidentifier() else f"Int[{dim}]"


def shape_text(shape: Shape) -> str:
    return f"tuple[{', '.join(map(dim_text, shape)) or '()'}]"


def sliding(shape: Shape) -> str:
    """The result of windows that slide; there is at least one."""
    batch, channels, *sides = map(dim_text, shape)
    return f"tuple[{', '.join([batch, channels, *(f'fitting({side}, 1)' for side in sides)])}]"


def variables_of(shapes: Iterable[Shape]) -> str:
    """The names in some shapes, declared."""
    found = dict.fromkeys(str(dim) for shape in shapes for dim in shape if dim is not None and dim.named)
    return ", ".join([*(f"{name}: int" for name in found), "T_: Any", "V_: Any"])


# operands, declarations, further arguments
Asked: TypeAlias = tuple[tuple[Shape, ...], str, tuple[object, ...]]


def _fitting(rule: Callable[..., Shape], calls: Iterable[Asked]) -> Iterator[Row]:
    """A row for each call that the rule does not refuse."""
    for operands, others, arguments in calls:
        try:
            yield Row(operands, others, rule(*operands, *arguments))
        except Misfit:
            continue


def products() -> list[Row]:
    left = [named(letters) for letters in ("K", "MK", "BMK", "BHMK")]
    right = [named(letters) for letters in ("K", "KN", "BKN", "BHKN")]
    return list(_fitting(rules.matmul, (((a, b), "", ()) for a, b in product(left, right))))


def meetings() -> list[Row]:
    """Two shapes that broadcast; of four axes only where the one stretches to the other."""
    pairs: dict[tuple[Shape, Shape], None] = {}
    for rank in RANKS:
        for one, two in product(
            _stretching(rank), (x for least in range(1, rank + 1) for x in _stretching(least))
        ):
            small = tuple(
                n if n == ONE else m for n, m in zip(two, named(LETTERS[:rank])[-len(two) :], strict=True)
            )
            if one != small and (rank < 4 or ONE not in one):
                pairs |= {(one, small): None, (small, one): None}
    return list(_fitting(rules.broadcast, ((pair, "", ()) for pair in pairs)))


def _stretching(rank: int) -> Iterator[Shape]:
    """Shapes of which each axis has a name or size 1."""
    for ones in product((False, True), repeat=rank):
        yield tuple(ONE if one else n for one, n in zip(ones, named(LETTERS[:rank]), strict=True))


def _axes(rank: int) -> Iterator[tuple[int, ...]]:
    yield from ((i,) for i in range(-rank, rank))
    yield from (axes for count in (2, 3) for axes in combinations(range(rank), count))


def _literal(axes: Sequence[int]) -> str:
    texts = [f"Literal[{i}]" for i in axes]
    return texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"


def reductions() -> list[Row]:
    kept = {False: "keepdims: Literal[False] = False", True: "keepdims: Literal[True]"}
    return list(
        _fitting(
            rules.reduced,
            (
                ((named(LETTERS[:rank]),), f"*, axis: {_literal(axes)}, {kept[keep]}", (axes, keep))
                for rank in RANKS
                for axes in _axes(rank)
                for keep in kept
            ),
        )
    )


def permuted() -> list[Row]:
    calls = (
        ((named(LETTERS[:rank]),), f"axes: tuple[{', '.join(f'Literal[{i}]' for i in axes)}]", (axes,))
        for rank in RANKS
        for axes in permutations(range(rank))
    )
    return list(_fitting(rules.permuted, calls))


def expanded() -> list[Row]:
    calls = (
        ((named(LETTERS[:rank]),), f"axis: {_literal(axes)}", (axes,))
        for rank in RANKS
        for axes in [*((axis,) for axis in range(-rank - 1, rank + 1)), *combinations(range(rank + 2), 2)]
    )
    return list(_fitting(rules.expanded, calls))


def squeezed() -> list[Row]:
    calls = []
    for rank in RANKS:
        for axes in _axes(rank):
            shape = list(named(LETTERS[:rank]))
            for axis in axes:
                shape[axis] = ONE
            calls.append(((tuple(shape),), f"axis: {_literal(axes)}", (axes,)))
    return list(_fitting(rules.squeezed, calls))


def overload(name: str, parameters: str, result: str, variables: str = "T_: Any, V_: Any") -> str:
    return f"@overload\ndef {name}[{variables}]({parameters}) -> {result}: ..."


def of_one(name: str, rows: Sequence[Row], unknown: str, first: str = "") -> list[str]:
    """Overloads of a function of one array: not known, known, raw."""
    found = [
        overload(name, f"{first}x: ArrayOperand[{UNKNOWN}, T_, V_], /, {unknown}", "ArrayLayer[Any, T_, V_]")
    ]
    for (x,), others, result in rows:
        parameters = f"{first}x: ArrayOperand[{shape_text(x)}, T_, V_], /, {others}"
        found.append(
            overload(name, parameters, f"ArrayLayer[{shape_text(result)}, T_, V_]", variables_of([x]))
        )
    return [*found, overload(name, f"{first}x: {RAW}, /, {unknown}", "ArrayLayer[Any, T_, V_]")]


def of_two(name: str, rows: Sequence[Row], form: str, made: str = "ArrayLayer[{}, T_, V_]") -> list[str]:
    """Overloads of a function of two arrays; `form` is how it declares them."""
    pairs = [(UNKNOWN, "Any"), ("Any", UNKNOWN)]
    found = [overload(name, form.format(*pair), made.format("Any")) for pair in pairs]
    for operands, _, result in rows:
        parameters = form.format(*map(shape_text, operands))
        found.append(overload(name, parameters, made.format(shape_text(result)), variables_of(operands)))
    return found


_COLUMNS: Final = (  # what is never broadcast to a square
    ("tuple[A_, Literal[1]]", "tuple[A_]"),
    ("tuple[A_]", "tuple[A_, Literal[1]]"),
)
_SQUARE: Final = misfit("square")


def raw_pairs(name: str, first: str = "", made: str = "ArrayLayer[Any, T_, V_]", last: str = "") -> list[str]:
    other = "ArrayOperand[Any, T_, V_]"
    pairs = [(RAW, other), (other, RAW), (RAW, RAW)]
    return [overload(name, f"{first}a: {a}, b: {b}, /{last}", made) for a, b in pairs]


def family(name: str, made: str) -> Site:
    """The operations of two operands that broadcast."""
    alike = "Q_: tuple[Any, ...], T_: np.floating[Any], V_: Any"
    scalar = "ScalarOperand[T_] | T_ | float"
    same = [
        overload("__call__", _CALL.format("Q_", "Q_"), made.format("Q_"), alike),
        overload("__call__", f"self, a: ArrayOperand[Q_, T_, V_], b: {scalar}, /", made.format("Q_"), alike),
        overload("__call__", f"self, a: {RAW}, b: {scalar}, /", made.format("Any")),
        overload("__call__", _CALL.format("Q_", "tuple[()]"), made.format("Q_"), alike),
        overload("__call__", _CALL.format("tuple[()]", "Q_"), made.format("Q_"), alike),
    ]
    two = of_two("__call__", meetings(), _CALL, made)
    same += [
        overload("__call__", _CALL.format(*pair), _SQUARE, "A_: int, T_: Any, V_: Any") for pair in _COLUMNS
    ]
    raw = raw_pairs("__call__", "self, ", made.format("Any"))
    return Site("ops.families", f"{name}.__call__", [*two[:2], *same, *two[2:], *raw])


def operator(name: str) -> Site:
    alike = "Q_: tuple[Any, ...], T_: np.floating[Any], V_: Any"
    two = of_two(name, meetings(), METHOD)
    scalar = "self: ArrayOperand[Q_, T_, V_], other: ScalarOperand[T_] | T_ | float, /"
    same = [
        overload(name, METHOD.format("Q_", "Q_"), "ArrayLayer[Q_, T_, V_]", alike),
        overload(name, scalar, "ArrayLayer[Q_, T_, V_]", alike),
        overload(name, METHOD.format("Q_", "tuple[()]"), "ArrayLayer[Q_, T_, V_]", alike),
        overload(name, METHOD.format("tuple[()]", "Q_"), "ArrayLayer[Q_, T_, V_]", alike),
    ]
    same += [overload(name, METHOD.format(*pair), _SQUARE, "A_: int, T_: Any, V_: Any") for pair in _COLUMNS]
    column = "self: ArrayOperand[tuple[A_, Literal[1]], T_, V_], other: np.ndarray[tuple[{}], Any], /"
    vectors = (("Any, Any", "ArrayLayer[Any, T_, V_]"), ("Any", _SQUARE))
    same += [overload(name, column.format(x), y, "A_: int, T_: Any, V_: Any") for x, y in vectors]
    return Site("graph.expressions", f"ArrayOperand.{name}", [*two[:2], *same, *two[2:], other(name, RAW)])


def other(name: str, other: str) -> str:
    return overload(name, f"self: ArrayOperand[Any, T_, V_], other: {other}, /", "ArrayLayer[Any, T_, V_]")


def reflected(name: str) -> Site:
    """The reflected operator, which takes no array: an array to the left has an operator of its own that may refuse."""
    scalar = "self: ArrayOperand[Q_, T_, V_], other: ScalarOperand[T_] | T_ | float, /"
    variables = "Q_: tuple[Any, ...], T_: np.floating[Any], V_: Any"
    found = [overload(name, scalar, "ArrayLayer[Q_, T_, V_]", variables), other(name, RAW)]
    return Site("graph.expressions", f"ArrayOperand.{name}", found[name == "__rmatmul__" :] + found[-1:])


def stating(name: str, made: str, before: str, after: str = "") -> list[str]:
    """Overloads of what states the dimensions of an array: the first ones names, the others numbers."""
    found = []
    for places in (places for rank in RANKS for places in product((True, False), repeat=rank)):
        pairs = list(zip(LETTERS, places, strict=False))
        given = [
            f"{n.lower()}: {f'Callable[[Any], {n}_]' if is_name else f'Int[{n}_]'}" for n, is_name in pairs
        ]
        dims = ", ".join(f"{n}_" if is_name else f"Int[{n}_]" for n, is_name in pairs)
        variables = [
            *(f"{n}_: {'int' if is_name else 'IntVar'}" for n, is_name in pairs),
            "T_: Any",
            "V_: Any",
        ]
        parameters = ", ".join([before, *given]) + after
        found.append(overload(name, parameters, f"{made}[tuple[{dims}], T_, V_]", ", ".join(variables)))
    found.append(overload(name, f"{before}, *dims: Any{after}", f"{made}[Any, T_, V_]"))
    return found
