"""The network that decides, in five styles that train the same (D39 to D44)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.test_examples import Quiet, example


def states(net: Any) -> list[Any]:  # Any: the example's own class
    """Every weight and what its optimizer remembers, as plain data."""
    return [
        [
            w.data.tolist(),
            {k: np.asarray(v).tolist() for k, v in vars(w.optimizer).items() if not k.endswith("settings")},
        ]
        for w in net.weights()
    ]


def test_the_four_gated_styles_train_bit_for_bit_alike() -> None:  # D44
    module = example("gated")
    trained = {}
    for name, style in module.STYLES.items():
        net = module.Gated()
        trained[name] = (module.train(style, net, rounds=4), states(net))
    assert all(result == trained["direct"] for result in trained.values())


COUNTS = {
    "naive": {"input": 3, "gate": 3},
    "monadic": {"input": 1, "gate": 1},
    "applicative": {"input": 1, "gate": 1},
    "direct": {"input": 1, "gate": 1},
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("better", ["left", "right", "neither"])
def test_only_the_better_sub_network_runs_and_learns(name: str, better: str) -> None:  # D39 to D41, D43, D44
    module = example("gated")
    net = scored(module, better)
    chosen = "left" if better == "left" else "right"  # equal scores choose right
    before = states(net)
    x = np.array([1.0, -0.5, 0.25, 2.0], np.float32)
    module.CALLS.clear()
    module.square_loss(module.STYLES[name](net, module.in_input(x)), np.zeros(3, np.float32)).train().run()
    assert dict(module.CALLS) == {**COUNTS[name], chosen: 1}
    changed = {w.name for w, old, new in zip(net.weights(), before, states(net), strict=True) if old != new}
    expected = {"l", "left"} if chosen == "left" else {"r", "right"}
    assert changed == {*expected, "gate"}  # a delta of zero is a delta: it reaches the optimizer (D127)


def scored(module: Any, better: str) -> Any:  # Any: the example's module and class
    """A network whose gate gives the better sub-network a score of about 1, the other one 0; or 0 to both."""
    net = module.Gated()
    settings = module.Settings(learning_rate=0.1)
    sees = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
    nothing = np.zeros(4, np.float32)
    net.left_score = settings.array_weight(sees if better == "left" else nothing, name="l")
    net.right_score = settings.array_weight(sees if better == "right" else nothing, name="r")
    net.gate = settings.array_weight(np.eye(4, dtype=np.float32), name="gate")
    return net


def test_the_mixed_network_runs_both_sub_networks() -> None:  # D42, without the threads
    module = example("gated")
    module.CALLS.clear()
    x = module.in_input(np.ones(4, np.float32))
    module.parallel_by_default(module.Gated(), x).predict().run()
    assert module.CALLS == {"input": 1, "gate": 1, "left": 1, "right": 1}


@pytest.mark.slow
def test_gated_runs_and_learns(capsys: Quiet) -> None:
    losses = example("gated").main()
    assert all(np.mean(found[-16:]) < 0.5 * np.mean(found[:16]) for found in losses.values())
    assert "had the same losses" in capsys.readouterr().out
