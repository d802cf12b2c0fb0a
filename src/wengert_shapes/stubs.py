"""`python -m wengert_shapes.stubs FOLDER [PROGRAM ...]`: stubs that show shapes to pyrefly, made from the rules.

Pyrefly has no plugins, and finds an overload by the types of arguments. So each rule is asked for shapes of up to four
named axes, and each answer is one overload: `(x: ArrayOperand[tuple[A_, B_]], *, axis: Literal[1]) ->
ArrayLayer[tuple[A_]]`. What computes with sizes has pyrefly's own integers in the types. Texts of `einsum` cannot be
taken apart in a type: those that the programs have are overloads of their own.

Knows: which functions and methods have which rule, and how overloads are put into a copy of their module.
Refuses to know: the library, of which it reads the text; mypy, which must not see the result.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from wengert_shapes import checks, layers, lists, overloads, rules, sized
from wengert_shapes.overloads import Site

_IMPORTS: Final = """
from collections.abc import Callable, Sequence
from typing import Any, Literal, Never, overload
import numpy as np
from shape_extensions import Int, IntListLiteral, IntTuple, IntTuples, IntVar, MapIntTuples
from wengert.arrays.types import ArrayLiteral, Cpu, Host, {checks}
from wengert.differentiable import Differentiable
"""
_DSL: Final = """
import shape_extensions.dsl as dsl
from shape_extensions import Int, IntTuple, type_shape_dsl_function
"""
_REFUSAL: Final = """
@type_shape_dsl_function
def {}(n: Int) -> IntTuple:
    return dsl.Invalid("{}")
"""
# pyrefly computes with its own integers only: a size that is computed of type variables agrees with every other one
_UNKNOWN_SIZES: Final = """
from collections.abc import Callable
from typing import Any, SupportsIndex, TypeAlias

Dimension: TypeAlias = SupportsIndex | type[int] | Callable[[int], int]
type Add[A, B] = Any
type Mul[A, B] = Any
type FloorDiv[A, B] = Any
"""
_FROM_EXPRESSIONS: Final = "from wengert.graph.expressions import ArrayLayer, ArrayOperand\n"
_FROM_ELSEWHERE: Final = {  # by module, what else its overloads name
    "nn.attention": "from wengert.graph.detached import Mask\n",
    "ops.indexing": "from wengert.graph.detached import Indices\n",
    "nn.sequential": "from wengert.nn.linear import Linear\nfrom wengert.ops.families import Elementwise\n",
}


_PAIRS: Final = (  # losses of predictions and targets of one shape
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "hinge_embedding_loss", "hinge_loss"),
    *("huber_loss", "kl_div", "l1_loss", "mse_loss", "smooth_l1_loss"),
)


def sites(sums: Sequence[str] = ()) -> Iterator[Site]:
    """All functions that have overloads; `einsum` for these texts."""
    yield from _operators()
    yield from _functions()
    if sums:
        yield Site("ops.contraction", "einsum", sized.sums(sums))
    yield from layers.sites()
    yield from _stating()


def _operators() -> Iterator[Site]:
    """Operators, and families of operations."""
    function = overloads.of_two("matmul", overloads.products(), overloads.FUNCTION) + overloads.raw_pairs(
        "matmul"
    )
    yield Site("ops.linear", "matmul", function)
    operator = [
        *overloads.of_two("__matmul__", overloads.products(), overloads.METHOD),
        overloads.other("__matmul__", overloads.RAW),
    ]
    yield Site("graph.expressions", "ArrayOperand.__matmul__", operator)
    yield overloads.reflected("__rmatmul__")
    for name in ("add", "sub", "mul", "truediv", "mod"):
        yield overloads.operator(f"__{name}__")
        yield overloads.reflected(f"__r{name}__")
    yield overloads.family("Broadcasting", "ArrayLayer[{}, T_, V_]")
    yield overloads.family("Comparison", "Mask[{}, V_]")
    none = "*, axis: None = None, keepdims: Literal[False] = False"
    reductions = overloads.of_one(
        "__call__", overloads.reductions(), "*, axis: Any = None, keepdims: bool = False", "self, "
    )
    whole = overloads.overload(
        "__call__",
        f"self, x: ArrayOperand[Any, T_, V_] | {overloads.RAW}, /, {none}",
        "ArrayLayer[tuple[()], T_, V_]",
    )
    yield Site("ops.families", "Reduction.__call__", [whole, *reductions])
    yield Site("ops.reduction", "SumReduction.__call__", [whole, *reductions])
    array = [*lists.descriptors(), *sized.items()]  # attributes go where methods go
    yield Site("graph.expressions", "ArrayOperand.__getitem__", array)


def _functions() -> Iterator[Site]:
    """Functions with a rule of their own."""
    yield Site("ops.classification", "softmax", sized.lines("softmax"))
    yield Site("ops.classification", "log_softmax", sized.lines("log_softmax"))
    yield Site("ops.classification", "cross_entropy", sized.labels())
    for name in _PAIRS:
        yield Site("ops.losses", name, sized.pairs(name))
    for name in ("cosine_embedding_loss", "triplet_margin_loss"):
        yield Site("ops.losses", name, sized.several(name, 3))
    yield Site("ops.classification", "softmax_cross_entropy", sized.several("softmax_cross_entropy", 2))
    yield Site("ops.pooling", "max_pool2d", sized.pools("max_pool2d"))
    yield Site("ops.pooling", "avg_pool2d", sized.pools("avg_pool2d"))
    yield Site("ops.contraction", "tensordot", sized.tensordots())
    yield Site("ops.indexing", "take", sized.takes())
    yield Site("ops.indexing", "take_along_axis", sized.along())
    yield Site("ops.comparison", "where", sized.choices())
    yield Site("ops.sorting", "argmax", sized.places())
    yield Site("ops.sorting", "top_k", sized.chosen())
    yield Site("ops.buffers", "with_update", sized.updates())
    yield Site("run.scan", "scan", sized.scans())
    for name, rows, unknown in (
        ("expand_dims", overloads.expanded(), "axis: int | tuple[int, ...]"),
        ("squeeze", overloads.squeezed(), "axis: int | tuple[int, ...]"),
    ):
        yield Site("ops.manipulation", name, overloads.of_one(name, rows, unknown))
    yield Site("ops.manipulation", "permute_dims", sized.permutes())
    yield Site("ops.convolution", "conv2d", sized.convolutions())
    yield Site("ops.joining", "split", sized.parts())
    yield Site("ops.joining", "concat", lists.concats(rules.joined))
    yield Site("ops.joining", "stack", lists.stacks(rules.stacked))
    yield Site("ops.manipulation", "reshape", sized.reshapes())
    yield Site("ops.manipulation", "broadcast_to", sized.broadcasts())


def _stating() -> Iterator[Site]:
    """Functions that state a shape."""
    literal = overloads.stating("literal", "ArrayLayer", f"array: {overloads.RAW}")
    yield Site("graph.literals", "literal", literal)
    more = ", *, name: str | None = None, **members: object"
    weight = overloads.stating("array_weight", "ArrayWeight", f"self, data: {overloads.RAW}, /", more)
    yield Site("plugins.making", "Maker.array_weight", weight)
    more = ", *, name: str | None = None"
    kept = overloads.stating("buffer", "Buffer", f"self, data: {overloads.RAW}, /", more)
    yield Site("plugins.making", "Maker.buffer", kept)


# -- a copy of a module -------------------------------------------------------------------------------


def texts(sources: Iterable[Path]) -> list[str]:
    """The texts that programs give to `einsum`."""
    found: dict[str, None] = {}
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="einsum") | ast.Name(id="einsum"),
                    args=[ast.Constant(str(text)), *_],
                ):
                    found[text] = None
    return list(found)


def written(folder: Path, sources: Iterable[Path] = ()) -> list[Path]:
    """Write the package `wengert-stubs` into a folder, for the programs `sources`; the files."""
    found = find_spec("wengert")
    assert found is not None and found.submodule_search_locations, (
        "the library is installed beside its shapes"
    )
    source, target = Path(found.submodule_search_locations[0]), folder / "wengert-stubs"
    by_module: dict[str, list[Site]] = {"arrays.types": [], "dims": [], "nn.dims": []}
    for site in sites(texts(sources)):
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
    if module == "arrays.types":
        refusals = "".join(_REFUSAL.format(*refusal) for refusal in checks.REFUSALS.items())
        return text.replace(", covariant=True)", ")") + _DSL + checks.CHECKS + refusals + lists.parts()
    if module == "dims":
        return _UNKNOWN_SIZES
    if not changed:  # type variables: an invariant one is not widened where two sizes differ
        return text.replace(", covariant=True)", ")")
    lines, tree = text.splitlines(), ast.parse(text)
    places = sorted(((_defined(tree, site.name), site) for site in changed), key=_first_line, reverse=True)
    for nodes, site in places:  # from the end, as lines are counted before anything changes
        own = [line for node in nodes if _serves_no_array(node) for line in _source(lines, node)]
        indent = " " * nodes[0].col_offset
        made = [indent + line for text in site.overloads for line in text.splitlines()]
        end = nodes[-1].end_lineno if isinstance(nodes[-1], ast.FunctionDef) else _start(nodes[0])
        lines[_start(nodes[0]) : end] = [*made, *own]
    future = next(i for i, line in enumerate(lines) if line.startswith("from __future__")) + 1
    lines[future:future] = (
        _IMPORTS.format(checks=_checks())
        + _FROM_EXPRESSIONS * (module != "graph.expressions")
        + _FROM_ELSEWHERE.get(module, "")
    ).splitlines()
    return "\n".join(lines) + "\n"


def _checks() -> str:
    """The names of all checks."""
    return ", ".join(
        [
            *(node.name for node in ast.walk(ast.parse(checks.CHECKS)) if isinstance(node, ast.FunctionDef)),
            *checks.REFUSALS,
            *lists.names(),
        ]
    )


def _defined(tree: ast.Module, name: str) -> Sequence[ast.stmt]:
    """The definitions of a function or method, which may be overloads; of an inherited one the end of its class."""
    *classes, last = name.split(".")
    body: Sequence[ast.stmt] = tree.body
    for name in classes:
        (of,) = (node for node in body if isinstance(node, ast.ClassDef) and node.name == name)
        body = [
            inner
            for node in of.body
            for inner in ([*node.body, node] if isinstance(node, ast.If) else [node])
        ]
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == last]
    assert found or classes, f"no function is called {last}"
    return found or body[-1:]


def _serves_no_array(node: ast.stmt) -> bool:
    """True if an overload is for other operands, which it keeps."""
    if not isinstance(node, ast.FunctionDef):
        return False
    declared = " ".join(ast.unparse(x.annotation) for x in node.args.posonlyargs if x.annotation is not None)
    return bool(node.decorator_list) and "Array" not in declared and "array" not in declared


def _start(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)]) - 1


def _first_line(place: tuple[Sequence[ast.stmt], Site]) -> int:
    return _start(place[0][0])


def _source(lines: Sequence[str], node: ast.stmt) -> Sequence[str]:
    return lines[_start(node) : node.end_lineno]


if __name__ == "__main__":
    for written_file in written(Path(sys.argv[1]), map(Path, sys.argv[2:])):
        print(written_file)
