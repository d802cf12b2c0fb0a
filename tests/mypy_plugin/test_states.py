"""One answer in every state: after each edit of a project, warm, daemon and cold runs of mypy agree.

Knows: the edits that move registrations and sizes between modules.
Refuses to know: what single programs give; the cases say that.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mypy.version import __version__ as version

from tests.mypy_plugin.checking import cache_for, configured, library_cache, said, written
from tests.often import few

pytestmark = pytest.mark.slow
NAMES = ("main.py", "support.py", "sizes.py", "mylib/__init__.py", "mylib/extension.py", "indirect.py")

MAIN = """
from decimal import Decimal
from fractions import Fraction
import numpy as np
import wengert as wg
from sizes import WIDTH
import {imported}

def model(x: wg.ArrayLayer, w: wg.ArrayWeight) -> wg.ArrayLayer:
    return x @ w

x = wg.literal(np.ones((2, WIDTH), np.float32), 2, WIDTH)
y = wg.literal(np.ones((3, 4), np.float32), 3, 4)

def sized() -> None:
    reveal_type(x @ y)

def user(a: wg.DoubleExpression) -> wg.DoubleLayer:
    return wg.add(a, 1.0)

def revealed() -> None:
    reveal_type(wg.exp(Decimal(1)))

# each in a function of its own: the daemon checks again whatever had something to say
def registered() -> None:
    wg.exp(Decimal(1))
    user(Decimal(1))

def extended() -> None:
    user(Fraction(1))
"""

RULE = """
@wg.register({cls})
def {name}(x: {cls}) -> wg.Do[wg.Tape[{data}, {data}]]:
    return wg.Do.now(wg.Tape({value}, lambda delta: wg.UnitContinuation.now(None)))
"""


def rule(cls: str = "Decimal", name: str = "decimal", data: str = "float", value: str = "float(x)") -> str:
    return RULE.format(cls=cls, name=name, data=data, value=value)


def module(*rules: str, more: str = "") -> str:
    return (
        "from decimal import Decimal\nfrom fractions import Fraction\nimport numpy as np\n"
        f"import wengert as wg\n{more}\n" + "\n".join(rules)
    )


FIRST = {
    "main.py": MAIN.format(imported="support"),
    "support.py": module(),
    "sizes.py": "from typing import Final\nWIDTH: Final = 3\n",
    "mylib/__init__.py": "",
    "mylib/extension.py": module(),
    "indirect.py": "import support as support\n",
}
CALLED = """
def decimal_rule(x: Decimal) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))

decimal = wg.register(Decimal)(decimal_rule)
"""
ARRAY = rule(data="np.ndarray[tuple[int, ...], np.dtype[np.float32]]", value="np.ones(2, np.float32)")

# (what is done, which files it changes, parts of what mypy then says, parts that it must not say)
Edit = tuple[str, dict[str, str], tuple[str, ...], tuple[str, ...]]
EDITS: list[Edit] = [
    (
        "nothing registered",
        FIRST,
        ('"Decimal" is not a diff', '"Fraction" is not a diff', "Literal[2], Literal[4]"),
        (),
    ),
    (
        "registered in an imported module",
        {"support.py": module(rule())},
        ('"Fraction" is not',),
        ('"Decimal" is not',),
    ),
    (
        "registered in a configured extension",
        {"mylib/extension.py": module(rule("Fraction", "fraction"))},
        ("DoubleLayer",),
        ("error",),
    ),
    ("no longer registered where all was well", {"support.py": module()}, ('"Decimal" is not a diff',), ()),
    ("registered again", {"support.py": module(rule())}, (), ("error",)),
    ("no longer in the extension", {"mylib/extension.py": module()}, ('"Fraction" is not',), ('"Decimal"',)),
    (
        "in the extension again",
        {"mylib/extension.py": module(rule("Fraction", "fraction"))},
        (),
        ("error",),
    ),
    (
        "a size changes",
        {"sizes.py": "from typing import Final\nWIDTH: Final = 5\n"},
        ("dimensions 5 and 3 differ",),
        (),
    ),
    (
        "the Data of a registration change",
        {"support.py": module(ARRAY)},
        ("decimal registers it as", "ArrayLayer"),
        (),
    ),
    (
        "registered twice",
        {"mylib/extension.py": module(rule("Fraction", "fraction"), rule())},
        ("2 registrations are in scope (support.decimal, mylib.extension.decimal)",),
        (),
    ),
    ("an import cycle", {"support.py": module(rule(), more="import main as main")}, ("2 registrations",), ()),
    (
        "imported indirectly",
        {"main.py": MAIN.format(imported="indirect"), "mylib/extension.py": module()},
        ('"Decimal" is not a diff', '"Fraction" is not a diff'),
        (),
    ),
    ("no longer registered", {"support.py": module()}, ('"Decimal" is not a diff',), ()),
    (
        "imported and registered again",
        {"main.py": FIRST["main.py"], "support.py": module(rule())},
        (),
        ('"Decimal"',),
    ),
    ("registered by a call", {"support.py": module(CALLED)}, (), ('"Decimal"',)),
    (
        "registered by a call in an import cycle",
        {"support.py": module(CALLED, more="import main as main")},
        (),
        ('"Decimal"',),
    ),
    ("no longer registered by a call", {"support.py": module()}, ('"Decimal" is not a diff',), ()),
]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    configured(tmp_path, "\n[wengert_mypy]\nextensions = mylib.extension\n")
    yield tmp_path
    said(tmp_path, "--status-file", str(tmp_path / "daemon.json"), "stop", program=("mypy.dmypy",))


@pytest.mark.parametrize("edits", few([4, len(EDITS)], 0, 1))  # four a day; each is four runs of mypy
def test_warm_daemon_parallel_and_cold_answers_agree_after_every_edit(folder: Path, edits: int) -> None:
    status = ("--status-file", str(folder / "daemon.json"))
    library = folder / "library"  # cold is without a cache of the project; the library's is made once
    extensions = {name: text for name, text in FIRST.items() if name.startswith("mylib/")}
    made = library_cache(folder.parent, (folder / "mypy.ini").read_text(encoding="utf-8"), extensions)
    shutil.copytree(made, library)
    for each in ("warm", "parallel"):
        shutil.copytree(library, folder / each)
    # a daemon that started from the cache of a warm run would share its answers
    command = ("run", "--", "--cache-dir", str(folder / "daemon"), *NAMES)
    workers = range(edits) if edits == len(EDITS) else (0, edits - 2)  # twice a day: where most is read again
    for step, (what, files, expected, unexpected) in enumerate(EDITS[:edits]):
        written(folder, files)
        cold_cache = folder / "cold"
        shutil.rmtree(cold_cache, ignore_errors=True)
        shutil.copytree(library, cold_cache)
        cold = sorted(said(folder, "--cache-dir", str(cold_cache), *NAMES))
        warm = sorted(said(folder, "--cache-dir", str(folder / "warm"), *NAMES))
        daemon = sorted(said(folder, *status, *command, program=("mypy.dmypy",)))
        if version.split(".")[0] != "1" and step in workers:  # mypy 1 has no worker processes
            parallel = said(folder, "-n", "2", "--cache-dir", str(folder / "parallel"), *NAMES)
            assert sorted(parallel) == cold, f"{step}: {what}: worker processes differ"
        text = "\n".join(cold)
        assert warm == cold, f"{step}: {what}: warm differs"
        assert daemon == cold, f"{step}: {what}: the daemon differs"
        assert all(part in text for part in expected), f"{step}: {what}:\n{text}"
        assert not any(part in text for part in unexpected), f"{step}: {what}:\n{text}"
        print(f"{step}: {what}: {len(cold)} lines")
    # without the extension the daemon, which has read everything once, notices that nothing is registered there
    written(folder, FIRST | {"mylib/extension.py": module(rule(), rule("Fraction", "fraction"))})
    assert not any("error" in line for line in said(folder, *status, *command, program=("mypy.dmypy",)))
    configured(folder)
    after = said(folder, *status, *command, program=("mypy.dmypy",))
    assert any('"Decimal" is not' in line for line in after), "the daemon has not noticed its configuration"


def test_a_changed_configuration_leaves_the_cache(tmp_path: Path) -> None:
    """The extension is configured after a first run; nothing of the sources changes."""
    configured(tmp_path)
    written(tmp_path, FIRST | {"mylib/extension.py": module(rule(), rule("Fraction", "fraction"))})
    cache = cache_for(tmp_path.parent, (tmp_path / "mypy.ini").read_text(encoding="utf-8"))
    shutil.copytree(cache, tmp_path / ".mypy_cache")
    before = said(tmp_path, *NAMES)
    assert any('"Decimal" is not' in line for line in before)
    configured(tmp_path, "\n[wengert_mypy]\nextensions = mylib.extension\n")
    assert not any("error" in line for line in said(tmp_path, *NAMES))


def test_the_canary_tells_skipped_imports(tmp_path: Path) -> None:
    configured(tmp_path)
    text = "from typing import Literal, assert_type\nfrom wengert.testing import plugin_active\n"
    written(tmp_path, {"canary.py": text + "assert_type(plugin_active(), Literal[True])\n"})
    (line,) = said(tmp_path, "--follow-imports=skip", "canary.py")
    assert 'Expression is of type "Any", not "Literal[True]"' in line
