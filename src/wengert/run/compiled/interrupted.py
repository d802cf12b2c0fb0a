"""Signals of a program to the interpreter.

Knows: that a run by a plan may have to be made again, and that a refusal is told by the interpreter, which knows why.
Refuses to know: plans, so that nothing is loaded before there is one.
"""

from __future__ import annotations

from wengert.arrays import Value
from wengert.control import Run


class Interrupted(Exception):
    """A program failed before anything had changed: the interpreter runs the expression, and says why."""


def settle(run: Run, value: Value) -> None:
    """The last moment at which a run can stop with nothing changed: cancelled (D18), or with its loss refused."""
    try:
        run.settle(value)
    except Exception as refusal:
        raise Interrupted from refusal
