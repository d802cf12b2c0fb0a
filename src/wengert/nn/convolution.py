"""`Conv2d` and `ConvTranspose2d`: convolutions of images with learnt kernels.

Knows: their weights and how they begin, and what "same" is.
Refuses to know: how a convolution is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, Literal, final

from wengert.arrays import Dv, T
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import check_weight
from wengert.nn.dims import In, Kernel, N, Out, Padding, Stride
from wengert.nn.init import Init
from wengert.nn.making import Beginning, Seed
from wengert.ops import conv2d, conv_transpose2d, expand_dims
from wengert.plugins import Plugin
from wengert.site import user_position


@final
@dataclass(frozen=True, eq=False, init=False)
class Conv2d(ModelNames, Generic[In, Out, Kernel, Stride, Padding, T, Dv]):
    """Square kernels over images of `In` channels, to `Out` channels.

    y[b, o] = Σ_c x[b, c] ⋆ kernel[o, c] + bias[o], as `conv2d` has it.
    Shapes: (B, In, H, W) to (B, Out, (H + 2 Padding - Kernel) // Stride + 1, and W likewise). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = Conv2d.make(SGD(learning_rate=0.1), 3, 8, 5, padding="same", seed=0)
    >>> layer(np.ones((2, 3, 32, 32), np.float32)).shape
    (2, 8, 32, 32)

    Source: LeCun et al. 1989; a cross-correlation, as everywhere in the field.
    """

    kernel: ArrayWeight[tuple[Out, In, Kernel, Kernel], T, Dv]
    bias: ArrayWeight[
        tuple[Out], T, Dv
    ]  # None with `bias=False`; for a checker, the weight that `make` gives
    stride: Stride
    padding: Padding

    def __init__(
        self,
        kernel: ArrayOperand[tuple[Out, In, Kernel, Kernel], T, Dv],
        bias: ArrayOperand[tuple[Out], T, Dv] | None,
        stride: Stride,
        padding: Padding,
    ) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "padding", padding)
        self.__post_init__()

    def __post_init__(self) -> None:
        shape = self.kernel.shape
        check_weight("Conv2d", "a kernel", shape, (*shape[:3], shape[2]))
        if self.bias is not None:
            check_weight("Conv2d", "a bias", self.bias.shape, shape[:1])

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Plugin,
        inputs: int,
        outputs: int,
        kernel: int,
        /,
        *,
        stride: int = 1,
        padding: int | Literal["same"] = 0,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> Conv2d[Any, Any, Any, Any, Any, N]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        A padding "same" keeps the size of the image: half of an odd kernel, at a stride of 1. Raises ArgumentError
        for an even kernel or another stride there, and for a size below 1.
        Source: He et al. 2015, "Delving Deep into Rectifiers", equation 10.
        """
        begin = Beginning("Conv2d", settings, seed, name, dtype)
        shape = begin.size("outputs", outputs), begin.size("inputs", inputs)
        side = begin.size("kernel", kernel)
        fan_in, fan_out = shape[1] * side * side, shape[0] * side * side
        return Conv2d(
            begin.drawn("kernel", (*shape, side, side), fan_in, fan_out, init)
            if init is not None
            else begin.normal("kernel", (*shape, side, side), math.sqrt(2.0 / fan_in)),
            begin.constant("bias", (0.0, shape[0])) if bias else None,
            begin.size("stride", stride),
            _same(side, stride) if padding == "same" else padding,
        )

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        y = conv2d(x, self.kernel, stride=self.stride, padding=self.padding)
        return y if self.bias is None else y + expand_dims(self.bias, axis=(1, 2))


@final
@dataclass(frozen=True, eq=False, init=False)
class ConvTranspose2d(ModelNames, Generic[In, Out, Kernel, Stride, Padding, T, Dv]):
    """Square kernels that each element of an image of `In` channels adds to a larger one of `Out` channels.

    y[b, o] = Σ_c `conv_transpose2d` of x[b, c] with kernel[c, o], + bias[o].
    Shapes: (B, In, H, W) to (B, Out, (H - 1) Stride - 2 Padding + Kernel, and W likewise). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = ConvTranspose2d.make(SGD(learning_rate=0.1), 8, 3, 4, stride=2, padding=1, seed=0)
    >>> layer(np.ones((2, 8, 16, 16), np.float32)).shape
    (2, 3, 32, 32)

    Source: Zeiler et al. 2010, "Deconvolutional Networks"; PyTorch, `torch.nn.ConvTranspose2d`.
    """

    kernel: ArrayWeight[tuple[In, Out, Kernel, Kernel], T, Dv]
    bias: ArrayWeight[tuple[Out], T, Dv]  # as that of `Conv2d`
    stride: Stride
    padding: Padding

    def __init__(
        self,
        kernel: ArrayOperand[tuple[In, Out, Kernel, Kernel], T, Dv],
        bias: ArrayOperand[tuple[Out], T, Dv] | None,
        stride: Stride,
        padding: Padding,
    ) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "padding", padding)
        shape = kernel.shape
        check_weight("ConvTranspose2d", "a kernel", shape, (*shape[:3], shape[2]))
        if bias is not None:
            check_weight("ConvTranspose2d", "a bias", bias.shape, shape[1:2])

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Plugin,
        inputs: int,
        outputs: int,
        kernel: int,
        /,
        *,
        stride: int = 1,
        padding: int = 0,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> ConvTranspose2d[Any, Any, Any, Any, Any, N]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        Raises ArgumentError for a size below 1.
        """
        begin = Beginning("ConvTranspose2d", settings, seed, name, dtype)
        shape = begin.size("inputs", inputs), begin.size("outputs", outputs)
        side = begin.size("kernel", kernel)
        fans = shape[0] * side * side, shape[1] * side * side
        return ConvTranspose2d(
            begin.drawn("kernel", (*shape, side, side), *fans, init)
            if init is not None
            else begin.normal("kernel", (*shape, side, side), math.sqrt(2.0 / fans[0])),
            begin.constant("bias", (0.0, shape[1])) if bias else None,
            begin.size("stride", stride),
            padding,
        )

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        y = conv_transpose2d(x, self.kernel, stride=self.stride, padding=self.padding)
        return y if self.bias is None else y + expand_dims(self.bias, axis=(1, 2))


def _same(kernel: int, stride: int) -> int:
    if kernel % 2 == 0 or stride != 1:
        raise ArgumentError(
            f'Conv2d: padding "same" needs an odd kernel and a stride of 1, got {kernel} and {stride}\n'
            f"  at {user_position()}"
        )
    return kernel // 2
