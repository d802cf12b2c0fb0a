"""Agreement with PyTorch's double backward, an implementation that shares nothing with this one (an optional job)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from wengert.plugins import SGD

torch: Any = pytest.importorskip("torch", reason="PyTorch is with the benchmarks, not with the tests")
F: Any = torch.nn.functional if torch is not None else None  # Any: a module without types here

SETTINGS = SGD(learning_rate=0.1)
RANDOM = np.random.default_rng(0)
LABELS = np.array([0, 2, 1, 2])
Case = tuple[Callable[..., Any], Callable[..., Any], tuple[tuple[int, ...], ...]]  # Any: expressions, tensors


def normalised(x: Any, scale: Any, shift: Any) -> Any:
    """Any: expressions. Layer normalisation as it is written out."""
    apart = x - wg.mean(x, axis=-1, keepdims=True)
    spread = wg.var(x, axis=-1, keepdims=True)
    return apart / wg.sqrt(spread + 1e-5) * scale + shift


def formula(x: Any, scale: Any, shift: Any) -> Any:
    """Any: tensors. PyTorch's own `layer_norm` (2.13) has another third derivative than its formula."""
    apart = x - x.mean(-1, keepdim=True)
    return apart / torch.sqrt((apart * apart).mean(-1, keepdim=True) + 1e-5) * scale + shift


CASES: dict[str, Case] = {
    "conv2d": (
        lambda x, k: wg.conv2d(x, k, stride=2, padding=1, dilation=(1, 2)),
        lambda x, k: F.conv2d(x, k, stride=2, padding=1, dilation=(1, 2)),
        ((2, 3, 7, 8), (4, 3, 3, 2)),
    ),
    "max_pool2d": (
        lambda x: wg.max_pool2d(x, 3, stride=2, padding=1),
        lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
        ((2, 3, 7, 7),),
    ),
    "avg_pool2d": (
        lambda x: wg.avg_pool2d(x, (2, 3), stride=1, padding=1),
        lambda x: F.avg_pool2d(x, (2, 3), stride=1, padding=1),
        ((2, 3, 5, 6),),
    ),
    "softmax": (lambda x: wg.softmax(x, axis=0), lambda x: torch.softmax(x, 0), ((4, 3),)),
    "log_softmax": (lambda x: wg.log_softmax(x), lambda x: torch.log_softmax(x, -1), ((4, 3),)),
    "logsumexp": (lambda x: wg.logsumexp(x, axis=1), lambda x: torch.logsumexp(x, 1), ((4, 3),)),
    "cross_entropy": (
        lambda x: wg.cross_entropy(x, LABELS),
        lambda x: F.cross_entropy(x, torch.as_tensor(LABELS)),
        ((4, 3),),
    ),
    "layer norm": (normalised, formula, ((3, 5), (5,), (5,))),
    "matmul": (lambda a, b: a @ b, lambda a, b: a @ b, ((2, 3, 4), (4, 5))),
    "matmul of a vector": (lambda a, b: a @ b, lambda a, b: a @ b, ((2, 3, 4), (4,))),
    "einsum": (
        lambda q, k, v: wg.einsum("bthd,bshd,bshe->bhte", q, k, v),
        lambda q, k, v: torch.einsum("bthd,bshd,bshe->bhte", q, k, v),
        ((2, 3, 2, 4), (2, 5, 2, 4), (2, 5, 2, 3)),
    ),
    "gelu": (lambda x: wg.gelu(x), lambda x: F.gelu(x), ((3, 4),)),
    "embedding": (
        lambda x: wg.take(x, LABELS),
        lambda x: x[torch.as_tensor(LABELS)],
        ((3, 4),),
    ),
    "prod": (lambda x: wg.prod(x, axis=1), lambda x: torch.prod(x, 1), ((3, 4),)),
    "std": (lambda x: wg.std(x, axis=1, correction=1), lambda x: torch.std(x, 1), ((3, 4),)),
}


def ours(call: Callable[..., Any], values: list[Any]) -> list[Any]:
    """Any: expressions and arrays. The deltas of a penalty on the derivatives, and a derivative of its own."""
    xs: list[Any] = [SETTINGS.array_weight(v) for v in values]
    loss = wg.sum(wg.sin(call(*xs)))
    total: Any = 0.0
    for layer in wg.gradients(loss, xs).layers:
        total = wg.sum(layer * layer) + total
    seconds = wg.gradients(total, xs)
    third: Any = 0.0
    for layer in seconds.layers:
        third = wg.sum(wg.sin(layer)) + third
    return [*seconds.run(), *wg.gradients(third, xs).run()]


def theirs(call: Callable[..., Any], values: list[Any]) -> list[Any]:
    """Any: tensors and arrays."""
    xs = [torch.tensor(v, requires_grad=True) for v in values]

    def derivatives(loss: Any) -> Any:  # Any: tensors
        found = torch.autograd.grad(loss, xs, create_graph=True, allow_unused=True)
        return [torch.zeros_like(x) if d is None else d for d, x in zip(found, xs, strict=True)]

    total = sum((d * d).sum() for d in derivatives(torch.sin(call(*xs)).sum()))
    seconds = derivatives(total)
    thirds = derivatives(sum(torch.sin(d).sum() for d in seconds))
    return [d.detach().numpy() for d in (*seconds, *thirds)]


@pytest.mark.parametrize("name", CASES)
def test_second_and_third_derivatives_agree(name: str) -> None:
    call, peer, shapes = CASES[name]
    values = [RANDOM.normal(size=shape) for shape in shapes]
    for mine, wanted in zip(ours(call, values), theirs(peer, values), strict=True):
        assert_allclose(mine, wanted, rtol=1e-9, atol=1e-10 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.parametrize("name", CASES)
def test_products_and_jacobians_agree(name: str) -> None:
    call, peer, shapes = CASES[name]
    values, along = ([RANDOM.normal(size=shape) for shape in shapes] for _ in range(2))
    xs: list[Any] = [wg.literal(v) for v in values]
    y = wg.sin(call(*xs))
    loss = y if y.shape == () else wg.sum(y)
    directions = dict(zip(xs, along, strict=True))
    tensors, tangents = (tuple(map(torch.tensor, given)) for given in (values, along))
    functional = torch.autograd.functional

    def wanted(*operands: Any) -> Any:  # Any: tensors
        return torch.sin(peer(*operands))

    def total(*operands: Any) -> Any:  # Any: as above
        return wanted(*operands).sum()

    pairs = [
        (wg.jvp(y, directions).run(), functional.jvp(wanted, tensors, tangents)),
        (wg.hessian_product(loss, directions).run().values(), functional.hvp(total, tensors, tangents)[1]),
        (wg.jacobian(y, xs).run(), functional.jacobian(wanted, tensors)),
    ]
    for mine, theirs in pairs:
        for found, other in zip(mine, theirs, strict=True):
            size = max(1.0, float(other.abs().max()))
            assert_allclose(found, other.detach().numpy(), rtol=1e-9, atol=1e-10 * size)


def test_training_on_a_gradient_penalty_agrees() -> None:
    """Five steps: a loss, and how steep it is by its inputs (I. Gulrajani et al., 2017)."""
    w1, w2 = (RANDOM.normal(size=shape) / 2.0 for shape in ((4, 8), (8, 1)))
    x = RANDOM.normal(size=(6, 4))
    a, b = SETTINGS.array_weight(w1), SETTINGS.array_weight(w2)
    ta, tb = (torch.tensor(w, requires_grad=True) for w in (w1, w2))
    for _ in range(5):
        at = SETTINGS.array_weight(x)
        score = wg.tanh(at @ a) @ b
        (slope,) = wg.gradients(wg.sum(score), (at,)).layers
        steep = wg.sqrt(wg.sum(slope * slope, axis=1))
        loss = wg.mean(wg.square(steep - 1.0)) + wg.mean(wg.square(score))
        value = loss.train().run()
        tx = torch.tensor(x, requires_grad=True)
        tscore = torch.tanh(tx @ ta) @ tb
        (tslope,) = torch.autograd.grad(tscore.sum(), tx, create_graph=True)
        tsteep = (tslope * tslope).sum(1).sqrt()
        tloss = ((tsteep - 1.0) ** 2).mean() + (tscore**2).mean()
        da, db = torch.autograd.grad(tloss, (ta, tb))
        with torch.no_grad():
            ta -= 0.1 * da
            tb -= 0.1 * db
        assert_allclose(value, tloss.item(), rtol=1e-12)
        assert_allclose(a.data, ta.detach().numpy(), rtol=1e-11)
        assert_allclose(b.data, tb.detach().numpy(), rtol=1e-11)
