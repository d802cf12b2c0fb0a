"""The operations behind Python's operators, as names; `ops` gives them their rules (S1: no meaning here).

Knows: which nine operations have an operator.
Refuses to know: what they compute.
"""

from __future__ import annotations

from typing import Final

from wengert.graph.operation import Operation

ADD: Final = Operation.declared("add")
SUBTRACT: Final = Operation.declared("subtract")
MULTIPLY: Final = Operation.declared("multiply")
DIVIDE: Final = Operation.declared("divide")
POW: Final = Operation.declared("pow")
MATMUL: Final = Operation.declared("matmul")
NEGATIVE: Final = Operation.declared("negative")
ABS: Final = Operation.declared("abs")
GETITEM: Final = Operation.declared("getitem")
