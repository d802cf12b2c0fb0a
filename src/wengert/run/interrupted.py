"""What a plan says to the interpreter.

Knows: that a run by a plan may have to be made again.
Refuses to know: plans, so that nothing is loaded before there is one.
"""

from __future__ import annotations


class Interrupted(Exception):
    """A program failed before anything had changed: the interpreter runs the expression, and says why."""
