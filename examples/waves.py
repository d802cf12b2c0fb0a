"""Sine waves continued by an LSTM that SciPy's L-BFGS trains: a method that sees a function of one long vector.

`predict` and `gradients` take the data of weights by `at=`, so a point is tried without touching the model, and one
`gather` gives value and gradient of it in one run; `assign` puts the best point into the weights.

Source: the time_sequence_prediction of PyTorch's examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

import wengert as wg
from wengert import nn
from wengert.plugins import SGD

Data = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Network:
    """The next value of each of several sequences, at every time."""

    cell: nn.LSTMCell[Any, Any, np.float64]
    out: nn.Linear[Any, Any, np.float64]

    def __call__(self, waves: Data, future: int = 0) -> wg.ArrayLayer[Any, np.float64]:
        """Its answers for the times given, and for so many more, at which it reads its own."""
        answers: list[wg.ArrayLayer[Any, np.float64]] = []
        state = None
        for t in range(waves.shape[1] + future):
            x = wg.lift(waves[:, t : t + 1]) if t < waves.shape[1] else answers[-1]
            state = self.cell(x, state)
            answers.append(self.out(state[0]))
        return wg.concat(answers, axis=1)


def network() -> Network:
    """A new one; the learning rate of its settings is never used."""
    settings, chance = SGD(learning_rate=0.0), np.random.default_rng(0)
    return Network(
        nn.LSTMCell.make(settings, 1, 12, seed=chance, dtype=np.float64),
        nn.Linear.make(settings, 12, 1, seed=chance, dtype=np.float64),
    )


def main(steps: int = 60) -> tuple[float, float, float]:
    """Train; the loss before and after, and the error of what it goes on with by itself."""
    phases = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)[:, None]
    waves: Data = np.sin(phases + 0.4 * np.arange(50.0))
    given = waves[:, :30]
    net = network()
    weights = [*nn.weights(net).values()]
    ends = np.cumsum([w.data.size for w in weights])[:-1]
    loss = wg.mean(wg.square(net(given[:, :-1]) - given[:, 1:]))

    def at(flat: Data) -> dict[wg.ArrayWeight[Any, Any], Data]:
        parts = np.split(flat, ends)
        return {w: part.reshape(w.shape) for w, part in zip(weights, parts, strict=True)}

    def value_and_gradient(flat: Data) -> tuple[float, Data]:
        here = at(flat)
        value, deltas = wg.gather(loss.predict(at=here), wg.gradients(loss, weights, at=here)).run()
        return float(value), np.concatenate([np.ravel(d) for d in deltas])

    start = np.concatenate([w.data.ravel() for w in weights])
    before = float(loss.predict().run())
    best = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    wg.assign(at(best.x)).run()
    after = float(loss.predict().run())
    continued = net(given, future=19).predict().run()[:, -20:]
    error = float(np.abs(continued - waves[:, 30:]).mean())
    print(f"loss {before:.4f}, {after:.6f} after {best.nit} steps; mean error of 20 values more: {error:.3f}")
    return before, after, error


if __name__ == "__main__":
    main()
