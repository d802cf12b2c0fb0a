"""Images: convolution, pooling, padding (T77, T78)."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, assert_type

from given import L1, L2, L3, L4, L5, L8, Batch, count, data, settings, unknown, x

import wengert as wg
from wengert.dims import Add, FloorDiv

B = TypeVar("B", bound=int)
C = TypeVar("C", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)
L28 = Literal[28]
L14 = Literal[14]
images = wg.literal(data, Batch, 3, 28, 28)
kernel = settings.array_weight(data, 8, 3, 5, 5)
small = settings.array_weight(data, 8, 3, 3, 3)


def case_convolution() -> None:  # T77
    assert_type(wg.conv2d(images, kernel), wg.ArrayLayer[tuple[Batch, L8, Literal[24], Literal[24]]])
    assert_type(wg.conv2d(images, kernel, padding=2), wg.ArrayLayer[tuple[Batch, L8, L28, L28]])
    assert_type(wg.conv2d(images, small, padding=1), wg.ArrayLayer[tuple[Batch, L8, L28, L28]])


def case_convolution_with_strides() -> None:  # T77
    assert_type(wg.conv2d(images, small, stride=2, padding=1), wg.ArrayLayer[tuple[Batch, L8, L14, L14]])
    assert_type(
        wg.conv2d(images, kernel, stride=2), wg.ArrayLayer[tuple[Batch, L8, Literal[12], Literal[12]]]
    )
    assert_type(wg.conv2d(images, small, stride=(1, 2), padding=(1, 1)).shape[2:], tuple[L28, L14])


def case_convolution_with_dilation() -> None:  # T77
    assert_type(wg.conv2d(images, small, padding=2, dilation=2), wg.ArrayLayer[tuple[Batch, L8, L28, L28]])


def case_convolution_of_other_channels() -> None:  # T77
    wg.conv2d(images, settings.array_weight(data, 8, 1, 3, 3))  # E[shape]: input has 3 channels, kernel
    wg.conv2d(wg.conv2d(images, kernel), kernel)  # E[shape]: ^conv2d: .*: input has 8 channels, kernel


def case_convolution_of_other_ranks() -> None:  # T77
    wg.conv2d(x, kernel)  # E[shape]: ^conv2d: input of shape \(2, 3\) is not \(batch, channels, height,
    wg.conv2d(images, x)  # E[shape]: ^conv2d: kernel of shape \(2, 3\) is not \(output channels, input


def case_convolution_with_too_large_a_kernel() -> None:  # T77
    tiny = wg.literal(data, Batch, 3, 4, 28)
    wg.conv2d(tiny, kernel)  # E[shape]: a window of 5 does not fit axis 2 of shape \(Batch, 3, 4, 28\)
    assert_type(wg.conv2d(tiny, kernel, padding=2), wg.ArrayLayer[tuple[Batch, L8, L4, L28]])


def case_convolution_with_wrong_strides() -> None:  # T77
    wg.conv2d(images, small, stride=0)  # E[shape]: ^conv2d: stride .* at least 1
    wg.conv2d(images, small, padding=-1)  # E[shape]: ^conv2d: padding .* at least 0
    wg.conv2d(images, small, stride="2")  # E: "str"


def case_convolution_of_unknown_sizes(n: int) -> None:  # T77, T79
    assert_type(wg.conv2d(images, small, padding=n).shape[:2], tuple[Batch, L8])
    assert_type(wg.conv2d(unknown, small), wg.ArrayLayer[Any])
    some = wg.literal(data, count(), 3, n, 28)
    assert_type(wg.conv2d(some, small), wg.ArrayLayer[tuple[Any, L8, Any, Literal[26]]])


def case_pooling() -> None:  # T77
    assert_type(wg.max_pool2d(images, 2), wg.ArrayLayer[tuple[Batch, L3, L14, L14]])
    assert_type(wg.avg_pool2d(images, 4), wg.ArrayLayer[tuple[Batch, L3, Literal[7], Literal[7]]])
    assert_type(wg.max_pool2d(images, 3, stride=2, padding=1), wg.ArrayLayer[tuple[Batch, L3, L14, L14]])
    assert_type(wg.avg_pool2d(images, (28, 1)), wg.ArrayLayer[tuple[Batch, L3, L1, L28]])


def case_pooling_refused() -> None:  # T77
    wg.max_pool2d(x, 2)  # E[shape]: ^max_pool2d: input of shape \(2, 3\) is not \(batch, channels, height,
    wg.avg_pool2d(images, 29)  # E[shape]: ^avg_pool2d: a window of 29 does not fit axis 2
    wg.max_pool2d(images, 2, padding=2)  # E[shape]: ^max_pool2d: padding \(2, 2\) is more than half of size
    wg.max_pool2d(images, "2")  # E: "str"


def case_flattened_after_pooling() -> None:  # T77
    pooled = wg.max_pool2d(wg.relu(wg.conv2d(images, kernel)), 2)
    flat = wg.reshape(pooled, (pooled.shape[0], -1))
    assert_type(flat, wg.ArrayLayer[tuple[Batch, Literal[1152]]])
    flat @ settings.array_weight(data, 1568, 10)  # E[shape]: inner dimensions 1152 and 1568 differ


def case_padding() -> None:  # T77
    assert_type(wg.pad(x, ((1, 1), (0, 2))), wg.ArrayLayer[tuple[L4, L5]])
    wg.pad(x, ((1, 1),))  # E[shape]: ^pad: shape \(2, 3\) has 2 axes, widths .* are for 1


def case_same_padding(
    x: wg.ArrayLayer[tuple[B, C, H, W]], kernel: wg.ArrayWeight[tuple[C, C, L3, L3]]
) -> wg.ArrayLayer[tuple[B, C, H, W]]:  # T78
    return x + wg.relu(wg.conv2d(x, kernel, padding=1))


def case_same_padding_of_a_larger_kernel(
    x: wg.ArrayLayer[tuple[B, C, H, W]], kernel: wg.ArrayWeight[tuple[L8, C, L5, L5]]
) -> wg.ArrayLayer[tuple[B, L8, H, W]]:  # T78
    wg.conv2d(x, kernel, padding=1) + x  # E[shape]: ^add: .* do not broadcast
    return wg.conv2d(x, kernel, padding=2)


def case_halved(
    x: wg.ArrayLayer[tuple[B, C, H, W]], kernel: wg.ArrayWeight[tuple[C, C, L3, L3]]
) -> wg.ArrayLayer[tuple[B, C, FloorDiv[Add[H, L1], L2], FloorDiv[Add[W, L1], L2]]]:  # T78
    assert_type(wg.max_pool2d(x, 2), wg.ArrayLayer[tuple[B, C, FloorDiv[H, L2], FloorDiv[W, L2]]])
    return wg.conv2d(x, kernel, stride=2, padding=1)


def case_halved_twice(x: wg.ArrayLayer[tuple[B, C, H, W]]) -> None:  # T78
    assert_type(wg.max_pool2d(wg.max_pool2d(x, 2), 2).shape[0], B)
    wg.max_pool2d(x, 2) + x  # E[shape]: ^add: .*: H//2 and H differ|W//2 and W differ
