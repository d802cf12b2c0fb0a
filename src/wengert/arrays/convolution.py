"""Convolutions of images, and the deltas of their kernels, as products of matrices for a block of windows at a time.

Knows: that columns of what windows see (im2col) make a convolution a product; that BLAS reads a block of them from the
second cache, where all of a batch come from memory; in which order blocks are added up.
Refuses to know: operations, and whose derivative is asked for.

Source: K. Chellapilla et al., "High performance convolutional neural networks for document processing", 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.arrays.axes import window_counts
from wengert.arrays.namespace import Pair, Shape, Value

__all__ = ["convolve", "convolve_into", "convolve_kernel", "convolve_kernel_into", "is_by_rows", "parts_of"]

# Of the time of all windows at once, 3 x 3 with a second cache of 2 MB: 32 images of 64 x 32 x 32 to 64 channels by
# blocks of 0.3 MB, a third of an image, 0.62, of 0.9 MB, one image, 0.55, of two 0.61; 64 of 16 x 14 x 14 to 32
# channels by 0.3 MB 0.42, by 0.9 MB 0.44, by 1.8 MB 0.63. A step of a CNN by 0.45 MB 0.95 of that by 0.9 MB.
_BLOCK: Final = 450_000  # bytes; an image of twice as many is not cut yet
_Block = tuple[slice, slice, list[Value]]


def is_by_rows(kernel: Shape, stride: Pair) -> bool:
    """Tell whether there is a matrix for each row of a kernel: copies cost more than sums where channels are many.

    They are parts of one copy of the images for each of its columns: what the next row sees lies there further on.
    """
    out, channels, height, width = kernel
    return stride[0] == 1 and (height == 1 or channels * width > out)


def parts_of(kernel: Value, stride: Pair) -> list[Value]:
    """The matrices, each of shape (output channels, places in a part), whose products are added."""
    out, channels, height, width = kernel.shape
    if not is_by_rows(kernel.shape, stride):
        return [kernel.reshape(out, channels * height * width)]
    return [kernel[:, :, u].reshape(out, channels * width) for u in range(height)]


def _lines(x: Value) -> Value:
    batch, channels, rows, columns = x.shape
    return x.reshape(batch, channels, rows * columns)


def _blocks(x: Value, kernel: Shape, stride: Pair, padding: Pair, dilation: Pair) -> Iterator[_Block]:
    """Images, windows, and for each part of a kernel what they see: (images, places in a part, windows).

    A block is valid until the next one.
    """
    batch, channels, above, across = x.shape
    _, _, height, width = kernel
    whole = (above + 2 * padding[0], across + 2 * padding[1])
    rows, columns = window_counts(whole, (height, width), stride, dilation)
    parts = height if is_by_rows(kernel, stride) else 1
    size = (channels, height // parts, width)  # of a part
    more = dilation[0] * (parts - 1)  # rows that other parts see
    line = max(1, prod(size) * columns * x.itemsize)
    images = max(1, min(batch, _BLOCK // (line * (rows + more))))
    most = rows if line * (rows + more) <= 2 * _BLOCK else min(rows, max(8, _BLOCK // line - more))
    memory = np.empty(images * prod(size) * (most + more) * columns, x.dtype)
    padded = np.zeros((images, channels, *whole), x.dtype) if any(padding) else None
    for i in range(0, batch, images):
        some = x[i : i + images]
        if padded is not None:
            around = padded[: len(some)]
            around[:, :, padding[0] : padding[0] + above, padding[1] : padding[1] + across] = some
            some = around
        a, b, down, right = some.strides
        steps = (a, b, down * dilation[0], right * dilation[1], down * stride[0], right * stride[1])
        for row in range(0, rows, most):
            count = min(most, rows - row)
            shape = (len(some), *size, count + more, columns)
            view = as_strided(some[:, :, row * stride[0] :], shape, steps, writeable=False)
            block = memory[: prod(shape)].reshape(shape)
            np.copyto(block, view)
            matrix = block.reshape(len(some), prod(size), (count + more) * columns)
            starts = [columns * dilation[0] * u for u in range(parts)]
            seen = [matrix[:, :, start : start + count * columns] for start in starts]
            yield slice(i, i + len(some)), slice(row * columns, (row + count) * columns), seen


def convolve(x: Value, kernel: Value, stride: Pair, padding: Pair, dilation: Pair, /) -> Value:
    """The sum over places in a kernel of its elements times what windows of padded images see there.

    >>> convolve(np.ones((1, 1, 2, 3)), np.ones((1, 1, 2, 2)), (1, 1), (0, 1), (1, 1)).tolist()
    [[[[2.0, 4.0, 4.0, 2.0]]]]
    """
    whole = tuple(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True))
    counts = window_counts(whole, kernel.shape[2:], stride, dilation)
    out = np.empty((x.shape[0], kernel.shape[0], *counts), np.result_type(x, kernel))
    return convolve_into(x, kernel, stride, padding, dilation, out=out)


def convolve_into(
    x: Value, kernel: Value, stride: Pair, padding: Pair, dilation: Pair, /, *, out: Value
) -> Value:
    """`convolve`, written to an array in C order."""
    first, *others = parts_of(kernel, stride)
    lines = _lines(out)
    memory = None
    for images, windows, (seen, *further) in _blocks(x, kernel.shape, stride, padding, dilation):
        total = lines[images, :, windows]
        np.matmul(first, seen, out=total)
        for part, seen_by_part in zip(others, further, strict=True):
            if memory is None or memory.shape != total.shape:
                memory = np.empty(total.shape, total.dtype)
            np.add(total, np.matmul(part, seen_by_part, out=memory), out=total)
    return out


def convolve_kernel(x: Value, g: Value, size: Pair, stride: Pair, padding: Pair, dilation: Pair, /) -> Value:
    """The delta of the kernel of `convolve`: `g` times what each of its elements has met.

    >>> convolve_kernel(np.ones((1, 1, 2, 3)), np.ones((1, 1, 1, 4)), (2, 2), (1, 1), (0, 1), (1, 1)).tolist()
    [[[[3.0, 3.0], [3.0, 3.0]]]]
    """
    out = np.empty((g.shape[1], x.shape[1], *size), np.result_type(x, g))
    return convolve_kernel_into(x, g, size, stride, padding, dilation, out=out)


def convolve_kernel_into(
    x: Value, g: Value, size: Pair, stride: Pair, padding: Pair, dilation: Pair, /, *, out: Value
) -> Value:
    """`convolve_kernel`, written to an array in C order; images are added one after the other."""
    made, channels, height, width = out.shape
    parts = height if is_by_rows(out.shape, stride) else 1
    total = np.zeros((parts, channels * height // parts * width, made), out.dtype)
    lines = _lines(g)
    for images, windows, matrices in _blocks(x, out.shape, stride, padding, dilation):
        columns = lines[images, :, windows].swapaxes(1, 2)  # BLAS is 8 % slower the other way
        for part, seen in zip(total, matrices, strict=True):
            for product in np.matmul(seen, columns):
                part += product
    by_place = total.reshape(parts, channels, height // parts, width, made)
    np.copyto(out.reshape(made, channels, parts, height // parts, width), by_place.transpose(4, 1, 0, 2, 3))
    return out
