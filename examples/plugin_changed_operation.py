"""A plugin that changes an operation: relu lets a little of what is negative through, in some runs.

What the network is made of stays as it is. An executor that is given the plugin's rules follows them; every other
run, also of the same expression, is as before.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import wengert as wg
from wengert.extend import Case, Rules, kinds
from wengert.plugins import SGD, Plugin, merged_rules

Value = Any  # numbers and arrays of every type


def _leaky(case: Case, x: Value) -> Value:
    return case.xp.where(case.xp.greater(x, 0.0), x, 0.1 * x)


def _steepness(case: Case, g: Value, y: Value, x: Value) -> Value:
    return case.xp.where(case.xp.greater(x, 0.0), g, 0.1 * g)


def _rounded(case: Case, a: Value, b: Value) -> Value:
    return case.xp.matmul(a, (b * 16.0).round() / 16.0)


class LeakyRelu(Plugin):
    """relu with a slope below 0: another value and another derivative."""

    rules: ClassVar[dict[Any, Any]] = {wg.relu: Rules(kinds.elementwise, _leaky, (_steepness,))}


class Rounded(Plugin):
    """matmul with weights rounded to sixteenths: another value, the usual derivatives."""

    rules: ClassVar[dict[Any, Any]] = {wg.matmul: _rounded}


class Settings(LeakyRelu, Rounded, SGD): ...


def main() -> tuple[list[list[float]], list[list[float]]]:
    """One network, predicted in both ways."""
    settings = Settings(learning_rate=0.1)
    w = settings.array_weight(np.array([[0.51, -0.26]], np.float64), name="w")
    layer = wg.relu(wg.matmul(np.array([[2.0]], np.float64), w))
    usual = layer.predict().run().tolist()
    changed = layer.predict().run(wg.run.Sequential(rules=merged_rules(Settings))).tolist()
    print(f"relu: {usual}; by the plugins' rules: {changed}, in that run and in no other")
    return usual, changed


if __name__ == "__main__":
    main()
