"""Kernels of CUDA without a device: the text, NVIDIA's compiler, and the same text executed on the host."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import wengert as wg
from benchmarks import nets_ours
from benchmarks.nets_data import Given, Sizes
from tests.arrays.cuda_host import has_compiler
from tests.arrays.device import Fake, device_over
from tests.program.drawn import Drawn, lowered
from tests.program.test_fused import SETTINGS, drawn_program
from tests.run.planned import eager
from wengert import nn, run
from wengert.arrays import all_quiet, cuda
from wengert.arrays.abstract import Aval
from wengert.arrays.chance import dropout_mask
from wengert.arrays.changes import carry_out
from wengert.arrays.compilers import CompilerError
from wengert.arrays.cuda import STANDING, standing_text
from wengert.arrays.nvrtc import found_nvrtc
from wengert.arrays.reductions import add_reduce
from wengert.errors import ArgumentError
from wengert.plugins import AdamW, LearningRate
from wengert.program.build import Builder, bare
from wengert.program.cuda import for_device
from wengert.program.program import Program, Var, check, evaluate, now
from wengert.run.compiled.device import DeviceProgram

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
needs_gpp = pytest.mark.skipif(not has_compiler(), reason="g++ executes kernels where there is no device")
needs_nvrtc = pytest.mark.skipif(
    find_spec("nvidia.cuda_nvrtc") is None if find_spec("nvidia") else True,
    reason="NVRTC is in the extra `gpu-test`, for Linux on x86-64",
)

NETS = {
    "mlp": Sizes(batch=8, widths=(12, 33, 10)),
    "vae": Sizes(batch=4, widths=(16, 8, 3)),
    "lstm": Sizes(batch=2, time=3, widths=(8,)),
    "transformer": Sizes(batch=2, time=8, widths=(16,), heads=2, layers=1),
    "images": Sizes(batch=2, widths=(3, 4, 4), side=8),
}


WEIGHTS = nets_ours._Weights


def losses_of(name: str, on: Callable[[Any], Any], patch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The losses of a network of the benchmarks, batch by batch, with arrays where `on` puts them."""

    def stepping(given: Given, loss: Callable[..., Any], executor: object = None) -> Any:
        batches = [tuple(on(x) if x.dtype.kind == "f" else x for x in batch) for batch in given.batches]
        return (loss(*batches[i % len(batches)]) for i in range(100))

    class Weights(WEIGHTS):
        def __init__(self, given: Given, settings: Any) -> None:
            super().__init__(Given({name: on(x) for name, x in given.weights.items()}, ()), settings)

    patch.setattr(nets_ours, "_stepping", stepping)
    patch.setattr(nets_ours, "_Weights", Weights)
    return getattr(nets_ours, name)(NETS[name])  # type: ignore[no-any-return] # as `stepping` has it


def test_text_of_a_kernel() -> None:
    x = wg.lift(np.ones((4, 3), np.float32))
    bias = wg.lift(np.ones(3, np.float32))
    (kernel,) = run.kernels(wg.relu(x + bias).predict(), "cuda")
    assert kernel.source.splitlines()[4:] == [
        'extern "C" __global__ void kernel0(const float *x0, const float *x1, float *x2, const long long n) {',
        "  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256) {",
        "    const float r0 = x0[i];",
        "    const float r1 = x1[i % 3];",
        "    const float v0 = r0 + r1;",
        "    const float v1 = (v0 > 0x0.0p+0f) | (v0 != v0) ? v0 : 0x0.0p+0f;",
        "    x2[i] = v1;",
        "  }",
        "}",
    ]


def test_text_of_lines() -> None:
    x = wg.lift(np.ones((4, 40), np.float32))
    (kernel,) = run.kernels(wg.softmax(x).predict(), "cuda")
    lines = kernel.source.splitlines()
    begin = next(i for i, line in enumerate(lines) if "for (long long l = blockIdx.x" in line)
    assert lines[begin + 1 : begin + 5] == [
        "    const float *const p0 = x0 + l * 40;",
        "    const long long e0 = 1;",
        "    float *const p1 = x1 + l * 40;",
        "    const long long e1 = 1;",
    ]
    assert [line.strip() for line in lines if "shared);" in line] == [
        "return block_sum_float(x, shared);",
        "return block_max_float(x, shared);",
        "const float v0 = max_float(tr0, 40, 32, shared);",
        "const float v3 = sum_float(tv2, 40, 32, shared);",
    ]


@pytest.mark.parametrize("dialect", ["c", "cuda"])
def test_equal_structures_have_one_text(dialect: Any) -> None:
    def texts(rows: int) -> list[run.KernelText]:
        x = wg.lift(np.ones((rows, 3), np.float32))
        return run.kernels((wg.tanh(x + 1.0) * 0.5 + x).predict(), dialect)

    assert texts(4) == texts(4)
    assert texts(4) == texts(5)
    assert [kernel.name for kernel in texts(4)] == ["loop0" if dialect == "c" else "kernel0"] * len(texts(4))
    assert all(kernel.name in kernel.source for kernel in texts(4))


def test_kernels_of_what_is_none() -> None:
    with pytest.raises(ArgumentError, match="expected a Do, got int"):
        run.kernels(3)  # type: ignore[arg-type] # the point
    with pytest.raises(ArgumentError, match="""dialect is "c" or "cuda", got 'opencl'"""):
        run.kernels(wg.lift(1.0).predict(), "opencl")  # type: ignore[arg-type] # the point
    assert run.kernels(wg.lift(1.0).predict(), "cuda") == []


# -- NVIDIA's compiler -----------------------------------------------------------------------------------------


@needs_nvrtc
@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_kernels_of_networks_compile(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc = found_nvrtc()
    assert nvrtc is not None
    losses = losses_of(name, np.asarray, monkeypatch)
    next(losses).train().run()  # after the first step there is the state of optimizers
    sources = [kernel.source for kernel in run.kernels(next(losses).train(), "cuda")]
    assert len(sources) > 4
    text = "\n".join(f"namespace n{i} {{\n{source}\n}}" for i, source in enumerate(sources))
    assert b".target sm_80" in nvrtc.compiled(text, "compute_80")
    assert nvrtc.compiled(text, "sm_90")[:4] == b"\x7fELF"


@needs_nvrtc
@pytest.mark.slow
def test_standing_kernels_compile() -> None:
    nvrtc = found_nvrtc()
    assert nvrtc is not None
    sources = [standing_text(kind, t) for kind in STANDING for t in ("float", "double")]
    text = "\n".join(f"namespace n{i} {{\n{source}\n}}" for i, source in enumerate(sources))
    assert b"add_at_double" in nvrtc.compiled(text, "compute_80")
    assert nvrtc.compiled(text, "sm_90")[:4] == b"\x7fELF"


@needs_nvrtc
def test_an_error_has_its_line() -> None:
    nvrtc = found_nvrtc()
    assert nvrtc is not None
    with pytest.raises(CompilerError, match=r'line 2: identifier "y" is undefined\n    x\[0\] = y;'):
        nvrtc.compiled('extern "C" __global__ void f(float *x) {\n  x[0] = y;\n}')


# -- the same text on the host ---------------------------------------------------------------------------------


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    with device_over(tmp_path) as made:
        yield made


class Settings(AdamW, LearningRate):
    """Adam with decay."""


BARS = {
    "mlp": 12,
    "transformer": 31,
}  # launches of a step beside products of matrices; words and classes included


@needs_gpp
@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_networks_train_as_on_the_host(name: str, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 5

    def trained(on: Callable[[Any], Any]) -> list[Any]:
        executor, found = eager()[0], []
        losses = losses_of(name, on, monkeypatch)
        for _ in range(steps):
            loss = next(losses)
            fake.reset()
            found.append(loss.train().run(executor))
        return found

    expected = trained(np.asarray)
    found = trained(fake.on)
    assert fake.reads == 0, "the loss is read when somebody asks for it, and nothing else is"
    assert fake.small <= BARS.get(name, 100), fake.launches
    np.testing.assert_allclose([float(fake.read(x)) for x in found], expected, rtol=1e-4)
    again = trained(fake.on)
    assert_array_equal([fake.read(x) for x in found], [fake.read(x) for x in again])


@needs_gpp
@pytest.mark.slow
def test_launches_of_a_transformer_block(fake: Fake) -> None:
    settings = Settings(learning_rate=0.01, weight_decay=0.01)

    def weight(*shape: int) -> Any:
        return settings.array_weight(fake.on(np.full(shape, 0.1, np.float32)))

    def linear(n: int, m: int) -> Any:
        return nn.Linear(weight(n, m), weight(m))

    norms = [nn.LayerNorm(weight(8), weight(8)) for _ in range(2)]
    attention: Any = nn.MultiHeadAttention(linear(8, 8), linear(8, 8), linear(8, 8), linear(8, 8), 2)
    wide, narrow = linear(8, 32), linear(32, 8)
    x = wg.lift(fake.on(np.ones((2, 5, 8), np.float32)))
    executor, _ = eager()
    for _ in range(4):
        fake.reset()
        h = x + attention(norms[0](x))
        h = h + narrow(wg.gelu(wide(norms[1](h))))
        wg.mean(wg.square(h)).train().run(executor)
    assert fake.launches["subtract_float"] == 1, "all weights change in one launch"
    assert fake.small <= 25, fake.launches


def wrong_programs(fake: Fake, seeds: range) -> list[int]:
    """The seeds of programs of float64 that give something else as kernels than with numpy."""
    drawn = [(seed, drawn_program(seed, np.float64)) for seed in seeds]
    made = [(seed, d, DeviceProgram(fake.device(), d.program)) for seed, d in drawn]
    wrong = []
    for seed, d, program in made:
        with all_quiet():
            expected = [np.asarray(x) for x in evaluate(d.program, d.given)]
            given = [fake.on(x) if isinstance(x, np.ndarray) else x for x in d.given]
            found = [np.asarray(fake.read(x)) for x in program.outputs(given)]
        if not all(map(close, expected, found)) and not explained(seed, d, expected, found):
            wrong.append(seed)
    return wrong


NOISES = 8  # evaluations with other last bits
TIMES = 64.0  # what noise does at most, as a multiple of the most that is seen


def explained(seed: int, d: Drawn, expected: list[Any], found: list[Any]) -> bool:
    """Whether last bits explain all differences: no element is further off than they take it.

    Every value of the program is changed by up to 2 units in its last place, at random, in each of some evaluations.
    Source: J. Vignes, "A stochastic arithmetic for reliable scientific computation", 1993; S. Parker, "Monte Carlo
    arithmetic", 1997.
    """
    with all_quiet():
        noisy = with_noise(d, np.random.default_rng(seed))
        for x, y, *others in zip(expected, found, *noisy, strict=True):
            moved = np.max([np.abs(z - x) for z in others], axis=0)
            unsettled = np.any([~np.isfinite(z) for z in others], axis=0)
            bound = 1e-6 * np.abs(x) + TIMES * moved
            if not np.all((np.abs(y - x) <= bound) | unsettled | (x == y) | (np.isnan(x) & np.isnan(y))):
                return False
    return True


def with_noise(d: Drawn, chance: np.random.Generator) -> list[list[Any]]:
    """The outputs of evaluations in each of which each value, also of the inputs, has other last bits.

    An element that is nothing but such bits may be exactly 0, too, which no random number is: a sum of differences from
    their mean is 0 in one order and 7e-15 in another. It is 0 in the last evaluation.
    """

    def noise(x: Any) -> Any:
        return x * (1.0 + chance.uniform(-2.0, 2.0, x.shape) * 2.0**-52)

    def assign(x: Var, made: list[Any]) -> None:
        if isinstance(made[0], np.ndarray | np.float64) and made[0].dtype == F64:
            made = [noise(z) for z in made]
            noise_only = np.isfinite(made[-1]) & (np.ptp(made, axis=0) >= np.min(np.abs(made), axis=0))
            made[-1] = np.where(noise_only, 0.0, made[-1])[()]
        for values, z in zip(runs, made, strict=True):
            values[x] = z

    p, runs = d.program, [dict[Any, Any]() for _ in range(NOISES + 1)]
    for x, given in zip(p.inputs, d.given, strict=True):
        assign(x, [given] * len(runs))
    for e in p.eqns:
        options = [{name: now(x, values) for name, x in e.options.items()} for values in runs]
        given = [[now(x, values) for x in e.arguments] for values in runs]
        assign(e.result, [e.function(*xs, **named) for xs, named in zip(given, options, strict=True)])
    return [[np.asarray(now(x, values)) for x in p.outputs] for values in runs]


def test_noise_explains_the_root_of_a_difference_and_no_other_mistake() -> None:
    """A root of rounding noise is 1e-8 or 0, whoever computes it; what is wrong by more is a mistake."""
    x: Any = SETTINGS.array_weight(np.full(4, 0.1, np.float64))
    d = lowered(wg.sqrt(wg.abs((x + 0.2) - 0.3)))
    with all_quiet():
        expected = [np.asarray(y) for y in evaluate(d.program, d.given)]
    assert explained(1, d, expected, [expected[0] + 1e-8, *expected[1:]])
    assert not explained(1, d, expected, [expected[0] + 1e-4, *expected[1:]])
    d = lowered(x * 2.0)
    expected = [np.asarray(y) for y in evaluate(d.program, d.given)]
    assert not explained(1, d, expected, [expected[0] + 1e-5, *expected[1:]])


def test_noise_explains_a_quotient_by_a_sum_that_is_nothing_else() -> None:
    """What is left of a line without its mean is 0 in one order of the sum, and 7e-15 in another; a quotient tells."""
    random = np.random.default_rng(2)
    x: Any = SETTINGS.array_weight(random.standard_normal((3, 129)))
    centered = x - wg.mean(x, axis=-1, keepdims=True)
    d = lowered(x / wg.sum(centered, axis=-1, keepdims=True))
    with all_quiet():
        expected, *deltas = (np.asarray(y) for y in evaluate(d.program, d.given))
    assert explained(1, d, [expected, *deltas], [np.full_like(expected, np.inf), *deltas])
    d = lowered(x / wg.sum(x, axis=-1, keepdims=True))
    expected, *deltas = (np.asarray(y) for y in evaluate(d.program, d.given))
    assert not explained(1, d, [expected, *deltas], [np.full_like(expected, np.inf), *deltas])
    wrong = expected.copy()
    wrong[1, 7] *= 1 + 1e-5
    assert not explained(1, d, [expected, *deltas], [wrong, *deltas])


def close(x: Any, y: Any) -> bool:
    """Whether arrays agree to 1e-9 of the greatest element, and to 1e-6 where a difference has cancelled digits."""
    finite = np.abs(x[np.isfinite(x)])
    greatest = max(1.0, finite.max()) if finite.size else 1.0
    return x.shape == y.shape and np.allclose(x, y, rtol=1e-6, atol=1e-9 * greatest, equal_nan=True)


@pytest.mark.parametrize("seed", [5, 580])
def test_two_groups_never_wait_for_each_other(seed: int) -> None:
    """A group may hold an equation that stands far behind the ones that it waits for; `check` raises for a circle."""
    planned = for_device(drawn_program(seed, np.float64).program)
    assert planned.kernels


@pytest.mark.parametrize("seed", [443, 709, 803])
def test_whatever_a_step_reads_has_been_made(seed: int) -> None:
    """A result in another order of axes gets C order, and may then be written in another shape, too."""
    program = for_device(drawn_program(seed, np.float64).program).program
    check(program)


@needs_gpp
@pytest.mark.slow
def test_random_programs(fake: Fake) -> None:
    assert wrong_programs(fake, range(60)) == []


@needs_gpp
@pytest.mark.nightly
@pytest.mark.parametrize("block", range(1, 41))
def test_2000_random_programs(block: int, fake: Fake) -> None:
    assert wrong_programs(fake, range(50 * block, 50 * block + 50)) == []


FAR = 2**31 + 3  # elements between lines, which 32 bits do not count


@pytest.fixture
def spread_out(tmp_path: Path) -> Any:
    """Three lines of five numbers, far apart in a file with holes between them."""
    whole = np.memmap(tmp_path / "holes", np.float32, "w+", shape=(2 * FAR + 8,)).view(np.ndarray)
    x = np.lib.stride_tricks.as_strided(whole, (3, 5), (4 * FAR, 4))
    x[...] = np.arange(15.0).reshape(3, 5) / 8
    return x


@needs_gpp
@pytest.mark.slow
@pytest.mark.parametrize("along_lines", [False, True])
def test_places_beyond_32_bits(along_lines: bool, fake: Fake, spread_out: Any) -> None:
    builder = Builder(on_device=True)
    x = builder.input(Aval((3, 5), F32, "array", "gaps"))
    y = builder.call(operator.add, builder.call(operator.mul, x, 2.0), 1.0)
    expected = spread_out * 2.0 + 1.0
    if along_lines:
        least = builder.call(add_reduce, y, axis=-1, keepdims=True)
        y, expected = builder.call(operator.sub, y, least), expected - expected.sum(-1, keepdims=True)
    program = DeviceProgram(fake.device(), Program([x.var], builder.eqns, [bare(y)]))
    (kernel,) = program.schedule.kernels
    assert "const long long s0_0" in kernel.source
    (found,) = program.outputs([fake.array(spread_out, fake.device())])
    np.testing.assert_allclose(fake.read(found), expected, rtol=1e-6)


LENGTHS = (1, 2, 31, 32, 33, 100, 257, 1000)


def asked(length: int, dtype: Any) -> list[Any]:
    """A softmax, a difference from the mean, sums of columns and of all, and a GELU of lines of one length."""
    x = np.random.default_rng(length).standard_normal((3, length), np.float32)
    x[0, -1] = -np.inf
    x[2, length // 2] = np.nan
    values: Any = x.astype(dtype)
    e: Any = SETTINGS.array_weight(values)
    centered = e - wg.mean(e, axis=-1, keepdims=True)
    return [wg.softmax(e), centered, wg.sum(e, axis=0), wg.mean(e), wg.gelu(e)]


def wrong_lengths(fake: Fake, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """The lengths of lines, and the places in `asked`, that are not as float64 has them."""
    made = [
        (length, i, lowered(x), lowered(y))
        for length in lengths
        for i, (x, y) in enumerate(zip(asked(length, np.float32), asked(length, np.float64), strict=True))
    ]
    programs = [DeviceProgram(fake.device(), of.program) for _, _, of, _ in made]
    wrong = []
    for (length, i, of, judge), program in zip(made, programs, strict=True):
        with all_quiet():
            expected = evaluate(judge.program, judge.given)[0]
        found = fake.read(
            program.outputs([fake.on(x) if isinstance(x, np.ndarray) else x for x in of.given])[0]
        )
        if not np.allclose(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True):
            wrong.append((length, i))
    return wrong


@needs_gpp
@pytest.mark.slow
def test_lines_of_all_lengths(fake: Fake) -> None:
    assert wrong_lengths(fake, LENGTHS) == []


@needs_gpp
@pytest.mark.slow
def test_masks_have_the_bits_of_the_host(fake: Fake) -> None:
    from wengert.arrays import launches  # what stands for cupy is there now

    for shape, dtype in [((1,), F32), ((2, 3), F64), ((257, 3), F32), ((0, 4), F32)]:
        for seed in ([1, 2], [7], [2**63, 5, 1]):
            found = launches.mask(shape, dtype, 0.3, seed)
            assert_array_equal(fake.read(found), dropout_mask(shape, dtype, 0.3, seed))


@needs_gpp
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F32, F64])
def test_sums_at_equal_indices_have_the_bits_of_the_host(dtype: Any, fake: Fake) -> None:
    from wengert.arrays import HOST, gpu  # as above

    random = np.random.default_rng(3)
    g = (random.standard_normal((200, 5)) * 10.0 ** random.integers(-8, 8, (200, 1))).astype(dtype)
    for key in (random.integers(-9, 9, 200), np.zeros(200, np.int32)):
        found = gpu.add_at((9, 5), dtype, key, fake.on(g))
        assert_array_equal(fake.read(found), HOST.add_at((9, 5), dtype, key, g))
    other = g.astype(F64 if dtype == F32 else F32)  # elements that are not of the type of the result
    found = gpu.add_at((9, 5), dtype, key, fake.on(other))
    assert_array_equal(fake.read(found), HOST.add_at((9, 5), dtype, key, other.astype(dtype)))
    two = (random.integers(0, 9, 200), random.integers(0, 5, 200))
    found = gpu.add_at((9, 5), dtype, two, fake.on(g[:, 0]))
    assert_array_equal(fake.read(found), HOST.add_at((9, 5), dtype, two, g[:, 0]))
    w, v = fake.on(np.ones((9, 5), dtype)), np.ones((9, 5), dtype)
    carry_out(gpu.subtract_at(w, two, fake.on(g[:, 0])))
    carry_out(HOST.subtract_at(v, two, g[:, 0]))
    np.testing.assert_allclose(fake.read(w), v, rtol=1e-6 if dtype == F32 else 1e-14)


@needs_gpp
@pytest.mark.slow
def test_one_flag_for_all_weights(fake: Fake) -> None:
    from wengert.arrays import launches  # as above

    arrays = [np.ones(n, np.float32) for n in (1, 300, 0)] + [np.ones(2)]
    assert fake.read(launches.unfinite([*map(fake.on, arrays)])) == 0
    assert fake.launches["finite_float"] == fake.launches["finite_double"] == 1
    arrays[1][299] = np.inf
    assert fake.read(launches.unfinite([*map(fake.on, arrays)])) == 1
    assert fake.reads == 0


# -- mutants ---------------------------------------------------------------------------------------------------

MUTANTS = {
    "a stride": (r"p(\d) = x\1 \+ l \* (\d+)", r"p\1 = x\1 + l * (\2 - 1)"),
    "a barrier": (r"  __syncthreads\(\);\n  x = shared", "  x = shared"),
    "the barrier before": (
        r"  __syncthreads\(\);\n  if \(threadIdx.x % 32 == 0\)",
        "  if (threadIdx.x % 32 == 0)",
    ),
    "a tail": (r"if \(i < (\d+)\) \{", r"if (i < \1 - 1) {"),
    "swapped operands": (r"= (v\d+|r\d+) - (v\d+|r\d+);", r"= \2 - \1;"),
    "half of the warps": (r"w < \(int\)blockDim.x / 32", "w < (int)blockDim.x / 64"),
    "half of a warp": (r"int d = 16", "int d = 8"),
    "a block's elements": (
        r"blockIdx.x \* (\d+) \+ threadIdx.x; i <",
        r"blockIdx.x * (\1 + 1) + threadIdx.x; i <",
    ),
}


@needs_gpp
@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_the_generator_are_found(mutant: str, fake: Fake) -> None:
    pattern, instead = MUTANTS[mutant]
    made, changed = fake.module.RawModule, []

    def mutated(*, code: str, options: tuple[str, ...] = ()) -> Any:
        text = re.sub(pattern, instead, code)
        changed.append(text != code)
        return made(code=text, options=options)

    fake.module.RawModule = mutated
    assert wrong_lengths(fake, [257])
    assert any(changed), "there is nothing to change"


def test_options_keep_products_and_sums_apart() -> None:
    assert "--fmad=false" in cuda.OPTIONS
