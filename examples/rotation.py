"""Weights of types of your own: a rotation as a unit quaternion, and an orthogonal matrix.

Neither set is a vector space, so w - rate · d leaves it. A weight of a type of yours says itself how it takes a step:

- `Rotation` is a quaternion of length 1. Its delta is the angular velocity, three numbers; a step turns it further,
  by a product of quaternions. `wg.multiply` has a rule for it: `a * b` is one rotation after another.
- `Orthogonal` is a matrix with orthonormal columns. Its delta is the tangent part of the Euclidean gradient; what an
  optimizer makes of it is projected again, and the QR decomposition brings the sum back on the manifold (a retraction).

Adam, momentum and every other optimizer step both: they see deltas that are arrays. Files have them as arrays.

Source: P.-A. Absil, R. Mahony, R. Sepulchre, "Optimization Algorithms on Matrix Manifolds", 2008, sections 3.6 and 4.1.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.extend import Case, kinds, operation
from wengert.plugins import Adam, LearningRate
from wengert.saving import load, save
from wengert.testing import check_type_laws

Array = np.ndarray[Any, np.dtype[np.float64]]


class Settings(Adam, LearningRate): ...


# -- A rotation ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rotation:
    """A rotation in space: a quaternion (w, x, y, z) of length 1."""

    q: Array

    def __mul__(self, other: Rotation, /) -> Rotation:
        (a, *_), u = self.q, self.q[1:]
        (b, *_), v = other.q, other.q[1:]
        q = np.array([a * b - u @ v, *(a * v + b * u + np.cross(u, v))])
        return Rotation(q / np.linalg.norm(q))

    def matrix(self) -> Array:
        """The matrix that turns rows."""
        w, x, y, z = self.q
        left = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
        right = np.array([[w, x, y, z], [-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])
        turned: Array = (left @ right)[1:, 1:].T
        return turned

    # what a weight of this type needs: `wengert.extend.Parameter`

    def zero_delta(self) -> Array:
        return np.zeros(3)

    def stepped(self, step: Array, /) -> Rotation:
        angle = np.linalg.norm(step)
        axis = step / angle if angle else step
        return Rotation(np.array([np.cos(angle / 2.0), *(-np.sin(angle / 2.0) * axis)])) * self

    def to_array(self) -> Array:
        return self.q

    def from_array(self, array: Array, /) -> Rotation:
        return Rotation(array)


@wg.register(Rotation)
def rotation(x: Rotation) -> wg.Do[wg.Tape[Rotation, Array]]:
    """A rotation that is no weight is a literal: it has no use for a delta."""
    return wg.Do.now(wg.Tape(x, lambda delta: wg.UnitContinuation.now(None)))


def _product(case: Case, a: Rotation, b: Rotation) -> Rotation:
    return a * b


def _left(case: Case, g: Array, y: Rotation, a: Rotation, b: Rotation) -> Array:
    return g  # turning y and turning a, the last of both rotations, is the same


def _right(case: Case, g: Array, y: Rotation, a: Rotation, b: Rotation) -> Array:
    return g @ a.matrix().T  # the velocity as it is before a turns it


wg.multiply.rule(Rotation, Rotation, infer=kinds.of(Rotation), value=_product, derivatives=(_left, _right))


def _velocity(case: Case, g: Array, y: Array, points: Array, a: Rotation) -> Array:
    velocity: Array = np.cross(y, g).sum(axis=0)  # v moves a point y by v × y
    return velocity


@operation(
    lambda kinds: kinds[0],
    lambda case, points, a: points @ a.matrix(),
    lambda case, g, y, points, a: g @ a.matrix().T,
    _velocity,
)
def turned(
    points: wg.ArrayExpression[Any, np.float64], a: wg.Differentiable[Rotation, Array], /
) -> wg.ArrayLayer[Any, np.float64]:
    """Points, a row each, after a rotation."""
    raise NotImplementedError  # never called: the four functions above are what it does


# -- An orthogonal matrix --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Orthogonal:
    """A matrix with orthonormal columns: a point of the Stiefel manifold."""

    x: Array

    def tangent(self, delta: Array) -> Array:
        """The part of a delta along the manifold: the other part is what holds the columns in place."""
        inside = self.x.T @ delta
        along: Array = delta - self.x @ (inside + inside.T) / 2.0
        return along

    def zero_delta(self) -> Array:
        return np.zeros_like(self.x)

    def stepped(self, step: Array, /) -> Orthogonal:
        q, r = np.linalg.qr(self.x - self.tangent(step))
        return Orthogonal(q * np.where(np.diag(r) < 0.0, -1.0, 1.0))  # the one near x: QR has 2^k answers

    def to_array(self) -> Array:
        return self.x

    def from_array(self, array: Array, /) -> Orthogonal:
        return Orthogonal(array)


@wg.register(Orthogonal)
def orthogonal(x: Orthogonal) -> wg.Do[wg.Tape[Orthogonal, Array]]:
    """As of a rotation."""
    return wg.Do.now(wg.Tape(x, lambda delta: wg.UnitContinuation.now(None)))


@operation(
    kinds.of(Array),
    lambda case, points, w: points @ w.x,
    lambda case, g, y, points, w: g @ w.x.T,
    lambda case, g, y, points, w: w.tangent(points.T @ g),
)
def projected(
    points: wg.ArrayExpression[Any, np.float64], w: wg.Differentiable[Orthogonal, Array], /
) -> wg.ArrayLayer[Any, np.float64]:
    """Points, a row each, in the coordinates of the columns."""
    raise NotImplementedError  # as of `turned`


# -- Training, and a checkpoint in the middle of it ------------------------------------------------------------


class Model:
    """Two rotations, one after the other, of which only the product is known; and the plane of most variance."""

    def __init__(self, rate: float = 0.05) -> None:
        settings, turn = Settings(learning_rate=rate), np.zeros(4)
        turn[0] = 1.0
        self.first = settings.data_weight(Rotation(turn))
        self.second = settings.data_weight(Rotation(turn))
        self.plane = settings.data_weight(Orthogonal(np.eye(5)[:, :2]))


def points_of(seed: int) -> tuple[Array, Array, Array]:
    """Points in space, where they have been turned to, and points in 5 dimensions that vary mostly in two."""
    random = np.random.default_rng(seed)
    points, q = random.standard_normal((50, 3)), random.standard_normal(4)
    spread = np.array([3.0, 2.0, 0.5, 0.3, 0.1])
    basis, _ = np.linalg.qr(random.standard_normal((5, 5)))
    return (
        points,
        points @ Rotation(q / np.linalg.norm(q)).matrix(),
        random.standard_normal((200, 5)) * spread @ basis,
    )


def steps(model: Model, count: int, seed: int = 0) -> list[float]:
    """Train; the losses. The second summand is the variance that the plane leaves out."""
    points, wanted, wide = points_of(seed)
    losses = []
    for _ in range(count):
        apart = wg.mean(wg.square(turned(points, model.second * model.first) - wanted))
        explained = wg.sum(wg.square(projected(wide, model.plane))) / float(len(wide))
        losses.append(float((apart - explained).train().run()))
    return losses


def main(count: int = 400) -> tuple[Model, Model]:
    """Train, save in the middle, go on from the file with another model; returns both."""
    check_type_laws(
        rotation, [Rotation(np.array([0.6, 0.0, 0.8, 0.0]))], deltas=[np.array([0.1, -0.2, 0.3])], same=same
    )
    check_type_laws(orthogonal, [Orthogonal(np.eye(3)[:, :2])], deltas=[np.ones((3, 2)) * 0.1], same=same)
    model, resumed = Model(), Model()
    first = steps(model, count // 2)
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "model.safetensors", model)
        load(Path(folder) / "model.safetensors", resumed)
    rest = steps(model, count // 2)
    again = steps(resumed, count // 2)
    print(f"loss {first[0]:.4f}, {rest[-1]:.4f} after {count} steps")
    print(f"the resumed one, bit for bit: {rest == again}")
    columns = model.plane.data.x
    print(f"the columns are orthonormal up to {np.abs(columns.T @ columns - np.eye(2)).max():.0e}")
    return model, resumed


def same(a: Any, b: Any) -> bool:  # Any: rotations, matrices, and deltas of both
    """Whether two values are the same bits."""
    left, right = (x if isinstance(x, np.ndarray) else x.to_array() for x in (a, b))
    return np.array_equal(left, right)


if __name__ == "__main__":
    main()
