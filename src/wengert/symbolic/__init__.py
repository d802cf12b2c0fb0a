"""Rules of operations on expressions in place of arrays: what derivatives of derivatives come from.

Knows: the public names.
Refuses to know: whose rules they are, and in which order they are applied.
"""

from __future__ import annotations

from wengert.symbolic.namespace import Symbolic
from wengert.symbolic.symbol import Symbol, bare, constant, fitted

__all__ = ["Symbol", "Symbolic", "bare", "constant", "fitted"]
