"""Convolutions of signals, images and volumes with learnt kernels, and transposed ones.

Knows: their weights and how they begin, and what "same" is.
Refuses to know: how a convolution is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, final

from typing_extensions import TypeVar

from wengert.arrays import Dv, T
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import check_weight, misfit
from wengert.nn.dims import Dilation, Groups, In, Kernel, N, On, Out, Padding, Stride
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

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        slides = {what: getattr(self, what) for what in ("stride", "padding", "dilation", "groups")}
        y: ArrayLayer[Any, T, Dv] = self.operation(x, self.kernel, **slides)
        axes = tuple(range(1, self.axes + 1))
        return y if self.bias is None else y + expand_dims(self.bias, axis=axes)


def _parts(
    begin: Beginning[N, On],
    cls: type[Convolution],
    sizes: tuple[int, int, int],
    slide: tuple[int, int | Literal["same"], int, int],
    bias: bool,
    init: Init | None,
) -> tuple[Any, Any, int, int, int, int]:  # Any: weights, whose sizes `make` states
    """The weights of a new layer, and how it slides over what."""
    inputs, outputs, side = (
        begin.size(what, n) for what, n in zip(("inputs", "outputs", "kernel"), sizes, strict=True)
    )
    stride, dilation, groups = (
        begin.size(what, n)
        for what, n in (("stride", slide[0]), ("dilation", slide[2]), ("groups", slide[3]))
    )
    for channels in (inputs, outputs):
        if channels % groups:
            raise misfit(cls.__name__, f"{groups} groups do not divide {channels} channels")
    sides = (side,) * cls.axes
    pair = (inputs, outputs // groups) if cls.transposed else (outputs, inputs // groups)
    fans = inputs // groups * math.prod(sides), outputs // groups * math.prod(sides)
    kernel = (
        begin.normal("kernel", (*pair, *sides), math.sqrt(2.0 / fans[0]))
        if init is None
        else begin.drawn("kernel", (*pair, *sides), *fans, init)
    )
    padding = _same(cls.__name__, side, stride, dilation) if slide[1] == "same" else slide[1]
    return kernel, begin.constant("bias", (0.0, outputs)) if bias else None, stride, padding, dilation, groups


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

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
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
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> Conv1d[Any, Any, Any, Any, Any, Any, Any, N, On]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        Padding and errors are those of `Conv2d.make`.
        """
        begin = Beginning("Conv1d", settings, seed, name, dtype)
        slide = (stride, padding, dilation, groups)
        return Conv1d(*_parts(begin, Conv1d, (inputs, outputs, kernel), slide, bias, init))


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

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
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
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> Conv2d[Any, Any, Any, Any, Any, Any, Any, N, On]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        A padding "same" keeps the size of the image: half of an odd kernel, at a stride of 1. Raises ArgumentError
        for an even kernel or another stride there, and for a size below 1; ShapeError for groups that do not divide
        the channels.
        Source: He et al. 2015, "Delving Deep into Rectifiers", equation 10.
        """
        begin = Beginning("Conv2d", settings, seed, name, dtype)
        slide = (stride, padding, dilation, groups)
        return Conv2d(*_parts(begin, Conv2d, (inputs, outputs, kernel), slide, bias, init))


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

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
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
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> Conv3d[Any, Any, Any, Any, Any, Any, Any, N, On]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        Padding and errors are those of `Conv2d.make`.
        """
        begin = Beginning("Conv3d", settings, seed, name, dtype)
        slide = (stride, padding, dilation, groups)
        return Conv3d(*_parts(begin, Conv3d, (inputs, outputs, kernel), slide, bias, init))


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

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        outputs: int,
        kernel: int,
        /,
        *,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> ConvTranspose1d[Any, Any, Any, Any, Any, Any, Any, N, On]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        Raises ArgumentError for a size below 1; ShapeError for groups that do not divide the channels.
        """
        begin = Beginning("ConvTranspose1d", settings, seed, name, dtype)
        slide = (stride, padding, dilation, groups)
        return ConvTranspose1d(*_parts(begin, ConvTranspose1d, (inputs, outputs, kernel), slide, bias, init))


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

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        outputs: int,
        kernel: int,
        /,
        *,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> ConvTranspose2d[Any, Any, Any, Any, Any, Any, Any, N, On]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        Raises ArgumentError for a size below 1; ShapeError for groups that do not divide the channels.
        """
        begin = Beginning("ConvTranspose2d", settings, seed, name, dtype)
        slide = (stride, padding, dilation, groups)
        return ConvTranspose2d(*_parts(begin, ConvTranspose2d, (inputs, outputs, kernel), slide, bias, init))


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

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        outputs: int,
        kernel: int,
        /,
        *,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> ConvTranspose3d[Any, Any, Any, Any, Any, Any, Any, N, On]:
        """A layer of new weights: He's normal distribution, or `init` of `nn.init`, the bias 0.

        Raises ArgumentError for a size below 1; ShapeError for groups that do not divide the channels.
        """
        begin = Beginning("ConvTranspose3d", settings, seed, name, dtype)
        slide = (stride, padding, dilation, groups)
        return ConvTranspose3d(*_parts(begin, ConvTranspose3d, (inputs, outputs, kernel), slide, bias, init))
