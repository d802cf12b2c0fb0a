"""OnDevice: on which device the weights of a settings object lie.

Knows: that an array is moved there before a weight copies it, and that layers made from sizes have their weights there.
Refuses to know: operations, which stay on the device of what they are given.
"""

from __future__ import annotations

from typing import Any, TypeVar

from wengert.arrays import ArrayLiteral, Cpu, Gpu, T, moved
from wengert.dims import Dimension
from wengert.errors import PluginError
from wengert.graph.literals import checked_array
from wengert.graph.weights import ArrayWeight, Buffer
from wengert.plugins.plugin import Plugin
from wengert.site import user_position

Anywhere = TypeVar("Anywhere", bound=Cpu | Gpu)  # where an array has been


class OnDevice(Plugin):
    """Array weights and buffers lie on `device`, one of cupy's, wherever the arrays were that they are made of.

    Their types say so, as do those of layers that are made from sizes: what a layer is given is there, too, or comes
    by `to_device`. Numbers stay on the host. Raises PluginError for what is no device of cupy's.
    >>> from wengert.plugins import Adam, LearningRate
    >>> class Settings(Adam, LearningRate, OnDevice): ...
    >>> Settings(learning_rate=0.1, device="cuda:1")
    Traceback (most recent call last):
    wengert.errors.PluginError: Settings: device is one of cupy's, as cupy.cuda.Device(1); got 'cuda:1' ...
    """

    device: Gpu

    def __post_init__(self) -> None:
        given: object = self.device
        if not isinstance(given, Gpu):
            raise PluginError(
                f"{type(self).__name__}: device is one of cupy's, as cupy.cuda.Device(1); got {given!r:.60}\n"
                f"  at {user_position()}"
            )

    @property
    def begins_on(self) -> Gpu:  # type: ignore[override] # the cpu is where those of all other settings begin
        """Device of the weights."""
        return self.device

    # Any, as the shape: as in `Maker`
    def array_weight(  # type: ignore[override] # as above
        self,
        data: ArrayLiteral[T, Anywhere],
        /,
        *dims: Dimension,
        name: str | None = None,
        **members: object,
    ) -> ArrayWeight[Any, T, Gpu]:
        """A trainable array on `device`."""
        there = moved(checked_array("array_weight", data, dims), self.device)
        weight: ArrayWeight[Any, T, Gpu] = super().array_weight(there, *dims, name=name, **members)
        return weight

    # Any, as the shape: as above
    def buffer(  # type: ignore[override] # as above
        self, data: ArrayLiteral[T, Anywhere], /, *dims: Dimension, name: str | None = None
    ) -> Buffer[Any, T, Gpu]:
        """An array on `device` that runs compute and commit."""
        there = moved(checked_array("buffer", data, dims), self.device)
        buffer: Buffer[Any, T, Gpu] = super().buffer(there, *dims, name=name)
        return buffer
