"""The operations behind Python's operators, as names; `ops` gives them their rules.

Knows: which nine operations have an operator.
Refuses to know: what they compute.
"""

from __future__ import annotations

from typing import Final

from wengert.graph.operation import Operation

ADD: Final = Operation("add", None)
SUBTRACT: Final = Operation("subtract", None)
MULTIPLY: Final = Operation("multiply", None)
DIVIDE: Final = Operation("divide", None)
POW: Final = Operation("pow", None)
MATMUL: Final = Operation("matmul", None)
NEGATIVE: Final = Operation("negative", None)
ABS: Final = Operation("abs", None)
GETITEM: Final = Operation("getitem", None)
