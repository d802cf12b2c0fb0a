"""Plans with compiled loops: the bits of plans in Python, and whatever goes wrong leaves a run in Python."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.test_plans_sharing import WithCopies
from wengert.arrays import compilers, kernels
from wengert.arrays.compilers import CCompiler, CompilerError, cache_folder, found_compiler
from wengert.plugins import Adam, AdamW, AMSGrad, LearningRate, Momentum, NAdam, RMSprop
from wengert.run.compiled import program as native
from wengert.run.compiled.plans import Plans
from wengert.run.sequential import Engine, Interpreter

needs_compiler = pytest.mark.skipif(found_compiler() is None, reason="no C compiler on this machine")


class Settings(Adam, LearningRate): ...


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, no waiting for what pays, and a thread of which nothing has failed yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "COMPILING_SECONDS", 0.0)
    monkeypatch.setattr(native, "LEAST", 0.0)
    monkeypatch.setattr(native, "COMPILING", native.Workshop())
    found_compiler.cache_clear()
    yield tmp_path / "wengert"
    found_compiler.cache_clear()


def trained(native: bool, runs: int = 200) -> tuple[list[float], Any, Plans]:
    """Losses, a weight and the plans of a small network that is trained; where it is native, until it has its loops."""
    settings, random = Settings(learning_rate=1e-3), np.random.default_rng(0)
    w = settings.array_weight((random.standard_normal((20, 16)) / 4).astype(np.float32), name="w")
    b = settings.array_weight(np.zeros(16, np.float32), name="b")
    x = random.standard_normal((8, 20)).astype(np.float32)
    plans = Plans(worth=3, native=native)
    executor = Interpreter(Engine(plans))
    losses = []
    for i in range(runs):
        losses.append(float(wg.mean(wg.square(wg.relu(x @ w + b) * 0.5 - 1.0)).train().run(executor)))
        if native and i in (70, 140):
            waited()
    return losses, w.data, plans


def waited() -> None:
    """Wait until the thread that compiles has nothing to do."""
    done = threading.Event()
    native.COMPILING.begin(done.set)
    assert done.wait(60)


def program_of(plans: Plans) -> Any:
    (plan,) = plans._plans.items()
    return plan.program


@needs_compiler
def test_training_has_the_same_bits() -> None:
    expected, data, plans = trained(native=False)
    assert type(program_of(plans)).__name__ == "PlanProgram"
    losses, found, plans = trained(native=True)
    assert isinstance(program_of(plans), native.FusedProgram)
    assert losses == expected
    assert np.array_equal(found, data)


class Decayed(AdamW, LearningRate): ...


class Greatest(AMSGrad, LearningRate): ...


class Ahead(NAdam, LearningRate): ...


class Squares(RMSprop, LearningRate): ...


class Moving(LearningRate, Momentum): ...


RELATIVES = [
    Settings(learning_rate=1e-2),
    Decayed(learning_rate=1e-2, weight_decay=0.1),
    Greatest(learning_rate=1e-2),
    Ahead(learning_rate=1e-2),
    Squares(learning_rate=1e-2),
    Moving(learning_rate=1e-2),
]


@needs_compiler
@pytest.mark.parametrize("of", [0, 1])
@pytest.mark.parametrize(
    "state",
    [np.zeros((8, 8)), np.zeros((8, 8), np.int64), np.float64(0.0), np.zeros((7, 3), np.float32), None],
)
def test_a_state_of_another_type_or_shape_is_the_interpreters_and_tears_nothing(state: Any, of: int) -> None:
    """The loops that change weights would refuse it when another weight has changed already."""

    class Settings(Momentum, LearningRate): ...

    settings = Settings(learning_rate=0.01)
    found = []
    for plans in (Plans(worth=3, native=True), None):
        weights = [settings.array_weight(np.full((8, 8), x, np.float32)) for x in (1.0, 2.0)]
        loss = wg.sum(wg.tanh(weights[0]) + wg.tanh(weights[1]))
        executor = wg.run.Sequential(compiled=False) if plans is None else Interpreter(Engine(plans))
        for i in range(40):
            loss.train().run(executor)
            if i == 30:
                waited()
        assert plans is None or isinstance(program_of(plans), native.FusedProgram)
        optimizer: Any = weights[of].optimizer  # Any: its state is known to no checker
        optimizer.velocity = state
        before = [w.data.tobytes() for w in weights]
        try:
            loss.train().run(executor)
        except (TypeError, ValueError):
            assert [w.data.tobytes() for w in weights] == before
        found.append([w.data.tobytes() for w in weights])
    assert found[0] == found[1]


@needs_compiler
@pytest.mark.parametrize("settings", RELATIVES, ids=lambda x: type(x).__name__)
def test_weights_and_moments_change_in_one_loop_with_the_same_bits(settings: Any) -> None:
    """A moment that somebody has stays as it is."""
    random = np.random.default_rng(0)
    first = random.standard_normal((20, 16)).astype(np.float32)
    x = random.standard_normal((40, 20)).astype(np.float32)
    weights = [settings.array_weight(first) for _ in range(2)]
    compiled = Plans(worth=3, native=True)
    held: dict[str, Any] = {}  # Any: arrays of a state
    copies: dict[str, Any] = {}  # Any: as above
    for i in range(90):
        for w, plans in zip(weights, (compiled, None), strict=True):
            loss = wg.mean(wg.square(x[i % 8 :][:32] @ w))
            loss.train().run(
                wg.run.Sequential(compiled=False) if plans is None else Interpreter(Engine(plans))
            )
        if i == 70:
            waited()
        if i == 80:
            program = program_of(compiled)
            assert isinstance(program, native.FusedProgram)
            held = {name: v for name, v in weights[0].optimizer.state().items() if np.ndim(v)}
            assert program.frame_source.count("= []") == len(held)
            copies = {name: v.copy() for name, v in held.items()}
    assert np.array_equal(weights[0].data, weights[1].data)
    for y, z in zip(*(w.optimizer.state().items() for w in weights), strict=True):
        assert y[0] == z[0]
        assert np.array_equal(y[1], z[1])
    assert held
    assert all(np.array_equal(v, copies[name]) for name, v in held.items())


@needs_compiler
def test_a_copy_of_the_data_that_a_step_keeps_stays_as_it_is_in_compiled_loops() -> None:
    """It was the data themselves, and changed with them."""
    settings = WithCopies(
        learning_rate=0.5, keeps=lambda optimizer, d, x: (x * 1.0, optimizer.older * 0.5 + d)
    )
    w: Any = settings.array_weight(np.zeros((20, 16)))
    plans, held = Plans(worth=3, native=True), []
    for i in range(90):
        wg.sum(w * 1.5).train().run(Interpreter(Engine(plans)))
        if i == 70:
            waited()
        kept = w.optimizer.last
        assert not np.shares_memory(kept, w.ref.data)
        held.append(kept)
    assert isinstance(program_of(plans), native.FusedProgram)
    assert all((kept == -0.75 * i).all() for i, kept in enumerate(held))


@needs_compiler
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_loops_are_given_many_numbers_at_once(kind: Any) -> None:
    def chain(native: bool) -> tuple[list[float], Any, Any]:
        start: Any = np.linspace(-1, 1, 64).astype(kind).reshape(8, 8)
        w = Settings(learning_rate=1e-3).array_weight(start)
        plans, losses = Plans(worth=3, native=native), []
        for i in range(200):
            x: Any = w
            for j in range(6):
                x = x * (0.9 + i / (7.0 + j)) + 1.0 / (1 + i + j)
            losses.append(float(wg.mean(x).train().run(Interpreter(Engine(plans)))))
            if native and i in (70, 140):
                waited()
        return losses, w.data, program_of(plans)

    losses, data, _ = chain(native=False)
    found, found_data, program = chain(native=True)
    assert isinstance(program, native.FusedProgram)
    assert "n0[11]" in program.source and "](p" not in program.source
    assert (found, found_data.tobytes()) == (losses, data.tobytes())


@pytest.mark.parametrize("settings", RELATIVES, ids=lambda x: type(x).__name__)
def test_moments_lie_where_earlier_ones_lay_that_nobody_has(settings: Any) -> None:
    """In a plan in Python; what somebody has, or has a view of, stays as it is."""
    w, plain = (settings.array_weight(np.ones((20, 16), np.float32)) for _ in range(2))
    x, held = np.random.default_rng(0).standard_normal((8, 20)).astype(np.float32), list[tuple[Any, Any]]()
    plans = Plans(worth=3, native=False)
    for i in range(16):
        for weight, plan in ((w, plans), (plain, None)):
            loss, engine = wg.mean(wg.square(x @ weight)), Engine(plan)
            loss.train().run(Interpreter(engine))
        state = [y for y in w.optimizer.state().values() if np.ndim(y)]
        held += [(y[1:], y[1:].copy()) for y in state if i in (8, 9, 11)]
        del state
    assert program_of(plans).frame_source.count("= []") == len(held) / 3 > 0
    assert all(np.array_equal(y, z) for y, z in held)
    assert np.array_equal(w.data, plain.data)


@needs_compiler
def test_a_function_that_numpy_computes_otherwise_here_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Loops are made again without it; others of the program are used."""
    monkeypatch.setattr(kernels, "_SINGLE_FORMULAS", {np.exp: "expf({0} + 1)"})
    settings, random = Settings(learning_rate=1e-3), np.random.default_rng(0)
    w = settings.array_weight(random.standard_normal((16, 16)).astype(np.float32))
    plans = Plans(worth=3, native=True)
    with caplog.at_level(logging.WARNING, "wengert.run"):
        for i in range(200):
            wg.sum(wg.softmax(w * 2.0) + w).train().run(Interpreter(Engine(plans)))
            if i in (70, 140):
                waited()
    program = program_of(plans)
    assert isinstance(program, native.FusedProgram)
    assert native.COMPILING.refused == {np.exp}
    assert "exp" in program.source or any(x is np.exp for x in program.run.__globals__.values())
    assert not caplog.records


@needs_compiler
def test_sequential_compiles_unless_told_not_to() -> None:
    assert wg.run.Sequential().engine.plans is not None
    for executor, expected in ((wg.run.Sequential(), True), (wg.run.Sequential(native=False), False)):
        assert executor.engine.plans is not None
        assert executor.engine.plans.native is expected


@needs_compiler
def test_a_second_process_finds_the_library(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(native=True)
    made = sorted(own_cache.iterdir())
    assert [path.suffix for path in made] == [".so"]
    monkeypatch.setattr(native, "COMPILING_SECONDS", 1e9)  # would never pay
    monkeypatch.setattr(CCompiler, "compiled", lambda self, text, folder: self.library(text, folder))
    *_, plans = trained(native=True)
    assert isinstance(program_of(plans), native.FusedProgram)


class TestStaysInPython:
    def check(self, caplog: pytest.LogCaptureFixture, said: str) -> None:
        with caplog.at_level(logging.WARNING, "wengert.run"):
            losses, _, plans = trained(native=True)
        assert losses == trained(native=False)[0]
        assert not isinstance(program_of(plans), native.FusedProgram)
        lines = [record.getMessage() for record in caplog.records]
        assert (len(lines), said in "".join(lines)) == (1 if said else 0, True), lines

    def test_without_a_compiler(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("CC", "no-such-compiler")
        assert found_compiler() is None
        self.check(caplog, "")

    def script(self, path: Path, text: str) -> str:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return str(path)

    def test_with_a_broken_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        text = 'test "$1" = --version && echo broken && exit 0\necho "out of order" >&2\nexit 7'
        monkeypatch.setenv("CC", self.script(tmp_path / "broken", text))
        self.check(caplog, "broken ended with status 7: out of order")

    def test_with_one_that_hangs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        text = 'test "$1" = --version && echo slow && exit 0\nexec sleep 1000'
        monkeypatch.setenv("CC", self.script(tmp_path / "slow", text))
        monkeypatch.setattr(compilers, "SECONDS", 0.2)
        self.check(caplog, "timed out")

    def test_with_one_that_makes_nonsense(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        text = 'test "$1" = --version && echo odd && exit 0\nwhile [ "$1" != -o ]; do shift; done\necho nonsense > "$2"'
        monkeypatch.setenv("CC", self.script(tmp_path / "odd", text))
        self.check(caplog, "cannot be loaded")

    @needs_compiler
    def test_in_a_folder_of_others(self, own_cache: Path, caplog: pytest.LogCaptureFixture) -> None:
        own_cache.mkdir(mode=0o755)
        own_cache.chmod(0o755)
        self.check(caplog, "has to be a folder of this user with mode 700")

    @needs_compiler
    def test_where_nothing_can_be_written(
        self, own_cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def full(*arguments: object, **options: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_text", full)
        self.check(caplog, "No space left on device")

    @needs_compiler
    def test_when_the_process_has_compiled_long_enough(self, caplog: pytest.LogCaptureFixture) -> None:
        native.COMPILING.seconds = 1e9
        self.check(caplog, "s of this process already")


@needs_compiler
def test_a_library_that_others_may_write_is_not_loaded(own_cache: Path) -> None:
    compiler = found_compiler()
    assert compiler is not None
    folder = cache_folder()
    library = compiler.library("int x;", folder)
    library.write_bytes(b"theirs")
    library.chmod(0o666)
    assert not compilers.is_own(library)
    assert compiler.compiled("int x;", folder).read_bytes() != b"theirs"
    assert compilers.is_own(library)


@needs_compiler
def test_two_processes_at_once(own_cache: Path) -> None:
    code = (
        "from wengert.arrays.compilers import cache_folder, found_compiler, loaded\n"
        "print(found_compiler().compiled('int x;', cache_folder()))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ})
        for _ in range(3)
    ]
    found = {process.communicate(timeout=120)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(found) == 1
    assert [path.suffix for path in own_cache.iterdir()] == [".so"]


@needs_compiler
def test_a_kill_while_compiling_leaves_no_half_library(own_cache: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text('#!/bin/sh\ntest "$1" = --version && echo slow && exit 0\nsleep 3\n')
    slow.chmod(0o700)
    code = (
        "from wengert.arrays.compilers import cache_folder, found_compiler\n"
        "found_compiler().compiled('int x;', cache_folder())"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "CC": str(slow)})
    with process:
        while not list(own_cache.glob("making-*/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert not list(own_cache.glob("*.so"))
    compiler = found_compiler()
    assert compiler is not None
    for left in own_cache.iterdir():
        os.utime(left, (0, 0))  # long ago
    assert compiler.compiled("int x;", cache_folder()).exists()
    assert [path.suffix for path in own_cache.iterdir()] == [".so"]


@needs_compiler
def test_a_process_that_ends_while_it_compiles_says_nothing(own_cache: Path) -> None:
    code = (
        "import threading, time\n"
        "from wengert.arrays.compilers import cache_folder, found_compiler\n"
        "from wengert.run.compiled.program import COMPILING\n"
        "COMPILING.begin(lambda: found_compiler().compiled('int x;', cache_folder()))\n"
        "folder = cache_folder()\n"
        "while not list(folder.iterdir()): time.sleep(0.001)"
    )
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_error_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match=r"^[^\n]*no-such-compiler[^\n]*$"):
        CCompiler("no-such-compiler", "1").compiled("int x;", tmp_path)
