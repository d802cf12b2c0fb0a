"""Figures of the source that should be small, read from its syntax: each is a list, whose length is the figure.

Knows: modules, what they import in any way, docstrings and comments.
Refuses to know: what is small enough; nothing of the project is imported.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

DEEP = 5  # operations in operations: one more in a lambda takes mypy a second and more
SMALL = 90  # lines, below which a module with one importer is a part of it
RIDDLE = re.compile(r"(What|Whether|Where|Those|The same)\b")
CODE = re.compile(r"\b(?!F1\b)[SDFTB]\d{1,3}\b")  # F1 is a metric
NOQA = re.compile(r"# noqa.*?(?= #|$)")
DEFINED = re.compile(r"^\| ([SDFTB]\d{1,3}) \| \w.* \| .*\]\([^)]+\).* \|$", re.MULTILINE)
PUBLIC_IN_SPITE = frozenset(
    {"_replace", "_asdict", "_fields", "_make", "_getframe"}
)  # of named tuples and of `sys`

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the source."""

    name: str
    place: str
    text: str
    package: bool

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def lines(self) -> int:
        return self.text.count("\n")

    def at(self, node: ast.stmt | ast.expr, what: str = "") -> str:
        return f"{self.place}:{node.lineno} {what}".rstrip()


class House(dict[str, Module]):
    """The modules of all packages in a folder, or of one of them, by name."""

    def __init__(self, src: Path, package: str = ".") -> None:
        for path in sorted((src / package).rglob("*.py")):
            parts = path.relative_to(src).with_suffix("").parts
            initial = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if initial else parts)
            self[name] = Module(name, path.relative_to(src).as_posix(), path.read_text(), initial)

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules of the house that each one imports."""
        return {name: _imported(module, self) for name, module in self.items()}


# -- imports ------------------------------------------------------------------------------------------


def _imported(module: Module, known: House) -> set[str]:
    """The known modules that a module imports: at run time, for a checker, within functions, or by a string."""
    found = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            found |= {_known(alias.name, known) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            found |= {_known(f"{base}.{alias.name}", known) for alias in node.names}
    found |= {name for _, name in _loads(module) if name in known}
    return found - {"", module.name}


def absolute(module: Module, node: ast.ImportFrom) -> str:
    parts = module.name.split(".")
    around = parts[: len(parts) - node.level + module.package] if node.level else []
    return ".".join([*around, *([node.module] if node.module else [])])


def _known(name: str, known: House) -> str:
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def circles(known: House) -> list[str]:
    """Groups of modules that all import each other, directly or through others."""
    below = {name: _reached(name, known.imports) for name in known}
    groups = {frozenset(x for x in below[name] if name in below[x]) for name in known}
    return sorted(", ".join(sorted(group)) for group in groups if group)


def _reached(name: str, edges: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def fragments(known: House) -> list[str]:
    """Small modules that one other module imports; one that only its package imports is a public part of it."""
    importers = defaultdict(set)
    for user, names in known.imports.items():
        for name in names:
            importers[name].add(user)
    found = []
    for module in known.values():
        users = importers[module.name]
        if module.package or module.lines >= SMALL or len(users) != 1:
            continue
        (user,) = users
        if not (known[user].package and module.name.startswith(f"{user}.")):
            found.append(f"{module.place} ({module.lines}) <- {user}")
    return found


def loaders(known: House) -> list[str]:
    """Loads by a string that name a module of the house, or compute the name."""
    own = {name.partition(".")[0] for name in known}
    return [
        module.at(call)
        for module in known.values()
        for call, name in _loads(module)
        if name.partition(".")[0] in {"", *own}
    ]


def _loads(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """Calls of `import_module` and `__import__`, each with the literal that it loads, or ''."""
    named = {"import_module", "__import__"}
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "importlib":
            named |= {alias.asname for alias in node.names if alias.asname and alias.name == "import_module"}
    for node in module.nodes:
        if isinstance(node, ast.Call) and _name(node.func) in named:
            first = getattr(node.args[0], "value", None) if node.args else None
            yield node, first if isinstance(first, str) else ""


def _name(node: ast.expr) -> str:
    return str(getattr(node, "id", None) or getattr(node, "attr", ""))


# -- names ------------------------------------------------------------------------------------------


def executed(known: House) -> list[str]:
    """Calls of `exec` and `eval`."""
    return [
        module.at(node)
        for module in known.values()
        for node in module.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval")
    ]


def private(known: House) -> list[str]:
    """Private attributes used from outside the class that defines them, and private names imported from a module."""
    found = []
    for module in known.values():
        inside = {
            id(node)
            for of in module.nodes
            if isinstance(of, ast.ClassDef)
            for node in _uses_of(_members(of), ast.walk(of))
        }
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and _is_private(node.attr) and id(node) not in inside:
                if _name(node.value) not in ("self", "cls") and _called(node.value) not in ("super", "type"):
                    found.append(module.at(node, node.attr))
            elif isinstance(node, ast.ImportFrom) and absolute(module, node).partition(".")[0] in known:
                found += [module.at(node, x.name) for x in node.names if _is_private(x.name)]
    return found


def _uses_of(names: set[str], nodes: Iterable[ast.AST]) -> Iterator[ast.Attribute]:
    return (node for node in nodes if isinstance(node, ast.Attribute) and node.attr in names)


def _called(node: ast.expr) -> str:
    return _name(node.func) if isinstance(node, ast.Call) else ""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC_IN_SPITE


def _members(of: ast.ClassDef) -> set[str]:
    """The names that a class defines: its methods, variables, slots, and attributes that it sets on `self`."""
    found = {node.name for node in of.body if isinstance(node, Function)}
    for set_ in of.body:
        if isinstance(set_, ast.Assign | ast.AnnAssign):
            named = {x.id for x in ast.walk(set_) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
            found |= named
            if "__slots__" in named and set_.value is not None:
                found |= {str(x.value) for x in ast.walk(set_.value) if isinstance(x, ast.Constant)}
    stored = (x for x in ast.walk(of) if isinstance(x, ast.Attribute) and isinstance(x.ctx, ast.Store))
    return found | {x.attr for x in stored if _name(x.value) == "self"}


def twins(known: House) -> list[str]:
    """Names of classes that several modules of one package define."""
    places = defaultdict(list)
    for module in known.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                places[module.name.partition(".")[0], node.name].append(module.place)
    return sorted(f"{name}: {', '.join(where)}" for (_, name), where in places.items() if len(where) > 1)


# -- the rooms that run programs ----------------------------------------------------------------------


def rooms(known: House) -> list[str]:
    """The modules of `run`, `program` and `symbolic`."""
    return [module.place for module in _rooms(known)]


def hundreds(known: House) -> list[str]:
    """Those modules, once for each hundred lines that is begun."""
    return [f"{m.place} ({m.lines})" for m in _rooms(known) for _ in range(-(-m.lines // 100))]


def sweeps(known: House) -> list[str]:
    """Functions of theirs that go through the derivative rules of an operation, `signature.pulls`."""
    found = []
    for module in _rooms(known):
        for node in module.nodes:
            if isinstance(node, Function) and any(
                isinstance(x, ast.Attribute) and x.attr == "pulls" for x in ast.walk(node)
            ):
                found.append(module.at(node, node.name))
    return found


def _rooms(known: House) -> list[Module]:
    return [m for m in known.values() if m.name.split(".")[1:2] in (["run"], ["program"], ["symbolic"])]


# -- prose ------------------------------------------------------------------------------------------


def riddles(known: House) -> list[str]:
    """Docstrings that begin with a word of a question or with a reference; a predicate says "True if"."""
    found = []
    for module in known.values():
        for node in module.nodes:
            if not isinstance(node, ast.Module | ast.ClassDef | Function):
                continue
            text = ast.get_docstring(node) or ""
            if RIDDLE.match(text):
                found.append(module.at(node.body[0], text.partition("\n")[0]))
    return found


def cited(known: House) -> list[tuple[str, str]]:
    """Each code in a docstring or a comment, after its place."""
    return [
        (f"{module.place}:{line}", code)
        for module in known.values()
        for line, text in _prose(module)
        for code in CODE.findall(NOQA.sub("", text))
    ]


def _prose(module: Module) -> Iterator[tuple[int, str]]:
    if not CODE.search(module.text):
        return
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in module.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, str(node.value.value)


def undefined(known: House, page: str) -> list[str]:
    """Codes that the source cites and that have no row with a link on a page."""
    defined = set(DEFINED.findall(page))
    return [f"{place} {code}" for place, code in cited(known) if code not in defined]


# -- types ------------------------------------------------------------------------------------------


def deep_lambdas(known: House) -> list[str]:
    """Lambdas of so many operations in operations that mypy takes seconds for them; in a function it does not.

    It keeps the types of calls, but for those in a lambda: there each overload asks its arguments for theirs again, and
    each call around them multiplies that. Eleven such lambdas took half a minute.
    """
    return [
        module.at(node)
        for module in known.values()
        if "lambda" in module.text
        for node in module.nodes
        if isinstance(node, ast.Lambda) and _nested(node.body) > DEEP
    ]


def _nested(node: ast.AST) -> int:
    """How deep operators and operations nest."""
    here = isinstance(node, ast.BinOp | ast.UnaryOp)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        here = _name(node.func.value) == "wg"
    return here + max(map(_nested, ast.iter_child_nodes(node)), default=0)


FIGURES: Mapping[str, Callable[[House], list[str]]] = {
    "circles": circles,
    "exec": executed,
    "loaders": loaders,
    "fragments": fragments,
    "private": private,
    "twins": twins,
    "riddles": riddles,
    "rooms": rooms,
    "hundreds": hundreds,
    "sweeps": sweeps,
}
