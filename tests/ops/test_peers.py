"""Agreement with PyTorch and JAX in float64 (an optional job: both are with the benchmarks, not with the tests)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from wengert.testing.gradients import deltas_at_layers

Call = Callable[..., Any]  # Any: expressions here, tensors there
Array = np.ndarray[Any, np.dtype[np.float64]]  # Any: of every shape
LABELS = np.array([2, 0, 1, 2])
MASK = np.array([[True, False, True], [False, True, True]])
IGNORED = np.array([2, -100, 1, 0])
IMAGE_LABELS = np.array([[[0, 1], [2, 2]], [[1, 1], [0, 2]]])
SPELLED = np.array([[1, 2, 2, 3], [4, 4, 1, 0], [2, 0, 0, 0]]), np.array([9, 7, 5]), np.array([4, 3, 1])
IMAGES, KERNELS = (2, 3, 7, 8), (4, 3, 3, 2)
MATRIX = ((4, 3),)
PAIR = ((2, 3), (3,))


@dataclass(frozen=True)
class Case:
    """One operation of all three; `torch` gets torch and its `functional`, `jax` gets `jax.numpy` and `jax`."""

    ours: Call
    torch: Call
    jax: Call | None  # None: JAX itself has none
    shapes: tuple[tuple[int, ...], ...] = MATRIX
    positive: bool = False


def alike(ours: Call, theirs: Call, shapes: tuple[tuple[int, ...], ...] = MATRIX, **more: bool) -> Case:
    """Both peers spell it in one way; `theirs` gets the module of array functions."""
    return Case(ours, lambda t, f, *xs: theirs(t, *xs), lambda j, jax, *xs: theirs(j, *xs), shapes, **more)


RESIZED: list[tuple[Any, Any]] = [
    ("nearest", None),
    ("bilinear", False),
    ("bilinear", True),
]  # Any: as PyTorch has it
THEIRS = {
    "hardswish": ("hardswish", "hard_swish"),
    "log_sigmoid": ("logsigmoid", "log_sigmoid"),
    "softsign": ("softsign", "soft_sign"),
}


def _arrays(options: dict[str, Any]) -> dict[str, Any]:  # Any: of every option
    return {k: np.array(v, np.float64) if k == "weight" else v for k, v in options.items()}


CASES: dict[str, Case] = {
    "add": alike(wg.add, lambda m, a, b: a + b, PAIR),
    "subtract": alike(wg.subtract, lambda m, a, b: a - b, PAIR),
    "multiply": alike(wg.multiply, lambda m, a, b: a * b, PAIR),
    "divide": alike(wg.divide, lambda m, a, b: a / b, PAIR, positive=True),
    "pow": alike(wg.pow, lambda m, a, b: a**b, PAIR, positive=True),
    "maximum": alike(wg.maximum, lambda m, a, b: m.maximum(a, b), PAIR),
    "minimum": alike(wg.minimum, lambda m, a, b: m.minimum(a, b), PAIR),
    "matmul": alike(wg.matmul, lambda m, a, b: a @ b, ((2, 3, 4), (4, 5))),
    "tensordot": Case(
        lambda a, b: wg.tensordot(a, b, axes=2),
        lambda t, f, a, b: t.tensordot(a, b, 2),
        lambda j, jax, a, b: j.tensordot(a, b, 2),
        ((2, 3, 4), (3, 4, 5)),
    ),
    "einsum": alike(
        lambda a, b: wg.einsum("bij,bjk->bk", a, b),
        lambda m, a, b: m.einsum("bij,bjk->bk", a, b),
        ((2, 3, 4), (2, 4, 5)),
    ),
    "where": Case(
        lambda a, b: wg.where(MASK, a, b),
        lambda t, f, a, b: t.where(t.as_tensor(MASK), a, b),
        lambda j, jax, a, b: j.where(MASK, a, b),
        PAIR,
    ),
    **{
        name: alike(getattr(wg, name), lambda m, x, name=name: getattr(m, name)(x))
        for name in ("abs", "square", "exp", "expm1", "sin", "cos", "tanh")
    },
    **{
        name: alike(getattr(wg, name), lambda m, x, name=name: getattr(m, name)(x), positive=True)
        for name in ("sqrt", "log", "log1p")
    },
    **{
        name: Case(
            getattr(wg, name),
            lambda t, f, x, name=name: getattr(f, name)(x),
            lambda j, jax, x, name=name: getattr(jax.nn, name)(x),
        )
        for name in ("relu", "sigmoid", "softplus", "silu")
    },
    "erf": Case(wg.erf, lambda t, f, x: t.erf(x), lambda j, jax, x: jax.scipy.special.erf(x)),
    "gelu": Case(wg.gelu, lambda t, f, x: f.gelu(x), lambda j, jax, x: jax.nn.gelu(x, approximate=False)),
    "sum": alike(lambda x: wg.sum(x, axis=0), lambda m, x: x.sum(0)),
    "mean": alike(lambda x: wg.mean(x, axis=1), lambda m, x: x.mean(1)),
    "prod": alike(lambda x: wg.prod(x, axis=1), lambda m, x: x.prod(1)),
    "var": Case(
        lambda x: wg.var(x, axis=1),
        lambda t, f, x: t.var(x, 1, correction=0),
        lambda j, jax, x: x.var(1),
    ),
    "std": Case(
        lambda x: wg.std(x, axis=1, correction=1),
        lambda t, f, x: t.std(x, 1),
        lambda j, jax, x: x.std(1, ddof=1),
    ),
    "cumulative_sum": alike(lambda x: wg.cumulative_sum(x, axis=0), lambda m, x: x.cumsum(0)),
    "logsumexp": Case(
        lambda x: wg.logsumexp(x, axis=1),
        lambda t, f, x: t.logsumexp(x, 1),
        lambda j, jax, x: jax.nn.logsumexp(x, 1),
    ),
    "softmax": Case(
        lambda x: wg.softmax(x, axis=0),
        lambda t, f, x: f.softmax(x, 0),
        lambda j, jax, x: jax.nn.softmax(x, 0),
    ),
    "log_softmax": Case(
        lambda x: wg.log_softmax(x),
        lambda t, f, x: f.log_softmax(x, -1),
        lambda j, jax, x: jax.nn.log_softmax(x),
    ),
    "cross_entropy": Case(
        lambda x: wg.cross_entropy(x, LABELS),
        lambda t, f, x: f.cross_entropy(x, t.as_tensor(LABELS)),
        lambda j, jax, x: -jax.nn.log_softmax(x)[np.arange(4), LABELS].mean(),
    ),
    **{
        name: Case(
            getattr(wg, name),
            lambda t, f, x, name=name: getattr(f, THEIRS.get(name, (name, name))[0])(x),
            lambda j, jax, x, name=name: getattr(jax.nn, THEIRS.get(name, (name, name))[1])(x),
        )
        for name in ("leaky_relu", "elu", "celu", "selu", "hardswish", "softsign", "log_sigmoid", "mish")
    },
    "glu": Case(wg.glu, lambda t, f, x: f.glu(x), lambda j, jax, x: jax.nn.glu(x), ((3, 4),)),
    "prelu": Case(
        wg.prelu,
        lambda t, f, x, w: f.prelu(x, w),
        lambda j, jax, x, w: j.where(x > 0, x, w[:, None] * x),
        ((2, 3, 4), (3,)),
    ),
    **{
        f"cross_entropy {i}": Case(
            lambda x, o=o: wg.cross_entropy(x, IGNORED, **_arrays(o)),
            lambda t, f, x, o=o: f.cross_entropy(
                x,
                t.as_tensor(IGNORED),
                **{k: t.as_tensor(v, dtype=t.float64) if k == "weight" else v for k, v in o.items()},
            ),
            None,
        )
        for i, o in enumerate(
            [
                {"ignore_index": -100},
                {"ignore_index": -100, "weight": [1.0, 2.0, 0.5]},
                {"ignore_index": -100, "weight": [1.0, 2.0, 0.5], "label_smoothing": 0.1},
                {"ignore_index": -100, "label_smoothing": 0.1, "reduction": "sum"},
            ]
        )
    },
    "cross_entropy of images": Case(
        lambda x: wg.cross_entropy(x, IMAGE_LABELS, axis=1),
        lambda t, f, x: f.cross_entropy(x, t.as_tensor(IMAGE_LABELS)),
        None,
        ((2, 3, 2, 2),),
    ),
    "softmax_cross_entropy": Case(
        lambda x, p: wg.softmax_cross_entropy(x, p, weight=np.array([1.0, 2.0, 0.5], np.float64)),
        lambda t, f, x, p: f.cross_entropy(x, p, weight=t.tensor([1.0, 2.0, 0.5], dtype=t.float64)),
        None,
        ((4, 3), (4, 3)),
    ),
    **{
        name: Case(
            lambda a, b, name=name: getattr(wg, name)(a, b),
            lambda t, f, a, b, name=name: getattr(f, name)(a, b),
            None,
            ((4, 3), (4, 3)),
        )
        for name in (
            *("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"),
            *("cosine_similarity",),
        )
    },
    "kl_div": Case(
        lambda a, b: wg.kl_div(a, b, log_target=True, reduction="batchmean"),
        lambda t, f, a, b: f.kl_div(a, b, log_target=True, reduction="batchmean"),
        None,
        ((4, 3), (4, 3)),
    ),
    "triplet_margin_loss": Case(
        lambda a, p, n: wg.triplet_margin_loss(a, p, n, swap=True),
        lambda t, f, a, p, n: f.triplet_margin_loss(a, p, n, swap=True),
        None,
        ((4, 3), (4, 3), (4, 3)),
    ),
    "ctc_loss": Case(
        lambda x: wg.ctc_loss(wg.log_softmax(x), *SPELLED),
        lambda t, f, x: f.ctc_loss(f.log_softmax(x, -1), *map(t.as_tensor, SPELLED)),
        None,
        ((9, 3, 5),),
    ),
    "concat": Case(
        lambda a, b: wg.concat((a, b)),
        lambda t, f, a, b: t.concat((a, b)),
        lambda j, jax, a, b: j.concatenate((a, b)),
        ((2, 3), (4, 3)),
    ),
    "take": Case(
        lambda x: wg.take(x, LABELS, axis=0),
        lambda t, f, x: x[t.as_tensor(LABELS)],
        lambda j, jax, x: x[LABELS],
    ),
    "conv2d": Case(
        lambda x, k: wg.conv2d(x, k, stride=2, padding=1, dilation=(1, 2)),
        lambda t, f, x, k: f.conv2d(x, k, stride=2, padding=1, dilation=(1, 2)),
        lambda j, jax, x, k: jax.lax.conv_general_dilated(
            x, k, (2, 2), ((1, 1), (1, 1)), rhs_dilation=(1, 2)
        ),
        (IMAGES, KERNELS),
    ),
    **{
        f"{name} of {count}": Case(
            lambda x, k, name=name, how=how: getattr(wg, name)(x, k, **how),
            lambda t, f, x, k, name=name, how=how: getattr(f, name)(x, k, **how),
            None,
            shapes,
        )
        for count, (name, shapes, how) in enumerate(
            [
                ("conv1d", ((2, 4, 9), (6, 2, 3)), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}),
                ("conv2d", ((2, 4, 9, 8), (8, 1, 3, 3)), {"stride": 2, "padding": 1, "groups": 4}),
                ("conv2d", ((2, 16, 5, 5), (4, 8, 3, 3)), {"padding": 1, "groups": 2}),
                (
                    "conv3d",
                    ((2, 4, 5, 6, 7), (6, 2, 3, 2, 3)),
                    {"stride": (2, 1, 2), "padding": 1, "groups": 2},
                ),
                ("conv_transpose1d", ((2, 4, 5), (4, 3, 3)), {"stride": 2, "output_padding": 1, "groups": 2}),
                (
                    "conv_transpose2d",
                    ((2, 4, 5, 3), (4, 3, 3, 2)),
                    {"stride": (2, 3), "padding": 1, "groups": 2},
                ),
                (
                    "conv_transpose3d",
                    ((2, 4, 3, 4, 3), (4, 3, 2, 3, 2)),
                    {"stride": (2, 1, 3), "padding": (1, 0, 1)},
                ),
            ]
        )
    },
    **{
        f"interpolate {mode} {align}": Case(
            lambda x, mode=mode, align=align: wg.interpolate(x, (7, 2), mode=mode, align_corners=bool(align)),
            lambda t, f, x, mode=mode, align=align: f.interpolate(x, (7, 2), mode=mode, align_corners=align),
            None,
            ((2, 3, 5, 4),),
        )
        for mode, align in RESIZED
    },
    "adaptive_avg_pool2d": Case(
        lambda x: wg.adaptive_avg_pool2d(x, (3, 2)),
        lambda t, f, x: f.adaptive_avg_pool2d(x, (3, 2)),
        None,
        (IMAGES,),
    ),
    "adaptive_max_pool2d": Case(
        lambda x: wg.adaptive_max_pool2d(x, (3, 2)),
        lambda t, f, x: f.adaptive_max_pool2d(x, (3, 2)),
        None,
        (IMAGES,),
    ),
    "pixel_shuffle": Case(
        lambda x: wg.pixel_shuffle(x, 2), lambda t, f, x: f.pixel_shuffle(x, 2), None, ((2, 8, 3, 2),)
    ),
    "max_pool2d": Case(
        lambda x: wg.max_pool2d(x, 3, stride=2),
        lambda t, f, x: f.max_pool2d(x, 3, stride=2),
        lambda j, jax, x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "VALID"),
        (IMAGES,),
    ),
    "avg_pool2d": Case(
        lambda x: wg.avg_pool2d(x, (2, 3), stride=1),
        lambda t, f, x: f.avg_pool2d(x, (2, 3), stride=1),
        lambda j, jax, x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 2, 3), (1, 1, 1, 1), "VALID") / 6,
        (IMAGES,),
    ),
}


def torchs(case: Case, operands: list[Array], g: Array) -> tuple[Any, list[Any]]:
    """Any: tensors. The value, and the derivatives of its sum times `g`."""
    torch: Any = pytest.importorskip("torch", reason="PyTorch is with the benchmarks, not with the tests")
    xs = [torch.tensor(x, requires_grad=True) for x in operands]
    value = case.torch(torch, torch.nn.functional, *xs)
    return value.detach(), list(torch.autograd.grad(value, xs, torch.as_tensor(g)))


def jaxs(case: Case, operands: list[Array], g: Array) -> tuple[Any, list[Any]]:
    """Any: arrays of JAX. The same."""
    jax: Any = pytest.importorskip("jax", reason="JAX is with the benchmarks, not with the tests")
    assert case.jax is not None
    with jax.enable_x64(True):
        value, pull = jax.vjp(lambda *xs: case.jax(jax.numpy, jax, *xs), *map(jax.numpy.asarray, operands))
        return value, list(pull(jax.numpy.asarray(g)))


def compared(case: Case, peer: Callable[..., tuple[Any, list[Any]]], seed: int) -> None:
    chance = np.random.default_rng(seed)
    operands: list[Array] = [chance.normal(size=shape) for shape in case.shapes]
    if case.positive:
        operands = [np.abs(x) + 0.25 for x in operands]
    value = np.asarray(case.ours(*operands).predict().run())
    g: Array = chance.uniform(0.5, 1.5, value.shape)
    wanted, theirs = peer(case, operands, g)
    assert_allclose(value, np.asarray(wanted), rtol=1e-10, atol=1e-12)
    for delta, their in zip(deltas_at_layers(case.ours, tuple(operands), g), theirs, strict=True):
        assert_allclose(delta, np.asarray(their), rtol=1e-10, atol=1e-12)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 30


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("peer", [torchs, jaxs])
def test_values_and_derivatives_agree(name: str, peer: Callable[..., tuple[Any, list[Any]]]) -> None:
    if peer is jaxs and CASES[name].jax is None:
        return
    for seed in range(3):
        compared(CASES[name], peer, seed)


@pytest.mark.parametrize("peer", [torchs, jaxs])
def test_a_wrong_derivative_is_found(peer: Callable[..., tuple[Any, list[Any]]]) -> None:
    wrong = alike(lambda x: wg.exp(x) - 0.0 * x, lambda m, x: m.exp(x) * (1 + 1e-9))
    with pytest.raises(AssertionError):
        compared(wrong, peer, 0)
