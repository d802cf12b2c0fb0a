"""Tests in which nothing can fail but the code that they run, found in the syntax of a folder of tests.

Knows: `assert`, `raise AssertionError`, the functions of pytest, of numpy and of Wengert that raise, commands that have
to succeed, and the functions of the folder that a test calls, directly or through others.
Refuses to know: values; no test is imported, and a function in a variable is not followed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tests.house import Function, House, Module, absolute

RAISING = re.compile(
    r"(pytest\.(raises|warns|deprecated_call|fail)|wengert\.(testing|delta)\.check_\w+|wengert\.control\.laws\.\w+)$"
)
METHOD = re.compile(r"assert_\w+$|check_returncode$")  # of numpy, mocks and processes
SAID = re.compile(r"\b(Raises|raises|fails)\b")  # in a docstring: of the code that is run

Name: TypeAlias = tuple[str, str]  # a module, and a function or a method in it


def unchecked(known: House) -> list[str]:
    """Tests that neither check anything nor call a function that does, nor say in a docstring what raises."""
    tests, callers, checks = [], defaultdict(list), set()
    for module in known.values():
        meanings = _meanings(module)
        for function in (node for node in module.nodes if isinstance(node, Function)):
            here = (module.name, function.name)
            if function.name.startswith("test_") and not SAID.search(ast.get_docstring(function) or ""):
                tests.append((here, module.at(function, function.name)))
            if _checks(function, meanings):
                checks.add(here)
            for callee in _callees(function, module, meanings, known):
                callers[callee].append(here)
    waiting = list(checks)
    while waiting:
        new = set(callers[waiting.pop()]) - checks
        checks |= new
        waiting += new
    return [place for here, place in tests if here not in checks]


def _meanings(module: Module) -> Mapping[str, str]:
    """Full names behind the names that a module imports, by `import` or by `from`."""
    found: dict[str, str] = {}
    for node in module.nodes:
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            found |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names}
    return found


def _checks(function: ast.stmt, meanings: Mapping[str, str]) -> bool:
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Raise) and "AssertionError" in ast.unparse(node))
        or (isinstance(node, ast.Call) and _raises(node, meanings))
        for node in ast.walk(function)
    )


def _raises(call: ast.Call, meanings: Mapping[str, str]) -> bool:
    """True if a call is of a function known to raise, or of a command that has to end well."""
    name = ast.unparse(call.func)
    head, dot, rest = name.partition(".")
    return bool(
        RAISING.match(meanings.get(head, head) + dot + rest)
        or METHOD.match(name.rpartition(".")[2])
        or any(x.arg == "check" and getattr(x.value, "value", None) is True for x in call.keywords)
    )


def _callees(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    module: Module,
    meanings: Mapping[str, str],
    known: House,
) -> Iterator[Name]:
    """The names that a function calls, as if each were of this module or of the one it is imported from.

    A parameter may be a fixture, and `x.f` with a variable `x` a method `f` of this module or of one it imports from.
    """
    homes = {module.name, *(meaning.rpartition(".")[0] for meaning in meanings.values()), *meanings.values()}
    near = homes & known.keys()
    names = [x.arg for x in function.args.args]
    names += [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
    for name in names:
        head, dot, rest = name.partition(".")
        home, _, own = (meanings.get(head, f"{module.name}.{head}") + dot + rest).rpartition(".")
        yield home, own
        if dot and head in meanings:
            yield home.rpartition(".")[0], own
        elif dot:
            yield from ((other, own) for other in near)
