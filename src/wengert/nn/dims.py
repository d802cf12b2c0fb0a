"""The type variables of layers: sizes that a checker knows, each named for what it counts.

Knows: names; their default is Any, so that a layer's bare name is a type.
Refuses to know: layers.
"""

from __future__ import annotations

from typing import Any

from wengert.arrays import Cpu, Float32, Floating, Gpu
from wengert.generics import TypeVar

# Any, as a default: not known to the checker, which agrees with every size. Covariant, so that a list of layers of
# several sizes is a list of layers: data of weights are never assigned by type.
In = TypeVar("In", bound=int, default=Any, covariant=True)
Other = TypeVar("Other", bound=int, default=Any, covariant=True)
Out = TypeVar("Out", bound=int, default=Any, covariant=True)
Rows = TypeVar("Rows", bound=int, default=Any, covariant=True)
Width = TypeVar("Width", bound=int, default=Any, covariant=True)
Hidden = TypeVar("Hidden", bound=int, default=Any, covariant=True)
Heads = TypeVar("Heads", bound=int, default=Any, covariant=True)
Kernel = TypeVar("Kernel", bound=int, default=Any, covariant=True)
Stride = TypeVar("Stride", bound=int, default=Any, covariant=True)
Padding = TypeVar("Padding", bound=int, default=Any, covariant=True)
Dilation = TypeVar("Dilation", bound=int, default=Any, covariant=True)
Groups = TypeVar("Groups", bound=int, default=Any, covariant=True)
Layers = TypeVar("Layers", default=Any)
# how many cells stand above each other, and in how many directions
Depth = TypeVar("Depth", bound=int, default=Any, covariant=True)
Ways = TypeVar("Ways", bound=int, default=Any, covariant=True)

N = TypeVar("N", bound=Floating, default=Float32)  # the element type of what `make` makes
On = TypeVar("On", bound=Cpu | Gpu, default=Cpu)  # the device of what `make` makes
