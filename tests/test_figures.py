"""Figures of the house that may only fall, and the codes that its prose cites."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.house import FIGURES, SMALL, House, deep_lambdas, undefined
from tests.unchecked import unchecked

ROOT = Path(__file__).resolve().parent.parent

BOUNDS = {
    "circles": 0,  # groups of modules that import each other in any way: at run time, for a checker, in a function
    "exec": 1,  # places that run text as code
    "loaders": 3,  # loads by a string of the house's own modules, or of a name that is computed
    "fragments": 0,  # modules of less than 90 lines that one other module imports
    "private": 18,  # private names used outside of what defines them
    "twins": 12,  # names of classes that two modules of a package define
    "riddles": 0,  # docstrings that begin with What, Whether, Where, Those, The same
    "rooms": 58,  # modules of `run`, `program` and `symbolic`
    "hundreds": 227,  # of lines there, each module's last one begun
    "sweeps": 7,  # functions there that go through the derivative rules of an operation
}


@cache
def this_house() -> House:
    return House(ROOT / "src")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_house_does_not_grow(name: str) -> None:
    found = FIGURES[name](this_house())
    assert len(found) <= BOUNDS[name], "\n".join(found)


def test_each_code_that_the_source_cites_is_defined() -> None:
    page = (ROOT / "docs" / "decisions.md").read_text()
    assert undefined(this_house(), page) == []


@pytest.fixture(scope="module")
def tests() -> House:
    return House(ROOT, "tests")


def test_every_test_checks_something_or_says_what_raises(tests: House) -> None:
    assert unchecked(tests) == []


def test_no_lambda_takes_mypy_seconds(tests: House) -> None:
    assert [*deep_lambdas(this_house()), *deep_lambdas(tests)] == []


# -- the checks themselves --------------------------------------------------------------------------


def built(folder: Path, **modules: str) -> House:
    """A house of these modules in `p/`; `_` stands for a dot in a name."""
    (folder / "p").mkdir()
    for name, text in {"__init__": "", **modules}.items():
        (folder / "p" / f"{name}.py").write_text(text)
    return House(folder)


LINES = "x = 1\n" * 101
FAULTY: dict[str, tuple[dict[str, str], list[str]]] = {
    "at run time": ({"a": "import p.b", "b": "from p.a import x"}, ["circles: p.a, p.b"]),
    "relatively": ({"a": "from . import b", "b": "from .a import x"}, ["circles: p.a, p.b"]),
    "for a checker": (
        {"a": "import p.b", "b": "if TYPE_CHECKING:\n    import p.c", "c": "from p import a"},
        ["circles: p.a, p.b, p.c"],
    ),
    "in a function": (
        {"a": "import p.b", "b": "def f():\n    from p.a import x"},
        ["circles: p.a, p.b"],
    ),
    "by a string": (
        {"a": "import p.b", "b": "import importlib\nimportlib.import_module('p.a')"},
        ["circles: p.a, p.b", "loaders: p/b.py:2"],
    ),
    "of itself": ({"a": "import p.a"}, []),
    "exec": ({"a": "x = 1\nexec('x')\neval('x')\nre.compile('x')"}, ["exec: p/a.py:2", "exec: p/a.py:3"]),
    "a computed load": (
        {"a": "from importlib import import_module as load\nload(name)\n__import__('p' + name)"},
        ["loaders: p/a.py:2", "loaders: p/a.py:3"],
    ),
    "an optional package": ({"a": "import_module('cupy.linalg')"}, []),
    "an attribute": (
        {
            "a": "def f(x):\n    return x._y",
            "b": "class C:\n    def f(self, x):\n        return self._y + x._z",
        },
        ["private: p/a.py:2 _y", "private: p/b.py:3 _z"],
    ),
    "an attribute of a peer": (
        {
            "a": "class C:\n    __slots__ = ('_x', '_y')\n    def f(self, other):\n        self._z = 1\n"
            "        return other._x + other._y + other._z + other._f()\n    def _f(self): ...\n"
            "C()._x\n"
        },
        ["private: p/a.py:7 _x"],
    ),
    "a private import": (
        {"a": "from p.b import _x", "b": "_x = 1"},
        ["private: p/a.py:1 _x"],
    ),
    "of tuples": ({"a": "x._replace(y=1)\nsys._getframe()\nsuper()._x"}, []),
    "two classes": (
        {"a": "class C: ...", "b": "class C: ...\ndef f():\n    class D: ...", "c": "class D: ..."},
        ["twins: C: p/a.py, p/b.py"],
    ),
    "riddles": (
        {
            "a": '"""What it is."""\nclass C:\n    """Those."""\nasync def f():\n    """The same."""\n',
            "b": 'def f() -> bool:\n    """Whether."""\ndef g() -> bool:\n    """True if."""\nx = 1',
        },
        [
            "riddles: p/a.py:1 What it is.",
            "riddles: p/a.py:3 Those.",
            "riddles: p/a.py:5 The same.",
            "riddles: p/b.py:2 Whether.",
        ],
    ),
    "of rooms": (
        {
            "a": "def f(s):\n    return s.pulls",
            "run": f"{LINES}def f(s):\n    return s.pulls\n",
            "program": "x = 1",
        },
        [
            *("rooms: p/program.py", "rooms: p/run.py"),
            *("hundreds: p/run.py (103)", "hundreds: p/run.py (103)"),
            "sweeps: p/run.py:102 f",
        ],
    ),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_fault_is_counted(case: str, tmp_path: Path) -> None:
    modules, expected = FAULTY[case]
    house = built(tmp_path, **modules)
    others = {
        name: figure for name, figure in FIGURES.items() if name != "fragments"
    }  # small as all of these are
    assert [f"{name}: {row}" for name, figure in others.items() for row in figure(house)] == expected


def test_a_small_module_with_one_importer_is_a_fragment(tmp_path: Path) -> None:
    long = "\n" * SMALL
    house = built(
        tmp_path,
        __init__="from p.face import x",
        face="",
        one="from p import small, large, shared",
        two="import p.shared\nif TYPE_CHECKING:\n    import p.one, p.face",
        small="",
        shared="",
        large=long,
    )
    assert FIGURES["fragments"](house) == ["p/one.py (0) <- p.two", "p/small.py (0) <- p.one"]


def test_each_figure_has_a_fault_that_raises_it() -> None:
    shown = {row.partition(":")[0] for _, rows in FAULTY.values() for row in rows}
    assert {*shown, "fragments"} == set(FIGURES) == set(BOUNDS)


def test_a_code_without_a_row_is_found(tmp_path: Path) -> None:
    house = built(
        tmp_path,
        a='"""Promised (S1, S2)."""\nx = 1  # as D3 says\ny = "D4"  # noqa: B905 # see T5\n',
        b="def f():\n    '''F6.'''\n",
    )
    page = "| S1 | A promise. | [a test](a.py) |\n| S2 | No test. |  |\nD3, T5 and F6 are elsewhere.\n"
    assert sorted(undefined(house, page)) == ["p/a.py:1 S2", "p/a.py:2 D3", "p/a.py:3 T5", "p/b.py:2 F6"]


def test_a_lambda_of_many_operations_is_found(tmp_path: Path) -> None:
    few, many = "wg.sum(wg.tanh(f(wg.exp(x * 2.0) + 1.0)))", "wg.sum(-wg.tanh(f(wg.exp(x * 2.0) + 1.0)))"
    house = built(tmp_path, a=f"f = lambda x: {few}\ng = lambda x: [{many}]\nh = {many}")
    assert deep_lambdas(house) == ["p/a.py:2"]


CHECKED = {
    "here": "assert x",
    "by pytest": "with pytest.raises(E): f()",
    "by numpy": "np.testing.assert_allclose(x, y)",
    "by Wengert": "check_gradients(f, x)",
    "by a command": "subprocess.run(c, check=True)",
    "by a helper": "close(x)",
    "by a helper's helper": "twice(x)",
    "by a helper's method": "Case().run(x)",
    "as it says": '"""`f` raises where it must not."""\n    f(x)',
}
UNCHECKED = {
    "nothing": "f(x)",
    "a helper that checks nothing": "shown(x)",
    "a failure that is part of the test": "def f(): raise ValueError",
    "a command that may fail": "subprocess.run(c)",
}


@pytest.mark.parametrize("body", [*CHECKED, *UNCHECKED])
def test_a_test_that_checks_nothing_is_found(body: str, tmp_path: Path) -> None:
    imports = "import pytest, subprocess\nfrom p.helpers import Case, close, shown, twice\n"
    imports += "from wengert.testing import check_gradients\n"
    text = {**CHECKED, **UNCHECKED}[body]
    house = built(
        tmp_path,
        helpers="def close(x): assert x\ndef twice(x): close(x)\ndef shown(x): print(x)\n"
        "class Case:\n    def run(self, x): close(x)\n",
        test_x=f"{imports}def test_x(x):\n    {text}\ndef test_y(x): assert x\n",
    )
    assert unchecked(house) == (["p/test_x.py:4 test_x"] if body in UNCHECKED else [])
