"""What plain mypy accepts and refuses of plugins (T49-T54), in one run over the text below."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from wengert.plugins import plugin

# A line ending in `# E[code]` must be refused with that code, one in `# E` with any (mypy 1.19 and 2.4
# differ on positional arguments), every other line accepted.
SNIPPET = """
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Generic, Protocol, TypeVar
from typing_extensions import assert_type
from wengert.plugins.inject import Factory
from wengert.plugins.inject import inject, provide
from wengert.plugins.plugin import Plugin

T = TypeVar("T")
class Clock: ...
class Optimizer: ...
class AdamPart(Optimizer): ...
class L2Part(Optimizer): ...
class Rate(Plugin):
    @property
    @abstractmethod
    def rate_now(self) -> float: ...
class LearningRate(Rate):
    learning_rate: float
    @property
    def rate_now(self) -> float:
        return self.learning_rate
class Decay(Rate):
    decay: float = 0.1
class Adam(Plugin):
    beta1: float = 0.9
    acts_before: ClassVar[tuple[type[Plugin], ...]] = (LearningRate,)
    optimizer: ClassVar[type[Optimizer]] = AdamPart
class L2(Plugin):
    l2: float
    optimizer: ClassVar[type[Optimizer]] = L2Part
class Timed(Plugin):
    clock: Clock = inject()
    make: Factory[..., Optimizer] = inject()
class Own(Plugin):
    name: str = "own"
    function: Callable[[int], int] = abs
class Settings(Adam, L2, Decay, LearningRate): ...

# T49
settings = Settings(learning_rate=0.1, l2=0.2)
assert_type(settings, Settings)
assert_type(settings.beta1, float)
assert_type(settings.rate_now, float)
class Mine(Settings, Own, Timed): ...
mine = Mine(learning_rate=0.1, l2=0.2, function=lambda x: x + 1, name="x")
assert_type(mine.function(1), int)
assert_type(mine.clock, Clock)
assert_type(mine.make(), Optimizer)
class Generation(Plugin, Generic[T]):
    value: T
class Both(Generation[str], Own): ...
assert_type(Both(value="x").value, str)
Both(value=3)  # E[arg-type]

# T50
Settings(l2=0.2)  # E[call-arg]
Settings(learning_rate=0.1, l2=0.2, beta3=0.9)  # E[call-arg]
Settings(learning_rate="0.1", l2=0.2)  # E[arg-type]
Settings(0.1, 0.2)  # E
class Nothing(Plugin): ...
Nothing(a=1)  # E[call-arg]
Own(function=lambda: 3)  # E[arg-type] E[misc]

# T51
settings.learning_rate = 0.2  # E[misc]
settings.other = 0.2  # E[attr-defined]
Mine(learning_rate=0.1, l2=0.2, clock=Clock())  # E[call-arg]

# T52
factory = Factory(Settings)
assert_type(factory.new_instance(learning_rate=0.1, l2=0.2), Settings)
assert_type(factory(learning_rate=0.1, l2=0.2), Settings)
factory.new_instance(l2=0.2)  # E[call-arg]
factory.new_instance(learning_rate="0.1", l2=0.2)  # E[arg-type]
factory(0.1, 0.2)  # E

# T53
class HasL2(Protocol):
    @property
    def l2(self) -> float: ...
def read(settings: HasL2) -> float:
    return settings.l2
read(settings)
read(Own())  # E[arg-type]

# T54: mypy accepts this; making the class is refused when the program runs
class Other(Plugin):
    l2: str
class Clash(L2, Other): ...

# D63: what is left open
class Lonely(Adam, Decay): ...
Lonely()  # E[abstract]

# providers
@provide(Clock)
def clock() -> Clock:
    return Clock()
provide(Clock)(lambda: 3)  # E[arg-type] E[return-value]
"""


@pytest.mark.slow
def test_t49_to_t54_plain_mypy(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(SNIPPET)
    environment = dict(os.environ)
    source = Path(plugin.__file__).parents[2]
    if (
        source.name != "site-packages"
    ):  # an installed library is found without help, and mypy forbids naming it
        environment["MYPYPATH"] = str(source)
    options = ["--config-file=", "--strict", "--no-error-summary", "--follow-imports=silent"]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            *options,
            "--namespace-packages",
            "--explicit-package-bases",
            "snippet.py",
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    reported: dict[int, set[str]] = {}
    for line, code in re.findall(r"^snippet\.py:(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.MULTILINE):
        reported.setdefault(int(line), set()).add(code)
    expected = {
        number: set(re.findall(r"E\[([\w-]+)\]", line))
        for number, line in enumerate(SNIPPET.splitlines(), 1)
        if "  # E" in line
    }
    assert run.stderr == ""
    assert reported.keys() == expected.keys(), run.stdout
    coded = {number: codes for number, codes in expected.items() if codes}
    assert {number: reported[number] for number in coded} == coded, run.stdout
