"""L-BFGS: a whole model fitted to one loss, by values and gradients at points that the minimizer asks for.

Knows: that an iteration evaluates the loss at several points before it takes a step, which a plugin, whose parts see
one delta a commit, cannot; so it is a function over `gradients(at=)` and `assign`, and SciPy's L-BFGS-B minimizes.
Refuses to know: how steps are found, and batches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.arrays import is_integer
from wengert.arrays.vectors import Vector, as_vector, from_vector
from wengert.control import Executor, gather
from wengert.errors import ArgumentError, NonFiniteError
from wengert.graph.weights import Weight, data_of
from wengert.models import weights as weights_in
from wengert.packages import optional
from wengert.run import assign, gradients, predict
from wengert.run.ask import Loss
from wengert.site import user_position


class Minimum(NamedTuple):
    """Loss at the end, iterations and evaluations of it, and whether the minimizer says that it is at a minimum."""

    loss: float
    iterations: int
    evaluations: int
    converged: bool


def lbfgs(
    loss: Loss,
    model: object,
    *,
    iterations: int = 100,
    history: int = 10,
    tolerance: float = 1e-5,
    executor: Executor | None = None,
) -> Minimum:
    """Minimize a loss by the weights of a model with L-BFGS, and assign the weights of the least loss in one commit.

    The loss is one expression of all data, without chance. `history` pairs of steps and changes of the gradient stand
    for the matrix; it ends after so many `iterations`, or where no element of the gradient is above `tolerance`. Points
    are vectors of doubles, and the weights keep their dtypes. No plugin of the weights takes part. ArgumentError for a
    model without weights; NonFiniteError where the loss is not finite at the first point; PackageError without SciPy
    (the extra `examples`).
    >>> import numpy as np, wengert as wg
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.1).array_weight(np.zeros(2), name="w")
    >>> found = lbfgs(wg.sum(wg.square(w - np.array([1.0, 2.0]))), [w])
    >>> w.data.round(6).tolist(), found.converged
    ([1.0, 2.0], True)

    Source: D. Liu, J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989; SciPy's
    `minimize(method="L-BFGS-B")`.
    """
    weights: list[Weight] = [*weights_in(model).values()]
    if not weights:
        raise ArgumentError(f"lbfgs: the model has no weights to minimize by\n  at {user_position()}")
    for what, n in (("iterations", iterations), ("history", history)):
        if not is_integer(n) or int(n) < 1:
            raise ArgumentError(
                f"lbfgs: {what} is an integer from 1 on; got {n!r:.60}\n  at {user_position()}"
            )
    minimize = optional("scipy.optimize", "SciPy", "lbfgs", "examples").minimize
    start = [data_of(weight) for weight in weights]
    scalar: Any = loss  # Any: of one of the three columns

    def at(vector: Vector) -> tuple[float, Vector]:
        point: Any = dict(zip(weights, from_vector(vector, start), strict=True))
        asked: Any = gather(predict(scalar, at=point), gradients(scalar, weights, at=point))
        value, deltas = asked.run(executor)
        return float(value), as_vector(*deltas)

    first = as_vector(*start)
    value, _ = at(first)
    if not abs(value) < float("inf"):
        raise NonFiniteError(
            f"lbfgs: the loss is {value} before the first step, so all weights stay as they are"
        )
    options = {"maxiter": int(iterations), "maxcor": int(history), "gtol": tolerance, "ftol": 0.0}
    found = minimize(at, first, jac=True, method="L-BFGS-B", options=options)
    if float(found.fun) <= value:
        best: Any = dict(zip(weights, from_vector(found.x, start), strict=True))
        assign(best).run(executor)
    return Minimum(min(float(found.fun), value), int(found.nit), int(found.nfev), bool(found.success))
