"""Convolutions of signals, images and volumes with learnt kernels, and transposed ones.

Knows: their weights and how they begin, and what "same" is.
Refuses to know: how a convolution is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, Self, final

from wengert.arrays import Dv, T
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.generics import TypeVar
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import check_weight, misfit
from wengert.nn.dims import Dilation, Groups, In, Kernel, Out, Padding, Stride
from wengert.nn.init import Init
from wengert.nn.making import Beginning, Seed
from wengert.ops import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    expand_dims,
)
from wengert.plugins.making import Placing
from wengert.site import user_position

Sizes = TypeVar("Sizes", bound=tuple[Any, ...], default=Any, covariant=True)
Channels = TypeVar("Channels", bound=int, default=Any, covariant=True)
_ONE: Final[Any] = 1  # Any: the size that a checker takes for what nobody states


@dataclass(frozen=True, eq=False, init=False)
class Convolution(ModelNames, Generic[Sizes, Channels, Stride, Padding, Dilation, Groups, T, Dv]):
    """A kernel as wide as it is high, and a number for each channel that it makes.

    `axes` are those that the kernel slides along; a `transposed` one has the channels of the input first.
    """

    axes: ClassVar[int]
    operation: ClassVar[Callable[..., Any]]  # Any: a layer, of the element type and the device of x
    transposed: ClassVar[bool] = False
    kernel: ArrayWeight[Sizes, T, Dv]
    # None with `bias=False`; for a checker, the weight that `make` gives
    bias: ArrayWeight[tuple[Channels], T, Dv]
    stride: Stride
    padding: Padding
    dilation: Dilation
    groups: Groups

    def __init__(
        self,
        kernel: ArrayOperand[Sizes, T, Dv],
        bias: ArrayOperand[tuple[Channels], T, Dv] | None,
        stride: Stride,
        padding: Padding,
        dilation: Dilation = _ONE,
        groups: Groups = _ONE,
    ) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        given = {"kernel": kernel, "bias": bias, "stride": stride, "padding": padding}
        for name, value in {**given, "dilation": dilation, "groups": groups}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        layer, shape = type(self).__name__, self.kernel.shape
        check_weight(layer, "a kernel", shape, (*shape[:2], *shape[2:3] * (len(shape) - 2)))
        if self.bias is not None:
            made = shape[1] * self.groups if self.transposed else shape[0]
            check_weight(layer, "a bias", self.bias.shape, (made,))

    # the sizes of what it gives are Any: the mypy plugin puts the stated ones there
    @classmethod
    def make(
        cls,
        settings: Placing[Dv],
        inputs: int,
        outputs: int,
        kernel: int,
        /,
        *,
        stride: int = 1,
        padding: int | Literal["same"] = 0,
        dilation: int = 1,
        groups: int = 1,
        seed: Seed,
        name: str | None = None,
        dtype: type[T] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> Self:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        A padding "same" keeps the size at a stride of 1: half of an odd kernel. Raises ArgumentError for an even kernel
        or another stride there, and for a size below 1; ShapeError for groups that do not divide the channels.
        Source: He et al. 2015, "Delving Deep into Rectifiers", equation 10.
        """
        layer = cls.__name__
        begin = Beginning(layer, settings, seed, name, dtype)
        inputs, outputs, kernel = (
            begin.size(what, n) for what, n in (("inputs", inputs), ("outputs", outputs), ("kernel", kernel))
        )
        stride, dilation, groups = (
            begin.size(what, n)
            for what, n in (("stride", stride), ("dilation", dilation), ("groups", groups))
        )
        for channels in (inputs, outputs):
            if channels % groups:
                raise misfit(layer, f"{groups} groups do not divide {channels} channels")
        sides = (kernel,) * cls.axes
        pair = (inputs, outputs // groups) if cls.transposed else (outputs, inputs // groups)
        fans = inputs // groups * math.prod(sides), outputs // groups * math.prod(sides)
        weight = (
            begin.normal("kernel", (*pair, *sides), math.sqrt(2.0 / fans[0]))
            if init is None
            else begin.drawn("kernel", (*pair, *sides), *fans, init)
        )
        # Any: as the others
        around: Any = _same(layer, kernel, stride, dilation) if padding == "same" else padding
        numbers: tuple[Any, ...] = stride, around, dilation, groups  # Any: sizes, as a checker knows them
        return cls(weight, begin.constant("bias", (0.0, outputs)) if bias else None, *numbers)

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        slides = {what: getattr(self, what) for what in ("stride", "padding", "dilation", "groups")}
        y: ArrayLayer[Any, T, Dv] = self.operation(x, self.kernel, **slides)
        axes = tuple(range(1, self.axes + 1))
        return y if self.bias is None else y + expand_dims(self.bias, axis=axes)


def _same(layer: str, kernel: int, stride: int, dilation: int) -> int:
    if kernel % 2 == 0 or stride != 1:
        raise ArgumentError(
            f'{layer}: padding "same" needs an odd kernel and a stride of 1, got {kernel} and {stride}\n'
            f"  at {user_position()}"
        )
    return dilation * (kernel // 2)


@final
class Conv1d(
    Convolution[tuple[Out, In, Kernel], Out, Stride, Padding, Dilation, Groups, T, Dv],
    Generic[In, Out, Kernel, Stride, Padding, Dilation, Groups, T, Dv],
):
    """Kernels over signals, to `Out` channels; of the input a group of channels has `In`.

    y[b, o] = Σ_c x[b, c] ⋆ kernel[o, c] + bias[o] over the channels of a group, as `conv1d` has it.
    Shapes: (B, In Groups, N) to (B, Out, (N + 2 Padding - Dilation (Kernel - 1) - 1) // Stride + 1). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = Conv1d.make(SGD(learning_rate=0.1), 3, 8, 5, padding="same", seed=0)
    >>> layer(np.ones((2, 3, 32), np.float32)).shape
    (2, 8, 32)

    Source: Waibel et al. 1989, "Phoneme recognition using time-delay neural networks".
    """

    axes = 1
    operation = staticmethod(conv1d)


@final
class Conv2d(
    Convolution[tuple[Out, In, Kernel, Kernel], Out, Stride, Padding, Dilation, Groups, T, Dv],
    Generic[In, Out, Kernel, Stride, Padding, Dilation, Groups, T, Dv],
):
    """Square kernels over images, to `Out` channels; of the input a group of channels has `In`.

    y[b, o] = Σ_c x[b, c] ⋆ kernel[o, c] + bias[o] over the channels of a group, as `conv2d` has it.
    Shapes: (B, In Groups, H, W) to (B, Out, (H + 2 Padding - Dilation (Kernel - 1) - 1) // Stride + 1,
    and the others likewise). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = Conv2d.make(SGD(learning_rate=0.1), 3, 8, 5, padding="same", seed=0)
    >>> layer(np.ones((2, 3, 32, 32), np.float32)).shape
    (2, 8, 32, 32)

    Source: LeCun et al. 1989; a cross-correlation, as everywhere in the field.
    """

    axes = 2
    operation = staticmethod(conv2d)


@final
class Conv3d(
    Convolution[tuple[Out, In, Kernel, Kernel, Kernel], Out, Stride, Padding, Dilation, Groups, T, Dv],
    Generic[In, Out, Kernel, Stride, Padding, Dilation, Groups, T, Dv],
):
    """Kernels as deep as they are wide over volumes, to `Out` channels; of the input a group of channels has `In`.

    y[b, o] = Σ_c x[b, c] ⋆ kernel[o, c] + bias[o] over the channels of a group, as `conv3d` has it.
    Shapes: (B, In Groups, D, H, W) to (B, Out, (D + 2 Padding - Dilation (Kernel - 1) - 1) // Stride + 1,
    and the others likewise). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = Conv3d.make(SGD(learning_rate=0.1), 1, 4, 3, stride=2, seed=0)
    >>> layer(np.ones((1, 1, 9, 9, 9), np.float32)).shape
    (1, 4, 4, 4, 4)

    Source: Ji et al. 2010, "3D convolutional neural networks for human action recognition".
    """

    axes = 3
    operation = staticmethod(conv3d)


@final
class ConvTranspose1d(
    Convolution[tuple[In, Out, Kernel], Any, Stride, Padding, Dilation, Groups, T, Dv],
    Generic[In, Out, Kernel, Stride, Padding, Dilation, Groups, T, Dv],
):
    """Kernels that each element of a signal of `In` channels adds to a larger one.

    y[b, o] = Σ_c `conv_transpose1d` of x[b, c] with kernel[c, o], + bias[o]; a group has `Out` channels.
    Shapes: (B, In, N) to (B, Out Groups, (N - 1) Stride - 2 Padding + Dilation (Kernel - 1) + 1). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = ConvTranspose1d.make(SGD(learning_rate=0.1), 8, 3, 4, stride=2, padding=1, seed=0)
    >>> layer(np.ones((2, 8, 16), np.float32)).shape
    (2, 3, 32)

    Source: Zeiler et al. 2010, "Deconvolutional Networks"; PyTorch, `torch.nn.ConvTranspose1d`.
    """

    axes = 1
    transposed = True
    operation = staticmethod(conv_transpose1d)


@final
class ConvTranspose2d(
    Convolution[tuple[In, Out, Kernel, Kernel], Any, Stride, Padding, Dilation, Groups, T, Dv],
    Generic[In, Out, Kernel, Stride, Padding, Dilation, Groups, T, Dv],
):
    """Square kernels that each element of an image of `In` channels adds to a larger one.

    y[b, o] = Σ_c `conv_transpose2d` of x[b, c] with kernel[c, o], + bias[o]; a group has `Out` channels.
    Shapes: (B, In, H, W) to (B, Out Groups, (H - 1) Stride - 2 Padding + Dilation (Kernel - 1) + 1,
    and the others likewise). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = ConvTranspose2d.make(SGD(learning_rate=0.1), 8, 3, 4, stride=2, padding=1, seed=0)
    >>> layer(np.ones((2, 8, 16, 16), np.float32)).shape
    (2, 3, 32, 32)

    Source: Zeiler et al. 2010, "Deconvolutional Networks"; PyTorch, `torch.nn.ConvTranspose2d`.
    """

    axes = 2
    transposed = True
    operation = staticmethod(conv_transpose2d)


@final
class ConvTranspose3d(
    Convolution[tuple[In, Out, Kernel, Kernel, Kernel], Any, Stride, Padding, Dilation, Groups, T, Dv],
    Generic[In, Out, Kernel, Stride, Padding, Dilation, Groups, T, Dv],
):
    """Kernels that each element of a volume of `In` channels adds to a larger one.

    y[b, o] = Σ_c `conv_transpose3d` of x[b, c] with kernel[c, o], + bias[o]; a group has `Out` channels.
    Shapes: (B, In, D, H, W) to (B, Out Groups, (D - 1) Stride - 2 Padding + Dilation (Kernel - 1) + 1,
    and the others likewise). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = ConvTranspose3d.make(SGD(learning_rate=0.1), 8, 3, 4, stride=2, padding=1, seed=0)
    >>> layer(np.ones((1, 8, 4, 4, 4), np.float32)).shape
    (1, 3, 8, 8, 8)

    Source: Zeiler et al. 2010, "Deconvolutional Networks"; PyTorch, `torch.nn.ConvTranspose3d`.
    """

    axes = 3
    transposed = True
    operation = staticmethod(conv_transpose3d)
