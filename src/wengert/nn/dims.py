"""The type variables of layers: sizes that a checker knows, each named for what it counts.

Knows: names; their default is Any, so that a layer's bare name is a type.
Refuses to know: layers.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar

from wengert.arrays import Float32, Floating

# Any, as a default: not known to the checker, which agrees with every size.
In = TypeVar("In", bound=int, default=Any)
Out = TypeVar("Out", bound=int, default=Any)
Rows = TypeVar("Rows", bound=int, default=Any)
Width = TypeVar("Width", bound=int, default=Any)
Hidden = TypeVar("Hidden", bound=int, default=Any)
Heads = TypeVar("Heads", bound=int, default=Any)
Kernel = TypeVar("Kernel", bound=int, default=Any)
Stride = TypeVar("Stride", bound=int, default=Any)
Padding = TypeVar("Padding", bound=int, default=Any)
Layers = TypeVar("Layers", default=Any)

N = TypeVar("N", bound=Floating, default=Float32)  # the element type of what `make` makes
