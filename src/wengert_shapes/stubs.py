"""`python -m wengert_shapes.stubs FOLDER`: a stub package that shows shapes to pyrefly, made from the rules.

Pyrefly has no plugins, and finds an overload by the types of arguments. So each rule is asked for shapes of up to four
named axes, and each answer is one overload: `(x: ArrayOperand[tuple[A_, B_]], *, axis: Literal[1]) ->
ArrayLayer[tuple[A_]]`. Windows that slide are one overload, with pyrefly's own integers in the types.

Knows: which functions and methods have which rule, and how overloads are put into a copy of their module.
Refuses to know: the library, of which it reads the text; mypy, which must not see the result.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from wengert_shapes import rules, windows
from wengert_shapes.algebra import ONE, Atom, Dim, atom
from wengert_shapes.rules import Misfit, Shape

_RANKS: Final = range(1, 5)
_LETTERS: Final = "ABCD"
# a shape that no array has: only one that is not known fits it
_UNKNOWN: Final = f"tuple[{', '.join(['Never'] * 7)}]"
_IMPORTS: Final = """
from collections.abc import Callable, Sequence
from typing import Any, Literal, Never, overload
from shape_extensions import Int, IntVar
from wengert.arrays.types import ArrayLiteral, Host
from wengert.differentiable import Differentiable
"""
_FROM_EXPRESSIONS: Final = "from wengert.graph.expressions import ArrayLayer, ArrayOperand\n"
_RAW: Final = "ArrayLiteral[T_, V_] | Differentiable[Host[T_], Host[T_]]"  # what has no shape in its type


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


def _named(letters: str) -> Shape:
    return tuple(atom(Atom(f"{letter}_", f"{letter}_")) for letter in letters)


def _dim(dim: Dim | None) -> str:
    assert dim is not None, "the rules are asked for shapes that are known"
    if dim.value is not None:
        return f"Literal[{dim}]"
    return str(dim) if dim.named else f"Int[{dim}]"


def _shape(shape: Shape) -> str:
    return f"tuple[{', '.join(map(_dim, shape)) or '()'}]"


def _variables(shapes: Iterable[Shape]) -> str:
    """The names in some shapes, declared."""
    found = dict.fromkeys(str(dim) for shape in shapes for dim in shape if dim is not None and dim.named)
    return ", ".join([*(f"{name}: int" for name in found), "T_: Any", "V_: Any"])


Asked: TypeAlias = tuple[
    tuple[Shape, ...], str, tuple[object, ...]
]  # operands, declarations, further arguments


def _fitting(rule: Callable[..., Shape], calls: Iterable[Asked]) -> Iterator[Row]:
    """A row for each call that the rule does not refuse."""
    for operands, others, arguments in calls:
        try:
            yield Row(operands, others, rule(*operands, *arguments))
        except Misfit:
            continue


# -- the rules, asked --------------------------------------------------------------------------------


def _products() -> list[Row]:
    left = [_named(letters) for letters in ("K", "MK", "BMK", "BHMK")]
    right = [_named(letters) for letters in ("K", "KN", "BKN", "BHKN")]
    return list(_fitting(rules.matmul, (((a, b), "", ()) for a, b in product(left, right))))


def _meetings() -> list[Row]:
    """Two shapes that broadcast; of four axes only where the one stretches to the other."""
    pairs: dict[tuple[Shape, Shape], None] = {}
    for rank in _RANKS:
        for one, two in product(
            _stretching(rank), (x for least in range(1, rank + 1) for x in _stretching(least))
        ):
            small = tuple(
                n if n == ONE else m for n, m in zip(two, _named(_LETTERS[:rank])[-len(two) :], strict=True)
            )
            if one != small and (rank < 4 or ONE not in one):
                pairs |= {(one, small): None, (small, one): None}
    return list(_fitting(rules.broadcast, ((pair, "", ()) for pair in pairs)))


def _stretching(rank: int) -> Iterator[Shape]:
    """Shapes of which each axis has a name or size 1."""
    for ones in product((False, True), repeat=rank):
        yield tuple(ONE if one else n for one, n in zip(ones, _named(_LETTERS[:rank]), strict=True))


def _axes(rank: int) -> Iterator[tuple[int, ...]]:
    yield from ((i,) for i in range(-rank, rank))
    yield from (axes for count in (2, 3) for axes in combinations(range(rank), count))


def _literal(axes: Sequence[int]) -> str:
    texts = [f"Literal[{i}]" for i in axes]
    return texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"


def _reductions() -> list[Row]:
    kept = {False: "keepdims: Literal[False] = False", True: "keepdims: Literal[True]"}
    return list(
        _fitting(
            rules.reduced,
            (
                ((_named(_LETTERS[:rank]),), f"*, axis: {_literal(axes)}, {kept[keep]}", (axes, keep))
                for rank in _RANKS
                for axes in _axes(rank)
                for keep in kept
            ),
        )
    )


def _permutations() -> list[Row]:
    calls = (
        ((_named(_LETTERS[:rank]),), f"axes: tuple[{', '.join(f'Literal[{i}]' for i in axes)}]", (axes,))
        for rank in _RANKS
        for axes in permutations(range(rank))
    )
    return list(_fitting(rules.permuted, calls))


def _expansions() -> list[Row]:
    calls = (
        ((_named(_LETTERS[:rank]),), f"axis: {_literal(axes)}", (axes,))
        for rank in _RANKS
        for axes in [*((axis,) for axis in range(-rank - 1, rank + 1)), *combinations(range(rank + 2), 2)]
    )
    return list(_fitting(rules.expanded, calls))


def _squeezes() -> list[Row]:
    calls = []
    for rank in _RANKS:
        for axes in _axes(rank):
            shape = list(_named(_LETTERS[:rank]))
            for axis in axes:
                shape[axis] = ONE
            calls.append(((tuple(shape),), f"axis: {_literal(axes)}", (axes,)))
    return list(_fitting(rules.squeezed, calls))


def _convolutions() -> list[str]:
    """Overloads of `conv2d`: sizes of images are pyrefly's integers, with which the rule's own formula computes."""
    height, width, rows, columns, stride, padding = _named("HWRCSP")
    batch, inputs, outputs = _named("BIO")
    image, kernel = (batch, inputs, height, width), (outputs, inputs, rows, columns)
    result = windows.convolved(image, kernel, (stride, stride), (padding, padding), (ONE, ONE))
    integers = {str(n): f"Int[{n}]" for n in (height, width, rows, columns)}
    x, w = (f"tuple[{', '.join(integers.get(str(n), str(n)) for n in shape)}]" for shape in (image, kernel))
    names = "B_: int, I_: int, O_: int, T_: Any, V_: Any"
    counted = f"{', '.join(f'{letter}_: IntVar' for letter in 'HWRCSP')}, {names}"
    strides = "stride: Int[S_] = 1, padding: Int[P_] = 0"
    operands = "x: {}, kernel: {}, /, *, {}"
    array, made = "ArrayOperand[{}, T_, V_]", "ArrayLayer[{}, T_, V_]"
    known = _overload(
        "conv2d",
        operands.format(array.format(x), array.format(w), strides),
        made.format(_shape(result)),
        counted,
    )
    unknown, anything = array.format(_UNKNOWN), f"{array.format('Any')} | {_RAW}"
    strides = "stride: Any = 1, padding: Any = 0, dilation: Any = 1"
    named = operands.format(
        array.format("tuple[B_, I_, H_, W_]"), array.format("tuple[O_, I_, Any, Any]"), strides
    )
    pairs = [(unknown, anything), (anything, unknown), (_RAW, anything), (anything, _RAW)]
    open_ = [_overload("conv2d", operands.format(*pair, strides), made.format("Any")) for pair in pairs]
    images = _overload("conv2d", named, made.format("tuple[B_, O_, Any, Any]"), f"H_: int, W_: int, {names}")
    return [*open_[:2], known, images, *open_[2:]]


def _reshapes() -> list[str]:
    """Overloads by the new shape, whose elements are not counted: each place is a number, a name, or -1."""
    found = []
    for rank in _RANKS:
        for places in product(("Literal[-1]", "Int[{}_]", "{}_"), repeat=rank):
            if places.count("Literal[-1]") > 1:
                continue
            given = [place.format(letter) for place, letter in zip(places, _LETTERS, strict=False)]
            made = ["Any" if place == "Literal[-1]" else place for place in given]
            kinds = {"Int[{}_]": "{}_: IntVar", "{}_": "{}_: int"}
            pairs = zip(places, _LETTERS, strict=False)
            variables = [kinds[place].format(letter) for place, letter in pairs if place in kinds]
            parameters = f"x: ArrayOperand[Any, T_, V_] | {_RAW}, /, shape: tuple[{', '.join(given)}]"
            result = f"ArrayLayer[tuple[{', '.join(made)}], T_, V_]"
            found.append(
                _overload("reshape", parameters, result, ", ".join([*variables, "T_: Any", "V_: Any"]))
            )
    parameters = f"x: ArrayOperand[Any, T_, V_] | {_RAW}, /, shape: tuple[int, ...]"
    return [*found, _overload("reshape", parameters, "ArrayLayer[Any, T_, V_]")]


def _items() -> list[str]:
    """Overloads by keys of whole slices and integers."""
    whole = "slice[None, None, None]"
    made, unknown = "ArrayLayer[{}, T_, V_]", "self: ArrayOperand[{}, T_, V_], key: Any, /"
    found = [_overload("__getitem__", unknown.format(_UNKNOWN), made.format("Any"))]
    for rank in _RANKS:
        shape = _named(_LETTERS[:rank])
        for taken in (
            taken for count in range(1, rank + 1) for taken in product((False, True), repeat=count)
        ):
            full = (*taken, *(False,) * (rank - len(taken)))
            left = tuple(n for n, gone in zip(shape, full, strict=True) if not gone)
            parts = ["int" if gone else whole for gone in taken]
            key = f"tuple[{', '.join(parts)}]" + f" | {parts[0]}" * (len(parts) == 1)
            parameters = f"self: ArrayOperand[{_shape(shape)}, T_, V_], key: {key}, /"
            found.append(_overload("__getitem__", parameters, made.format(_shape(left)), _variables([shape])))
    return [*found, _overload("__getitem__", unknown.format("Any"), made.format("Any"))]


def _joined(name: str, rule: Callable[[Sequence[Shape], int], Shape]) -> list[str]:
    """Overloads of `concat` and `stack` by rank and axis; how many arrays there are, or how long, is not known."""
    more = name == "stack"
    unknown = "xs: Sequence[{}], /, *, axis: int = 0"
    found = [_overload(name, unknown.format(f"ArrayOperand[{_UNKNOWN}, T_, V_]"), "ArrayLayer[Any, T_, V_]")]
    for rank in range(1 - more, 5):
        shape = _named(_LETTERS[:rank])
        for axis in range(-rank - more, rank + more):
            at = axis % (rank + more)
            given, result = list(map(_dim, shape)), list(map(_dim, rule([shape], axis)))
            result[at] = "Any"
            if not more:
                given[at] = "Any"
            stated = f"axis: Literal[{axis}]" + " = 0" * (axis == 0)
            parameters = f"xs: Sequence[ArrayOperand[tuple[{', '.join(given)}], T_, V_]], /, *, {stated}"
            made = f"ArrayLayer[tuple[{', '.join(result)}], T_, V_]"
            left = shape if more else (*shape[:at], *shape[at + 1 :])
            found.append(_overload(name, parameters, made, _variables([left])))
    return [*found, _overload(name, unknown.format(_RAW), "ArrayLayer[Any, T_, V_]")]


# -- overloads ----------------------------------------------------------------------------------------


def _overload(name: str, parameters: str, result: str, variables: str = "T_: Any, V_: Any") -> str:
    return f"@overload\ndef {name}[{variables}]({parameters}) -> {result}: ..."


def _of_one(name: str, rows: Sequence[Row], unknown: str, first: str = "") -> list[str]:
    """Overloads of a function of one array: not known, known, raw."""
    found = [
        _overload(
            name, f"{first}x: ArrayOperand[{_UNKNOWN}, T_, V_], /, {unknown}", "ArrayLayer[Any, T_, V_]"
        )
    ]
    for (x,), others, result in rows:
        parameters = f"{first}x: ArrayOperand[{_shape(x)}, T_, V_], /, {others}"
        found.append(_overload(name, parameters, f"ArrayLayer[{_shape(result)}, T_, V_]", _variables([x])))
    return [*found, _overload(name, f"{first}x: {_RAW}, /, {unknown}", "ArrayLayer[Any, T_, V_]")]


def _of_two(name: str, rows: Sequence[Row], form: str, made: str = "ArrayLayer[{}, T_, V_]") -> list[str]:
    """Overloads of a function of two arrays; `form` is how it declares them."""
    pairs = [(_UNKNOWN, "Any"), ("Any", _UNKNOWN)]
    found = [_overload(name, form.format(*pair), made.format("Any")) for pair in pairs]
    for operands, _, result in rows:
        parameters = form.format(*map(_shape, operands))
        found.append(_overload(name, parameters, made.format(_shape(result)), _variables(operands)))
    return found


_FUNCTION: Final = "a: ArrayOperand[{}, T_, V_], b: ArrayOperand[{}, T_, V_], /"
_CALL: Final = f"self, {_FUNCTION}"
_METHOD: Final = "self: ArrayOperand[{}, T_, V_], other: ArrayOperand[{}, T_, V_], /"


def _raw_pairs(name: str, first: str = "", made: str = "ArrayLayer[Any, T_, V_]") -> list[str]:
    other = "ArrayOperand[Any, T_, V_]"
    pairs = [(_RAW, other), (other, _RAW), (_RAW, _RAW)]
    return [_overload(name, f"{first}a: {a}, b: {b}, /", made) for a, b in pairs]


def _family(name: str, made: str) -> Site:
    """The operations of two operands that broadcast."""
    alike = "Q_: tuple[Any, ...], T_: Any, V_: Any"
    scalar = "ScalarOperand[T_] | T_ | float"
    same = [
        _overload("__call__", _CALL.format("Q_", "Q_"), made.format("Q_"), alike),
        _overload("__call__", f"self, a: ArrayOperand[Q_, T_, V_], b: {scalar}, /", made.format("Q_"), alike),
        _overload("__call__", f"self, a: {_RAW}, b: {scalar}, /", made.format("Any")),
        _overload("__call__", _CALL.format("Q_", "tuple[()]"), made.format("Q_"), alike),
        _overload("__call__", _CALL.format("tuple[()]", "Q_"), made.format("Q_"), alike),
    ]
    two = _of_two("__call__", _meetings(), _CALL, made)
    raw = _raw_pairs("__call__", "self, ", made.format("Any"))
    return Site("ops.families", f"{name}.__call__", [*two[:2], *same, *two[2:], *raw])


def _operator(name: str) -> Site:
    alike = "Q_: tuple[Any, ...], T_: Any, V_: Any"
    two = _of_two(name, _meetings(), _METHOD)
    scalar = "self: ArrayOperand[Q_, T_, V_], other: ScalarOperand[T_] | T_ | float, /"
    same = [
        _overload(name, _METHOD.format("Q_", "Q_"), "ArrayLayer[Q_, T_, V_]", alike),
        _overload(name, scalar, "ArrayLayer[Q_, T_, V_]", alike),
        _overload(name, _METHOD.format("Q_", "tuple[()]"), "ArrayLayer[Q_, T_, V_]", alike),
        _overload(name, _METHOD.format("tuple[()]", "Q_"), "ArrayLayer[Q_, T_, V_]", alike),
    ]
    return Site("graph.expressions", f"ArrayOperand.{name}", [*two[:2], *same, *two[2:], _other(name, _RAW)])


def _other(name: str, other: str) -> str:
    return _overload(name, f"self: ArrayOperand[Any, T_, V_], other: {other}, /", "ArrayLayer[Any, T_, V_]")


def _reflected(name: str) -> Site:
    """The reflected operator, which takes no array: an array to the left has an operator of its own that may refuse."""
    scalar = "self: ArrayOperand[Q_, T_, V_], other: ScalarOperand[T_] | T_ | float, /"
    variables = "Q_: tuple[Any, ...], T_: Any, V_: Any"
    found = [_overload(name, scalar, "ArrayLayer[Q_, T_, V_]", variables), _other(name, _RAW)]
    return Site("graph.expressions", f"ArrayOperand.{name}", found[name == "__rmatmul__" :] + found[-1:])


def _stating(name: str, made: str, before: str, after: str = "") -> list[str]:
    """Overloads of what states the dimensions of an array: the first ones names, the others numbers."""
    found = []
    for letters, names in ((_LETTERS[:rank], names) for rank in _RANKS for names in range(rank, -1, -1)):
        named, counted = letters[:names], letters[names:]
        given = [
            *(f"{n.lower()}: Callable[[Any], {n}_]" for n in named),
            *(f"{n.lower()}: Int[{n}_]" for n in counted),
        ]
        dims = ", ".join([*(f"{n}_" for n in named), *(f"Int[{n}_]" for n in counted)])
        variables = [
            *(f"{n}_: int" for n in named),
            *(f"{n}_: IntVar" for n in counted),
            "T_: Any",
            "V_: Any",
        ]
        parameters = ", ".join([before, *given]) + after
        found.append(_overload(name, parameters, f"{made}[tuple[{dims}], T_, V_]", ", ".join(variables)))
    found.append(_overload(name, f"{before}, *dims: Any{after}", f"{made}[Any, T_, V_]"))
    return found


def _linear() -> Iterator[Site]:
    layer = "self: Linear[I_, O_, T_, V_]"
    made = "ArrayLayer[{}, T_, V_]"
    calls = [_overload("__call__", f"self, x: ArrayOperand[{_UNKNOWN}, T_, V_], /", made.format("Any"))]
    for letters in ("", "A", "AB", "ABC"):
        before = [f"{n}_" for n in letters]
        variables = ", ".join(f"{n}: int" for n in [*before, "I_", "O_"]) + ", T_: Any, V_: Any"
        x, y = (f"tuple[{', '.join([*before, last])}]" for last in ("I_", "O_"))
        calls.append(
            _overload("__call__", f"{layer}, x: ArrayOperand[{x}, T_, V_], /", made.format(y), variables)
        )
    calls.append(_overload("__call__", f"self, x: {_RAW}, /", made.format("Any")))
    yield Site("nn.linear", "Linear.__call__", calls)
    sizes = "settings: Plugin, inputs: {}, outputs: {}, /, *, seed: Seed, name: str | None = None, "
    more = "dtype: Any = ..., **options: Any"
    known = f"{sizes.format('Int[I_]', 'Int[O_]')}{more}"
    yield Site(
        "nn.linear",
        "Linear.make",
        [
            _overload("make", known, "Linear[Int[I_], Int[O_]]", "I_: IntVar, O_: IntVar").replace(
                "@overload", "@overload\n@staticmethod"
            ),
            _overload("make", f"{sizes.format('int', 'int')}{more}", "Linear[Any, Any]").replace(
                "@overload", "@overload\n@staticmethod"
            ),
        ],
    )


def sites() -> Iterator[Site]:
    """All functions that have overloads."""
    function = _of_two("matmul", _products(), _FUNCTION) + _raw_pairs("matmul")
    yield Site("ops.linear", "matmul", function)
    operator = [*_of_two("__matmul__", _products(), _METHOD), _other("__matmul__", _RAW)]
    yield Site("graph.expressions", "ArrayOperand.__matmul__", operator)
    yield _reflected("__rmatmul__")
    for name in ("add", "sub", "mul", "truediv"):
        yield _operator(f"__{name}__")
        yield _reflected(f"__r{name}__")
    yield _family("Broadcasting", "ArrayLayer[{}, T_, V_]")
    yield _family("Comparison", "Mask[{}, V_]")
    none = "*, axis: None = None, keepdims: Literal[False] = False"
    reductions = _of_one("__call__", _reductions(), "*, axis: Any = None, keepdims: bool = False", "self, ")
    whole = _overload(
        "__call__", f"self, x: ArrayOperand[Any, T_, V_] | {_RAW}, /, {none}", "ArrayLayer[tuple[()], T_, V_]"
    )
    yield Site("ops.families", "Reduction.__call__", [whole, *reductions])
    for name, rows, unknown in (
        ("permute_dims", _permutations(), "axes: tuple[int, ...]"),
        ("expand_dims", _expansions(), "axis: int | tuple[int, ...]"),
        ("squeeze", _squeezes(), "axis: int | tuple[int, ...]"),
    ):
        yield Site("ops.manipulation", name, _of_one(name, rows, unknown))
    yield from _linear()
    yield Site("ops.convolution", "conv2d", _convolutions())
    yield Site("ops.joining", "concat", _joined("concat", rules.joined))
    yield Site("ops.joining", "stack", _joined("stack", rules.stacked))
    yield Site("ops.manipulation", "reshape", _reshapes())
    yield Site("graph.expressions", "ArrayOperand.__getitem__", _items())
    yield Site("graph.literals", "literal", _stating("literal", "ArrayLayer", f"array: {_RAW}"))
    more = ", *, name: str | None = None, **members: object"
    weight = _stating("array_weight", "ArrayWeight", f"self, data: {_RAW}, /", more)
    yield Site("plugins.making", "Maker.array_weight", weight)


# -- a copy of a module -------------------------------------------------------------------------------


def written(folder: Path) -> list[Path]:
    """Write the package `wengert-stubs` into a folder; the files."""
    found = find_spec("wengert")
    assert found is not None and found.submodule_search_locations, (
        "the library is installed beside its shapes"
    )
    source, target = Path(found.submodule_search_locations[0]), folder / "wengert-stubs"
    by_module: dict[str, list[Site]] = {"arrays.types": [], "nn.dims": []}
    for site in sites():
        by_module.setdefault(site.module, []).append(site)
    files = []
    for module, changed in by_module.items():
        place = f"{module.replace('.', '/')}.py"
        file = target / f"{place}i"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            _copied((source / place).read_text(encoding="utf-8"), module, changed), encoding="utf-8"
        )
        files.append(file)
    (target / "py.typed").write_text("partial\n", encoding="utf-8")
    return files


def _copied(text: str, module: str, changed: Sequence[Site]) -> str:
    if not changed:  # type variables: an invariant one is not widened where two sizes differ
        return text.replace(", covariant=True)", ")")
    lines, tree = text.splitlines(), ast.parse(text)
    places = sorted(((_defined(tree, site.name), site) for site in changed), key=_first_line, reverse=True)
    for nodes, site in places:  # from the end, as lines are counted before anything changes
        kept = [node for node in nodes if _serves_no_array(node)]
        own = [line for node in kept for line in _source(lines, node)]
        indent = " " * nodes[0].col_offset
        overloads = [indent + line for text in site.overloads for line in text.splitlines()]
        lines[_start(nodes[0]) : nodes[-1].end_lineno] = [*overloads, *own]
    future = next(i for i, line in enumerate(lines) if line.startswith("from __future__")) + 1
    lines[future:future] = (_IMPORTS + _FROM_EXPRESSIONS * (module != "graph.expressions")).splitlines()
    return "\n".join(lines) + "\n"


def _defined(tree: ast.Module, name: str) -> list[ast.FunctionDef]:
    """The definitions of a function or method, which may be overloads."""
    *classes, last = name.split(".")
    body: Sequence[ast.AST] = tree.body
    for name in classes:
        (of,) = (node for node in body if isinstance(node, ast.ClassDef) and node.name == name)
        body = [
            inner
            for node in of.body
            for inner in ([*node.body, node] if isinstance(node, ast.If) else [node])
        ]
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name == last]


def _serves_no_array(node: ast.FunctionDef) -> bool:
    """Whether an overload is for other operands, which it keeps."""
    declared = " ".join(ast.unparse(x.annotation) for x in node.args.posonlyargs if x.annotation is not None)
    return bool(node.decorator_list) and "Array" not in declared and "array" not in declared


def _start(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1


def _first_line(place: tuple[list[ast.FunctionDef], Site]) -> int:
    return _start(place[0][0])


def _source(lines: Sequence[str], node: ast.FunctionDef) -> Sequence[str]:
    return lines[_start(node) : node.end_lineno]


if __name__ == "__main__":
    for written_file in written(Path(sys.argv[1])):
        print(written_file)
